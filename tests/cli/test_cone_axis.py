# SPDX-License-Identifier: MIT
"""The axis of a cone beam is found in its middle rows, sorted as a parallel beam's, and fdk can take it from there."""
import json

import numpy as np
import pytest

from qbtest import fails, qb

CIRCLE = "--sod", "400", "--sdd", "600"


def scan_of(path, offset, *more, phantom="foam", detector="192,16", views=240):
    qb("simulate", phantom, "--geometry", "cone", *CIRCLE, "--pixel-size", "0.6", "--detector", detector, "--views", views, "--center-offset", offset,
       *more, "-o", path)
    return path


@pytest.mark.parametrize("phantom, offset, more", [
    ("foam", 6.75, ("--angles", "0:250")),
    ("spheres", -3.25, ("--angles", "0:205", "--photons", "20000", "--rings", "0.05")),
    ("baggage", 60, ("--angles", "0:360", "--photons", "5000")),  # a half fan
    ("shepp-logan", 9.5, ("--angles", "0:360", "--photons", "1000")),
])
def test_within_a_tenth_of_a_pixel(tmp_path, phantom, offset, more):
    done = qb("center", scan_of(tmp_path / "s.h5", offset, *more, phantom=phantom), *CIRCLE, "--json")
    found = json.loads(done.stdout)
    assert found["column"] == pytest.approx(95.5 + offset, abs=0.1) and found["confidence"] > 0.8
    assert found["warnings"] == []


def test_views_in_any_order_and_a_wide_fan(tmp_path):
    qb("simulate", "foam", "--geometry", "cone", "--sod", "120", "--sdd", "240", "--pixel-size", "0.6", "--detector", "192,8", "--views", "300",
       "--center-offset", "4.5", "-o", tmp_path / "s.npy")
    lines, order = np.load(tmp_path / "s.npy"), np.random.default_rng(1).permutation(300)
    np.save(tmp_path / "t.npy", lines[order])
    np.savetxt(tmp_path / "angles.txt", 360 * order / 300)
    done = qb("center", tmp_path / "t.npy", "--quantity", "transmission", "--angles", f"{tmp_path}/angles.txt:deg", "--pixel-size", "0.6", "--sod", "120",
              "--sdd", "240", "--json")
    assert json.loads(done.stdout)["column"] == pytest.approx(100, abs=0.1)


@pytest.mark.parametrize("verb, more", [("fdk", ()), ("cgls", ("--iterations", "3"))])
@pytest.mark.parametrize("auto, stated", [("auto", "-3.9,0"), ("auto,0.5px", "-6.5px,0.5px")])
def test_auto_is_the_offset_that_the_axis_says(tmp_path, verb, more, auto, stated):
    scan = scan_of(tmp_path / "s.h5", 6.5, detector="64,8", views=120)
    for name, offset in (("auto", auto), ("stated", stated)):
        done = qb(verb, scan, *CIRCLE, *more, f"--detector-offset={offset}", "-o", tmp_path / f"{name}.npy")
        assert name == "stated" or "axis at column 38.0" in done.stderr
    a, b = np.load(tmp_path / "auto.npy"), np.load(tmp_path / "stated.npy")
    assert np.linalg.norm(a - b) < 0.02 * np.linalg.norm(b)


def test_refusals(tmp_path):
    scan = scan_of(tmp_path / "s.h5", 3, "--angles", "0:90")
    fails(3, "center", scan, *CIRCLE, says=["150 degrees", "--detector-offset"])
    fails(2, "center", scan, "--sod", "600", "--sdd", "400", says=["0 < --sod < --sdd", "600"])
    full = scan_of(tmp_path / "f.h5", 3, "--geometry-out", tmp_path / "g.json", detector="64,8", views=60)
    fails(2, "fdk", full, "-g", tmp_path / "g.json", "--detector-offset", "auto", "-o", tmp_path / "v.npy", says=["states the offset of the detector", "leave"])
    fails(2, "fdk", full, *CIRCLE, "--detector-offset", "automatic", "-o", tmp_path / "v.npy", says=["automatic"])
    assert not (tmp_path / "v.npy").exists()


