# SPDX-License-Identifier: MIT
"""--max-ram is obeyed, and the plan knows the peak: memory of the process's own, mapped file pages not counted."""
import json
import re
import resource
import subprocess
import tempfile
import time

import h5py
import numpy as np
import pytest

from qbtest import QB, fails, memory_is_ours, opencl, qb, qb_json, slow  # noqa: F401 (opencl is a fixture)

MIB = 1 << 20


def watched(args):
    """Run qb: its exit code, the largest VmHWM less RssFile that was seen, polling, and what it said."""
    errors = tempfile.TemporaryFile("w+")  # a pipe that nobody empties could fill up
    run = subprocess.Popen([QB, *map(str, args)], stdout=subprocess.DEVNULL, stderr=errors)
    peak = 0
    path = f"/proc/{run.pid}/status"
    while run.poll() is None:
        try:
            with open(path) as f:
                status = f.read()
        except (FileNotFoundError, ProcessLookupError):
            break
        # Before exec the child is a copy of this interpreter.
        if not status.startswith("Name:\tqb\n"):
            continue
        field = dict(re.findall(r"^(VmHWM|RssFile):\s+(\d+) kB", status, re.M))
        if len(field) == 2:
            peak = max(peak, (int(field["VmHWM"]) - int(field["RssFile"])) * 1024)
        time.sleep(0.0005)
    code = run.wait()
    errors.seek(0)
    return code, peak, errors.read()


def near(peak, forecast, off=0.15):
    return abs(forecast - peak) < max(off * peak, 1.5 * MIB)


def peak_of(args, forecast=0, off=0.15):
    """Who polls on a busy machine may come too late, but sees no more than there is: what is far below the forecast is looked at
    again."""
    peak = 0
    for _ in range(8):
        code, seen, said = watched(args)
        assert code == 0, said
        peak = max(peak, seen)
        if peak >= forecast or near(peak, forecast, off):
            break
    return peak


def least(scan, args):
    """The number of MiB that a refusal says is needed."""
    told = qb_json("plan", *args, "--max-ram", "2M", code=2)["error"]
    return float(re.search(r"needs? ([\d.]+) MiB", told).group(1)) * MIB


@slow
def test_cap_on_a_device_in_memory(opencl, tmp_path, monkeypatch):
    """What OpenCL on the processor holds and what its compiler takes are within --max-ram."""
    scan, out = tmp_path / "scan.h5", tmp_path / "v.h5"
    qb("simulate", "disc", "-o", scan, "--views", 90, "--detector", "1024,64", "-q")
    args = ["fbp", scan, "-o", out, "--center", 511.5, "--device", opencl, "--max-ram", "300M"]
    monkeypatch.setenv("QB_CACHE_DIR", "")
    monkeypatch.setenv("POCL_CACHE_DIR", str(tmp_path / "pocl"))
    forecast = qb_json("plan", *args)["memory_bytes"]
    assert peak_of(args) <= forecast <= 300 * MIB


SIZES = {  # views, rows, columns, how it is stored, options
    "small": (200, 64, 256, {}, []),
    "wide": (300, 64, 1024, {"chunks": (1, 64, 1024)}, ["--size", "400"]),
    "tall": (120, 64, 512, {"chunks": (25, 32, 512), "compression": "gzip"}, ["--size", "256"]),
    "many": (300, 80, 200, {"chunks": (1, 1, 200)}, []),  # chunks, more than HDF5 may know the places of
    "long": (600, 40, 640, {}, ["--dtype", "uint16"]),
    "phase": (120, 300, 256, {"chunks": (1, 300, 256)}, ["--paganin", "20px"]),  # what is filtered is gone when the rest is there
}


