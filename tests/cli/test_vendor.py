# SPDX-License-Identifier: MIT
"""Scans by the settings that scanners write beside their images: one argument, and the geometry is theirs."""
import json
import os
import re
import shutil
import struct

import numpy as np
import pytest

from qbtest import fails, qb, qb_json

VIEWS, ROWS, COLUMNS, PITCH, SOD, SDD = 120, 64, 96, 0.4, 120, 400


def put_tiff(path, image):
    """16 bits, one strip."""
    rows, columns = image.shape
    data = image.astype("<u2").tobytes()
    tags = [(256, 3, columns), (257, 3, rows), (258, 3, 16), (259, 3, 1), (262, 3, 1), (273, 4, 8), (277, 3, 1), (278, 3, rows), (279, 4, len(data))]
    directory = struct.pack("<H", len(tags)) + b"".join(struct.pack("<HHII", tag, kind, 1, value) for tag, kind, value in tags) + bytes(4)
    path.write_bytes(b"II*\0" + struct.pack("<I", 8 + len(data)) + data + directory)


def put_raw(path, image):
    path.with_suffix(".raw").write_bytes(image.astype("<u2").tobytes())


def put_raw_below(path, image):
    """Rows from the bottom on."""
    put_raw(path, image[::-1])


def put_stored(path, image):
    """Of NSI's detector on its side: turned and mirrored, with flats and darks that no pixel has alike."""
    def stored(pixels):
        return np.rot90(pixels)[:, ::-1]
    dark = 200 + 50 * np.random.default_rng(5).random(image.shape)
    flat = 50000 + 9000 * np.random.default_rng(6).random(image.shape)
    put_tiff(path, stored(np.round(dark + image / 60000 * (flat - dark))))
    below = path.parent.parent / "Corrections"
    if not below.exists():
        below.mkdir()
        put_tiff(below / "gain0.tif", stored(np.round(flat)))
        put_tiff(below / "offset.tif", stored(np.round(dark)))


def put_images(folder, name, white, *faults, angles="0:-360", put=put_tiff):
    """An object that is no mirror image of itself, as corrected counts of 16 bits; and its voxels."""
    (folder / name).parent.mkdir(exist_ok=True)
    qb("simulate", "spheres", "--geometry", "cone", "--sod", SOD, "--sdd", SDD, "--pixel-size", PITCH, "--detector", f"{COLUMNS},{ROWS}",
       "--views", VIEWS, "--angles", angles, *faults, "--size", "64,64,40", "--truth", "truth.npy", "-o", "t.npy", cwd=folder)
    for i, view in enumerate(np.round(np.load(folder / "t.npy") * white)):
        put(folder / f"{name}{i + 1:04d}.tif", view)


def nikon(**changes):
    high = ROWS * PITCH / 2 * np.tan(np.radians(1.5))
    lines = {"Name": "bug", "InputSeparator": "_", "InputFolderName": "Scan 1", "VoxelsX": COLUMNS, "SrcToObject": SOD, "SrcToDetector": SDD,
             "DetectorPixelsX": COLUMNS, "DetectorPixelsY": ROWS, "DetectorPixelSizeX": PITCH, "DetectorPixelSizeY": PITCH,
             "CentreOfRotationTop": 1.2 + high, "CentreOfRotationBottom": 1.2 - high, "WhiteLevel": 60000, "Projections": VIEWS,
             "InitialAngle": 30, "AngularStep": 3, **changes}
    return "[XTekCT]\r\n" + "".join(f"{key}={value}\r\n" for key, value in lines.items() if value is not None) + "[Xrays]\r\nXraykV=100\r\n"


def skyscan(**changes):
    lines = {"Camera Pixel Size (um)": 50, "CameraXYRatio": 1.0, "Filename Prefix": "bone_", "Number of Files": VIEWS, "Number of Rows": ROWS,
             "Number Of Columns": COLUMNS, "Image Pixel Size (um)": 1000 * PITCH * SOD / SDD, "Object to Source (mm)": SOD,
             "Camera to Source (mm)": SDD, "Optical Axis (line)": 30, "Depth (bits)": 16, "Rotation Step (deg)": "3.000",
             "Random Movement": "OFF (10)", "Rotation Direction": "CC", **changes}
    return "[System]\n[Acquisition]\n" + "".join(f"{key}={value}\n" for key, value in lines.items() if value is not None)


def phoenix(**changes):
    lines = {"FDD": SDD, "FOD": SOD, "NumberImages": VIEWS, "RotationSector": 360, "DimX": COLUMNS, "DimY": ROWS, "PixelsizeX": PITCH,
             "PixelsizeY": PITCH, **changes}
    return "[General]\n[Geometry]\n" + "".join(f"{key}={value}\n" for key, value in lines.items() if value is not None)


