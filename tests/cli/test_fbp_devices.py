# SPDX-License-Identifier: MIT
"""qb fbp --device: the same volume as on the CPU, within the kernel's class, on every OpenCL device that is
there (PoCL at least, in our own tests); what cannot be had is said."""
import json
import os

import numpy as np
import pytest

from qbtest import QUICK, data, devices, fails, few, machine, qb, qb_json, read_h5, slow, smallest_cap, storage

CLASS = {"high": 5e-5, "normal": 1e-3, "fast": 6e-3}


@pytest.fixture(scope="session")
def opencl():
    if not any(d["device"] == "opencl:0" for d in devices()):
        pytest.skip("there is no OpenCL device")
    return "opencl:0"


@pytest.fixture(scope="session")
def scan(tmp_path_factory):
    path = tmp_path_factory.mktemp("scan") / "scan.h5"
    qb("simulate", "spheres", "-o", path, "--views", 90, "--detector", "96,10", "--photons", 20000, "--seed", 3, "-q")
    return path


def rel_l2(a, b):
    return np.linalg.norm(a.astype(float) - b) / np.linalg.norm(b)


def reconstruct(scan, folder, name, *more):
    out = folder / f"{name}.h5"
    report = qb_json("fbp", scan, "-o", out, "--center", 47.5, *more)
    return read_h5(out), report


@pytest.mark.parametrize("accuracy", CLASS)
def test_as_the_cpu(opencl, scan, tmp_path, accuracy):
    want, _ = reconstruct(scan, tmp_path, "cpu", "--device", "cpu", "--accuracy", "high")
    got, report = reconstruct(scan, tmp_path, "device", "--device", opencl, "--accuracy", accuracy)
    assert rel_l2(got, want) < 2 * CLASS[accuracy]
    assert [s["name"] for s in report["stages"]][:4] == ["read", "upload", "reconstruct", "download"]


@pytest.mark.parametrize("dtype, more", few((("uint16", "--range=-900,300"), ("--hu", 0.02, "--outside", "zero")),
                                            others=[(("uint8", "--range", "0,0.02"), ()), (("float16",), ("--circle",))]))
def test_numbers_of_the_file_come_down(opencl, scan, tmp_path, dtype, more):
    """A preview wants the floats: then the host converts, and what is written is the same."""
    asked = ["--device", opencl, "--dtype", *dtype, *more]
    here, host = reconstruct(scan, tmp_path, "here", *asked, "--preview", tmp_path / "here.png")
    there, device = reconstruct(scan, tmp_path, "there", *asked)
    assert [[s["name"] for s in report["stages"]][4:] for report in (host, device)] == [["convert", "write"], ["write"]]
    assert here.dtype == dtype[0] and np.array_equal(here, there)
    assert host["clamped_values"] == device["clamped_values"]
    assert (device["clamped_values"] > 0) == (dtype[0] != "float16")


@pytest.mark.parametrize("kernel", ["linear.alu", "linear.alu_half", "linear.texture", "linear.hybrid"])
def test_a_kernel_by_name(opencl, scan, tmp_path, kernel):
    want, _ = reconstruct(scan, tmp_path, "cpu", "--device", "cpu", "--accuracy", "high")
    got, report = reconstruct(scan, tmp_path, "device", "--device", opencl, "--kernel", f"bp_parallel_{kernel}")
    assert report["kernel"] == f"bp_parallel_{kernel}"
    assert rel_l2(got, want) < CLASS["fast"]


def test_same_bits_however_cut(opencl, scan, tmp_path):
    whole, _ = reconstruct(scan, tmp_path, "whole", "--device", opencl)
    cut, _ = reconstruct(scan, tmp_path, "cut", "--device", opencl, "--max-vram", "300K")
    plan = qb_json("plan", "fbp", scan, "-o", tmp_path / "x.h5", "--center", 47.5, "--device", opencl, "--max-vram", "300K")
    assert plan["chunks"] > 4 and plan["device_memory_bytes"] <= 300 << 10
    assert np.array_equal(whole, cut)
    # Another number of slices may call for another kernel; with the same one they are the same.
    kernel = ("--device", opencl, "--kernel", "bp_parallel_linear.alu")
    whole, _ = reconstruct(scan, tmp_path, "whole", *kernel)
    some, _ = reconstruct(scan, tmp_path, "some", *kernel, "--slices", "1:10:3")
    assert np.array_equal(some, whole[1:10:3])