def test_info_names_an_axis_that_falls_elsewhere(tmp_path):
    scan = scan_of(tmp_path / "s.h5", 4, "--photons", "20000", detector="96,8", views=120)
    assert "on column 51." in qb("info", scan, *CIRCLE).stdout and "by the geometry on 47.50" in qb("info", scan, *CIRCLE).stdout
    told = json.loads(qb("info", scan, *CIRCLE, "--json").stdout)
    assert len(told["problems"]) == 1 and "--detector-offset auto" in told["problems"][0]
    for offset in "-2.4,0", "-4px,0px":
        assert "no problems found" in qb("info", scan, *CIRCLE, f"--detector-offset={offset}").stdout


@pytest.mark.parametrize("phantom", ["foam", "spheres", "ball", "disc", "baggage", "shepp-logan"])
def test_info_says_nothing_of_good_scans(tmp_path, phantom):
    assert "stuck" not in qb("info", scan_of(tmp_path / "s.h5", 4, phantom=phantom, detector="96,8", views=120)).stdout
    for seed, more in enumerate(((), ("--photons", "2000"), ("--angles", "0:230"), ("--photons", "500", "--angles", "0:210"))):
        scan = scan_of(tmp_path / "s.h5", 0, *more, "--seed", seed, phantom=phantom, detector="64,8", views=90)
        assert "the axis falls" not in qb("info", scan, *CIRCLE).stdout, more


# ---- every method looks where the axis is ----

def axis_said(*args):
    return [line for line in qb(*args).stderr.splitlines() if "axis-differs" in line]


@pytest.mark.parametrize("verb", [("fdk",), ("sirt", "--iterations", 1), ("cgls", "--iterations", 1), ("tv", "--iterations", 1), ("mbir", "--equits", 1)])
def test_a_method_names_an_axis_that_falls_elsewhere(tmp_path, verb):
    scan = scan_of(tmp_path / "s.h5", 4, "--photons", "20000", detector="64,8", views=90)
    line, = axis_said(verb[0], scan, *verb[1:], *CIRCLE, "-o", tmp_path / "v.npy")
    column = float(line.split("at column ")[1].split()[0])
    assert column == pytest.approx(35.5, abs=0.2) and "not at 31.50 as stated: give --center auto, or --detector-offset auto" in line
    for offset in "-2.4,0", "-4px,0px", "auto":
        assert not axis_said(verb[0], scan, *verb[1:], *CIRCLE, f"--detector-offset={offset}", "-o", tmp_path / "v.npy")


def test_of_a_geometry_file_and_a_short_scan(tmp_path):
    right = scan_of(tmp_path / "s.h5", 4, "--angles", "0:230", "--geometry-out", tmp_path / "right.json", detector="96,8", views=120)
    scan_of(tmp_path / "w.h5", 0, "--angles", "0:230", "--geometry-out", tmp_path / "wrong.json", detector="96,8", views=120)
    line, = axis_said("cgls", right, "-g", tmp_path / "wrong.json", "--iterations", 1, "-o", tmp_path / "v.npy")
    assert "check the geometry file" in line
    assert not axis_said("cgls", right, "-g", tmp_path / "right.json", "--iterations", 1, "-o", tmp_path / "v.npy")


@pytest.mark.parametrize("verb", [("fbp",), ("sirt", "--iterations", 1), ("mbir", "--equits", 1)])
@pytest.mark.parametrize("angles", ["0:180", "0:360"])
def test_of_parallel_rays(tmp_path, verb, angles):
    qb("simulate", "baggage", "--pixel-size", "1", "--detector", "64,6", "--views", "90", "--angles", angles, "--center-offset", "4", "-o", tmp_path / "s.h5")
    line, = axis_said(verb[0], tmp_path / "s.h5", *verb[1:], "--center", "31.5", "-o", tmp_path / "v.npy")
    assert "at column 35.5" in line and "not at 31.50 as stated: give --center auto" in line
    for center in "35.5", "auto":
        assert not axis_said(verb[0], tmp_path / "s.h5", *verb[1:], "--center", center, "-o", tmp_path / "v.npy")


@pytest.mark.parametrize("phantom", ["foam", "spheres", "ball", "disc", "baggage", "shepp-logan"])
def test_no_word_of_good_scans(tmp_path, phantom):
    for seed, more in enumerate((("--photons", "200"), ("--angles", "0:230", "--photons", "500"), ("--angles", "0:200"), ("--rings", "0.05"))):
        scan = scan_of(tmp_path / "s.h5", 0, *more, "--seed", seed, phantom=phantom, detector="64,8", views=60)
        assert not axis_said("sirt", scan, *CIRCLE, "--iterations", 1, "-o", tmp_path / "v.npy"), more


