# SPDX-License-Identifier: MIT
"""qb project, sirt and cgls on a device: the CPU's values, the same bits however it is cut, and every way of not having
the device."""
import json
import os
import re

import numpy as np
import pytest

from qbtest import fails, few, leftovers, opencl, provenance_h5, qb, qb_json, QUICK, read_h5, Shim, slow  # noqa: F401 (opencl is a fixture)

CIRCLE = ("--sod", 200, "--sdd", 300)
KERNELS = {"project_joseph.alu": 5e-5, "project_joseph.texture": 6e-3}


@pytest.fixture(scope="module")
def scan(tmp_path_factory):
    path = tmp_path_factory.mktemp("scan") / "scan.h5"
    qb("simulate", "spheres", "-o", path, "--geometry", "cone", *CIRCLE, "--pixel-size", 0.75, "--views", 40, "--detector",
       "24,18", "-q")
    return path


@pytest.fixture(scope="module")
def volume(scan, tmp_path_factory):
    path = tmp_path_factory.mktemp("volume") / "volume.h5"
    qb("fdk", scan, "-o", path, *CIRCLE, "--pixel-size", 0.75, "--device", "cpu", "-q")
    return path


def distance(a, b):
    a, b = read_h5(a).astype(float), read_h5(b).astype(float)
    return np.linalg.norm(a - b) / np.linalg.norm(b)


def project(volume, out, *more, env=None):
    return qb("project", volume, "-o", out, *CIRCLE, "--views", 37, *more, env=env).stderr


@pytest.mark.parametrize("kernel", KERNELS)
def test_projections_are_the_cpus(opencl, volume, tmp_path, kernel):
    cases = [(), ("--tilt", "1,2,3")] if kernel.endswith("alu") else [()]
    for more in cases[:1 if QUICK else 2]:
        project(volume, tmp_path / "cpu.h5", *more, "--device", "cpu")
        said = project(volume, tmp_path / "device.h5", *more, "--device", opencl, "--kernel", kernel)
        assert f"kernel {kernel}" in said
        assert distance(tmp_path / "device.h5", tmp_path / "cpu.h5") < KERNELS[kernel]
    assert provenance_h5(tmp_path / "device.h5")["plan"]["device"] == opencl


@pytest.mark.parametrize("more", [(), ("--tilt", "1,2,3")])
def test_counting_in_64_bits_is_the_same(opencl, volume, tmp_path, more):
    """As slabs of more than 2^32 voxels are, which no test has room for."""
    wide = {**os.environ, "QB_KERNEL_MACROS": "WIDE=1"}
    for name, env in ("usual", None), ("wide", wide):
        project(volume, tmp_path / f"{name}.h5", *more, "--device", opencl, env=env)
    assert np.array_equal(read_h5(tmp_path / "wide.h5"), read_h5(tmp_path / "usual.h5"))


def test_the_same_bits_in_any_cut(opencl, volume, tmp_path):
    on = ("--device", opencl)
    project(volume, tmp_path / "whole.h5", *on)
    least = re.search(r"needs ([\d.]+) ([KM])iB", fails(1, "plan", "project", volume, "-o", tmp_path / "x.h5", *CIRCLE, "--views", 37,
                                                   *on, "--max-vram", "1K"))
    shim = Shim(tmp_path)
    project(volume, tmp_path / "cut.h5", *on, "--max-vram", least[1] + least[2], env=shim.env)
    assert np.array_equal(read_h5(tmp_path / "cut.h5"), read_h5(tmp_path / "whole.h5"))
    assert shim.counted()["live_bytes"] == 0
    plan = provenance_h5(tmp_path / "cut.h5")["plan"]
    assert plan["chunks"] > 1


@pytest.mark.parametrize("verb", ["cgls", "sirt"])
def test_least_squares_are_the_cpus(opencl, scan, tmp_path, verb):
    args = (verb, scan, *CIRCLE, "--pixel-size", 0.75, "--iterations", 6, "--nonneg")
    qb(*args, "-o", tmp_path / "cpu.h5", "--device", "cpu")
    shim = Shim(tmp_path)
    said = qb(*args, "-o", tmp_path / "device.h5", "--device", opencl, env=shim.env).stderr
    assert "kernel project_joseph.alu" in said
    assert distance(tmp_path / "device.h5", tmp_path / "cpu.h5") < 1e-4
    counted, plan = shim.counted(), provenance_h5(tmp_path / "device.h5")["plan"]
    assert counted["live_bytes"] == 0 and counted["peak_bytes"] <= plan["device_memory_bytes"]
    qb(*args, "-o", tmp_path / "again.h5", "--device", opencl)
    assert np.array_equal(read_h5(tmp_path / "again.h5"), read_h5(tmp_path / "device.h5"))


