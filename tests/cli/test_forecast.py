# SPDX-License-Identifier: MIT
"""A plan says what each part of a job takes, by rates that this machine was measured for once. How near it comes is
for scripts/plan-check.py on a quiet machine; here only what holds on a busy one, too."""
import json

import pytest

from qbtest import SANITIZED, machine, opencl, qb, qb_json, smallest_cap, storage  # noqa: F401 (opencl is a fixture)


@pytest.fixture(scope="module")
def scan(tmp_path_factory):
    scan = tmp_path_factory.mktemp("forecast") / "s.h5"
    qb("simulate", "foam", "-o", scan, "--views", 200, "--detector", "160,32", "--pixel-size", 0.1, "--photons", 20000)
    return scan


@pytest.fixture(scope="module")
def cone(tmp_path_factory):
    scan = tmp_path_factory.mktemp("forecast") / "cone.h5"
    qb("simulate", "foam", "-o", scan, "--geometry", "cone", "--views", 80, "--detector", "64,32", "--pixel-size", 0.1, "--sod", 30, "--sdd", 40)
    return scan


def sums_hold(plan):
    """What comes before streaming, and streaming, which lasts as long as its slowest stage at least."""
    forecast = plan["forecast"]
    assert plan["forecast_seconds"] == pytest.approx(sum(forecast[part] for part in ("axis", "preparation", "streaming")))
    stages = forecast["stages"]
    assert all(seconds > 0 for seconds in stages.values())
    io = [stages.get(name, 0) for name in ("read", "write")]
    computing = sum(seconds for name, seconds in stages.items() if name not in ("read", "write"))
    assert max(*io, computing) * 0.999 <= forecast["streaming"] <= (sum(io) + computing) * 1.001
    return forecast


@pytest.mark.parametrize("verb,more,stages", [
    ("fbp", [], {"filter", "back-project"}),
    ("fbp", ["--dtype", "uint16", "--range", "0,1", "--rings", "sort"], {"filter", "back-project", "convert"}),
    ("fdk", ["--sod", 30, "--sdd", 40], {"filter", "back-project"}),
    ("sirt", ["--iterations", 3], {"prepare", "sirt"}),
    ("cgls", ["--iterations", 3], {"prepare", "cgls"}),
    ("mbir", [], {"prepare", "mbir"}),
])
def test_every_stage_has_a_forecast(scan, cone, tmp_path, verb, more, stages):
    """Without a tuning file nothing is measured, and listed rates stand in."""
    scan = cone if verb == "fdk" else scan
    plan = qb_json("plan", verb, scan, *more, "-o", tmp_path / "v.npy", "--threads", 2)
    forecast = sums_hold(plan)
    assert set(forecast["stages"]) == stages | {"read", "write"} and forecast["rates"] == "listed"
    assert (forecast["axis"] > 0) == (verb != "fdk") and (forecast["preparation"] > 5e-3) == ("--rings" in more)
    axis = qb_json("plan", verb, scan, *more, "-o", tmp_path / "v.npy", *([] if verb == "fdk" else ["--center", "middle"]))
    assert axis["forecast"]["axis"] == 0


