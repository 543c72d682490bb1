# SPDX-License-Identifier: MIT
"""What an NXtomo states of its detector and source: mirrored images, distances, pixels that are not square, the axis."""
import h5py
import numpy as np
import pytest

from qbtest import fails, qb, qb_json

SOD, SDD, U, V = 200.0, 320.0, 1.6, 0.8


def put(entry, path, value, units=None):
    entry[path] = value
    if units:
        entry[path].attrs["units"] = units


def write(path, lines, angles, flats=None):
    with h5py.File(path, "w") as to:
        entry = to.create_group("entry")
        entry.attrs["NX_class"] = "NXentry"
        entry["definition"] = "NXtomo"
        n = 0 if flats is None else len(flats)
        entry["instrument/detector/data"] = lines if n == 0 else np.concatenate([flats, lines])
        entry["instrument/detector/image_key"] = np.array([1] * n + [0] * len(lines))
        put(entry, "sample/rotation_angle", np.concatenate([np.zeros(n), angles]), "degrees")
        put(entry, "instrument/detector/x_pixel_size", U * 1e-3, "m")
        put(entry, "instrument/detector/y_pixel_size", V * 1e-3, "m")


@pytest.fixture(scope="module")
def scans(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scans")
    qb("simulate", "spheres", "-o", "p.h5", "--detector", "64,24", "--pixel-size", f"{U},{V}", "--views", 90, "--photons", 1e6,
       "--seed", 1, cwd=folder)
    qb("simulate", "spheres", "-o", "c.h5", "--geometry", "cone", "--sod", SOD, "--sdd", SDD, "--detector", "64,40",
       "--pixel-size", f"{U},{V}", "--views", 120, cwd=folder)
    return folder


def load(scans, name, *more):
    with h5py.File(scans / name) as file:
        return [file[f"exchange/{what}"][:] for what in ("data", "theta", *more)]


def test_statements_that_are_not_applied_are_said(tmp_path):
    """Exposures of flats and views, valid numbers, corrections that were made before."""
    data, flats = np.full((6, 4, 8), 900, "u2"), np.full((2, 4, 8), 1000, "u2")
    for path, value, words in (("count_time", [0.1, 0.1] + [0.2] * 6, "count_time is 0.2 in the views and 0.1 in the flats"), ("underload_value", 5, "underload_value is 5: smaller counts are kept"),
                               ("flatfield_applied", True, "flatfield_applied is true, and there are flats"), ("data_scaling_factor", 0.5, "its _scaling_factor is not applied"),
                               ("count_time", [0.1] * 8, None), ("underload_value", 0, None), ("flatfield_applied", False, None)):
        write(tmp_path / "a.nx", data, np.arange(6) * 30.0, flats)
        with h5py.File(tmp_path / "a.nx", "r+") as file:
            file[f"entry/instrument/detector/{path}"] = value
        said = qb("info", tmp_path / "a.nx").stdout
        assert words in said if words else path not in said, said
    with h5py.File(tmp_path / "a.nx", "r+") as file:
        file["entry/instrument/detector/data"].attrs["valid_max"] = 950
    assert "its valid_max is not applied" in qb("info", tmp_path / "a.nx").stdout


@pytest.mark.parametrize("columns, rows", [(True, False), (False, True), (True, True)])
def test_mirrored(scans, tmp_path, columns, rows):
    """The same bits as from the images as they should be, flats too, whole and in part."""
    data, theta, white = load(scans, "p.h5", "data_white")
    turn = (slice(None), slice(None, None, -1) if rows else slice(None), slice(None, None, -1) if columns else slice(None))
    write(tmp_path / "right.nx", data, theta, white)
    write(tmp_path / "mirrored.nx", data[turn], theta, white[turn])
    with h5py.File(tmp_path / "mirrored.nx", "r+") as file:
        detector = file["entry/instrument/detector"]
        detector["x_flipped"], detector["y_flipped"] = columns, rows
        detector["x_rotation_axis_pixel_position"] = 20.0
    for more in ([], ["--slices", "3:11"]):
        for name in ("right", "mirrored"):
            done = qb("fbp", f"{name}.nx", "-o", f"{name}.npy", "--center", 31.5, *more, cwd=tmp_path)
            assert ("detector-flip" in done.stderr) == (name == "mirrored")
        assert np.array_equal(np.load(tmp_path / "right.npy"), np.load(tmp_path / "mirrored.npy"))
    assert qb_json("info", tmp_path / "mirrored.nx")["center"] == (43 if columns else 20)


def test_flats_of_a_mirrored_file(scans, tmp_path):
    data, theta, white = load(scans, "p.h5", "data_white")
    write(tmp_path / "right.nx", data, theta, white)
    write(tmp_path / "bare.nx", data, theta)
    write(tmp_path / "flats.nx", data[:, :, ::-1], theta, white[:, :, ::-1])
    with h5py.File(tmp_path / "flats.nx", "r+") as file:
        file["entry/instrument/detector/x_flipped"] = True
    qb("fbp", "right.nx", "-o", "a.npy", "--center", 31.5, cwd=tmp_path)
    qb("fbp", "bare.nx", "--flats", "flats.nx", "-o", "b.npy", "--center", 31.5, cwd=tmp_path)
    assert np.array_equal(np.load(tmp_path / "a.npy"), np.load(tmp_path / "b.npy"))


def test_turned_panel_is_said(scans, tmp_path):
    data, theta, white = load(scans, "p.h5", "data_white")
    write(tmp_path / "s.nx", data, theta, white)
    with h5py.File(tmp_path / "s.nx", "r+") as file:
        file["entry/instrument/detector/transformations/ry"] = 180.0
    assert any("detector-flip" in p for p in qb_json("info", tmp_path / "s.nx")["problems"])


def test_distances(scans, tmp_path):
    """As if they were given; given ones count more."""
    data, theta = load(scans, "c.h5")
    write(tmp_path / "s.nx", data, theta)
    given = ["--sod", SOD, "--sdd", SDD]
    place = ["--quantity", "transmission"]
    said = fails(2, "fdk", "s.nx", *place, "-o", "v.npy", cwd=tmp_path)
    assert "--sod and --sdd" in said
    with h5py.File(tmp_path / "s.nx", "r+") as file:
        put(file["entry"], "instrument/source/distance", -SOD * 1e-3, "m")
        put(file["entry"], "instrument/detector/distance", (SDD - SOD) * 0.1, "cm")
    qb("fdk", "s.nx", *place, "-o", "stated.npy", cwd=tmp_path)
    qb("fdk", "s.nx", *place, *given, "-o", "given.npy", cwd=tmp_path)
    qb("fdk", scans / "c.h5", *given, "--pixel-size", f"{U},{V}", "-o", "right.npy", cwd=tmp_path)
    assert np.array_equal(np.load(tmp_path / "stated.npy"), np.load(tmp_path / "given.npy"))
    assert np.array_equal(np.load(tmp_path / "stated.npy"), np.load(tmp_path / "right.npy"))
    qb("sirt", "s.nx", *place, "--iterations", 2, "-o", "sirt.npy", cwd=tmp_path)
    qb("sirt", "s.nx", *place, *given, "--iterations", 2, "-o", "sirt_given.npy", cwd=tmp_path)
    assert np.array_equal(np.load(tmp_path / "sirt.npy"), np.load(tmp_path / "sirt_given.npy"))
    fails(3, "fbp", "s.nx", *place, "-o", "w.npy", cwd=tmp_path)
    with h5py.File(tmp_path / "s.nx", "r+") as file:  # a synchrotron: parallel
        file["entry/instrument/source/distance"][()] = -150.0
    qb("fbp", "s.nx", *place, "--center", 31.5, "-o", "w.npy", cwd=tmp_path)
    with h5py.File(tmp_path / "s.nx", "r+") as file:
        file["entry/instrument/source/distance"][()] = -SOD * 1e-3
    told = qb_json("info", tmp_path / "s.nx")
    assert told["sod_mm"] == pytest.approx(SOD) and told["sdd_mm"] == pytest.approx(SDD)
    assert told["pixel_size_mm"] == pytest.approx(U) and told["pixel_v_mm"] == pytest.approx(V)


def test_pixels_of_other_formats(scans, tmp_path):
    """Rows and columns of different pitch, as each format states them."""
    data, theta, white = load(scans, "p.h5", "data_white")
    with h5py.File(tmp_path / "x.h5", "w") as to:
        to["exchange/data"], to["exchange/data_white"], to["exchange/theta"] = data, white, theta
        put(to, "measurement/instrument/detector/pixel_size_x", U, "mm")
        put(to, "measurement/instrument/detector/pixel_size_y", V * 1e3, "um")
    for name in ("p.mha", "p.npy", "p.tif"):
        qb("convert", scans / "p.h5", "-o", tmp_path / name)
    for name in ("x.h5", "p.mha", "p.npy", "p.tif"):
        told = qb_json("info", tmp_path / name)
        assert (told["pixel_size_mm"], told["pixel_v_mm"]) == pytest.approx((U, V)), name
    qb("fbp", tmp_path / "x.h5", "--center", 31.5, "-o", tmp_path / "v.mha")
    assert qb_json("info", tmp_path / "v.mha")["voxel_mm"] == pytest.approx([U, U, V])


DETECTOR = "instrument/detector/"


def stating(scans, folder, path, value, units=None):
    """A scan whose file states this, too."""
    data, theta, white = load(scans, "p.h5", "data_white")
    write(folder / "s.nx", data, theta, white)
    with h5py.File(folder / "s.nx", "r+") as file:
        if path in file["entry"]:
            del file["entry"][path]
        put(file["entry"], path, value, units)
    return folder / "s.nx"


@pytest.mark.parametrize("text, mirrored", [("True", True), ("true", True), ("1", True), ("False", False), ("0", False)])
def test_mirrored_said_in_words(scans, tmp_path, text, mirrored):
    scan = stating(scans, tmp_path, DETECTOR + "x_flipped", text)
    done = qb("convert", scan, "-o", tmp_path / "l.npy")
    assert ("detector-flip" in done.stderr) == mirrored and "metadata-unusable" not in done.stderr
    qb("convert", stating(scans, tmp_path, DETECTOR + "x_flipped", mirrored), "-o", tmp_path / "m.npy")
    assert np.array_equal(np.load(tmp_path / "l.npy"), np.load(tmp_path / "m.npy"))


@pytest.mark.parametrize("path, value, units, words", [
    (DETECTOR + "x_flipped", "maybe", None, 'x_flipped is "maybe", neither true nor false'), ("control/data", np.ones(7), None, "control/data has 7 numbers for 110 frames"),
    ("sample/x_translation", np.arange(5.), "mm", "x_translation has 5 numbers for 110 frames"), (DETECTOR + "distance", 3.0, "furlong", 'distance is 3 "furlong", no known length'),
    (DETECTOR + "distance", np.nan, "mm", "distance is NaN"), ("beam/incident_energy", 25.0, "J", 'incident_energy is 25 "J", no known energy'),
    ("beam/incident_energy", -25.0, "keV", "incident_energy is -25, not more than 0"), ("beam/incident_energy", "25 keV", None, "incident_energy holds no number"),
    (DETECTOR + "x_rotation_axis_pixel_position", np.nan, None, "x_rotation_axis_pixel_position is NaN")])
def test_metadata_that_cannot_be_used(scans, tmp_path, path, value, units, words):
    """Named once, by all verbs."""
    scan = stating(scans, tmp_path, path, value, units)
    for verb in ["info", scan], ["convert", scan, "-o", tmp_path / "l.npy"]:
        done = qb(*verb)
        lines = [line for line in (done.stdout + done.stderr).splitlines() if "[metadata-unusable]" in line]
        assert len(lines) == 1 and words in lines[0]


@pytest.mark.parametrize("value, units, words", [
    (-1e-3, "m", "is -0.001, not more than 0"), (np.nan, "m", "is NaN"), (0.0, "m", "is 0, not more than 0"), ("1 mm", None, "holds no number"),
    (1.6, None, "is 1.6 without a unit"), (1.6, "px", 'is 1.6 "px", no known length')])
def test_pixel_sizes_that_cannot_be_used(scans, tmp_path, value, units, words):
    told = qb_json("info", stating(scans, tmp_path, DETECTOR + "x_pixel_size", value, units))
    assert [text for text in told["problems"] if f"x_pixel_size {words}" in text and "[pixel-size-unusable]" in text and "give --pixel-size" in text]


def test_a_beam_without_units_is_named_where_it_is_needed(scans, tmp_path):
    """Other verbs need neither, and say nothing."""
    scan = stating(scans, tmp_path, "beam/incident_energy", 25.0)
    with h5py.File(scan, "r+") as file:
        file["entry/instrument/detector/distance"] = 3.0
    assert "metadata" not in qb("info", scan).stdout
    said = fails(2, "fbp", scan, "--paganin", 100, "--dry-run", "-o", tmp_path / "v.npy")
    assert "incident_energy is 25 without a unit; " in said and "distance is 3 without a unit" in said


@pytest.mark.parametrize("name, value", [("scale_factor", "twice"), ("add_offset", np.nan), ("voxel_size_x", "1 mm"), ("voxel_size_z", np.nan), ("offset_y", np.inf)])
def test_attributes_that_are_no_numbers(tmp_path, name, value):
    with h5py.File(tmp_path / "v.h5", "w") as file:
        file["exchange/data"] = np.ones((4, 4, 4), np.float32)
        file["exchange/data"].attrs[name] = value
    for verb in ["info"], ["project", "-g", "parallel", "--views", 8, "-o", "o.npy"], ["fbp", "-o", "o.npy"]:
        fails(3, verb[0], tmp_path / "v.h5", *verb[1:], says=[f"its attribute {name} is not a number"], cwd=tmp_path)
