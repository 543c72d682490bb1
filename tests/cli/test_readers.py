# SPDX-License-Identifier: MIT
"""What a file means is said by it or by whoever gives it, and never guessed without a word."""
import json
import os

import h5py
import numpy as np
import pytest

from qbtest import fails, qb, qb_json, read_h5, write_scan


@pytest.fixture
def scan(tmp_path):
    """60 views of 4 x 32 line integrals, without angles."""
    data = np.random.default_rng(1).random((60, 4, 32)).astype(np.float32)
    write_scan(tmp_path / "s.h5", data, np.arange(60) * 3.0, pixel=0.1, quantity="line_integral")
    with h5py.File(tmp_path / "s.h5", "a") as f:
        del f["exchange/theta"]
    return tmp_path / "s.h5"


def angles_of(folder, *args):
    """By what they do: the volume made with these angles and with the right ones."""
    qb("fbp", "s.h5", "-o", "v.h5", "--center", "15.5", *args, cwd=folder)
    qb("fbp", "s.h5", "-o", "w.h5", "--center", "15.5", "--angles", "0:180", cwd=folder)
    return abs(read_h5(folder / "v.h5") - read_h5(folder / "w.h5")).max() < 1e-5 * abs(read_h5(folder / "w.h5")).max()


def test_radians_are_not_taken_for_degrees(scan, tmp_path):
    np.savetxt(tmp_path / "a.txt", np.radians(np.arange(60) * 3.0), fmt="%.12f")
    say = ["a.txt", "60 numbers", "--angle-unit"]
    fails(3, "fbp", "s.h5", "-o", "v.h5", "--center", "15.5", "--angles", "a.txt", says=say, cwd=tmp_path)
    fails(3, "info", "s.h5", "--angles", "a.txt", says=say, cwd=tmp_path)
    assert angles_of(tmp_path, "--angles", "a.txt", "--angle-unit", "rad")
    assert angles_of(tmp_path, "--angles", "a.txt:rad")
    assert not angles_of(tmp_path, "--angles", "a.txt", "--angle-unit", "deg")
    assert angles_of(tmp_path, "--angles", f"0:{np.pi}", "--angle-unit", "rad")


def test_a_span_in_radians_is_asked_about(scan, tmp_path):
    """FROM:TO is in degrees: one that could be a turn in radians is taken as it stands, and that is said."""
    small = ["fbp", "s.h5", "-o", "v.h5", "--center", "15.5", "--slices", "0:1"]
    for span in ("0:3.14159", "-3.1416:3.1416:60", "0:-3.14159"):
        told = qb(*small, f"--angles={span}", cwd=tmp_path).stderr
        assert f"warning: --angles {span} is taken as degrees" in told and "--angle-unit rad" in told
        assert any("radians" in p for p in qb_json("info", "s.h5", f"--angles={span}", cwd=tmp_path)["problems"])
    for more in (["0:3.14159:rad"], ["0:3.14159:deg"], ["0:3.14159", "--angle-unit", "rad"], ["0:3.14159", "--angle-unit", "deg"], ["0:7"], ["0:180"]):
        assert "radians" not in qb(*small, "--angles", *more, cwd=tmp_path).stderr
    np.save(tmp_path / "few.npy", np.zeros((8, 1, 32), np.float32))  # a few views so near each other are no turn
    assert not any("radians" in p for p in qb_json("info", "few.npy", "--angles", "0:4", cwd=tmp_path)["problems"])


@pytest.mark.parametrize("header,factor", [("# theta [rad]", 1), ("view angle (degrees)", 180 / np.pi), ("radians", 1)])
def test_a_header_names_the_unit(scan, tmp_path, header, factor):
    lines = [f"{x:.12f}" for x in np.radians(np.arange(60) * 3.0) * factor]
    (tmp_path / "a.txt").write_text("\n".join([header, *lines]) + "\n")
    assert angles_of(tmp_path, "--angles", "a.txt")