@pytest.mark.skipif(SANITIZED, reason="minutes of measuring")
def test_the_machine_is_measured_once(scan, tmp_path, monkeypatch):
    kept = tmp_path / "tuning.json"
    monkeypatch.setenv("QB_TUNING", str(kept))
    words = [scan, "--center", "middle", "-o", tmp_path / "v.npy", "--threads", 1]
    first = qb("plan", "fbp", *words, "--json")
    plan = json.loads(first.stdout)
    assert "measured once" in first.stderr and str(kept) in first.stderr
    machine, storage = json.loads(kept.read_text())
    assert set(machine) == {"machine", "cpus", "rates"} and all(rate > 1e3 for rate in machine["rates"].values())
    parts = {"filter", "filter_cone", "convert", "axis", "rings_sort", "rings_wavelet",
             *(f"icd_{rate}" for rate in ("fly", "bytes", "floats", "weights", "prior", "start", "matrix", "single", "single_prior"))}
    kernels = {name for name in machine["rates"] if "." in name}  # of one operation two, where its classes have their own
    assert plan["kernel"] in kernels and parts == machine["rates"].keys() - kernels and len(storage["write_bytes_per_second"]) == 5
    assert {name.split(".")[0] for name in kernels} == {"bp_parallel_linear", "bp_cone_circular", "project_joseph", "icd_supervoxel"}
    forecast = sums_hold(plan)
    assert forecast["rates"] == "measured" and set(forecast["stages"]) == {"read", "filter", "back-project", "write"}
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".quick")] == []
    report = qb_json("fbp", *words)
    assert {stage["name"] for stage in report["stages"]} == set(forecast["stages"])
    for stage in report["stages"]:  # processor time, which load hardly changes
        if stage["name"] in ("filter", "back-project"):
            assert 0.2 < forecast["stages"][stage["name"]] / stage["cpu_seconds"] < 5, stage
    mbir = ["mbir", *words, "--equits", 4, "--stop", 0]
    wanted = qb_json("plan", *mbir)["forecast_seconds"]
    assert 0.2 < wanted / qb_json(*mbir)["cpu_seconds"] < 5  # of the pool's threads
    single = ["mbir", *words, "--slices", "0:1", "--equits", 12, "--stop", 0]
    descent = qb_json("plan", *single)["forecast"]["stages"]["mbir"]
    taken, = (stage["cpu_seconds"] for stage in qb_json(*single)["stages"] if stage["name"] == "mbir")
    assert 0.2 < descent / taken < 5
    again = qb("plan", "fbp", *words)
    assert "measured once" not in again.stderr and "by measured rates: read" in again.stdout
    assert "is measured" not in qb("fbp", *words).stderr


def test_a_rate_is_believed(scan, tmp_path, monkeypatch):
    """Half the rate of the filter: its part of the plan takes twice as long; that of another processor: no longer."""
    kept = tmp_path / "tuning.json"
    words = ["plan", "fbp", scan, "--center", "middle", "-o", tmp_path / "v.npy"]
    listed = qb_json(*words)["forecast"]["stages"]
    monkeypatch.setenv("QB_TUNING", str(kept))
    here = {**machine(), "rates": {"filter": 0.2e9}}
    kept.write_text(json.dumps([here, {**here, "machine": "another", "rates": {"filter": 1e5}}]))
    stages = qb_json(*words)["forecast"]["stages"]
    assert stages["filter"] == pytest.approx(2 * listed["filter"])
    assert stages["back-project"] == pytest.approx(listed["back-project"])


def test_a_descent_takes_its_equits_and_the_turns_of_its_groups(scan, tmp_path, monkeypatch):
    """Sixteen slices a group. Neighbours are never in hand together: with a prior between slices half of the groups wait."""
    kept, rates = tmp_path / "tuning.json", {"filter": 1e9, "icd_fly": 2e9, "icd_bytes": 4e9, "icd_weights": 1e10, "icd_prior": 1e6, "icd_start": 1e9,
                                             "icd_matrix": 1e8, "icd_supervoxel.avx512": 2e9, "icd_supervoxel.avx2": 2e9, "icd_supervoxel.scalar": 2e9}
    kept.write_text(json.dumps([{**machine(), "rates": rates}]))
    monkeypatch.setenv("QB_TUNING", str(kept))

    def stage(*more, matrix="fly"):
        plan = qb_json("plan", "mbir", scan, "--center", "middle", "-o", tmp_path / "v.npy", "--device", "cpu", "--matrix", matrix, *more)
        return plan["forecast"]["stages"]["mbir"], plan
    voxels = sum((x - 79.5) ** 2 + (y - 79.5) ** 2 <= 80 ** 2 for x in range(160) for y in range(160))
    alone, plan = stage("--equits", 8, "--stop", 0, "--threads", 1)
    entries = plan["entries_per_view"] * 200 * voxels
    equit, start, groups = entries * 16 / 2e9 + voxels / 1e6, entries * 16 / 1e9, 2
    assert alone == pytest.approx(groups * (start + 8 * equit)) and plan["forecast_equits"] == 8
    assert stage("--equits", 60, "--stop", 0, "--threads", 1)[0] == pytest.approx(groups * (start + 60 * equit))
    assert stage("--equits", 60, "--threads", 1)[1]["forecast_equits"] == 9
    assert stage("--equits", 8, "--stop", 0, "--threads", 2)[0] == pytest.approx(start + groups * 8 * equit)
    apart = stage("--equits", 8, "--stop", 0, "--threads", 2, "--neighbours", "1,0.7,0")[0]
    assert apart == pytest.approx(start + 8 * equit)
    few = stage("--equits", 8, "--stop", 0, "--threads", 1, "--slices", "0:16")[0]
    assert few == pytest.approx(alone / 2)  # one group
    weighted = stage("--equits", 8, "--stop", 0, "--threads", 1, "--weights", "emission")[0]
    assert weighted - alone == pytest.approx(groups * 8 * entries * 16 / 1e10)
    stored = stage("--equits", 8, "--stop", 0, "--threads", 1, matrix="bytes")[0]
    assert stored == pytest.approx(entries / 1e8 + groups * (start / 2 + 8 * (equit - entries * 16 / 4e9)))