@pytest.mark.parametrize("columns", few(17, 50, others=[33, 96]))
def test_any_width(opencl, tmp_path, columns):
    projections = np.random.default_rng(columns).random((30, 5, columns), dtype="f4")
    np.save(tmp_path / "p.npy", projections)
    for device in ("cpu", opencl):
        qb("fbp", tmp_path / "p.npy", "--angles", "0:180:30", "--center", columns // 2, "--quantity", "line_integral",
           "--pixel-size", 1, "--device", device, "--accuracy", "high", "-o", tmp_path / f"{device[:3]}.npy")
    assert rel_l2(np.load(tmp_path / "ope.npy"), np.load(tmp_path / "cpu.npy")) < 5e-5


def test_any_memory(opencl, scan, tmp_path):
    """However little there is: one buffer or two, one slice or many."""
    whole, _ = reconstruct(scan, tmp_path, "whole", "--device", opencl)
    seen = set()
    for kilobytes in (280, 500, 1600) if QUICK else (280, 400, 500, 900, 1600, 2500):
        cap = ("--device", opencl, "--max-vram", f"{kilobytes}K")
        plan = qb_json("plan", "fbp", scan, "-o", tmp_path / "x.h5", "--center", 47.5, *cap)
        seen.add((plan["chunks"] > 1, plan["ring_slots"]))
        got, _ = reconstruct(scan, tmp_path, "cut", *cap)
        assert np.array_equal(got, whole), kilobytes
    assert {(True, 1), (True, 2)} <= seen


@pytest.mark.parametrize("pad", few("edge", others=["zero", "mirror", "taper", "ellipse"]))
def test_padding(opencl, scan, tmp_path, pad):
    more = ("--pad", pad, "--filter", "hann:0.8", "--accuracy", "high", "--slices", "4:6")
    want, _ = reconstruct(scan, tmp_path, "cpu", "--device", "cpu", *more)
    got, _ = reconstruct(scan, tmp_path, "device", "--device", opencl, *more)
    assert rel_l2(got, want) < 5e-5


@slow
@pytest.mark.parametrize("name, center", [("tooth_dxchange/tooth.h5", 295.9),
                                          ("savu24737_nxtomo/24737_nxtomo_repacked.nxs", 85.86)])
def test_measured(opencl, tmp_path, name, center):
    source = data(name)
    volumes = {}
    for device in ("cpu", opencl):
        out = tmp_path / f"{device.replace(':', '')}.h5"
        report = qb_json("fbp", source, "-o", out, "--center", center, "--device", device, "--slices", "0:2")
        volumes[device] = read_h5(out), report["preparation"]
    assert volumes["cpu"][1] == volumes[opencl][1]  # the same repairs
    assert rel_l2(volumes[opencl][0], volumes["cpu"][0]) < 2 * CLASS["normal"]


HALF = "bp_parallel_linear.alu_half"


@pytest.fixture(scope="session")
def integrals():
    """Of nothing that anybody knows beforehand, each slice of its own size."""
    rows = np.random.default_rng(5).standard_normal((80, 12, 96)).cumsum(axis=2)
    return (rows * 10.0 ** np.arange(-6, 6)[None, :, None]).astype("f4")


def of_integrals(folder, projections, name, *more):
    """The volume, the report and what was said."""
    np.save(folder / "p.npy", projections)
    out = folder / f"{name}.npy"
    done = qb("fbp", folder / "p.npy", "--angles", f"0:180:{len(projections)}", "--center", (projections.shape[2] - 1) / 2,
              "--quantity", "line_integral", "--pixel-size", 0.5, "-o", out, "--json", *more)
    return np.load(out), json.loads(done.stdout), done.stderr


