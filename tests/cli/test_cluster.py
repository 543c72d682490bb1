# SPDX-License-Identifier: MIT
"""What ranks give together (qb bench mpi), and what a reconstruction would take on a cluster of such (qb plan fdk --cluster)."""
import json
import subprocess

import pytest

from qbtest import MPIRUN, NO_RANKS, PATIENCE, QB, RANKS_ENV, ROOT, Shim, fails, machine, opencl, qb, qb_json, storage  # noqa: F401 (a fixture)

ABCI = ROOT / "bench" / "clusters" / "abci-v100.json"
CIRCLE = ["--sod", 400, "--sdd", 700, "--pixel-size", 0.8]


def launched(n, *args, code=0, env=None):
    done = subprocess.run([MPIRUN, "--oversubscribe", "--bind-to", "none", "-n", str(n), QB, *map(str, args)], capture_output=True,
                          text=True, env={**(env or {}), **RANKS_ENV}, timeout=PATIENCE)
    assert done.returncode == code, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def cone(tmp_path_factory):
    path = tmp_path_factory.mktemp("cluster") / "cone.h5"
    qb("simulate", "ball", "-o", path, "--geometry", "cone", "--views", 40, "--detector", "48,32", *CIRCLE, "--quiet")
    return path


@pytest.fixture(scope="module")
def known(cone):
    """This machine is not measured for plans."""
    path = cone.parent / "tuning.json"
    path.write_text(json.dumps([machine(), storage(cone.parent)]))
    return str(path)


@pytest.fixture
def plan(cone, known, tmp_path, monkeypatch):
    monkeypatch.setenv("QB_TUNING", known)
    return lambda *args, **more: (fails if "code" in more else qb_json)(
        *([more.pop("code")] if "code" in more else []), "plan", "fdk", cone, *CIRCLE, "-o", tmp_path / "out.h5", *args, **more)


def check_terms(found):
    t = found["terms"]
    assert t["compute"] == max(t["read"], t["filter"], t["allgather"], t["back-project"])
    assert t["post"] == pytest.approx(t["transpose"] + t["from_device"] + t["reduce"] + t["write"])
    assert found["runtime_seconds"] == pytest.approx(t["compute"] + t["post"])
    assert found["ranks"] == found["grid"][0] * found["grid"][1]


@pytest.mark.skipif(bool(NO_RANKS), reason=str(NO_RANKS))
def test_what_is_measured_feeds_the_model(plan, tmp_path):
    done = launched(2, "bench", "mpi", "--size", "48,48,32", "--detector", "48,32", "--repeat", 3, "--json")
    b = json.loads(done.stdout)
    view, part, rates = 48 * 32 * 4, 48 * 48 * 32 * 4, b["rates"]
    assert (b["ranks"], b["hosts"]) == (2, 1)
    for name, bytes_, rate in [("allgather", 16 * view, "allgather"), ("reduce", part, "reduce"), ("write", 2 * part, "write"),
                               ("read", 2 * part, "read")]:
        assert b[name]["bytes"] == bytes_
        assert rates[f"{rate}_bytes_per_second"] == pytest.approx(bytes_ / b[name]["seconds_median"])
    assert rates["filter_values_per_second"] >= b["filter"]["giga_samples_per_second"] * 1e9
    assert 0 < rates["backproject_updates_per_second"] <= b["backproject"]["giga_updates_per_second"] * 1e9 * 1.0001
    assert b["backproject"]["rel_l2"] < 5e-5 and 0 < rates["rank_memory_bytes"] < 1e14
    (tmp_path / "here.json").write_text(done.stdout)
    found = plan("--cluster", tmp_path / "here.json", "--nodes", 2, "--gpus-per-node", 2)["cluster"]
    assert found["grid"] == [1, 4] and found["terms"]["to_device"] == 0
    assert found["terms"]["write"] == pytest.approx(48 * 48 * 32 * 4 / rates["write_bytes_per_second"])
    check_terms(found)
    other = launched(2, "bench", "io", code=3)
    assert "qb bench io cannot run as 2 processes" in other.stderr


@pytest.mark.skipif(bool(NO_RANKS), reason=str(NO_RANKS))
def test_devices_are_measured_with_their_links(opencl, plan, tmp_path):
    """Two ranks that share a device: one link for both; kernels, filter and sums are the device's."""
    shim = Shim(tmp_path)
    done = launched(2, "bench", "mpi", "--size", "48,48,32", "--detector", "48,32", "--repeat", 3, "--json", "--device", "opencl:0",
                    env=shim.env)
    b = json.loads(done.stdout)
    part, rates = 48 * 48 * 32 * 4, b["rates"]
    ways = [b["upload"], b["download"]]
    assert all(way["bytes"] == 8 * 2 * part for way in ways) and rates["links_per_node"] == 1
    assert rates["link_bytes_per_second"] == pytest.approx(min(way["bytes"] / way["seconds_median"] for way in ways))
    assert b["reduce"]["bytes"] == part and b["sums_by"] == "the hosts' memory: NCCL is for CUDA devices"
    assert b["filter"]["kernel"] == "filter.device" and b["backproject"]["device"] == b["device"]
    (tmp_path / "here.json").write_text(done.stdout)
    found = plan("--cluster", tmp_path / "here.json", "--nodes", 2, "--gpus-per-node", 2)["cluster"]
    assert found["terms"]["from_device"] == pytest.approx(48 * 48 * 32 * 4 * 2 / rates["link_bytes_per_second"] / found["grid"][0])
    check_terms(found)


