# SPDX-License-Identifier: MIT
"""qb fdk on a device: the CPU's values, the same bits however it is cut, and every way of not having the device."""
import json
import os
import re
import subprocess
from pathlib import Path

import h5py
import numpy as np
import pytest

from qbtest import PATIENCE, QB, QUICK, Shim, data, eager, fails, few, leftovers, machine, opencl, provenance_h5, qb, qb_json, read_h5, slow, storage  # noqa: F401 (opencl is a fixture)

BUILT = Path(QB).parent
CIRCLE = ("--sod", 200, "--sdd", 300, "--pixel-size", 0.75)
ANY = {"bp_cone_matrix.alu": 5e-5, "bp_cone_matrix.texture": 6e-3}
CIRCULAR = {"bp_cone_circular.float": 5e-5, "bp_cone_circular.half": 1e-3, "bp_cone_circular.texture": 6e-3,
            "bp_cone_circular.float-local": 5e-5, "bp_cone_circular.half-local": 1e-3}
KERNELS = {**ANY, **CIRCULAR}
# Those of two papers, which serve when they are named and are never chosen.
STUDIED = {f"bp_cone_matrix.{k}": 1e-3 for k in ("naive", "rtk-32")}
STUDIED |= {f"bp_cone_matrix.naive-{k}": 6e-3 for k in ("texture", "constant", "views")}
STUDIED |= {f"bp_cone_circular.{k}": 1e-3 for k in ("bp-tex", "tex-tran", "bp-l1", "l1-tran")}
SOME = "bp_cone_matrix.texture", "bp_cone_circular.float"


@pytest.fixture(scope="module")
def scan(tmp_path_factory):
    path = tmp_path_factory.mktemp("scan") / "scan.h5"
    qb("simulate", "spheres", "-o", path, "--geometry", "cone", *CIRCLE, "--views", 40, "--detector", "48,36", "-q")
    return path


def test_slabs_follow_the_storage(tmp_path):
    """The slower the writing, the sooner it begins: more slabs. On a CUDA driver that is only played."""
    driver = BUILT / "tests" / "device" / "libmock_cuda.so"
    if not driver.exists():
        pytest.skip("there is no played CUDA driver")
    raw, tuning = tmp_path / "p.raw", tmp_path / "tuning.json"
    with open(raw, "wb") as file:
        file.truncate(512 ** 3 * 2)
    def plan(rate):
        tuning.write_text(json.dumps([{**storage(tmp_path), "write_bytes_per_second": [rate] * 5}, machine()]))
        env = {**os.environ, "QB_LIBCUDA": driver, "QB_LIBNVRTC": driver, "QB_LIBOPENCL": "", "MOCK_CUDA_FREE": "4000000000", "QB_TUNING": tuning}
        return qb_json("plan", "fdk", raw, "--shape", "512,512,512:uint16", "--angles", "0:360", "--sod", 600, "--sdd", 900, "--pixel-size", 0.4,
                       "--size", "1024,1024,1024", "--voxel", 0.1, "-o", tmp_path / "v.raw", "--device", "cuda", "-q", env={k: str(v) for k, v in env.items()})
    slow, usual, fast = plan(1e8), plan(1e10), plan(1e12)
    assert slow["chunks"] > usual["chunks"] > fast["chunks"] >= 1
    assert slow["forecast"]["write_bytes_per_second"] == 1e8 and slow["forecast"]["write_rate"] == "measured"


@pytest.mark.parametrize("verb", ["fdk", "cgls"])
def test_a_device_that_was_named_computes_in_little_memory(scan, tmp_path, verb):
    """Below 256 MiB the CPU computes only where nobody asked for another. On a CUDA driver that is only played."""
    driver = BUILT / "tests" / "device" / "libmock_cuda.so"
    if not driver.exists():
        pytest.skip("there is no played CUDA driver")
    env = {**os.environ, "QB_LIBCUDA": str(driver), "QB_LIBNVRTC": str(driver), "QB_LIBOPENCL": "", "MOCK_CUDA_FREE": "4000000000"}
    words = ["plan", verb, scan, "-o", tmp_path / "v.h5", *CIRCLE, "-q", "--max-ram", "255M", "--device"]
    assert qb_json(*words, "cuda", env=env)["device"] == "cuda:0"
    assert qb_json(*words, "auto", env=env)["device"] == "cpu"


