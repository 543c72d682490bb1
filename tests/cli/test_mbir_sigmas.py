# SPDX-License-Identifier: MIT
"""qb mbir with a sigma_x or sigma_y far from what the data say: the image goes flat, or the prior has no say, and that is told, with
a range that serves; what is near is taken without a word."""
import re

import numpy as np
import pytest

from qbtest import qb, qb_json

SAYS = "times that of the data"


@pytest.fixture(scope="module")
def scan(tmp_path_factory):
    path = tmp_path_factory.mktemp("sigmas") / "scan.h5"
    qb("simulate", "shepp-logan", "-o", path, "--views", 60, "--detector", "64,1", "--pixel-size", 0.5, "--photons", 20000, "-q")
    return path


def run(scan, out, *more):
    report = qb_json("mbir", scan, "--center", "middle", "-o", out, "--equits", 10, *more)
    return np.load(out)[0].astype(float), report["convergence"], [w for w in report["warnings"] if SAYS in w]


def test_the_datas_own_and_near_it(scan, tmp_path):
    _, own, warned = run(scan, tmp_path / "x.npy")
    assert not warned
    for x, y in (0.05, 1), (20, 1), (1, 0.05), (1, 20):
        _, _, warned = run(scan, tmp_path / "x.npy", "--sigma-x", own["sigma_x"] * x, "--sigma-y", own["sigma_y"] * y)
        assert not warned
    for more in ["--sharpness", 3], ["--sharpness", -3], ["--snr-db", 20], ["--snr-db", 60]:
        assert not run(scan, tmp_path / "x.npy", *more)[2]


@pytest.mark.parametrize("name,times", [("x", 1e-12), ("x", 1e-3), ("y", 1e3)])
def test_flat(scan, tmp_path, name, times):
    """The image is flat, the warning has the data's own number, and its range brings the image back."""
    good, own, _ = run(scan, tmp_path / "x.npy")
    value = own[f"sigma_{name}"]
    flat, _, warned = run(scan, tmp_path / "x.npy", f"--sigma-{name}", value * times)
    assert flat.max() < 0.6 * good.max()
    assert f"({value:.3g})" in warned[0] and "becomes flat" in warned[0]
    low, high = map(float, re.search(r"give --sigma-\w (\S+) to ([\d.e+-]+)", warned[0]).groups())
    assert low == pytest.approx(value * (0.2 if name == "x" else 0.1), rel=0.06)
    assert high == pytest.approx(value * (10 if name == "x" else 3), rel=0.06)
    for served in low, high:
        again, _, warned = run(scan, tmp_path / "x.npy", f"--sigma-{name}", served)
        assert not warned and again.max() > 1.1 * flat.max()


@pytest.mark.parametrize("more", [["--sigma-x", 1e5], ["--sigma-y", 1e-10], ["--sharpness", 20], ["--snr-db", 200]])
def test_no_prior_left(scan, tmp_path, more):
    warned, = run(scan, tmp_path / "x.npy", *more)[2]
    assert "takes all the noise" in warned


def test_both_given_are_held_against_the_data(scan, tmp_path):
    """Also where nothing needs to be told from them."""
    _, own, _ = run(scan, tmp_path / "x.npy")
    _, _, warned = run(scan, tmp_path / "x.npy", "--sigma-x", own["sigma_x"] * 1e-3, "--sigma-y", own["sigma_y"] * 1e3)
    assert [w.split()[0] for w in warned] == ["sigma_x", "sigma_y"]
