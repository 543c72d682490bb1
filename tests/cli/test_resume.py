# SPDX-License-Identifier: MIT
"""qb mbir --resume: a run that is killed goes on where it was, to the bits of a run that was not; what is another job's, or
damaged, or somebody's who lives, is refused."""
import fcntl
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from qbtest import MPIRUN, NO_RANKS, PATIENCE, QB, QUICK, RANKS_ENV, fails, gently, instead, qb, qb_json

KILLS = 1 if QUICK else 2
SLABS, STACK = "1,0.7,0", "1,0.7,1"  # 16 slices at a time; all of them at once
JOB = ["--center", "23.5", "--equits", 20, "--stop", 0, "--threads", 1, "--checkpoint", "0.001"]


@pytest.fixture(scope="module")
def scan(tmp_path_factory):
    scan = tmp_path_factory.mktemp("scan") / "s.h5"
    qb("simulate", "disc", "-o", scan, "--views", 60, "--detector", "48,34", "--photons", 20000)
    return scan


def killed(args, kept, after):
    """Start it, and kill it some time after it has kept something. Whether it was still at work."""
    run = subprocess.Popen([QB, *map(str, args)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=gently)
    end = time.monotonic() + PATIENCE
    stamp = {f.name: f.stat().st_mtime_ns for f in kept.glob("slab_*")} if kept.exists() else {}
    while run.poll() is None and time.monotonic() < end:
        if kept.exists() and any(stamp.get(f.name) != f.stat().st_mtime_ns for f in kept.glob("slab_*") if f.exists()):
            time.sleep(after)
            break
        time.sleep(0.002)
    run.send_signal(signal.SIGKILL)
    return run.wait() == -signal.SIGKILL


@pytest.mark.parametrize("neighbours", [SLABS, STACK])
def test_killed_at_any_moment(scan, tmp_path, neighbours):
    whole, out, kept = tmp_path / "whole.npy", tmp_path / "out.npy", tmp_path / "out.npy.checkpoint"
    job = ["mbir", scan, *JOB, "--neighbours", neighbours]
    want = qb_json(*job, "-o", whole)["convergence"]["slabs"]
    assert not (tmp_path / "whole.npy.checkpoint").exists()  # it is over
    dice, kills, tries = random.Random(neighbours), 0, 0
    while kills < KILLS and tries < 12:
        tries += 1
        if killed([*job, "-o", out, "--resume"], kept, dice.uniform(0, 0.1)):
            kills += 1
            assert not out.exists() and any(kept.glob("slab_*"))
        else:
            out.unlink()
    assert kills == KILLS
    report = qb_json(*job, "-o", out, "--resume")
    assert out.read_bytes() == whole.read_bytes() and report["convergence"]["slabs"] == want
    assert report["convergence"].get("slabs_resumed", 0) + report["convergence"].get("resumed_at_equits", 0) > 0
    assert sorted(f.name for f in tmp_path.iterdir()) == ["out.npy", "out.npy.json", "whole.npy", "whole.npy.json"]


@pytest.mark.skipif(bool(NO_RANKS), reason=str(NO_RANKS))
def test_ranks_that_are_killed(scan, tmp_path):
    """Each has kept its own slices: as many ranks take them up, or one process. While they live, nobody else does."""
    whole, out, kept = tmp_path / "whole.npy", tmp_path / "out.npy", tmp_path / "out.npy.checkpoint"
    job = [*map(str, ["mbir", scan, *instead(JOB, "--equits", 50), "--neighbours", SLABS])]
    launch = [MPIRUN, "--oversubscribe", "--bind-to", "none", "-n"]
    note = ["sh", "-c", f'echo $$ > "{tmp_path}/pid-$OMPI_COMM_WORLD_RANK"; exec "$@"', "sh"]
    qb(*instead(job, "--checkpoint", 0), "-o", whole)
    for _ in range(5):
        run = subprocess.Popen([*launch, "3", *note, QB, *job, "-o", out], env=RANKS_ENV, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, preexec_fn=gently)
        while run.poll() is None and not all((kept / f"slab_{first:06}").exists() for first in (0, 16, 32)):
            time.sleep(0.002)
        pids = [int((tmp_path / f"pid-{rank}").read_text()) for rank in range(3)]
        if freeze(pids) and kept.exists() and not out.exists():
            break
        for pid in pids:
            tell(pid, signal.SIGCONT)
        run.wait(timeout=PATIENCE)
        out.unlink()
    fails(2, *job, "-o", out, "--resume", says=["another run", "at work"])
    for pid in pids[1], pids[0], pids[2]:  # the launcher would not reach those that stand still
        tell(pid, signal.SIGKILL)
    assert run.wait(timeout=PATIENCE) != 0 and not out.exists()
    left = {f.name: f.read_bytes() for f in kept.glob("slab_*")}
    assert sorted(left) == ["slab_000000", "slab_000016", "slab_000032"]

    def by(n, *more):
        return subprocess.run([*launch, str(n), QB, *instead(job, "--checkpoint", "0"), "-o", out, "--resume", *more], env=RANKS_ENV, capture_output=True,
                              text=True, timeout=PATIENCE)
    refused = by(3, "--sharpness", "1")
    assert refused.returncode == 2 and "belongs to another job: sharpness was 0 and is 1" in refused.stderr
    assert left == {f.name: f.read_bytes() for f in kept.glob("slab_*")} and not out.exists()
    for n in (3, 1) if QUICK else (3, 2, 1):
        kept.mkdir(exist_ok=True)
        for name, data in left.items():
            (kept / name).write_bytes(data)
        done = by(n, "--json")
        assert done.returncode == 0, done.stderr
        report = json.loads(done.stdout)
        took = [share.get("convergence", {}) for share in [report, *report.get("other_ranks", [])]]
        assert all(one.get("slabs_resumed", 0) + one.get("resumed_at_equits", 0) > 0 for one in took)
        assert out.read_bytes() == whole.read_bytes() and not kept.exists()
        out.unlink()


@pytest.mark.skipif(bool(NO_RANKS), reason=str(NO_RANKS))
def test_ranks_that_turn_together(scan, tmp_path):
    """Of slices with a prior between them all ranks take up the same turn: the latest that all have, whether a file has its name
    already or waits for it; where one has nothing they begin anew. As many ranks, or it is refused."""
    whole, out, kept = tmp_path / "whole.npy", tmp_path / "out.npy", tmp_path / "out.npy.checkpoint"
    job = [*map(str, ["mbir", scan, *instead(JOB, "--equits", 50), "--neighbours", STACK])]
    launch = [MPIRUN, "--oversubscribe", "--bind-to", "none", "-n"]
    note = ["sh", "-c", f'echo $$ > "{tmp_path}/pid-$OMPI_COMM_WORLD_RANK"; exec "$@"', "sh"]
    names = ["slab_000000", "slab_000012", "slab_000023"]

    def by(n, *more):
        return subprocess.run([*launch, str(n), QB, *instead(job, "--checkpoint", "0"), "-o", out, "--json", *more], env=RANKS_ENV, capture_output=True,
                              text=True, timeout=PATIENCE)
    assert by(3).returncode == 0
    out.rename(whole)
    for _ in range(5):
        run = subprocess.Popen([*launch, "3", *note, QB, *job, "-o", out], env=RANKS_ENV, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, preexec_fn=gently)
        while run.poll() is None and not all((kept / name).exists() for name in names):
            time.sleep(0.002)
        for rank in (1, 0, 2):
            tell(int((tmp_path / f"pid-{rank}").read_text()), signal.SIGKILL)
        if run.wait(timeout=PATIENCE) != 0 and not out.exists():
            break
        out.unlink()
    left = {f.name: f.read_bytes() for f in kept.glob("slab_*")}
    assert set(names) <= set(left)
    refused = by(2, "--resume")
    assert refused.returncode != 0 and not out.exists() and "slices was 12 and is 17" in refused.stderr
    assert left == {f.name: f.read_bytes() for f in kept.glob("slab_*")}
    kept_at = [{int.from_bytes(left[f][40:48], sys.byteorder): left[f] for f in (name, name + ".next") if f in left} for name in names]
    both = max(set.intersection(*map(set, kept_at)))  # there is one, whenever that was
    whole_state = dict(zip(names, (turns[both] for turns in kept_at)))
    waiting = {name + ".next" if name == names[1] else name: data for name, data in whole_state.items()}
    for files, resumed in (left, True), (waiting, True), ({name: left[name] for name in names[:2]}, False):
        kept.mkdir(exist_ok=True)
        for f in kept.glob("slab_*"):
            f.unlink()
        for name, data in files.items():
            (kept / name).write_bytes(data)
        done = by(3, "--resume")
        assert done.returncode == 0, done.stderr
        report = json.loads(done.stdout)
        took = [share["convergence"] for share in [report, *report["other_ranks"]]]
        at = {one.get("resumed_at_equits", 50 if one.get("slabs_resumed") else 0) for one in took}
        assert len(at) == 1 and (at.pop() > 0) == resumed
        assert out.read_bytes() == whole.read_bytes() and not kept.exists()
        out.unlink()


def tell(pid, what):
    try:
        os.kill(pid, what)
    except ProcessLookupError:
        pass


def freeze(pids):
    """All at once, or some are over."""
    try:
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture(scope="module")
def left(scan, tmp_path_factory):
    """What a killed run left: nobody takes it up but for a copy."""
    folder = tmp_path_factory.mktemp("left")
    out, kept = folder / "out.npy", folder / "out.npy.checkpoint"
    for _ in range(12):
        if killed(["mbir", scan, *JOB, "--neighbours", SLABS, "-o", out], kept, 0):
            break
        out.unlink()
    return (kept / "slab_000000").read_bytes()


@pytest.fixture
def kept(left, tmp_path):
    kept = tmp_path / "out.npy.checkpoint"
    kept.mkdir()
    (kept / "slab_000000").write_bytes(left)
    return kept / "slab_000000"


def refused(code, scan, kept, *more, says):
    out = kept.parent.parent / "out.npy"
    before = kept.read_bytes()
    fails(code, "mbir", scan, *instead(JOB, *more), "--neighbours", SLABS, "-o", out, "--resume", says=says)
    assert not out.exists() and kept.read_bytes() == before


def test_another_job_is_refused(scan, kept, tmp_path):
    refused(2, scan, kept, "--sharpness", 1, says=["sharpness was 0 and is 1", "belongs to another job", "slab_000000"])
    refused(2, scan, kept, "--center", 30, says=["center was 23.5 and is 30"])
    refused(2, scan, kept, "--slices", "0:16", says=["another job", "slices"])
    other = tmp_path / "other.h5"
    qb("simulate", "disc", "-o", other, "--views", 60, "--detector", "48,34", "--photons", 20000, "--seed", 5)
    refused(2, other, kept, "--sigma-x", "0.01", "--sigma-y", "0.1", says=["another job"])
    refused(2, other, kept, says=["another job"])


def test_damaged_ones_are_refused(scan, kept):
    whole = kept.read_bytes()
    text = whole.index(b"{") + 1

    def damage(data, says):
        kept.write_bytes(data)
        refused(3, scan, kept, says=["slab_000000", says])
    for end in (0, 20, text, len(whole) // 2, len(whole) - 1):
        damage(whole[:end], "ends too early")
    damage(whole + b"x", "longer")
    damage(whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:], "checksum")
    damage(b"not" + whole[3:], "no checkpoint")
    for at in (16, 32, 40):  # bytes of the file, of the job, turns
        damage(whole[:at] + b"\xff" * 7 + b"\x7f" + whole[at + 8:], "slab_000000")
    kept.unlink()
    kept.mkdir()
    fails(3, "mbir", scan, *JOB, "--neighbours", SLABS, "-o", kept.parent.parent / "out.npy", "--resume", says=["is no file"])


def test_only_what_it_made_is_removed(scan, tmp_path):
    """A folder of that name may hold anything: a run leaves it as it is, and goes on without checkpoints."""
    out, kept = tmp_path / "out.npy", tmp_path / "out.npy.checkpoint"
    job = ["mbir", scan, "--center", "23.5", "--equits", 3, "--neighbours", SLABS, "-o", out, "--checkpoint", "0.0001"]
    for name in "slab_notes", "slab_000000", "slab_000000.txt", "results.csv":
        kept.mkdir()
        (kept / name).write_text("mine, and longer than a head")
        told = qb(*job).stderr
        assert "no more checkpoints" in told and name in told and "is no checkpoint" in told and "[checkpoint-stopped]" in told
        assert [f.name for f in kept.iterdir()] == [name] and (kept / name).read_text().startswith("mine")
        if name != "slab_000000":
            fails(2, *job, "--resume", says=[name, "move the folder away"])
            assert [f.name for f in kept.iterdir()] == [name]
        shutil.rmtree(kept)


def test_what_others_could_write_is_not_taken_up(scan, kept):
    for path, mode, words in (kept, 0o664, "cannot be resumed"), (kept.parent, 0o777, "cannot keep checkpoints"):
        before = path.stat().st_mode
        path.chmod(mode)
        refused(3 if path == kept else 2, scan, kept, says=[words, "chmod go-w"])
        path.chmod(before)
    qb("mbir", scan, *JOB, "--neighbours", SLABS, "-o", kept.parent.parent / "out.npy", "--resume")


def test_who_lives_keeps_it(scan, kept):
    lock = (kept.parent / "lock").open("w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    refused(2, scan, kept, says=["another run", "at work"])
    out = kept.parent.parent / "out.npy"  # nor is it spoilt by one that begins
    told = qb("mbir", scan, *JOB, "--neighbours", SLABS, "-o", out).stderr
    assert "no more checkpoints" in told and out.exists() and kept.exists()


def test_without_resume_it_begins_anew(scan, kept, tmp_path):
    """And what is not there cannot be taken up; what cannot be kept is not missed."""
    out, again, odd = tmp_path / "out.npy", tmp_path / "again.npy", tmp_path / "odd.npy"
    job = ["mbir", scan, "--center", "23.5", "--equits", 3, "--neighbours", SLABS]
    qb(*job, "-o", out)
    assert kept.exists()  # over before it had something to keep
    qb(*job, "-o", out, "--checkpoint", "0.0001")
    assert not kept.parent.exists()
    assert "from the beginning" in qb(*job, "-o", again, "--resume").stderr
    (tmp_path / "odd.npy.checkpoint").write_text("a file")
    assert "no more checkpoints" in qb(*job, "-o", odd, "--checkpoint", "0.0001").stderr
    assert (np.load(out) == np.load(again)).all() and (np.load(odd) == np.load(out)).all()
    assert (tmp_path / "odd.npy.checkpoint").read_text() == "a file"
