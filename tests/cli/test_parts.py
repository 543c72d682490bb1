# SPDX-License-Identifier: MIT
"""One HDF5 volume over several files: the same numbers to whoever opens it, all of it or nothing."""
import json
import os
import signal
import subprocess
import time

import h5py
import numpy as np
import pytest

from qbtest import machine, QB, fails, leftovers, provenance_h5, qb, qb_json, read_h5, smallest_cap, write_scan

AXIS = ["--center", "15.5"]


@pytest.fixture(scope="module")
def scan(tmp_path_factory):
    rng = np.random.default_rng(4)
    path = tmp_path_factory.mktemp("scan") / "scan.h5"
    return write_scan(path, rng.uniform(0, 1, (12, 10, 32)).astype(np.float32), np.arange(12) * 15.0, pixel=0.1,
                      quantity="line_integral")


@pytest.mark.parametrize("more", [[], ["--dtype", "uint16", "--range", "0,1"], ["--dtype", "float16", "--max-ram", "the least"]])
def test_the_same_volume(scan, tmp_path, more):
    """Numbers, attributes, provenance, and what our own readers make of it; the parts lie where a link leads, also
    where that has a % in its name."""
    if more[-1:] == ["the least"]:
        least = smallest_cap("fbp", scan, *AXIS, *more[:-2], "-o", tmp_path / "v.h5", "--parts", 4)
        more = [*more[:-1], f"{int(least[:-1]) + 1}M"]  # at the limit itself a run may have to take a kernel of other bits
    qb("fbp", scan, *AXIS, *more, "-o", tmp_path / "one.h5")
    name = tmp_path / "50%b.h5"
    os.symlink("50%b.h5", tmp_path / "v.h5")
    qb("fbp", scan, *AXIS, *more, "-o", tmp_path / "v.h5", "--parts", 4)
    assert leftovers(tmp_path) == ["50%b.h5", "50%b.h5.parts", "one.h5", "v.h5"]
    assert sorted(os.listdir(f"{name}.parts")) == ["00.h5", "01.h5", "02.h5", "03.h5"]
    assert (read_h5(name) == read_h5(tmp_path / "one.h5")).all()
    with h5py.File(name) as f, h5py.File(tmp_path / "one.h5") as g:
        assert f["exchange/data"].is_virtual and dict(f["exchange/data"].attrs) == dict(g["exchange/data"].attrs)
    with h5py.File(f"{name}.parts/01.h5") as f, h5py.File(name) as whole:
        assert f["data"].attrs["first_image"] == 1 and f["data"].attrs["image_step"] == 4
        assert (f["data"][()] == whole["exchange/data"][1::4]).all()
    told = provenance_h5(name)
    assert told["plan"]["output_parts"] == 4 and "--parts 4" in told["command"]
    assert qb_json("compare", tmp_path / "v.h5", tmp_path / "one.h5")["max_abs"] == 0
    os.rename(tmp_path, f"{tmp_path}.moved")  # wherever both are together
    assert qb_json("compare", f"{tmp_path}.moved/v.h5", f"{tmp_path}.moved/one.h5")["max_abs"] == 0
    os.rename(f"{tmp_path}.moved", tmp_path)


def test_a_missing_part_is_said(scan, tmp_path):
    qb("fbp", scan, *AXIS, "-o", tmp_path / "v.h5", "--parts", 3)
    os.rename(tmp_path / "v.h5.parts" / "01.h5", tmp_path / "gone.h5")
    for verb in (["info", tmp_path / "v.h5"], ["compare", tmp_path / "v.h5", tmp_path / "v.h5"]):
        fails(3, *verb, says=["v.h5.parts/01.h5", "missing"])
    assert np.isnan(read_h5(tmp_path / "v.h5")[1::3]).all()  # other programs see no zeros


def test_one_file_is_the_default_below_8_gb(scan, tmp_path):
    plan = qb_json("plan", "fbp", scan, *AXIS, "-o", tmp_path / "v.h5")
    assert "output_parts" not in plan
    grown = ["--size", "16000,16000,10", "--voxel", "0.0002", "--max-ram", "20G"]
    plan = qb_json("plan", "fbp", scan, *AXIS, *grown, "-o", tmp_path / "v.h5", "--threads", 2)
    assert plan["output_bytes"] > 8e9 and plan["output_parts"] == min(2, len(os.sched_getaffinity(0)))
    assert "output_parts" not in qb_json("plan", "fbp", scan, *AXIS, *grown, "-o", tmp_path / "v.h5", "--parts", 1)
    assert "output_parts" not in qb_json("plan", "fbp", scan, *AXIS, *grown, "-o", tmp_path / "v.mha")


def test_parts_of_an_older_volume_are_named(scan, tmp_path):
    """One file in their place does not use them."""
    out = [*AXIS, "-o", tmp_path / "v.h5"]
    assert not qb_json("fbp", scan, *out, "--parts", 2)["warnings"]
    said = qb_json("fbp", scan, *out)["warnings"]
    assert any("v.h5.parts holds parts of an older volume" in w for w in said), said


