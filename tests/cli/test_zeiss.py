# SPDX-License-Identifier: MIT
"""Zeiss's .txrm, .xrm and .txm: compound files with images, flats, shifts and geometry."""
import struct

import numpy as np
import pytest

from compound import compound
from qbtest import fails, qb, qb_json

VIEWS, ROWS, COLUMNS, PITCH, SOD, SDD = 120, 64, 96, 0.4, 120, 400
FLAT = 40000 + 200 * np.arange(COLUMNS)[None, :] + 100 * np.arange(ROWS)[:, None]


def floats(*values):
    return np.asarray(values, "<f4").tobytes()


def ints(*values):
    return np.asarray(values, "<u4").tobytes()


def streams(views, **changes):
    """What a scanner writes; a stream that is None is left out."""
    count, rows, columns = views.shape
    made = {"exeVersion": b"13.0\0", "ImageInfo/ImageWidth": ints(columns), "ImageInfo/ImageHeight": ints(rows), "ImageInfo/DataType": ints(5),
            "ImageInfo/NoOfImages": ints(count), "ImageInfo/ImagesTaken": ints(count), "ImageInfo/XrayGeometry": ints(1), "ImageInfo/AcquisitionMode": ints(0),
            "ImageInfo/PixelSize": floats(1000 * PITCH * SOD / SDD), "ImageInfo/Angles": floats(*(3 * np.arange(count) - 180)),
            "ImageInfo/StoRADistance": floats(*[-SOD] * count), "ImageInfo/DtoRADistance": floats(*[SDD - SOD] * count),
            "PositionInfo/AxisNames": b"Sample X\0Source Z\0Detector Z\0", "PositionInfo/AxisUnits": b"um\0mm\0mm\0",
            "Alignment/X-Shifts": floats(*[0] * count), "Alignment/Y-Shifts": floats(*[0] * count),
            "ReferenceData/DataType": ints(5), "ReferenceData/Image": FLAT[:rows, :columns].astype("<u2").tobytes()}
    for i, view in enumerate(views):
        made[f"ImageData{i // 100 + 1}/Image{i + 1}"] = view.astype("<u2").tobytes()
    made.update({name: value for name, value in changes.items()})
    return {name: value for name, value in made.items() if value is not None}


@pytest.fixture(scope="module")
def truth(tmp_path_factory):
    """An object that is no mirror image of itself, as transmissions; its angles run backwards in this program's frame."""
    folder = tmp_path_factory.mktemp("truth")
    qb("simulate", "spheres", "--geometry", "cone", "--sod", SOD, "--sdd", SDD, "--pixel-size", PITCH, "--detector", f"{COLUMNS},{ROWS}", "--views", VIEWS,
       "--angles", "180:-180", "--size", "64,64,40", "--truth", "truth.npy", "-o", "t.npy", cwd=folder)
    return folder


def counts(folder):
    return np.round(np.load(folder / "t.npy") * FLAT)


@pytest.mark.parametrize("version, scatter, changes", [
    (3, True, {}),
    (4, False, {"PositionInfo/AxisUnits": b"um\0um\0um\0", "ImageInfo/StoRADistance": floats(*[1000 * SOD] * VIEWS),
                "ImageInfo/DtoRADistance": floats(*[1000 * (SDD - SOD)] * VIEWS)}),
    (3, False, {"ReferenceData/Image": None, "ReferenceData/DataType": None, "MultiReferenceData/DataType": ints(10), "ImageInfo/XrayGeometry": None,
                "MultiReferenceData/ImageInfo/NoOfImages": ints(2), "MultiReferenceData/Image1": floats(FLAT - 100), "MultiReferenceData/Image2": floats(FLAT + 100)}),
])
def test_one_argument(truth, tmp_path, version, scatter, changes):
    """The same volume as by the geometry on the command line."""
    (tmp_path / "s.txrm").write_bytes(compound(streams(counts(truth), **changes), version, scatter))
    made = qb_json("fdk", "s.txrm", "--like", truth / "truth.npy", "-o", "v.npy", cwd=tmp_path)
    assert not made["warnings"]
    qb("fdk", truth / "t.npy", "--quantity", "transmission", "--sod", SOD, "--sdd", SDD, "--pixel-size", PITCH, "--angles", "180:-180",
       "--like", truth / "truth.npy", "-o", "w.npy", cwd=tmp_path)
    v, w = (np.load(tmp_path / name).astype(float) for name in ("v.npy", "w.npy"))
    assert np.linalg.norm(v - w) < 2e-3 * np.linalg.norm(w)


def test_info(truth, tmp_path):
    (tmp_path / "s.txrm").write_bytes(compound(streams(counts(truth))))
    (tmp_path / "named_otherwise").write_bytes(compound(streams(counts(truth))))
    for name in ("s.txrm", "named_otherwise"):
        told = qb_json("info", name, cwd=tmp_path)
        assert told["format"] == "Zeiss" and told["views"] == VIEWS and not told["problems"]
        assert told["sod_mm"] == SOD and told["sdd_mm"] == SDD and told["pixel_size_mm"] == pytest.approx(PITCH)


