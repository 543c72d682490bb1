# SPDX-License-Identifier: MIT
"""A parallel beam's detector that is turned in its plane, shifted from view to view, or leaning."""
import json
import os

import numpy as np
import pytest

from qbtest import Shim, fails, few, opencl, qb, qb_json, read_h5  # noqa: F401 (opencl is a fixture)

QUICK = os.environ.get("QB_QUICK")
N, ROWS, VIEWS, PIXEL = 96, 64, 150, 0.5


def geometry(path, turn=0.0, column=47.5, row=31.5, climb=0.0, shift=lambda t: (0, 0), pitch_v=PIXEL, views=VIEWS,
             span=180, columns=N, rows=ROWS):
    """Turned about the pixel (column, row), which the axis' origin falls on, right-handed about the rays."""
    c, s, list_of_views = np.cos(np.radians(turn)), np.sin(np.radians(turn)), []
    for t in np.radians(np.arange(views) * span / views):
        ray = np.array([-np.sin(t) * np.cos(climb), np.cos(t) * np.cos(climb), np.sin(climb)])
        right, up = np.array([np.cos(t), np.sin(t), 0]), np.array([0, 0, 1])
        u, v = PIXEL * (c * right - s * up), pitch_v * (s * right + c * up)
        dc, dr = shift(t)
        corner = 100 * ray - (column + dc) * u - (row + dr) * v
        list_of_views.append({"source": list(ray), "detector": list(corner), "u": list(u), "v": list(v)})
    (path / "g.json").write_text(json.dumps({"quickbeam_geometry": 1, "units": "mm", "beam": "parallel", "rows": rows,
                                             "columns": columns, "views": list_of_views}))


def reference(folder, phantom):
    qb("simulate", phantom, "-o", "level.h5", "--views", VIEWS, "--detector", f"{N},{ROWS}", "--pixel-size", PIXEL, cwd=folder)
    qb("fbp", "level.h5", "-o", "level_v.h5", "--center", 47.5, "--filter", "hann", cwd=folder)
    return read_h5(folder / "level_v.h5")


def off(volume, truth, rows=slice(12, 52), radius=40):
    y, x = np.mgrid[:N, :N] - (N - 1) / 2
    inside = np.hypot(x, y) < radius
    a, b = volume[rows][:, inside], truth[rows][:, inside]
    return np.sqrt(((a - b) ** 2).mean() / (b**2).mean())


@pytest.mark.parametrize("turn", [3.0, -1.5])
def test_tilt_makes_rows_level(tmp_path, turn):
    truth = reference(tmp_path, "spheres")
    geometry(tmp_path, turn)
    qb("simulate", "spheres", "-g", "g.json", "-o", "s.h5", "--size", f"{N},{N},{ROWS}", cwd=tmp_path)
    done = qb("fbp", "s.h5", "-o", "v.h5", "--center", 47.5, "--filter", "hann", "--tilt", turn, cwd=tmp_path)
    assert "from one rolled by" in done.stderr and "slices lie partly beyond" in done.stderr
    assert off(read_h5(tmp_path / "v.h5"), truth) < 0.05 # the rims of spheres
    qb("fbp", "s.h5", "-o", "g.h5", "-g", "g.json", "--filter", "hann", cwd=tmp_path)
    assert off(read_h5(tmp_path / "g.h5"), truth) < 0.05
    qb("fbp", "s.h5", "-o", "not.h5", "--center", 47.5, "--filter", "hann", cwd=tmp_path)
    assert off(read_h5(tmp_path / "not.h5"), truth) > 0.1
    qb("fbp", "s.h5", "-o", "m.h5", "--center", 47.5, "--filter", "hann", "--tilt", turn, "--slices", "20:40",
       "--max-ram", "60M", "--threads", 2, cwd=tmp_path)
    assert np.array_equal(read_h5(tmp_path / "m.h5"), read_h5(tmp_path / "v.h5")[20:40])
    qb("fbp", "s.h5", "-o", "t.h5", "--center", 47.5, "--filter", "hann", "--tilt", turn, "--slices", "20:40:3", cwd=tmp_path)
    assert abs(read_h5(tmp_path / "t.h5") - read_h5(tmp_path / "v.h5")[20:40:3]).max() < 1e-3 * truth.max()


def test_views_shifted_one_by_one(tmp_path):
    """Columns and rows of jitter, the origin off the middle row: slices lie where z says."""
    truth = reference(tmp_path, "spheres")
    geometry(tmp_path, 1.0, column=49, row=29.25, shift=lambda t: (2 * np.sin(7 * t), 1.5 * np.cos(5 * t)))
    qb("simulate", "spheres", "-g", "g.json", "-o", "s.h5", "--size", f"{N},{N},{ROWS}", cwd=tmp_path)
    qb("fbp", "s.h5", "-o", "v.h5", "-g", "g.json", "--filter", "hann", "--like", "level_v.h5", "--slices", "20:44", cwd=tmp_path)
    assert off(np.pad(read_h5(tmp_path / "v.h5"), ((20, 20), (0, 0), (0, 0))), truth, slice(22, 42)) < 0.06


