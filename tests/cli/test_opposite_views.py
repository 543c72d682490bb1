# SPDX-License-Identifier: MIT
"""Parallel rays from opposite sides see the same: views half a turn apart are mirror images about the axis. Where the axis leans, stands
elsewhere, or the angles are those of other views, they are not. Good scans say nothing of it."""
import re

import h5py
import numpy as np
import pytest
from qbtest import instead, qb

CODES = ("opposite-views", "angle-steps", "axis-leans", "axis-differs", "angle-span")
SCAN = ["--detector", "96,1", "--pixel-size", 1, "--views", 180, "--seed", 3]


def simulate(folder, phantom, *options):
    qb("simulate", phantom, "-o", folder / "s.h5", *options)
    return folder / "s.h5"


def replace(path, views, degrees):
    with h5py.File(path, "r+") as file:
        for name, values in ("data", views), ("theta", degrees):
            attrs = dict(file[f"exchange/{name}"].attrs)
            del file[f"exchange/{name}"]
            file.create_dataset(f"exchange/{name}", data=values).attrs.update(attrs)


def views_of(path):
    with h5py.File(path) as file:
        return file["exchange/data"][...]


def said(*args):
    done = qb(*args)
    return [line for line in (done.stdout + done.stderr).splitlines() if any(f"[{code}]" in line for code in CODES)]


def fbp(path, column=47.5):
    return said("fbp", path, "--center", column, "-o", path.parent / "v.npy")


def leaning(views, degrees):
    """Every view turned about its middle, between pixels linearly."""
    rows, columns = views.shape[1:]
    y, x = np.mgrid[:rows, :columns]
    y, x, c, s = y - (rows - 1) / 2, x - (columns - 1) / 2, np.cos(np.deg2rad(degrees)), np.sin(np.deg2rad(degrees))
    y, x = np.clip(c * y - s * x + (rows - 1) / 2, 0, rows - 1.001), np.clip(s * y + c * x + (columns - 1) / 2, 0, columns - 1.001)
    i, j = y.astype(int), x.astype(int)
    a, b = y - i, x - j
    return ((1 - a) * (1 - b) * views[:, i, j] + a * (1 - b) * views[:, i + 1, j] + (1 - a) * b * views[:, i, j + 1] + a * b * views[:, i + 1, j + 1])


@pytest.mark.parametrize("verb", [("fbp",), ("sirt", "--iterations", 1), ("mbir", "--equits", 1), ("info",)])
@pytest.mark.parametrize("phantom, degrees, more", [("foam", 2, ["--views", 90]), ("spheres", -2, ["--angles", "0:360"])])
def test_the_axis_leans(tmp_path, verb, phantom, degrees, more):
    path = simulate(tmp_path, phantom, *instead(SCAN, "--detector", "96,64", *more))
    with h5py.File(path) as file:
        angles = file["exchange/theta"][...]
    out = [] if verb[0] == "info" else ["--center", 47.5, "-o", tmp_path / "v.npy"]
    assert not said(verb[0], path, *verb[1:], *out)
    replace(path, leaning(views_of(path), degrees), angles)
    line, = said(verb[0], path, *verb[1:], *out)
    assert float(re.search(r"leans by about (-?[\d.]+) degrees", line).group(1)) == pytest.approx(-degrees, abs=0.5)
    assert "[axis-leans]" in line


@pytest.mark.parametrize("verb", [("fbp",), ("sirt", "--iterations", 1), ("mbir", "--equits", 1), ("info",)])
def test_half_a_turn_said_to_be_a_turn(tmp_path, verb):
    """Foam is nearly round, so that its moments say little where it is wider than the detector."""
    path = simulate(tmp_path, "foam", *SCAN, "--photons", 1000, "--size", "150,150,1")
    replace(path, views_of(path), np.arange(180) * 2.0)
    out = [] if verb[0] == "info" else ["--center", 47.5, "-o", tmp_path / "v.npy"]
    line, = said(verb[0], path, *verb[1:], *out)
    assert "not mirror images" in line and "[opposite-views]" in line or "the last view is next to the first, but they differ" in line


