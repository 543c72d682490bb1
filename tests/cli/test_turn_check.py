# SPDX-License-Identifier: MIT
"""Angles that the data contradict: the centre of mass of a row moves as a sine of the angle. Good scans say nothing of it."""
import re

import h5py
import numpy as np
import pytest

from qbtest import instead, qb, qb_json

PARALLEL = ["--detector", "96,6", "--pixel-size", 1, "--views", 120]
CONE = ["--geometry", "cone", "--sod", 500, "--sdd", 800, "--pixel-size", 3, "--detector", "96,12", "--views", 120]
PLACE = ["--sod", 500, "--sdd", 800]
CODES = ("angle-span", "angles-misfit", "angle-steps", "opposite-views", "views-jump", "rows-shift", "axes-order")


def simulate(folder, phantom, *options, name="s.h5"):
    qb("simulate", phantom, "-o", name, *options, cwd=folder)


def said(*args, cwd):
    done = qb(*args, cwd=cwd)
    return [line for line in (done.stdout + done.stderr).splitlines() if any(code in line for code in CODES)]


@pytest.mark.parametrize("verb", [("fbp",), ("sirt", "--iterations", 1), ("cgls", "--iterations", 1), ("tv", "--iterations", 1),
                                  ("mbir", "--equits", 1), ("info",), ("center",)])
def test_verbs(tmp_path, verb):
    simulate(tmp_path, "shepp-logan", *PARALLEL)
    more = [] if verb[0] in ("info", "center") else ["--center", 47.5, "-o", "v.npy"]
    line, = said(verb[0], "s.h5", *verb[1:], "--angles", "0:360", *more, cwd=tmp_path)
    assert "--angles 0:180 [angle-span]" in line and "360 degrees" in line
    assert not said(verb[0], "s.h5", *verb[1:], *more, cwd=tmp_path)


@pytest.mark.parametrize("phantom", ["shepp-logan", "baggage", "foam"])
@pytest.mark.parametrize("right, wrong", [
    ("0:180", "0:360"), ("0:360", "0:180"), ("30:390", "30:210"), ("0:90", "0:180"), ("0:90", "0:360"), ("0:180", "0:720"), ("0:360", "0:720"), ("0:720", "0:360"), ("0:720", "0:180")])
def test_parallel(tmp_path, phantom, right, wrong):
    """Foam is nearly round: what shows nothing is not claimed."""
    simulate(tmp_path, phantom, *PARALLEL, "--angles", right)
    lines = said("fbp", "s.h5", "--angles", wrong, "--center", 47.5, "-o", "v.npy", cwd=tmp_path)
    assert len(lines) == 1 or phantom == "foam"
    ends = "the last view is next to the first" if phantom == "foam" else "none"
    assert all(f"if so, give --angles {right} [angle-span]" in line or ends in line or "[opposite-views]" in line for line in lines)


def test_cone(tmp_path):
    simulate(tmp_path, "spheres", *CONE)
    for verb in (["sirt", "--iterations", 1], ["fdk", "--allow-limited"]):
        line, = said(verb[0], "s.h5", *verb[1:], *PLACE, "--angles", "0:180", "-o", "v.npy", cwd=tmp_path)
        assert "--angles 0:360 [angle-span]" in line
        told = qb_json(verb[0], "s.h5", *verb[1:], *PLACE, "--angles", "0:180", "-o", "v.npy", cwd=tmp_path)
        assert told["angle_span"]["stated"] == pytest.approx(180) and told["angle_span"]["fits"] == pytest.approx(360)


def test_a_geometry_file(tmp_path):
    simulate(tmp_path, "spheres", *CONE, "--geometry-out", "g.json")
    simulate(tmp_path, "spheres", *CONE, "--angles", "0:180", "--geometry-out", "half.json", name="half.h5")
    assert not said("sirt", "s.h5", "-g", "g.json", "--iterations", 1, "-o", "v.npy", cwd=tmp_path)
    line, = said("sirt", "s.h5", "-g", "half.json", "--iterations", 1, "-o", "w.npy", cwd=tmp_path)
    assert "move as over 360" in line and "the geometry" in line


def test_angles_of_other_views(tmp_path):
    """A list in another order: no span fits."""
    simulate(tmp_path, "spheres", *instead(PARALLEL, "--detector", "96,40"))
    np.savetxt(tmp_path / "a.txt", np.random.default_rng(1).permutation(np.arange(120) * 1.5), fmt="%.9g")
    line, = said("fbp", "s.h5", "--angles", "a.txt:deg", "--center", 47.5, "-o", "v.npy", cwd=tmp_path)
    assert "[angles-misfit]" in line


