# SPDX-License-Identifier: MIT
"""Objects that are known: their values, their place, their noise, through the whole command."""
import re
import shlex

import numpy as np
import pytest

from qbtest import (SHEPP_LOGAN, circle, fails, image, provenance_h5, qb, qb_json, read_h5, read_mha, scaled, sinogram, slope_correlation,
                    turns, write_scan)


def test_disc_has_its_value(tmp_path):
    """Within 0.5 % everywhere inside, edge pixels apart: the scaling test."""
    qb("simulate", "disc", "-o", "s.h5", "--truth", "t.h5", "--detector", "256,3", "--views", "402", "--pixel-size", "0.1",
       "--attenuation", "0.05", cwd=tmp_path)
    qb("fbp", "s.h5", "-o", "v.h5", "--center", "127.5", "--accuracy", "high", cwd=tmp_path)
    truth, found = read_h5(tmp_path / "t.h5"), read_h5(tmp_path / "v.h5")
    assert truth.shape == found.shape == (3, 256, 256)
    assert truth.max() == pytest.approx(0.05, rel=1e-6)
    radius = np.sqrt((truth[1] > 0.025).sum() / np.pi)
    for z in range(3):
        assert abs(found[z][circle(256, radius - 4)].mean() / 0.05 - 1) < 0.001
        assert abs(found[z][circle(256, radius - 8)] / 0.05 - 1).max() < 0.005
        assert abs(found[z][circle(256, 128) & ~circle(256, radius + 8)]).mean() < 0.005 * 0.05


@pytest.mark.parametrize("pixel", [1.0, 0.02])
def test_ellipse_has_its_value_and_its_place(tmp_path, pixel):
    """Line integrals of our own making: a turned ellipse beside the axis, an axis beside the middle."""
    n, center, mu = 256, 121.25, 0.03
    ellipse = scaled([(mu, 60, 35, 30, -18, 25)], pixel)
    angles = np.arange(400) * 0.45
    p = sinogram(ellipse, angles, n, center, pixel)
    write_scan(tmp_path / "s.h5", p[:, None].astype(np.float32), angles, pixel=pixel, quantity="line_integral")
    qb("fbp", "s.h5", "-o", "v.h5", "--center", center, cwd=tmp_path)
    found = read_h5(tmp_path / "v.h5")[0]
    inner = image([(1, *[x - 6 * pixel for x in ellipse[0][1:3]], *ellipse[0][3:])], n, pixel) > 0
    assert abs(found[inner].mean() / mu - 1) < 0.001
    assert abs(found[inner] / mu - 1).max() < 0.005
    scores = [slope_correlation(t, image(ellipse, n, pixel))[1] for t in turns(found)]
    assert np.argmax(scores) == 0 and scores[0] > 0.99


def test_simulated_shepp_logan_is_toft_s(tmp_path):
    """The projections and the truth of the middle row against the formula, from another source."""
    n, views = 200, 90
    qb("simulate", "shepp-logan", "-o", "s.h5", "--truth", "t.h5", "--detector", f"{n},1", "--views", views,
       "--pixel-size", "0.5", "--attenuation", "0.02", "--center-offset", "3.25", cwd=tmp_path)
    ellipses = [(0.02 * v, *rest) for v, *rest in scaled(SHEPP_LOGAN, n / 2 * 0.5)]
    p = sinogram(ellipses, np.arange(views) * 180 / views, n, (n - 1) / 2 + 3.25, 0.5)
    measured = -np.log(read_h5(tmp_path / "s.h5")[:, 0].astype(float))
    assert slope_correlation(measured, p)[1] > 0.9995
    assert abs(measured - p).mean() < 0.002 * p.max()
    fine = image(ellipses, 4 * n, 0.125)
    truth = fine.reshape(n, 4, n, 4).mean(axis=(1, 3))
    assert slope_correlation(read_h5(tmp_path / "t.h5")[0], truth)[1] > 0.995