@pytest.mark.parametrize("verb,more,stages", [
    ("fbp", [], {"upload", "reconstruct", "download"}),
    ("fdk", ["--sod", 30, "--sdd", 40], {"upload", "filter", "back-project", "download"}),
    ("cgls", ["--iterations", 3], {"prepare", "cgls"}),
    ("mbir", [], {"mbir"}),
])
def test_stages_of_devices_have_one_too(opencl, scan, cone, tmp_path, verb, more, stages):
    scan = cone if verb == "fdk" else scan
    forecast = qb_json("plan", verb, scan, *more, "-o", tmp_path / "v.npy", "--device", opencl)["forecast"]
    assert set(forecast["stages"]) == stages | {"read", "write"} and all(seconds > 0 for seconds in forecast["stages"].values())
    assert max(forecast["stages"].values()) <= forecast["streaming"] * 1.001


def test_reading_is_what_slabs_read(cone, tmp_path):
    """Slabs one after the other read the rows that they share once more each."""
    words = ["plan", "fdk", cone, "--sod", 30, "--sdd", 40, "--pixel-size", 0.1, "-o", tmp_path / "v.npy", "--size", "128,128,64", "--voxel", 0.04]
    whole, cut = qb_json(*words), qb_json(*words, "--max-ram", smallest_cap(*words[1:]))
    assert whole["slices_per_chunk"] == 64 > cut["slices_per_chunk"]
    times = [cut["forecast"]["stages"][name] / whole["forecast"]["stages"][name] for name in ("read", "filter")]
    assert times[0] == pytest.approx(times[1]) and times[0] > 1.1


def test_views_that_are_computed_know_how_fast(tmp_path, monkeypatch):
    """No storage holds them: what one was measured for says nothing of them, neither how long nor how many threads."""
    scan, kept = tmp_path / "s.sim", tmp_path / "tuning.json"
    qb("simulate", "ball", "-o", scan, "--geometry", "cone", "--views", 80, "--detector", "64,32", "--pixel-size", 0.1, "--sod", 30, "--sdd", 40)
    slow = {**storage(tmp_path), "read_bytes_per_second": [1e5, 1e5, 1e5, 1e5, 1e5]}
    kept.write_text(json.dumps([slow]))
    monkeypatch.setenv("QB_TUNING", str(kept))
    seconds = qb_json("plan", "fdk", scan, "-o", tmp_path / "v.npy")["forecast"]["stages"]["read"]
    assert 0 < seconds < 80 * 64 * 32 * 4 / 1e5 / 4


@pytest.mark.skipif(SANITIZED, reason="times")
@pytest.mark.parametrize("verb", ["sirt", "cgls", "tv"])
def test_one_row_takes_as_long_as_is_forecast(tmp_path, verb):
    """A ray costs much before its first row: one row takes half as long as 24. The rate itself is listed here, so ratios are compared."""
    planned, taken = [], []
    for rows in 1, 24:
        scan = tmp_path / f"{rows}.h5"
        qb("simulate", "foam", "-o", scan, "--detector", f"160,{rows}", "--views", 90)
        words = [scan, "--center", "middle", "--iterations", 8, "--threads", 1, "-o", tmp_path / "v.npy", *(["--gap", 0] if verb == "tv" else [])]
        planned.append(qb_json("plan", verb, *words)["forecast"]["stages"][verb])
        runs = [qb_json(verb, *words)["stages"] for _ in range(3)]
        taken.append(min(stage["cpu_seconds"] for stages in runs for stage in stages if stage["name"] == verb))
    assert 0.7 < (planned[1] / planned[0]) / (taken[1] / taken[0]) < 1.4
