# SPDX-License-Identifier: MIT
"""What a file means is said by it or by whoever gives it, and never guessed without a word."""
import json

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
    """Without a unit they are taken for degrees, with a warning; the option says what they are."""
    with h5py.File(tmp_path / "s.h5", "a") as f:
        f["exchange/theta"] = np.radians(np.arange(60) * 3.0)
    assert any("--angle-unit rad" in p for p in qb_json("info", "s.h5", cwd=tmp_path)["problems"])
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
    for name in ("c", "f"):
        qb("fbp", f"{name}.npy", "-o", f"{name}.h5", "--angles", "0:180", "--center", 9.5, "--slices", "1:5", "--views", "1:12:2",
           "--quantity", "line_integral", cwd=tmp_path)
    assert np.array_equal(read_h5(tmp_path / "c.h5"), read_h5(tmp_path / "f.h5"))
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


def test_nxtomo_without_image_key(tmp_path):
    with h5py.File(tmp_path / "n.nxs", "w") as f:
        f["entry/definition"] = "NXtomo"
        f["entry"].attrs["NX_class"] = "NXentry"
        f["entry/instrument/detector/data"] = (LINES * 1000).astype("u2")
        f["entry/sample/rotation_angle"] = np.arange(12) * 15.0
        f["entry/sample/rotation_angle"].attrs["units"] = "degrees"
    told = json.dumps(qb_json("info", "n.nxs", cwd=tmp_path))
    assert "all frames are taken for projections" in told and "no angles" not in told
