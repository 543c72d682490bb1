# SPDX-License-Identifier: MIT
"""The rotation axis, wherever it is, or no axis at all."""
import numpy as np
import pytest

from qbtest import circle, fails, qb, qb_json, read_h5, write_scan

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
    fails(3, "center", "s.h5", says=["no rotation axis"], cwd=tmp_path)
    assert qb_json("fbp", "s.h5", "-o", "v.h5", "--center", "middle", cwd=tmp_path)["column"] == 31.5


def test_search_of_a_reconstruction(tmp_path):
    qb("simulate", "foam", "-o", "s.h5", "--views", 180, "--detector", "128,4", "--center-offset", 5, cwd=tmp_path)
    report = qb_json("fbp", "s.h5", "-o", "v.h5", "--search", "60:80", "--center", "registration", cwd=tmp_path)
    assert abs(report["column"] - 68.5) < 0.5
    report = qb_json("fbp", "s.h5", "-o", "v.h5", "--search", "20:50", "--center", "registration", cwd=tmp_path)
    assert report["column"] <= 51
    fails(2, "fbp", "s.h5", "-o", "v.h5", "--search", "60:80", "--center", "64", says=["--search"], cwd=tmp_path)
    fails(2, "fbp", "s.h5", "-o", "v.h5", "--search", "80:60", says=["--search 80:60"], cwd=tmp_path)


@pytest.mark.parametrize("method,phantom", [("mass", "disc"), ("overlap", "spheres"), ("sharpness", "spheres"),
                                            ("registration", "spheres")])
def test_a_reconstruction_takes_every_method(tmp_path, method, phantom):
    qb("simulate", phantom, "-o", "s.h5", "--views", 200, "--angles", "0:360", "--detector", "96,6", "--center-offset", 2,
       cwd=tmp_path)
    report = qb_json("fbp", "s.h5", "-o", "v.h5", "--center", method, cwd=tmp_path)
    assert abs(report["column"] - 49.5) < 0.6
