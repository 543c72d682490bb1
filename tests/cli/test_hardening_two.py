# SPDX-License-Identifier: MIT
"""Two materials under a tube: shadows between dense inserts, and their values, with --hardening two:."""
import numpy as np
import pytest

from qbtest import fails, opencl, qb, qb_json, slow

WATER = 0.02059  # 1/mm at 60 keV, NIST
CONE = ["--sod", 400, "--sdd", 600]
VERBS = {"parallel": ("fbp", ["--center", "middle"], []), "fan": ("fdk", CONE, ["-g", "cone", *CONE]), "cone": ("fdk", CONE, ["-g", "cone", *CONE])}


def simulate(folder, beam, dense, columns=160, views=200, photons=0, out="s.h5"):
    rows = {"parallel": 3, "fan": 1, "cone": 40}[beam]
    pixel = (100 if beam == "parallel" else 150) / columns
    qb("simulate", "inserts", *VERBS[beam][2], "--detector", f"{columns},{rows}", "--views", views, "--pixel-size", pixel, "--attenuation", WATER,
       "--photons", photons, "--spectrum", f"water+{dense},120,al:2,at:60", "--truth", "t.npy", "-o", out, cwd=folder)


def shrunk(mask, by=3):
    for _ in range(by):
        mask = mask & np.roll(mask, 1, 0) & np.roll(mask, -1, 0) & np.roll(mask, 1, 1) & np.roll(mask, -1, 1)
    return mask


def look(folder):
    """Water between the inserts over water at the rim, all water over its truth, and the inserts over theirs."""
    volume, truth = np.load(folder / "v.npy"), np.load(folder / "t.npy")
    value, true = volume[len(volume) // 2], truth[len(truth) // 2]
    y, x = (np.mgrid[:len(true), :len(true)] - (len(true) - 1) / 2) / (len(true) / 2)
    water, dense = shrunk(abs(true - WATER) < 1e-5), shrunk(true > 2 * WATER)
    between, rim = water & (abs(y) < 0.04) & (abs(x) < 0.3), water & (np.hypot(x, y) > 0.66)
    return value[between].mean() / value[rim].mean(), value[water].mean() / WATER, value[dense].mean() / true[dense].mean()


@pytest.mark.parametrize("beam,dense,factor", [("parallel", "bone", 30), ("parallel", "ti", 12), ("fan", "bone", 20), ("cone", "bone", 20), ("cone", "ti", 12)])
def test_inserts(tmp_path, beam, dense, factor):
    """Shadows between inserts fall by a factor; water and inserts come back with NIST's values of 60 keV."""
    verb, how, _ = VERBS[beam]
    simulate(tmp_path, beam, dense)
    tube = "120,al:2,at:60"
    found = {}
    for name, curve in ("none", "none"), ("water", f"spectrum:water,{tube}"), ("two", f"two:water+{dense},{tube}"):
        said = qb(verb, "s.h5", *how, "--hardening", curve, "-o", "v.npy", cwd=tmp_path).stderr
        found[name] = look(tmp_path)
    shadow = {name: abs(1 - values[0]) for name, values in found.items()}
    print(beam, dense, found)
    assert shadow["none"] > 0.08 and shadow["two"] * factor < shadow["none"] and shadow["two"] * 8 < shadow["water"]
    assert found["two"][1] == pytest.approx(1, abs=0.005) and found["two"][2] == pytest.approx(1, abs=0.015)
    assert "warning" not in said and "above 0.0" in said


@slow
def test_counts_lines_and_methods(opencl, tmp_path):
    """Counts with noise, line integrals, iterations and a device: the shadow goes in each."""
    simulate(tmp_path, "parallel", "al", 96, 120, photons=3e5)
    qb("convert", "s.h5", "-o", "p.h5", cwd=tmp_path)
    two = ["--hardening", "two:water+al,120,al:2,at:60"]
    for job in ["fbp", "s.h5"], ["fbp", "p.h5"], ["fbp", "s.h5", "--device", opencl], ["sirt", "s.h5", "--iterations", 200], ["mbir", "s.h5", "--equits", 8]:
        shadow = []
        for curve in [], two:
            qb(*job, "--center", "middle", *curve, "-o", "v.npy", cwd=tmp_path)
            shadow.append(abs(1 - look(tmp_path)[0]))
        assert shadow[1] * 4 < shadow[0], (job, shadow)


def test_same_bits(tmp_path):
    simulate(tmp_path, "cone", "bone", 64, 60)
    job = ["fdk", "s.h5", *CONE, "--hardening", "two:water+bone,120,al:2,at:60"]
    qb(*job, "-o", "a.npy", "--threads", 1, cwd=tmp_path)
    for more in ["--threads", 3], ["--max-ram", "80M"]:
        qb(*job, "-o", "b.npy", *more, cwd=tmp_path)
        assert (np.load(tmp_path / "a.npy") == np.load(tmp_path / "b.npy")).all()


def test_coarse_drafts(tmp_path):
    """From 256 columns on the draft has voxels of two pixels."""
    simulate(tmp_path, "parallel", "bone", 256, 300)
    report = qb_json("fbp", "s.h5", "--center", "auto", "--hardening", "two:water+bone,120,al:2,at:60", "-o", "v.npy", cwd=tmp_path)["two_materials"]
    assert report["dense_share"] == pytest.approx(0.026, abs=0.004) and report["scale"] == pytest.approx(1, abs=0.05)
    between, water, dense = look(tmp_path)
    assert abs(1 - between) < 0.004 and abs(1 - water) < 0.003 and abs(1 - dense) < 0.01


def test_nothing_dense(tmp_path):
    """What is all water is corrected as water, and it is said."""
    qb("simulate", "disc", "--detector", "64,2", "--views", 60, "--pixel-size", 1.5, "--attenuation", WATER, "--spectrum", "water,120,al:2", "-o", "s.h5", cwd=tmp_path)
    said = qb("fbp", "s.h5", "--center", "middle", "--hardening", "two:water+bone,120,al:2", "-o", "a.npy", cwd=tmp_path).stderr
    qb("fbp", "s.h5", "--center", "middle", "--hardening", "spectrum:water,120,al:2", "-o", "b.npy", cwd=tmp_path)
    assert "[no-dense-part]" in said and (np.load(tmp_path / "a.npy") == np.load(tmp_path / "b.npy")).all()


def test_refusals(tmp_path):
    simulate(tmp_path, "parallel", "bone", 48, 30)
    job = ["fbp", "s.h5", "--center", "middle", "-o", "v.npy", "--hardening"]
    for text, said in ("two:water,120", "BASE+DENSE"), ("two:bone+water,120", "denser"), ("two:water+gold,120", "no such material"), ("two:water+bone,120,above:0.01", "must be more"), \
            ("two:water+bone,120,above:x", "above 0"), ("two:water+bone,5", "no flux"):
        fails(2, *job, text, says=[said], cwd=tmp_path)
    fails(3, "convert", "s.h5", "--hardening", "two:water+bone,120", "-o", "c.h5", says=["needs a volume"], cwd=tmp_path)
    fails(3, *job, "two:water+bone,120", "--tilt", 1, says=["--tilt"], cwd=tmp_path)
    np.save(tmp_path / "p.npy", np.zeros((30, 2, 48), np.float32))
    fails(3, "fbp", "p.npy", "--angles", "0:180", "--center", "middle", "--hardening", "two:water+bone,120", "-o", "v.npy", says=["--pixel-size"], cwd=tmp_path)
    fails(2, "simulate", "disc", "--spectrum", "water+bone,120", "-o", "d.h5", says=["no dense parts"], cwd=tmp_path)