@pytest.fixture(scope="module")
def scans(tmp_path_factory):
    folder, made = tmp_path_factory.mktemp("scans"), {}

    def scan(name):
        if name not in made:
            views, rows, columns, how, _ = SIZES[name]
            made[name] = folder / f"{name}.h5"
            rng = np.random.default_rng(3)
            with h5py.File(made[name], "w") as f:
                d = f.create_dataset("/exchange/data", (views, rows, columns), np.uint16, **how)
                step = how.get("chunks", (50,))[0]
                step = max(step, 25)
                for v in range(0, views, step):
                    n = min(step, views - v)
                    d[v:v + n] = rng.integers(5000, 6000, (n, rows, columns), np.uint16)
                f["/exchange/data_white"] = np.full((2, rows, columns), 10000, np.uint16)
                f["/exchange/data_dark"] = np.full((2, rows, columns), 100, np.uint16)
                f["/exchange/theta"] = np.arange(views) * (180 / views)
        return made[name]

    return scan


@slow
@pytest.mark.parametrize("room", ["tight", "some", "plenty"])
@pytest.mark.parametrize("name", list(SIZES))
def test_cap_and_forecast(scans, tmp_path, name, room):
    scan = scans(name)
    args = ["fbp", scan, "-o", tmp_path / "v.h5", "--center", "100", *SIZES[name][4]]
    need = least(scan, args)
    cap = int({"tight": need + 0.2 * MIB, "some": need * 1.6, "plenty": 8 << 30}[room])
    args += ["--max-ram", cap, *(["--device", "cpu"] if room == "plenty" else [])]  # small caps are for the CPU
    forecast = qb_json("plan", *args)["memory_bytes"]
    off = 0.3 if name == "phase" else 0.15
    peak = peak_of(args, forecast, off)
    words = f"{name}, {room}: cap {cap / MIB:.1f}, forecast {forecast / MIB:.1f}, peak {peak / MIB:.1f} MiB"
    print(words)
    assert forecast <= cap and peak <= cap, words
    assert near(peak, forecast, off), words


CONE = ["--sod", 200, "--sdd", 300]
AXIS = ["--center", 15.5]


def addresses(mib):
    """Run with so few MiB of addresses, as in a job that a batch system limits."""
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (mib * MIB, mib * MIB))


@memory_is_ours
def test_a_refusal_names_the_limit_that_holds(small, tmp_path):
    """Nobody gave a --max-ram: then it is not named."""
    np.save(tmp_path / "large.npy", np.zeros((300, 512, 512), np.float32))
    for args, code in ((["sirt", "s.h5", *AXIS, "--size", 2000, "-o", "o.h5"], 2), (["compare", tmp_path / "large.npy", tmp_path / "large.npy"], 1)):
        said = fails(code, *args, cwd=small, preexec_fn=addresses(400), says=["ulimit -v"])
        assert "--max-ram" not in said and "MiB" in said
    assert "ulimit" not in fails(2, "sirt", "s.h5", *AXIS, "--size", 2000, "--max-ram", "40M", "-o", "o.h5", cwd=small, says=["--max-ram of 40.0 MiB is too small"])


@memory_is_ours
def test_center_obeys_its_cap(tmp_path):
    scan = tmp_path / "s.h5"
    qb("simulate", "disc", "-o", scan, "--views", 400, "--detector", "800,9", "-q")
    told = fails(2, "center", scan, "--max-ram", "4M", says=["--max-ram of 4.0 MiB is too small", "the axis in even one row"])
    named = float(re.search(r"needs? ([\d.]+) MiB", told).group(1))
    for cap in named, 3 * named:
        assert peak_of(["center", scan, "--max-ram", f"{cap}M"]) <= cap * MIB


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("small")
    detector = ["--detector", "32,32", "--pixel-size", 1, "--views", 40, "-q"]
    qb("simulate", "disc", "-o", "s.h5", *detector, cwd=folder)
    qb("simulate", "disc", "-o", "c.npy", "--geometry", "cone", *CONE, *detector, cwd=folder)
    np.save(folder / "v.npy", np.random.default_rng(2).random((64, 64, 64), np.float32))
    return folder