def near_the_cpu(folder, projections, opencl, *more):
    """Each slice by itself, since each has a scale of its own; what the device said."""
    want, _, _ = of_integrals(folder, projections, "cpu", "--device", "cpu", "--accuracy", "high", *more)
    got, report, said = of_integrals(folder, projections, "device", "--device", opencl, "--kernel", HALF, *more)
    assert report["kernel"] == HALF and "largest filtered value" in said
    for slice_got, slice_want in zip(got, want):
        assert np.isfinite(slice_got).all()
        assert np.linalg.norm(slice_got.astype(float) - slice_want) <= CLASS["normal"] * np.linalg.norm(slice_want.astype(float))
    return said


@pytest.mark.parametrize("factor", few(1e11, others=[1, 1e-30]))
def test_half_precision_of_any_values(opencl, integrals, tmp_path, factor):
    rows = integrals / np.abs(integrals).max((0, 2))[None, :, None] * np.float32(factor)
    rows[:, 7] = 0
    assert "spike" not in near_the_cpu(tmp_path, rows, opencl)


def test_half_precision_of_slices_of_any_size(opencl, integrals, tmp_path):
    assert "spike" not in near_the_cpu(tmp_path, integrals, opencl)
    near_the_cpu(tmp_path, integrals, opencl, "--filter", "none")
    near_the_cpu(tmp_path, integrals, opencl, "--pad", "ellipse", "--slices", "1:10:3")
    (tmp_path / "filter.txt").write_text("\n".join(str(3000 * k) for k in range(65)))
    near_the_cpu(tmp_path, integrals, opencl, "--filter", tmp_path / "filter.txt")


def test_half_precision_by_the_planner(opencl, integrals, tmp_path):
    np.save(tmp_path / "p.npy", integrals)
    plan = qb_json("plan", "fbp", tmp_path / "p.npy", "--angles", "0:180:80", "--quantity", "line_integral", "-o",
                   tmp_path / "x.npy", "--device", opencl, "--accuracy", "normal")
    verdicts = {row["kernel"]: row["verdict"] for row in plan["why"]}
    assert verdicts[HALF] == "usable"


def test_half_precision_beside_a_spike(opencl, integrals, tmp_path):
    rows = integrals.copy()
    rows[3, 4, 50] = 1e7
    rows[9, 2, 10] = np.nan
    rows[10, 2, 20:25] = np.inf
    said = near_the_cpu(tmp_path, rows, opencl)
    assert "79 rows" in said and "spike" in said  # of slice 4, all but its own
    assert "give --kernel bp_parallel_linear.alu [half-precision]" in said
    _, _, said_then = of_integrals(tmp_path, rows, "kept", "--device", opencl, "--kernel", "bp_parallel_linear.alu")
    assert "spike" not in said_then
    assert "6 values are NaN, infinite or beyond what a beam makes" in said


def test_half_precision_of_bent_values(opencl, tmp_path):
    """--hardening makes of logarithms what no bound on them holds; neither the device nor the CPU's half precision loses it."""
    y, x = np.mgrid[:4, :48]
    rows = np.exp(-66 * np.exp(-((x - 24) / 14) ** 2 - ((y - 2) / 3) ** 2)) * np.random.default_rng(8).uniform(1, 1.1, (40, 4, 48))
    np.save(tmp_path / "t.npy", rows.astype("f4"))
    def volume(name, *more):
        qb("fbp", tmp_path / "t.npy", "--angles", "0:180:40", "--quantity", "transmission", "--pixel-size", 0.05, "--transmission-floor", 1e-30, "--hardening", "1,5",
           "--center", 23.5, "-o", tmp_path / f"{name}.npy", *more)
        return np.load(tmp_path / f"{name}.npy")
    want = volume("high", "--device", "cpu", "--accuracy", "high")
    for name, *more in (("device", "--device", opencl, "--kernel", HALF), ("normal", "--device", "cpu", "--accuracy", "normal")):
        assert rel_l2(volume(name, *more), want) < CLASS["normal"], name


