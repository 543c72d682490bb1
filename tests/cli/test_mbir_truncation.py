# SPDX-License-Identifier: MIT
"""qb mbir of a volume smaller than the object: rays that meet none of its voxels have what the rim then gets, which is told, with
what takes it in; nothing is said of scans whose object lies within."""
import re

import numpy as np
import pytest

from qbtest import few, qb, qb_json

VIEWS, COLUMNS = 60, 64
FAN = ["--sod", 150, "--sdd", 250, "--pixel-size", 0.8]
SAYS = "rays that meet no voxel"


def scan_of(folder, what="shepp-logan", *more):
    path = folder / "scan.h5"
    qb("simulate", what, "-o", path, "--views", VIEWS, "--detector", f"{COLUMNS},1", "--pixel-size", 0.8, *more, "-q")
    return path


def run(scan, out, *more):
    report = qb_json("mbir", scan, "-o", out, "--equits", 3, *more)
    return np.load(out)[0].astype(float), report, [w for w in report["warnings"] if SAYS in w]


GOOD = {"noise": [["--photons", 2000], []], "axis": [["--center-offset", 5], ["--center", 36.5]],
        "half a fan": [["--center-offset", 20, "--angles", "0:360"], ["--center", 51.5]]}


@pytest.mark.parametrize("what,how", few(("shepp-logan", "noise"), ("disc", "half a fan"), others=[("disc", "noise"), ("shepp-logan", "axis")]))
def test_of_good_scans_nothing_is_said(tmp_path, what, how):
    simulated, asked = GOOD[how]
    scan = scan_of(tmp_path, what, *simulated)
    _, report, warned = run(scan, tmp_path / "x.npy", *(asked if "--center" in asked else ["--center", "middle", *asked]))
    assert not warned
    assert report["convergence"]["slabs"][0].get("beyond_the_volume", 0) < 0.01


def test_noise_and_a_beam_that_drifts_are_no_object(tmp_path):
    """A small thing in a wide field, a volume around it, and an air that is not quite zero, and noisy."""
    s = (np.arange(COLUMNS) - (COLUMNS - 1) / 2)
    lines = 0.1 * np.sqrt(np.maximum(12.0**2 - s**2, 0))[None, None].repeat(VIEWS, 0)
    rng = np.random.default_rng(4)
    np.save(tmp_path / "scan.npy", (lines + 0.02 + 0.3 * rng.standard_normal(lines.shape)).astype(np.float32))
    _, _, warned = run(tmp_path / "scan.npy", tmp_path / "x.npy", "--quantity", "line_integral", "--angles", "0:180", "--pixel-size", 1,
                            "--center", "middle", "--size", 32)
    assert not warned


def test_how_much_it_is(tmp_path):
    """As told from where rays run, but for those that meet the rim alone."""
    scan = scan_of(tmp_path)
    lines = -np.log(read(scan))
    s = 0.8 * np.abs(np.arange(COLUMNS) - (COLUMNS - 1) / 2)
    for size in 32, 44:
        _, report, warned = run(scan, tmp_path / "x.npy", "--center", "middle", "--size", size)
        share = report["convergence"]["slabs"][0]["beyond_the_volume"]
        radius = 0.8 * size / 2
        least, most = (lines[..., s > radius + d].sum() / np.abs(lines).sum() for d in (1.2, -1.2))
        assert 0.9 * least < share < most and share > 0.01
        assert f"{100 * share:.3g} % of all attenuation was measured by rays that meet no voxel" in warned[0] and "view" in warned[0]


def read(scan):
    import h5py
    with h5py.File(scan) as f:
        return f["exchange/data"][:].astype(float)  # transmission, as without --photons


@pytest.mark.parametrize("beam", ["parallel", "fan"])
def test_the_rim_and_the_remedy(tmp_path, beam):
    """What is said to take it in does: nothing more is said, and the rim is no brighter than it is."""
    fan = FAN if beam == "fan" else []
    scan = scan_of(tmp_path, "disc", *(["--geometry", "cone", *FAN[:4]] if fan else []))
    at = fan or ["--center", "middle"]
    _, _, warned = run(scan, tmp_path / "small.npy", *at, "--size", 32)
    size = re.search(r"--size (\d+)", warned[0])[1]
    voxel = re.search(r"--voxel ([\d.]+)", warned[0])[1]
    for more in ["--size", size], ["--size", 32, "--voxel", voxel]:
        image, report, still = run(scan, tmp_path / "all.npy", *at, *more)
        assert not still and image.max() < 0.026, image.max()
    small = np.load(tmp_path / "small.npy")[0]
    assert small.max() > 0.03  # of 0.02
    _, _, warned = run(scan, tmp_path / "x.npy", *at, "--roi", 8)
    assert "and no --roi" in warned[0] and "--voxel" not in warned[0]