def test_auto_passes_by_what_no_kernel_is_compiled_for(tmp_path):
    """A driver alone does not bring CUDA's compiler. On a CUDA driver that is only played."""
    driver = BUILT / "tests" / "device" / "libmock_cuda.so"
    if not driver.exists():
        pytest.skip("there is no played CUDA driver")
    with open(tmp_path / "p.raw", "wb") as file:
        file.truncate(512 ** 3 * 2)
    def plan(compiler, device, run=qb, **more):
        env = {**os.environ, "QB_LIBCUDA": str(driver), "QB_LIBNVRTC": str(compiler), "QB_LIBOPENCL": "", "MOCK_CUDA_FREE": "4000000000"}
        return run("plan", "fdk", tmp_path / "p.raw", "--shape", "512,512,512:uint16", "--angles", "0:360", "--sod", 600, "--sdd", 900, "--pixel-size", 0.4,
                   "-o", tmp_path / "v.raw", "--device", device, env=env, **more)
    assert plan(driver, "auto", qb_json)["device"] == "cuda:0"
    assert plan(tmp_path / "none.so", "auto", qb_json)["device"] == "cpu"
    said = plan(tmp_path / "none.so", "auto").stderr
    assert "--device auto does not use cuda:0" in said and "nvidia-cuda-nvrtc" in said


def test_what_was_measured_elsewhere(tmp_path):
    """A speed was measured with as many voxels a side as pixels: of finer pixels, and of few voxels, less is expected, by the model."""
    driver = BUILT / "tests" / "device" / "libmock_cuda.so"
    if not driver.exists():
        pytest.skip("there is no played CUDA driver")
    raw, tuning, kernel = tmp_path / "p.raw", tmp_path / "tuning.json", "bp_cone_circular.float"
    with open(raw, "wb") as file:
        file.truncate(512 ** 3 * 2)
    tuning.write_text(json.dumps([machine(), storage(tmp_path), {"device": "Mock 0", "kernel": kernel, "slices": 1, "columns": 512,
                                  "values": [0, 0, 40, 2, 4, 8, 2, 0, 8, 0, 0], "giga_updates_per_second": 1000}]))
    env = {**os.environ, "QB_LIBCUDA": str(driver), "QB_LIBNVRTC": str(driver), "QB_LIBOPENCL": "", "MOCK_CUDA_FREE": "4000000000", "QB_TUNING": str(tuning)}
    def times(nx, nz):
        """As long as by the measured speed."""
        why = qb_json("plan", "fdk", raw, "--shape", "512,512,512:uint16", "--angles", "0:360", "--sod", 1200, "--sdd", 1800, "--pixel-size", 1, "--size",
                      f"{nx},{nx},{nz}", "--voxel", 300 / nx, "-o", "/dev/null", "--device", "cuda", "-q", env=env)["why"]
        row = next(row for row in why if row["kernel"] == kernel)
        assert row["measured_seconds"] == row["expected_seconds"]
        return row["expected_seconds"] / (nx * nx * nz * 512 / 1e12)
    assert times(512, 512) == pytest.approx(1, rel=0.01)
    assert 1.2 < times(256, 256) < 1.8 and 2 < times(128, 128) < 5 and times(512, 1) > 20


def fdk(scan, out, *more, env=None):
    return qb("fdk", scan, "-o", out, *CIRCLE, *more, env=env).stderr


def least_vram(scan, on, *more):
    said = fails(1, "plan", "fdk", scan, "-o", "x.h5", *CIRCLE, "--device", on, *more, "--max-vram", 1000)
    return "%s%s" % re.search(r"needs ([0-9.]+) ([KM])iB", said).groups()


def distance(a, b):
    a, b = read_h5(a).astype(float), read_h5(b).astype(float)
    return np.linalg.norm(a - b) / np.linalg.norm(b)


@pytest.mark.parametrize("kernel", few(*SOME, others=sorted({*KERNELS} - {*SOME})))
def test_the_cpus_values(opencl, scan, tmp_path, kernel):
    """Also off the circle: a tilted detector, one to the side, other voxels, Hounsfield units."""
    cases = [(), ("--tilt", "1,2,3"), ("--detector-offset", "6,2", "--size", "40,30,21", "--voxel", "0.6", "--hu", "0.02")]
    for more in cases[:1 if QUICK or kernel in CIRCULAR else 2]:
        fdk(scan, tmp_path / "cpu.h5", *more, "--device", "cpu", "--accuracy", "high")
        said = fdk(scan, tmp_path / "device.h5", *more, "--device", opencl, "--kernel", kernel)
        assert f"kernel {kernel}" in said
        assert distance(tmp_path / "device.h5", tmp_path / "cpu.h5") < KERNELS[kernel]
    plan = provenance_h5(tmp_path / "device.h5")["plan"]
    assert plan["kernel"] == kernel and plan["device"] == opencl and plan["kernel_parameters"]["STEPS"] > 0


@pytest.fixture(scope="module")
def head(tmp_path_factory):
    """Every eighth view of a measured head, or of the ball that stands for it, in coarse voxels; and the CPU's volume."""
    folder, want = data("skull_cbct"), tmp_path_factory.mktemp("head") / "cpu.h5"
    asked = ("fdk", folder, "--angles", f"{folder}/angles.csv:2:0:641:2", "--sod", 1000, "--sdd", 1500, "--pixel-size", 1.552, "--detector-offset=-0.3,0px", "--air", "99.9%",
             "--views", "0:320:8", "--size", "96,96,48", "--voxel", 3)
    qb(*asked, "-o", want, "--device", "cpu", "--accuracy", "high")
    return asked, want


