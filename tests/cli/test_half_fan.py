# SPDX-License-Identifier: MIT
"""Full turns of a parallel beam about an axis to one side of the detector."""
import json
import re

import h5py
import numpy as np
import pytest

from qbtest import circle, fails, opencl, qb, qb_json, read_h5, read_tiff  # noqa: F401 (a fixture)

SCAN = ["--angles", "0:360", "--detector", "256,4", "--size", "300,300,4", "--pixel-size", "0.1"]


def simulate(folder, phantom="disc", offset=30, views=600, *more):
    qb("simulate", phantom, "-o", "s.h5", "--views", views, *SCAN, "--center-offset", offset, *more, cwd=folder)
    return 127.5 + offset


def check(volume, offset, attenuation=0.02):
    """Within 0.5 % everywhere inside a disc of 120 pixels that no view sees whole, and nothing beside it."""
    n = 256 + 2 * abs(offset)
    assert volume.shape == (4, n, n)
    inside, outside = circle(n, 116), circle(n, n / 2) & ~circle(n, 124)
    for z in range(4):
        assert abs(volume[z][inside] / attenuation - 1).max() < 0.005, (volume[z][inside].min(), volume[z][inside].max())
        assert abs(volume[z][outside]).mean() < 0.007 * attenuation


@pytest.mark.parametrize("views", [600, 601])
@pytest.mark.parametrize("offset", [30, -30, 100, -100])
def test_disc_has_its_value(tmp_path, offset, views):
    center = simulate(tmp_path, "disc", offset, views)
    done = qb("fbp", "s.h5", "-o", "v.h5", "--center", center, cwd=tmp_path)
    side = "right" if offset > 0 else "left"
    assert "full turn" in done.stderr and f"{2 * abs(offset)} columns to the {side}" in done.stderr
    check(read_h5(tmp_path / "v.h5"), offset)
    with h5py.File(tmp_path / "v.h5") as f:
        told = json.loads(f["/process/quickbeam/provenance"][()])
    assert "full turn" in json.dumps(told) and side in json.dumps(told)


@pytest.mark.parametrize("offset,views", [(30, 600), (-100, 601)])
def test_devices_do_the_same(tmp_path, opencl, offset, views):
    center = simulate(tmp_path, "disc", offset, views)
    qb("fbp", "s.h5", "-o", "v.h5", "--center", center, "--device", opencl, cwd=tmp_path)
    check(read_h5(tmp_path / "v.h5"), offset)
    qb("fbp", "s.h5", "-o", "c.h5", "--center", center, "--device", "cpu", cwd=tmp_path)
    assert qb_json("compare", "v.h5", "c.h5", cwd=tmp_path)["rel_l2"] < 2e-3


@pytest.mark.parametrize("pad,bound", [("zero", 1e-3), ("edge", 1e-3), ("mirror", 1e-3), ("taper", 1e-3), ("ellipse", 0.02)])
def test_rows_end_as_those_of_a_wider_detector(tmp_path, pad, bound):
    """Of an object that is wider than even the wide side, so that --pad matters: as if a detector of twice that
    side had seen it. The curvature of an ellipse is that of the weighted row."""
    disc = ["simulate", "disc", "--views", 600, "--angles", "0:360", "--size", "500,500,1", "--pixel-size", "0.1"]
    qb(*disc, "-o", "half.h5", "--detector", "256,1", "--center-offset", 60, cwd=tmp_path)
    qb(*disc, "-o", "whole.h5", "--detector", "376,1", cwd=tmp_path)
    qb("fbp", "half.h5", "-o", "a.h5", "--center", 187.5, "--pad", pad, cwd=tmp_path)
    qb("fbp", "whole.h5", "-o", "b.h5", "--center", 187.5, "--pad", pad, cwd=tmp_path)
    a, b = read_h5(tmp_path / "a.h5")[0], read_h5(tmp_path / "b.h5")[0]
    inside = circle(376, 180)
    assert np.sqrt(((a - b)[inside] ** 2).mean() / (b[inside] ** 2).mean()) < bound


