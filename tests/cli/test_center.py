# SPDX-License-Identifier: MIT
"""The rotation axis, wherever it is, or no axis at all."""
import json
import re
import subprocess

import numpy as np
import pytest

from center_variants import judge, look, variants
from qbtest import QB, circle, fails, qb, qb_json, read_h5, write_scan

SCAN = ["--views", "600", "--angles", "0:360", "--detector", "256,4", "--size", "300,300,4", "--pixel-size", "0.1"]


@pytest.mark.parametrize("phantom", ["disc", "shepp-logan", "foam"])
@pytest.mark.parametrize("offset", [100, -100, 30.25])
def test_axis_to_one_side(tmp_path, phantom, offset):
    """A full turn: the strip that opposite views share names the axis, even of a disc, which has no edge there."""
    qb("simulate", phantom, "-o", "s.h5", *SCAN, "--center-offset", offset, cwd=tmp_path)
    found = qb_json("center", "s.h5", cwd=tmp_path)
    assert abs(found["column"] - 127.5 - offset) < 0.25
    assert found["confidence"] > 0.8 and "warning" not in found
    assert {m["name"] for m in found["methods"]} == {"registration", "overlap", "mass"}


def test_a_volume_from_an_axis_to_one_side(tmp_path):
    qb("simulate", "disc", "-o", "s.h5", *SCAN, "--center-offset", 100, cwd=tmp_path)
    assert abs(qb_json("fbp", "s.h5", "-o", "v.h5", cwd=tmp_path)["column"] - 227.5) < 0.25
    volume = read_h5(tmp_path / "v.h5")
    assert abs(volume[1][circle(volume.shape[1], 110)] / 0.02 - 1).max() < 0.005


def test_nothing_to_find(tmp_path):
    """Noise: no axis is made up, unless the middle is asked for."""
    noise = np.random.default_rng(1).normal(0, 1, (180, 2, 64)).astype(np.float32)
    write_scan(tmp_path / "s.h5", noise, np.arange(180.0), quantity="line_integral")
    fails(3, "fbp", "s.h5", "-o", "v.h5", says=["no rotation axis", "--center A:B:STEP", "--center middle"], cwd=tmp_path)
    assert not (tmp_path / "v.h5").exists()
    for verb, once in ("mbir", "--equits"), ("sirt", "--iterations"), ("cgls", "--iterations"):  # what is said there can be done
        fails(3, verb, "s.h5", "-o", "v.h5", says=["no rotation axis", "--center middle"], cwd=tmp_path)
        qb(verb, "s.h5", "-o", f"{verb}.h5", "--center", "middle", once, 1, cwd=tmp_path)
        fails(2, verb, "s.h5", "-o", "v.h5", "--center", "nose", says=["--center nose", "middle", "registration"], cwd=tmp_path)
    fails(3, "center", "s.h5", says=["no rotation axis", "reconstruct with --center"], cwd=tmp_path)
    assert qb_json("fbp", "s.h5", "-o", "v.h5", "--center", "middle", cwd=tmp_path)["column"] == 31.5


def test_search_of_a_reconstruction(tmp_path):
    qb("simulate", "foam", "-o", "s.h5", "--views", 180, "--detector", "128,4", "--center-offset", 5, cwd=tmp_path)
    report = qb_json("fbp", "s.h5", "-o", "v.h5", "--search", "60:80", "--center", "registration", cwd=tmp_path)
    assert abs(report["column"] - 68.5) < 0.5
    report = qb_json("fbp", "s.h5", "-o", "v.h5", "--search", "20:50", "--center", "registration", cwd=tmp_path)
    assert report["column"] <= 51
    fails(2, "fbp", "s.h5", "-o", "v.h5", "--search", "60:80", "--center", "64", says=["--search"], cwd=tmp_path)
    fails(2, "fbp", "s.h5", "-o", "v.h5", "--search", "80:60", says=["--search 80:60"], cwd=tmp_path)


