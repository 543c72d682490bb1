# SPDX-License-Identifier: MIT
"""Angles in files of every kind: each gives the true angles, or is refused, and what is left out is named."""
import json

import h5py
import numpy as np
import pytest

from qbtest import fails, qb, qb_json, write_scan

VIEWS = 90
TRUE = np.arange(VIEWS) * 2.0


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """90 views of one row, without angles."""
    folder = tmp_path_factory.mktemp("angles")
    data = np.random.default_rng(1).random((VIEWS, 1, 32)).astype(np.float32)
    write_scan(folder / "s.h5", data, quantity="line_integral", pixel=0.1)
    return folder


def angles(folder, *args, scan="s.h5"):
    """All angles in degrees, as a scan of line integrals tells them, and what info says."""
    qb("convert", scan, "-o", "l.npy", *args, cwd=folder)
    told = qb_json("info", scan, *args, cwd=folder)
    return np.array(json.loads((folder / "l.npy.json").read_text())["angles_degrees"]), told


def lines(values):
    return "".join(f"{x:.10g}\n" for x in values)


FILES = {
    "bom.txt": b"\xef\xbb\xbf" + lines(TRUE).encode(),
    "bom_header.csv": b"\xef\xbb\xbf" + ("angle\n" + lines(TRUE)).encode(),
    "utf16.txt": lines(TRUE).encode("utf-16"),
    "utf16be.txt": b"\xfe\xff" + lines(TRUE).encode("utf-16-be"),
    "mac.txt": lines(TRUE).replace("\n", "\r").encode(),
    "row.txt": " ".join(f"{x:g}" for x in TRUE).encode(),
    "row.csv": (", ".join(f"{x:g}" for x in TRUE) + "\n\n").encode(),
    "row_header.csv": ("angles in degrees\n" + ";".join(f"{x:g}" for x in TRUE) + "\n").encode(),
    "header.csv": ("view,angle_deg,current\n" + "".join(f"{i},{x:g},9.5\n" for i, x in enumerate(TRUE))).encode(),
    "remark.txt": ("# time theta[mdeg]\n" + "".join(f"{i} {1000 * x:g}\n" for i, x in enumerate(TRUE))).encode(),
    "quoted.csv": ('"view";"Theta (rad)"\n' + "".join(f'"{i}";"{np.radians(x):.12f}"\n' for i, x in enumerate(TRUE))).encode(),
    "mrad.txt": ("angle [mrad]\n" + lines(1000 * np.radians(TRUE))).encode(),
    "two_units.csv": ("time_s,tilt_rad,angle_deg\n" + "".join(f"{i},0.1,{x:g}\n" for i, x in enumerate(TRUE))).encode(),
    "degree.txt": ("Winkel [°]\n" + lines(TRUE)).encode(),
    "json.txt": (json.dumps([float(x) for x in TRUE], indent=1) + "\n").encode(),
    "brackets.txt": (" [" + ", ".join(f"{x:g}" for x in TRUE) + "]").encode(),
    "numpy.txt": np.array2string(TRUE.astype(float), threshold=10**6).encode(),
    "tuple.txt": ("(" + ",\n ".join(f"{x:g}" for x in TRUE) + ")\n").encode(),
    "latin.txt": "Winkel [°]\n".encode("latin-1") + lines(TRUE).encode(),
}


@pytest.mark.parametrize("name", FILES)
def test_text_files(folder, name):
    (folder / name).write_bytes(FILES[name])
    found, told = angles(folder, "--angles", name)
    assert np.abs(found - TRUE).max() < 1e-6
    assert not any("angle" in p for p in told["problems"]), told["problems"]


ARRAYS = {"list": TRUE, "column": TRUE[:, None], "row": TRUE[None], "f4": TRUE.astype("f4"), "big": TRUE.astype(">f8"),
          "i4": TRUE.astype("i4"), "u2": TRUE.astype("u2"), "i8": TRUE.astype("i8"), "u8": TRUE.astype("u8"), "u4": TRUE.astype("u4"), "big_i8": TRUE.astype(">i8"),
          "i2": TRUE.astype("i2"), "u1": TRUE.astype("u1")}


@pytest.mark.parametrize("name", ARRAYS)
def test_npy_files(folder, name):
    np.save(folder / f"{name}.npy", ARRAYS[name])
    assert np.abs(angles(folder, "--angles", f"{name}.npy")[0] - TRUE).max() < 1e-6