def test_noise_is_that_of_two_measurements_near_the_axis(tmp_path):
    """As in a scan whose axis is in the middle, where each ray is measured twice."""
    noise = []
    for offset in (0, 30):
        center = simulate(tmp_path, "disc", offset, 600, "--photons", 20000, "--attenuation", "0.02")
        qb("fbp", "s.h5", "-o", "v.h5", "--center", center, cwd=tmp_path)
        volume = read_h5(tmp_path / "v.h5")
        noise.append(volume[:, circle(volume.shape[1], 40)].std())
    assert noise[1] < 1.05 * noise[0], noise


def test_uneven_angles_count_over_the_full_turn(tmp_path):
    """Dense over one half of the turn, sparse over the other: opposite views do not share one weight."""
    angles = np.concatenate([np.arange(400) * 0.45, 180 + np.arange(200) * 0.9])
    np.savetxt(tmp_path / "a.txt", angles)
    qb("simulate", "disc", "-o", "s.h5", "--angles", "a.txt", "--views", 600, *SCAN[2:], "--center-offset", 60, cwd=tmp_path)
    qb("fbp", "s.h5", "-o", "v.h5", "--center", 187.5, cwd=tmp_path)
    check(read_h5(tmp_path / "v.h5"), 60)


def test_a_sweep_shows_every_axis_whole(tmp_path):
    simulate(tmp_path)
    qb("fbp", "s.h5", "-o", "sweep", "--center", "155.5:159.5:2", "--slices", "1:2", cwd=tmp_path)
    assert sorted(p.name for p in (tmp_path / "sweep").glob("*.tif")) == [f"center_{c:07.1f}.tif" for c in (155.5, 157.5, 159.5)]
    qb("fbp", "s.h5", "-o", "v.tif", "--center", 157.5, "--slices", "1:2", "--size", "320,320", cwd=tmp_path)
    a, b = (np.squeeze(read_tiff(tmp_path / p))[circle(320, 157)] for p in ("sweep/center_00157.5.tif", "v.tif"))
    assert abs(a - b).max() < 1e-5 * b.max()


def test_an_axis_that_is_found_widens_the_volume(tmp_path):
    """The plan is made anew once the axis is known."""
    simulate(tmp_path, "foam", 20, 500)
    report = qb_json("fbp", "s.h5", "-o", "v.h5", "--center", "registration", cwd=tmp_path)
    assert abs(report["column"] - 147.5) < 0.25
    assert read_h5(tmp_path / "v.h5").shape[1:] in ((296, 296), (297, 297))


SMALL = ["--angles", "0:360", "--detector", "48,2", "--size", "60,60,2", "--pixel-size", "0.5", "--center-offset", 16]


@pytest.mark.parametrize("verb,more", [("sirt", ["--iterations", 40]), ("cgls", ["--iterations", 15]), ("mbir", [])])
def test_iterative_methods_see_as_wide(tmp_path, verb, more):
    """The default slices of qb fbp: cut at the detector's width, what lies beside them would be pressed into them."""
    qb("simulate", "disc", "-o", "s.h5", "--views", 90, *SMALL, cwd=tmp_path)
    how = [verb, "s.h5", "-o", "v.npy", "--center", 39.5, *more]
    assert "slices are 80 voxels wide" in qb(*how, cwd=tmp_path).stderr
    volume = np.load(tmp_path / "v.npy")
    assert volume.shape == (2, 80, 80) and abs(volume[:, circle(80, 22)] / 0.02 - 1).mean() < 0.05
    for more in (["--size", "60,60"], ["--voxel", "1"]):
        assert "voxels wide" not in qb("plan", *how, *more, cwd=tmp_path).stderr
    assert qb_json("plan", *how, "--size", "60,60", cwd=tmp_path)["size"][:2] == [60, 60]
    assert qb_json("plan", *how, "--angles", "0:180", cwd=tmp_path)["size"][:2] == [48, 48]


