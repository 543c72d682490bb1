# SPDX-License-Identifier: MIT
"""What a scan states besides its numbers: where the detector lay, how bright the beam was, how the sample moved."""
import re

import h5py
import numpy as np
import pytest

from qbtest import fails, qb, qb_json, read_h5

VIEWS, COLUMNS = 60, 32
CONE = ["--sod", "500", "--sdd", "800"]


def moved(path, out, u, v):
    """The MetaImage with its Offset changed by u, v mm."""
    raw = path.read_bytes()
    first = [float(n) for n in re.search(rb"Offset = (.*)\n", raw).group(1).split()]
    line = f"Offset = {first[0] + u:.12g} {first[1] + v:.12g} {first[2]:.12g}"
    old = re.search(rb"Offset = .*\n", raw).group(0)
    end = raw.index(b"ElementDataFile")
    header = raw[:end].replace(old, line.encode() + b"\n", 1)
    out.write_bytes(header + raw[end:])
    return out


@pytest.fixture(scope="module")
def projections(tmp_path_factory):
    """Of a detector that lies 9 mm to one side and 4 mm up, in a file that does not say so."""
    path = tmp_path_factory.mktemp("cone") / "p.mha"
    qb("simulate", "ball", "--geometry", "cone", *CONE, "--pixel-size", 2, "--detector", "32,24", "--views", VIEWS, "--detector-offset", "9,4", "-o", path)
    path.write_bytes(re.sub(rb"QuickbeamProvenance = .*\n", b"", path.read_bytes()))
    made = re.search(rb"Offset = (.*)\n", path.read_bytes())
    return path, [float(n) for n in made.group(1).split()]


@pytest.mark.parametrize("verb", [["fdk"], ["sirt", "--iterations", 2], ["cgls", "--iterations", 2]])
def test_the_offset_of_projections_is_used(projections, tmp_path, verb):
    path, _ = projections
    with_angles = ["--angles", "0:360", *CONE, "--quantity", "transmission"]
    stated = moved(path, tmp_path / "stated.mha", 9, 4)
    qb(*verb, path, *with_angles, "--detector-offset", "9,4", "-o", tmp_path / "right.h5")
    told = qb_json(*verb, stated, *with_angles, "-o", tmp_path / "v.h5")
    assert any("[detector-offset-stated]" in w and "9,4 mm" in w for w in told["warnings"])
    assert (read_h5(tmp_path / "v.h5") == read_h5(tmp_path / "right.h5")).all()
    # An option counts more, and then there is nothing to be said.
    told = qb_json(*verb, stated, *with_angles, "--detector-offset", "0,0", "-o", tmp_path / "w.h5")
    assert not any("detector-offset-stated" in w for w in told["warnings"])
    qb(*verb, path, *with_angles, "-o", tmp_path / "none.h5")
    assert (read_h5(tmp_path / "w.h5") == read_h5(tmp_path / "none.h5")).all()


def test_an_offset_that_nobody_set(projections, tmp_path):
    """First pixel at 0: what is written where nobody cares."""
    path, first = projections
    zero = moved(path, tmp_path / "zero.mha", -first[0], -first[1])
    told = qb_json("fdk", zero, "--angles", "0:360", *CONE, "--quantity", "transmission", "-o", tmp_path / "v.h5")
    assert not any("detector-offset-stated" in w for w in told["warnings"])


def test_the_axis_by_the_offset_of_a_parallel_beam(projections, tmp_path):
    path, _ = projections
    assert qb_json("info", moved(path, tmp_path / "p.mha", 5, 0))["center"] == pytest.approx(15.5 - 5 / 2)


def test_a_geometry_file_counts_more(projections, tmp_path):
    path, _ = projections
    qb("simulate", "ball", "--geometry", "cone", *CONE, "--pixel-size", 2, "--detector", "32,24", "--views", VIEWS, "-o", tmp_path / "q.mha",
       "--geometry-out", tmp_path / "g.json")
    told = qb_json("fdk", moved(path, tmp_path / "p.mha", 9, 4), "-g", tmp_path / "g.json", "--quantity", "transmission", "-o", tmp_path / "v.h5")
    assert any("[detector-offset-stated]" in w and "not used" in w for w in told["warnings"])


# ---- NXtomo ----