def nsi(lean=1.5, **changes):
    """A source beside the axis, a detector beside both, an axis that leans; the report has the first pixel more exactly."""
    t = np.radians(lean)
    middle, source = np.array([-1.9, -0.6, SOD - SDD]), np.array([0.3, 0, SOD])
    # across and down of an axis that leans: what is measured along them is what the options say
    across, down = np.array([np.cos(t), -np.sin(t), 0]), np.array([-np.sin(t), -np.cos(t), 0])
    middle = source * [0, 0, 1] + [0, 0, -SDD] + across * (-1.2) + down * 0.6
    source = source * [0, 0, 1]
    first = middle - (COLUMNS - 1) / 2 * PITCH * np.array([1, 0, 0]) - (ROWS - 1) / 2 * PITCH * np.array([0, -1, 0])
    values = {"number": VIEWS, "angleStep": 3, "pitch": f"{PITCH} {PITCH}", "width pixels": ROWS, "height pixels": COLUMNS, "rotate": 90, "flipH": "True",
              "flipV": "False", "clockwise": "False", "source": source, "reference": first + [0.5, 0.5, 0], "normal": "0 0 -1", "horizontal": "1 0 0", "axis": -down, "crop": None, **changes}

    def tags(*names):
        return "".join(f"    <{name}>{' '.join(map(str, values[name])) if isinstance(values[name], np.ndarray) else values[name]}\n" for name in names if values[name] is not None)
    text = ("<NSI Reconstruction Project>\n  <CT Project Configuration>\n  <Detector>\n" + tags("width pixels", "height pixels") + "  </Detector>\n  </CT Project Configuration>\n  <Object Radiograph>\n"
            + tags("number", "angleStep", "pitch") + "  </Object Radiograph>\n  <Correction>\n" + tags("rotate", "flipH", "flipV") + "  </Correction>\n  <Radiograph>\n" + tags("crop") + "  </Radiograph>\n  <Result>\n"
            + tags("source", "reference", "normal", "horizontal", "axis") + "  </Result>\n  <Processed>\n" + tags("clockwise") + "  </Processed>\n</NSI Reconstruction Project>\n")
    return text, {"Geometry Report.rtf": f"{{\\rtf1 Image center\\tab ({first[0]:.9f}, {first[1]:.9f}) [mm]  / (0, 0) [in]\\par}}"}


def diondo(**changes):
    values = {"SourceObjectDist": SOD, "SourceDetectorDist": SDD, "ProjectionDimX": COLUMNS, "ProjectionDimY": ROWS, "ProjectionPixelSizeX": PITCH, "ProjectionPixelSizeY": PITCH,
              "ProjectionCount": VIEWS, "ProjectionCenterOffsetX": 3, "HelixMode": "false", "Laminography": "false", **changes}
    return "<?xml version='1.0'?>\n<Scan><ScanParameter/><Geometrie><Slices><string>12.50 mm</string></Slices></Geometrie>\n<Recon>" + "".join(
        f"<{key}>{value}</{key}>\n" for key, value in values.items() if value is not None) + "</Recon></Scan>\n"


def yxlon(kind="CircleTrajectory", **changes):
    values = {"PixelPitch": PITCH / 2, "Fod": SOD / PITCH * 2, "Fdd": SDD / PITCH * 2, "NumberOfProjections": VIEWS, "StartAngle": 20, "Rotation": 360,
              "YoCenter": 1.2 * SOD / SDD / PITCH * 2, "HorizontalDetectorOffset": 0, "VerticalDetectorOffset": 0.6 / PITCH * 2, "DetectorTiltA": 0, **changes}
    return (f"<?xml version='1.0'?>\n<S xmlns:xsi='x'><ConeBeamScanParameter><ProjectionSize><Width>{COLUMNS}</Width><Height>{ROWS}</Height></ProjectionSize>\n"
            f"<PixelSize><Width>{PITCH}</Width><Height>{PITCH}</Height></PixelSize><ProjectionBitdepth>16</ProjectionBitdepth>\n<ScanTrajectory xsi:type='{kind}'>"
            + "".join(f"<{key}>{value}</{key}>\n" for key, value in values.items() if value is not None) + "</ScanTrajectory></ConeBeamScanParameter></S>\n")


def yxlon_lines(**changes):
    values = {"Number of Detector Elements ": COLUMNS, "2D-Pixel Size [mm]": PITCH / 2, "Pixelbinning": 2, "FOD [mm]": SOD, "FDD [mm]": SDD, "Center Offset [mm]": -1.2 * SOD / SDD,
              "CT: Number of Projections": VIEWS, **changes}
    return "".join(f"{value}\t{key}\r\n" for key, value in values.items() if value is not None)


# the settings' name, their text, the images, open beam, faults of the geometry as `qb simulate` has them, options
SCANNERS = {
    "nikon": ("bug.xtekct", nikon, "Scan 1/bug_", 60000, ["--detector-offset", "-1.2,0", "--tilt", "1.5,0,0"], "-30:-390", []),
    "newer": ("bug.xtekct", lambda: nikon(CentreOfRotationTop=None, CentreOfRotationBottom=None, ObjectOffsetX=1.2 * SOD / SDD, ObjectRoll=-1.5, ObjectTilt=0),
              "Scan 1/bug_", 60000, ["--detector-offset", "-1.2,0", "--tilt", "1.5,0,0"], "-30:-390", []),
    # line 30 from below of 64 is row 33, 1.5 rows below the middle: the detector's middle lies that much above the beam's plane
    "skyscan": ("bone.log", skyscan, "bone_", 65535, ["--detector-offset", "0,-0.6"], "0:-360", []),
    "nsi": ("bar.nsipro", nsi, "Radiographs-bar/bar_", 60000, ["--detector-offset", "-1.2,0.6", "--tilt", "1.5,0,0"], "0:-360", []),
    "yxlon": ("ScanParameter.xml", yxlon, "Projections/p_", 65535, ["--detector-offset", "-1.2,0.6"], "20:-340", []),
    "yxlon raw": ("bug.txt", yxlon_lines, "Projektionen/p_", 65535, ["--detector-offset", "-1.2,0"], "0:-360", []),
    "diondo": ("bug.xml", diondo, "Projection/_0012,50_", 65535, ["--detector-offset", "-1.2,0"], "0:-360", []),
    "diondo turned": ("bug.xml", lambda: diondo(ProjectionCenterOffsetX=-1.2), "Projection/_0012,50_", 65535, ["--detector-offset", "-1.2,0"], "0:360", []),
    "phoenix": ("part.pca", phoenix, "part_", 50000, [], "0:-360", ["--air", "0:4,0:64", "--darks", "none"]),
}