def test_an_axis_that_is_found_widens_iterations(tmp_path):
    """Also where a volume of that width is given before the axis is known."""
    qb("simulate", "foam", "-o", "s.h5", "--views", 90, *SMALL, cwd=tmp_path)
    found = ["--center", "overlap", "-o", "v.npy"]
    qb("sirt", "s.h5", *found, "--iterations", 1, cwd=tmp_path)
    wide = np.load(tmp_path / "v.npy").shape[1]
    assert wide in (79, 80, 81)
    np.save(tmp_path / "x.npy", np.full((2, wide, wide), 0.01, np.float32))
    qb("mbir", "s.h5", *found, "--prox", "x.npy", "--start", "prox", "--equits", 1, cwd=tmp_path)
    assert np.load(tmp_path / "v.npy").shape == (2, wide, wide)
    np.save(tmp_path / "x.npy", np.full((2, 48, 48), 0.01, np.float32))
    said = fails(3, "mbir", "s.h5", *found, "--prox", "x.npy", "--equits", 1, cwd=tmp_path)
    assert f"2 x 48 x 48 voxels along z, y and x, the volume 2 x {wide} x {wide}" in said


def test_a_cone_s_volume_stays_and_that_is_said(tmp_path):
    """By the words of qb fdk: the usual volume is as wide as the detector."""
    cone = ["--sod", 200, "--sdd", 300]
    qb("simulate", "disc", "-o", "s.h5", "--geometry", "cone", *cone, "--views", 30, "--detector", "48,4", "--pixel-size", 1,
       "--detector-offset", "12,0", cwd=tmp_path)
    how = ["s.h5", *cone, "--detector-offset", "12,0", "-o", "v.npy"]
    words = [re.search(r"warning: (the volume reaches .* takes it all in)", qb("plan", verb, *how, cwd=tmp_path).stderr)[1]
             for verb in ("fdk", "sirt", "cgls")]
    assert words[0] == words[1] == words[2]
    size = re.search(r"--size (\d+) takes", words[0])[1]
    assert "takes it all in" not in qb("plan", "sirt", *how, "--size", size, cwd=tmp_path).stderr


def test_half_a_turn_and_an_axis_near_the_middle_stay_as_they_are(tmp_path):
    for angles, offset in (("0:180", 60), ("0:360", 2)):
        qb("simulate", "disc", "-o", "s.h5", "--views", 100, "--angles", angles, "--detector", "256,1", "--pixel-size", "0.1",
           "--center-offset", offset, cwd=tmp_path)
        plan = qb_json("plan", "fbp", "s.h5", "-o", "v.h5", "--center", 127.5 + offset, cwd=tmp_path)
        assert plan["size"][:2] == [256, 256] and "redundancy" not in plan


@pytest.mark.parametrize("gap, offset, half", [(40, -36, True), (80, -36, False), (40, -8, False)])
def test_a_wide_gap_and_an_axis_far_to_one_side(tmp_path, gap, offset, half):
    """Half acquisition, with the gap said: the mean value holds where rows that end at the detector would lose half of it. Of an axis near the
    middle all is seen from the other side."""
    angles = np.arange(0, 360, 0.5)
    np.savetxt(tmp_path / "a.txt", angles[(angles <= 30) | (angles >= 30 + gap)], fmt="%.9g")
    size = 160 if offset == -36 else 80
    qb("simulate", "disc", "-o", "s.h5", "--detector", "100,1", "--size", f"{size},{size},1", "--pixel-size", 1, "--angles", "a.txt:deg",
       "--center-offset", offset, "--truth", "t.npy", cwd=tmp_path)
    done = qb("fbp", "s.h5", "-o", "v.npy", "--center", 49.5 + offset, "--size", f"{size},{size}", cwd=tmp_path)
    assert ("as half acquisition needs; 39.5 degrees missing" in done.stderr and "[angle-gap]" in done.stderr) == half
    volume, truth = np.load(tmp_path / "v.npy"), np.load(tmp_path / "t.npy")
    share = volume.sum() / truth.sum()
    assert share == pytest.approx(1, abs=0.02) if gap == 40 else "[row-ends]" in done.stderr