@slow
def test_half_precision_however_cut(opencl, integrals, tmp_path):
    whole, _, _ = of_integrals(tmp_path, integrals, "whole", "--device", opencl, "--kernel", HALF)
    chunks = set()
    least = smallest_cap("fbp", tmp_path / "p.npy", "--angles", "0:180:80", "--quantity", "line_integral", "-o",
                         tmp_path / "x.npy", "--device", opencl, "--kernel", HALF)
    for cap in ("--max-vram", "360K"), ("--max-vram", "500K"), ("--max-vram", "1M"), ("--max-ram", least):
        plan = qb_json("plan", "fbp", tmp_path / "p.npy", "--angles", "0:180:80", "--quantity", "line_integral", "-o",
                       tmp_path / "x.npy", "--device", opencl, "--kernel", HALF, *cap)
        chunks.add(plan["chunks"])
        cut, _, _ = of_integrals(tmp_path, integrals, "cut", "--device", opencl, "--kernel", HALF, *cap)
        assert np.array_equal(cut.view("u4"), whole.view("u4")), cap
    assert chunks == {4, 12}
    some, _, _ = of_integrals(tmp_path, integrals, "some", "--device", opencl, "--kernel", HALF, "--slices", "1:12:3")
    assert np.array_equal(some.view("u4"), whole[1:12:3].view("u4"))


@slow
def test_half_precision_in_blocks_of_views(opencl, tmp_path):
    """More filtered rows than a block has: with room for all they are filtered once, else twice; what was
    mended counts once."""
    rows = np.random.default_rng(6).random((8400, 1, 2000), dtype="f4") * np.float32(1e-5)
    rows[::100, 0, 77] = np.nan
    rows[8399] *= 1e6  # measured in the last block
    kernel = ("--size", "8,8", "--device", opencl, "--kernel", HALF)
    want, _, _ = of_integrals(tmp_path, rows, "cpu", "--size", "8,8", "--device", "cpu", "--accuracy", "high")
    once, report, _ = of_integrals(tmp_path, rows, "once", *kernel)
    plan = qb_json("plan", "fbp", tmp_path / "p.npy", "--angles", "0:180:8400", "--quantity", "line_integral", "-o",
                   tmp_path / "x.npy", *kernel)
    cap = plan["device_memory_bytes"] - 1
    plan = qb_json("plan", "fbp", tmp_path / "p.npy", "--angles", "0:180:8400", "--quantity", "line_integral", "-o",
                   tmp_path / "x.npy", *kernel, "--max-vram", cap)
    assert plan["chunks"] == 1 and plan["device_memory_bytes"] <= cap
    twice, again, _ = of_integrals(tmp_path, rows, "twice", *kernel, "--max-vram", cap)
    assert np.array_equal(once.view("u4"), twice.view("u4"))
    assert rel_l2(once, want) < CLASS["normal"]
    assert report["preparation"]["not_finite"] == again["preparation"]["not_finite"] == 84


def test_chunks_smaller_than_a_pass_take_longer(opencl, tmp_path):
    many = tmp_path / "many.h5"
    qb("simulate", "disc", "-o", many, "--size", "128,128,32", "--views", 64)
    job = ("plan", "fbp", many, "-o", tmp_path / "x.h5", "--device", opencl, "--kernel", "bp_parallel_linear.direct")
    free = qb_json(*job)
    tight = [qb_json(*job, "--max-vram", f"{kilobytes}K") for kilobytes in (2000, 1500, 1000, 700, 500)]
    assert free["slices_per_chunk"] >= 8 and tight[-1]["slices_per_chunk"] <= 4
    for plan in tight:  # the kernel sums 8 slices at a time, whether they are there or not
        more = 8 / min(plan["slices_per_chunk"], 8)
        assert more * 0.8 < plan["forecast"]["streaming"] / free["forecast"]["streaming"] < more * 1.2