@pytest.fixture(scope="module")
def tall(tmp_path_factory):
    path = tmp_path_factory.mktemp("tall") / "scan.h5"
    qb("simulate", "spheres", "-o", path, "--geometry", "cone", *CIRCLE, "--pixel-size", 0.75, "--views", 70, "--detector",
       "32,24", "-q")
    return path


PARTS = [("cgls", "--nonneg --iterations 4"), ("sirt", "--tilt 1,2,3 --hu 0.02 --iterations 2"), ("cgls", "--iterations 10"),
         ("sirt", "--kernel project_joseph.texture --iterations 4")]


@pytest.mark.parametrize("verb,how", few(*PARTS[:2], others=PARTS[2:]))
def test_least_squares_by_parts(opencl, tall, tmp_path, verb, how):
    """Where neither volume nor projections fit as a whole, and where they do but not the solver's vectors: the same bits,
    within the memory that was forecast."""
    args = (verb, tall, *CIRCLE, "--pixel-size", 0.75, *how.split(), "--device", opencl)
    qb(*args, "-o", tmp_path / "whole.h5", "-q")
    found = re.search(r"even one slice needs ([\d.]+) ([KM])iB", fails(1, "plan", *args, "-o", tmp_path / "x.h5", "--max-vram", "1K"))
    for cap, slices, views in (found[1] + found[2], 23, 69), ("2M", 28, 70):  # 24 slices, and two beyond either end
        shim = Shim(tmp_path)
        said = qb(*args, "-o", tmp_path / "parts.h5", "--max-vram", cap, env=shim.env).stderr
        plan, counted = provenance_h5(tmp_path / "parts.h5")["plan"], shim.counted()
        assert f"by slabs of {plan['slab_slices']} slices and blocks of {plan['block_views']} views" in said
        assert plan["slab_slices"] <= slices and plan["block_views"] <= views
        assert counted["live_bytes"] == 0 and counted["peak_bytes"] <= plan["device_memory_bytes"]
        assert np.array_equal(read_h5(tmp_path / "parts.h5"), read_h5(tmp_path / "whole.h5"))


def test_least_squares_where_less_is_free_than_was_said(opencl, tall, tmp_path):
    """The whole was to fit, and did not: parts of it do."""
    args = ("cgls", tall, *CIRCLE, "--pixel-size", 0.75, "--iterations", 3, "--device", opencl)
    shim = Shim(tmp_path)
    qb(*args, "-o", tmp_path / "whole.h5", "-q", env=shim.env)
    tight = Shim(tmp_path, bytes=shim.counted()["peak_bytes"] - 1)
    assert "no room" in qb(*args, "-o", tmp_path / "parts.h5", env=tight.env).stderr
    assert provenance_h5(tmp_path / "parts.h5")["plan"]["block_views"] > 0 and tight.counted()["live_bytes"] == 0
    assert np.array_equal(read_h5(tmp_path / "parts.h5"), read_h5(tmp_path / "whole.h5"))


FAN = ("--geometry", "cone", "--sod", 90, "--sdd", 140, "--pixel-size", 0.8)


@slow
@pytest.mark.parametrize("slices,beam", [(3, ()), (1, FAN)], ids=["parallel", "fan"])
def test_few_slices_are_done_one_by_one(opencl, tmp_path, slices, beam):
    """What the CPU gives, and the kernel for tall volumes, where that is named; and in slabs and blocks of views."""
    scan = tmp_path / "scan.h5"
    qb("simulate", "shepp-logan", "-o", scan, "--size", f"48,40,{slices}", "--views", 70, *beam, "--detector", f"60,{slices}", "-q")
    for verb in ("sirt", "tv"):
        args, on = (verb, scan, *beam[2:], "--size", "48,40", "--iterations", 4), ("--device", opencl)
        assert "kernel project_joseph.flat" in qb(*args, *on, "-o", tmp_path / "flat.h5").stderr
        qb(*args, "-o", tmp_path / "cpu.h5", "--device", "cpu")
        qb(*args, *on, "-o", tmp_path / "alu.h5", "--kernel", "project_joseph.alu")
        found = re.search(r"even one slice needs ([\d.]+) ([KM])iB", fails(1, "plan", *args, *on, "-o", tmp_path / "x.h5", "--max-vram", 1000))
        qb(*args, *on, "-o", tmp_path / "parts.h5", "--max-vram", found[1] + found[2])
        for other in ("cpu", "alu", "parts"):
            assert distance(tmp_path / f"{other}.h5", tmp_path / "flat.h5") < 2e-6


