# SPDX-License-Identifier: MIT
"""Simulated scans of any geometry, against formulas and against one another."""
import json
import re

import h5py
import numpy as np
import pytest

from qbtest import fails, leftovers, memory_is_ours, provenance_h5, qb, qb_json, read_h5

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
            touch = -(d @ u) / (u @ u)  # where the axis falls
            a = (c - touch) * pitch / g["radius"]
            along = touch + g["radius"] * np.sin(a) / pitch
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


# ---- qb project ----


def lines_of(scan):
    return -np.log(read_h5(scan).astype(float))


def close_to_the_formula(made, exact, grain=1):
    """Of a voxelised object: where rays do not graze its surface, and on the whole. Interpolation blurs by half a
    voxel, which matters the more, the smaller the object is: `grain` times as much."""
    assert made.shape == exact.shape
    thick = exact > 0.5 * exact.max()
    assert abs(made[thick].mean() / exact[thick].mean() - 1) < 0.002 * grain
    assert np.sqrt(np.mean((made - exact)[thick] ** 2)) < 0.005 * grain * exact.max()
    assert np.sqrt(np.mean((made - exact) ** 2)) < 0.01 * grain * exact.max()


def test_cone_as_the_formula_says_and_back(tmp_path):
    scan, truth, made, g, out = (tmp_path / n for n in ("s.h5", "t.h5", "p.h5", "g.json", "v.h5"))
    qb("simulate", "ball", *CONE, "--detector", "128,96", "--views", "240", "-o", scan, "--truth", truth)
    qb("project", truth, "--sod", "500", "--sdd", "800", "--views", "240", "-o", made, "--geometry-out", g)
    close_to_the_formula(read_h5(made), lines_of(scan))
    assert np.allclose(theta(made), theta(scan), atol=1e-9)
    qb("fdk", made, "-g", g, "-o", out)
    v = read_h5(out)[47:49]
    z, y, x = np.indices(v.shape)
    inside = np.hypot(x - 63.5, y - 63.5) < 0.8 * 0.4 * 96
    assert abs(v[inside].mean() / 0.02 - 1) < 0.005
    # The circle of the options is the circle of the file.
    qb("project", truth, "-g", g, "-o", tmp_path / "q.h5")
    assert np.abs(read_h5(tmp_path / "q.h5") - read_h5(made)).max() < 1e-5
    qb("fdk", made, "--sod", "500", "--sdd", "800", "-o", out)


def test_parallel_as_the_formula_says_and_back(tmp_path):
    scan, truth, made, out = (tmp_path / n for n in ("s.h5", "t.h5", "p.h5", "v.h5"))
    how = ["--views", "150", "--center-offset", "3"]
    qb("simulate", "spheres", *how, "--detector", "96,40", "--pixel-size", "0.1", "-o", scan, "--truth", truth)
    qb("project", truth, "-g", "parallel", *how, "-o", made)
    close_to_the_formula(read_h5(made), lines_of(scan), grain=8)  # radii of 3 voxels and more
    qb("fbp", made, "--center", "50.5", "-o", out)
    a, b = read_h5(out), read_h5(truth)
    assert np.corrcoef(a.ravel(), b.ravel())[0, 1] > 0.98
    assert max(np.corrcoef(np.flip(a, axis).ravel(), b.ravel())[0, 1] for axis in (0, 1, 2)) < 0.5
    qb("simulate", "disc", *how, "--detector", "96,4", "--pixel-size", "0.1", "-o", scan, "--truth", truth)
    qb("project", truth, "-g", "parallel", *how, "-o", made)
    qb("fbp", made, "--center", "50.5", "-o", out)
    y, x = np.indices((96, 96)) - 47.5
    assert abs(read_h5(out)[:, np.hypot(x, y) < 0.7 * 48].mean() / 0.02 - 1) < 0.005