@pytest.fixture(params=SCANNERS)
def scanner(request, tmp_path):
    settings, text, images, white, faults, angles, options = SCANNERS[request.param]
    put = {"nsi": put_stored, "yxlon raw": put_raw_below, "diondo": put_raw, "diondo turned": put_raw}.get(request.param, put_tiff)
    put_images(tmp_path, images, white, *faults, angles=angles, put=put)
    text = text()
    if isinstance(text, tuple):
        text, others = text
        for name, other in others.items():
            (tmp_path / name).write_text(other)
    (tmp_path / settings).write_text(text)
    return tmp_path, settings, faults, angles, options


def test_one_argument(scanner):
    """The same volume as by the geometry on the command line (test_scanners_truth.py: that balls are where they were)."""
    folder, settings, faults, angles, options = scanner
    made = qb_json("fdk", settings, *options, "--like", "truth.npy", "-o", "v.npy", cwd=folder)
    assert not [w for w in made["warnings"] if "air" not in w and "[way-shown]" not in w and "[row-order]" not in w]
    qb("fdk", "t.npy", "--quantity", "transmission", "--sod", SOD, "--sdd", SDD, "--pixel-size", PITCH, "--angles", angles, *faults,
       "--like", "truth.npy", "-o", "w.npy", cwd=folder)
    v, w = (np.load(folder / name).astype(float) for name in ("v.npy", "w.npy"))
    assert np.linalg.norm(v - w) < 2e-3 * np.linalg.norm(w)


def test_a_folder_with_its_settings(tmp_path):
    """The only settings file in a folder is read, unless angles are given; of two, none is chosen."""
    put_images(tmp_path, "bone_", 65535)
    (tmp_path / "bone.log").write_text(skyscan())
    assert qb_json("info", ".", cwd=tmp_path)["sod_mm"] == SOD and "sod_mm" not in qb_json("info", ".", "--angles", "0:360", cwd=tmp_path)
    qb("fdk", ".", "--like", "truth.npy", "-o", "v.npy", cwd=tmp_path)
    qb("fdk", "bone.log", "--like", "truth.npy", "-o", "w.npy", cwd=tmp_path)
    assert (np.load(tmp_path / "v.npy") == np.load(tmp_path / "w.npy")).all()
    os.mkfifo(tmp_path / "pipe.log")  # nobody writes to it
    qb("info", ".", cwd=tmp_path)
    (tmp_path / "bone.log").write_text(skyscan() + "[Reconstruction]\nReconstruction Program=NRecon\n")  # it is beside the slices
    assert "sod_mm" not in qb_json("info", ".", cwd=tmp_path)
    (tmp_path / "bone.log").write_text(skyscan())
    (tmp_path / "other.log").write_text(skyscan())
    assert "no angles" in " ".join(qb_json("info", ".", cwd=tmp_path)["problems"])


def test_info_names_the_scanner(scanner):
    folder, settings, *_ = scanner
    told = qb_json("info", settings, cwd=folder)
    assert told["format"] in ("Nikon", "SkyScan", "phoenix", "NSI", "YXLON", "Diondo") and told["views"] == VIEWS
    assert told["sod_mm"] == SOD and told["sdd_mm"] == SDD and told["pixel_size_mm"] == pytest.approx(PITCH)


def test_other_verbs_and_options_given(tmp_path):
    put_images(tmp_path, "Scan 1/bug_", 60000, angles="-30:-390")
    (tmp_path / "bug.xtekct").write_text(nikon(CentreOfRotationTop=0, CentreOfRotationBottom=0))
    for verb in (["sirt", "--iterations", 1], ["cgls", "--iterations", 1]):
        qb(*verb[:1], "bug.xtekct", *verb[1:], "--voxel", 0.3, "-o", "v.npy", cwd=tmp_path)
    assert qb_json("center", "bug.xtekct", cwd=tmp_path)["column"] == pytest.approx(47.5, abs=0.3)
    qb("convert", "bug.xtekct", "-o", "bug.h5", cwd=tmp_path)
    shifted = qb("fdk", "bug.xtekct", "--detector-offset", "2,0", "-o", "s.npy", cwd=tmp_path)
    assert "the detector's middle at" not in shifted.stderr


@pytest.mark.parametrize("text, words", [
    (nikon(SrcToObject=None), "has no line `SrcToObject=...`"),
    (nikon(SrcToObject="far"), "SrcToObject is 'far'"),
    (nikon(SrcToDetector=-3), "SrcToDetector is '-3'"),
    (nikon(Projections=0), "Projections is '0'"),
    (nikon(Name=None), "has no line `Name=...`"),
    (nikon(Name="b*g"), "rename the images"),
    (nikon(Name="bugs"), "no file matches"),
    (nikon(DetectorPixelsX=97), "states images of 97 x 64 pixels"),
    (nikon(InputFolderName="../.."), "outside its own folder"),
    (nikon(Projections=118), "118 angles for 120 views"),
    ("[XTekCT]\0", "not a text file of settings"),
    (nikon(SrcToObject="1e"), "SrcToObject is '1e'"),
    (nikon(SrcToObject="0x64"), "SrcToObject is '0x64'"),
    (nikon(SrcToObject="1d2"), "SrcToObject is '1d2'"),
])
def test_bad_settings(tmp_path, text, words):
    put_images(tmp_path, "Scan 1/bug_", 60000)
    (tmp_path / "bug.xtekct").write_text(text)
    done = qb("fdk", "bug.xtekct", "-o", "v.npy", code=3, cwd=tmp_path)
    assert words in done.stderr
    assert not (tmp_path / "v.npy").exists()