def test_empty_streams(truth, tmp_path):
    """Scanners leave streams without content, as public reports show: they count as missing."""
    (tmp_path / "s.txrm").write_bytes(compound(streams(counts(truth), **{"ReferenceData/Image": b"", "Alignment/X-Shifts": b"", "Alignment/Y-Shifts": b""})))
    assert "0 flats" in qb("info", "s.txrm", cwd=tmp_path).stdout


def test_shifts(truth, tmp_path):
    """Images that moved lie right again by the file's shifts, also in a turned image; --shifts replaces them."""
    rng = np.random.default_rng(1)
    x, y = rng.integers(-5, 6, VIEWS), rng.integers(-3, 4, VIEWS)
    views = np.load(truth / "t.npy")
    moved = np.round(np.stack([np.roll(view, (-b, -a), (0, 1)) for view, a, b in zip(views, x, y)]) * 40000)
    level = {"ReferenceData/Image": np.full((ROWS, COLUMNS), 40000, "<u2").tobytes()}
    shifts = {"Alignment/X-Shifts": floats(*x), "Alignment/Y-Shifts": floats(*y)}
    (tmp_path / "moved.txrm").write_bytes(compound(streams(moved, **level, **shifts)))
    (tmp_path / "still.txrm").write_bytes(compound(streams(np.round(views * 40000), **level)))
    for how in (["--bin", 2], ["--flip", "u"], ["--rotate", "180"], []):
        for name in ("moved", "still"):
            made = qb_json("fdk", f"{name}.txrm", *how, "-o", f"{name}.npy", cwd=tmp_path)
            assert all("[turn-sense]" in warning for warning in made["warnings"]) and bool(made["warnings"]) == ("--flip" in how or "--rotate" in how)
        v, w = (np.load(tmp_path / f"{name}.npy") for name in ("moved", "still"))
        assert np.linalg.norm(v - w) < (0.1 if "--bin" in how else 0.02) * np.linalg.norm(w), how  # bins lie half a pixel apart
    (tmp_path / "none.txt").write_text("0 0\n" * VIEWS)
    qb("fdk", "moved.txrm", "--shifts", "none.txt", "-o", "moved.npy", cwd=tmp_path)
    assert np.linalg.norm(np.load(tmp_path / "moved.npy") - w) > 0.2 * np.linalg.norm(w)


def test_parallel_stopped_and_volume(tmp_path):
    views = np.full((9, 16, 24), 30000)
    (tmp_path / "nano.txrm").write_bytes(compound(streams(views, **{"ImageInfo/XrayGeometry": ints(0), "ImageInfo/ImagesTaken": ints(7), "AutoRecon/CenterShift": floats(3)})))
    told = qb_json("info", "nano.txrm", cwd=tmp_path)
    assert told["views"] == 7 and told["beam"] == "parallel" and told["pixel_size_mm"] == pytest.approx(PITCH * SOD / SDD)
    said = " ".join(told["problems"])
    assert "[scan-stopped]" in said and "[center-shift]" in said
    volume = np.arange(5 * 16 * 24, dtype="<f4").reshape(5, 16, 24)
    made = streams(np.zeros((5, 16, 24)), **{"ImageInfo/DataType": ints(10), "ImageInfo/PixelSize": floats(2)})
    made.update({f"ImageData1/Image{i + 1}": image.tobytes() for i, image in enumerate(volume)})
    (tmp_path / "v.txm").write_bytes(compound(made))
    np.save(tmp_path / "w.npy", volume)
    assert qb_json("compare", "v.txm", "w.npy", cwd=tmp_path)["max_abs"] == 0
    assert qb_json("info", "v.txm", cwd=tmp_path)["voxel_mm"] == pytest.approx([0.002] * 3)


