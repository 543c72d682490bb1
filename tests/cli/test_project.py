# SPDX-License-Identifier: MIT
"""Simulated scans of any geometry, against formulas and against one another."""
import json

import h5py
import numpy as np
import pytest

from qbtest import fails, leftovers, provenance_h5, qb, read_h5

CONE = ["--geometry", "cone", "--sod", "500", "--sdd", "800", "--pixel-size", "1.6"]
FAULTS = ["--jitter", "3,2,2,40", "--tilt", "0,3,2", "--detector-offset", "4,-3"]


def theta(path):
    with h5py.File(path) as f:
        return f["/exchange/theta"][()]


def ball_lines(geometry, radius, value):
    """Line integrals of a ball about the origin for the views of a JSON geometry, from the vectors alone."""
    g = json.loads(geometry.read_text())
    r, c = np.mgrid[:g["rows"], :g["columns"]]
    lines = []
    for view in g["views"]:
        s, d, u, v = (np.array(view[k]) for k in ("source", "detector", "u", "v"))
        if g.get("radius"):
            pitch, n = np.linalg.norm(u), np.cross(u, v)
            n *= np.sign(n @ (s - d)) / np.linalg.norm(n)
            a = (c - (g["columns"] - 1) / 2) * pitch / g["radius"]
            along = (g["columns"] - 1) / 2 + g["radius"] * np.sin(a) / pitch
            p = d + along[..., None] * u + r[..., None] * v + (g["radius"] * (1 - np.cos(a)))[..., None] * n
        else:
            p = d + c[..., None] * u + r[..., None] * v
        ray = p - s
        ray /= np.linalg.norm(ray, axis=2)[..., None]
        nearest = s @ s - (ray @ s) ** 2
        lines.append(2 * value * np.sqrt(np.maximum(radius ** 2 - nearest, 0)))
    return np.array(lines)


def test_a_circle_from_a_file_is_the_circle(tmp_path):
    a, b, g = tmp_path / "a.h5", tmp_path / "b.h5", tmp_path / "g.json"
    how = ["--detector", "40,30", "--views", "25", "--angles", "20:320"]
    qb("simulate", "spheres", *CONE, *how, "-o", a, "--geometry-out", g)
    qb("simulate", "spheres", "-g", g, "-o", b)
    assert np.abs(read_h5(a) - read_h5(b)).max() < 2e-6
    assert np.allclose(theta(a), theta(b), atol=1e-9)
    assert provenance_h5(b)["geometry"] == {"file": str(g)}
    g.unlink()
    qb("simulate", "spheres", "--detector", "32,20", "--views", "19", "-o", a, "--geometry-out", g)
    qb("simulate", "spheres", "-g", g, "-o", b)
    assert np.abs(read_h5(a) - read_h5(b)).max() < 2e-6


@pytest.mark.parametrize("more", [[], ["--detector-radius", "700"]])
def test_faults_move_the_shadow_as_the_vectors_say(tmp_path, more):
    scan, g = tmp_path / "s.h5", tmp_path / "g.json"
    qb("simulate", "ball", *CONE, *FAULTS, *more, "--detector", "60,50", "--views", "12", "-o", scan, "--geometry-out", g)
    lines = -np.log(read_h5(scan).astype(float))
    want = ball_lines(g, 0.4 * 50, 0.02)
    assert want.max() > 0.7 and np.abs(lines - want).max() < 2e-6


@pytest.mark.parametrize("ending", ["txt", "xml"])
def test_matrices_and_rtk_files_too(tmp_path, ending):
    scan, again, g = tmp_path / "s.h5", tmp_path / "t.h5", tmp_path / f"g.{ending}"
    qb("simulate", "spheres", *CONE, "--detector-offset", "4,-3", "--detector", "40,30", "--views", "10", "-o", scan,
       "--geometry-out", g)
    qb("simulate", "spheres", "-g", g, "--detector", "40,30", "--pixel-size", "1.6", "-o", again)
    assert np.abs(read_h5(scan) - read_h5(again)).max() < 1e-5


def test_a_jittered_scan_gives_the_ball_back(tmp_path):
    scan, g, out = tmp_path / "s.h5", tmp_path / "g.json", tmp_path / "v.h5"
    qb("simulate", "ball", *CONE, *FAULTS, "--detector", "128,96", "--views", "240", "-o", scan, "--geometry-out", g)
    qb("fdk", scan, "-g", g, "-o", out)
    v = read_h5(out)[47:49]
    z, y, x = np.indices(v.shape)
    inside = np.hypot(x - (v.shape[2] - 1) / 2, y - (v.shape[1] - 1) / 2) < 0.8 * 0.4 * 96
    assert abs(v[inside].mean() / 0.02 - 1) < 0.005


def test_simulate_refuses(tmp_path):
    g, out = tmp_path / "g.json", tmp_path / "s.h5"
    qb("simulate", "ball", *CONE, "--detector", "16,16", "--views", "5", "-o", out, "--geometry-out", g)
    out.unlink()
    fails(2, "simulate", "ball", "-g", g, "--sod", "500", "-o", out, says=["sod", g])
    fails(2, "simulate", "ball", "-g", g, "--angles", "0:90", "-o", out, says=["angles", g])
    fails(3, "simulate", "ball", "-g", g, "--views", "6", "-o", out, says=["5 views", "6"])
    fails(3, "simulate", "ball", "-g", g, "--detector", "16,17", "-o", out, says=["16 rows", "17"])
    fails(2, "simulate", "ball", "--tilt", "0,1,0", "-o", out, says=["tilt", "cone"])
    fails(3, "simulate", "ball", "-g", tmp_path / "none.json", "-o", out, says=["none.json"])
    views = json.loads(g.read_text())
    views.update(sod=2, sdd=300)
    g.write_text(json.dumps(views))
    fails(3, "simulate", "ball", "-g", g, "--size", "600,600,600", "-o", out, says=["view 0", "through the phantom"])
    assert leftovers(tmp_path, "g.json") == []