def slipped(x):
    return np.concatenate([x[:60], np.roll(x[60:], 16, axis=2)])


def rolled(x):
    return np.concatenate([x[:40], np.roll(x[40:80], 20, axis=2), x[80:]])


def exchanged(x):
    return np.concatenate([x[:30], x[60:90], x[30:60], x[90:]])


def lost(x):
    """40 of 600 frames, the rest spread over the same range."""
    return np.delete(x, slice(300, 340), axis=0)


def permuted(x):
    return x[np.random.default_rng(3).permutation(len(x))]


@pytest.mark.parametrize("fault, jumps, first", [(slipped, 1, 59), (rolled, 2, 39), (exchanged, 3, 29), (lost, 1, 299), (permuted, 0, 0)])
@pytest.mark.parametrize("phantom, beam", [("spheres", "parallel"), ("foam", "parallel"), ("baggage", "cone")])
def test_views_that_moved(tmp_path, fault, jumps, first, phantom, beam):
    """Where the object slipped and frames are missing or exchanged is seen from view to view, wherever its centre of mass is."""
    options = instead(CONE, "--detector", "96,40") if beam == "cone" else instead(PARALLEL, "--detector", "96,40")
    options = instead(options, "--views", 600) if fault is lost else options
    simulate(tmp_path, phantom, *options, "--photons", 20000, "--seed", 1)
    with h5py.File(tmp_path / "s.h5", "r+") as file:
        views, angles = fault(file["exchange/data"][...]), file["exchange/theta"][...]
        attrs = {name: dict(file[f"exchange/{name}"].attrs) for name in ("data", "theta")}
        for name, values in ("data", views), ("theta", np.linspace(angles[0], angles[-1], len(views))):
            del file[f"exchange/{name}"]
            file.create_dataset(f"exchange/{name}", data=values).attrs.update(attrs[name])
    verb = ["sirt", "s.h5", *PLACE, "--iterations", 1, "-o", "v.npy"] if beam == "cone" else ["fbp", "s.h5", "--center", 47.5, "-o", "v.npy"]
    for lines in said(*verb, cwd=tmp_path), said("info", "s.h5", cwd=tmp_path):
        line = " ".join(lines)
        assert (f"from view {first} to the next" in line and f"({jumps} such jumps)" in line) if jumps else "[angles-misfit]" in line


@pytest.mark.parametrize("at", [90, 160, 310])
@pytest.mark.parametrize("phantom, photons", [("foam", 0), ("baggage", 0), ("foam", 100000)])
def test_frames_lost_in_half_a_turn(tmp_path, phantom, photons, at):
    """5 of 400: no two views are opposite, but nearly all of a row changes more there. The whole scan says nothing."""
    simulate(tmp_path, phantom, *instead(PARALLEL, "--detector", "128,6", "--views", 400), "--photons", photons, "--seed", 2)
    assert not said("fbp", "s.h5", "--center", 63.5, "-o", "v.npy", cwd=tmp_path)
    with h5py.File(tmp_path / "s.h5", "r+") as file:
        for name in "data", "theta":
            values, attrs = file[f"exchange/{name}"][...], dict(file[f"exchange/{name}"].attrs)
            del file[f"exchange/{name}"]
            file.create_dataset(f"exchange/{name}", data=np.delete(values, slice(at, at + 5), axis=0)).attrs.update(attrs)
    line, = said("fbp", "s.h5", "--center", 63.5, "--angles", "0:180", "-o", "v.npy", cwd=tmp_path)
    assert f"from view {at - 1} to the next" in line and "[views-jump]" in line


@pytest.mark.parametrize("phantom, views, span, offset", [("shepp-logan", 360, 200, 0), ("baggage", 180, 180, -1.6)])
def test_edges_seen_along_are_no_jumps(tmp_path, phantom, views, span, offset):
    """Few columns change much there, and the steps are small."""
    simulate(tmp_path, phantom, *instead(PARALLEL, "--detector", "48,1", "--views", views), "--angles", f"-50:{span - 50}", "--center-offset", offset, "--seed", 539)
    assert not said("fbp", "s.h5", "--center", 23.5 + offset, "-o", "v.npy", cwd=tmp_path)


@pytest.mark.parametrize("verb", [("fbp",), ("sirt", "--iterations", 1), ("info",)])
@pytest.mark.parametrize("phantom, more, first, rows", [
    ("spheres", [], 40, 3), ("shepp-logan", [], 90, -5), ("baggage", ["--angles", "0:360"], 60, 2), ("ball", ["--size", "60,60,40"], 25, 8)])
