# SPDX-License-Identifier: MIT
"""Scans whose views are spread unevenly or with gaps: a disc has its value wherever rays, or their opposites, were measured."""
import re

import numpy as np
import pytest

from qbtest import circle, few, fails, opencl, qb, qb_json  # noqa: F401 (a fixture)

MU = 0.02
HALF = np.arange(600) * 0.6


def gated(share, cycles=10):
    """Of each cycle the first part, as of a breathing animal."""
    period = 600 / cycles
    return HALF[np.arange(600) % period < share * period]


def dropped(share, seed=2):
    return HALF[np.random.default_rng(seed).random(600) < share]


TURNS = {
    "gated": gated(0.5),
    "stood": np.concatenate([np.arange(300) * 0.001, np.arange(0.5, 360, 1.5)]),
    "dense": np.concatenate([np.arange(0, 180, 0.5), np.arange(180, 360, 2)]),
    "dense, then sparse, a short scan": np.concatenate([np.arange(0, 110, 0.5), np.arange(110, 220, 2)]),
    "at random": np.sort(np.random.default_rng(1).random(400) * 360),
    "dropped at random": dropped(0.6),
    "40 % of the phases": gated(0.4),
    "83 % of the phases": gated(0.83),
    "of seven cycles": gated(0.5, 7),
    "groups of four": (np.arange(160) // 4) * 9.0 + np.arange(160) % 4 * 0.5,
    "one view lost": np.delete(HALF, 77),
    "a block lost": HALF[(HALF < 60) | (HALF >= 90)],
    "blocks lost": HALF[((HALF < 60) | (HALF >= 66)) & ((HALF < 150) | (HALF >= 160)) & ((HALF < 300) | (HALF >= 303))],
    "a short scan with a gap": np.concatenate([np.arange(0, 30, 0.5), np.arange(45, 270, 0.5)]),
}
QUICK = ("gated", "stood", "dense", "dense, then sparse, a short scan", "of seven cycles", "a short scan with a gap")


def simulate(folder, angles, *more):
    np.savetxt(folder / "a.txt", angles, fmt="%.9g")
    qb("simulate", "disc", "-o", "s.h5", "--angles", "a.txt:deg", "--views", len(angles), *more, cwd=folder)


def mean(volume, radius, at=(0, 0)):
    middle = volume[len(volume) // 2]
    y, x = np.mgrid[:middle.shape[0], :middle.shape[1]] - (middle.shape[0] - 1) / 2
    return middle[np.hypot(x - at[0], y - at[1]) < radius].mean() / MU


CONE = ["--geometry", "cone", "--sod", 500, "--sdd", 800, "--pixel-size", 3, "--detector", "96,16"]
FDK = ["fdk", "s.h5", "--sod", 500, "--sdd", 800, "-o", "v.npy"]


@pytest.mark.parametrize("kind", few(*QUICK, others=[k for k in TURNS if k not in QUICK]))
def test_cone(tmp_path, kind):
    simulate(tmp_path, TURNS[kind], *CONE)
    qb(*FDK, cwd=tmp_path)
    volume = np.load(tmp_path / "v.npy")
    for at in ((0, 0), (-10, 6)):
        assert abs(mean(volume, 15, at) - 1) < 0.005, mean(volume, 15, at)


@pytest.mark.parametrize("kind", few("gated", "stood", "at random", others=["dense", "dropped at random", "40 % of the phases", "83 % of the phases",
                                                                            "groups of four", "blocks lost", "a block lost"]))
@pytest.mark.parametrize("turn", [180, 360])
def test_parallel(tmp_path, kind, turn):
    simulate(tmp_path, TURNS[kind] * turn / 360, "--detector", "128,1", "--pixel-size", 0.1)
    qb("fbp", "s.h5", "-o", "v.npy", "--center", 63.5, cwd=tmp_path)
    volume = np.load(tmp_path / "v.npy")
    for at in ((0, 0), (-12, 9)):
        assert abs(mean(volume, 25, at) - 1) < 0.005, mean(volume, 25, at)


def test_what_is_missing_is_said(tmp_path):
    """Of ten gaps that lie half a turn apart; of gaps that opposite rays fill nothing is said to be missing."""
    simulate(tmp_path, TURNS["gated"], *CONE)
    said = qb(*FDK, cwd=tmp_path).stderr
    assert "10 gaps, the widest" in said and "up to 18 degrees in a row" in said and "[angle-gap]" in said
    fan = np.arange(-400, 401) / 400 * np.degrees(np.arctan(47.5 * 3 / 800))
    angle = np.arange(0.005, 360, 0.01)
    unseen = np.mean([((angle + 0.3) % 36 >= 18) & ((angle + 180 + 2 * g + 0.3) % 36 >= 18) for g in fan[::40]])
    told = float(re.search(r"([\d.]+) % of the rays were measured from neither side", said)[1])
    assert abs(told - 100 * unseen) < 1.5, (told, unseen)
    simulate(tmp_path, TURNS["blocks lost"], *CONE)
    said = qb(*FDK, cwd=tmp_path).stderr
    assert "[angle-gap]" not in said and "opposite rays" in said
    simulate(tmp_path, np.concatenate([HALF[:100], HALF[170:400], HALF[470:]]), *CONE)
    said = fails(3, *FDK, cwd=tmp_path)
    assert "2 gaps, the widest" in said and "--allow-limited" in said
    said = qb(*FDK, "--allow-limited", cwd=tmp_path).stderr
    lacks = float(re.search(r"values at the axis are ([\d.]+) % too low", said)[1])
    assert abs(100 * (1 - mean(np.load(tmp_path / "v.npy"), 4)) - lacks) < 6, lacks  # of rays through the axis


@pytest.mark.parametrize("rule,right", [("auto", False), ("spacing", True), ("capped", False)])
def test_rules_for_a_cone(tmp_path, rule, right):
    """Of too short a scan: values hold, or lack as much as is said. A limited angle is not made up for by default."""
    simulate(tmp_path, np.arange(0, 140, 0.5), *CONE)
    said = qb(*FDK, "--allow-limited", "--angle-weights", rule, cwd=tmp_path).stderr
    value = mean(np.load(tmp_path / "v.npy"), 4)
    if right:
        assert abs(value - 1) < 0.005 and "too low" not in said, value
    else:
        told = float(re.search(r"values at the axis are ([\d.]+) % too low", said)[1])
        assert 15 < told < 30 and abs(100 * (1 - value) - told) < 0.5, (told, value)


@pytest.mark.parametrize("rule", ["auto", "spacing", "capped", "even"])
def test_limited_angles_of_parallel_rays(tmp_path, rule):
    simulate(tmp_path, np.arange(0, 120, 0.5), "--detector", "128,1", "--pixel-size", 0.1)
    said = qb("fbp", "s.h5", "-o", "v.npy", "--center", 63.5, "--angle-weights", rule, cwd=tmp_path).stderr
    value = mean(np.load(tmp_path / "v.npy"), 4)
    assert "limited angle: 60 degrees missing from 119.5 to 180" in said
    assert ("[limited-angle]" if rule == "auto" else "[angle-gap]") in said
    if rule in ("capped", "auto"):
        told = float(re.search(r"values (?:are )?([\d.]+) % too low", said)[1])
        assert 30 < told < 35 and abs(100 * (1 - value) - told) < 0.6, (told, value)
    else:
        assert abs(value - 1) < 0.005 and "too low" not in said


# The rmse that views of which none stood in for another made of the same scan.
@pytest.mark.parametrize("beam,span,most", [("cone", 90.5, 0.00762), ("cone", 150, 0.00444), ("parallel", 120, 0.00572)])
def test_limited_angles_gain_no_error(tmp_path, beam, span, most):
    """Far within a wide gap nothing is known: views that stood for it made noise and streaks larger than what they mended."""
    views = int(2 * span)
    how = ["--sod", 410.66, "--sdd", 553.74] if beam == "cone" else []
    size = ["--geometry", "cone", "--detector", "560,1", *how] if beam == "cone" else ["--detector", "256,1"]
    begin = 75 if beam == "cone" else 0
    qb("simulate", "foam", *size, "--pixel-size", 0.2, "--angles", f"{begin}:{begin + span}:{views}", "--views", views, "--photons", 50000,
       "--seed", 3, "--truth", "t.npy", "-o", "s.h5", cwd=tmp_path)
    more = ["fdk", "--allow-limited"] if beam == "cone" else ["fbp", "--center", 127.5]
    said = qb(more[0], "s.h5", *how, *more[1:], "-o", "v.npy", cwd=tmp_path).stderr
    rmse = qb_json("compare", "v.npy", "t.npy", cwd=tmp_path)["rmse"]
    assert rmse <= most and "[limited-angle]" in said and "stand in" not in said, rmse


# ---- half fans ----

def half_fan(folder, angles):
    simulate(folder, angles, "--geometry", "cone", "--sod", 1000, "--sdd", 1500, "--detector", "96,8", "--pixel-size", 3,
             "--detector-offset", "100,0", "--size", "96,96,8")


def test_half_fan_with_lost_views(tmp_path, opencl):
    how = ["fdk", "s.h5", "--sod", 1000, "--sdd", 1500, "--detector-offset", "100,0"]
    half_fan(tmp_path, HALF[(HALF < 60) | (HALF >= 64.8)])
    said = qb(*how, "-o", "v.npy", cwd=tmp_path).stderr
    volume = np.load(tmp_path / "v.npy")
    assert abs(mean(volume, 15) - 1) < 0.005 and abs(mean(volume, 35) - 1) < 0.005
    assert "no view from 59.4 to 64.8" in said and "[angle-gap]" in said
    small = qb(*how, "--size", "24,24,4", "-o", "w.npy", cwd=tmp_path).stderr  # within the short side all rays were measured
    assert "[angle-gap]" not in small and abs(mean(np.load(tmp_path / "w.npy"), 10) - 1) < 0.005
    qb(*how, "--device", opencl, "-o", "d.npy", cwd=tmp_path)
    assert qb_json("compare", "v.npy", "d.npy", cwd=tmp_path)["rel_l2"] < 2e-3


@pytest.mark.parametrize("more", [[], ["--resample", "always"]])
def test_devices_weight_gaps_as_the_cpu(tmp_path, opencl, more):
    simulate(tmp_path, TURNS["blocks lost"], *CONE)
    qb(*FDK, *more, cwd=tmp_path)
    qb(*FDK[:-1], "d.npy", *more, "--device", opencl, cwd=tmp_path)
    assert qb_json("compare", "v.npy", "d.npy", cwd=tmp_path)["rel_l2"] < 2e-3


HALF_SCAN = ["--angles", "0:360", "--views", 720, "--detector", "128,1", "--center-offset", -43, "--pixel-size", 0.1, "--size", "210,210,1"]


@pytest.mark.parametrize("views,device", few((704, False), (690, True), others=[(718, False), (664, False)]))
def test_half_acquisition_of_almost_a_turn(tmp_path, opencl, views, device):
    qb("simulate", "disc", "-o", "s.h5", *HALF_SCAN, cwd=tmp_path)
    how = ["fbp", "s.h5", "--views", f"0:{views}", "--center", 20.5]
    said = qb(*how, "-o", "v.npy", cwd=tmp_path).stderr
    volume = np.load(tmp_path / "v.npy")
    assert volume.shape == (1, 214, 214)
    assert abs(mean(volume, 20) - 1) < 0.005 and abs(mean(volume, 70) - 1) < 0.005
    if views < 718:
        assert f"of 360 degrees, as half acquisition needs; {360 - views / 2:.4g} degrees missing" in said and "[angle-gap]" in said
    if device:
        qb(*how, "-o", "d.npy", "--device", opencl, cwd=tmp_path)
        assert qb_json("compare", "v.npy", "d.npy", cwd=tmp_path)["rel_l2"] < 2e-3


def test_lost_views_of_half_acquisition(tmp_path):
    qb("simulate", "disc", "-o", "s.h5", *HALF_SCAN, cwd=tmp_path)
    keep = np.delete(np.arange(720), np.r_[100:110, 300:316, 500, 600:604])
    h = np.arange(720) * 0.5
    np.savetxt(tmp_path / "k.txt", h[keep])
    simulate(tmp_path, h[keep], *HALF_SCAN[4:])
    qb("fbp", "s.h5", "-o", "v.npy", "--center", 20.5, cwd=tmp_path)
    volume = np.load(tmp_path / "v.npy")
    assert abs(mean(volume, 20) - 1) < 0.005 and abs(mean(volume, 70) - 1) < 0.005
    inside = circle(214, 70)
    assert np.sqrt(((volume[0][inside] / MU - 1) ** 2).mean()) < 0.05


def test_half_a_turn_of_half_acquisition(tmp_path):
    """What the narrow side cuts off is not seen elsewhere: a full turn is what it takes, and that is said."""
    qb("simulate", "disc", "-o", "s.h5", *HALF_SCAN, cwd=tmp_path)
    said = qb("fbp", "s.h5", "--views", "0:360", "--center", 20.5, "-o", "v.npy", cwd=tmp_path).stderr
    assert "half acquisition needs 360 degrees of views, these cover 180" in said and "[row-ends]" in said and "--pad" not in said
    half_fan(tmp_path, np.arange(0, 240, 0.6))
    said = qb("fdk", "s.h5", "--sod", 1000, "--sdd", 1500, "--detector-offset", "100,0", "--allow-limited", "-o", "v.npy", cwd=tmp_path).stderr
    assert "half acquisition needs 360 degrees of views, these cover 240" in said


@pytest.mark.parametrize("verb", ["sirt", "cgls", "mbir"])
def test_iterative_methods_say_how_much_of_the_turn(tmp_path, verb):
    """They need no weights, and say nothing of any."""
    qb("simulate", "disc", "-o", "s.h5", "--angles", "0:360", "--views", 120, "--detector", "48,1", "--size", "60,60,1", "--pixel-size", 0.5,
       "--center-offset", 16, cwd=tmp_path)
    said = qb("plan", verb, "s.h5", "--views", "0:116", "--center", 39.5, "-o", "v.npy", cwd=tmp_path).stderr
    assert "348 degrees of a full turn" in said and "slices are 80 voxels wide" in said and "stand in" not in said


@pytest.mark.parametrize("period", [180, 360])
def test_golden_angles_are_sorted_before_they_are_judged(tmp_path, period):
    golden = np.arange(200) * 180 * (np.sqrt(5) - 1) / 2 * period / 180 % period
    steps = np.diff(np.sort(golden))
    simulate(tmp_path, golden, "--detector", "64,1", "--pixel-size", 0.1)
    said = qb("fbp", "s.h5", "--center", 31.5, "-o", "v.npy", cwd=tmp_path).stderr
    told = [float(n) for n in re.search(r"steps of ([\d.]+) to ([\d.]+) degrees, ([\d.]+) on average, in order of angle", said).groups()]
    assert told == pytest.approx([steps.min(), steps.max(), steps.mean()], rel=1e-3)
    assert abs(mean(np.load(tmp_path / "v.npy"), 15) - 1) < 0.005
    simulate(tmp_path, np.random.default_rng(3).permutation(np.arange(0, 360, 1.8)), "--detector", "64,1", "--pixel-size", 0.1)
    assert "uneven" not in qb("fbp", "s.h5", "--center", 31.5, "-o", "v.npy", cwd=tmp_path).stderr


@pytest.mark.parametrize("views", [1, 3, 11, 12])
def test_few_parallel_views_are_said(tmp_path, views):
    qb("simulate", "disc", "--views", views, "--detector", "32,1", "-o", tmp_path / "s.h5")
    said = qb("fbp", tmp_path / "s.h5", "--center", "15.5", "-o", tmp_path / "v.npy").stderr
    assert ("[few-views]" in said) == (views < 12)
    assert f"{180 / views:.4g} degrees apart" in said or views == 12


@pytest.mark.parametrize("beam,degrees,repeats", [
    ("parallel", np.arange(0, 181, 6.0), True), ("parallel", np.arange(0, 361, 6.0), True), ("parallel", np.arange(0, 360, 120.0), False),
    ("cone", np.arange(0, 181, 6.0), False), ("cone", np.arange(0, 361, 6.0), True), ("cone", np.arange(0, 360, 120.0), False),
])
def test_a_view_that_repeats_the_first(tmp_path, beam, degrees, repeats):
    """Half a turn later only parallel rays are the same; three views of a full turn repeat none."""
    simulate(tmp_path, degrees, "--detector", "32,2", "--pixel-size", 1, "--geometry", beam, *(CONE[2:6] if beam == "cone" else []))
    assert any("[repeated-view]" in p for p in qb_json("info", "s.h5", cwd=tmp_path)["problems"]) == repeats


def turn_without(degrees):
    return np.array([a for a in range(360) if not 100 <= a < 100 + degrees], float)


@pytest.mark.parametrize("off", [0, 60])
@pytest.mark.parametrize("gap", [15, 29, 31, 73])
def test_wide_gaps_of_a_cone(tmp_path, off, gap):
    """The opposite rays of a detector in the middle make up for 73 degrees, too. Of one to the side up to 30 are shared by neighbours; more is refused."""
    how = ["--sod", 500, "--sdd", 800, "--detector-offset", f"{off},0"]
    simulate(tmp_path, turn_without(gap), "--geometry", "cone", "--pixel-size", 3, "--detector", "96,8", *how, "--size", "100,100,8", "--voxel", 1.5)
    if not off or gap < 30:
        said = qb("fdk", "s.h5", *how, "-o", "v.npy", cwd=tmp_path).stderr
        assert abs(mean(np.load(tmp_path / "v.npy"), 20) - 1) < 0.005 and ("[angle-gap]" in said) == bool(off)
        return
    fails(3, "fdk", "s.h5", *how, "-o", "v.npy", says=[f"{gap} of the 360 degrees needed were not measured", "sirt and cgls do better"], cwd=tmp_path)
    said = qb("fdk", "s.h5", *how, "--allow-limited", "-o", "v.npy", cwd=tmp_path).stderr
    assert "only an object within 51.29 mm of the axis is complete" in said and "[limited-angle]" in said and "stand in" not in said
    qb("cgls", "s.h5", *how, "--size", "110,110,8", "-o", "c.npy", cwd=tmp_path)
    assert abs(mean(np.load(tmp_path / "c.npy"), 20) - 1) < 0.02


def test_half_acquisition_with_a_wide_gap(tmp_path):
    """fbp reads too low by a third, and names cgls, which does not."""
    simulate(tmp_path, turn_without(73), "--detector", "64,2", "--pixel-size", 1, "--size", "90,90,2", "--center-offset", -22)
    said = qb("fbp", "s.h5", "--center", 9.5, "-o", "v.npy", cwd=tmp_path).stderr
    assert "half acquisition needs 360 degrees of views, these cover 287: cgls or sirt with --size of the object" in said
    qb("cgls", "s.h5", "--center", 9.5, "--size", "108,108", "-o", "c.npy", cwd=tmp_path)
    assert abs(mean(np.load(tmp_path / "c.npy"), 20) - 1) < 0.02
