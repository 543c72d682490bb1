# SPDX-License-Identifier: MIT
"""What --kernel, --interp, --device and --max-vram say to each other; that compiling is told."""
import os

import pytest

from qbtest import SHIM, fails, opencl, qb, qb_json  # noqa: F401 (opencl is a fixture)

DEVICES_OWN, CPUS_OWN = "bp_parallel_linear.alu", "bp_parallel_linear.scalar"


@pytest.fixture(scope="module")
def scan(tmp_path_factory):
    path = tmp_path_factory.mktemp("scan") / "scan.h5"
    qb("simulate", "disc", "-o", path, "--views", 60, "--detector", "48,4", "-q")
    return path


@pytest.fixture
def fbp(scan, tmp_path):
    return ("fbp", scan, "-o", tmp_path / "x.h5", "--center", 23.5)


def without_devices():
    return {**os.environ, "QB_LIBCUDA": "", "QB_LIBOPENCL": ""}


def with_opencl(**more):
    return {**os.environ, "QB_LIBCUDA": "", "QB_LIBOPENCL": SHIM, **more}


def test_kernels_of_devices_are_listed():
    found = qb_json("devices", env=without_devices())
    rows = {row["id"]: row for row in found["device_kernels"]}
    assert rows[DEVICES_OWN]["accuracy"] == "high" and rows[DEVICES_OWN]["needs"] == "CUDA or OpenCL"
    assert "compute capability 8.0" in rows["bp_parallel_linear.tensor"]["needs"]
    assert "textures" in rows["bp_parallel_linear.texture"]["needs"]
    assert rows["bp_parallel_oversample.alu"]["interp"] == "oversample"
    text = qb("devices", env=without_devices()).stdout
    assert all(name in text for name in rows)


def test_a_device_says_what_it_does_not_run(opencl):
    device = next(d for d in qb_json("devices", env=with_opencl())["devices"] if d["device"] == opencl)
    rows = {row["id"]: row for row in device["kernels"]}
    assert rows[DEVICES_OWN]["runs_here"]
    assert not rows["bp_parallel_linear.tensor"]["runs_here"]
    assert rows["bp_parallel_linear.tensor"]["why_not"] == "not for OpenCL"


@pytest.mark.parametrize("more", [(), ("--device", "cpu")])
def test_names_without_a_device(fbp, more):
    env = without_devices()
    fails(2, *fbp, *more, "--kernel", DEVICES_OWN, says=["runs on devices only", "--device"], env=env)
    fails(2, *fbp, *more, "--kernel", "nonsense", says=["there is no kernel nonsense"], env=env)
    fails(2, *fbp, *more, "--kernel", "bp_cone_matrix.scalar", says=["qb fdk"], env=env)
    fails(2, *fbp, *more, "--interp", "oversample", says=["--device"], env=env)


def test_names_with_a_device(opencl, fbp, tmp_path):
    on = ("--device", opencl)
    fails(2, *fbp, *on, "--kernel", "nonsense", says=["there is no kernel nonsense"], env=with_opencl())
    fails(2, *fbp, *on, "--kernel", CPUS_OWN, says=["CPU only", "--device cpu"], env=with_opencl())
    fails(2, "bench", "backproject", *on, "--kernel", "nonsense", says=["there is no kernel"], env=with_opencl())
    assert not (tmp_path / "x.h5").exists()


def test_names_of_other_verbs(tmp_path):
    cone = tmp_path / "cone.h5"
    circle = ("--sod", 500, "--sdd", 800, "--pixel-size", 1)
    qb("simulate", "disc", "-o", cone, "--geometry", "cone", *circle, "--views", 60, "--detector", "24,24", "-q")
    fails(2, "fdk", cone, "-o", tmp_path / "x.h5", *circle, "--kernel", DEVICES_OWN, says=["parallel beam's"])
    fails(2, "bench", "backproject", "--kernel", "nonsense", says=["there is no kernel nonsense"])


