# SPDX-License-Identifier: MIT
"""Geometry files of other programs: matrices with few digits, matrices about another axis; panels that look past the source's plane."""
import json
import re

import numpy as np
import pytest

from conebeam import Circle
from qbtest import fails, qb, qb_json, read_h5
from test_fdk_detector import matrices
from test_turned import ANGLES, BALLS, PIXEL, SDD, SOD, check

CIRCLE = ["--sod", SOD, "--sdd", SDD, "--pixel-size", PIXEL]


def rtk(folder, digits, gantry=0.0):
    """An RTK file as qb writes it, its matrices with fewer digits, its gantry angles turned."""
    qb("simulate", "ball", "--geometry", "cone", *CIRCLE, "--detector", "96,64", "--detector-offset", "3.3,-2.7", "--tilt", "1.5,0.7,0.4",
       "--views", 30, "-o", "s.h5", "--geometry-out", "g.xml", cwd=folder)
    text = (folder / "g.xml").read_text()
    assert "<Matrix>" in text

    def fewer(match):
        return "<Matrix>" + " ".join(f"{float(x):.{digits}g}" for x in match[1].split()) + "</Matrix>"

    text = re.sub(r"<Matrix>(.*?)</Matrix>", fewer, text, flags=re.S)
    text = re.sub(r"<GantryAngle>(.*?)</GantryAngle>", lambda m: f"<GantryAngle>{float(m[1]) + gantry:.12g}</GantryAngle>", text)
    (folder / "f.xml").write_text(text)


@pytest.mark.parametrize("digits", [6, 5])
def test_matrices_with_few_digits(tmp_path, digits):
    """What counts is where they put a shadow, in pixels."""
    rtk(tmp_path, digits)
    g = qb_json("info", "-g", "f.xml", cwd=tmp_path)
    assert g["problems"] == [] and abs(g["sod_mm"] - SOD) < 1e-3


def test_matrices_that_contradict_are_refused(tmp_path):
    rtk(tmp_path, 12, gantry=0.5)
    said = fails(3, "info", "-g", "f.xml", cwd=tmp_path, says=["f.xml", "pixels away", "without the Matrix elements"])
    # half a degree moves the field's rim, half the width from the axis, by that angle's arc
    assert 0.1 < float(re.search(r"points ([\d.]+) pixels", said)[1]) < 2
    text = (tmp_path / "f.xml").read_text()
    (tmp_path / "f.xml").write_text(re.sub(r"<Matrix>.*?</Matrix>", "", text, flags=re.S))
    assert qb_json("info", "-g", "f.xml", cwd=tmp_path)["problems"] == []


# Of the file's x, y and z: which are ours.
FRAMES = {"y": np.array([[1, 0, 0], [0, 0, 1], [0, -1, 0.0]]), "x": np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0.0]])}


@pytest.mark.parametrize("axis", ["x", "y"])
def test_matrices_about_another_axis(tmp_path, axis):
    """The frame is turned: asymmetric balls lie where they are, and the warning says what x, y and z are."""
    circle = Circle(SOD, SDD, 96, 64, PIXEL)
    to_file = FRAMES[axis]
    ours = matrices(circle, ANGLES).reshape(-1, 3, 4)
    theirs = np.concatenate([ours[:, :, :3] @ to_file.T, ours[:, :, 3:]], axis=2)
    np.savetxt(tmp_path / "g.csv", theirs.reshape(-1, 12), delimiter=",", fmt="%.15g")
    np.save(tmp_path / "g.npy", theirs)
    np.save(tmp_path / "p.npy", circle.project(BALLS, ANGLES))
    for name in ("g.csv", "g.npy"):
        done = qb("fdk", "p.npy", "-g", name, "--pixel-size", PIXEL, "-o", "v.h5", cwd=tmp_path)
        assert f"turn the source about {axis}" in done.stderr and "[frame-turned]" in done.stderr
        assert {"y": "x, -z, y", "x": "y, z, x"}[axis] in done.stderr
        check(read_h5(tmp_path / "v.h5"), PIXEL * SOD / SDD)
    g = qb_json("info", "-g", "g.csv", "--pixel-size", PIXEL, "--detector", "96,64", cwd=tmp_path)
    assert g["circular"] and abs(g["sod_mm"] - SOD) < 1e-6 and g["problems"] == []


def test_json_about_another_axis_is_refused(tmp_path):
    circle, views = Circle(SOD, SDD, 96, 64, PIXEL), []
    for angle in ANGLES:
        source, place = circle.view(angle)
        views.append({key: list(FRAMES["y"] @ vector) for key, vector in
                      (("source", source), ("detector", place[0, 0]), ("u", place[0, 1] - place[0, 0]), ("v", place[1, 0] - place[0, 0]))})
    (tmp_path / "g.json").write_text(json.dumps({"quickbeam_geometry": 1, "units": "mm", "beam": "cone", "rows": 64, "columns": 96, "views": views}))
    np.save(tmp_path / "p.npy", np.zeros((len(ANGLES), 64, 96), np.float32))
    says = ["the source turns about y", "(x, -z, y)", "3x4 matrices"]
    fails(3, "fdk", "p.npy", "-g", "g.json", "-o", "v.h5", says=says, cwd=tmp_path)
    fails(3, "info", "-g", "g.json", says=says, cwd=tmp_path)


@pytest.mark.parametrize("below,moved", [(-30, True), (28, True), (-4, False)])
def test_a_panel_beside_the_mid_plane(tmp_path, below, moved):
    """It sees z at the axis about below / magnification: the usual volume lies there, and says so."""
    circle = Circle(SOD, SDD, 96, 40, PIXEL, offset=(0, below))
    middle, size = below * SOD / SDD, PIXEL * SOD / SDD
    balls = [(mu, (x, y, 0.6 * z + middle), half) for mu, (x, y, z), half in BALLS]
    np.save(tmp_path / "p.npy", circle.project(balls, ANGLES))
    scan = ["p.npy", *CIRCLE, "--angles", "0:360", f"--detector-offset=0,{below}"]
    g = qb_json("info", *CIRCLE, "--angles", "0:360:120", "--detector", "96,40", f"--detector-offset=0,{below}")
    assert abs(g["field_z_mm"] - middle) < 1e-6
    z = g["volume"]["offset_mm"][2]
    assert abs(z - (middle if moved else 0)) <= size / 2 and g["problems"] == []
    for method in (["fdk"], ["cgls", "--iterations", "1"]):
        done = qb(method[0], *scan, *method[1:], "-o", "v.h5", cwd=tmp_path)
        assert (f"about z = {z:.5g} mm (--offset X,Y,Z moves it)" in done.stderr) == moved
    qb("fdk", *scan, "-o", "v.h5", cwd=tmp_path)
    if moved:
        v = read_h5(tmp_path / "v.h5")
        zs = (np.arange(v.shape[0]) - (v.shape[0] - 1) / 2) * size + z
        for mu, (x, y, at), _ in balls:
            ix, iy = (round(c / size + (v.shape[2] - 1) / 2) for c in (x, y))
            line = np.maximum(v[:, iy, ix] - mu / 4, 0)
            assert abs((line * zs).sum() / line.sum() - at) < size / 2
    asked = qb("plan", "fdk", *scan, "--offset", "0,0,0", "-o", "v.h5", cwd=tmp_path).stderr
    assert "moves it" not in asked
