# SPDX-License-Identifier: MIT
"""What a scan cannot give is said: paths that are none for FDK, voxels that no view sees, every warning in the metadata."""
import json

import h5py
import numpy as np
import pytest

from qbtest import fails, qb, qb_json, read_h5, write_scan

CIRCLE = ["--geometry", "cone", "--sod", "200", "--sdd", "400", "--views", "60", "--detector", "48,32", "--pixel-size", "1"]


def told(path):
    with h5py.File(path) as f:
        return json.loads(f["/process/quickbeam/provenance"][()])


def helix(folder, pitch, lift=0):
    """A simulated circle, and the same scan stated with sources and detectors that rise, or are all lifted or lowered."""
    qb("simulate", "ball", "-o", "c.h5", *CIRCLE, cwd=folder)
    views = []
    for i in range(60):
        t, z = 2 * np.pi * i / 60, pitch * (i / 60 - 0.5)
        toward, u, v = np.array([-np.sin(t), np.cos(t), 0]), np.array([np.cos(t), np.sin(t), 0]), np.array([0, 0, 1.0])
        first = 200 * toward - 23.5 * u - 15.5 * v + [0, 0, z - lift]
        views.append({"source": list(-200 * toward + [0, 0, z + lift]), "detector": list(first), "u": list(u), "v": list(v)})
    (folder / "h.json").write_text(json.dumps({"quickbeam_geometry": 1, "units": "mm", "beam": "cone", "rows": 32,
                                               "columns": 48, "views": views}))


def test_a_helix_is_refused(tmp_path):
    helix(tmp_path, 20)
    report = qb_json("info", "-g", "h.json", cwd=tmp_path)
    sentence = next(p for p in report["problems"] if "FDK is made for circles" in p).split(" [")[0]
    fails(3, "fdk", "c.h5", "-g", "h.json", "-o", "v.h5", says=[sentence, "sirt, cgls", "--force"], cwd=tmp_path)
    assert not (tmp_path / "v.h5").exists()
    done = qb_json("fdk", "c.h5", "-g", "h.json", "-o", "v.h5", "--force", cwd=tmp_path)
    assert any(sentence in w for w in done["warnings"])
    assert any(sentence in w for w in told(tmp_path / "v.h5")["warnings"])
    plan = qb_json("plan", "fdk", "c.h5", "-g", "h.json", "-o", "v.h5", "--force", cwd=tmp_path)
    assert any(sentence in w for w in plan["warnings"])


def test_every_warning_is_in_the_result_and_in_the_metadata(tmp_path):
    """Of the scan, of the plan and of the run: what stderr shows as a warning."""
    data = np.random.default_rng(1).random((40, 3, 32)).astype(np.float32)
    data[3, 1, 5] = np.nan
    write_scan(tmp_path / "s.h5", data, np.arange(40) * 3.0, quantity="line_integral")  # a third is missing; no pixel size
    done = qb("fbp", "s.h5", "-o", "v.h5", "--center", "15.5", "--json", cwd=tmp_path)
    said = [line[len("warning: "):] for line in done.stderr.splitlines() if line.startswith("warning: ")]
    assert any("pixel size is unknown" in w for w in said) and any("limited angle" in w for w in said)
    assert json.loads(done.stdout)["warnings"] == said
    assert told(tmp_path / "v.h5")["warnings"] == said
    assert qb_json("devices", cwd=tmp_path)["warnings"] == []


def test_nothing_to_warn_of_is_an_empty_list(tmp_path):
    qb("simulate", "disc", "-o", "s.h5", "--views", 60, "--detector", "32,2", "--pixel-size", "0.1", cwd=tmp_path)
    assert qb_json("fbp", "s.h5", "-o", "v.h5", "--center", "15.5", cwd=tmp_path)["warnings"] == []
    assert told(tmp_path / "v.h5")["warnings"] == []


def seen_by_fbp(n, radius):
    x = np.arange(n) - (n - 1) / 2
    return np.hypot(x[None], x[:, None]) <= radius


@pytest.mark.parametrize("option,fill", [(["--outside", "zero"], 0), (["--outside", "nan"], np.nan), (["--circle"], 0)])
def test_slices_end_where_views_do(tmp_path, option, fill):
    """Beyond the circle that all views see; the axis to one side makes it smaller. Inside nothing changes."""
    qb("simulate", "foam", "-o", "s.h5", "--views", 60, "--detector", "48,3", "--pixel-size", "0.1", "--center-offset", 4, cwd=tmp_path)
    for out, more in (("a.h5", []), ("b.h5", option)):
        qb("fbp", "s.h5", "-o", out, "--center", "27.5", *more, cwd=tmp_path)
    a, b = read_h5(tmp_path / "a.h5"), read_h5(tmp_path / "b.h5")
    seen = seen_by_fbp(48, 47 - 27.5 + 0.5)
    assert np.array_equal(a[:, seen], b[:, seen])
    assert np.array_equal(b[:, ~seen], np.full_like(b[:, ~seen], fill), equal_nan=True)
    qb("fbp", "s.h5", "-o", "h.h5", "--center", "27.5", *option, "--hu", "0.02", cwd=tmp_path)
    outside = read_h5(tmp_path / "h.h5")[:, ~seen]
    assert np.isnan(outside).all() if np.isnan(fill) else (outside == -1000).all()