def test_skyscan_of_a_part_of_the_camera(tmp_path):
    """Partial width: fewer columns about the middle of the camera. It is said, as their place is not."""
    put_images(tmp_path, "bone_", 65535)
    (tmp_path / "bone.log").write_text(skyscan(**{"Optical Axis (line)": 31.5, "Partial width": 60, "Image crop origin X": 0}))
    made = qb_json("fdk", "bone.log", "--like", "truth.npy", "-o", "v.npy", cwd=tmp_path)
    assert [w for w in made["warnings"] if "[camera-part]" in w and "Partial width 60 %" in w]
    qb("fdk", "t.npy", "--quantity", "transmission", "--sod", SOD, "--sdd", SDD, "--pixel-size", PITCH, "--angles", "0:-360", "--like", "truth.npy", "-o", "w.npy", cwd=tmp_path)
    assert qb_json("compare", "v.npy", "w.npy", cwd=tmp_path)["rel_l2"] < 2e-3


def test_what_is_not_applied_is_said(tmp_path):
    put_images(tmp_path, "bone_", 60000)
    (tmp_path / "bone.log").write_text(skyscan(**{"Random Movement": "ON (10)", "CameraXYRatio": 1.074, "Number of connected scans": 2}))
    said = " ".join(qb_json("info", "bone.log", cwd=tmp_path)["problems"])
    assert all(code in said for code in ("[random-movement]", "[pixel-ratio]", "[connected-scans]"))
    put_images(tmp_path, "Scan 1/bug_", 60000)
    (tmp_path / "bug.xtekct").write_text(nikon(DetectorOffsetX=1))
    assert "DetectorOffsetX 1 and DetectorOffsetY 0 mm" in " ".join(qb_json("info", "bug.xtekct", cwd=tmp_path)["problems"])


def leaning(lean):
    """Source and detector of each view in the laboratory, about an axis whose top leans towards the detector; then in a frame
    with that axis along z, which points down."""
    t = np.radians(lean)
    axis, side = np.array([0, np.sin(t), np.cos(t)]), np.array([1.0, 0, 0])
    frame = np.array([side, np.cross(axis, side), axis])
    source, middle, right, down = (frame @ np.array(x, float) for x in ([0, -SOD, 0], [0, SDD - SOD, 0], [PITCH, 0, 0], [0, 0, -PITCH]))
    first = middle - right * (COLUMNS - 1) / 2 - down * (ROWS - 1) / 2
    views = []
    for angle in np.radians(-3 * np.arange(VIEWS)):
        c, s = np.cos(angle), np.sin(angle)
        turn = np.array([[c, -s, 0], [s, c, 0], [0, 0, -1]])
        view = {"source": turn @ source, "detector": turn @ first, "u": turn @ right, "v": turn @ down}
        views.append({key: list(value) for key, value in view.items()})
    return {"quickbeam_geometry": 1, "units": "mm", "beam": "cone", "rows": ROWS, "columns": COLUMNS, "views": views}


def other_words(text, how):
    """The text of settings with decimal commas, as UTF-16, or with the mark of UTF-8."""
    if how == "mark":
        return b"\xef\xbb\xbf" + text.encode()
    return text.encode("utf-16") if how == "utf-16" else re.sub(r"(\d)\.(\d)", r"\1,\2", text).encode()


@pytest.mark.parametrize("name", ["nikon", "nsi", "yxlon", "yxlon raw", "diondo"])
def test_settings_of_other_countries(tmp_path, name):
    settings, text, images, white, faults, angles, _ = SCANNERS[name]
    put_images(tmp_path, images, white, *faults, angles=angles, put={"nsi": put_stored, "yxlon raw": put_raw_below, "diondo": put_raw}.get(name, put_tiff))
    words, others = text() if name == "nsi" else (text(), {})
    told = []
    for form in (str.encode, lambda t: other_words(t, "utf-16"), lambda t: other_words(t, "commas"), lambda t: other_words(t, "mark")):
        for other, content in {settings: words, **others}.items():
            (tmp_path / other).write_bytes(form(content.replace("<?xml version='1.0'?>\n", "")))
        told.append(qb_json("info", settings, cwd=tmp_path))
    assert told[0] == told[1] == told[2] == told[3] and told[0]["views"] == VIEWS


PCA = """[Geometry]
FDD={0}
FOD={1}
CalibValue={calib}
cx={cx}
cy=31.5
DetectorRot=0.0
Tilt={tilt}
[CT]
NumberImages=120
StartImg=121
RotationSector=360.00000000
[Trajectory]
Active={active}
[CalibValue]
NumberImages=18
[Image]
DimX=96
DimY=64
FreeRay=3401
[Detector]
PixelsizeX={2}
PixelsizeY={2}
"""


def pca(folder, calib=0, cx=47.5, tilt=0, active=0, values=(SDD, SOD, PITCH)):
    (folder / "part.pca").write_bytes(PCA.format(*values, calib=calib, cx=cx, tilt=tilt, active=active).replace("\n", "\r\n").encode())