@pytest.mark.parametrize("phantom, more", [
    ("foam", ()), ("spheres", ()), ("foam", ("--photons", "50000")), ("shepp-logan", ("--photons", "50000")), ("baggage", ("--photons", "50000"))])
def test_the_other_sense_of_the_turn(tmp_path, phantom, more):
    """Rays from opposite sides agree in one sense only; mirrored images look like the other one."""
    scan = scan_of(tmp_path / "s.h5", 4.5, "--angles", "0:360", *more, phantom=phantom, detector="128,8", views=120)
    run = ["fdk", scan, *CIRCLE, "--detector-offset=-2.7,0", "-o", tmp_path / "v.npy"]
    assert "[turn-sense]" not in qb(*run).stderr
    done = qb(*run, "--angles", "0:-360")
    assert "give --angles with the other sign [turn-sense]" in done.stderr
    assert "[turn-sense]" in qb("sirt", *run[1:], "--iterations", 1, "--angles", "0:-360").stderr


@pytest.mark.parametrize("phantom", ["foam", "spheres"])
def test_a_detector_that_leans(tmp_path, phantom):
    """By more than a pixel at its corners, as stated: the sense and the axis are judged as of an upright one."""
    lean = "--pixel-size", "0.6", "--tilt", "1.5,0,0.5", "--detector-offset"
    qb("simulate", phantom, "--geometry", "cone", *CIRCLE, "--detector", "96,48", "--views", 120, *lean, "-1.2,0", "-o", tmp_path / "s.npy")
    run = ["fdk", tmp_path / "s.npy", "--quantity", "transmission", *CIRCLE, *lean]
    right = qb(*run, "-1.2,0", "--angles", "0:360", "-o", tmp_path / "v.npy").stderr
    assert not any(code in right for code in ("turn-sense", "axis-differs", "fan-width"))
    assert "[turn-sense]" in qb(*run, "-1.2,0", "--angles", "0:-360", "-o", tmp_path / "v.npy").stderr
    assert "column 49.5" in axis_said(*run, "1.2,0", "--angles", "0:360", "-o", tmp_path / "v.npy")[0]


def test_noise_of_a_ball_is_no_other_fan(tmp_path):
    """A slant of half a pixel makes opposite rays of a round object a little unlike, which a wider fan would hide."""
    how = "--sod", "150", "--sdd", "255", "--pixel-size", "1.5", "--tilt", "0,0,-3", "--detector-offset", "-6,4"
    for seed in range(4):
        qb("simulate", "ball", "--geometry", "cone", "--detector", "48,24", "--views", 90, *how, "--photons", 50000, "--seed", seed, "-o", tmp_path / "s.h5")
        assert "[fan-width]" not in qb("fdk", tmp_path / "s.h5", *how, "-o", tmp_path / "v.npy").stderr


def test_mirrored_images(tmp_path):
    qb("simulate", "foam", "--geometry", "cone", *CIRCLE, "--pixel-size", "0.6", "--detector", "128,8", "--views", 120, "-o", tmp_path / "s.npy")
    np.save(tmp_path / "m.npy", np.load(tmp_path / "s.npy")[:, :, ::-1].copy())
    run = ["--quantity", "transmission", "--angles", "0:360", *CIRCLE, "--pixel-size", "0.6", "-o", tmp_path / "v.npy"]
    assert "[turn-sense]" not in qb("fdk", tmp_path / "s.npy", *run).stderr
    assert "[turn-sense]" in qb("fdk", tmp_path / "m.npy", *run).stderr


def test_a_first_column_that_is_stated(tmp_path):
    """Column 0 is an axis like others."""
    qb("simulate", "shepp-logan", "--detector", "64,2", "--views", 90, "-o", tmp_path / "p.h5")
    for verb in (["fbp"], ["sirt", "--iterations", 1], ["mbir", "--equits", 1]):
        line, = axis_said(verb[0], tmp_path / "p.h5", *verb[1:], "--center", 0, "-o", tmp_path / "v.npy")
        assert "not at 0.00 as stated: give --center auto" in line