@pytest.mark.parametrize("accuracy,most", few(("normal", 1e-3), others=[("high", 5e-5), ("fast", 6e-3)]))
def test_a_measured_head(opencl, head, tmp_path, accuracy, most):
    """The cookbook has it with all its views."""
    asked, want = head
    qb(*asked, "-o", tmp_path / "device.h5", "--device", opencl, "--accuracy", accuracy)
    assert distance(tmp_path / "device.h5", want) < most / 3


def write_counts(path, rng):
    """Counts with flats, darks, a dead column and numbers that are none; half a turn and the fan, or a whole one."""
    views, rows, columns = 44, 12, 40
    y, x = np.mgrid[:rows, :columns] - np.array([5.5, 19.5])[:, None, None]
    gain = rng.uniform(0.8, 1.2, (rows, columns))
    dark = rng.uniform(90, 110, (rows, columns))
    gain[:, 17] = 0
    ball = 0.02 * np.sqrt(np.maximum(15**2 - x**2 - (2 * y)**2, 0))
    data = np.array([dark + 9000 * gain * np.exp(-ball * (1 + 0.1 * np.sin(v))) for v in range(views)], np.float32)
    data[3, 4, 20:23], data[9, 7, 0], data[20, 2, 30] = np.nan, np.inf, 20
    with h5py.File(path, "w") as f:
        f["/exchange/data"] = data
        f["/exchange/data_white"], f["/exchange/data_dark"] = (dark + 9000 * gain)[None], dark[None]
        f["/exchange/theta"] = np.arange(views) * 360 / views
    return path


def filtered(scan, out, on, *more):
    """Volume, plan and what was prepared."""
    report = qb_json("fdk", scan, "-o", out, *CIRCLE, *more, "--device", on)
    return read_h5(out).astype(float), provenance_h5(out)["plan"], report["preparation"]


@slow
def test_slow_storage_leaves_the_mirror(opencl, tmp_path):
    """Slabs with both sides of the mirror read rows on both sides, which the next slab in part reads again: not where reading is what
    takes time. The bits are the same."""
    scan, kept = tmp_path / "scan.raw", tmp_path / "rates.json"
    np.random.default_rng(1).random((24, 64, 40), np.float32).tofile(scan)
    beam = ["--sod", 400, "--sdd", 700, "--pixel-size", 0.8, "--device", "opencl", "--kernel", "bp_cone_circular.half", "-o", tmp_path / "v.npy"]
    def at(rate):
        kept.write_text(json.dumps([machine(), {**storage(tmp_path), "read_bytes_per_second": [rate] * 5}]))
        return {**os.environ, "QB_TUNING": str(kept)}
    with open(tmp_path / "large.raw", "wb") as f:
        f.truncate(720 * 256 * 256 * 4)
    large = ["plan", "fdk", tmp_path / "large.raw", "--shape", "720,256,256:float32", "--quantity", "transmission", "--angles", "0:360", *beam,
             "--size", "256,256,256", "--voxel", 0.45, "--max-vram", "40M"]
    plans = [qb_json(*large, env=at(rate)) for rate in (1e12, 1e5)]
    assert [plan["folded"] for plan in plans] == [True, False] and min(plan["chunks"] for plan in plans) > 1
    words = ["fdk", scan, "--shape", "24,64,40:float32", "--quantity", "transmission", "--angles", "0:360", *beam, "--size", "40,40,60", "--voxel", 0.45]
    volumes = []
    for room, folded in ("100M", True), ("200K", False):
        assert qb_json("plan", *words, "--max-vram", room, env=at(1e5))["folded"] == folded
        qb(*words, "--max-vram", room, "-q", env=at(1e5))
        volumes.append((tmp_path / "v.npy").read_bytes())
    assert volumes[0] == volumes[1]


@pytest.mark.parametrize("angles, more, weights", few(
    ("0:230", ("--hardening", "0.05,-0.002", "--pad", "edge"), "Parker"), others=[
        ("0:360", ("--filter", "hann:0.8", "--hu", 0.02), "none"),
        ("0:360", ("--detector-offset", "7,1", "--size", "48,40,10", "--circle"), "Wang")]))