def test_what_cannot_be(scan, tmp_path):
    out = tmp_path / "v.h5"
    fails(2, "fbp", scan, *AXIS, "-o", out, "--parts", "many", says=["--parts many", "auto"])
    fails(2, "fbp", scan, *AXIS, "-o", out, "--parts", "65", says=["64"])
    fails(2, "fbp", scan, *AXIS, "-o", tmp_path / "v.npy", "--parts", "2", says=["HDF5"])
    assert not leftovers(tmp_path)
    qb("fbp", scan, *AXIS, "-o", out, "--parts", 4)
    fails(2, "fbp", scan, *AXIS, "-o", out, "--parts", 2, says=["v.h5.parts", "none of the 2 parts", "remove"])
    before = read_h5(out)
    qb("fbp", scan, *AXIS, "-o", out, "--parts", 4, "--filter", "hann")
    assert (read_h5(out) != before).any()
    # a part is what is read: it is not written over
    part = tmp_path / "v.h5.parts" / "00.h5"
    fails(2, "fbp", part, "--dataset", "/data", "--quantity", "line_integral", "--angles", "0:180", *AXIS, "-o", out, "--parts", 4,
          says=["00.h5", "overwrite"])


def test_a_killed_run_leaves_nothing_that_looks_whole(scan, tmp_path):
    """Killed at any time: either the older volume with its parts, or nothing, or the new one with its parts."""
    out = tmp_path / "v.h5"
    env = {**os.environ}
    qb("fbp", scan, *AXIS, "-o", out, "--parts", 3)
    old = read_h5(out)
    qb("fbp", scan, *AXIS, "-o", tmp_path / "new.h5", "--filter", "hann")
    new = read_h5(tmp_path / "new.h5")
    seen = set()
    for wait in np.linspace(0.002, 0.12, 8):
        run = subprocess.Popen([QB, "fbp", str(scan), *AXIS, "-o", str(out), "--parts", "3", "--filter", "hann", "-q"], env=env)
        time.sleep(wait)
        run.send_signal(signal.SIGKILL)
        run.wait()
        json.loads(qb("info", out, "--json").stdout)  # settles what was left half exchanged
        found = read_h5(out)
        seen.add("old" if (found == old).all() else "new" if (found == new).all() else "mixed")
    assert "mixed" not in seen and seen
    qb("fbp", scan, *AXIS, "-o", out, "--parts", 3, "--filter", "hann")
    assert leftovers(tmp_path) == ["new.h5", "v.h5", "v.h5.parts"]


def test_the_storage_is_measured_and_the_plan_knows_it(scan, tmp_path, monkeypatch):
    """qb bench io keeps what 1, 2, 4, 8 and 16 files take; how many parts pay and how long writing lasts follow."""
    monkeypatch.setenv("QB_TUNING", str(tmp_path / "tuning.json"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    found = qb_json("bench", "io", "--size", "64,64,8")
    assert [row["threads"] for row in found["storage"]] == [1, 2, 4, 8, 16] and found["files_that_pay"] in (1, 2, 4, 8, 16)
    assert all(row[f"{what}_gigabytes_per_second"] > 0 for row in found["storage"] for what in ("write_files", "read_file"))
    (row,) = json.loads((tmp_path / "tuning.json").read_text())
    assert tmp_path.is_relative_to(row["storage"]) and len(row["write_bytes_per_second"]) == 5
    assert leftovers(tmp_path, "tuning.json", "tuning.json.lock") == []
    small = ["plan", "fbp", scan, *AXIS, "-o", tmp_path / "v.h5"]
    grown = [*small, "--size", "16000,16000,10", "--voxel", "0.0002", "--max-ram", "20G"]
    for pays in 1, 2:
        row["write_bytes_per_second"] = [1e5] + [pays * 1e5] * 4
        (tmp_path / "tuning.json").write_text(json.dumps([row, machine()]))
        plan = qb_json(*grown, "--threads", 4)
        assert plan.get("output_parts", 1) == min(pays, len(os.sched_getaffinity(0)))
        rate = 1e5 * min(pays, len(os.sched_getaffinity(0)))
        stages = plan["forecast"]["stages"]
        assert stages["write"] == pytest.approx(plan["output_bytes"] / rate)
        assert stages["write"] <= plan["forecast_seconds"] < 1.2 * stages["write"] + plan["forecast"]["axis"]
    plan = qb_json(*small)
    assert plan["forecast"]["stages"]["write"] == pytest.approx(10 * 32 * 32 * 4 / 1e5) and 0 < plan["forecast"]["stages"]["read"] < 1
    monkeypatch.setenv("QB_TUNING", "")
    assert qb_json(*small)["forecast"]["stages"]["write"] == pytest.approx(10 * 32 * 32 * 4 / 1e9)  # a guess
