# SPDX-License-Identifier: MIT
"""Views that are pictures: grey values called line integrals, every second one mirrored, a gamma that is not undone."""
import h5py
import numpy as np
import pytest

from qbtest import qb, qb_json

FAN = ("--sod", 400, "--sdd", 600)


def lines_of(tmp_path, phantom, *more, cone=False, detector="96,16", views=90):
    how = ["--geometry", "cone", *FAN] if cone else []
    qb("simulate", phantom, *how, "--pixel-size", 1.6, "--detector", detector, "--views", views, *more, "-o", tmp_path / "t.npy")
    return -np.log(np.load(tmp_path / "t.npy"))


def codes(tmp_path, lines, verb="fbp", *more):
    np.save(tmp_path / "l.npy", np.asarray(lines, np.float32))
    cone = [*FAN, "--pixel-size", 1.6] if verb == "fdk" else ["--center", (lines.shape[2] - 1) / 2]
    return qb(verb, tmp_path / "l.npy", "--quantity", "line_integral", *cone, *more, "-o", tmp_path / "v.npy").stderr


@pytest.mark.parametrize("phantom, cone", [("spheres", False), ("foam", False), ("shepp-logan", True), ("baggage", True)])
def test_grey_values(tmp_path, phantom, cone):
    """8 and 16 bits, of line integrals and of transmissions turned round; the same in floats says nothing."""
    lines = lines_of(tmp_path, phantom, cone=cone)
    how = ["fdk", "--angles", "0:360"] if cone else ["fbp", "--angles", "0:180"]
    for levels in 255, 65535:
        for values in lines / lines.max(), 1 - np.exp(-lines):
            said = codes(tmp_path, np.round(levels * values), *how)
            assert "are whole numbers" in said and "[other-quantity]" in said
    assert "[other-quantity]" not in codes(tmp_path, lines, *how)


@pytest.mark.parametrize("phantom, cone, angles, photons", [
    ("spheres", False, "0:180", 0), ("spheres", True, "0:360", 3000), ("baggage", False, "0:360", 20000), ("foam", True, "0:360", 1000), ("shepp-logan", True, "0:360", 0)])
def test_every_second_view_mirrored(tmp_path, phantom, cone, angles, photons):
    lines = lines_of(tmp_path, phantom, "--angles", angles, cone=cone)
    if photons:
        dice = np.random.default_rng(3)
        lines = -np.log(np.maximum(dice.poisson(photons * np.exp(-lines)), 0.5) / photons)
    verb = "fdk" if cone else "fbp"
    assert "[views-mirrored]" not in codes(tmp_path, lines, verb, "--angles", angles)
    lines[1::2] = lines[1::2, :, ::-1]
    said = codes(tmp_path, lines, verb, "--angles", angles)
    assert "every second view is mirrored" in said and "[angles-misfit]" not in said
    assert "[views-mirrored]" in str(qb_json("info", tmp_path / "l.npy", "--quantity", "line_integral", "--angles", angles)["problems"])


def ellipse(half, views=60, columns=96):
    """Exact line integrals of an ellipse of half axes a, b in pixels, 0.02 a pixel: 2 a b sqrt(r^2 - s^2) / r^2, r^2 = a^2 cos^2 + b^2 sin^2."""
    t, s = np.pi * np.arange(views)[:, None] / views, np.arange(columns) - (columns - 1) / 2
    r2 = (half[0] * np.cos(t)) ** 2 + (half[1] * np.sin(t)) ** 2
    one = 0.02 * 2 * half[0] * half[1] * np.sqrt(np.maximum(r2 - s ** 2, 0)) / r2
    return np.stack([one, 0.8 * one, 0.6 * one, 0.9 * one], axis=1)


def test_sums_that_swing(tmp_path):
    """Sums of an ellipse are pi a b 0.02 in every view; those of squares swing as 1 / r do, by what is printed."""
    right = ellipse((40, 12))
    assert right.sum(2)[:, 0] == pytest.approx(0.02 * np.pi * 40 * 12, rel=0.01)
    assert "[sums-swing]" not in codes(tmp_path, right, "fbp", "--angles", "0:180")
    for wrong in right ** 2, 1 - np.exp(-right), right ** 0.5:
        sums = wrong.sum(2)
        spread = np.median(148.26 * np.median(abs(sums - np.median(sums, 0)), 0) / np.median(sums, 0))  # the middle one of the rows
        said = codes(tmp_path, wrong, "fbp", "--angles", "0:180")
        assert "[sums-swing]" in said, spread
        assert float(said.split("over a row differ by ")[1].split()[0]) == pytest.approx(spread, rel=0.2)
    assert "[sums-swing]" not in codes(tmp_path, 0.434 * right, "fbp", "--angles", "0:180")  # log10: a factor, which sums do not show


def test_info_names_the_swing(tmp_path):
    qb("simulate", "ball", "--detector", "96,4", "--views", 60, "-o", tmp_path / "s.h5")
    for gamma in 1, 2:
        with h5py.File(tmp_path / "s.h5", "r+") as file:
            file["exchange/data"][...] = np.exp(-ellipse((40, 12)) ** gamma)
        assert ("[sums-swing]" in str(qb_json("info", tmp_path / "s.h5")["problems"])) == (gamma == 2)


def test_sums_of_good_scans(tmp_path):
    for phantom in "spheres", "shepp-logan", "baggage", "foam":
        for photons in 0, 500, 20000:
            qb("simulate", phantom, "--detector", "96,8", "--views", 60, "--photons", photons, "-o", tmp_path / "s.h5")
            assert "[sums-swing]" not in qb("fbp", tmp_path / "s.h5", "--center", 47.5, "-o", tmp_path / "v.npy").stderr


@pytest.mark.parametrize("phantom, cone, later", [("foam", False, 1), ("spheres", True, -1), ("shepp-logan", True, 1), ("baggage", False, -2)])
def test_interlaced_rows(tmp_path, phantom, cone, later):
    """Odd rows of the view before, or behind; a leaning axis moves all rows alike."""
    how = ["fdk", "--angles", "0:360"] if cone else ["fbp", "--angles", "0:180"]
    lines = lines_of(tmp_path, phantom, cone=cone, detector="96,48", views=120)
    assert "[rows-interlaced]" not in codes(tmp_path, lines, *how)
    wrong = lines.copy()
    wrong[:, 1::2] = np.roll(lines[:, 1::2], later, axis=0)
    said = codes(tmp_path, wrong, *how)
    assert f"odd rows belong to the view {'before' if later > 0 else 'behind'}" in said and "[rows-interlaced]" in said
    leaning = np.stack([np.roll(lines[:, r], round((r - 24) / 8), axis=1) for r in range(48)], axis=1)
    assert "[rows-interlaced]" not in codes(tmp_path, leaning, *how)