def test_npy_tables(folder):
    np.save(folder / "table.npy", np.stack([np.arange(VIEWS), np.radians(TRUE)], 1))
    fails(2, "info", "s.h5", "--angles", "table.npy", says=["2 columns", "table.npy:2"], cwd=folder)
    assert np.abs(angles(folder, "--angles", "table.npy:2:rad")[0] - TRUE).max() < 1e-9
    np.save(folder / "long.npy", np.arange(VIEWS + 3) * 2.0 - 4)
    assert np.abs(angles(folder, "--angles", "long.npy:2:92")[0] - TRUE).max() < 1e-9
    np.save(folder / "stack.npy", np.zeros((3, 4, 5)))
    fails(3, "info", "s.h5", "--angles", "stack.npy", says=["not a list of angles"], cwd=folder)
    fails(3, "info", "s.h5", "--angles", "table.npy:3", says=["no column 3"], cwd=folder)


def test_a_first_line_that_is_no_number_is_named(folder):
    """91 lines for 90 views; the first should have been an angle."""
    (folder / "first.txt").write_text("0.0deg\n" + lines(TRUE))
    found, told = angles(folder, "--angles", "first.txt")
    assert np.abs(found - TRUE).max() < 1e-9
    assert any('line 1, "0.0deg"' in p and "[angle-line]" in p for p in told["problems"]), told["problems"]
    assert "line 1" in qb("fbp", "s.h5", "--angles", "first.txt", "--center", 15.5, "-o", "v.npy", cwd=folder).stderr
    (folder / "header.txt").write_text("angle of the stage\n" + lines(TRUE))
    assert 'below its header "angle of the stage"' in angles(folder, "--angles", "header.txt")[1]["angles_from"]
    (folder / "count.txt").write_text(f"{VIEWS}\n" + lines(TRUE))
    fails(3, "info", "s.h5", "--angles", "count.txt", says=["91 angles", "the first is their number"], cwd=folder)
    assert np.abs(angles(folder, "--angles", "count.txt:1:")[0] - TRUE).max() < 1e-9


@pytest.mark.parametrize("text,says", [
    ("".join(f"{i},{x:g}\n" for i, x in enumerate(TRUE)), ["2 columns", "w.txt:2"]),
    ("".join(f"{x:.1f}\n".replace(".", ",") for x in TRUE), ["2 columns", "decimal commas"]),
    ("angle1,angle2\n" + "".join(f"{x:g},{x:g}\n" for x in TRUE), ["2 columns"]),
    (" ".join(f"{x:g}" for x in TRUE[:-1]), ["89 angles", "one row", "90 views"]),
    ("angle [steps]\n" + lines(TRUE), ["[steps]", "--angle-unit"]),
    ("a\0b\n" + lines(TRUE), ["no text has"]),
    ("angle [rad]\n" + lines(TRUE), ["stated in radians", "28.3 turns", "--angle-unit"]),
])
def test_what_is_refused(folder, text, says):
    (folder / "w.txt").write_text(text)
    code = 2 if "columns" in says[0] else 3
    fails(code, "info", "s.h5", "--angles", "w.txt", says=says, cwd=folder)
    fails(code, "fbp", "s.h5", "--angles", "w.txt", "--center", 15.5, "-o", "v.npy", says=says, cwd=folder)


UNITS = [("rad ", 1), (" [rad]", 1), ("Radians", 1), ("mrad", 1e-3), ("mdeg", np.pi / 180e3), ("(deg)", np.pi / 180), ("°", np.pi / 180),
         ("degree.", np.pi / 180)]


def own(folder, values, unit):
    with h5py.File(folder / "s.h5") as f:
        data = f["exchange/data"][()]
    write_scan(folder / "own.h5", data, values, quantity="line_integral", pixel=0.1)
    with h5py.File(folder / "own.h5", "a") as f:
        f["exchange/theta"].attrs["units"] = unit


@pytest.mark.parametrize("unit,radians", UNITS)
def test_units_of_a_scan(folder, unit, radians):
    own(folder, np.radians(TRUE) / radians, unit)
    found, told = angles(folder, scan="own.h5")
    assert np.abs(found - TRUE).max() < 1e-9 and told["problems"] == []
    found, _ = angles(folder, "--angles", "own.h5:/exchange/theta")
    assert np.abs(found - TRUE).max() < 1e-9