@pytest.mark.parametrize("right, wrong", [(180, 360), (180, 270), (180, 120), (180, 90), (90, 180), (360, 180), (120, 180), (360, 270)])
def test_other_spans(tmp_path, right, wrong):
    """Also where no two of the stated views are opposite."""
    path = simulate(tmp_path, "foam", *SCAN, "--angles", f"0:{right}")
    assert not fbp(path)
    replace(path, views_of(path), np.arange(180) * wrong / 180)
    line, = fbp(path)
    assert "[opposite-views]" in line or f"{wrong} degrees, but move as over {right}," in line and "[angle-span]" in line


@pytest.mark.parametrize("verb", [("fbp",), ("sirt", "--iterations", 1), ("mbir", "--equits", 1), ("info",)])
@pytest.mark.parametrize("phantom, photons, rows", [("foam", 0, 1), ("baggage", 0, 6), ("foam", 20000, 6), ("shepp-logan", 0, 6)])
def test_the_end_point(tmp_path, verb, phantom, photons, rows):
    """91 views from 0 to 180 degrees, stated without the end; and 90 without the end, stated with it. Right ones say nothing."""
    out = [] if verb[0] == "info" else ["--center", 47.5, "-o", tmp_path / "v.npy"]
    shape = instead(SCAN, "--detector", f"96,{rows}", "--photons", photons)
    for views, to, other, right in (91, "182", "0:180", "0:182"), (90, "180", f"0:{180 * 90 / 89}", "0:180"):
        path = simulate(tmp_path, phantom, *instead(shape, "--views", views, "--angles", f"0:{to}"))
        assert not said(verb[0], path, *verb[1:], *out)
        line, = said(verb[0], path, *verb[1:], "--angles", other, *out)
        assert f"--angles {right} fits [angle-span]" in line and "mirrored" in line


@pytest.mark.parametrize("options", [("--detector", "96,6"), ("--geometry", "cone", "--sod", 500, "--sdd", 800, "--pixel-size", 3, "--detector", "96,12")])
def test_the_end_point_of_a_turn(tmp_path, options):
    cone = "--geometry" in options
    run = ["fdk" if cone else "fbp", *(("--sod", 500, "--sdd", 800) if cone else ("--center", 47.5)), "-o", tmp_path / "v.npy"]
    for views, to, other, right in (181, "362", "0:360", "0:362"), (180, "360", f"0:{360 * 180 / 179}", "0:360"):
        path = simulate(tmp_path, "foam", *instead(SCAN, *options, "--views", views, "--angles", f"0:{to}"))
        assert not said(run[0], path, *run[1:])
        line, = said(run[0], path, *run[1:], "--angles", other)
        assert f"--angles {right} fits [angle-span]" in line


@pytest.mark.parametrize("phantom, photons", [("foam", 10000), ("spheres", 0), ("spheres", 100000), ("baggage", 100000)])
def test_the_end_point_of_balls_and_noise(tmp_path, phantom, photons):
    """The axis lies between two pixels, and images are cubes."""
    shape = instead(SCAN, "--detector", "96,48", "--views", 91, "--photons", photons, "--seed", 3, "--center-offset", 0.3, "--size", "84,84,48")
    out = ["--center", 47.8, "-o", tmp_path / "v.npy"]
    path = simulate(tmp_path, phantom, *shape, "--angles", "0:182")
    assert not said("fbp", path, *out)
    line, = said("fbp", path, "--angles", "0:180", *out)
    assert "--angles 0:182 fits [angle-span]" in line


@pytest.mark.parametrize("phantom, views, wrong", [("foam", 240, 356.4), ("foam", 240, 363.6), ("baggage", 240, 367.2)])
def test_a_turn_stated_wrong_by_a_percent(tmp_path, phantom, views, wrong):
    """Of a cone: a step is 1 or 2 % too large or too small, or a turn of N views is stated as of N + 1."""
    shape = ("--geometry", "cone", "--sod", 500, "--sdd", 800, "--pixel-size", 1.5, "--detector", "128,32", "--size", "90,90,24")
    run = ["--sod", 500, "--sdd", 800, "--allow-limited", "-o", tmp_path / "v.npy"]
    path = simulate(tmp_path, phantom, *instead(SCAN, *shape, "--views", views, "--angles", "0:360", "--photons", 10000))
    assert not said("fdk", path, *run)
    line, = said("fdk", path, *run, "--angles", f"0:{wrong}")
    assert "--angles 0:360 fits [angle-span]" in line and " steps " in line