def test_spheres_lie_where_the_truth_says(tmp_path):
    """Identity must win over all sixteen ways to turn and flip the volume."""
    qb("simulate", "spheres", "-o", "s.h5", "--truth", "t.mha", "--detector", "96,64", "--views", "150", "--pixel-size", "0.2",
       "--center-offset", "2.5", cwd=tmp_path)
    qb("fbp", "s.h5", "-o", "v.h5", "--center", 47.5 + 2.5, cwd=tmp_path)
    truth, found = read_mha(tmp_path / "t.mha")[0], read_h5(tmp_path / "v.h5")
    assert truth.shape == found.shape == (64, 96, 96)
    score = {}
    for z, volume in (("z", found), ("-z", found[::-1])):
        for i, way in enumerate(zip(*[turns(s) for s in volume])):
            score[z, i] = slope_correlation(np.array(way), truth)
    best = max(score, key=lambda way: score[way][1])
    assert best == ("z", 0), {k: round(v[1], 3) for k, v in score.items()}
    slope, correlation = score[best]
    assert correlation > 0.97 and abs(slope - 1) < 0.02
    assert max(v[1] for k, v in score.items() if k != best) < correlation - 0.05


def test_noise_flats_darks_and_axis(tmp_path):
    """Counts, as measured: the axis is found and the values come out."""
    qb("simulate", "ball", "-o", "s.h5", "--truth", "t.h5", "--detector", "128,64", "--views", "251", "--pixel-size", "0.1",
       "--photons", "40000", "--rings", "0.002", "--center-offset", "-6.4", "--seed", "3", cwd=tmp_path)
    info = qb_json("info", "s.h5", cwd=tmp_path)
    assert info["quantity"] == "counts" and info["flats"] > 0 and info["darks"] > 0 and info["pixel_size_mm"] == 0.1
    report = qb_json("fbp", "s.h5", "-o", "v.h5", cwd=tmp_path)
    assert abs(report["column"] - (63.5 - 6.4)) < 0.5
    truth, found = read_h5(tmp_path / "t.h5"), read_h5(tmp_path / "v.h5")
    inside = np.sqrt((truth[32] > truth.max() / 2).sum() / np.pi) - 3
    assert abs(found[32][circle(128, inside)].mean() / truth.max() - 1) < 0.005
    assert slope_correlation(found[32], truth[32])[1] > 0.9


def test_a_seed_is_a_scan(tmp_path):
    args = ["simulate", "foam", "--detector", "64,8", "--views", "30", "--photons", "1000"]
    for name, more in (("a", ["--seed", "1"]), ("b", ["--seed", "1", "--threads", "1"]), ("c", ["--seed", "2"])):
        qb(*args, "-o", tmp_path / f"{name}.h5", *more)
    a, b, c = (read_h5(tmp_path / f"{name}.h5") for name in "abc")
    assert (a == b).all() and (a != c).any()


@pytest.mark.parametrize("spread", ["half", "full", "ends", "uneven"])
def test_uneven_and_repeated_angles(tmp_path, spread):
    """Whatever the angles, the weights make the value right."""
    rng = np.random.default_rng(5)
    angles = {"half": np.arange(300) * 0.6, "full": np.arange(600) * 0.6, "ends": np.linspace(0, 180, 301),
              "uneven": np.sort(np.cumsum(rng.uniform(0.3, 0.9, 300)) % 180)}[spread]
    p = sinogram([(0.02, 50, 50, 15, 10, 0)], angles, 160, 79.5)
    write_scan(tmp_path / "s.h5", p[:, None].astype(np.float32), angles, quantity="line_integral", pixel=1)
    qb("fbp", "s.h5", "-o", "v.h5", "--center", "79.5", cwd=tmp_path)
    inner = image([(1, 44, 44, 15, 10, 0)], 160) > 0
    assert abs(read_h5(tmp_path / "v.h5")[0][inner].mean() / 0.02 - 1) < 0.005


def test_limited_angle_is_said(tmp_path):
    angles = np.arange(120.0)
    p = sinogram([(0.02, 20, 20, 0, 0, 0)], angles, 64, 31.5)
    write_scan(tmp_path / "s.h5", p[:, None].astype(np.float32), angles, quantity="line_integral", pixel=1)
    assert "limited" in qb("fbp", "s.h5", "-o", "v.h5", "--center", "31.5", cwd=tmp_path).stderr