def test_the_device_filters(opencl, tmp_path, angles, more, weights):
    """Raw numbers go up; repairs, their counts, every kind of weights and rows that go on are as on the CPU, in one cut
    and in many."""
    scan = write_counts(tmp_path / "counts.h5", np.random.default_rng(3))
    more = ("--angles", angles, *more)
    # By layers, so in one slab: rows that slabs share are counted for each of them.
    want, _, counts = filtered(scan, tmp_path / "cpu.h5", "cpu", *more, "--accuracy", "high", "--kernel", "bp_cone_circular.scalar")
    more += ("--kernel", "bp_cone_matrix.alu")
    got, plan, found = filtered(scan, tmp_path / "device.h5", opencl, *more)
    assert weights in plan["redundancy"] and plan["filtered_by"] == opencl and "filtered_by_why" not in plan
    assert np.linalg.norm(got - want) / np.linalg.norm(want) < 5e-5
    assert found == counts and min(found["clamped"], found["not_finite"], found["dead"]) > 0
    cap = plan["device_memory_bytes"] * 2 // 3
    cut, other, _ = filtered(scan, tmp_path / "cut.h5", opencl, *more, "--max-vram", cap)
    assert [other[key] != plan[key] for key in ("chunks", "ring_slots", "views_per_block")].count(True)
    assert other["filtered_by"] == opencl and np.array_equal(cut, got)


@pytest.mark.parametrize("resampled,asked", few((True, "--tilt 5,1,3 --pad ellipse"), others=[
    (True, "--detector-radius 250 --angles 0:230 --pad taper"), (True, "--detector-radius 300 --detector-offset 6,1 --pad edge"),
    (False, "--tilt 0,2,0 --angles 0:230"), (False, "--tilt 0,2,0 --angles 162.17:342.17 --allow-limited"), (False, "--tilt 0,2,0 --detector-offset 6,1"), (False, "--jitter 0.4,0.3,3,20 --hardening 0.05,-0.002"),
    (True, "--tilt 40,0,0 --size 40,40,20 --filter hann:0.8")]))
