# SPDX-License-Identifier: MIT
"""qb mbir's system matrix: kept on disk under what it follows from, taken from there only whole; chosen by forecast."""
import json
import re

import numpy as np
import pytest

from qbtest import QUICK, fails, machine, qb, qb_json

VIEWS, COLUMNS = 24, 32


@pytest.fixture(scope="module")
def scan(tmp_path_factory):
    scan = tmp_path_factory.mktemp("matrix") / "s.h5"
    qb("simulate", "disc", "-o", scan, "--views", VIEWS, "--detector", f"{COLUMNS},2", "--photons", 20000)
    return scan


@pytest.fixture
def job(scan, tmp_path):
    """Runs it: the image, what the report says of the cache, and the warnings."""
    def run(*more, center="15.5", matrix="floats"):
        words = ["mbir", scan, "-o", tmp_path / "v.npy", "--device", "cpu", "--center", center, "--equits", 3, "--matrix", matrix]
        report = qb_json(*words, *more)
        return np.load(tmp_path / "v.npy"), report["convergence"].get("matrix_from_cache"), [w for w in report["warnings"] if "matrix" in w]
    return run


def test_a_kept_matrix_comes_back(job, tmp_path):
    folder = tmp_path / "kept"
    plain, said, _ = job()
    assert said is None
    written, found, warnings = job("--matrix-cache", folder)
    file, = folder.iterdir()
    assert found is False and not warnings and (written == plain).all()
    stamp = file.stat().st_mtime_ns
    read, found, warnings = job("--matrix-cache", folder)
    assert found is True and not warnings and (read == plain).all() and file.stat().st_mtime_ns == stamp
    rounded, _, _ = job(matrix="bytes")
    for expected in (False, True):
        kept, found, _ = job("--matrix-cache", folder, matrix="bytes")
        assert found is expected and (kept == rounded).all()
    assert job("--matrix-cache", folder, center="15.75")[1] is False  # another geometry, another grid: other files
    assert job("--matrix-cache", folder, "--size", "30")[1] is False
    assert job("--matrix-cache", folder, "--roi", "12")[1] is False
    assert len(list(folder.iterdir())) == 5
    assert job("--matrix-cache", folder, "--sharpness", "1", "--weights", "transmission")[1] is True  # of no concern to it


def test_what_is_not_whole_is_computed_again(job, tmp_path):
    folder = tmp_path / "kept"
    plain, _, _ = job("--matrix-cache", folder)
    job("--matrix-cache", folder, center="15.75")
    file, other = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime_ns)
    whole = file.read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) * 2 // 3] ^= 1
    bads = [(whole[:-1], "cut short"), (bytes(flipped), "damaged"), (other.read_bytes(), "another geometry")]
    more = [(whole[:50], "cut short"), (b"", "cut short"), (whole + b"x", "cut short"), (b"\0" * len(whole), "another geometry")]
    for bad, says in bads + ([] if QUICK else more):
        file.write_bytes(bad)
        image, found, warnings = job("--matrix-cache", folder)
        assert found is False and (image == plain).all() and file.read_bytes() == whole
        assert any(says in w and file.name in w and "computed again" in w for w in warnings), warnings
    assert sorted(folder.iterdir()) == sorted([file, other])  # nothing half written is left
    killed = folder / f".{file.name}.part-999999-5f3759df"  # but by a run that was killed, until the next one writes here
    killed.mkdir()
    (killed / "lock").touch()
    (killed / "new").write_bytes(whole[:-9])
    file.unlink()
    image, found, _ = job("--matrix-cache", folder)
    assert found is False and (image == plain).all() and sorted(folder.iterdir()) == sorted([file, other])
    (tmp_path / "file").write_text("")
    image, found, warnings = job("--matrix-cache", tmp_path / "file")
    assert found is False and (image == plain).all() and any("is not written" in w for w in warnings)


def test_it_is_chosen_by_forecast(scan, tmp_path, monkeypatch):
    """Floats where that is a tenth faster by this machine's own rates and there is room: the same bits in any case."""
    kept = tmp_path / "tuning.json"
    monkeypatch.setenv("QB_TUNING", str(kept))
    words = ["mbir", scan, "--device", "cpu", "--center", "15.5", "--equits", 3, "-o", tmp_path / "v.npy"]

    def planned(floats, making, *more):
        rates = {"filter": 1e9, "icd_fly": 1e9, "icd_bytes": 1e9, "icd_floats": floats, "icd_matrix": making}
        kept.write_text(json.dumps([{**machine(), "rates": rates}]))
        plan = qb_json("plan", *words, *more)
        chosen, seconds = plan["matrix"], plan["matrix_seconds"]
        assert plan["forecast"]["stages"]["mbir"] == pytest.approx(seconds[chosen], rel=1e-6)
        return chosen, seconds
    chosen, seconds = planned(1e10, 1e12)
    assert chosen == "floats" and seconds["floats"] < 0.9 * seconds["fly"]
    qb(*words)
    floats = np.load(tmp_path / "v.npy")
    chosen, seconds = planned(1.01e9, 1e12)
    assert chosen == "fly" and 0.9 * seconds["fly"] < seconds["floats"] < seconds["fly"]
    qb(*words)
    assert (floats == np.load(tmp_path / "v.npy")).all()
    assert planned(1e10, 1e5)[0] == "fly" and planned(1e10, 1e5, "--matrix-cache", tmp_path / "kept")[0] == "floats"
    assert planned(1e10, 1e12, "--matrix", "bytes")[0] == "bytes"
    wide = ["--size", "800", "--voxel", "0.04"]
    assert planned(1e10, 1e12, *wide)[0] == "floats" and planned(1e10, 1e12, *wide, "--max-ram", "200M")[0] == "fly"
    assert not (tmp_path / "kept").exists()  # a plan writes nothing
    kept.write_text("[]")
    monkeypatch.setenv("QB_TUNING", "")
    assert qb_json("plan", *words)["matrix"] == "fly"  # nothing was measured


def test_refusals(scan, tmp_path):
    fails(2, "mbir", scan, "-o", tmp_path / "v.npy", "--matrix", "fly", "--matrix-cache", tmp_path / "kept", says=["--matrix fly", "--matrix-cache"])
    assert not (tmp_path / "kept").exists()


def test_what_has_no_room_is_offered_without_a_matrix(tmp_path):
    """How much it would need, and how much less it needs as it goes, which is then enough."""
    qb("simulate", "disc", "-o", tmp_path / "s.sim", "--views", 360, "--detector", "512,16")
    plan = ["plan", "mbir", tmp_path / "s.sim", "-o", tmp_path / "v.npy", "--device", "cpu"]
    kept, fly = (qb_json(*plan, "--matrix", kind, "--max-ram", "100G")["memory_bytes"] / 2**20 for kind in ("floats", "fly"))
    assert kept > 1.5 * fly
    room = (kept + 2 * fly) / 3
    said = fails(2, *plan, "--matrix", "floats", "--max-ram", f"{room:.0f}M", says=["--max-ram", "--matrix fly computes what it would keep"])
    need, instead = map(float, re.search(r"at a time need ([\d.]+) MiB; --matrix fly .* needs ([\d.]+) MiB", said).groups())
    assert need > room > instead
    assert qb_json(*plan, "--matrix", "fly", "--max-ram", f"{instead + 8:.0f}M")["memory_bytes"] <= (instead + 8) * 2**20
    said = fails(2, *plan, "--matrix", "floats", "--max-ram", f"{instead / 2:.0f}M", says=["--max-ram"])
    assert "--matrix fly" not in said  # that has no room, either
