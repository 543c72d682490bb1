# SPDX-License-Identifier: MIT
"""A device that runs out of memory while buffers are taken: less at a time and the same bits, until nothing fits."""
import json
import re

import h5py
import numpy as np
import pytest

from qbtest import Shim, eager, fails, few, leftovers, opencl, qb, qb_json, read_h5, slow, smallest_cap, write_scan  # noqa: F401 (opencl is a fixture)

VIEWS, ROWS, COLUMNS = 48, 33, 96
CENTER = ("--center", (COLUMNS - 1) / 2)


@pytest.fixture(scope="module")
def scan(tmp_path_factory):
    path = tmp_path_factory.mktemp("scan") / "scan.h5"
    qb("simulate", "spheres", "-o", path, "--views", VIEWS, "--detector", f"{COLUMNS},{ROWS}", "--photons", 20000, "--seed", 3, "-q")
    return path


def size_of(text):
    """Bytes of "1.5 MiB"."""
    number, unit = text.split()
    return float(number) * {"bytes": 1, "KiB": 2 ** 10, "MiB": 2 ** 20, "GiB": 2 ** 30}[unit]


def run(scan, out, shim, *more):
    """Reconstruct through the shim: voxels, what was said, what the shim counted."""
    said = qb("fbp", scan, "-o", out, *CENTER, *more, env=shim.env).stderr
    return read_h5(out), said, shim.counted()


def refused(scan, folder, shim, *more):
    """Nothing fits: the message, and no file besides those there were."""
    before = leftovers(folder)
    said = fails(1, "fbp", scan, "-o", folder / "none.h5", *CENTER, *more, env=shim.env)
    assert shim.counted()["live_bytes"] == 0
    assert leftovers(folder) == before
    return said


def told_least(said):
    """The bytes that a refusal says one slice needs."""
    return size_of(re.search(r"even one slice needs (.+) on the device.*--size, or --device cpu", said).group(1))


def least(scan, folder, *more):
    """About the fewest bytes that one slice can be made with, looked for from what the plan says on: too few, enough."""
    told = told_least(fails(1, "plan", "fbp", scan, "-o", folder / "least.h5", *CENTER, *more, "--max-vram", 1000))
    for more_than in (1, 1.1, 1.25, 1.5, 2):
        try:
            run(scan, folder / "least.h5", Shim(folder, bytes=int(told * more_than)), *more)
            return int(told * 0.5), int(told * more_than)
        except AssertionError:
            continue
    raise AssertionError(f"more than twice the {told:.0f} bytes that were told are needed")