def test_no_pixel_size_is_said(tmp_path):
    write_scan(tmp_path / "s.h5", np.ones((10, 1, 32), np.float32), np.arange(10) * 18.0, quantity="line_integral")
    assert "--pixel-size" in qb("fbp", "s.h5", "-o", "v.h5", "--center", "15.5", cwd=tmp_path).stderr


@pytest.mark.parametrize("kind,photons,says", [("h5", 1000, None), ("npy", 0, None), ("npy", 1000, "flats and darks: "),
                                               ("tif", 0, "angles"), ("mha", 1000, "flats and darks, nor its angles")])
def test_what_a_format_cannot_hold_is_said(tmp_path, kind, photons, says):
    done = qb("simulate", "disc", "--detector", "16,2", "--views", "4", "--photons", photons, "-o", tmp_path / f"s.{kind}")
    assert ("cannot hold" in done.stderr) == (says is not None)
    if says:
        assert says in done.stderr


@pytest.mark.parametrize("faults,column", [((), 31.5), (("--center-offset", "2.25"), 33.75), (("--detector-offset", "6,0px"), 25.5),
                                           (("--detector-offset", "6px", "--center-offset", "1"), 26.5)])
def test_the_axis_column_that_is_told(tmp_path, faults, column):
    """Where the axis falls, whatever moves the detector; what the scan's geometry file says agrees."""
    g = tmp_path / "g.xml"
    said = qb("simulate", "disc", "-o", tmp_path / "s.h5", "--geometry", "cone", "--sod", "500", "--sdd", "800", "--pixel-size",
              "0.8", "--detector", "64,8", "--views", "12", "--geometry-out", g, *faults).stderr
    assert f"axis at column {column:g}\n" in said
    assert abs(31.5 - qb_json("info", g)["offset_u_mm"] / 0.8 - column) < 1e-6


def test_a_file_of_angles_says_how_many_views(tmp_path):
    (tmp_path / "a.txt").write_text("0\n60\n120\n")
    words = ["simulate", "disc", "-o", tmp_path / "x.h5", "--detector", "16,2", "--angles", tmp_path / "a.txt"]
    fails(3, *words, "--views", 25, says=["25 views", "3 angles"])
    qb(*words, "--pixel-size", 1)
    assert read_h5(tmp_path / "x.h5").shape[0] == 3


def test_a_scan_says_how_to_simulate_it_again(tmp_path):
    """Also where names have blanks and quotes in them, and numbers a sign."""
    name = "John's scan.h5"
    qb("simulate", "disc", "-o", name, "--geometry", "cone", "--sod", "100", "--sdd", "200", "--pixel-size", "0.5", "--views", "7",
       "--detector", "24,3", "--detector-offset=-2,1.5", "--seed", "4", "--photons", "1000", cwd=tmp_path)
    first = read_h5(tmp_path / name)
    (tmp_path / name).rename(tmp_path / "first.h5")
    words = shlex.split(provenance_h5(tmp_path / "first.h5")["command"])
    assert words[0] == "qb" and f"--output={tmp_path / name}" in words
    qb(*words[1:], cwd=tmp_path)
    assert (read_h5(tmp_path / name) == first).all()


# ---- scans that are computed when they are read ----

CONE = ("--geometry", "cone", "--sod", 300, "--sdd", 400, "--pixel-size", 1, "--views", 40, "--detector", "48,32")


@pytest.mark.parametrize("faults", [(), ("--jitter", "0.3", "--tilt", "1")])
def test_a_cone_beam_without_numbers(tmp_path, faults):
    """The same views as a file of them has, wherever they are read from: the same bits; and it knows where they are."""
    sim, h5 = tmp_path / "s.sim", tmp_path / "s.h5"
    for scan in sim, h5:
        qb("simulate", "spheres", "-o", scan, *CONE, *faults)
    assert sim.stat().st_size < 20000
    told = qb_json("info", sim)
    assert (told["views"], told["rows"], told["columns"], told["quantity"], told["beam"]) == (40, 32, 48, "transmission", "cone")
    assert re.search(r"source +300 mm from the axis", qb("info", sim).stdout)
    for more in ((), ("--views", "3:40:2", "--allow-limited"), ("--slices", "5:9"), ("--threads", 1, "--max-ram", "40M")):
        for scan, out in (sim, "a.npy"), (h5, "b.npy"):
            qb("fdk", scan, *(() if scan == sim else ("-g", sim)), "-o", tmp_path / out, *more)
        assert (tmp_path / "a.npy").read_bytes() == (tmp_path / "b.npy").read_bytes(), more