def test_phoenix_as_its_program_writes(tmp_path):
    """Names without an underscore, open beam, a calibrated axis of unknown sign; one view more, or fewer; other paths."""
    put_images(tmp_path, "part0", 3401, "--detector-offset", "-1.2,0", angles="0:-360")
    qb("fdk", "t.npy", "--quantity", "transmission", "--sod", SOD, "--sdd", SDD, "--pixel-size", PITCH, "--angles", "0:-360", "--detector-offset", "-1.2,0", "--like", "truth.npy", "-o", "w.npy", cwd=tmp_path)
    for k, (changes, code) in enumerate([({"calib": 3}, "[way-shown]"), ({"calib": -3}, "[way-shown]"), ({"cx": 50.5}, "")]):
        pca(tmp_path, **changes)
        made = qb_json("fdk", "part.pca", "--like", "truth.npy", "-o", f"v{k}.npy", cwd=tmp_path)
        assert [w for w in made["warnings"] if code in w] if code else not made["warnings"]
        assert qb_json("compare", f"v{k}.npy", "w.npy", cwd=tmp_path)["rel_l2"] < 0.012  # 3401 counts are rounded
    shutil.copy(tmp_path / "part00001.tif", tmp_path / "part00121.tif")
    pca(tmp_path, cx=50.5)
    assert qb_json("info", "part.pca", cwd=tmp_path)["views"] == 121
    shutil.copy(tmp_path / "part00001.tif", tmp_path / "part00122.tif")
    assert "120 angles for 122 views" in " ".join(qb_json("info", "part.pca", cwd=tmp_path)["problems"])
    for i in range(119, 123):
        (tmp_path / f"part00{i}.tif").unlink()
    told = qb_json("info", "part.pca", cwd=tmp_path)
    assert told["views"] == 118 and [p for p in told["problems"] if "[scan-stopped]" in p]
    for changes in ({"tilt": 60}, {"active": 1}):
        pca(tmp_path, **changes)
        assert "not a circle" in qb("info", "part.pca", code=3, cwd=tmp_path).stderr
    pca(tmp_path, values=("1,234.5", SOD, PITCH))
    assert "FDD is '1,234.5'" in qb("info", "part.pca", code=3, cwd=tmp_path).stderr


def test_diondo_as_found(tmp_path):
    """A comment, names in other case, a unit."""
    put_images(tmp_path, "Projection/b_", 65535, "--detector-offset", "-1.2,0", angles="0:-360", put=put_raw)
    for image in (tmp_path / "Projection").iterdir():
        image.rename(image.with_suffix(".RAW"))
    (tmp_path / "Projection").rename(tmp_path / "projection")
    (tmp_path / "b.xml").write_text(diondo(SourceObjectDist=f"{SOD},0 mm", ProjectionCount=118, ProjectionCountPer360deg=120).replace("<Recon>", "<Recon><!-- <ProjectionDimX>5</ProjectionDimX> -->"))
    told = qb_json("info", "b.xml", cwd=tmp_path)
    assert (told["sod_mm"], told["columns"]) == (SOD, COLUMNS) and "118 angles for 120 views" in " ".join(told["problems"])
    (tmp_path / "b.xml").write_text(diondo(SourceObjectDist=f"{SOD / 10} cm"))
    assert "<SourceObjectDist> is '12.0 cm'" in qb("info", "b.xml", code=3, cwd=tmp_path).stderr
    assert "the settings ./b.xml are read" in qb("info", ".", code=3, cwd=tmp_path).stderr


def test_yxlon_states_a_turned_detector(tmp_path):
    put_images(tmp_path, "Projections/p_", 65535, angles="20:-340")
    (tmp_path / "ScanParameter.xml").write_text(yxlon().replace("<ScanTrajectory", "<DetectorOrientation>Rotated</DetectorOrientation><DetectorFlipDirections>None</DetectorFlipDirections><ScanTrajectory"))
    said = "DetectorOrientation 'Rotated'"
    assert said in " ".join(qb_json("info", "ScanParameter.xml", cwd=tmp_path)["problems"])
    assert said not in " ".join(qb_json("info", "ScanParameter.xml", "--flip", "v", cwd=tmp_path)["problems"])


def test_nikon_axis_that_leans(tmp_path):
    """ObjectTilt gives the volume of the vectors of source and detector."""
    (tmp_path / "g.json").write_text(json.dumps(leaning(4)))
    qb("simulate", "spheres", "-g", "g.json", "--size", "64,64,40", "-o", "t.npy", cwd=tmp_path)
    (tmp_path / "Scan 1").mkdir()
    for i, view in enumerate(np.round(np.load(tmp_path / "t.npy") * 60000)):
        put_tiff(tmp_path / f"Scan 1/bug_{i + 1:04d}.tif", view)
    (tmp_path / "bug.xtekct").write_text(nikon(CentreOfRotationTop=None, CentreOfRotationBottom=None, ObjectOffsetX=0, ObjectRoll=0, InitialAngle=0, ObjectTilt=4))
    grid = ["--size", "64,64,40", "--voxel", PITCH * SOD / SDD]
    qb("fdk", "t.npy", "--quantity", "transmission", "-g", "g.json", *grid, "-o", "w.npy", cwd=tmp_path)
    # of the settings, z = 0 is the height of the source
    made = qb_json("fdk", "bug.xtekct", *grid, "--offset", f"0,0,{-SOD * np.sin(np.radians(4)):.6f}", "-o", "v.npy", cwd=tmp_path)
    assert not [w for w in made["warnings"] if "air" not in w]
    v, w = np.load(tmp_path / "v.npy").astype(float), np.load(tmp_path / "w.npy").astype(float)
    assert np.linalg.norm(v - w) < 2e-3 * np.linalg.norm(w)