BROKEN = {
    "ImageInfo/ImageWidth": (None, "no stream ImageInfo/ImageWidth"),
    "ImageInfo/ImageHeight": (ints(0), "ImageHeight is 0"),
    "ImageInfo/DataType": (ints(7), "DataType is 7"),
    "ImageInfo/NoOfImages": (ints(10), "ImageInfo/Angles has 36 bytes, 40 are needed"),
    "ImageData1/Image5": (None, "no stream ImageData1/Image5"),
    "ImageData1/Image9": (bytes(100), "Image9 has 100 bytes, 768 are needed"),
    "ImageInfo/PixelSize": (floats(-1), "PixelSize -1"),
    "ImageInfo/StoRADistance": (floats(0), "StoRADistance 0"),
    "Alignment/X-Shifts": (floats(*[np.nan] * 9), "X-Shifts of view 0 is not a number"),
    "Alignment/Y-Shifts": (floats(*[100] * 9), "moves a view by 100 rows of 16"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_streams(tmp_path, name):
    value, words = BROKEN[name]
    made = streams(np.full((9, 16, 24), 30000), **{name: value})
    if name == "ImageInfo/NoOfImages":
        made["ImageInfo/ImagesTaken"], made["ImageData1/Image10"] = ints(10), bytes(768)
    (tmp_path / "s.txrm").write_bytes(compound(made))
    fails(3, "fdk", "s.txrm", "-o", "v.npy", says=[words], cwd=tmp_path)


def put(data, at, kind, value):
    return data[:at] + struct.pack(kind, value) + data[at + struct.calcsize(kind):]


def test_broken_containers(tmp_path):
    """Files that were cut or changed are refused; chains that run in a circle end."""
    whole = compound(streams(np.full((9, 32, 80), 30000)), scatter=True)
    directory, table = (struct.unpack_from("<I", whole, at)[0] for at in (48, 76))
    fat = 512 * (table + 1)
    cases = {"empty": b"", "head": whole[:512], "half": whole[:len(whole) // 2], "almost": whole[:-512], "order": put(whole, 28, "<H", 0xFEFF),
             "version": put(whole, 26, "<H", 5), "tables": put(whole, 44, "<I", 1 << 30), "swapped": whole[:8] + whole[9:7:-1] + np.frombuffer(whole[10:], "<u2").byteswap().tobytes(),
             "circle": put(whole, fat + 4 * directory, "<I", directory), "nowhere": put(whole, fat + 4 * directory, "<I", 1 << 20),
             "twice": put(whole, 512 * (directory + 1) + 76, "<I", 0), "outside": put(whole, 512 * (directory + 1) + 76, "<I", 1 << 16)}
    for name, data in cases.items():
        (tmp_path / "s.txrm").write_bytes(data)
        fails(3, "info", "s.txrm", cwd=tmp_path, says=["s.txrm"])
    for cut in range(0, len(whole), len(whole) // 60):
        (tmp_path / "s.txrm").write_bytes(whole[:cut])
        fails(3, "info", "s.txrm", cwd=tmp_path)


def test_large_table(tmp_path):
    """More sectors of the table than the header has room for, as in files above 7 MB."""
    view = np.full((1, 1500, 3000), 30000)
    view[0, 1499, 2999] = 77
    flat = {"ReferenceData/Image": None, "ReferenceData/DataType": None}
    (tmp_path / "s.xrm").write_bytes(compound(streams(view, **flat), scatter=True))
    assert (tmp_path / "s.xrm").stat().st_size > 109 * 128 * 512
    qb("convert", "s.xrm", "--quantity", "line_integral", "--as", "projections", "-o", "w.npy", cwd=tmp_path)
    read = np.load(tmp_path / "w.npy")
    assert read[0, 1499, 2999] == 77 and read[0, 0, 0] == 30000 and read.size == view.size


def test_series_of_single_views(truth, tmp_path):
    """A folder of .xrm, each with its own angle and shift: the bits of the same scan in one file."""
    views, moved = counts(truth), np.linspace(0, 3, VIEWS)
    (tmp_path / "many").mkdir()
    (tmp_path / "one.txrm").write_bytes(compound(streams(views, **{"Alignment/X-Shifts": floats(*moved)})))
    flat = streams(FLAT[None], **{"ReferenceData/Image": None, "ReferenceData/DataType": None})
    (tmp_path / "flat.xrm").write_bytes(compound(flat))
    for i in range(VIEWS):
        one = {"ImageInfo/Angles": floats(3 * i - 180), "Alignment/X-Shifts": floats(moved[i]), "ReferenceData/Image": None, "ReferenceData/DataType": None}
        (tmp_path / "many" / f"v_{i:03}.xrm").write_bytes(compound(streams(views[i:i + 1], **one)))
    for scan, more in (("one.txrm", ()), ("many", ("--flats", "flat.xrm", "--darks", "none"))):
        qb("fdk", scan, *more, "-o", "v.npy" if more else "w.npy", cwd=tmp_path)
    assert np.array_equal(np.load(tmp_path / "v.npy"), np.load(tmp_path / "w.npy"))
    told = qb_json("info", "many", cwd=tmp_path)
    assert told["format"] == "Zeiss" and told["views"] == VIEWS
    last = tmp_path / "many" / f"v_{VIEWS - 1:03}.xrm"
    whole = last.read_bytes()
    for data, words in ((b"", last.name), (whole[:-600], last.name), (compound(streams(views[:1, :-1])), "are needed"), (compound(streams(np.pad(views[:1], ((0, 0), (0, 1), (0, 0))))), "holds a view of"), (compound(streams(views[:1], **{"ImageInfo/DataType": ints(10)})), "float32")):
        last.write_bytes(data)
        fails(3, "info", "many", says=[words], cwd=tmp_path)


def test_several_scans_by_one_pattern(tmp_path):
    for i in range(2):
        (tmp_path / f"a_{i}.txrm").write_bytes(bytes(600))
    for name in ("a_*.txrm", "a_%d.txrm"):
        fails(3, "info", name, says=["each .txrm is a scan of its own"], cwd=tmp_path)