def test_half_a_pixel(tmp_path):
    """N / 2 where (N - 1) / 2 is the middle: other programs' pixels begin there."""
    for phantom, photons in (("shepp-logan", 0), ("baggage", 20000)):
        qb("simulate", phantom, "--detector", "96,2", "--views", 150, "--photons", photons, "-o", tmp_path / "p.h5")
        for verb in (["fbp"], ["sirt", "--iterations", 1]):
            line, = axis_said(verb[0], tmp_path / "p.h5", *verb[1:], "--center", 48, "-o", tmp_path / "v.npy")
            assert float(line.split("at column ")[1].split()[0]) == pytest.approx(47.5, abs=0.2)
            assert not axis_said(verb[0], tmp_path / "p.h5", *verb[1:], "--center", 47.5, "-o", tmp_path / "v.npy")


@pytest.mark.parametrize("phantom, detector, sdd, pixel", [("foam", "128,8", 250, 0.6), ("spheres", "128,1", 1000, 0.6), ("shepp-logan", "160,8", 600, 0.3)])
def test_a_fan_of_another_width(tmp_path, phantom, detector, sdd, pixel):
    """Opposite rays tell the pixel size over the distance to the detector, whatever the magnification."""
    scan = scan_of(tmp_path / "s.h5", 3.5, detector=detector, views=180, phantom=phantom)
    how = ["--pixel-size", pixel, f"--detector-offset={-3.5 * pixel},0", "-o", tmp_path / "v.npy"]
    said = qb("fdk", scan, "--sod", 200, "--sdd", sdd, *how).stderr
    wide = 0.6 / 600 / (pixel / sdd)
    assert "[fan-width]" in said, said
    words = said[said.index("if the fan is"):]
    found, far, pitch = (float(words.split(mark)[1].split()[0].strip("(")) for mark in ("the fan is", "--sdd", "pixel size"))
    assert found == pytest.approx(wide, rel=0.12) and far == pytest.approx(sdd / wide, rel=0.12) and pitch == pytest.approx(pixel * wide, rel=0.12)
    right = qb("cgls", scan, *CIRCLE, "--detector-offset=-2.1,0", "--iterations", 2, "-o", tmp_path / "v.npy").stderr
    assert "[fan-width]" not in right and "[turn-sense]" not in right


def test_round_objects_tell_nothing_of_the_fan(tmp_path):
    for phantom in ("disc", "ball"):
        scan = scan_of(tmp_path / "s.h5", 0, "--photons", "2000", detector="96,8", views=120, phantom=phantom)
        for sdd in (450, 600, 1200):
            assert "[fan-width]" not in qb("fdk", scan, "--sod", 400, "--sdd", sdd, "-o", tmp_path / "v.npy").stderr


def test_lengths_in_metres_and_degrees_called_radians(tmp_path):
    scan = scan_of(tmp_path / "s.npy", 0, detector="48,4", views=90)
    how = ["--quantity", "transmission", "-o", tmp_path / "v.npy"]
    said = qb("fdk", scan, *how, "--angles", "0:360", "--sod", 0.4, "--sdd", 0.6, "--pixel-size", 0.0006).stderr
    assert "only 0.6 mm from the source: are all lengths in mm?" in said and "[geometry-units]" in said
    fails(3, "fdk", scan, *how, "--angles", "0:360", "--sod", 12, "--sdd", 20, "--pixel-size", 0.6, says=["the source", "in mm?", "--size"])
    for last, turns in ((360, "one"), (356, "one"), (180, "a half")):
        np.savetxt(tmp_path / "a.txt", np.linspace(0, last, 90))
        said = qb("cgls", scan, *how, *CIRCLE, "--pixel-size", 0.6, "--iterations", 1, "--angles", tmp_path / "a.txt", "--angle-unit", "rad").stderr
        assert f"but {turns} as degrees: give --angle-unit deg [angle-turns]" in said, said