def uneven():
    """Angles of a stage that runs unevenly, in steps of 3 degrees on average."""
    return 3 * np.arange(VIEWS) + 12 * np.sin(2 * np.pi * np.arange(VIEWS) / VIEWS)


def put_angles(folder, kind, angles):
    if kind == "ang":
        (folder / "bug.ang").write_text("Projection: Angle\r\n" + "".join(f"{i + 1}: {a:.4f}\r\n" for i, a in enumerate(angles)))
    else:
        (folder / "_ctdata.txt").write_text(f"Projs\tFrames\tType\r\n{VIEWS}\t4\t0\r\nProjection\tAngle(deg)\tTime(s)\r\n"
                                            + "".join(f"{i + 1}\t{a:.4f}\t{9 * i}\r\n" for i, a in enumerate(angles)))


@pytest.mark.parametrize("kind", ["ang", "ctdata"])
@pytest.mark.parametrize("right", [True, False])
def test_nikon_angle_files(tmp_path, kind, right):
    """Opposite rays show whether a file of angles is right, or the settings."""
    degrees = -30 - (uneven() if right else 3.0 * np.arange(VIEWS))
    np.savetxt(tmp_path / "a.txt", degrees)
    put_images(tmp_path, "Scan 1/bug_", 60000, "--detector-offset", "-1.2,0", angles="a.txt")
    put_angles(tmp_path, kind, 7 + uneven())
    (tmp_path / "bug.xtekct").write_text(nikon(CentreOfRotationTop=1.2, CentreOfRotationBottom=1.2))
    made = qb_json("fdk", "bug.xtekct", "--like", "truth.npy", "-o", "v.npy", cwd=tmp_path)
    shown = [w for w in made["warnings"] if "[way-shown]" in w]
    assert len(shown) == right and all("by the angles of" in w and "at -1.2 mm" in w for w in shown)
    qb("fdk", "bug.xtekct", "--angles", "a.txt", "--detector-offset", "-1.2,0", "--like", "truth.npy", "-o", "w.npy", cwd=tmp_path)
    assert qb_json("compare", "v.npy", "w.npy", cwd=tmp_path)["rel_l2"] < 1e-5
    fails(2, "fdk", "bug.xtekct", "-o", "x.npy", "--save-config", "bug.ang" if kind == "ang" else "_ctdata.txt", cwd=tmp_path, says=["would overwrite the input"])


def test_nikon_angle_files_in_doubt(tmp_path):
    """A ball on the axis shows nothing; a file with too few angles is left out, one with the angles of the settings is silent."""
    (tmp_path / "Scan 1").mkdir()
    qb("simulate", "ball", "--geometry", "cone", "--sod", SOD, "--sdd", SDD, "--pixel-size", PITCH, "--detector", f"{COLUMNS},{ROWS}", "--views", VIEWS, "-o", "t.npy", cwd=tmp_path)
    for i, view in enumerate(np.round(np.load(tmp_path / "t.npy") * 60000)):
        put_tiff(tmp_path / f"Scan 1/bug_{i + 1:04d}.tif", view)
    (tmp_path / "bug.xtekct").write_text(nikon(CentreOfRotationTop=0, CentreOfRotationBottom=0))
    for angles, words in ((uneven(), "states other angles than"), (uneven()[:50], "has angles of 50 of 120 views"), (3 * np.arange(VIEWS) + 0.1, None)):
        put_angles(tmp_path, "ang", angles)
        said = [p for p in qb_json("info", "bug.xtekct", cwd=tmp_path)["problems"] if "[two-angles]" in p]
        assert len(said) == (words is not None) and all(words in p for p in said)


def test_readers_differ(tmp_path):
    """Opposite rays show the sense of rotation and the axis' side, with noise, too; where they do not, the question is asked."""
    dice = np.random.default_rng(3)
    put_images(tmp_path, "Scan 1/bug_", 60000, "--detector-offset", "1.2,0", angles="30:390", put=lambda path, view: put_tiff(path, np.round(view + dice.normal(0, 20, view.shape))))
    (tmp_path / "bug.xtekct").write_text(nikon(CentreOfRotationTop=1.2, CentreOfRotationBottom=1.2))
    said, = [p for p in qb_json("info", "bug.xtekct", cwd=tmp_path)["problems"] if "way-shown" in p]
    assert "turn by 3 degrees" in said and "at 1.2 mm" in said
    qb("fdk", "bug.xtekct", "--like", "truth.npy", "-o", "v.npy", cwd=tmp_path)
    qb("fdk", "bug.xtekct", "--angles", "30:390", "--detector-offset", "1.2,0", "--like", "truth.npy", "-o", "w.npy", cwd=tmp_path)
    assert qb_json("compare", "v.npy", "w.npy", cwd=tmp_path)["rel_l2"] < 1e-6
    assert not [p for p in qb_json("info", "bug.xtekct", "--angles", "30:390", cwd=tmp_path)["problems"] if "way-shown" in p]