def test_rows_are_made_on_the_device(opencl, tmp_path, resampled, asked):
    """Of detectors that are turned or bent, and where each view has weights of its own: as on the CPU, repairs and their counts too, whatever the cut."""
    scan, asked = write_counts(tmp_path / "counts.h5", np.random.default_rng(7)), asked.split()
    want, _, counts = filtered(scan, tmp_path / "cpu.h5", "cpu", *asked, "--accuracy", "high", "--kernel", "bp_cone_matrix.scalar")
    asked += "--kernel", "bp_cone_matrix.alu"
    got, plan, found = filtered(scan, tmp_path / "device.h5", opencl, *asked)
    assert plan["filtered_by"] == opencl and plan["resampled"] == resampled
    assert np.linalg.norm(got - want) / np.linalg.norm(want) < 1e-5
    for what in "clamped", "not_finite", "dead":  # the CPU counts what its slabs share for each of them
        assert 0 < found[what] <= counts[what]
    for part in range(2, 12):  # down to slabs of a part of the slices, which begin behind the first detector row
        room = ("--max-vram", plan["device_memory_bytes"] // part)
        if qb_json("plan", "fdk", scan, "-o", tmp_path / "cut.h5", *CIRCLE, *asked, *room, "--device", opencl)["slices_per_chunk"] < plan["slices_per_chunk"]:
            break
    cut, other, _ = filtered(scan, tmp_path / "cut.h5", opencl, *asked, *room)
    assert other["slices_per_chunk"] < plan["slices_per_chunk"] and other["chunks"] > 1 and other["filtered_by"] == opencl and np.array_equal(cut, got)


def test_weights_of_a_narrow_fan(opencl, tmp_path):
    """Of a twentieth of a degree, half of it measured twice: what each ray weighs does not drown in where the source stands."""
    np.save(tmp_path / "p.npy", np.random.default_rng(4).random((24, 16, 32), np.float32))
    job = ["fdk", tmp_path / "p.npy", "--quantity", "line_integral", "--angles", "0:360", "--sod", 100, "--sdd", 1000, "--pixel-size", 0.03, "--size", "32,32,8",
           "--detector-offset", "14,0px", "--tilt", "0,2,0", "-o", tmp_path / "v.npy", "-q"]
    volumes = []
    for there in (["--device", "cpu", "--accuracy", "high"], ["--device", opencl, "--kernel", "bp_cone_matrix.alu"]):
        qb(*job, *there)
        volumes.append(np.load(tmp_path / "v.npy").astype(float))
    assert np.linalg.norm(volumes[1] - volumes[0]) < 1e-5 * np.linalg.norm(volumes[0])


@pytest.mark.parametrize("hardening,kernel,fits", few(("0.5,0.1", "bp_cone_circular.half", True), ("1,5", None, False), others=[
    ("10", "bp_cone_circular.texture", True), ("1,5", "bp_cone_circular.half", False)]))
def test_half_precision_of_bent_values(opencl, tmp_path, hardening, kernel, fits):
    """--hardening makes of logarithms what a bound on them does not hold: it counts, or, where it would be far too loose, halves are for others."""
    y, x = np.mgrid[:32, :48]
    rows = np.exp(-66 * np.exp(-((x - 24) / 14) ** 2 - ((y - 16) / 10) ** 2)) * np.random.default_rng(8).uniform(1, 1.1, (48, 32, 48))
    rows.astype("f4").tofile(tmp_path / "t.raw")
    asked = ["fdk", tmp_path / "t.raw", "--shape", "48,32,48:float32", "--quantity", "transmission", "--angles", "0:360", "--sod", 100, "--sdd", 150, "--pixel-size",
             0.05, "--transmission-floor", 1e-30, "--hardening", hardening, "-o", tmp_path / "v.h5"]
    qb(*asked, "--device", "cpu", "--accuracy", "high")
    want = read_h5(tmp_path / "v.h5").astype(float)
    there = ["--device", opencl, "--accuracy", "normal", *(("--kernel", kernel) if kernel else ())]
    if kernel and not fits:
        fails(3, *asked, *there, says=["half precision needs to know the largest values"])
        return
    qb(*asked, *there)
    assert np.linalg.norm(read_h5(tmp_path / "v.h5") - want) < KERNELS.get(kernel, 1e-3) * np.linalg.norm(want)
    taken = provenance_h5(tmp_path / "v.h5")["plan"]["kernel"]
    assert taken == kernel or not (kernel or "half" in taken)


@pytest.mark.parametrize("unit", [1e-6, 1e-20])
def test_half_precision_of_given_line_integrals(opencl, scan, tmp_path, unit):
    """Of any size: halves are scaled by what a few rows hold, of which a faulty one and a faulty column say nothing. What is beyond that all the same is
    cut off, and told; class high keeps it."""
    qb("convert", scan, "-o", tmp_path / "l.npy", "-q")
    lines = np.load(tmp_path / "l.npy") * np.float32(unit)
    lines[:, :, 5] = 300 * lines.max()
    lines[lines.shape[0] // 2] = 100 * lines.max()
    faulty = lines.copy()
    faulty[0, 2, 3] = 1e7 * unit
    def made(lines, accuracy, device=opencl):
        np.save(tmp_path / "p.npy", lines)
        report = qb_json("fdk", tmp_path / "p.npy", *CIRCLE, "--angles", "0:360", "--keep-all-views", "-o", tmp_path / "v.npy",
                         "--device", device, "--accuracy", accuracy)
        return np.load(tmp_path / "v.npy").astype(float) / unit, report
    want, _ = made(lines, "high", "cpu")
    for accuracy, most in (("high", 5e-5), ("normal", 1e-3)):
        got, report = made(lines, accuracy)
        assert ("half" in report["kernel"]) == (accuracy == "normal")
        assert np.linalg.norm(got - want) < most * np.linalg.norm(want) and "beyond_half_precision" not in report
    want, report = made(faulty, "high")
    assert "beyond_half_precision" not in report and np.abs(want).max() > 1e5
    got, report = made(faulty, "normal")
    assert report["beyond_half_precision"] > 1e5 * unit and "half precision" in str(report["warnings"])
    assert np.isfinite(got).all() and np.abs(got).max() < 0.1 * np.abs(want).max()
    faulty[0, 2, 3] = 90  # about the largest number that is a line integral among small ones
    got, report = made(faulty, "normal")
    assert "beyond_half_precision" in report and "half precision" in str(report["warnings"]) and np.isfinite(got).all()
    faulty[0, 2, 3] = 3e38  # which is none: it is interpolated
    want, _ = made(faulty, "high", "cpu")
    got, report = made(faulty, "normal")
    assert "beyond_half_precision" not in report and report["preparation"]["not_finite"] == 1
    assert np.linalg.norm(got - want) < 1e-3 * np.linalg.norm(want)


def test_the_cpu_filters_beside(opencl, scan, tmp_path):
    """Where the device has no room for raw numbers as well, or no double precision for what it would have to read anew."""
    more = ("--kernel", "bp_cone_matrix.alu")
    least = least_vram(scan, opencl, *more)
    said = fdk(scan, tmp_path / "beside.h5", "--device", opencl, *more, "--max-vram", least)
    assert "the CPU filters: the device has no room" in said
    assert "it filters, too" in fdk(scan, tmp_path / "there.h5", "--device", opencl, *more)
    assert 0 < distance(tmp_path / "beside.h5", tmp_path / "there.h5") < 1e-5
    single, tilted = Shim(tmp_path, single=1).env, (*more, "--tilt", "5,0,0", "--device", opencl)
    said = fdk(scan, tmp_path / "single.h5", *tilted, env=single)
    assert "the CPU filters: the device has no double precision" in said
    fdk(scan, tmp_path / "double.h5", *tilted)
    assert provenance_h5(tmp_path / "single.h5")["plan"]["filtered_by"] == "cpu"
    assert 0 < distance(tmp_path / "single.h5", tmp_path / "double.h5") < 1e-5


@slow
def test_who_filters_follows_the_forecast(tmp_path):
    """A device of slow memory beside a CPU that filters in no time. On a CUDA driver that is only played."""
    driver = BUILT / "tests" / "device" / "libmock_cuda.so"
    if not driver.exists():
        pytest.skip("there is no played CUDA driver")
    raw, tuning = tmp_path / "p.raw", tmp_path / "tuning.json"
    with open(raw, "wb") as file:
        file.truncate(256 * 512 * 512 * 4)
    def plan(arch, rate, *more):
        kept = machine()
        kept["rates"]["filter_cone"] = rate
        tuning.write_text(json.dumps([{**storage(tmp_path), "read_bytes_per_second": [1e12] * 5, "write_bytes_per_second": [1e12] * 5}, kept]))
        env = {**os.environ, "QB_LIBCUDA": driver, "QB_LIBNVRTC": driver, "QB_LIBOPENCL": "", "MOCK_CUDA_FREE": "4000000000", "QB_TUNING": tuning, "QB_CUDA_ARCH": arch}
        return qb_json("plan", "fdk", raw, "--shape", "256,512,512:float32", "--angles", "0:360", "--sod", 600, "--sdd", 900, "--pixel-size", 0.4,
                       "--size", "16,16,400", "-o", tmp_path / "v.raw", "--device", "cuda", "-q", *more, env={k: str(v) for k, v in env.items()})
    beside, slow, usual = plan(30, 1e15), plan(30, 1e6), plan(90, 1e8)
    assert beside["filtered_by"] == "cpu" and beside["filtered_by_why"] == "it is forecast to be faster"
    assert slow["filtered_by"] == usual["filtered_by"] == "cuda:0" and "not forecast to be faster" in slow["filtered_by_why"]
    for told in (beside, slow, usual):
        seconds = told["filtered_by_seconds"]
        assert (seconds["cpu"] * 1.25 < seconds["device"]) == (told["filtered_by"] == "cpu")
    # It shows in the last bits: nothing that only says how the work is cut has a say.
    for more in (("--threads", 1), ("--threads", 64), ("--max-vram", "100M")):
        assert plan(30, 1e15, *more)["filtered_by"] == "cpu" and plan(90, 1e8, *more)["filtered_by"] == "cuda:0", more
    edge = next(rate for rate in np.geomspace(1e7, 1e12, 6) if plan(30, rate)["filtered_by"] == "cpu")
    for rate in (edge / 10, edge):
        assert len({plan(30, rate, "--threads", threads)["filtered_by"] for threads in (1, 16)}) == 1, rate


@pytest.mark.parametrize("dtype, more, converts", few((("uint16", "--range=-900,300"), ("--circle", "--hu", 0.02), True), (("uint16", "--range", "0,0.015"), ("--outside", "zero"), False),
                                                      others=[(("float16",), (), True)]))
def test_numbers_of_the_file_come_down(opencl, scan, tmp_path, dtype, more, converts):
    """A preview wants the floats, and what a cone does not see depends on z: then the host converts, to the same."""
    asked = (*CIRCLE, "--device", opencl, "--dtype", *dtype, *more)
    reports = [qb_json("fdk", scan, "-o", tmp_path / f"{name}.h5", *asked, *preview)
               for name, preview in (("there", ()), ("here", ("--preview", tmp_path / "here.png")))]
    stages = [[s["name"] for s in report["stages"]] for report in reports]
    assert ("convert" not in stages[0]) == converts and "convert" in stages[1]
    assert np.array_equal(read_h5(tmp_path / "there.h5"), read_h5(tmp_path / "here.h5"))
    assert reports[0]["clamped_values"] == reports[1]["clamped_values"]
    assert (reports[0]["clamped_values"] > 0) == (dtype[0] != "float16")


@pytest.mark.parametrize("kernel", ["bp_cone_matrix.alu", "bp_cone_circular.half"] if QUICK else KERNELS)
def test_the_same_bits_in_any_cut(opencl, scan, tmp_path, kernel):
    on = ("--device", opencl, "--kernel", kernel)
    fdk(scan, tmp_path / "whole.h5", *on)
    whole, seen = read_h5(tmp_path / "whole.h5"), set()
    most = qb_json("plan", "fdk", scan, "-o", tmp_path / "x.h5", *CIRCLE, *on)["device_memory_bytes"]
    for cap in (most // 5, most // 2):
        plan = qb_json("plan", "fdk", scan, "-o", tmp_path / "x.h5", *CIRCLE, *on, "--max-vram", cap)
        assert plan["filtered_by"] == opencl
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
    for after in range(0, count - 5, count // (4 if QUICK else 8)):
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
    fails(2, *args, "--device", "opencl:all", says=["one device a process", "there are 2", "mpirun -n 2 --bind-to none qb", "with --device opencl)", "--device opencl:0"], env=two)
    assert not (tmp_path / "x.h5").exists()


def test_the_plan_says_why(opencl, scan, tmp_path):
    plan = qb_json("plan", "fdk", scan, "-o", tmp_path / "x.h5", *CIRCLE, "--device", opencl, "--accuracy", "normal")
    said = qb("plan", "fdk", scan, "-o", tmp_path / "x.h5", *CIRCLE, "--device", opencl, "--json").stdout
    assert said.count('"why"') == 1  # of whoever computes, and of no other
    rows = {row["kernel"]: row["verdict"] for row in plan["why"]}
    assert rows == {kernel: "runs only where --kernel names it" if kernel in STUDIED else
                    "usable" if bound <= 1e-3 else "less accurate than asked for" for kernel, bound in {**KERNELS, **STUDIED}.items()}
    assert plan["kernel"] in KERNELS and plan["device_memory_bytes"] > 36 * 48 * 40 * 4


def test_a_kernel_that_keeps_less(opencl, scan, tmp_path):
    """Taken, since it was named, and told."""
    for kernel, keeps in (("bp_cone_circular.half", "normal"), ("bp_cone_circular.float", None)):
        said = fdk(scan, tmp_path / "x.h5", "--device", opencl, "--accuracy", "high", "--kernel", kernel)
        assert (f"--kernel {kernel} is of --accuracy {keeps} only, not high" in said) == bool(keeps)


def test_what_circles_ask_for(opencl, scan, tmp_path):
    """A tilt, a grid beside the axis, views that do not repeat: other packings, then the kernels for any matrices."""
    def verdict(*more):
        plan = qb_json("plan", "fdk", scan, "-o", tmp_path / "x.h5", *CIRCLE, "--device", opencl, *more)
        row = [row for row in plan["why"] if row["kernel"] == "bp_cone_circular.float"][0]
        return row["verdict"], row.get("parameters", {}).get("PACKING")
    assert verdict() == ("usable", 40)
    assert verdict("--size", "40,30,20") == ("usable", 21)
    assert verdict("--size", "40,30,20", "--detector-offset", "0,3.3px") == ("usable", 20)
    assert verdict("--offset", "1,0,0") == ("usable", 11)
    assert verdict("--tilt", "1,0,0") == ("the orbit is no exact circle about z", None)
    fails(3, "fdk", scan, "-o", tmp_path / "x.h5", *CIRCLE, "--tilt", "1,0,0", "--device", opencl, "--kernel",
          "bp_cone_circular.float", says=["no exact circle", "--kernel"])


def test_bench(opencl):
    found = qb_json("bench", "backproject", "--geometry", "cone", "--size", 32, "--views", 40, "--device", opencl,
                    "--repeat", 1, "--accuracy", "high")
    assert found["kernel"] in ("bp_cone_matrix.alu", "bp_cone_circular.float") and 0 < found["rel_l2"] < 5e-5
    assert found["gups"] > 0 and found["seconds_median"] > 0


@slow
def test_ifdk_table(opencl):
    """Table 4 of the iFDK paper, a hundredth of it: the problem's own shape, by each kernel and by the planner's choice."""
    script = Path(__file__).parents[2] / "scripts" / "ifdk-table.py"
    done = subprocess.run([script, QB, opencl, "--problem", "512-2k", "--k", "8", "--kernels", "--repeat", "1"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    rows = found["problems"]
    ran = [row for row in rows if "not_run" not in row]
    assert [row["kernel"] for row in rows][:5] == [k for k in STUDIED if "naive" not in k] and rows[5]["kernel"] in KERNELS
    assert len(rows) == 6 and len(ran) >= 2 and all(row["rel_l2"] < 1e-3 and row["gups"] > 0 for row in ran)
    assert all(row["problem"] == "4^2 x 8 -> 8^2 x 16" and row["alpha"] == 1 / 8 for row in rows)
    assert found["gups_least"] == min(row["gups"] for row in ran)


@pytest.mark.parametrize("kernel", ["bp_cone_matrix.naive-views", "bp_cone_circular.l1-tran"])
def test_the_papers_kernels(opencl, scan, tmp_path, kernel):
    """The CPU's values, also off the mirror's plane; what the paper's kernels cannot do is said."""
    for more in (), ("--size", "40,30,21", "--detector-offset", "0,3.3px"):
        fdk(scan, tmp_path / "cpu.h5", *more, "--device", "cpu", "--accuracy", "high")
        fdk(scan, tmp_path / "device.h5", *more, "--device", opencl, "--kernel", kernel)
        assert distance(tmp_path / "device.h5", tmp_path / "cpu.h5") < STUDIED[kernel]
        parameters = provenance_h5(tmp_path / "device.h5")["plan"]["kernel_parameters"]
        assert parameters["MIRROR"] == (not more and "circular" in kernel)
    fails(3, "fdk", scan, "-o", tmp_path / "x.h5", *CIRCLE, "--tilt", "1,0,0", "--device", opencl, "--kernel",
          "bp_cone_circular.l1-tran", says=["no exact circle", "--kernel"])


@pytest.mark.parametrize("accuracy", ["high", "normal", "fast"])
@pytest.mark.parametrize("size", ["1,1,1", "2048,2048,2048"])
def test_the_papers_kernels_are_not_chosen(opencl, scan, accuracy, size):
    plan = qb_json("plan", "fdk", scan, "-o", "x.h5", *CIRCLE, "--size", size, "--voxel", 0.05, "--accuracy", accuracy,
                   "--device", opencl)
    assert plan["kernel"] in KERNELS


@pytest.fixture(scope="module")
def rabbit(tmp_path_factory):
    path = tmp_path_factory.mktemp("rabbit") / "r.rct"
    qb("simulate", "rabbitct", "-o", path, "--views", 2, "--detector", "78,60", "--size", 128, "-q")
    return path


def test_rabbitct_on_a_device(opencl, rabbit, tmp_path):
    """Every run begins at zero; a device without room says so; the plug-in behind both runners' interfaces."""
    found = qb_json("bench", "rabbitct", rabbit, "--size", 128, "--device", opencl, "--repeat", 2)
    assert found["kernel"] == "bp_cone_matrix.alu" and found["rel_l2"] < 5e-5 and found["rmse_hu"] < 0.1
    assert "gups_per_thread" not in found and found["gups"] > 0 and found["device"]
    fails(1, "bench", "rabbitct", rabbit, "--size", 128, "--device", opencl, env=Shim(tmp_path, bytes=10**6).env,
          says=["128^3 voxels", "smaller cube"])
    plugin, runner = BUILT / "librabbitct_quickbeam.so", BUILT / "plugins" / "rabbitct" / "rabbitct_test"
    if not runner.exists():
        pytest.skip("the plug-in's test is not built")
    for name, value, code, said in (("DEVICE", opencl, 0, "ok"), ("DEVICE", "opencl:99", 1, "opencl:99"), ("ACCURACY", "hgih", 1, "hgih is none of"),
                                    ("THREADS", "two", 1, "two is no number")):
        env = {**os.environ, f"RABBITCT_{name}": value}
        done = subprocess.run([runner, plugin], env=env, capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == code and said in done.stdout + done.stderr


@slow
def test_rabbitct_ladder(opencl, rabbit):
    """Each configuration of the RabbitCT paper: the figures fit together."""
    ladder = BUILT / "tests" / "variants" / "rabbitct_ladder"
    done = subprocess.run([ladder, rabbit, opencl, "128", "1"], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    rungs = [row for row in found["configurations"] if "not_run" not in row]
    assert len(found["configurations"]) == 13 and {"bp_cone_matrix.naive", "bp_cone_matrix.alu"} <= {r["kernel"] for r in rungs}
    assert found["best_views_per_launch"] in (1, 2, 4, 8, 16, 32) and found["reference_present"]
    for row in rungs:
        assert row["rel_l2"] < {**KERNELS, **STUDIED}[row["kernel"]] and 0 <= row["error_hu2"] < 1
        assert row["gups"] == pytest.approx(128**3 * 2 / row["seconds"] / 2**30)
        assert row["mean_ms"] == pytest.approx(row["seconds"] / 2 * 1e3)
        assert row["parameters"].get("VIEWS", row["views_per_launch"]) == row["views_per_launch"]
    for a, b in zip(rungs, rungs[1:]):
        assert b["speed_up"] == pytest.approx(a["seconds"] / b["seconds"])
    for words, code in (([rabbit, opencl], 2), ([rabbit, opencl, "100", "1"], 1), (["none.rct", opencl, "128"], 1)):
        assert subprocess.run([ladder, *words], capture_output=True, timeout=PATIENCE).returncode == code


def test_bench_fdk(opencl, tmp_path, monkeypatch):
    """The whole of it, file to file: what the device does counts as it waits for it."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    found = qb_json("bench", "fdk", "--size", 32, "--views", 40, "--repeat", 1, "--device", opencl, "--kernel", "bp_cone_matrix.alu")
    stages = found["stage_seconds_alone"]
    assert set(stages) >= {"read", "filter", "upload", "back-project", "download", "write"}
    busy = {stage["name"]: stage["busy_seconds"] for stage in found["last_run"]["stages"]}
    assert stages["back-project"] == pytest.approx(busy["back-project"]) and found["kernel"] == "bp_cone_matrix.alu"
    assert found["bound_seconds"] >= max(stages.values()) and not list(tmp_path.iterdir())