def test_rows_and_columns_exchanged(tmp_path):
    """The axis along the rows: means of rows change from view to view, and those of columns do not."""
    for phantom, detector in (("foam", "64,48"), ("shepp-logan", "64,64")):
        scan_of(tmp_path / "s.npy", 0, detector=detector, views=90, phantom=phantom)
        how = [*CIRCLE, "--quantity", "transmission", "--pixel-size", 0.6, "--angles", "0:360", "-o", tmp_path / "v.npy"]
        np.save(tmp_path / "t.npy", np.swapaxes(np.load(tmp_path / "s.npy"), 1, 2))
        for verb in ("fdk", "sirt"):
            few = ["--iterations", 1] if verb == "sirt" else []
            assert "look like [view][column][row]: store [view][row][column]" in qb(verb, tmp_path / "t.npy", *how, *few).stderr
            assert "[axes-order]" not in qb(verb, tmp_path / "s.npy", *how, *few).stderr


def test_geometries_that_are_no_circle(tmp_path):
    """Modules that are views of their own are solved in silence; sources over 50 degrees, and one on the detector's side, are named."""
    scan_of(tmp_path / "s.npy", 0, "--truth", tmp_path / "t.npy", detector="64,8", views=60)
    lines, angles = -np.log(np.load(tmp_path / "s.npy")), np.radians(6 * np.arange(60))

    def views(sod=400, parts=1):
        for a in angles:
            x, y = np.array([np.cos(a), np.sin(a), 0]), np.array([-np.sin(a), np.cos(a), 0])
            for k in range(parts):
                first = 200 * y + 0.6 * (64 / parts * k - 31.5) * x - np.array([0, 0, 0.6 * 3.5])
                yield {"source": list(-sod * y), "detector": list(first), "u": list(0.6 * x), "v": [0, 0, 0.6]}

    def run(stack, seen, *more, verb="sirt"):
        (tmp_path / "g.json").write_text(json.dumps({"quickbeam_geometry": 1, "units": "mm", "beam": "cone", "rows": 8, "columns": stack.shape[2], "views": seen}))
        np.save(tmp_path / "l.npy", np.ascontiguousarray(stack))
        return qb(verb, tmp_path / "l.npy", "-g", tmp_path / "g.json", "-o", tmp_path / "v.npy", *more).stderr

    halves = np.stack([lines[:, :, :32], lines[:, :, 32:]], 1).reshape(120, 8, 32)
    size = ["--size", "64,64,8", "--voxel", "0.4", "--iterations", 60]
    said = run(halves, list(views(parts=2)), *size)
    assert "row-ends" not in said and "angles-misfit" not in said
    modules = np.load(tmp_path / "v.npy")
    run(lines, list(views()), *size)
    assert np.linalg.norm(modules - np.load(tmp_path / "v.npy")) < 0.01 * np.linalg.norm(modules)
    for verb, more in (("fdk", []), ("sirt", ["--iterations", 1])):
        assert "before the axis at 800 mm" in run(lines, list(views(sod=-800)), *more, verb=verb)
    arc = list(views())[:9]
    for i, view in enumerate(arc):
        view["detector"] = [-18.9, 200, -2.1 + i]  # no circle
        view["u"], view["v"] = [0.6, 0, 0], [0, 0, 0.6]
    assert "of 180 degrees" in run(lines[:9], arc, "--iterations", 1)


@pytest.mark.parametrize("verb", [("fdk",), ("cgls", "--iterations", 1), ("mbir", "--equits", 1)])
def test_center_says_the_same_in_columns(tmp_path, verb):
    scan, a, b = scan_of(tmp_path / "s.h5", 4, detector="48,4", views=60), tmp_path / "a.npy", tmp_path / "b.npy"
    for center, offset in ((19.5, "4px,0px"), ("auto", "auto"), ("middle", "0px,0px")):
        qb(verb[0], scan, *verb[1:], "--center", center, "-o", a)
        qb(verb[0], scan, *verb[1:], "--detector-offset", offset, "-o", b)
        assert (np.load(a) == np.load(b)).all(), center
    fails(2, verb[0], scan, "--center", 19.5, "--detector-offset", "4px,0px", "-o", a, says="both say where the axis falls")
    if verb == ("fdk",):
        qb("fdk", scan, "--sweep", "center=19.5,auto", "-o", tmp_path / "sweep")
        assert len(list((tmp_path / "sweep").glob("*.tif"))) == 2
        qb("fdk", scan, "--center", "auto", "--sweep", "filter=ramp,hann", "-o", tmp_path / "filters")
    fails(2, verb[0], scan, "--center", "mass", "-o", a, says="a column, auto, middle or stated")
