# SPDX-License-Identifier: MIT
"""qb convert --stitch and --half-turn, against the line integrals of a detector that sees everything."""
import numpy as np
import pytest

from qbtest import fails, qb, qb_json, read_h5, write_scan

WIDE, ROWS = 161, 4
BLOBS = ((20, 8, 8, 0.02), (-40, 10, 6, 0.05), (52, -20, 7, 0.03), (5, -3, 12, 0.015))  # x, y, width, height of Gaussians


def lines(degrees, s):
    """[view][row][place], s from the axis."""
    t = np.deg2rad(np.asarray(degrees, float))[:, None, None]
    p = sum(h * w * np.sqrt(2 * np.pi) * np.exp(-(s - x * np.cos(t) - y * np.sin(t)) ** 2 / (2 * w * w))
            for x, y, w, h in BLOBS)
    return (p * (1 + 0.1 * np.arange(ROWS))[:, None]).astype("f4")


def scan(path, degrees, s):
    return write_scan(path, lines(degrees, s), degrees, pixel=1, quantity="line_integral")


@pytest.mark.parametrize("overlap", [40, 33.4])
@pytest.mark.parametrize("stated", [True, False])
def test_two_cameras(tmp_path, overlap, stated):
    angles, n = np.arange(90) * 2.0, 100
    a = scan(tmp_path / "a.h5", angles, np.arange(n) - 80)
    b = scan(tmp_path / "b.h5", angles, np.arange(n) - 80 + n - overlap)
    more = ["--overlap", overlap] if stated else []
    told = qb_json("convert", a, "--stitch", b, "-o", tmp_path / "both.h5", *more)
    both = read_h5(tmp_path / "both.h5")
    assert both.shape == (90, ROWS, int(2 * n - overlap)) and f"{both.shape[2]}" in told["joined"]
    truth = lines(angles, np.arange(both.shape[2]) - 80)
    assert np.abs(both - truth)[:, :, :-4].max() < 2e-3 * truth.max()
    qb("convert", a, "--stitch", b, "-o", tmp_path / "one.h5", *more, "--threads", 1, "--max-ram", "60M")
    assert np.array_equal(read_h5(tmp_path / "one.h5"), both)


@pytest.mark.parametrize("axis", [20.0, 20.5, 23.3, 139.8, 80.0])
@pytest.mark.parametrize("views", [180, 181])
def test_half_turn(tmp_path, axis, views):
    """Columns that both sides share: 2 axis + 1, or 2 (columns - 1 - axis) + 1; whole, half and other columns."""
    angles = np.arange(views) * 360 / views
    a = scan(tmp_path / "a.h5", angles, np.arange(WIDE) - axis)
    told = qb_json("convert", a, "--half-turn", "--center", axis, "-o", tmp_path / "half.h5")
    half = read_h5(tmp_path / "half.h5")
    assert half.shape == (-(-views // 2), ROWS, WIDE + int(abs(2 * axis - WIDE + 1)))
    place = told["column"]
    assert place == pytest.approx(axis + max(0, np.floor(WIDE - 1 - 2 * axis)))
    truth = lines(angles[:len(half)], np.arange(half.shape[2]) - place)
    assert np.abs(half - truth).max() < (2e-3 if views % 2 == 0 else 0.01) * truth.max()
    qb("fbp", tmp_path / "half.h5", "--center", "stated", "-o", tmp_path / "v.h5")
    assert np.abs(read_h5(tmp_path / "v.h5").max() - 0.05 * 1.3) < 0.006


def test_refusals(tmp_path):
    angles = np.arange(180) * 2.0
    a = scan(tmp_path / "a.h5", angles, np.arange(100) - 20)
    short = scan(tmp_path / "short.h5", angles[:170], np.arange(100) - 20)
    far = scan(tmp_path / "far.h5", angles, np.arange(100) + 90)
    out = ["-o", tmp_path / "x.h5"]
    fails(2, "convert", a, "--half-turn", *out, says=["--center COLUMN"])
    fails(3, "convert", short, "--half-turn", "--center", 20, *out, says=["340 degrees"])
    fails(3, "convert", a, "--stitch", short, *out, says=["170 views"])
    fails(3, "convert", a, "--stitch", far, *out, says=["--overlap COLUMNS"])
    fails(2, "convert", a, "--stitch", far, "--overlap", 200, *out, says=["1 to 100"])
    fails(2, "convert", a, "--overlap", 20, *out, says=["--stitch"])
    fails(2, "convert", a, "--stitch", far, "--bin", 2, *out, says=["convert both"])
    fails(2, "convert", a, "--stitch", far, "--half-turn", *out, says=["do one"])
    fails(2, "convert", a, "--stitch", far, "--overlap", 20, "-o", far, says=["far.h5"])
