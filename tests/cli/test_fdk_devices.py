# SPDX-License-Identifier: MIT
"""qb fdk on a device: the CPU's values, the same bits however it is cut, and every way of not having the device."""
import os
import re

import numpy as np
import pytest

from qbtest import QUICK, Shim, eager, fails, leftovers, opencl, provenance_h5, qb, qb_json, read_h5  # noqa: F401 (opencl is a fixture)

CIRCLE = ("--sod", 200, "--sdd", 300, "--pixel-size", 0.75)
KERNELS = {"bp_cone_matrix.alu": 5e-5, "bp_cone_matrix.texture": 6e-3}


@pytest.fixture(scope="module")
def scan(tmp_path_factory):
    path = tmp_path_factory.mktemp("scan") / "scan.h5"
    qb("simulate", "spheres", "-o", path, "--geometry", "cone", *CIRCLE, "--views", 40, "--detector", "48,36", "-q")
    return path


def fdk(scan, out, *more, env=None):
    return qb("fdk", scan, "-o", out, *CIRCLE, *more, env=env).stderr


def distance(a, b):
    a, b = read_h5(a).astype(float), read_h5(b).astype(float)
    return np.linalg.norm(a - b) / np.linalg.norm(b)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_cpus_values(opencl, scan, tmp_path, kernel):
    """Also off the circle: a tilted detector, one to the side, other voxels, Hounsfield units."""
    cases = [(), ("--tilt", "1,2,3"), ("--detector-offset", "6,2", "--size", "40,30,21", "--voxel", "0.6", "--hu", "0.02")]
    for more in cases[:1 if QUICK else 3]:
        fdk(scan, tmp_path / "cpu.h5", *more, "--device", "cpu", "--accuracy", "high")
        said = fdk(scan, tmp_path / "device.h5", *more, "--device", opencl, "--kernel", kernel)
        assert f"kernel {kernel}" in said
        assert distance(tmp_path / "device.h5", tmp_path / "cpu.h5") < KERNELS[kernel]
    plan = provenance_h5(tmp_path / "device.h5")["plan"]
    assert plan["kernel"] == kernel and plan["device"] == opencl and plan["kernel_parameters"]["STEPS"] in (4, 8, 16)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_same_bits_in_any_cut(opencl, scan, tmp_path, kernel):
    on = ("--device", opencl, "--kernel", kernel)
    fdk(scan, tmp_path / "whole.h5", *on)
    whole, seen = read_h5(tmp_path / "whole.h5"), set()
    least = re.search(r"needs ([\d.]+) MiB", fails(1, "plan", "fdk", scan, "-o", tmp_path / "x.h5", *CIRCLE, *on,
                                                   "--max-vram", 1000)).group(1)
    most = qb_json("plan", "fdk", scan, "-o", tmp_path / "x.h5", *CIRCLE, *on)["device_memory_bytes"]
    for cap in (f"{least}M", most // 2, most * 3 // 4):
        plan = qb_json("plan", "fdk", scan, "-o", tmp_path / "x.h5", *CIRCLE, *on, "--max-vram", cap)
        shim = Shim(tmp_path)
        fdk(scan, tmp_path / "cut.h5", *on, "--max-vram", cap, env=shim.env)
        assert np.array_equal(read_h5(tmp_path / "cut.h5"), whole), cap
        counted = shim.counted()
        assert counted["live_bytes"] == 0 and counted["peak_bytes"] <= plan["device_memory_bytes"]
        seen.add((plan["chunks"], plan["ring_slots"]))
    assert len(seen) > 1


def test_less_at_a_time_then_the_next_engine(opencl, scan, tmp_path, monkeypatch):
    """Memory that was forecast is not there: smaller cuts, until nothing fits; then the CPU, unless the device was named."""
    on = ("--device", opencl)
    shim = Shim(tmp_path)
    fdk(scan, tmp_path / "whole.h5", *on, env=shim.env)
    peak = shim.counted()["peak_bytes"]
    said = fdk(scan, tmp_path / "cut.h5", *on, env=Shim(tmp_path, bytes=peak // 3).env)
    assert "the device has no room for" in said
    assert np.array_equal(read_h5(tmp_path / "cut.h5"), read_h5(tmp_path / "whole.h5"))
    before = leftovers(tmp_path)
    fails(1, "fdk", scan, "-o", tmp_path / "none.h5", *CIRCLE, *on, env=Shim(tmp_path, bytes=1000).env,
          says=["even one slice needs", "--device cpu"])
    assert [f for f in leftovers(tmp_path) if f != "shim-report"] == [f for f in before if f != "shim-report"]
    monkeypatch.setenv("QB_TUNING", eager(tmp_path))
    said = fdk(scan, tmp_path / "auto.h5", env=Shim(tmp_path, gpu=1, bytes=1000).env)
    assert "--device auto: the CPU computes: even one slice needs" in said
    fdk(scan, tmp_path / "cpu.h5", "--device", "cpu")
    assert np.array_equal(read_h5(tmp_path / "auto.h5"), read_h5(tmp_path / "cpu.h5"))
    said = fdk(scan, tmp_path / "auto.h5", env=Shim(tmp_path, gpu=1).env)
    assert provenance_h5(tmp_path / "auto.h5")["plan"]["device"] == opencl


def test_lost_at_any_moment(opencl, scan, tmp_path):
    on = ("--device", opencl, "--max-vram", "500K")
    shim = Shim(tmp_path)
    fdk(scan, tmp_path / "whole.h5", *on, env=shim.env)
    (tmp_path / "whole.h5").unlink()
    count = shim.counted()["commands"]
    assert count > 20
    # The last commands unmap the four page-locked buffers, when the volume is there.
    for after in range(0, count - 5, count // (4 if QUICK else 12)):
        fails(1, "fdk", scan, "-o", tmp_path / "lost.h5", *CIRCLE, *on, says=["was lost", "--device cpu"],
              env=Shim(tmp_path, lose_after=after).env)
        assert leftovers(tmp_path, "shim-report") == []


def test_what_cannot_be_had(opencl, scan, tmp_path):
    args = ("fdk", scan, "-o", tmp_path / "x.h5", *CIRCLE)
    without = {**os.environ, "QB_LIBCUDA": "/nowhere/libcuda.so"}
    fails(1, *args, "--device", "cuda", says=["libcuda"], env=without)
    fails(2, *args, "--device", opencl, "--kernel", "bp_cone_matrix.scalar", says=["CPU only", "--device"])
    fails(2, *args, "--device", opencl, "--kernel", "bp_parallel_linear.alu", says=["parallel beam's"])
    fails(2, *args, "--device", "cpu", "--kernel", "bp_cone_matrix.alu", says=["runs on devices only"])
    two = {**os.environ, "POCL_DEVICES": "basic basic"}
    fails(2, *args, "--device", "opencl:all", says=["one device computes a cone beam"], env=two)
    assert not (tmp_path / "x.h5").exists()


def test_the_plan_says_why(opencl, scan, tmp_path):
    plan = qb_json("plan", "fdk", scan, "-o", tmp_path / "x.h5", *CIRCLE, "--device", opencl, "--accuracy", "normal")
    rows = {row["kernel"]: row["verdict"] for row in plan["why_device"]}
    assert rows == {"bp_cone_matrix.alu": "usable", "bp_cone_matrix.texture": "less accurate than asked for"}
    assert plan["kernel"] == "bp_cone_matrix.alu" and plan["device_memory_bytes"] > 36 * 48 * 40 * 4


def test_bench(opencl):
    found = qb_json("bench", "backproject", "--geometry", "cone", "--size", 32, "--views", 40, "--device", opencl,
                    "--repeat", 1, "--accuracy", "high")
    assert found["kernel"] == "bp_cone_matrix.alu" and 0 < found["rel_l2"] < 5e-5
    assert found["gups"] > 0 and found["seconds_median"] > 0
