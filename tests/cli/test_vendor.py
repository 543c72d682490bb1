# SPDX-License-Identifier: MIT
"""Scans by the settings that scanners write beside their images: one argument, and the geometry is theirs."""
import struct

import numpy as np
import pytest

from qbtest import qb, qb_json

VIEWS, ROWS, COLUMNS, PITCH, SOD, SDD = 120, 64, 96, 0.4, 120, 400


def put_tiff(path, image):
    """16 bits, one strip."""
    rows, columns = image.shape
    data = image.astype("<u2").tobytes()
    tags = [(256, 3, columns), (257, 3, rows), (258, 3, 16), (259, 3, 1), (262, 3, 1), (273, 4, 8), (277, 3, 1), (278, 3, rows), (279, 4, len(data))]
    directory = struct.pack("<H", len(tags)) + b"".join(struct.pack("<HHII", tag, kind, 1, value) for tag, kind, value in tags) + bytes(4)
    path.write_bytes(b"II*\0" + struct.pack("<I", 8 + len(data)) + data + directory)


def put_images(folder, name, white, *faults, angles="0:-360"):
    """An object that is no mirror image of itself, as corrected counts of 16 bits; and its voxels."""
    (folder / name).parent.mkdir(exist_ok=True)
    qb("simulate", "spheres", "--geometry", "cone", "--sod", SOD, "--sdd", SDD, "--pixel-size", PITCH, "--detector", f"{COLUMNS},{ROWS}",
       "--views", VIEWS, "--angles", angles, *faults, "--size", "64,64,40", "--truth", "truth.npy", "-o", "t.npy", cwd=folder)
    for i, view in enumerate(np.round(np.load(folder / "t.npy") * white)):
        put_tiff(folder / f"{name}{i + 1:04d}.tif", view)


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


# the settings' name, their text, the images, open beam, faults of the geometry as `qb simulate` has them, options
SCANNERS = {
    "nikon": ("bug.xtekct", nikon, "Scan 1/bug_", 60000, ["--detector-offset", "-1.2,0", "--tilt", "1.5,0,0"], "-30:-390", []),
    "newer": ("bug.xtekct", lambda: nikon(CentreOfRotationTop=None, CentreOfRotationBottom=None, ObjectOffsetX=1.2 * SOD / SDD, ObjectRoll=-1.5, ObjectTilt=0),
              "Scan 1/bug_", 60000, ["--detector-offset", "-1.2,0", "--tilt", "1.5,0,0"], "-30:-390", []),
    # line 30 from below of 64 is row 33, 1.5 rows below the middle: the detector's middle lies that much above the beam's plane
    "skyscan": ("bone.log", skyscan, "bone_", 65535, ["--detector-offset", "0,-0.6"], "0:-360", []),
    "phoenix": ("part.pca", phoenix, "part_", 50000, [], "0:-360", ["--air", "0:4,0:64", "--darks", "none"]),
}


@pytest.fixture(params=SCANNERS)
def scanner(request, tmp_path):
    settings, text, images, white, faults, angles, options = SCANNERS[request.param]
    put_images(tmp_path, images, white, *faults, angles=angles)
    (tmp_path / settings).write_text(text())
    return tmp_path, settings, faults, angles, options


def test_one_argument(scanner):
    """The same volume as by the geometry on the command line, and the object's sides are where they were."""
    folder, settings, faults, angles, options = scanner
    made = qb_json("fdk", settings, *options, "--like", "truth.npy", "-o", "v.npy", cwd=folder)
    assert not [w for w in made["warnings"] if "air" not in w]
    qb("fdk", "t.npy", "--quantity", "transmission", "--sod", SOD, "--sdd", SDD, "--pixel-size", PITCH, "--angles", angles, *faults,
       "--like", "truth.npy", "-o", "w.npy", cwd=folder)
    v, w, truth = (np.load(folder / name).astype(float) for name in ("v.npy", "w.npy", "truth.npy"))
    assert np.linalg.norm(v - w) < 2e-3 * np.linalg.norm(w)
    match = np.corrcoef(v.ravel(), truth.ravel())[0, 1]
    assert match > 0.97
    for axis in range(3):
        assert np.corrcoef(np.flip(v, axis).ravel(), truth.ravel())[0, 1] < match - 0.2
    scale = (v * truth).sum() / (truth * truth).sum()
    assert scale == pytest.approx(1, abs=0.05)  # small spheres; rows between pixels blur them more


def test_info_names_the_scanner(scanner):
    folder, settings, *_ = scanner
    told = qb_json("info", settings, cwd=folder)
    assert told["format"] in ("Nikon", "SkyScan", "phoenix") and told["views"] == VIEWS
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
    (nikon(Name="b*g"), "rename its files"),
    (nikon(Name="bugs"), "no file matches"),
    (nikon(DetectorPixelsX=97), "states images of 97 x 64 pixels"),
    (nikon(InputFolderName="../.."), "outside its own folder"),
    (nikon(Projections=121), "121 angles for 120 views"),
    ("[XTekCT]\0", "no text of settings"),
])
def test_bad_settings(tmp_path, text, words):
    put_images(tmp_path, "Scan 1/bug_", 60000)
    (tmp_path / "bug.xtekct").write_text(text)
    done = qb("fdk", "bug.xtekct", "-o", "v.npy", code=3, cwd=tmp_path)
    assert words in done.stderr
    assert not (tmp_path / "v.npy").exists()


def test_what_is_not_applied_is_said(tmp_path):
    put_images(tmp_path, "bone_", 60000)
    (tmp_path / "bone.log").write_text(skyscan(**{"Random Movement": "ON (10)", "CameraXYRatio": 1.074, "Number of connected scans": 2}))
    said = " ".join(qb_json("info", "bone.log", cwd=tmp_path)["problems"])
    assert all(code in said for code in ("[random-movement]", "[pixel-ratio]", "[connected-scans]"))
    put_images(tmp_path, "Scan 1/bug_", 60000)
    (tmp_path / "bug.xtekct").write_text(nikon(ObjectTilt=1))
    assert "[object-tilt]" in " ".join(qb_json("info", "bug.xtekct", cwd=tmp_path)["problems"])