def test_devices_take_level_rows(opencl, tmp_path):
    """The CPU prepares and resamples, the device goes on: as the CPU alone, however it is cut, of a full turn about an
    axis to one side and of an axis that wanders as well."""
    geometry(tmp_path, 1.0, column=49, row=29.25, shift=lambda t: (2 * np.sin(7 * t), 1.5 * np.cos(5 * t)), views=60)
    qb("simulate", "spheres", "-g", "g.json", "-o", "w.h5", "--size", f"{N},{N},{ROWS}", "--photons", 20000, cwd=tmp_path)
    geometry(tmp_path, 2.0, column=70, views=90, span=360)
    qb("simulate", "spheres", "-g", "g.json", "-o", "s.h5", "--size", f"{N},{N},{ROWS}", cwd=tmp_path)
    geometry(tmp_path, 1.0, column=49, row=29.25, shift=lambda t: (2 * np.sin(7 * t), 1.5 * np.cos(5 * t)), views=60)
    same = ("--device", opencl, "--kernel", "bp_parallel_linear.alu")
    for args in (("s.h5", "--center", 70, "--tilt", 2), ("w.h5", "-g", "g.json"), ("w.h5", "-g", "g.json", "--slices", "20:41:3")):
        qb("fbp", *args, "-o", "c.h5", "--accuracy", "high", "--device", "cpu", cwd=tmp_path)
        qb("fbp", *args, "-o", "d.h5", *same, cwd=tmp_path)
        cpu, device = read_h5(tmp_path / "c.h5"), read_h5(tmp_path / "d.h5")
        assert abs(cpu - device).max() < 2e-6 * abs(cpu).max()
        shim = Shim(tmp_path)
        plan = qb_json("plan", "fbp", *args, "-o", "e.h5", *same, "--max-vram", "600K", cwd=tmp_path)
        qb("fbp", *args, "-o", "e.h5", *same, "--max-vram", "600K", "--threads", 1, cwd=tmp_path, env=shim.env)
        assert plan["chunks"] > 1 and np.array_equal(read_h5(tmp_path / "e.h5"), device)
        assert 0.8 * plan["device_memory_bytes"] < shim.counted()["peak_bytes"] <= plan["device_memory_bytes"]


@pytest.mark.parametrize("phantom,turn,column", few(
    ("spheres", -1.0, 85.25), ("shepp-logan", 2.0, 79.5), others=[("foam", 2.0, 79.5), ("shepp-logan", -1.0, 79.5)]))
def test_the_lean_is_measured(tmp_path, phantom, turn, column):
    """What rows show of it at first depends on the object: 17 % of it the nearly round Shepp-Logan; pictures as a whole
    show it, as edges move up on one side and down on the other. The axis'
    column is that in the detector's middle row."""
    geometry(tmp_path, turn, column, row=59.5, views=180, columns=160, rows=120)
    qb("simulate", phantom, "-g", "g.json", "-o", "s.h5", "--size", "160,160,120", cwd=tmp_path)
    found = qb_json("center", "s.h5", cwd=tmp_path)
    assert abs(found["tilt"] / turn - 1) < 0.05, found
    assert f"--tilt {found['tilt']:.3f}" in found["warning"]
    level = qb_json("center", "s.h5", "--tilt", turn, cwd=tmp_path)
    assert abs(level["column"] - column) < 0.25 and "leans" not in level.get("warning", "")


def test_what_slices_cannot_do(tmp_path):
    qb("simulate", "disc", "-o", "s.h5", "--views", VIEWS, "--detector", f"{N},{ROWS}", "--pixel-size", PIXEL, cwd=tmp_path)
    geometry(tmp_path, climb=0.1)
    fails(3, "fbp", "s.h5", "-g", "g.json", "-o", "v.h5", says=["g.json", "view 0", "laminography", "sirt"], cwd=tmp_path)
    geometry(tmp_path)
    fails(2, "fbp", "s.h5", "-g", "g.json", "--center", 40, "-o", "v.h5", says=["leave out --center"], cwd=tmp_path)
    fails(2, "fbp", "s.h5", "-g", "g.json", "--tilt", 1, "-o", "v.h5", says=["leave out --tilt"], cwd=tmp_path)
    geometry(tmp_path, views=VIEWS + 1)
    fails(3, "fbp", "s.h5", "-g", "g.json", "-o", "v.h5", says=["151 views", "150"], cwd=tmp_path)
    geometry(tmp_path, column=70, shift=lambda t: (3 * np.sin(t), 0), span=360)
    fails(3, "fbp", "s.h5", "-g", "g.json", "-o", "v.h5", says=["the axis wanders by 3", "sirt"], cwd=tmp_path)
    (tmp_path / "g.json").write_text('{"quickbeam_geometry": 1, "units": "mm", "beam": "cone", "rows": %d, "columns": %d, "sod": 100, '
                                     '"sdd": 200, "pixel_size": [0.5, 0.5], "angles_degrees": {"from": 0, "to": 360, "count": %d}}'
                                     % (ROWS, N, VIEWS))
    fails(2, "fbp", "s.h5", "-g", "g.json", "-o", "v.h5", says=["cone", "qb fdk"], cwd=tmp_path)