def test_plan_says_why(opencl, scan, tmp_path):
    text = qb("plan", "fbp", scan, "-o", tmp_path / "x.h5", "--device", opencl, "--why").stdout
    assert "shared memory" in text and "bp_parallel_linear.alu " in text and "texture" in text
    plan = qb_json("plan", "fbp", scan, "-o", tmp_path / "x.h5", "--device", opencl)
    usable = [row for row in plan["why"] if row["verdict"] == "usable"]
    assert plan["kernel"] in [row["kernel"] for row in usable]
    assert plan["kernel"] == min(usable, key=lambda row: row["expected_seconds"])["kernel"]
    assert f"* {plan['kernel']} " in text and text.count("; chosen") == 1
    # Nothing is measured here: the forecast itself decides.
    assert all(row["doubt"] == 1 and row["expected_seconds"] == row["predicted_seconds"] for row in usable)
    fails(2, "fbp", scan, "-o", tmp_path / "x.h5", "--why", says=["qb plan"])


def split_by_measured(plan):
    rows = [r for r in plan["why"] if "predicted_seconds" in r]
    return [r for r in rows if "measured_seconds" in r], [r for r in rows if "measured_seconds" not in r]


@slow
def test_tune(opencl, scan, tmp_path):
    kept = tmp_path / "kept" / "tuning.json"
    env = {**os.environ, "QB_TUNING": str(kept)}
    found = qb_json("tune", "--device", opencl, "--kernel", "linear.texture_zorder", "--seconds", 2, "--size", "48,48,4",
                    "--views", 12, env=env)
    row = next(r for r in json.loads(kept.read_text()) if r.get("kernel") == "bp_parallel_linear.texture_zorder")
    assert row["giga_updates_per_second"] > 0 and found["file"] == str(kept)

    def is_measured(env):
        if env.get("QB_TUNING"):
            kept.write_text(json.dumps([*json.loads(kept.read_text()), machine(), storage(tmp_path)]))
        plan = qb_json("plan", "fbp", scan, "-o", tmp_path / "x.h5", "--device", opencl, "--slices", "0:4", "--accuracy",
                       "fast", env=env)
        return any("measured_seconds" in r for r in plan["why"])

    assert is_measured(env)
    home = tmp_path / "config" / "quickbeam" / "tuning.json"
    home.parent.mkdir(parents=True)
    home.write_text(kept.read_text())
    usual = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path / "config")}
    assert not is_measured(usual)  # tests see no tuning of the user's: QB_TUNING is empty
    del usual["QB_TUNING"]
    assert is_measured(usual)
    plan = qb_json("plan", "fbp", scan, "-o", tmp_path / "x.h5", "--device", opencl, "--slices", "0:4", "--accuracy", "fast",
                   env=env)
    measured, forecast = split_by_measured(plan)
    fast = {r["kernel"] for r in found["kernels"] if "giga_updates_per_second" in r}
    assert {r["kernel"] for r in measured} == fast >= {"bp_parallel_linear.texture_zorder"}
    assert all(r["expected_seconds"] == r["measured_seconds"] for r in measured)
    kept.write_text(json.dumps([row, machine(), storage(tmp_path)]))
    measured, forecast = split_by_measured(qb_json("plan", "fbp", scan, "-o", tmp_path / "x.h5", "--device", opencl,
                                                   "--slices", "0:4", "--accuracy", "fast", env=env))
    assert [r["kernel"] for r in measured] == ["bp_parallel_linear.texture_zorder"]
    assert measured[0]["expected_seconds"] == measured[0]["measured_seconds"]
    # Ten times slower than the model thinks: no other kernel is believed either.
    row["giga_updates_per_second"] *= measured[0]["measured_seconds"] / measured[0]["predicted_seconds"] / 10
    kept.write_text(json.dumps([row, machine(), storage(tmp_path)]))
    args = ("plan", "fbp", scan, "-o", tmp_path / "x.h5", "--device", opencl, "--slices", "0:4", "--accuracy", "fast")
    measured, forecast = split_by_measured(qb_json(*args, env=env))
    assert abs(measured[0]["measured_seconds"] / measured[0]["predicted_seconds"] - 10) < 1e-6
    assert forecast and all(abs(r["doubt"] - 10) < 1e-6 for r in forecast)
    assert all(abs(r["expected_seconds"] / r["predicted_seconds"] - 10) < 1e-6 for r in forecast)
    assert "x 10.00 of doubt" in qb(*args, "--why", env=env).stdout
    kept.write_text('[{"device": 3, "slices": 1e300}, [], {"values": "x"}]')  # nothing to go by, and no crash
    qb("plan", "fbp", scan, "-o", tmp_path / "x.h5", "--device", opencl, env=env)
    fails(2, "tune", "--device", opencl, "--kernel", "nonsense", says=["nonsense"], env=env)