def test_near_a_column(tmp_path):
    """The axis lies at 68.5: a rough column narrows the search, and an end of the range is no answer that one trusts."""
    qb("simulate", "foam", "-o", "s.h5", "--views", 180, "--detector", "128,4", "--center-offset", 5, cwd=tmp_path)
    for verb, more in ("fbp", []), ("sirt", ["--iterations", 1]), ("mbir", ["--equits", 1]):
        said = qb(verb, "s.h5", "-o", "v.npy", *more, "--center", "near:66", cwd=tmp_path).stderr
        assert "axis searched in columns 58 to 74" in said and "center-edge" not in said and "center-doubt" not in said
        assert abs(float(re.search(r"axis at column ([0-9.]+),", said)[1]) - 68.5) < 0.1
        fails(2, verb, "s.h5", "-o", "w.npy", "--center", "near:128", says=["near:128", "0..127"], cwd=tmp_path)
        fails(2, verb, "s.h5", "-o", "w.npy", "--center", "near:x", says=["near:COLUMN"], cwd=tmp_path)
    said = qb("fbp", "s.h5", "-o", "v.npy", "--center", "near:66", "--bin", 2, cwd=tmp_path).stderr  # 8 columns of the binned ones
    assert said.count("\nangles: ") == 1, said  # the scan is opened twice, and each note is printed once
    assert "columns 50 to 82" in said and abs(float(re.search(r"axis at column ([0-9.]+),", said)[1]) - 68.5) < 0.2
    for how in ["--center", "near:60"], ["--search", "52:68"]:
        said = qb("fbp", "s.h5", "-o", "v.npy", *how, cwd=tmp_path).stderr
        assert "edge of the searched columns 52 to 68" in said and "[center-edge]" in said
    found = qb_json("center", "s.h5", "--method", "near:66", cwd=tmp_path)
    assert abs(found["column"] - 68.5) < 0.1 and "warning" not in found
    fails(2, "center", "s.h5", "--method", "near:66", "--search", "60:70", says=["two ranges"], cwd=tmp_path)
    fails(2, "fbp", "s.h5", "-o", "w.npy", "--center", "near:66", "--search", "60:70", says=["two ranges"], cwd=tmp_path)
    fails(3, "fbp", "s.h5", "-o", "w.npy", "--center", "near:90", says=["no rotation axis", "columns 82 to 98"], cwd=tmp_path)
    assert not (tmp_path / "w.npy").exists()


@pytest.mark.parametrize("method,phantom", [("mass", "disc"), ("overlap", "spheres"), ("sharpness", "spheres"),
                                            ("registration", "spheres")])
def test_a_reconstruction_takes_every_method(tmp_path, method, phantom):
    qb("simulate", phantom, "-o", "s.h5", "--views", 200, "--angles", "0:360", "--detector", "96,6", "--center-offset", 2,
       cwd=tmp_path)
    report = qb_json("fbp", "s.h5", "-o", "v.h5", "--center", method, cwd=tmp_path)
    assert abs(report["column"] - 49.5) < 0.6


@pytest.mark.parametrize("ways", [["strong stripes, full turn", "truncated, full turn, stripes"], ["noise and stripes, full turn", "cone, 250 degrees, stripes"]])
def test_stripes_truncation_and_noise(tmp_path, ways):
    """Eight of the sixty variants of center_variants.py, which are run by hand: the axis is right, or the confidence is low."""
    chosen = [v for v in variants() if any(v[0].endswith(", " + way) for way in ways)]
    results = [look(*v, tmp_path)[:2] for v in chosen]
    good, sure = judge(results)
    assert len(results) == 8 and good >= 7 and sure == 0, results


