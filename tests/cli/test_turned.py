# SPDX-License-Identifier: MIT
"""A flat detector that is turned in its plane by 45, 60 or 90 degrees: its field of view, and what every method makes of it."""
import json
import re

import numpy as np
import pytest

from conebeam import Circle, voxels
from qbtest import fails, few, qb, qb_json, read_h5

SOD, SDD, PIXEL, MU = 300.0, 480.0, 1.0, 0.02
ANGLES = np.arange(120) * 3.0
# Three balls of different sizes, no two of them images of each other by a mirror or a turn.
BALLS = [(MU, (9, 3, 5), (4, 4, 4)), (MU, (-7, 8, -6), (3, 3, 3)), (MU, (-2, -10, 1), (5, 5, 5))]


def field(turn, columns, rows):
    """(radius, height on the axis) in mm that all views of a full turn see."""
    c, s = abs(np.cos(np.radians(turn))), abs(np.sin(np.radians(turn)))
    # Level and upright lines through the middle; the outermost pixels' middles bound the radius, their edges the height.
    def chord(c, s, columns, rows):
        return min(columns / c if c > 1e-9 else np.inf, rows / s if s > 1e-9 else np.inf)
    across = chord(c, s, columns - 1 + s, rows - 1 + c) * PIXEL
    along = chord(s, c, columns - 1 + s, rows - 1 + c) * PIXEL
    return SOD * np.sin(np.arctan(across / 2 / SDD)), along * SOD / SDD


def check(volume, size, offset=(0, 0, 0), close=0.02):
    """Every ball is where it is, to half a voxel, and has its value."""
    x, y, z = voxels(volume.shape, size, offset)
    for value, center, half in BALLS:
        r = np.sqrt((x - center[0]) ** 2 + (y - center[1]) ** 2 + (z - center[2]) ** 2)
        near = np.where(r < half[0] + 1.5, np.maximum(volume - volume.max() / 4, 0), 0)
        found = [float((near * axis).sum() / near.sum()) for axis in (x, y, z)]
        assert np.allclose(found, center, atol=size / 2), (found, center)
        assert abs(volume[r < half[0] - 1.2].mean() / value - 1) < close


CASES = few((45, 96, 96), (60, 64, 128), (90, 64, 96), others=[(-45, 128, 64), (-60, 64, 128), (-90, 64, 96), (135, 96, 96), (120, 96, 96)])


@pytest.mark.parametrize("turn,columns,rows", CASES)
def test_the_field_is_of_the_turned_panel(tmp_path, turn, columns, rows):
    circle = ["--sod", SOD, "--sdd", SDD, "--pixel-size", PIXEL, "--detector", f"{columns},{rows}", f"--tilt={turn},0,0"]
    g = qb_json("info", *circle, "--angles", "0:360:60")
    radius, height = field(turn, columns, rows)
    assert g["problems"] == [] and g["weights"] == "none" and g["resampled"]
    assert abs(g["field_radius_mm"] / radius - 1) < 0.005
    assert abs(g["field_height_mm"] / height - 1) < 0.005 and abs(g["field_z_mm"]) < 1e-6
    size = PIXEL * SOD / SDD
    nx, ny, nz = g["volume"]["size"]
    assert np.allclose(g["volume"]["voxel_mm"], size)
    assert nx == ny and abs(nx * size / 2 / radius - 1) < 0.03 and abs(nz * size / height - 1) < 0.03