@pytest.mark.parametrize("phantom", ["shepp-logan", "foam", "baggage", "spheres"])
@pytest.mark.parametrize("at", [130, 200])
def test_lost_frames(tmp_path, phantom, at):
    """5 of 400 views over a turn, and the others stated evenly: opposite views are 2.5 steps off."""
    path = simulate(tmp_path, phantom, *instead(SCAN, "--views", 400, "--angles", "0:360"), "--photons", 20000)
    assert not fbp(path)
    replace(path, np.delete(views_of(path), slice(at, at + 5), axis=0), np.arange(395) * 360 / 395)
    line, = fbp(path)
    assert "[angle-steps]" in line
    assert float(re.search(r"\(([\d.]+) steps\)", line).group(1)) == pytest.approx(2.5, abs=1)


@pytest.mark.parametrize("phantom, off", [("foam", 2), ("shepp-logan", -3), ("baggage", 3), ("spheres", -6)])
def test_the_axis_of_an_object_that_fills_the_row(tmp_path, phantom, off):
    path = simulate(tmp_path, phantom, *SCAN, "--size", "150,150,1", "--photons", 20000)
    assert not fbp(path)
    line, = fbp(path, 47.5 + off)
    assert float(re.search(r"the axis is at column ([\d.]+)", line).group(1)) == pytest.approx(47.5, abs=0.7)
    assert "--center auto [axis-differs]" in line


def test_what_shows_nothing_is_not_claimed(tmp_path):
    """A disc about the axis looks the same from all sides."""
    path = simulate(tmp_path, "disc", *SCAN, "--photons", 1000)
    replace(path, views_of(path), np.arange(180) * 2.0)
    assert not fbp(path)


def random_scan(rng):
    columns, rows = rng.choice([64, 96, 128]), rng.choice([1, 1, 6, 24])
    first, span = rng.integers(-90, 90), rng.choice([90, 120, 180, 180, 200, 360, 360, 720])
    off = 0 if rng.random() < 0.5 else rng.uniform(-0.1, 0.1) * columns
    if span == 360 and rng.random() < 0.3:  # half acquisition
        off = rng.uniform(0.25, 0.45) * columns
    more = ["--detector", f"{columns},{rows}", "--angles", f"{first}:{first + span}", "--views", rng.choice([20, 40, 60, 90, 180, 360]),
            "--photons", rng.choice([0, 100, 1000, 100000]), "--seed", rng.integers(1, 1000), "--center-offset", round(off, 2)]
    if rng.random() < 0.5:
        more += ["--size", f"{rng.integers(0.3 * columns, 1.6 * columns)},{rng.integers(0.3 * columns, 1.6 * columns)},{rows}"]
    more += ["--rings", 0.05] if rng.random() < 0.2 else []
    return rng.choice(["foam", "spheres", "shepp-logan", "baggage", "disc", "ball"]), more, (columns - 1) / 2 + round(off, 2)


@pytest.mark.parametrize("seed", [70487, 9181])
def test_a_dense_bag_of_wide_pixels(tmp_path, seed):
    """One of four looks holds the end point for counted, and others lean the other way."""
    shape = ["--detector", "64,16", "--views", 77, "--seed", seed]
    assert not said("fbp", simulate(tmp_path, "baggage", *shape), "--center", "middle", "-o", tmp_path / "v.npy")


@pytest.mark.parametrize("part", range(2))
def test_random_good_scans(tmp_path, part):
    rng = np.random.default_rng(part)
    for _ in range(20):
        phantom, more, column = random_scan(rng)
        path = simulate(tmp_path, phantom, *more)
        lines = fbp(path, column)
        assert not lines, (phantom, more, lines)
