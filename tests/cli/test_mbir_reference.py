# SPDX-License-Identifier: MIT
"""qb mbir --reference: how far the image is from a volume after each turn, whoever descends; what does not fit is refused."""
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from qbtest import MPIRUN, NO_RANKS, PATIENCE, QB, RANKS_ENV, devices, fails, qb, qb_json, read_h5
from test_resume import killed

APART = ["--neighbours", "1,0.7,0"]
HOW = ["--center", "23.5", "--weights", "transmission", "--snr-db", 30]


@pytest.fixture(scope="module")
def scan(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scan")
    qb("simulate", "shepp-logan", "-o", folder / "s.h5", "--views", 60, "--detector", "48,4", "--pixel-size", "1", "--photons", 50000,
       "--truth", folder / "t.h5")
    return folder / "s.h5"


def slabs_of(report, *more):
    return [slab for share in (report, *report.get("other_ranks", [])) for slab in share["convergence"]["slabs"]]


def check(report, got, want):
    """The last one is that of the output, and those before tell of another image."""
    slab, = slabs_of(report)
    assert len(slab["rmse"]) == len(slab["equits"]) and slab["rmse"][-1] == pytest.approx(np.sqrt(np.square(got.astype(float) - want).mean()), rel=1e-5)
    assert len(set(slab["rmse"])) == len(slab["rmse"])
    return slab


WAYS = {"joined": [], "one by one": APART, "in vectors": [*APART, "--matrix", "floats"], "coarse": ["--coarse", 1]}


@pytest.mark.parametrize("way", WAYS)
def test_of_the_truth(scan, tmp_path, way):
    """It falls from the start on, to what qb compare says, and changes no bit."""
    truth, out, plain = scan.parent / "t.h5", tmp_path / "v.npy", tmp_path / "plain.npy"
    report = qb_json("mbir", scan, *HOW, "--start", 0, *WAYS[way], "--reference", truth, "-o", out)
    slab = check(report, np.load(out), read_h5(truth))
    assert report["convergence"]["rmse_units"] == "1/mm"
    assert slab["rmse"][-1] < 0.5 * slab["rmse"][0] or way == "coarse"  # whose turns begin near it
    assert qb_json("compare", out, truth)["rmse"] == pytest.approx(slab["rmse"][-1], rel=1e-5)
    report = qb_json("mbir", scan, *HOW, "--start", 0, *WAYS[way], "-o", plain)
    assert "rmse" not in slabs_of(report)[0] and plain.read_bytes() == out.read_bytes()
    told = json.loads((tmp_path / "v.npy.json").read_text())["provenance"]
    assert "reference" in told["content"]


@pytest.mark.parametrize("more", [[], APART, ["--hu", "0.02"]])
def test_it_is_told_as_it_goes_and_in_the_end(scan, tmp_path, more):
    """In the progress of each turn, which a terminal shows, and in the closing line: of all slabs."""
    out = ["-o", tmp_path / "v.npy", "--equits", 3, "--stop", 0, *more]
    report = qb_json("mbir", scan, *HOW, "--reference", scan.parent / "t.h5", *out)
    done = qb("mbir", scan, *HOW, "--reference", scan.parent / "t.h5", *out)
    slabs, units = slabs_of(report), report["convergence"]["rmse_units"]
    last = np.sqrt(sum(s["slices"] * s["rmse"][-1] ** 2 for s in slabs) / sum(s["slices"] for s in slabs))
    assert f", rmse {last:.4g} {units} to the reference" in done.stdout.splitlines()[0]
    told = re.findall(r"([\d.]+) equits, change .* %, rmse (\S+) " + re.escape(units), done.stderr)
    assert told and all(rmse in {f"{r:.4g}" for s in slabs for r in s["rmse"]} for _, rmse in told) and told[-1][1] == f"{slabs[-1]['rmse'][-1]:.4g}"
    done = qb("mbir", scan, *HOW, *out)
    assert "rmse" not in done.stderr + done.stdout


def test_a_folder_is_no_reference(scan, tmp_path):
    (tmp_path / "empty").mkdir()
    for option in "--reference", "--start", "--prox", "--weights":
        fails(2, "mbir", scan, *HOW[:2], option, tmp_path / "empty", "-o", tmp_path / "no.npy", says=[option, "empty is a folder without image files"])


@pytest.mark.parametrize("more", [[], [*APART, "--kernel", "icd_supervoxel.local"], [*APART, "--kernel", "icd_supervoxel.global"]])
def test_on_a_device(scan, tmp_path, more):
    if not any(d["device"] == "opencl:0" for d in devices()):
        pytest.skip("there is no OpenCL device")
    truth, out = scan.parent / "t.h5", tmp_path / "v.npy"
    report = qb_json("mbir", scan, *HOW, *more, "--device", "opencl", "--equits", 3, "--reference", truth, "-o", out)
    check(report, np.load(out), read_h5(truth))


def test_slices_and_hounsfield_units(scan, tmp_path):
    """In 1/mm or HU, which is seen; of the slices that are made; drawn."""
    truth, out = read_h5(scan.parent / "t.h5")[1:3], tmp_path / "v.h5"
    np.save(tmp_path / "t.npy", truth)
    base = ["mbir", scan, *HOW, "--slices", "1:3", "--equits", 3]
    plain = slabs_of(qb_json(*base, "--reference", tmp_path / "t.npy", "-o", out))[0]
    qb(*base, "--hu", "0.02", "-o", tmp_path / "hu.h5")
    end = qb_json(*base, "--hu", "0.02", "--reference", tmp_path / "t.npy", "-o", out)
    assert end["convergence"]["rmse_units"] == "HU" and slabs_of(end)[0]["rmse"] == pytest.approx([50000 * r for r in plain["rmse"]])
    itself = qb_json(*base, "--hu", "0.02", "--reference", tmp_path / "hu.h5", "-o", out)
    assert slabs_of(itself)[0]["rmse"][-1] < 1e-2 < slabs_of(itself)[0]["rmse"][0]
    (tmp_path / "r.json").write_text(json.dumps(end))
    script = Path(__file__).resolve().parents[2] / "scripts" / "plot-convergence.py"
    subprocess.run([sys.executable, script, tmp_path / "r.json", tmp_path / "c.svg"], check=True)
    drawn = (tmp_path / "c.svg").read_text()
    lines = re.findall(r'points="([^"]+)"', drawn)
    assert "rmse to the reference, HU" in drawn and len(lines) == 3 and len(lines[2].split()) == len(plain["rmse"])
    fails(2, *base, "--reference", tmp_path / "hu.h5", "-o", tmp_path / "no.npy", says=["--reference", "Hounsfield", "--hu"])
    fails(3, "mbir", scan, *HOW, "--reference", tmp_path / "t.npy", "-o", tmp_path / "no.npy", says=["--reference", "2 x 48 x 48", "4 x 48 x 48"])
    fails(2, *base, "--reference", tmp_path / "gone.npy", "-o", tmp_path / "no.npy", says=["--reference", "no such file"])
    truth[1, 2, 3] = np.nan
    np.save(tmp_path / "t.npy", truth)
    fails(3, *base, "--reference", tmp_path / "t.npy", "-o", tmp_path / "no.npy", says=["--reference", "voxel 1, 2, 3"])
    assert not (tmp_path / "no.npy").exists()


def test_going_on(scan, tmp_path):
    """What was told before is told again."""
    whole, out, kept = tmp_path / "whole.npy", tmp_path / "out.npy", tmp_path / "out.npy.checkpoint"
    job = ["mbir", scan, *HOW, "--stop", 0, "--equits", 40, "--checkpoint", "0.001", "--threads", 1, "--reference", scan.parent / "t.h5"]
    want = slabs_of(qb_json(*job, "-o", whole))[0]
    for _ in range(12):
        if killed([*job, "-o", out], kept, 0):
            break
        out.unlink()
    fails(2, *job[:-2], "-o", out, "--resume", says=["another job: reference was", "t.h5 and is not given"])
    report = qb_json(*job, "-o", out, "--resume")
    assert report["convergence"]["resumed_at_equits"] > 0 and slabs_of(report)[0]["rmse"] == want["rmse"]


@pytest.mark.skipif(bool(NO_RANKS), reason=str(NO_RANKS))
@pytest.mark.parametrize("neighbours", ["1,0.7,0", "1,0.7,1"])
def test_ranks(scan, tmp_path, neighbours):
    """Each of its own slices, or, of those that turn together, of all of them."""
    tall, truth = tmp_path / "s.h5", tmp_path / "t.npy"
    qb("simulate", "shepp-logan", "-o", tall, "--views", 30, "--detector", "48,36", "--pixel-size", "1", "--photons", 50000, "--truth", truth)
    job = ["mbir", tall, *HOW, "--neighbours", neighbours, "--equits", 3, "--reference", truth, "-o", tmp_path / "v.npy", "--json"]
    done = subprocess.run([MPIRUN, "--oversubscribe", "--bind-to", "none", "-n", "3", QB, *map(str, job)], capture_output=True, text=True,
                          timeout=PATIENCE, env=RANKS_ENV)
    assert done.returncode == 0, done.stderr
    slabs, squares = slabs_of(json.loads(done.stdout)), np.square(np.load(tmp_path / "v.npy").astype(float) - np.load(truth))
    joined = neighbours.endswith(",1")
    for slab in slabs:
        own = squares if joined else squares[slab["first_slice"]:slab["first_slice"] + slab["slices"]]
        assert slab["rmse"][-1] == pytest.approx(np.sqrt(own.mean()), rel=1e-5)
    assert len(slabs) == 3


def test_nothing_is_left_to_chance(scan, tmp_path):
    """--deterministic: the same bits each time, and what cannot promise them is refused."""
    if not any(d["device"] == "opencl:0" for d in devices()):
        pytest.skip("qb devices lists no opencl:0")
    for more in [], APART:
        volumes = []
        for name in "one", "two":
            qb("mbir", scan, *HOW, *more, "--equits", 3, "--deterministic", "--device", "opencl", "-o", tmp_path / f"{name}.npy", "-q")
            volumes.append((tmp_path / f"{name}.npy").read_bytes())
        assert volumes[0] == volumes[1]
    other = [*APART, "--device", "opencl", "--kernel", "icd_supervoxel.global", "-o", tmp_path / "no.npy"]
    qb("plan", "mbir", scan, *HOW, *other)
    fails(3, "mbir", scan, *HOW, *other, "--deterministic", says=["icd_supervoxel.global", "left to chance", "--deterministic"])