@memory_is_ours
@pytest.mark.parametrize("args", [
    ["fbp", "s.h5", *AXIS, "-o", "o.h5"], ["fbp", "s.h5", *AXIS, "-o", "o.h5", "--dtype", "uint8"], ["fdk", "c.npy", *CONE, "-o", "o.h5"],
    ["sirt", "s.h5", *AXIS, "--iterations", 1, "-o", "o.h5"], ["mbir", "s.h5", *AXIS, "--equits", 1, "-o", "o.h5"],
    ["mbir", "c.npy", *CONE, "--equits", 1, "-o", "o.h5"],
    ["project", "v.npy", "-g", "parallel", "--voxel", 1, "--views", 20, "-o", "o.npy"],
    ["simulate", "disc", "--detector", "600,600", "--views", 2, "-o", "o.h5"], ["info", "s.h5"], ["center", "s.h5"], ["compare", "v.npy", "v.npy"]],
    ids=lambda args: "-".join(str(a) for a in args if a in ("uint8", args[0])))
def test_what_a_refusal_names_is_enough(small, args):
    """The least, also where devices could be looked for, whose libraries take more than the work; it lies above the cap."""
    told = fails(2, *args, "--max-ram", "1.5M", cwd=small, says=["--max-ram of 1.5 MiB is too small"])
    named = float(re.search(r"needs? ([\d.]+) MiB", told).group(1))
    assert named > 1.5
    qb(*args, "--max-ram", f"{named}M", cwd=small)


# ---- verbs that are no reconstructions ----


def held_within(args, cap):
    """Refused with the number that is needed, or kept; True when it was done."""
    code, peak, said = watched([*args, "--max-ram", f"{cap}M"])
    if code == 2:
        assert "--max-ram" in said and re.search(r"needs? [\d.]+ MiB", said), said
        return False
    assert code == 0, said
    assert peak <= cap * MIB
    return True


@memory_is_ours
@pytest.mark.parametrize("more", [[], ["--photons", 1000], ["--truth", "truth.mha"]])
def test_simulate_keeps_a_cap(tmp_path, monkeypatch, more):
    monkeypatch.chdir(tmp_path)
    done = {}
    for cap in (2, 16, 40, 120):
        args = ["simulate", "spheres", "-o", f"s{cap}.h5", "--views", 24, "--detector", "512,256", "-q", *more]
        done[cap] = held_within(args, cap)
    assert not done[2] and done[120]
    if done[40]:  # the same bits, whatever the chunks are
        assert (tmp_path / "s40.h5").stat().st_size > 0
        with h5py.File("s40.h5") as a, h5py.File("s120.h5") as b:
            assert np.array_equal(a["/exchange/data"][()], b["/exchange/data"][()])


@memory_is_ours
def test_compare_keeps_a_cap(tmp_path):
    a = np.random.default_rng(1).random((60, 256, 256), np.float32)
    np.save(tmp_path / "a.npy", a)
    args = ["compare", tmp_path / "a.npy", tmp_path / "a.npy"]
    assert not held_within(args, 30)
    assert held_within(args, 40)


@memory_is_ours
def test_info_keeps_a_cap(tmp_path):
    with h5py.File(tmp_path / "s.h5", "w") as f:
        f["/exchange/data"] = np.ones((4, 1000, 1500), np.uint16)
        f["/exchange/data_white"] = np.full((2, 1000, 1500), 7, np.uint16)
    assert not held_within(["info", tmp_path / "s.h5"], 10)
    assert held_within(["info", tmp_path / "s.h5"], 60)


@memory_is_ours
def test_limits_of_the_system_count(tmp_path):
    """Under ulimit -v the default is within it; without, this plan takes more slices at a time, whatever the kernel."""
    np.save(tmp_path / "s.npy", np.ones((600, 64, 1000), np.float32))
    args = [QB, "fbp", str(tmp_path / "s.npy"), "--angles", "0:180", "--center", "499.5", "-o", str(tmp_path / "v.h5"), "-q"]

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (600 << 20, 600 << 20))

    free = json.loads(subprocess.run([*args, "--dry-run", "--json"], capture_output=True, text=True).stdout)
    kept = json.loads(subprocess.run([*args, "--dry-run", "--json"], capture_output=True, text=True, preexec_fn=limit).stdout)
    assert kept["memory_bytes"] < 250 * MIB < free["memory_bytes"]
    done = subprocess.run(args, capture_output=True, text=True, preexec_fn=limit)
    assert done.returncode == 0, done.stderr