@pytest.mark.parametrize("kernel", few("alu", others=["texture"]))
def test_smaller_until_nothing_fits(opencl, scan, tmp_path, kernel):
    more = ("--device", opencl, "--kernel", f"bp_parallel_linear.{kernel}")
    whole, said, counted = run(scan, tmp_path / "all.h5", Shim(tmp_path), *more)
    assert "no room" not in said and counted["refused"] == 0 and counted["live_bytes"] == 0
    need = counted["peak_bytes"]
    too_little, enough = least(scan, tmp_path, *more)
    assert enough < need / 3
    for room in (need, need // 2, enough) if kernel == "alu" else (need // 2, enough):
        got, said, counted = run(scan, tmp_path / "cut.h5", Shim(tmp_path, bytes=room), *more)
        assert np.array_equal(got, whole)
        assert counted["peak_bytes"] <= room and counted["live_bytes"] == 0
        assert (counted["refused"] > 0) == ("the device has no room for" in said) == (room < need)
    assert "goes on with 1 [" in said and "goes on with one [" in said and "so many views at a time" in said
    for room in (too_little, 0) if kernel == "alu" else (too_little,):
        assert 0.5 < told_least(refused(scan, tmp_path, Shim(tmp_path, bytes=room), *more)) / enough < 2


@pytest.mark.parametrize("orders", [{"error": -5}, {"error": -61}, {"gpu": 1, "deferred": 1},
                                    {"gpu": 1, "deferred": 1, "error": -5}],
                         ids=["resources", "size", "deferred", "deferred-resources"])
@pytest.mark.parametrize("kernel", ["alu"])
def test_however_the_driver_says_so(opencl, scan, tmp_path, orders, kernel):
    """Many drivers say yes and fail when the memory is first used."""
    more = ("--device", opencl, "--kernel", f"bp_parallel_linear.{kernel}")
    whole, _, counted = run(scan, tmp_path / "all.h5", Shim(tmp_path, **orders), *more)
    room = counted["peak_bytes"] // 3
    got, said, now = run(scan, tmp_path / "cut.h5", Shim(tmp_path, bytes=room, **orders), *more)
    assert np.array_equal(got, whole) and "no room for" in said and now["peak_bytes"] <= room
    assert "even one slice" in refused(scan, tmp_path, Shim(tmp_path, bytes=1000, **orders), *more)


@pytest.mark.parametrize("kernel", few("alu", "texture", others=["alu_split", "texture_half", "hybrid"]))
def test_the_plan_knows_what_is_held(opencl, scan, tmp_path, kernel):
    more = ("--device", opencl, "--kernel", f"bp_parallel_linear.{kernel}")
    for cap in ((), ("--max-vram", "1M")):
        plan = qb_json("plan", "fbp", scan, "-o", tmp_path / "x.h5", *CENTER, *more, *cap)
        _, _, counted = run(scan, tmp_path / "v.h5", Shim(tmp_path), *more, *cap)
        assert abs(plan["device_memory_bytes"] / counted["peak_bytes"] - 1) < 0.05


@pytest.mark.parametrize("kernel", few("alu", others=["alu_half", "texture", "texture_half", "hybrid", "direct"]))
def test_never_more_than_forecast(opencl, tmp_path, kernel):
    """Of small scans tables, counters and padding are the most."""
    rng = np.random.default_rng(1)
    more = ("--device", opencl, "--kernel", f"bp_parallel_linear.{kernel}")
    if kernel == "hybrid":
        more += ("--accuracy", "fast")
    shapes = [(300, 5, 33), (6000, 1, 8)]
    if kernel == "alu":
        shapes += [(2, 1, 2)]
    for views, rows, columns in shapes:
        scan = write_scan(tmp_path / "small.h5", rng.random((views, rows, columns), np.float32),
                          np.arange(views) * 180 / views, quantity="line_integral")
        args = (scan, "-o", tmp_path / "v.h5", *CENTER[:1], (columns - 1) / 2, *more)
        whole = qb_json("plan", "fbp", *args)["device_memory_bytes"]
        for cap in (whole, whole * 9 // 10):
            capped = (*args, "--max-vram", cap)
            try:
                forecast = whole if cap == whole else qb_json("plan", "fbp", *capped)["device_memory_bytes"]
            except AssertionError as refusal:
                assert "even one slice needs" in str(refusal)
                continue
            shim = Shim(tmp_path)
            qb("fbp", *capped, env=shim.env)
            assert 0.8 * forecast <= shim.counted()["peak_bytes"] <= forecast <= cap, (views, rows, cap)


@pytest.mark.parametrize("kernel", few("alu", others=["texture"]))
def test_plan_takes_fewer_views(opencl, tmp_path, kernel):
    """Long scans of few rows: the rows filtered at a time are the most, and go down to a view."""
    rng = np.random.default_rng(1)
    scan = write_scan(tmp_path / "long.h5", rng.random((1500, 2, 256), np.float32), np.arange(1500) * .12,
                      quantity="line_integral")
    args = (scan, "-o", tmp_path / "v.h5", "--center", 127.5, "--size", 32)
    named = (*args, "--device", opencl, "--kernel", f"bp_parallel_linear.{kernel}")
    told = fails(1, "fbp", *named, "--max-vram", "1000")
    need, have = re.search(r"even one slice needs (.+) on the device, and (.+) may be used: a larger --max-vram, "
                           r"a smaller --size, or --device cpu", told).groups()
    assert have == "1000 bytes"
    enough = int(size_of(need))
    told = fails(1, "plan", "fbp", *named, "--max-vram", int(enough * .95))
    assert f"needs {need} on the device" in told
    qb("fbp", *args[:2], tmp_path / "whole.h5", *named[3:])
    shim = Shim(tmp_path)
    assert "no room" not in qb("fbp", *named, "--max-vram", enough, env=shim.env).stderr
    counted = shim.counted()
    assert counted["peak_bytes"] <= enough and counted["refused"] == 0
    assert np.array_equal(read_h5(tmp_path / "v.h5"), read_h5(tmp_path / "whole.h5"))
    plan = qb_json("plan", "fbp", *args, "--max-vram", enough * 2, env={**Shim(tmp_path, gpu=1).env, "QB_TUNING": eager(tmp_path)})
    assert plan["device"].startswith("opencl")


def test_auto_goes_to_the_cpu(opencl, scan, tmp_path, monkeypatch):
    """A device that nobody named is left to itself; what only it can do is refused."""
    monkeypatch.setenv("QB_TUNING", eager(tmp_path))
    none = {"gpu": 1, "bytes": 1000}
    got, said, _ = run(scan, tmp_path / "a.h5", Shim(tmp_path, **none))
    assert "--device auto: the CPU computes: even one slice needs" in said
    want, _, _ = run(scan, tmp_path / "b.h5", Shim(tmp_path), "--device", "cpu")
    assert np.array_equal(got, want)
    with h5py.File(tmp_path / "a.h5") as a, h5py.File(tmp_path / "b.h5") as b:
        told, meant = (f["/process/quickbeam/provenance"][()].decode() for f in (a, b))
    assert re.search(r'"kernel":\s*"[^"]*"', told).group() == re.search(r'"kernel":\s*"[^"]*"', meant).group()
    assert '"device":\t"cpu"' in told or '"device": "cpu"' in told
    refused(scan, tmp_path, Shim(tmp_path, **none), "--kernel", "bp_parallel_linear.alu")
    refused(scan, tmp_path, Shim(tmp_path, **none), "--interp", "oversample")


def test_the_file_says_what_was_done(opencl, scan, tmp_path):
    """Not what was planned before there was less room."""
    more = ("--device", opencl, "--kernel", "bp_parallel_linear.alu")
    planned = qb_json("plan", "fbp", scan, "-o", tmp_path / "v.h5", *CENTER, *more)
    for part in (2, 5):
        _, said, _ = run(scan, tmp_path / "v.h5", Shim(tmp_path, bytes=planned["device_memory_bytes"] // part), *more)
        with h5py.File(tmp_path / "v.h5") as f:
            plan = json.loads(f["/process/quickbeam/provenance"][()])["plan"]
        slices = int(re.findall(r"slices at a time .*it goes on with (\d+) \[", said)[-1])
        assert plan["slices_per_chunk"] == slices < planned["slices_per_chunk"]
        assert plan["chunks"] == -(-ROWS // slices)
        assert plan["ring_slots"] == (1 if "goes on with one [" in said else 2)
        assert plan["device_memory_bytes"] <= planned["device_memory_bytes"] // part
        assert plan["angles"] == planned["angles"] and plan.keys() <= planned.keys()


@slow
def test_integers_and_preview_without_room(opencl, scan, tmp_path, monkeypatch):
    monkeypatch.setenv("QB_TUNING", eager(tmp_path))
    more = ("--dtype", "uint16", "--preview", tmp_path / "p.png")
    got, said, _ = run(scan, tmp_path / "a.h5", Shim(tmp_path, gpu=1, bytes=1000), *more)
    want, _, _ = run(scan, tmp_path / "b.h5", Shim(tmp_path), "--device", "cpu", *more)
    assert "the CPU computes" in said and np.array_equal(got, want)


def test_processors_compute_in_memory(opencl, scan, tmp_path):
    """Where a device has no memory of its own, what it holds is the host's: forecast, and under --max-ram."""
    args = (scan, "-o", tmp_path / "v.h5", *CENTER, "--size", 256, "--device", opencl, "--kernel", "bp_parallel_linear.alu")
    plan = qb_json("plan", "fbp", *args)
    raw, slab = VIEWS * COLUMNS * 2, 256 * 256 * 4
    rings = plan["ring_slots"] * plan["slices_per_chunk"] * (raw + slab)
    assert plan["memory_bytes"] > plan["device_memory_bytes"] + rings + (128 << 20)
    shared = qb_json("plan", "fbp", *args, env=Shim(tmp_path, gpu=1).env)  # no compiler of this process
    assert plan["memory_bytes"] - (100 << 20) > shared["memory_bytes"] > shared["device_memory_bytes"] + rings
    tight = smallest_cap("fbp", *args)
    least = qb_json("plan", "fbp", *args, "--max-ram", tight)
    assert least["device_memory_bytes"] < plan["device_memory_bytes"]
    shim = Shim(tmp_path)
    fails(2, "fbp", *args, "--max-ram", f"{int(tight[:-1]) - 10}M", says=["is too small: even one slice"], env=shim.env)
    assert shim.counted()["peak_bytes"] == 0 and not leftovers(tmp_path)


def test_no_page_locked_memory(opencl, scan, tmp_path):
    want, _, _ = run(scan, tmp_path / "a.h5", Shim(tmp_path), "--device", opencl)
    got, said, _ = run(scan, tmp_path / "b.h5", Shim(tmp_path, host_fails=1), "--device", opencl)
    assert np.array_equal(got, want) and said.count("[slow-transfers]") == 1  # the same words are shown once


@slow
def test_rows_read_ahead(opencl, tmp_path):
    """Storage in pieces of many rows is read ahead in whole chunks, smaller chunks as well."""
    rng = np.random.default_rng(1)
    scan = tmp_path / "scan.h5"
    with h5py.File(scan, "w") as f:
        f.create_dataset("/exchange/data", data=rng.integers(5000, 6000, (200, 77, COLUMNS), np.uint16),
                         chunks=(20, 20, COLUMNS), compression="gzip")
        f["/exchange/data_white"] = np.full((1, 77, COLUMNS), 10000, np.uint16)
        f["/exchange/data_dark"] = np.zeros((1, 77, COLUMNS), np.uint16)
        f["/exchange/theta"] = np.arange(200) * .9
    more = ("--device", opencl, "--size", "32,32", "--kernel", "bp_parallel_linear.alu")
    whole, _, counted = run(scan, tmp_path / "whole.h5", Shim(tmp_path), *more)
    seen = set()
    tight = int(smallest_cap("fbp", scan, "-o", tmp_path / "x.h5", *CENTER, *more)[:-1])
    for mib in range(tight, tight + 10):
        plan = qb_json("plan", "fbp", scan, "-o", tmp_path / "x.h5", *CENTER, *more, "--max-ram", f"{mib}M")
        shape = (plan["slices_per_chunk"], plan["rows_read_ahead"])
        if shape in seen or not 0 < shape[1] < 77:
            continue
        if len(seen) == 3:
            break
        seen.add(shape)
        for part in (2, 5):
            shim = Shim(tmp_path, bytes=counted["peak_bytes"] // part)
            got, _, _ = run(scan, tmp_path / "cut.h5", shim, *more, "--max-ram", f"{mib}M")
            assert np.array_equal(got, whole), (shape, part)
    assert seen


@pytest.mark.parametrize("count", [2, 3])
def test_several_devices(opencl, scan, tmp_path, count):
    """As many devices as PoCL is told to make share every chunk, with room or without."""
    kernel = ("--kernel", "bp_parallel_linear.alu")

    def shim(**orders):
        made = Shim(tmp_path, **orders)
        made.env["POCL_DEVICES"] = " ".join(["pthread"] * count)
        return made

    whole, _, _ = run(scan, tmp_path / "one.h5", shim(), "--device", opencl, *kernel)
    plan = qb_json("plan", "fbp", scan, "-o", tmp_path / "x.h5", *CENTER, "--device", "opencl:all", env=shim().env)
    if plan["devices"] != count:
        pytest.skip("this OpenCL cannot play several devices")
    got, _, counted = run(scan, tmp_path / "all.h5", shim(), "--device", "opencl:all", *kernel)
    assert np.array_equal(got, whole)
    for share in (0.8, 0.6):
        room = int(counted["peak_bytes"] * share)
        got, said, now = run(scan, tmp_path / "cut.h5", shim(bytes=room), "--device", "opencl:all", *kernel)
        assert np.array_equal(got, whole) and "no room" in said and now["peak_bytes"] <= room
    refused(scan, tmp_path, shim(bytes=1000), "--device", "opencl:all", *kernel)


def test_auto_weighs_the_whole_job(opencl, scan, tmp_path, monkeypatch):
    """What starting a device takes counts: it is not looked for where the CPU is done by then; where it is known to
    start at once the faster one computes; and how long it compiles counts until its programs are kept."""
    def plan(*more):
        done = qb("plan", "fbp", scan, "-o", tmp_path / "x.h5", *CENTER, "--json", "--verbose", *more,
                  env=Shim(tmp_path, gpu=1).env)
        return json.loads(done.stdout), done.stderr

    small, said = plan()
    assert small["device"] == "cpu" and small["start_seconds"] == 0 and "a device is not looked for" in said
    assert not (tmp_path / "shim-report").exists()  # nobody opened it
    kept = tmp_path / "tuning.json"
    monkeypatch.setenv("QB_TUNING", str(kept))
    rows = json.loads(open(eager(tmp_path)).read())
    for start, compiling, device in ((0, 0, "opencl:0"), (0, 5, "cpu"), (5, 0, "cpu"), (0, 0, "opencl:0")):
        rows[0].update(start_seconds=start, compile_seconds=compiling, load_seconds=compiling)
        kept.write_text(json.dumps(rows))
        taken, said = plan()
        assert taken["device"] == device and taken["start_seconds"] == 0
        assert ("the device 1" in said and "with what starting it takes" in said) == (compiling == 5)
    rows[0].update(start_seconds=2, compile_seconds=3, load_seconds=0.5)
    kept.write_text(json.dumps(rows))
    monkeypatch.setenv("QB_CACHE_DIR", str(tmp_path / "cache"))
    named = ("--device", opencl, "--kernel", "bp_parallel_linear.alu")
    cold = plan(*named)[0]["start_seconds"]
    qb("fbp", scan, "-o", tmp_path / "v.h5", *CENTER, *named, env=Shim(tmp_path).env)
    warm = plan(*named)[0]["start_seconds"]
    assert cold == 2 + 3 * 3 and warm == 2 + 3 * 0.5