def test_interpolation_and_kernel_agree(fbp):
    cpu = (*fbp, "--device", "cpu", "--kernel", "bp_parallel_nearest.scalar")
    done = qb(*cpu)
    assert "--interp nearest, since the kernel is" in done.stderr
    assert "since the kernel" not in qb(*cpu, "--interp", "nearest").stderr
    assert "since the kernel" not in qb(*fbp, "--device", "cpu", "--kernel", CPUS_OWN).stderr
    assert qb_json("plan", *cpu)["options"]["interp"] == "nearest"
    fails(2, *cpu, "--interp", "linear", says=["--interp linear contradicts", "nearest"])
    fails(2, "bench", "backproject", "--device", "cpu", "--kernel", "bp_parallel_nearest.scalar", "--interp", "linear",
          says=["contradicts"])


def test_interpolation_and_kernel_of_a_device(opencl, fbp):
    own = (*fbp, "--device", opencl, "--kernel", "bp_parallel_oversample.direct")
    assert "--interp oversample, since the kernel is" in qb(*own, env=with_opencl()).stderr
    fails(2, *own, "--interp", "linear", says=["contradicts"], env=with_opencl())


def test_compiling_is_told(opencl, fbp, tmp_path):
    cache = tmp_path / "cache"
    run = (*fbp, "--device", opencl, "--kernel", "bp_parallel_linear.direct")
    first = qb(*run, env=with_opencl(QB_CACHE_DIR=str(cache)))
    assert f"compiling kernels for {opencl}\n" in first.stderr
    assert f"kernels for {opencl} in " in first.stderr and f"kept in {cache}\n" in first.stderr and "\n  compile " in first.stdout
    assert first.stderr.count("compiling kernels") == 1
    again = qb(*run, env=with_opencl(QB_CACHE_DIR=str(cache)))
    assert "kernels for" not in again.stderr and "\n  compile " not in again.stdout
    report = qb_json(*run, env=with_opencl(QB_CACHE_DIR=str(tmp_path / "other")))["compile"]
    assert report["kernels"] >= 2 and report["seconds"] > 0 and report["folder"] == str(tmp_path / "other")
    bench = qb_json("bench", "backproject", "--size", "32,32,2", "--views", 32, "--device", opencl, "--kernel",
                    "bp_parallel_linear.direct", "--repeat", 1, env=with_opencl(QB_CACHE_DIR=""))
    assert bench["compile"]["kernels"] >= 1 and bench["compile"]["folder"] == ""
    cache.chmod(0o777)
    warned = qb(*run, env=with_opencl(QB_CACHE_DIR=str(cache))).stderr
    assert f"not kept: no writing to {cache}\n" in warned and "chmod go-w" in warned
    assert "not kept: no writing to /proc/none\n" in qb(*run, env=with_opencl(QB_CACHE_DIR="/proc/none")).stderr


def test_what_computes_on_the_cpu_only(scan, tmp_path):
    device = ("--device", "cuda")
    fails(2, "center", scan, *device, says=["CPU only"])
    fails(2, "simulate", "disc", "-o", tmp_path / "s.h5", *device, says=["CPU only"])
    assert fails(2, "bench", "io", *device, says=["CPU only"]).count("qb bench") == 1
    assert fails(1, "bench", "resident", "--device", "cpu", says=["give --device"]).count("qb bench") == 1


def test_max_vram_that_limits_nothing(opencl, fbp, scan):
    cpu = qb("plan", *fbp, "--device", "cpu", "--max-vram", "1G")
    assert "--max-vram has no effect" in cpu.stderr
    assert "--max-vram has no effect" in qb("center", scan, "--max-vram", "1G").stderr
    assert "--max-vram" not in qb("plan", *fbp, "--device", "cpu", "--max-vram", "0").stderr
    large = qb("plan", *fbp, "--device", opencl, "--max-vram", "900000G", env=with_opencl()).stderr
    assert f"is more than {opencl} has" in large
    assert "--max-vram" not in qb("plan", *fbp, "--device", opencl, "--max-vram", "1G", env=with_opencl()).stderr


def test_info_names_the_device(opencl, fbp, tmp_path):
    qb(*fbp, "--device", opencl, env=with_opencl())
    text = qb("info", tmp_path / "x.h5").stdout
    assert f"device      {opencl}" in text
    plan = qb("plan", *fbp, "--device", opencl, env=with_opencl()).stdout
    assert "MiB of device memory" in plan