@pytest.mark.parametrize("more", [[], ["--detector-radius", "700"]])
def test_any_geometry_as_the_formula_says(tmp_path, more):
    scan, truth, made, g = (tmp_path / n for n in ("s.h5", "t.mha", "p.h5", "g.json"))
    qb("simulate", "ball", *CONE, *FAULTS, *more, "--detector", "100,90", "--views", "9", "-o", scan, "--truth", truth,
       "--geometry-out", g)
    qb("project", truth, "-g", g, "-o", made)
    close_to_the_formula(read_h5(made), lines_of(scan))


def test_same_bits_however_cut(tmp_path):
    truth, first = tmp_path / "t.npy", None
    qb("simulate", "spheres", "--size", "64,60,300", "--views", "2", "-o", tmp_path / "s.npy", "--truth", truth)
    args = ["project", truth, "--sod", "2000", "--sdd", "3000", "--tilt", "1,2,0", "--views", "41", "--detector", "70,330",
            "--device", "cpu"] # what is loaded to look for others would count, too
    told = fails(2, *args, "-o", "p.npy", "--max-ram", "2M", says=["need"])
    cap = int((float(re.search(r"need ([\d.]+) MiB", told).group(1)) + 1) * (1 << 20))
    for options in (["--threads", "1"], ["--threads", "3"], ["--max-ram", cap]):
        plan = qb_json("plan", *args, *options, "-o", "p.npy")
        assert (plan["chunks"] > 1) == ("--max-ram" in options)
        qb(*args, *options, "-o", tmp_path / "p.npy")
        made = np.load(tmp_path / "p.npy")
        first = made if first is None else first
        assert np.array_equal(first, made)


@memory_is_ours
def test_memory_cap(tmp_path):
    """A volume larger than the cap passes by in slabs."""
    from test_memory import peak_of
    volume, out = tmp_path / "v.npy", tmp_path / "p.h5"
    np.save(volume, np.random.default_rng(1).random((512, 160, 160), np.float32))
    args = ["project", volume, "--voxel", "1", "--sod", "1500", "--sdd", "2000", "--views", "60", "-o", out, "--threads", "2"]
    cap = 48 << 20
    plan = qb_json("plan", *args, "--max-ram", cap)
    assert plan["chunks"] > 1 and plan["volume_reads"] > 1
    peak = peak_of([*args, "--max-ram", cap], plan["memory_bytes"])
    assert peak <= cap and abs(plan["memory_bytes"] / peak - 1) < 0.15
    fails(2, *args, "--max-ram", "8M", says=["--max-ram of 8.0 MiB is too small", "need"])


def test_what_a_volume_is_made_of(tmp_path):
    """Hounsfield units, integers with their scale, voxels and place from the file or from options."""
    scan, truth, one, two, g = (tmp_path / n for n in ("s.h5", "t.h5", "p.h5", "q.h5", "g.json"))
    qb("simulate", "spheres", "--detector", "48,20", "--views", "70", "--pixel-size", "0.5", "-o", scan)
    # Half precision, where this CPU has it, rounds other units otherwise.
    where = ["--center", "23.5", "--offset", "1,-2", "--accuracy", "high"]
    qb("fbp", scan, *where, "-o", truth)
    place = ["-g", "parallel", "--views", "12", "--detector", "48,20"]
    qb("project", truth, *place, "-o", one)
    lines = read_h5(one)
    for name, options, more, bound in (("hu.mha", ["--hu", "0.02"], ["--hu", "0.02"], 2e-4),
                                       ("small.h5", ["--dtype", "uint16", "--range=-0.01,0.04"], [], 2e-3)):
        qb("fbp", scan, *where, *options, "-o", tmp_path / name)
        qb("project", tmp_path / name, *place, *more, "-o", two)
        assert np.abs(read_h5(two) - lines).max() < bound * lines.max()
    fails(3, "project", tmp_path / "hu.mha", *place, "-o", two, says=["Hounsfield", "--hu"])
    np.save(tmp_path / "bare.npy", read_h5(truth))
    qb("project", tmp_path / "bare.npy", *place, "--voxel", "0.5", "--offset", "1,-2", "-o", two)
    assert np.array_equal(read_h5(two), lines)
    said = qb("project", tmp_path / "bare.npy", *place, "-o", two).stderr
    assert "lengths are in voxels" in said
    qb("project", truth, *place, "--dtype", "float16", "-o", two, "--preview", tmp_path / "p.png")
    assert read_h5(two).dtype == np.float16 and np.abs(read_h5(two) - lines).max() < 1e-3 * lines.max()
    assert (tmp_path / "p.png").exists()