def test_a_parallel_beam_without_numbers(tmp_path):
    """Its axis is told; angles are those of its views."""
    words = ("--views", 60, "--detector", "48,4", "--pixel-size", 0.5, "--center-offset", 1.25, "--truth", tmp_path / "t.npy")
    for scan in "s.sim", "s.h5":
        qb("simulate", "shepp-logan", "-o", tmp_path / scan, *words)
        qb("fbp", tmp_path / scan, "--center", 24.75, "-o", tmp_path / f"{scan}.npy")
    a, b = np.load(tmp_path / "s.sim.npy"), np.load(tmp_path / "s.h5.npy")
    assert abs(a - b).max() < 1e-6 * abs(b).max()
    assert qb_json("info", tmp_path / "s.sim")["center"] == pytest.approx(24.75, abs=1e-9)
    assert "axis at column 24.750" in qb("fbp", tmp_path / "s.sim", "--center", "stated", "-o", tmp_path / "c.npy").stdout


def test_what_has_no_numbers_cannot_have(tmp_path):
    """Noise would have to be kept; volumes have numbers; what is wrong in the file is named."""
    sim = tmp_path / "s.sim"
    fails(2, "simulate", "disc", "-o", sim, "--photons", 1000, says=["without noise", "--photons", ".h5"])
    fails(2, "simulate", "disc", "-o", sim, "--rings", 0.1, says=["--rings"])
    qb("simulate", "spheres", "-o", sim, *CONE)
    good = sim.read_text()
    fails(2, "fdk", sim, "-o", tmp_path / "v.sim", says=["v.sim", "holds no numbers"])
    for wrong, right, says in (('"spheres"', '"nothing"', "nothing"), ('"seed": 0', '"seed": "x"', "'seed' is not a number"),
                               ('"seed": 0', '"seed": 1.5', "'seed' holds 1.5"), ('"seed": 0', '"seed": 0, "sead": 1', "the key 'sead'"),
                               ("[48, 48, 32]", "[48.5, 48, 32]", "'size' holds 48.5: give a whole number"),
                               ('"geometry": {', '"geometry": 0, "comment": {', "without 'geometry'"),
                               ("[48, 48, 32]", "[48, 48]", "'size' is not three numbers"), ("-300", "-3", "would run through the phantom"),
                               ('"quickbeam_simulated_scan": 1', '"quickbeam_simulated_scan": 2', "quickbeam_simulated_scan"),
                               ("}\n}", "}", "not JSON")):
        assert wrong in good
        sim.write_text(good.replace(wrong, right, 1))
        fails(3, "info", sim, says=[str(sim), says])
    sim.write_text(good.replace('"geometry"', '"comment"'))
    fails(3, "info", "-g", sim, says=[str(sim), "without 'geometry'"])


@pytest.mark.parametrize("pixel, says", [([], True), (["--pixel-size", 8.8], False)])
def test_a_source_within_the_volume_is_said(tmp_path, pixel, says):
    """It is so where pixels are chosen to see 256 mm; with the remedy, qb fdk finds room for its volume."""
    cone = ["disc", "--geometry", "cone", "--sod", 140, "--sdd", 400, "--detector", "64,4", "--views", 40]
    said = qb("simulate", *cone, *pixel, "-o", tmp_path / "c.h5").stderr
    assert ("140 mm from the axis, runs through a volume as wide as the columns see, 256 mm: give a --pixel-size below 8.84" in said) == says
    assert qb("fdk", tmp_path / "c.h5", "-o", tmp_path / "v.npy", code=3 if says else 0)
    fails(2, "simulate", *cone[:4], 60, *cone[5:], "-o", tmp_path / "d.h5", says=["would run through the phantom", "--pixel-size, or --sod larger"])