@pytest.mark.parametrize("size", [1, 20])
def test_stripes_that_hide_a_disc(tmp_path, size):
    """Nothing of a disc about the axis moves: where stripes are as strong as it is, nobody is sure of its middle."""
    qb("simulate", "disc", "-o", "s.h5", "--views", 120, "--angles", "0:360", "--detector", "128,8", "--center-offset", 3.25, cwd=tmp_path)
    lines = -np.log(read_h5(tmp_path / "s.h5"))
    stripes = np.random.default_rng(size).normal(0, 0.3 * lines.max(), (8, 128 // size + 1)).repeat(size, axis=1)[:, :128]
    write_scan(tmp_path / "t.h5", (lines + stripes).astype(np.float32), np.arange(120) * 3.0, quantity="line_integral")
    found = json.loads(subprocess.run([QB, "center", "t.h5", "--json"], cwd=tmp_path, capture_output=True, text=True).stdout or "{}")
    assert not found or abs(found["column"] - 66.75) <= 0.5 or found["confidence"] < 0.6, found


def test_no_finder_alone_is_sure(tmp_path):
    """The strip that opposite views share is all that names the axis: at most 0.9. Where another one agrees it is more."""
    qb("simulate", "disc", "-o", "s.h5", *SCAN, "--center-offset", 100, cwd=tmp_path)
    alone = qb_json("center", "s.h5", "--method", "overlap", cwd=tmp_path)
    assert 0.8 < alone["confidence"] <= 0.9
    qb("simulate", "foam", "-o", "f.h5", "--views", 180, "--angles", "0:360", "--detector", "128,4", "--center-offset", 5, cwd=tmp_path)
    assert qb_json("center", "f.h5", cwd=tmp_path)["confidence"] > 0.95


def test_rings_are_heard(tmp_path):
    """--rings is applied before the finders look."""
    qb("simulate", "foam", "-o", "s.h5", "--views", 90, "--detector", "128,4", "--rings", 0.3, "--photons", 500, cwd=tmp_path)
    plain, rings = (qb_json("center", "s.h5", *more, cwd=tmp_path) for more in ([], ["--rings", "sort"]))
    assert plain["column"] != rings["column"] and abs(rings["column"] - 63.5) < 0.25


@pytest.mark.parametrize("seed", [2, 3, 5])
def test_half_a_turn_of_an_object_wider_than_the_detector(tmp_path, seed):
    """Trial slices of a smooth object name a column several pixels off here; the values of opposite views know better."""
    qb("simulate", "shepp-logan", "--detector", "48,8", "--size", "91,91,91", "--views", 68, "--angles", "0:180", "--center-offset=-6.39",
       "--attenuation", 0.002, "--photons", 20000, "--seed", seed, "-o", "s.h5", cwd=tmp_path)
    assert abs(qb_json("center", "s.h5", cwd=tmp_path)["column"] - 23.5 + 6.39) < 0.5


@pytest.mark.parametrize("columns,size,photons,offset", [(152, 380, 0, 7.98), (200, 300, 2000, 0)])
def test_half_a_turn_of_a_disc_wider_than_the_detector(tmp_path, columns, size, photons, offset):
    """No edges, and a false dip in trial slices: what is left are smooth values, of many views at both ends where there is noise."""
    qb("simulate", "disc", "--detector", f"{columns},8", "--views", columns, "--angles", "0:180", "--size", f"{size},{size},8",
       "--photons", photons, "--center-offset", offset, "--seed", 7, "-o", "s.h5", cwd=tmp_path)
    found = qb_json("center", "s.h5", cwd=tmp_path)
    assert abs(found["column"] - (columns - 1) / 2 - offset) < 0.75 and found["confidence"] > 0.5


def test_a_column_that_noise_moves_is_not_sure(tmp_path):
    """A ball wider than the detector: all rows agree on a column two and more off, as its ends hardly bend."""
    qb("simulate", "ball", "--detector", "192,8", "--size", "339,339,339", "--views", 360, "--center-offset", -3.419, "--seed", 1752, "--pixel-size", 0.6667,
       "--attenuation", 0.03, "--photons", 1000, "--rings", 0.01, "-o", "s.h5", cwd=tmp_path)
    found = qb_json("center", "s.h5", cwd=tmp_path)
    assert abs(found["column"] - 92.081) < 1 or found["confidence"] < 0.6, found