def test_slips_along_the_axis(tmp_path, verb, phantom, more, first, rows):
    """The rows that leave the detector come in at its other side: neither holds much."""
    simulate(tmp_path, phantom, *instead(PARALLEL, "--detector", "96,40", *more))
    with h5py.File(tmp_path / "s.h5", "r+") as file:
        file["exchange/data"][first:] = np.roll(file["exchange/data"][first:], rows, axis=1)
    out = [] if verb[0] == "info" else ["--center", 47.5, "-o", "v.npy"]
    line, = [line for line in said(verb[0], "s.h5", *verb[1:], *out, cwd=tmp_path) if "rows-shift" in line]
    before, since, moved = map(float, re.search(r"between views (\d+) and (\d+) the image moves by ([\d.]+) rows", line).groups())
    assert before < first <= since <= before + 3 and moved == pytest.approx(abs(rows), abs=0.5)


def test_drifts_along_the_axis(tmp_path):
    """By six rows in all, as evenly as whole rows can."""
    simulate(tmp_path, "spheres", *instead(PARALLEL, "--detector", "96,40"))
    with h5py.File(tmp_path / "s.h5", "r+") as file:
        views = file["exchange/data"][...]
        file["exchange/data"][...] = [moved(view, 6 * i / 119) for i, view in enumerate(views)]
    line, = [line for line in said("fbp", "s.h5", "--center", 47.5, "-o", "v.npy", cwd=tmp_path) if "rows-shift" in line]
    assert float(re.search(r"moves slowly by ([\d.]+) rows", line).group(1)) == pytest.approx(6, abs=1)


def moved(view, rows):
    whole, part = int(rows), rows - int(rows)
    return (1 - part) * np.roll(view, whole, axis=0) + part * np.roll(view, whole + 1, axis=0)


GOOD = {
    "few views": ["--views", 9],
    "a turn": ["--angles", "0:360"],
    "ten turns": ["--angles", "0:3600", "--views", 300],
    "limited": ["--angles", "0:100"],
    "noise": ["--photons", 300, "--seed", 1],
    "rings": ["--rings", 0.1],
    "the axis off": ["--center-offset", 6],
    "half acquisition": ["--angles", "0:360", "--center-offset", -36],
    "truncated": ["--size", "160,160,6"],
    "one row": ["--detector", "96,1"],
}


@pytest.mark.parametrize("kind", GOOD)
@pytest.mark.parametrize("phantom", ["shepp-logan", "spheres", "foam", "baggage"])
def test_good(tmp_path, kind, phantom):
    simulate(tmp_path, phantom, *instead(PARALLEL, *GOOD[kind]))
    assert not said("info", "s.h5", cwd=tmp_path)


@pytest.mark.parametrize("more", [(), ("--angles", "0:220"), ("--detector-offset", "60,0"), ("--tilt", "3,2,1"), ("--photons", 300),
                                  ("--detector", "60,60"), ("--sod", 160, "--sdd", 256)])
def test_good_cones(tmp_path, more):
    for phantom in ("shepp-logan", "spheres", "baggage"):
        simulate(tmp_path, phantom, *instead(CONE, *more), "--geometry-out", "g.json", name=f"{phantom}.h5")
        assert not said("fdk", f"{phantom}.h5", "-g", "g.json", "--allow-limited", "-o", f"{phantom}.npy", cwd=tmp_path)


@pytest.mark.parametrize("phantom", ["shepp-logan", "foam"])
@pytest.mark.parametrize("jitter", ["2,0,20,14", "8,4,60,137", "8,1,20,184"])
def test_a_detector_that_moves_as_stated(tmp_path, phantom, jitter):
    """Images jump from view to view, as the geometry says."""
    simulate(tmp_path, phantom, *CONE, "--jitter", jitter, "--size", "60,60,6", "--geometry-out", "g.json")
    for how in (["-g", "g.json"], [*PLACE, "--jitter", jitter]):
        assert not qb_json("fdk", "s.h5", *how, "--size", "60,60,6", "-o", "v.npy", cwd=tmp_path)["warnings"]


@pytest.mark.parametrize("phantom", ["shepp-logan", "spheres", "foam"])
@pytest.mark.parametrize("beam, verb, turn", [(PARALLEL, ["fbp", "--center", 47.5], "0:180"), (CONE, ["fdk", *PLACE], "0:360")])
def test_views_that_moved_as_stated(tmp_path, phantom, beam, verb, turn):
    """Rows that shifts take off the detector in some views are not looked at."""
    simulate(tmp_path, phantom, *instead(beam, "--detector", "96,16"), "--angles", turn, "--size", "60,60,10")
    rng = np.random.default_rng(1)
    shifts = np.stack([rng.integers(-8, 9, 120), rng.integers(-3, 4, 120)], 1)
    np.savetxt(tmp_path / "moves.txt", shifts)
    with h5py.File(tmp_path / "s.h5", "r+") as file:
        views = file["exchange/data"][...]
        file["exchange/data"][...] = [np.roll(view, (v, u), (0, 1)) for view, (u, v) in zip(views, shifts)]
    for args in (verb, ["info"]):
        out = [] if args[0] == "info" else ["-o", "v.npy"]
        assert not said(*args[:1], "s.h5", *args[1:], "--shifts", "moves.txt", *out, cwd=tmp_path)