def test_lost_or_without_room(opencl, scan, volume, tmp_path):
    args = ("cgls", scan, *CIRCLE, "--pixel-size", 0.75, "--iterations", 2, "--device", opencl)
    shim = Shim(tmp_path)
    qb(*args, "-o", tmp_path / "whole.h5", env=shim.env)
    (tmp_path / "whole.h5").unlink()
    count = shim.counted()["commands"]
    for after in range(0, count - 2, max(1, count // (3 if QUICK else 8))):
        fails(1, *args, "-o", tmp_path / "lost.h5", says=["was lost"], env=Shim(tmp_path, lose_after=after).env)
    fails(1, *args, "-o", tmp_path / "none.h5", says=["even one slice needs", "--device cpu"],
          env=Shim(tmp_path, bytes=1000).env)
    fails(1, *args, "-o", tmp_path / "none.h5", "--max-vram", "1K", says=["needs", "--max-vram"])
    assert leftovers(tmp_path, "shim-report") == []


def test_what_cannot_be_had(opencl, volume, tmp_path):
    args = ("project", volume, "-o", tmp_path / "x.h5", *CIRCLE, "--views", 5)
    fails(2, *args, "--device", opencl, "--kernel", "project_joseph.scalar", says=["CPU only", "--device"])
    fails(2, *args, "--device", "cpu", "--kernel", "project_joseph.alu", says=["devices only"])
    plan = qb_json("plan", *args, "--device", opencl)
    rows = {row["kernel"]: row["verdict"] for row in plan["why"]}
    assert rows == {"project_joseph.alu": "usable", "project_joseph.texture": "less accurate than asked for",
                    "project_joseph.flat": "needs few slices, and rays that each stay at one height"}


@pytest.mark.parametrize("kernel", KERNELS)
def test_bench_and_tune(opencl, tmp_path, kernel):
    """Both directions, on whom is named; what was tuned is what is chosen by then."""
    job = ("bench", "project", "--size", "20,18,16", "--views", 9, "--detector", "24,14", "--repeat", 1)
    tuned = {**os.environ, "QB_TUNING": str(tmp_path / "tuning.json")}
    kept = qb_json("tune", "--device", opencl, "--kernel", kernel, "--size", "20,18,16", "--views", 9, "--seconds", 5, env=tuned)["kernels"]
    assert {row["kernel"] for row in kept} == {kernel, "project_joseph.alu"} and all(row["giga_updates_per_second"] > 0 for row in kept)
    there = qb_json(*job, "--device", opencl, "--kernel", kernel, env=tuned)
    here = qb_json(*job, "--device", "cpu")
    assert there["kernel"] == kernel and here["kernel"].startswith("project_joseph.") and there["device"] and here["cpu"]
    assert there["views_rows_columns"] == here["views_rows_columns"] == [9, 14, 24] and here["size"] == [20, 18, 16]
    for found in (there, here):
        for part in (found["forward"], found["adjoint"]):
            assert part["rel_l2"] < KERNELS.get(found["kernel"], 5e-5)
            assert part["giga_updates_per_second"] == pytest.approx(20 * 18 * 16 * 9 / part["seconds_median"] / 1e9)
        assert found["seconds_median"] == pytest.approx(found["forward"]["seconds_median"] + found["adjoint"]["seconds_median"])
    fails(2, *job, "--interp", "nearest", says=["project takes no --interp"])


def test_a_bent_detector_of_fine_pixels(opencl, tmp_path):
    """What the device does not do, and who does."""
    geometry = {"quickbeam_geometry": 1, "units": "mm", "beam": "cone", "rows": 17, "columns": 7, "sod": 30, "sdd": 90, "radius": 90,
                "pixel_size": [0.3, 0.3], "angles_degrees": [0, 1]}
    (tmp_path / "g.json").write_text(json.dumps(geometry))
    np.save(tmp_path / "v.npy", np.ones((70, 3, 1), np.float32))
    args = ("project", tmp_path / "v.npy", "-g", tmp_path / "g.json", "--voxel", 0.5, "-o", tmp_path / "p.npy")
    leans = ("project", tmp_path / "v.npy", "--sod", 30, "--sdd", 90, "--detector-radius", 90, "--pixel-size", 0.3, "--detector", "7,17", "--views", 2,
             "--voxel", 0.5, "--tilt", "3,0,0", "-o", tmp_path / "l.npy")
    for verb in ((), ("plan",)):  # known before any work
        fails(3, *verb, *args, "--device", opencl, says=["a curved detector with many pixels to a voxel", "--device cpu"])
        for kernel in ((), ("--kernel", "project_joseph.alu")):
            fails(3, *verb, *leans, "--device", opencl, *kernel, says=["project_joseph.alu", "a curved detector that leans", "--device cpu"])
    qb(*args, "--device", "auto")