@pytest.mark.parametrize("units,factor", [("rad", 1), ("degree", 180 / np.pi), (None, 180 / np.pi)])
def test_angles_from_another_hdf5_file(scan, tmp_path, units, factor):
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f["rotation/theta"] = np.concatenate([[0, 1, 2], np.radians(np.arange(60) * 3.0) * factor])
        if units:
            f["rotation/theta"].attrs["units"] = units
    assert angles_of(tmp_path, "--angles", "a.h5:/rotation/theta:3:63")
    fails(3, "fbp", "s.h5", "-o", "v.h5", "--angles", "a.h5:/rotation/theta", says=["63 angles", "60 views"], cwd=tmp_path)
    fails(3, "fbp", "s.h5", "-o", "v.h5", "--angles", "a.h5:/none", says=["/none is not there"], cwd=tmp_path)
    fails(2, "fbp", "s.h5", "-o", "v.h5", "--angles", "a.h5", says=["a.h5:/exchange/theta"], cwd=tmp_path)


def test_the_scan_s_own_angles_in_radians(scan, tmp_path):
    """Without a unit they are refused, as those of a text are; the option says what they are."""
    with h5py.File(tmp_path / "s.h5", "a") as f:
        f["exchange/theta"] = np.radians(np.arange(60) * 3.0)
    say = "/exchange/theta: 60 numbers from 0 to 3.08923 without a unit: degrees or radians? Give --angle-unit deg or rad"
    assert any(say in p for p in qb_json("info", "s.h5", cwd=tmp_path)["problems"])
    for verb in ("fbp", "-o", "v.npy"), ("sirt", "-o", "v.npy"), ("mbir", "-o", "v.npy"), ("center",):
        fails(3, verb[0], "s.h5", *verb[1:], says=[say], cwd=tmp_path)
    assert not any("radians" in p for p in qb_json("info", "s.h5", "--angle-unit", "rad", cwd=tmp_path)["problems"])
    assert angles_of(tmp_path, "--angle-unit", "rad")


def test_the_words_of_a_shape_mean_what_they_say(tmp_path):
    """VIEWS,ROWS,COLUMNS of a raw file, whether views or sinograms lie behind one another."""
    data = np.random.default_rng(2).random((20, 3, 16)).astype(np.float32)
    data.tofile(tmp_path / "views.raw")
    data.transpose(1, 0, 2).tofile(tmp_path / "rows.raw")
    more = ["--angles", "0:180", "--quantity", "line_integral", "--pixel-size", "1"]
    for name, image in (("views", "projections"), ("rows", "sinogram")):
        told = qb_json("info", f"{name}.raw", "--shape", "20,3,16:float32", "--as", image, cwd=tmp_path)
        assert (told["views"], told["rows"], told["columns"]) == (20, 3, 16)
        qb("fbp", f"{name}.raw", "--shape", "20,3,16:float32", "--as", image, "--center", "7.5", *more, "-o", f"{name}.h5",
           cwd=tmp_path)
    assert np.array_equal(read_h5(tmp_path / "views.h5"), read_h5(tmp_path / "rows.h5"))


# ---- files of other programs ----


LINES = np.random.default_rng(5).random((12, 6, 20)).astype(np.float32)


@pytest.mark.parametrize("name", ["m.mat", "m.h5", "m.dat", "m"])
def test_matlab_files_by_any_name(tmp_path, name):
    """HDF5 behind a block of 512 bytes of MATLAB's own."""
    with h5py.File(tmp_path / name, "w", userblock_size=512) as f:
        f["projections"] = LINES
    with open(tmp_path / name, "r+b") as f:
        f.write(b"MATLAB 7.3 MAT-file".ljust(512))
    told = qb_json("info", name, "--angles", "0:180", cwd=tmp_path)
    assert told["format"] == "HDF5"
    write_scan(tmp_path / "s.h5", LINES, np.arange(12) * 15.0, quantity="line_integral")
    for scan, out in ((name, "a.h5"), ("s.h5", "b.h5")):
        qb("fbp", scan, "-o", out, "--angles", "0:180", "--center", 9.5, "--quantity", "line_integral", cwd=tmp_path)
    assert np.array_equal(read_h5(tmp_path / "a.h5"), read_h5(tmp_path / "b.h5"))


