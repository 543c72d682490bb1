# SPDX-License-Identifier: MIT
"""A cone's detector that stands higher or lower than --detector-offset says, found from planes through two sources."""
import json

import h5py
import numpy as np
import pytest

from qbtest import qb, qb_json
from test_vendor import nikon, put_images

CIRCLE = ("--sod", 400, "--sdd", 600)
CODE = "[detector-height]"


def forget(path):
    """The file no longer states where source and detector are."""
    with h5py.File(path, "a") as f:
        del f["/process/quickbeam/provenance"]


def scan_of(path, phantom, offset, *more, detector="96,64", views=90):
    qb("simulate", phantom, "--geometry", "cone", *CIRCLE, "--pixel-size", "1.6", "--detector", detector, "--views", views, f"--detector-offset=0,{offset}px", *more, "-o", path)
    if path.suffix == ".h5":
        forget(path)
    return path


def said(verb, scan, *more, code=CODE):
    """The warning with that code, or both of height and turn where nothing is wrong."""
    lines = [line for line in qb(verb, scan, *more, "--size", "32,32,24", "--voxel", 3).stderr.splitlines() if "[detector-" in line]
    found = [line for line in lines if code in line]
    assert len(found) < 2
    return found[0] if found else " ".join(lines)


@pytest.mark.parametrize("phantom, photons, offset", [
    ("foam", 0, 1), ("foam", 2000, -2), ("foam", 300, 5), ("spheres", 0, -1), ("spheres", 100000, 2), ("spheres", 3000, 8), ("baggage", 0, 4)])
def test_a_shift_that_is_not_stated(tmp_path, phantom, photons, offset):
    """The millimetres that are missing, within a third of a pixel, at 300 photons a pixel; with them no word."""
    scan = scan_of(tmp_path / "s.h5", phantom, offset, "--photons", photons, "--seed", 2)
    line = said("fdk", scan, *CIRCLE, "-o", tmp_path / "v.npy")
    found = float(line.split("U,V by ")[1].split()[0])
    assert found == pytest.approx(1.6 * offset, abs=1.6 if photons == 300 else 0.5), line
    assert ("higher" if offset > 0 else "lower") in line
    assert not said("fdk", scan, *CIRCLE, f"--detector-offset=0,{1.6 * offset}", "-o", tmp_path / "v.npy")


@pytest.mark.parametrize("phantom, offset", [("foam", 24), ("spheres", -20)])
def test_a_third_of_the_detector(tmp_path, phantom, offset):
    """Shifts beyond a quarter of the rows, too."""
    scan = scan_of(tmp_path / "s.h5", phantom, offset, "--photons", 50000, "--seed", 2)
    assert float(said("fdk", scan, *CIRCLE, "-o", tmp_path / "v.npy").split("U,V by ")[1].split()[0]) == pytest.approx(1.6 * offset, abs=1.6)


@pytest.mark.parametrize("phantom, photons, u, v, turn", [("foam", 0, 1.5, 2, 0.5), ("spheres", 3000, -2.3, 3, -1), ("baggage", 0, 0, 0, 1.5),
                                                         ("spheres", 30000, 0, -4, 0)])
def test_all_three_are_measured_and_taken(tmp_path, phantom, photons, u, v, turn):
    """U within 0.1 pixel, V within a row, the turn within half a row at the ends; a slice off the middle is the one by the truth."""
    scan, right, auto = (tmp_path / name for name in ("s.h5", "right.npy", "auto.npy"))
    qb("simulate", phantom, "-g", "cone", *CIRCLE, "--pixel-size", 1.6, "--detector", "96,64", "--views", 90, f"--detector-offset={u}px,{v}px", "--tilt", turn,
       "--photons", photons, "--seed", 3, "-o", scan)
    forget(scan)
    found = qb_json("center", scan, *CIRCLE)
    assert found["column"] == pytest.approx(47.5 - u, abs=0.1) and found["row"] == pytest.approx(31.5 - v, abs=1)
    assert found["tilt"] == pytest.approx(turn, abs=0.6) and found["tilt_confidence"] >= 0.9
    assert found["row_confidence"] >= 0.9 or v == 0
    how = [*CIRCLE, "--size", "96,96,48", "--voxel", 1.06, "--slices", "10:14"]
    told = qb("fdk", scan, *how, "--detector-offset", "auto", "-o", auto).stderr
    assert ("--tilt" in told) == (turn != 0) and (f": V " in told) == (v != 0) and "[detector-" not in told, told
    qb("fdk", scan, *how, f"--detector-offset={u}px,{v}px", "--tilt", turn, "-o", right)
    plain = tmp_path / "plain.npy"
    qb("fdk", scan, *how, f"--detector-offset={u}px,0px", "-o", plain)
    a, b, c = (np.load(p) for p in (right, auto, plain))
    assert np.linalg.norm(a - b) < 0.3 * np.linalg.norm(a - c)