def test_the_same_in_all_rows(tmp_path):
    """Rounding alone matches better with some rows in between."""
    angle, s = np.radians(np.arange(345))[:, None], np.arange(128)[None] - 63.5
    rods = [(20, 0.3, 9), (35, 2, 6), (28, 4, 12)]
    row = sum(0.04 * np.sqrt(np.maximum(0, r**2 - (s - d * np.cos(angle - a))**2)) for d, a, r in rods)
    np.save(tmp_path / "s.npy", np.exp(-np.repeat(row[:, None], 16, 1)).astype(np.float32))
    assert not qb_json("fbp", "s.npy", "--quantity", "transmission", "--angles", "0:345:345", "--pixel-size", 1, "--center", 63.5, "-o", "v.npy", cwd=tmp_path)["warnings"]


def random_scan(rng):
    span = rng.choice([60, 90, 120, 180, 180, 200, 270, 360, 360, 720, 1080])
    more = ["--views", rng.integers(40, 400), "--angles", f"{rng.integers(-90, 90)}:{span}", "--photons", rng.choice([0, 100, 1000, 100000]), "--seed", rng.integers(1, 1000)]
    more += [] if rng.random() < 0.6 else ["--center-offset", rng.integers(-30, 30)]
    more += [] if rng.random() < 0.7 else ["--size", f"{rng.integers(60, 150)},{rng.integers(60, 150)},6"]
    more += [] if rng.random() < 0.7 else ["--rings", 0.05]
    return rng.choice(["shepp-logan", "disc", "spheres", "foam", "baggage"]), more


@pytest.mark.parametrize("part", range(4))
def test_random_good_scans(tmp_path, part):
    """Of whatever span, object and noise: no false word in 120 scans."""
    rng = np.random.default_rng(part)
    for _ in range(30):
        phantom, more = random_scan(rng)
        simulate(tmp_path, phantom, *instead(PARALLEL, *more))
        assert not said("info", "s.h5", cwd=tmp_path), (phantom, more)


def test_the_last_view_and_the_first(tmp_path):
    """Next to each other by their angles, or not: the views say otherwise. A scan that leaves a part out says nothing."""
    simulate(tmp_path, "baggage", *CONE)
    simulate(tmp_path, "shepp-logan", *CONE, "--angles", "0:220", "--size", "150,150,12", name="short.h5")
    line, = said("sirt", "short.h5", *PLACE, "--iterations", 1, "--angles", "0:360", "-o", "v.npy", cwd=tmp_path)
    assert "the last view is next to the first, but they differ" in line and "[angle-span]" in line
    for degrees in (345, 350):
        line, = said("sirt", "s.h5", *PLACE, "--iterations", 1, "--angles", f"0:{degrees}", "-o", "v.npy", cwd=tmp_path)
        gap = 360 - degrees * 119 / 120
        assert f"stated to be {gap:.3g} degrees from it" in line and "[angle-span]" in line
    for options in (["short.h5"], ["s.h5"], ["s.h5", "--views", "0:110"]):
        assert not said("sirt", *options, *PLACE, "--iterations", 1, "-o", "v.npy", cwd=tmp_path)


def test_degrees_turned_into_degrees_again(tmp_path):
    """57.3 times too large: no span that is known, but views that follow each other are alike. Golden angles are not."""
    simulate(tmp_path, "shepp-logan", *PARALLEL)
    np.savetxt(tmp_path / "a.txt", np.rad2deg(np.arange(120) * 1.5))
    np.savetxt(tmp_path / "golden.txt", np.arange(120) * 137.50776)
    for verb in (["fbp"], ["sirt", "--iterations", 1]):
        line, = said(*verb, "s.h5", "--angles", "a.txt:deg", "--center", 47.5, "-o", "v.npy", cwd=tmp_path)
        assert "one after the other in the file" in line and "[angles-misfit]" in line
    simulate(tmp_path, "shepp-logan", *PARALLEL, "--angles", "golden.txt:deg", name="golden.h5")
    assert not said("fbp", "golden.h5", "--center", 47.5, "-o", "v.npy", cwd=tmp_path)