@slow
def test_tune_measures_what_the_planner_took(opencl, tmp_path):
    """Else a kernel tuned on its own would win by being known."""
    env = {**os.environ, "QB_TUNING": str(tmp_path / "tuning.json")}
    problem = ("--device", opencl, "--size", "256,256,8", "--views", 64)
    before = {a: qb_json("bench", "backproject", *problem, "--repeat", 1, "--accuracy", a)["kernel"] for a in CLASS}
    done = qb("tune", *problem, "--kernel", "linear.alu", "--seconds", 0.1, env=env)
    rows = json.loads((tmp_path / "tuning.json").read_text())
    assert [row["start_seconds"] > 0 for row in rows if "kernel" not in row] == [True]  # what starting takes is measured, too
    kept = {row["kernel"] for row in rows if "kernel" in row}
    assert set(before.values()) <= kept
    other = {kernel for kernel in kept if "linear.alu" not in kernel}
    assert all(f"{kernel} " in done.stdout for kernel in kept) and done.stdout.count("for comparison") >= len(other)
    # What is chosen now is measured as well, and the progress has an end where the time had one before.
    for a in CLASS:
        assert qb_json("bench", "backproject", *problem, "--repeat", 1, "--accuracy", a, env=env)["kernel"] in kept
    assert [line for line in done.stderr.splitlines() if "tuning: " in line][-1].startswith("tuning: 100 %")


def test_a_tuning_file_that_cannot_be_used(opencl, scan, tmp_path):
    kept = tmp_path / "tuning.json"
    env = {**os.environ, "QB_TUNING": str(kept)}
    kept.write_text('[{"device": "mine", ')
    fails(3, "tune", "--device", opencl, "--kernel", "linear.direct", "--seconds", 1, "--size", "48,48,4", "--views", 12,
          env=env, says=[str(kept), "move it away"])
    assert kept.read_text() == '[{"device": "mine", '
    for args in (("plan", "fbp", scan, "-o", tmp_path / "x.h5"), ("bench", "backproject", "--size", "32", "--repeat", 1)):
        assert qb(*args, "--device", opencl, env=env).stderr.count(f"{kept} is not the JSON array") == 1
    assert str(kept) not in qb("plan", "fbp", scan, "-o", tmp_path / "x.h5", "--device", "cpu", env=env).stderr


def test_tune_says_what_it_tunes():
    fails(1, "tune", "--device", "cpu", says=["--device cpu", "CUDA and OpenCL devices", "--geometry cone"])