def test_nan_needs_a_float(tmp_path):
    qb("simulate", "disc", "-o", "s.h5", "--views", 20, "--detector", "32,2", cwd=tmp_path)
    fails(2, "fbp", "s.h5", "-o", "v.h5", "--center", "15.5", "--outside", "nan", "--dtype", "uint8", says=["--outside zero"],
          cwd=tmp_path)


def test_a_volume_taller_than_the_cone(tmp_path):
    """Said with numbers, and masked where the magnified rows end: nearer to the source they see less."""
    qb("simulate", "ball", "-o", "c.h5", *CIRCLE, cwd=tmp_path)
    fdk = ["fdk", "c.h5", "--sod", "200", "--sdd", "400", "--pixel-size", "1", "--size", "48,48,48", "--voxel", "0.5"]
    loud = qb_json(*fdk, "-o", "a.h5", cwd=tmp_path)
    assert any("not seen by all views" in w and "--outside" in w for w in loud["warnings"])
    quiet = qb_json(*fdk, "-o", "b.h5", "--outside", "zero", cwd=tmp_path)
    assert not any("not seen by all views" in w for w in quiet["warnings"])
    a, b = read_h5(tmp_path / "a.h5"), read_h5(tmp_path / "b.h5")
    x = (np.arange(48) - 23.5) * 0.5
    r, z = np.hypot(x[None], x[:, None])[None], x[:, None, None]
    half = 200 * np.sin(np.arctan(23.5 / 400))
    clear = (r < half - 0.1) & (abs(z) < (200 - r) / 400 * 16 - 0.1)
    beyond = (r > half + 0.1) | (abs(z) > (200 - r) / 400 * 16 + 0.1)
    assert np.array_equal(a[clear], b[clear]) and (b[beyond] == 0).all() and clear.sum() > 10000 and beyond.sum() > 10000
    qb(*fdk, "-o", "c2.h5", "--circle", cwd=tmp_path)
    c = read_h5(tmp_path / "c2.h5")
    ring = np.broadcast_to(r > half + 0.1, c.shape)
    core = np.broadcast_to(r < half - 0.1, c.shape)
    assert (c[ring] == 0).all() and np.array_equal(a[core], c[core])
    share = (~((r <= half) & (abs(z) <= (200 - r) / 400 * 16))).mean()
    plan = qb_json("plan", *fdk, "-o", "v.h5", cwd=tmp_path)
    assert abs(plan["outside_percent"] / 100 - share) < 0.01


def test_laminography_is_said(tmp_path):
    """The source far above the plane of what it turns about."""
    helix(tmp_path, 0, lift=60)
    said = qb_json("fdk", "c.h5", "-g", "h.json", "-o", "v.h5", cwd=tmp_path)["warnings"]
    assert any("16.7 degrees off the plane" in w for w in said), said
    problems = qb_json("info", "c.h5", "-g", "h.json", cwd=tmp_path)["geometry"]["problems"]
    assert any("16.7 degrees off the plane" in p for p in problems), problems


def test_angles_at_random(tmp_path):
    """Whose weights are capped unless asked otherwise: what that costs is said, and true."""
    angles = np.sort(np.random.default_rng(3).random(300)) * 180
    np.savetxt(tmp_path / "a.txt", angles)
    qb("simulate", "disc", "-o", "s.h5", "--angles", "a.txt", "--views", 300, "--detector", "128,2", "--pixel-size", "0.1",
       cwd=tmp_path)
    mean = {}
    for rule in ("capped", "spacing", "even"):
        done = qb("fbp", "s.h5", "-o", "v.h5", "--center", "63.5", "--angle-weights", rule, cwd=tmp_path)
        volume = read_h5(tmp_path / "v.h5")[0]
        x = np.arange(128) - 63.5
        mean[rule] = volume[np.hypot(x[None], x[:, None]) < 40].mean() / 0.02
        if rule == "capped":
            cost = float(done.stderr.split("make values ")[1].split(" %")[0])
        else:
            assert "make values" not in done.stderr
    assert abs(mean["spacing"] - 1) < 0.001 and abs(mean["even"] - 1) < 0.01
    assert cost > 0.1 and abs((1 - mean["capped"]) * 100 - cost) < 0.15, (mean, cost)


@pytest.mark.parametrize("air", ["0:8,0:6", "auto", "99.9%"])
@pytest.mark.parametrize("verb", [["fbp", "--center", 47.5], ["sirt", "--iterations", 30, "--center", 47.5]])
def test_darks_count_without_flats(tmp_path, air, verb):
    """Open beam is found in the views; the dark is taken off all the same."""
    qb("simulate", "disc", "--detector", "96,6", "--pixel-size", 1, "--views", 120, "-o", "t.npy", cwd=tmp_path)
    np.save(tmp_path / "c.npy", (2000 + 20000 * np.load(tmp_path / "t.npy")).round().astype(np.uint16))
    np.save(tmp_path / "d.npy", np.full((1, 6, 96), 2000, np.uint16))
    done = qb(verb[0], "c.npy", *verb[1:], "--quantity", "counts", "--darks", "d.npy", "--angles", "0:180", "--pixel-size", 1, "--air", air, "-o", "v.npy",
              cwd=tmp_path)
    assert "[air-level]" not in done.stderr
    assert np.load(tmp_path / "v.npy")[3, 40:56, 40:56].mean() == pytest.approx(0.02, rel=0.01)