def nxtomo(path, current=None, control=None, **sample):
    """A disc of 0.02 / mm between two series of flats, counts in proportion to `current`; pixel 0.5 mm."""
    keys = np.r_[2, 1, 1, np.zeros(VIEWS), 1, 1].astype(int)
    current = np.ones(len(keys)) if current is None else current
    s = (np.arange(COLUMNS) - 15.5) * 0.5
    line = np.exp(-0.02 * 2 * np.sqrt(np.maximum(6 ** 2 - s ** 2, 0)))
    frames = np.where(keys == 0, 1, 0)[:, None, None] * line + np.where(keys == 1, 1, 0)[:, None, None] * np.ones(COLUMNS)
    frames = np.repeat(frames * current[:, None, None] * 40000 + 100, 3, axis=1)
    angles = np.zeros(len(keys))
    angles[keys == 0] = np.arange(VIEWS) * 180 / VIEWS
    with h5py.File(path, "w") as f:
        entry = f.create_group("entry")
        entry["definition"] = "NXtomo"
        entry["instrument/detector/data"] = np.round(frames).astype(np.uint16)
        entry["instrument/detector/image_key"] = keys
        entry["instrument/detector/x_pixel_size"] = 0.5
        entry["instrument/detector/x_pixel_size"].attrs["units"] = "mm"
        entry["sample/rotation_angle"] = angles
        entry["sample/rotation_angle"].attrs["units"] = "degrees"
        if control is not None:
            entry["control/data"] = control
        for name, values in sample.items():
            entry[f"sample/{name}"] = values
            entry[f"sample/{name}"].attrs["units"] = "um"
    return path


def middle(scan, folder, *more):
    told = qb_json("fbp", scan, "--center", 15.5, *more, "-o", folder / "v.h5")
    return float(read_h5(folder / "v.h5")[1, 12:20, 12:20].mean()), told


def test_a_beam_that_decays_is_corrected(tmp_path):
    """From 1.0 to 0.7 within the scan. By the monitor the disc is 0.02 / mm; without it the decay adds 0.17 to each line."""
    current = np.linspace(1.0, 0.7, VIEWS + 5)
    value, told = middle(nxtomo(tmp_path / "n.nxs", current, control=current * 180), tmp_path)
    assert value == pytest.approx(0.02, rel=0.01)
    assert "control/data" in str(told["preparation"])
    steady, _ = middle(nxtomo(tmp_path / "s.nxs"), tmp_path)
    assert value == pytest.approx(steady, rel=1e-3)
    # Line integrals of air: none, or the logarithm of how much dimmer the beam is than it was on the flats.
    qb("convert", tmp_path / "n.nxs", "-o", tmp_path / "lines.npy")
    assert abs(np.load(tmp_path / "lines.npy")[:, 1, 0]).max() < 1e-4
    qb("convert", tmp_path / "n.nxs", "--monitor", "ignore", "--flat-fields", "mean", "-o", tmp_path / "lines.npy")
    dimmer = -np.log(current[3:-2] / current[[1, 2, -2, -1]].mean())
    assert np.load(tmp_path / "lines.npy")[:, 1, 0] == pytest.approx(dimmer, abs=1e-4)
    for verb in (["sirt", "--iterations", 3], ["mbir", "--equits", 2, "--stop", 0]):
        qb(*verb, tmp_path / "n.nxs", "--center", 15.5, "-o", tmp_path / "a.h5")
        qb(*verb, tmp_path / "s.nxs", "--center", 15.5, "-o", tmp_path / "b.h5")
        a, b = read_h5(tmp_path / "a.h5"), read_h5(tmp_path / "b.h5")
        assert np.linalg.norm(a - b) < 0.01 * np.linalg.norm(b), verb
    chosen, _ = middle(tmp_path / "n.nxs", tmp_path, "--views", "0:60:2")
    assert chosen == pytest.approx(0.02, rel=0.01)


def test_a_monitor_that_says_nothing(tmp_path):
    assert not [p for p in qb_json("info", nxtomo(tmp_path / "n.nxs", control=np.full(VIEWS + 5, 7.0)))["problems"] if "monitor" in p]
    value, told = middle(tmp_path / "n.nxs", tmp_path)
    assert "control/data" not in str(told["preparation"])
    control = np.ones(VIEWS + 5)
    control[9] = 0
    told = qb_json("info", nxtomo(tmp_path / "z.nxs", control=control))
    assert any("[monitor-unusable]" in p for p in told["problems"])