def test_tune_a_cone_beam_on_the_cpu(tmp_path):
    """Each kernel is timed and checked; a measured one is believed, also where that makes another one the fastest."""
    kept = tmp_path / "tuning.json"
    env = {**os.environ, "QB_TUNING": str(kept)}
    fails(2, "tune", "--device", "cpu", "--geometry", "cone", "--kernel", "bp_parallel", says=["bp_parallel", "--geometry"], env=env)
    found = qb_json("tune", "--geometry", "cone", "--device", "cpu", "--size", "64,64,32", "--views", 24, "--seconds", 5, env=env)
    speed = {row["kernel"]: row["giga_updates_per_second"] for row in found["kernels"] if "not_run" not in row}
    assert all(row.get("left_out", 0) == 0 for row in found["kernels"])
    assert {"bp_cone_matrix.scalar", "bp_cone_circular.scalar"} <= set(speed) and min(speed.values()) > 0.005
    rows = {row["kernel"]: row for row in json.loads(kept.read_text())}
    assert {k: r["giga_updates_per_second"] for k, r in rows.items()} == speed
    scan = tmp_path / "cone.h5"
    qb("simulate", "ball", "--geometry", "cone", "--sod", 200, "--sdd", 400, "--views", 8, "--detector", "48,32", "--pixel-size",
       0.5, "-o", scan)

    def planned(*rows):
        kept.write_text(json.dumps([*rows, machine(), storage(tmp_path)]))
        plan = qb_json("plan", "fdk", scan, "--sod", 200, "--sdd", 400, "--pixel-size", 0.5, "-o", tmp_path / "x.h5", "--device",
                       "cpu", env=env)
        return plan["kernel"], {r["kernel"]: r for r in plan["why"]}

    fastest, why = planned()
    assert not any("measured" in r for r in why.values()) and fastest != "bp_cone_matrix.scalar"
    _, why = planned(*rows.values())
    assert {k for k, r in why.items() if r["verdict"] == "usable"} <= {k for k, r in why.items() if "measured" in r} <= set(speed)
    other, why = planned({**rows["bp_cone_matrix.scalar"], "giga_updates_per_second": 1e6})
    assert other == "bp_cone_matrix.scalar" and why[other]["measured"]
    assert why[fastest]["core_seconds"] > why[other]["core_seconds"]


@slow
def test_tune_a_cone_beam(opencl, tmp_path):
    env = {**os.environ, "QB_TUNING": str(tmp_path / "tuning.json")}
    found = qb_json("tune", "--geometry", "cone", "--device", opencl, "--kernel", "matrix.alu", "--size", "32,32,16", "--views", 8,
                    "--seconds", 0.5, env=env)
    row = next(r for r in found["kernels"] if r["kernel"] == "bp_cone_matrix.alu")
    assert row["tried"] >= 1 and row["left_out"] == 0 and row["giga_updates_per_second"] > 0
    bench = ("bench", "backproject", "--geometry", "cone", "--device", opencl, "--size", "32,32,16", "--views", 8, "--repeat", 1,
             "--kernel", "bp_cone_matrix.alu")
    assert qb_json(*bench, env=env)["parameters"] == row["parameters"]


def test_what_cannot_be_had(opencl, scan, tmp_path):
    out = ("-o", tmp_path / "x.h5")
    without = {**os.environ, "QB_LIBCUDA": "/nowhere/libcuda.so"}
    fails(1, "fbp", scan, *out, "--device", "cuda", says=["libcuda"], env=without)
    fails(1, "fbp", scan, *out, "--device", "opencl:99", says=["opencl:99"])
    fails(1, "fbp", scan, *out, "--device", opencl, "--max-vram", "1K", says=["on the device"])
    report = qb_json("fbp", scan, "-o", tmp_path / "x", "--device", opencl, "--center", "40:42:1")
    assert len(report["slices"]) == 3
    assert not (tmp_path / "x.h5").exists()


def test_what_keeps_the_rows_beside_a_spike(opencl, integrals, tmp_path):
    """The planner takes halves here only because a tuning file says that they are a thousand times faster."""
    kept = tmp_path / "tuning.json"
    env = {**os.environ, "QB_TUNING": str(kept)}
    qb("tune", "--device", opencl, "--kernel", HALF, "--seconds", 3, "--size", "96,96,12", "--views", 80, env=env)
    row = next(r for r in json.loads(kept.read_text()) if r.get("kernel") == HALF)
    kept.write_text(json.dumps([{**row, "giga_updates_per_second": 1e6}]))
    rows = integrals.copy()
    rows[3, 4, 50] = 1e7
    np.save(tmp_path / "p.npy", rows)
    args = ("fbp", tmp_path / "p.npy", "--angles", "0:180:80", "--center", 47.5, "--quantity", "line_integral",
            "--pixel-size", 0.5, "-o", tmp_path / "x.npy", "--device", opencl)
    done = qb(*args, env=env)
    assert HALF in done.stdout and "give --accuracy high [half-precision]" in done.stderr
    assert "spike" not in qb(*args, "--accuracy", "high", env=env).stderr