@pytest.mark.parametrize("dtype", [">f4", "<u2"])
def test_npy_in_fortran_order(tmp_path, dtype):
    values = (LINES * 1000).astype(dtype)
    np.save(tmp_path / "c.npy", values)
    np.save(tmp_path / "f.npy", np.asfortranarray(values))
    np.save(tmp_path / "n.npy", values.astype(values.dtype.newbyteorder("=")))
    for name in ("c", "f", "n"):
        qb("fbp", f"{name}.npy", "-o", f"{name}.h5", "--angles", "0:180", "--center", 9.5, "--slices", "1:5", "--views", "1:12:2",
           "--quantity", "line_integral", cwd=tmp_path)
    assert np.array_equal(read_h5(tmp_path / "c.h5"), read_h5(tmp_path / "f.h5"))
    assert np.array_equal(read_h5(tmp_path / "c.h5"), read_h5(tmp_path / "n.h5"))
    assert qb_json("compare", "c.npy", "f.npy", cwd=tmp_path)["max_abs"] == 0


def test_angles_beside_a_bare_array(tmp_path):
    """As CIL and Savu leave processed data; a first axis that is called vertical is no view."""
    with h5py.File(tmp_path / "p.nxs", "w") as f:
        data = f.create_dataset("entry1/data/data", data=LINES)
        data.attrs["dim0"] = "angle"
        f["entry1/data/rotation_angle"] = np.arange(12) * 15.0
        f["entry1/data/rotation_angle"].attrs["units"] = "degrees"
    told = qb_json("info", "p.nxs", cwd=tmp_path)
    assert "rotation_angle" in json.dumps(told) and "no angles" not in json.dumps(told)
    with h5py.File(tmp_path / "p.nxs", "r+") as f:
        f["entry1/data/data"].attrs["dim0"] = "vertical"
    assert "--as sinogram" in json.dumps(qb_json("info", "p.nxs", cwd=tmp_path))
    assert "[sinogram-order]" not in json.dumps(qb_json("info", "p.nxs", "--as", "sinogram", "--angles", "0:180", cwd=tmp_path))


def test_nxtomo_without_image_key(tmp_path):
    with h5py.File(tmp_path / "n.nxs", "w") as f:
        f["entry/definition"] = "NXtomo"
        f["entry"].attrs["NX_class"] = "NXentry"
        f["entry/instrument/detector/data"] = (LINES * 1000).astype("u2")
        f["entry/sample/rotation_angle"] = np.arange(12) * 15.0
        f["entry/sample/rotation_angle"].attrs["units"] = "degrees"
    told = json.dumps(qb_json("info", "n.nxs", cwd=tmp_path))
    assert "all frames are taken for projections" in told and "no angles" not in told


# ---- raw data in many files ----


@pytest.fixture(scope="module")
def raw(tmp_path_factory):
    """A scan as view_000.raw ..., with raw flats and darks; and the same as one NPY."""
    folder = tmp_path_factory.mktemp("raw")
    qb("simulate", "spheres", "-o", "s.h5", "--views", 24, "--detector", "48,6", "--pixel-size", 0.5, "--photons", 5000, cwd=folder)
    with h5py.File(folder / "s.h5") as f:
        data, flats, darks = (f[f"/exchange/{name}"][()].astype(">u2") for name in ("data", "data_white", "data_dark"))
    for i, view in enumerate(data):
        (folder / f"view_{i:03}.raw").write_bytes(b"head" + view.tobytes())
        if i % 2 == 0:
            (folder / f"two_{i}.dat").write_bytes(b"head" + data[i:i + 2].tobytes())
    (folder / "flats.raw").write_bytes(b"head" + flats.tobytes())
    for i, dark in enumerate(darks):
        (folder / f"dark_{i}.raw").write_bytes(b"head" + dark.tobytes())
    qb("fbp", "s.h5", "--center", 23.5, "-o", "v.npy", cwd=folder)
    return folder