def test_a_plan_on_paper(plan):
    found = plan("--cluster", ABCI, "--nodes", 4, "--gpus-per-node", 4)["cluster"]
    assert found["grid"] == [1, 16] and (found["nodes"], found["gpus_per_node"]) == (4, 4)
    assert plan("--cluster", ABCI, "--nodes", 4, "--gpus-per-node", 4, "--grid", "auto")["cluster"] == found
    many = plan("--cluster", ABCI, "--nodes", 25, "--gpus-per-node", 4)["cluster"]
    assert many["grid"] == [4, 25] and many["strong_scaling"][-1]["ranks"] == 2048  # 40 views: no more columns
    assert all(s["grid"][1] <= s["views"] for s in many["strong_scaling"] + many["weak_scaling"])
    tall = plan("--cluster", ABCI, "--nodes", 4, "--gpus-per-node", 4, "--grid", "8x2")["cluster"]
    assert tall["grid"] == [8, 2] and tall["terms"]["reduce"] == pytest.approx(found["terms"]["reduce"] / 8)
    for steps in (found["strong_scaling"], found["weak_scaling"]):
        assert [s["ranks"] for s in steps] == [4 << i for i in range(len(steps))]
        for step in steps:
            check_terms(step)
            assert step["efficiency"] == pytest.approx(step["gups"] / step["ranks"] / (steps[0]["gups"] / 4))
    assert all(s["grid"][0] == 8 for s in tall["strong_scaling"])


def test_it_is_told(plan, cone, tmp_path):
    told = qb("plan", "fdk", cone, *CIRCLE, "-o", tmp_path / "out.h5", "--cluster", ABCI, "--nodes", 2, "--gpus-per-node", 4).stdout
    assert "2 nodes of 4 GPUs or processes, as 1x8: potential peak" in told and "efficiency" in told


def test_refusals(plan, cone, tmp_path):
    (tmp_path / "small.json").write_text(json.dumps({"rates": {**json.loads(ABCI.read_text())["rates"], "rank_memory_bytes": 250000}}))
    plan("--nodes", 2, code=2, says=["need the rates of a cluster", "--cluster FILE"])
    plan("--cluster", tmp_path / "small.json", code=2, says=["have no room for it", "--nodes"])
    plan("--cluster", ABCI, "--nodes", 2, "--grid", "3x1", code=2, says=["--grid 3x1 is not of the 2 ranks"])
    plan("--cluster", ABCI, "--nodes", 2, "--grid", "2by1", code=2, says=["--grid 2by1", "ROWSxCOLUMNS"])
    plan("--cluster", ABCI, "--nodes", 100, "--grid", "2x50", code=2, says=["40 views cannot be shared by 50 columns", "more rows"])
    plan("--cluster", tmp_path / "none.json", code=3, says=["none.json"])
    fails(2, "fdk", cone, *CIRCLE, "-o", tmp_path / "out.h5", "--cluster", ABCI, says=["qb plan fdk"])
    assert not (tmp_path / "out.h5").exists()


@pytest.mark.skipif(bool(NO_RANKS), reason=str(NO_RANKS))
def test_scaling_is_measured(tmp_path):
    """Every kind of problem, small: what is told of a run is what the run reported."""
    done = subprocess.run([ROOT / "bench" / "scaling.py", "--qb", QB, "--ranks", "1,2", "--divide", "32", "--repeat", "1", "--weak", "--grids",
                           "--problem", "c1", "--problem", "mbir", "--json", tmp_path / "s.json"], capture_output=True, text=True, env=RANKS_ENV, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in (tmp_path / "s.json").read_text().splitlines()]
    assert [(r["problem"], r["ranks"], r["grid"], r["grown"]) for r in rows] == [
        ("c1", 1, "1x1", 1), ("c1", 2, "2x1", 1), ("c1", 2, "1x2", 1), ("c1", 2, "2x1", 1), ("c1", 2, "2x1", 2),
        ("mbir", 1, "1x1", 1), ("mbir", 2, "2x1", 1), ("mbir", 2, "2x1", 2)]
    for r in rows:
        grown = r["grown"] ** 2 if r["problem"] == "c1" else r["grown"] ** 2
        assert r["updates"] == (16 ** 3 * 32 if r["problem"] == "c1" else 16 ** 3 * 22) * grown
        assert r["longest_seconds"] == max(s for name, s in r["terms"].items() if name not in ("reduce", "write", "convert", "prepare"))
        assert 0 < r["longest_seconds"] <= r["wall_over_longest"] * r["longest_seconds"] + 1e-9 and r["kernel_seconds"] > 0
    assert rows[0]["kernel_efficiency"] == 1 and len(done.stdout.splitlines()) == len(rows) + 1