def test_what_no_ray_shows_is_asked(tmp_path):
    (tmp_path / "Projection").mkdir()
    qb("simulate", "ball", "--geometry", "cone", "--sod", SOD, "--sdd", SDD, "--pixel-size", PITCH, "--detector", f"{COLUMNS},{ROWS}", "--views", 40, "-o", "t.npy", cwd=tmp_path)
    for i, view in enumerate(np.round(np.load(tmp_path / "t.npy") * 60000)):
        put_raw(tmp_path / f"Projection/b_{i:04}.raw", view)
    (tmp_path / "b.xml").write_text(diondo(ProjectionCount=40, ProjectionCenterOffsetX=0))
    done = qb("fdk", "b.xml", "-o", "v.npy", code=3, cwd=tmp_path)
    assert all(word in done.stderr for word in ("which way", "--angles 0:-360 or 0:360"))
    (tmp_path / "b.xml").write_text(diondo(ProjectionCount=40, ProjectionCenterOffsetX=2))
    qb("fdk", "b.xml", "--angles", "0:-360", "-o", "v.npy", cwd=tmp_path)
    told = qb_json("info", "b.xml", "--angles", "0:-360", cwd=tmp_path)
    assert told["sod_mm"] == SOD and not [p for p in told["problems"] if "way" in p]


@pytest.mark.parametrize("name, text, words", [
    ("a.nsipro", nsi(source="1 2")[0], "<source> of <Result> is '1 2', which should be three numbers"),
    ("a.nsipro", nsi(clockwise=None)[0], "<clockwise> of <Processed> is ''"),
    ("a.nsipro", nsi(normal="0 0 1")[0], "its vectors put the source"),
    ("a.nsipro", nsi(horizontal="0 0 0")[0], "its vectors put the source"),
    ("a.nsipro", nsi(rotate=45)[0], "turned by 45 degrees"),
    ("a.nsipro", nsi(number=0)[0], "states 0 views"),
    ("a.nsipro", nsi()[0], "a folder Radiographs"),
    ("a.xml", diondo(HelixMode="true", HelixPerStepDistanceZ=0.25, ProjectionCountPer360deg=90), "a helix of 0.25 mm a view with 90 views a turn"),
    ("a.xml", diondo(HelixMode="true"), "an unknown number of mm a view"),
    ("a.xml", diondo(Laminography="true"), "is a laminography"),
    ("a.xml", diondo(SourceObjectDist=None), "has no <SourceObjectDist>"),
    ("a.xml", diondo(ProjectionDimX="wide"), "<ProjectionDimX> is 'wide'"),
    ("a.xml", diondo(), "a folder Projection next to it"),
    ("a.xml", yxlon("HelixTrajectory"), "is not a CircleTrajectory"),
    ("a.xml", yxlon(Fdd=-1), "<Fdd> is '-1'"),
    ("a.xml", yxlon(), "a folder Projektionen next to it"),
    ("a.xml", "<RTK/>", "not a scan of Diondo or YXLON"),
    ("a.txt", yxlon_lines(**{"FDD [mm]": "far"}), "'FDD [mm]'"),
    ("a.nsipro", nsi()[0].replace("  </Result>\n", ""), "<source> of <Result> is ''"),
    ("a.nsipro", nsi()[0] + "\0", "holds bytes that are 0"),
    ("a.xml", diondo()[:-10], "its end tag </Scan> is missing"),
    ("a.xml", diondo().replace("</Recon>", "\0</Recon>"), "holds bytes that are 0"),
    ("a.xml", diondo(SourceObjectDist="1e"), "<SourceObjectDist> is '1e'"),
    ("a.xml", yxlon()[:-30], "its end tag </S> is missing"),
    ("a.txt", yxlon_lines() + "\0", "holds bytes that are 0"),
    ("a.txt", "", "not a scan of Diondo or YXLON"),
])
def test_bad_settings_of_others(tmp_path, name, text, words):
    (tmp_path / name).write_text(text)
    assert words in qb("fdk", name, "-o", "v.npy", code=3, cwd=tmp_path).stderr