@pytest.mark.parametrize("turn,columns,rows", CASES)
def test_values_and_places(tmp_path, turn, columns, rows):
    circle = Circle(SOD, SDD, columns, rows, PIXEL, tilt=(turn, 0, 0))
    np.save(tmp_path / "p.npy", circle.project(BALLS, ANGLES))
    scan = [tmp_path / "p.npy", *circle.args(), "--angles", "0:360", f"--tilt={turn},0,0"]
    done = qb("fdk", *scan, "-o", tmp_path / "v.h5")
    assert "resampled" in done.stderr and "warning" not in done.stderr
    v = read_h5(tmp_path / "v.h5")
    check(v, PIXEL * SOD / SDD)
    radius, _ = field(turn, columns, rows)
    qb("fdk", *scan, "--outside", "nan", "-o", tmp_path / "m.h5")
    m, (x, y, z) = read_h5(tmp_path / "m.h5"), voxels(v.shape, PIXEL * SOD / SDD)
    r = np.hypot(x, y)
    assert np.isnan(m[r > 1.02 * radius]).all() and not np.isnan(m[(abs(z) < 0.5) & (r < 0.97 * radius)]).any()
    if (turn, columns) == (90, 64):
        for method, times in ("sirt", 2), ("cgls", 5):
            qb(method, *scan, "--iterations", times, "-o", tmp_path / "i.h5")
            assert read_h5(tmp_path / "i.h5").shape == v.shape
            check(read_h5(tmp_path / "i.h5"), PIXEL * SOD / SDD, close=0.1 if method == "cgls" else 1) # few steps: places, not values, of sirt


def test_exact_columns_along_the_axis(tmp_path):
    """No rounding in the vectors: nothing is divided by zero."""
    views = []
    for t in np.radians(ANGLES):
        ray, side = np.array([-np.sin(t), np.cos(t), 0]), np.array([np.cos(t), np.sin(t), 0])
        u, v = np.array([0, 0, -PIXEL]), side * PIXEL
        views.append({"source": list(-SOD * ray), "detector": list((SDD - SOD) * ray - 31.5 * u - 47.5 * v), "u": list(u), "v": list(v)})
    (tmp_path / "g.json").write_text(json.dumps({"quickbeam_geometry": 1, "units": "mm", "beam": "cone", "rows": 96, "columns": 64, "views": views}))
    np.save(tmp_path / "p.npy", Circle(SOD, SDD, 64, 96, PIXEL, tilt=(90, 0, 0)).project(BALLS, ANGLES))
    qb("fdk", tmp_path / "p.npy", "-g", tmp_path / "g.json", "-o", tmp_path / "v.h5")
    check(read_h5(tmp_path / "v.h5"), PIXEL * SOD / SDD)
    fails(2, "fdk", tmp_path / "p.npy", "-g", tmp_path / "g.json", "-o", tmp_path / "n.h5", "--resample", "never",
          says=["turned by 90 degrees", "leave --resample never out"])


def test_simulated_and_projected(tmp_path):
    """simulate and project see what fdk sees: the phantom of simulate fills the turned panel's box."""
    turned = ["--sod", SOD, "--sdd", SDD, "--pixel-size", PIXEL, "--detector", "64,96", "--tilt", "90,0,0"]
    qb("simulate", "spheres", "--geometry", "cone", *turned, "--views", 90, "-o", "s.h5", "--truth", "t.h5", cwd=tmp_path)
    truth = read_h5(tmp_path / "t.h5")
    assert truth.shape == (64, 96, 96)
    qb("fdk", "s.h5", *turned[:6], "--tilt", "90,0,0", "--filter", "hann", "-o", "v.h5", cwd=tmp_path)
    assert qb_json("compare", "v.h5", "t.h5", cwd=tmp_path)["rel_l2"] < 0.2
    qb("project", "t.h5", *turned, "--views", 90, "--angles", "0:360", "-o", "p.h5", cwd=tmp_path)
    qb("fdk", "p.h5", *turned[:6], "--tilt", "90,0,0", "--filter", "hann", "-o", "w.h5", cwd=tmp_path)
    assert qb_json("compare", "w.h5", "v.h5", cwd=tmp_path)["rel_l2"] < 0.1


def test_leaning_is_limited_and_turning_is_not():
    circle = ["info", "--sod", SOD, "--sdd", SDD, "--pixel-size", PIXEL, "--detector", "64,64", "--angles", "0:360:60"]
    assert qb_json(*circle, "--tilt", "180,0,0")["problems"] == []
    said = fails(2, *circle, "--tilt", "0,90,0", says=["--tilt", "90 degrees"])
    assert re.search("at most 89", said)