FIELDS = ["--flats", "flats.raw", "--darks", "dark_*.raw", "--angles", "0:180", "--pixel-size", 0.5, "--quantity", "counts"]


@pytest.mark.parametrize("name", ["view_*.raw", "view_%03d.raw", "two_*.dat", "two_%d.dat"])
def test_raw_files_are_a_series(raw, tmp_path, name):
    shape = ["--shape", "24,6,48:uint16big:4"]
    told = qb_json("info", name, *shape, *FIELDS, cwd=raw)
    assert (told["views"], told["rows"], told["columns"]) == (24, 6, 48) and told["format"] == "raw series"
    assert told["flats"] >= 1 and told["darks"] >= 1
    for more in [], ["--threads", 1, "--max-ram", "60M"], ["--views", "0:24"]:
        qb("fbp", name, *shape, *FIELDS, "--center", 23.5, "-o", tmp_path / "v.npy", *more, cwd=raw)
        assert np.array_equal(np.load(tmp_path / "v.npy"), np.load(raw / "v.npy"))


def test_what_raw_series_are_refused_for(raw, tmp_path):
    def refused(code, name, shape, *says):
        fails(code, "info", name, "--shape", shape, "--angles", "0:180", says=says, cwd=raw)

    refused(3, "view_*.raw", "23,6,48:uint16big:4", "23 images, and 24 files")
    refused(3, "view_*.raw", "24,6,49:uint16big:4", "view_000.raw has 580 bytes", "1 x 6 x 49", "--shape")
    refused(3, "[dfv]*.raw", "35,6,48:uint16big:4", "more than one series", "dark_0.raw and flats.raw")
    for i in range(2):
        (raw / f"odd_{i}.raw").write_bytes(bytes(580 + i))
    refused(3, "odd_*.raw", "2,6,48:uint16big:4", "the same size")
    refused(3, "nothing_*.raw", "24,6,48:uint16", "no file matches")
    fails(3, "info", "view_*.raw", says=["raw data", "--shape"], cwd=raw)
    fails(3, "info", "view_*.raw", "--shape", "24,6,48:uint16big:4", "--flats", "v.npy.json", says=["--flats"], cwd=raw)


def test_holes_in_the_numbers(raw, tmp_path):
    """A numbered pattern says that all are there; a glob takes what is there, and the hole is told."""
    for i in range(24):
        if i not in (7, 8):
            os.symlink(raw / f"view_{i:03}.raw", tmp_path / f"view_{i:03}.raw")
    shape = ["--shape", "22,6,48:uint16big:4", "--quantity", "line_integral", "--angles", "0:180"]
    fails(3, "info", "view_%03d.raw", *shape, says=["number 7 is missing", "2 numbers in all", "glob"], cwd=tmp_path)
    assert any("number 7 is missing" in p for p in qb_json("info", "view_*.raw", *shape, cwd=tmp_path)["problems"])
    for i in range(0, 24, 2):  # evenly, but not one by one
        os.symlink(raw / f"view_{i:03}.raw", tmp_path / f"even_{i:03}.raw")
    even = ["--shape", "12,6,48:uint16big:4", *shape[2:]]
    for name in "even_%03d.raw", "even_*.raw":
        assert not any("missing" in p for p in qb_json("info", name, *even, cwd=tmp_path)["problems"])
    (tmp_path / "tiff").mkdir()
    qb("fbp", raw / "s.h5", "--center", 23.5, "-o", tmp_path / "tiff" / "t_%03d.tif")
    (tmp_path / "tiff" / "t_002.tif").unlink()
    fails(3, "info", "tiff/t_%03d.tif", "--quantity", "line_integral", says=["number 2 is missing"], cwd=tmp_path)