@pytest.mark.parametrize("unit,says", [("grad", '"grad", which is not a known unit of angle'), ("rad", "178, stated in radians, are 28.3 turns")])
def test_units_that_cannot_be(folder, unit, says):
    """Refused by whoever needs the angles, told by info; --angle-unit settles it."""
    own(folder, TRUE, unit)
    told = qb_json("info", "own.h5", cwd=folder)
    assert any(says in p and "--angle-unit" in p for p in told["problems"]) and "first_angle_deg" not in told
    for verb in "fbp", "sirt", "mbir":
        fails(3, verb, "own.h5", "--center", 15.5, "-o", "v.npy", says=[says, "--angle-unit"], cwd=folder)
    fails(3, "center", "own.h5", says=[says], cwd=folder)
    fails(3, "info", "s.h5", "--angles", "own.h5:/exchange/theta", says=["--angle-unit"], cwd=folder)
    assert np.abs(angles(folder, "--angle-unit", "deg", scan="own.h5")[0] - TRUE).max() < 1e-9
    assert np.abs(angles(folder, "--angles", "own.h5:/exchange/theta", "--angle-unit", "deg")[0] - TRUE).max() < 1e-9


def test_many_turns_are_asked_about(folder):
    """Millidegrees without a unit; golden angles are no such case."""
    (folder / "turns.txt").write_text(lines(1000 * TRUE))
    _, told = angles(folder, "--angles", "turns.txt")
    assert any("span 494.4 turns" in p and "[angle-turns]" in p for p in told["problems"]), told["problems"]
    (folder / "golden.txt").write_text(lines(np.arange(VIEWS) * 137.50776405))
    _, told = angles(folder, "--angles", "golden.txt")
    assert not any("turns" in p for p in told["problems"])
    _, told = angles(folder, "--angles", "golden.txt", "--views", "0:5")
    assert not any("turns" in p for p in told["problems"])


LOGS = {
    "log.txt": (" TIME STAMP  IMAGE TYPE   IMAGE COUNTER   COUNTS BM3 before image   COUNTS BM3 after image\n\n",
                "Sun Feb 10 00:22:04 2019   Projection:  {i}  angle: {angle}   Monitor 3 before:  {before}   Monitor 3 after:  {after}\n"),
    "log.csv": ("TIME STAMP,IMAGE TYPE,IMAGE COUNTER,COUNTS BM3 before image,COUNTS BM3 after image\n",
                "Sun Feb 10 00:22:04 2019,Projection,{i},angle: {angle},Monitor 3 before: {before},Monitor 3 after:  {after}\n"),
    "table.csv": ("TIME STAMP,IMAGE TYPE,IMAGE COUNTER,PROJECTION ANGLE DEG,COUNTS BEFORE,COUNTS AFTER,PIXEL SIZE\n",
                  "Tue Nov 15 19:58:17 2022,Projection,{i},{angle},{before},{after},29.0\n"),
}


@pytest.mark.parametrize("name", LOGS)
def test_monitor_of_a_log(tmp_path, name):
    """The beam of a neutron source flickers by 10 %; the log's counts undo it, with the flats of a folder."""
    dice = np.random.default_rng(8)
    lines = dice.random((VIEWS, 4, 32))
    beam = 1 + 0.1 * dice.standard_normal(VIEWS).clip(-3, 3)
    np.save(tmp_path / "v.npy", np.round(50000 * np.exp(-lines) * (beam / beam.mean())[:, None, None]).astype(np.uint16))
    np.save(tmp_path / "f.npy", np.full((3, 4, 32), 50000, np.uint16))
    counts = np.round(1e6 * beam).astype(int)
    ends = 12588 + np.cumsum(counts + 1234)
    header, line = LOGS[name]
    (tmp_path / name).write_text(header + "".join(line.format(i=i, angle=f"{x:g}", before=ends[i] - counts[i], after=ends[i]) for i, x in enumerate(TRUE)))
    scan = ["v.npy", "--quantity", "counts", "--flats", "f.npy", "--darks", "none", "--angles", name]
    done = qb("convert", *scan, "-o", "l.npy", cwd=tmp_path)
    assert "times the mean of the views" in done.stderr
    assert np.abs(np.load(tmp_path / "l.npy") - lines).max() < 2e-4
    assert np.allclose(json.loads((tmp_path / "l.npy.json").read_text())["angles_degrees"], TRUE)
    qb("convert", *scan, "--monitor", "ignore", "-o", "m.npy", cwd=tmp_path)
    assert np.abs(np.load(tmp_path / "m.npy") - lines).max() > 0.1
    (tmp_path / name).write_text(header + "".join(line.format(i=i, angle=f"{x:g}", before=5, after=5) for i, x in enumerate(TRUE)))
    assert "monitor counts of 0 in a view" in qb("convert", *scan, "-o", "n.npy", cwd=tmp_path).stderr