def test_the_wrong_sign(tmp_path):
    scan = scan_of(tmp_path / "s.h5", "foam", 2, "--photons", 5000)
    line = said("cgls", scan, *CIRCLE, "--iterations", 1, "--detector-offset=0,-3.2", "-o", tmp_path / "v.npy")
    assert float(line.split("U,V by ")[1].split()[0]) == pytest.approx(6.4, abs=0.4)


@pytest.mark.parametrize("verb", [("sirt", "--iterations", 1), ("tv", "--iterations", 1), ("mbir", "--equits", 1)])
def test_every_method_and_a_geometry_file(tmp_path, verb):
    scan = scan_of(tmp_path / "s.h5", "spheres", 3, "--geometry-out", tmp_path / "right.json", detector="64,48", views=60)
    scan_of(tmp_path / "w.h5", "ball", 0, "--geometry-out", tmp_path / "wrong.json", detector="64,48", views=60)
    line = said(verb[0], scan, "-g", tmp_path / "wrong.json", *verb[1:], "-o", tmp_path / "v.npy")
    assert "check the geometry file; it is off by +4." in line or "check the geometry file; it is off by +5" in line
    assert not said(verb[0], scan, "-g", tmp_path / "right.json", *verb[1:], "-o", tmp_path / "v.npy")


@pytest.mark.parametrize("phantom", ["foam", "spheres", "baggage", "shepp-logan", "ball", "disc"])
def test_no_word_of_good_scans(tmp_path, phantom):
    for seed, more in enumerate(((), ("--photons", 300), ("--angles", "0:220", "--photons", 20000), ("--rings", "0.05"), ("--faults", "scatter=0.05"))):
        scan = scan_of(tmp_path / "s.h5", phantom, 0, *more, "--seed", seed, detector="64,48", views=60)
        assert not said("fdk", scan, *CIRCLE, "-o", tmp_path / "v.npy"), more


def test_nothing_of_truncated_rows_and_of_hardened_beams(tmp_path):
    scan = tmp_path / "s.h5"  # wider than the detector, which stands 3 pixels too high
    qb("simulate", "foam", "--geometry", "cone", *CIRCLE, "--pixel-size", "1.6", "--detector", "40,64", "--views", 90, "--size", "96,96,64", "--detector-offset=0,3px", "-o", scan)
    forget(scan)
    assert not said("fdk", scan, *CIRCLE, "-o", tmp_path / "v.npy")
    scan_of(tmp_path / "h.npy", "foam", 0)
    lines = -np.log(np.load(tmp_path / "h.npy"))
    np.save(tmp_path / "h.npy", (lines - 0.1 * lines ** 2 / lines.max()).astype(np.float32))
    how = ["--quantity", "line_integral", "--pixel-size", 1.6, "--angles", "0:360", *CIRCLE, "-o", tmp_path / "v.npy"]
    assert not said("fdk", tmp_path / "h.npy", *how)
    assert said("fdk", tmp_path / "h.npy", *how, "--detector-offset=0,4px")


def test_rows_of_uneven_pixels_and_few_slices(tmp_path):
    """mm along the rows' direction; rows of some slices are enough."""
    scan = tmp_path / "s.h5"
    qb("simulate", "foam", "--geometry", "cone", *CIRCLE, "--pixel-size", "1.6,0.8", "--detector", "96,128", "--views", 90, "--detector-offset=0,4", "-o", scan)
    forget(scan)
    line = said("fdk", scan, *CIRCLE, "-o", tmp_path / "v.npy")
    assert "4.99 rows higher" in line and float(line.split("U,V by ")[1].split()[0]) == pytest.approx(4, abs=0.2)
    done = qb("fdk", scan, *CIRCLE, "--slices", "40:90", "-o", tmp_path / "v.npy", "--json")
    warned, = [w for w in json.loads(done.stdout)["warnings"] if CODE in w]
    assert float(warned.split("U,V by ")[1].split()[0]) == pytest.approx(4, abs=0.4)


def test_info_of_settings_that_say_where_the_detector_is(tmp_path):
    """A scanner's file with the detector 4 rows (1.6 mm) from where it was."""
    put_images(tmp_path, "Scan 1/bug_", 60000, "--detector-offset", "0,-1.6", angles="-30:-390")
    (tmp_path / "bug.xtekct").write_text(nikon(CentreOfRotationTop=0, CentreOfRotationBottom=0))
    problem, = [text for text in qb_json("info", "bug.xtekct", cwd=tmp_path)["problems"] if CODE in text]
    assert "lower" in problem and float(problem.split("U,V by ")[1].split()[0]) == pytest.approx(-1.6, abs=0.15)
    put_images(tmp_path, "Scan 1/bug_", 60000, angles="-30:-390")
    assert CODE not in str(qb_json("info", "bug.xtekct", cwd=tmp_path)["problems"])