def test_project_refuses(tmp_path):
    scan, truth, bare, out = (tmp_path / n for n in ("s.h5", "t.h5", "bare.npy", "p.h5"))
    qb("simulate", "ball", "--size", "32", "--views", "8", "-o", scan, "--truth", truth, "--pixel-size", "1")
    np.save(bare, np.zeros((8, 8, 8), np.float32))
    circle = ["--sod", "500", "--sdd", "800"]
    fails(3, "project", truth, "--sod", "10", "--sdd", "800", "-o", out, says=["view 0", "inside the volume"])
    fails(3, "project", bare, *circle, "-o", out, says=[bare, "--voxel"])
    fails(3, "project", scan, *circle, "-o", out, says=[scan, "projections", "not a volume"])
    fails(3, "project", tmp_path / "none.h5", *circle, "-o", out, says=["none.h5"])
    fails(2, "project", truth, "-o", out, says=["--sod and --sdd"])
    fails(2, "project", truth, *circle, says=["-o OUTPUT"])
    fails(2, "project", truth, *circle, "-o", truth, says=["overwrite the input"])
    fails(2, "project", truth, *circle, "-o", out, "--dtype", "uint16", says=["float32 or float16"])
    fails(2, "project", truth, *circle, "-o", out, "--kernel", "project_joseph.z80", says=["project_joseph.z80"])
    fails(2, "project", truth, *circle, "-o", out, "--geometry-out", "g.zip", says=["g.zip"])
    fails(3, "project", truth, *circle, "-o", out, "--offset", "0,0,4000", says=["view"])
    assert leftovers(tmp_path, "s.h5", "t.h5", "bare.npy") == []


@pytest.mark.parametrize("rows, pitch, beyond", [(24, 1, 0), (20, 1, 0), (32, 1, 8), (32, 0.75, 2), (72, 1 / 3, 2)])
def test_rows_beyond_a_cut_object(tmp_path, rows, pitch, beyond):
    """A cylinder that fills all 24 slices of 1 mm: a row d mm beyond the middle of the last one sees 1 - d of it, down to nothing."""
    volume = np.zeros((24, 32, 32), "f4")
    volume[:, 8:24, 8:24] = 0.02
    np.save(tmp_path / "v.npy", volume)
    done = qb("project", "v.npy", "-g", "parallel", "--voxel", 1, "--views", 1, "--detector", f"33,{rows}", "--pixel-size", f"1,{pitch}", "-o", "p.npy", cwd=tmp_path)
    assert (f"{beyond} of {rows} rows look past" in done.stderr) == (beyond > 0) and ("project-ends" in done.stderr) == (beyond > 0)
    z = np.abs((np.arange(rows) - (rows - 1) / 2) * pitch)
    assert np.load(tmp_path / "p.npy")[0, :, 16] == pytest.approx(0.32 * np.clip(12.5 - z, 0, 1), abs=1e-4)


def test_an_object_that_ends_within_the_volume(tmp_path):
    volume = np.zeros((24, 32, 32), "f4")
    volume[4:20, 8:24, 8:24] = 0.02
    np.save(tmp_path / "v.npy", volume)
    assert "project-ends" not in qb("project", "v.npy", "-g", "parallel", "--voxel", 1, "--views", 4, "--detector", "33,40", "-o", "p.npy", cwd=tmp_path).stderr