@pytest.mark.parametrize("axis", "xyz")
def test_motion_of_the_sample_is_said(tmp_path, axis):
    """3 mm are 6 pixels."""
    motion = {f"{axis}_translation": np.linspace(0, 3000, VIEWS + 5)}
    told = qb_json("info", nxtomo(tmp_path / "n.nxs", **motion))
    said = [p for p in told["problems"] if "[sample-motion]" in p]
    pixels = 6 * (VIEWS - 1) / (VIEWS + 4)
    assert len(said) == 1 and f"{axis}_translation changes by {pixels:.3g} pixels" in said[0], said
    _, told = middle(tmp_path / "n.nxs", tmp_path)
    assert any("[sample-motion]" in w for w in told["warnings"])
    still = {f"{axis}_translation": np.full(VIEWS + 5, 1234.5)}
    assert not any("sample-motion" in p for p in qb_json("info", nxtomo(tmp_path / "s.nxs", **still))["problems"])
    still = {f"{axis}_translation": np.linspace(0, 20, VIEWS + 5)}  # 0.04 pixels
    assert not any("sample-motion" in p for p in qb_json("info", nxtomo(tmp_path / "s.nxs", **still))["problems"])


def test_motors_of_the_sample(tmp_path):
    """Each view has moved by whole pixels, as x_translation says, 500 um each; taken out it is the view that has not."""
    rng = np.random.default_rng(2)
    steps = rng.integers(-3, 4, VIEWS + 5) - 0.0
    steps[3] = 0  # of the first view
    nxtomo(tmp_path / "still.nxs")
    for sign in (1, -1):
        nxtomo(tmp_path / "moved.nxs", x_translation=700 + 500 * steps, z_translation=np.full(VIEWS + 5, 3.0))
        with h5py.File(tmp_path / "moved.nxs", "r+") as f:
            data = f["entry/instrument/detector/data"]
            keys = f["entry/instrument/detector/image_key"][:]
            for i in np.flatnonzero(keys == 0):
                data[i] = np.roll(data[i], int(sign * steps[i]), axis=1)
        how = ["--center", "15.5", "--shifts", f"motors:{'-' if sign < 0 else ''}x,z"]
        done = qb("fbp", tmp_path / "moved.nxs", *how, "-o", tmp_path / "v.npy").stderr
        qb("fbp", tmp_path / "still.nxs", "--center", "15.5", "-o", tmp_path / "w.npy")
        qb("fbp", tmp_path / "moved.nxs", "--center", "15.5", "-o", tmp_path / "u.npy")
        moved, still, left = (np.load(tmp_path / f"{name}.npy") for name in "vwu")
        inside = np.s_[:, 8:24, 8:24]
        assert abs(moved - still)[inside].max() < 2e-4 < 2e-3 < abs(left - still)[inside].max() and "sample-motion" not in done
    for axes, said in (("w", "motors:x,-z"), ("x,x", "motors:x,-z"), ("none", "motors:x,-z"), ("x,y", "no sample/y_translation"), ("", "motors:x,-z")):
        assert said in qb("fbp", tmp_path / "moved.nxs", "--shifts", f"motors:{axes}", "-o", tmp_path / "v.npy", code=3 if "y" in axes else 2).stderr
    with h5py.File(tmp_path / "moved.nxs", "r+") as f:  # every other view is turned
        turns = f["entry/sample"].create_dataset("y_rotation", data=np.where(np.arange(VIEWS + 5) % 2, 0.25, 0.25 - np.pi / 180))
        turns.attrs["units"] = "rad"
    said = qb("info", tmp_path / "moved.nxs", "--shifts", "motors:none,none,-y").stderr
    assert "turned by up to 1 degrees" in said


def test_a_pixel_size_in_metres_is_asked_about(tmp_path):
    qb("simulate", "disc", "--detector", "32,1", "--views", 40, "--pixel-size", 0.1, "-o", tmp_path / "s.h5")
    for given, asked in ((0.1, False), (0.4, False), (1e-4, True), (100, True)):
        problems = qb_json("info", tmp_path / "s.h5", "--pixel-size", given)["problems"]
        assert any("[pixel-size-differs]" in p for p in problems) == asked
        assert not asked or any(f"{given:g} mm is taken" in p and "states 0.1 mm" in p for p in problems)


def test_turned_axes_of_projections_are_said(tmp_path):
    qb("simulate", "disc", "--views", "30", "--detector", "24,2", "--pixel-size", "1", "-o", tmp_path / "s.mha")
    raw = (tmp_path / "s.mha").read_bytes()
    assert "axes-turned" not in qb("info", tmp_path / "s.mha", "--angles", "0:180").stdout
    (tmp_path / "t.mha").write_bytes(raw.replace(b"TransformMatrix = 1 0 0", b"TransformMatrix = -1 0 0", 1))
    assert "[axes-turned]" in qb("info", tmp_path / "t.mha", "--angles", "0:180").stdout
    assert "[axes-turned]" in qb("fbp", tmp_path / "t.mha", "--angles", "0:180", "--center", "11.5", "-o", tmp_path / "v.npy").stderr