def test_several_turns(tmp_path):
    """Diondo states the views of a turn; of NSI's turns it is not known whether they are a helix."""
    put_images(tmp_path, "Projection/p_", 65535, angles="0:-720", put=put_raw)
    (tmp_path / "b.xml").write_text(diondo(ProjectionCountPer360deg=VIEWS // 2, ProjectionCenterOffsetX=0))
    qb("fdk", "b.xml", "--like", "truth.npy", "-o", "v.npy", cwd=tmp_path)
    qb("fdk", "t.npy", "--quantity", "transmission", "--sod", SOD, "--sdd", SDD, "--pixel-size", PITCH, "--angles", "0:-720", "--like", "truth.npy", "-o", "w.npy", cwd=tmp_path)
    assert qb_json("compare", "v.npy", "w.npy", cwd=tmp_path)["rel_l2"] < 2e-3
    put_images(tmp_path, "Radiographs-bar/bar_", 60000, put=put_stored)
    text, others = nsi(angleStep=6)
    (tmp_path / "bar.nsipro").write_text(text)
    assert "2 turns, which may be a helix" in " ".join(qb_json("info", "bar.nsipro", cwd=tmp_path)["problems"])


def put_nsi(folder, **changes):
    text, others = nsi(**changes)
    (folder / "bar.nsipro").write_text(text)
    (folder / "Geometry Report.rtf").write_text(others["Geometry Report.rtf"])


def defects(*pixels):
    return "<Defect Pixels>\n <Defective Pixels>\n" + "".join(f"  <Defect>{pixel}\n" for pixel in pixels) + " </Defective Pixels>\n"


def test_defects_of_nsi(tmp_path):
    """Pixels that say anything, listed by column and row of the stored image, which is turned and mirrored."""
    wrong = np.zeros((ROWS, COLUMNS), bool)
    wrong[[10, 10, 33, 33, 50], [20, 21, 40, 60, 90]] = True
    dice = np.random.default_rng(2)

    def put(path, image):
        put_stored(path, np.where(wrong, dice.uniform(9000, 60000, image.shape), image))
    put_images(tmp_path, "Radiographs-bar/bar_", 60000, *SCANNERS["nsi"][4], put=put)
    put_nsi(tmp_path)
    qb("fdk", "bar.nsipro", "--like", "truth.npy", "-o", "bad.npy", cwd=tmp_path)
    stored = np.rot90(wrong)[:, ::-1]
    (tmp_path / "Corrections" / "bar.defect").write_text(defects(*(f"{c} {r}" for r, c in zip(*np.nonzero(stored)))))
    told = qb("info", "bar.nsipro", "--mask-out", "m.npy", cwd=tmp_path)
    assert "Corrections/bar.defect: 5 of 6144 pixels count as not measured" in told.stderr and "5 of 6144 pixels: 5 masked" in told.stdout
    assert (np.load(tmp_path / "m.npy").reshape(ROWS, COLUMNS) == wrong).all()
    qb("fdk", "bar.nsipro", "--like", "truth.npy", "-o", "v.npy", cwd=tmp_path)
    qb("fdk", "t.npy", "--quantity", "transmission", "--sod", SOD, "--sdd", SDD, "--pixel-size", PITCH, "--angles", "0:-360", *SCANNERS["nsi"][4], "--like", "truth.npy", "-o", "w.npy", cwd=tmp_path)
    bad, v, w = (np.load(tmp_path / f"{name}.npy").astype(float) for name in ("bad", "v", "w"))
    assert np.linalg.norm(v - w) < 0.02 * np.linalg.norm(w) < 0.1 * np.linalg.norm(bad - w) * 10
    assert qb_json("info", "bar.nsipro", "--mask", "none", cwd=tmp_path)["not_measured"]["masked"] == 0
    for text, words in [(defects("64 3"), "lists '64 3', which is no column and row of images of 64 x 96"), (defects("a b"), "lists 'a b'"), (defects("1 2")[:-30], "was it cut off?")]:
        (tmp_path / "Corrections" / "bar.defect").write_text(text)
        assert [p for p in qb_json("info", "bar.nsipro", cwd=tmp_path)["problems"] if words in p and "[metadata-unusable]" in p]
    (tmp_path / "Corrections" / "old.defect").write_text(text)
    assert [p for p in qb_json("info", "bar.nsipro", cwd=tmp_path)["problems"] if "2 lists of defective pixels" in p]


def test_crop_of_nsi(tmp_path):
    """Images that the settings crop, and images that are cropped already; four numbers that differ are not guessed."""
    put_images(tmp_path, "Radiographs-bar/bar_", 60000, *SCANNERS["nsi"][4], put=put_stored)
    put_nsi(tmp_path, crop="4 4 4 0")
    told = qb_json("info", "bar.nsipro", cwd=tmp_path)
    assert "nothing is cropped" in " ".join(told["problems"]) and told["columns"] == COLUMNS
    put_nsi(tmp_path, crop="4 4 4 4")
    qb("fdk", "t.npy", "--quantity", "transmission", "--sod", SOD, "--sdd", SDD, "--pixel-size", PITCH, "--angles", "0:-360", *SCANNERS["nsi"][4], "--crop", "4:92,4:60", "--like", "truth.npy", "-o", "w.npy", cwd=tmp_path)
    w = np.load(tmp_path / "w.npy")
    for cut in 0, 4:
        for image in (list((tmp_path / "Radiographs-bar").iterdir()) + list((tmp_path / "Corrections").iterdir())) * (cut > 0):
            put_tiff(image, np.frombuffer(image.read_bytes()[8:8 + 2 * ROWS * COLUMNS], "<u2").reshape(COLUMNS, ROWS)[cut:-cut, cut:-cut])
        told = qb("fdk", "bar.nsipro", "--like", "truth.npy", "-o", "v.npy", cwd=tmp_path).stderr
        assert "<crop> leaves columns 4:92 and rows 4:60" in told
        assert np.linalg.norm(np.load(tmp_path / "v.npy") - w) < 2e-3 * np.linalg.norm(w)
    for text, words in (("1 2 3", "which should be four numbers"), ("40 40 40 40", "<crop> of <Radiograph> is '40 40 40 40', of images of 64 x 96")):
        put_nsi(tmp_path, crop=text)
        assert words in qb("info", "bar.nsipro", code=3, cwd=tmp_path).stderr


def test_open_beam_that_is_cut_off(tmp_path):
    """With noise half of the open beam is above the largest number; without, or below it, nothing is said."""
    dice = np.random.default_rng(4)
    for white, noise, said in ((65535, 300, True), (65535, 0, False), (60000, 300, False)):
        put_images(tmp_path, "Projection/p_", white, put=lambda path, view: put_raw(path, np.clip(view + dice.normal(0, noise, view.shape), 0, 65535)))
        (tmp_path / "b.xml").write_text(diondo(ProjectionCenterOffsetX=0))
        told = [p for p in qb_json("info", "b.xml", "--angles", "0:-360", cwd=tmp_path)["problems"] if "[open-beam-saturated]" in p]
        assert len(told) == said and all("is 65535" in p for p in told)
