# SPDX-License-Identifier: MIT
"""qb fbp --resume and qb fdk --resume: what a run that was killed or failed has on the disk is taken up, to the bits of a run that
was not; another job's, what is damaged and what somebody alive writes is refused; nothing stays behind."""
import fcntl
import json
import os
import random
import shutil
import signal
import subprocess

import numpy as np
import pytest

from qbtest import MPIRUN, NO_RANKS, PATIENCE, QB, QUICK, RANKS_ENV, Shim, eager, fails, fault, few, instead, killed, memory_is_ours, opencl, qb, qb_json  # noqa: F401 (opencl is a fixture)

FBP = ["--center", "15.5", "--threads", 1, "--device", "cpu", "--kernel", "bp_parallel_linear.scalar"]  # slabs of few slices
NOTE = ["--checkpoint", "1e-9"]  # after every slab


@pytest.fixture(scope="module")
def scan(tmp_path_factory):
    scan = tmp_path_factory.mktemp("scan") / "s.h5"
    qb("simulate", "disc", "-o", scan, "--views", 12, "--detector", "32,160", "--photons", 20000)
    return scan


@pytest.fixture(scope="module")
def want(scan, tmp_path_factory):
    whole = tmp_path_factory.mktemp("whole") / "whole.npy"
    qb("fbp", scan, *FBP, "-o", whole)
    return whole


def hidden(folder):
    return sorted(p for p in folder.rglob(".*.part-*"))


def same(out, whole):
    if out.suffix == ".npy":
        return out.read_bytes() == whole.read_bytes()
    told = qb_json("compare", out, whole)
    return told["max_abs"] == 0 and told["rmse"] == 0


def go_on(*args):
    """To the end; how many slabs it did not make."""
    return qb_json(*args, "--resume")["slabs_resumed"]


@pytest.mark.parametrize("name", few("v.npy", "v.h5", "new/", others=["v.raw", "v.mha", "v.mhd", "v.tif", "old/s_%04d.tif"]))
def test_killed_at_any_moment(scan, want, tmp_path, name):
    """Twice, the second time while it goes on; files of a series take three writes each."""
    out, job = tmp_path / name, ["fbp", scan, *FBP, *NOTE, "-o", f"{tmp_path}/{name}"]
    dice = random.Random(name)
    final = out.parent if "%" in name else out
    if "%" in name:
        final.mkdir()
    each = 3 * 20 if final.suffix == "" else 2
    assert killed(*job, at=dice.randint(3 * each, 4 * each))
    assert len(hidden(tmp_path)) == 1 and not (out.exists() or list(final.glob("s_*") if "%" in name else []))
    killed(*job, "--resume", at=dice.randint(2 * each, 3 * each))
    took = go_on(*job) if hidden(tmp_path) else 1
    assert took >= 1 and same(final, want) and not hidden(tmp_path)


def test_what_was_measured_meanwhile_changes_no_job(scan, want, tmp_path, monkeypatch):
    """A tuning file says how fast kernels are. One that another command writes between the two runs, or that is new or gone,
    leaves the job the same: kernel and parameters are part of that."""
    tuning, out = tmp_path / "tuning.npy", tmp_path / "v.npy"
    monkeypatch.setenv("QB_TUNING", str(tuning))
    job = ["fbp", scan, *FBP, *NOTE, "-o", out]
    for before, after in (None, "[]"), ("[]", '[{"device": "none"}]'), ("[]", None):
        for text in before, after:
            tuning.write_text(text) if text else tuning.unlink(missing_ok=True)
            if text is before:
                assert killed(*job, at=7)
        assert go_on(*job) >= 1 and same(out, want) and not hidden(tmp_path)
        out.unlink()
    tuning.write_text("[]")
    fails(2, *job[:-1], tuning, says=["overwrite"])  # still no output may take its place


def test_parts_go_on(scan, want, tmp_path):
    """HDF5 in parts lies in one hidden folder with its file until both are whole; beside an older volume, which stays until then."""
    out, folder = tmp_path / "v.h5", tmp_path / "v.h5.parts"
    job = ["fbp", scan, *FBP, *NOTE, "-o", out, "--parts", 3]
    qb(*job, "--filter", "hann")
    old = qb_json("compare", out, want)["max_abs"]
    dice = random.Random("parts")
    assert killed(*job, at=dice.randint(66, 86))
    (kept,) = hidden(tmp_path)
    assert qb_json("compare", out, want)["max_abs"] == old > 0
    fails(2, *job[:-1], 2, "--resume", says=["parts was 3 and is 2"])
    part = kept / "parts" / "01.h5"
    whole = part.read_bytes()
    no_part = f"01.h5 is not a complete part of the kept volume: remove {kept} "
    part.write_bytes(whole[:-3000])
    fails(3, *job, "--resume", says=[no_part])
    part.unlink()
    fails(3, *job, "--resume", says=[no_part])
    part.write_bytes(whole)
    killed(*job, "--resume", at=dice.randint(44, 66))
    assert go_on(*job) >= 1 and same(out, want) and not hidden(tmp_path)
    assert sorted(os.listdir(folder)) == ["00.h5", "01.h5", "02.h5"] and len(list(tmp_path.iterdir())) == 2
    shutil.rmtree(folder)
    out.unlink()
    assert killed(*job, at=70)
    assert go_on(*job) >= 1 and same(out, want)


def test_every_note_counts(scan, want, tmp_path):
    """Killed before each write: never fewer slabs than were noted, and no more than were written."""
    out, job = tmp_path / "v.npy", ["fbp", scan, *FBP, *NOTE, "-o", tmp_path / "v.npy"]
    took = []
    for at in (3, 4, 9) if QUICK else (3, 4, 5, 6, 9):
        assert killed(*job, at=at)
        took.append(go_on(*job) if list(tmp_path.glob(".*/done")) else 0)
        assert same(out, want) and not hidden(tmp_path)
        out.unlink()
    assert took == sorted(took) and took[0] == 0 and took[-1] >= 2


@pytest.mark.parametrize("how", few("--dtype uint16 --range 0,0.05", others=["--outside nan"]))
def test_slabs_that_leave_a_device_in_pieces(opencl, tmp_path, how):
    """A slab is done when all its pieces are written; the bits are those of slabs that leave as a whole."""
    cone, shim = tmp_path / "cone.h5", Shim(tmp_path)
    qb("simulate", "foam", "-o", cone, "--geometry", "cone", "--views", 16, "--detector", "64,64", "--sod", 400, "--sdd", 700, "--pixel-size", 0.8, "-q")
    words = ["fdk", cone, "--sod", 400, "--sdd", 700, "--pixel-size", 0.8, "--size", "140,140,150", "--voxel", 0.2, "--device", "opencl", "--kernel",
             "bp_cone_circular.half", *how.split(), "-q"]
    def run(name, room, *more):
        report = qb_json(*words, "--max-vram", room, "-o", tmp_path / name, *more, env={**os.environ, **shim.env})
        plan = qb_json("plan", *words, "--max-vram", room, "-o", tmp_path / name, env={**os.environ, **shim.env})
        return report, plan["pieces_per_chunk"], plan["chunks"]
    assert run("whole.npy", "1M")[1] == 1
    _, pieces, chunks = run("out.npy", "8M")
    assert pieces > 1 and chunks > 1 and same(tmp_path / "out.npy", tmp_path / "whole.npy")
    (tmp_path / "out.npy").unlink()
    job = [*words, "--max-vram", "8M", *NOTE, "-o", tmp_path / "out.npy"]
    took = []
    for at in 4, 5 * pieces + 1, 40:
        (tmp_path / "out.npy").unlink(missing_ok=True)
        if killed(*job, at=at):
            took.append(run("out.npy", "8M", *NOTE, "--resume")[0]["slabs_resumed"])
            assert same(tmp_path / "out.npy", tmp_path / "whole.npy") and not hidden(tmp_path)
    assert took[0] == 0 and 0 < max(took) < chunks


def test_another_cut_goes_on(scan, want, tmp_path):
    """What is done is known by slices: a slab that is done in part is made whole."""
    out, job = tmp_path / "v.npy", ["fbp", scan, *FBP, *NOTE, "-o", tmp_path / "v.npy"]
    assert killed(*job, at=11)
    report = qb_json(*instead(job, "--threads", 2), "--max-ram", "1G", "--resume")
    assert report["slabs_resumed"] >= 1 and same(out, want)


@pytest.fixture(scope="module")
def left(scan, tmp_path_factory):
    folder = tmp_path_factory.mktemp("left")
    assert killed("fbp", scan, *FBP, *NOTE, "-o", folder / "v.npy", at=11)
    return {str(f.relative_to(folder)): f.read_bytes() for f in folder.rglob("*") if f.is_file()}


@pytest.fixture
def kept(left, tmp_path):
    for name, data in left.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data)
    return hidden(tmp_path)[0]


def refused(code, scan, kept, *more, says, verb="fbp"):
    before = {f: f.read_bytes() for f in kept.rglob("*") if f.is_file()}
    fails(code, verb, scan, *instead(FBP, *more), "-o", kept.parent / "v.npy", "--resume", says=says)
    assert not (kept.parent / "v.npy").exists() and before == {f: f.read_bytes() for f in kept.rglob("*") if f.is_file()}


def test_another_job_is_refused(scan, want, kept, tmp_path):
    refused(2, scan, kept, "--filter", "hann", says=["filter was ramp and is hann", "belongs to another job"])
    refused(2, scan, kept, "--center", 16, says=["belongs to another job", "was 15.5 and is 16"])
    refused(2, scan, kept, "--dtype", "float16", says=["dtype was float32 and is float16"])
    refused(2, scan, kept, "--slices", "0:40", says=["slices"])
    refused(2, scan, kept, "--pixel-size", 4, says=["voxel_mm was 8 and is 4"])
    refused(2, scan, kept, "--angles", "0:170", says=["angles_and_fields"])
    other = tmp_path / "other.h5"
    other.write_bytes(scan.read_bytes())
    refused(2, other, kept, says=["input was", "other.h5"])
    assert go_on("fbp", scan, *FBP, "-o", tmp_path / "v.npy") >= 2 and same(tmp_path / "v.npy", want)


def test_changed_data_are_refused(tmp_path):
    scan, out = tmp_path / "s.h5", tmp_path / "v.npy"
    words = ["simulate", "disc", "-o", scan, "--views", 12, "--detector", "32,160", "--photons", 20000, "--seed"]
    qb(*words, 1)
    assert killed("fbp", scan, *FBP, *NOTE, "-o", out, at=11)
    qb(*words, 2)
    fails(2, "fbp", scan, *FBP, "-o", out, "--resume", says=["belongs to another job", "input"])


def test_an_option_that_is_left_out(scan, tmp_path):
    job = ["fbp", scan, *FBP, "-o", tmp_path / "v.npy"]
    assert killed(*job, *NOTE, "--hardening", "0.1", at=11)
    fails(2, *job, "--resume", says=["hardening was 0.1 and is not given"])


def test_a_time_that_was_set_back(scan, tmp_path):
    """Other numbers of the same size where no sample is, and the time of change as it was."""
    mine, out = tmp_path / "s.h5", tmp_path / "v.npy"
    mine.write_bytes(scan.read_bytes())
    assert killed("fbp", mine, *FBP, *NOTE, "-o", out, at=11)
    about = mine.stat()
    with mine.open("r+b") as file:
        file.seek(-1000, os.SEEK_END)
        byte = file.read(1)
        file.seek(-1000, os.SEEK_END)
        file.write(bytes([byte[0] ^ 1]))
    os.utime(mine, ns=(about.st_atime_ns, about.st_mtime_ns))
    fails(2, "fbp", mine, *FBP, "-o", out, "--resume", says=["belongs to another job", "input_files"])


def test_what_differs_is_named_before_a_file_is_opened(scan, tmp_path):
    """Of HDF5, too, whose file has a shape and a type of its own; and it stays to be gone on with."""
    out, job = tmp_path / "v.h5", ["fbp", scan, *FBP, *NOTE, "-o", tmp_path / "v.h5", "--resume"]
    assert killed(*job, at=14)
    fails(2, *job, "--dtype", "float16", says=["dtype was float32 and is float16"])
    fails(2, *job, "--size", "20,20", says=["size was not given and is 20,20"])
    assert go_on(*job) >= 2 and not hidden(tmp_path)


def test_damaged_ones_are_refused(scan, want, kept):
    note, new = kept / "done" / "0", kept / "new"
    text, data = note.read_bytes(), new.read_bytes()
    for spoilt, says in ((b"not" + text[3:], "not of this job"), (text[:40] + b"?" + text[41:], "checksum"),
                         (text[:-9] + bytes([text[-9] ^ 1]) + text[-8:], "checksum")):
        note.write_bytes(spoilt)
        refused(3, scan, kept, says=[says, "remove it to start again"])
    note.write_bytes(text)
    new.write_bytes(data[:9000])
    refused(3, scan, kept, says=["is incomplete"])
    new.write_bytes(data)
    note.write_bytes(text[:-5])  # the last record was not whole: one slab less
    assert go_on("fbp", scan, *FBP, "-o", kept.parent / "v.npy") >= 1 and same(kept.parent / "v.npy", want)


def test_who_lives_keeps_it(scan, kept):
    with (kept / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        refused(2, scan, kept, says=["another run", "at work"])
    with (kept / "done" / "0").open() as note:  # a rank of it
        fcntl.flock(note, fcntl.LOCK_EX)
        refused(2, scan, kept, says=["another run", "at work"])


def test_without_resume_it_begins_anew(scan, want, kept):
    """Another output leaves it there, and says so; its own begins anew and leaves nothing of it."""
    out = kept.parent / "v.npy"
    told = qb("fbp", scan, *FBP, "-o", kept.parent / "w.npy").stderr
    assert told.count(kept.name) == 1 and "--resume goes on from there" in told and kept.exists()
    told = qb("fbp", scan, *FBP, "-o", out).stderr
    assert f"{kept.name}" in told and "removing" in told and same(out, want) and not hidden(kept.parent)
    told = qb("fbp", scan, *FBP, "-o", out, "--resume").stderr
    assert "is kept: from the beginning" in told and same(out, want)


def test_another_series_in_the_folder(scan, want, tmp_path):
    """What a series has kept is its own, though several lie in one folder: they leave it there, and do not take it up."""
    folder = tmp_path / "old"
    folder.mkdir()
    job, other = ["fbp", scan, *FBP, *NOTE, "-o", folder / "s_%03d.tif"], folder / "t_%03d.tif"
    assert killed(*job, at=150)
    (kept,) = hidden(tmp_path)
    assert f"{kept.name} (" in qb("fbp", scan, *FBP, "-o", other).stderr and "is kept: from the beginning" in qb("fbp", scan, *FBP, "-o", other, "--resume").stderr
    assert kept.exists() and same(other, want)
    assert go_on(*job) >= 2 and same(folder / "s_%03d.tif", want) and not hidden(tmp_path)


@pytest.mark.parametrize("name,room", [("v.npy", 700000), ("new/s_%03d.tif", 950000)])
def test_what_is_kept_makes_room_for_its_own(scan, want, tmp_path, name, room):
    """On a disk that has no room for both: the same output takes the place; another one is told of it."""
    job = ["fbp", scan, *FBP, *NOTE, "-o"]
    assert killed(*job, tmp_path / name, at=150 if "%" in name else 30)
    kept = hidden(tmp_path)[0]
    small = {**os.environ, "LD_PRELOAD": fault("", "", 1, 1)["LD_PRELOAD"], "QB_DISK": f"{tmp_path}:{room}",
             "ASAN_OPTIONS": fault("", "", 1, 1)["ASAN_OPTIONS"]}
    told = fails(1, *job, tmp_path / "w.npy", env=small, says=["w.npy needs 0.7 MB", "is kept of a run that was killed"])
    assert kept.name in told and kept.exists()
    told = qb(*job, tmp_path / name, env=small).stderr
    assert "removing" in told and kept.name in told and same(tmp_path / name, want) and not hidden(tmp_path)


@pytest.mark.parametrize("name", ["s_%03d.tif", ""])
def test_what_a_series_has_kept_in_a_folder_makes_room_for_its_own(scan, want, tmp_path, name):
    """Where it lies among the images of others, too; theirs are told of it."""
    folder = tmp_path / "old"
    folder.mkdir()
    job = ["fbp", scan, *FBP, *NOTE, "-o"]
    assert killed(*job, folder / name, at=150)
    (kept,) = hidden(folder)
    small = {**fault("", "", 1, 1), "QB_DISK": f"{tmp_path}:950000"}
    del small["QB_FILES"]
    told = fails(1, *job, folder / "t_%03d.tif", env=small, says=["needs 0.7 MB", "is kept of a run that was killed"])
    assert kept.name in told and kept.exists()
    told = qb(*job, folder / name, env=small).stderr
    assert "removing" in told and kept.name in told and same(folder / name, want) and not hidden(folder)


@pytest.mark.parametrize("checkpoint", [NOTE, ["--checkpoint", 0]])
def test_a_full_disk(scan, want, tmp_path, checkpoint):
    out, job = tmp_path / "v.npy", ["fbp", scan, *FBP, *checkpoint, "-o", tmp_path / "v.npy"]
    done = subprocess.run([QB, *map(str, job)], env=fault("pwrite", "/new", 6, 28), capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 1 and "No space left" in done.stderr and not out.exists()
    if checkpoint == NOTE:
        assert "--resume goes on from there" in done.stderr
        assert go_on(*job) >= 2 and same(out, want)
    assert not hidden(tmp_path)


def test_what_cannot_go_on(scan, tmp_path):
    job = ["fbp", scan, *FBP, "--resume", "-o"]
    fails(2, *job, tmp_path / "v.npy", "--preview", tmp_path / "p.png", says=["--resume", "--preview"])
    fails(2, *instead(job, tmp_path / "sweep", "--center", "14:16:1"), says=["--resume", "trial"])
    fails(2, *job, tmp_path / "v_%04d.2Dimgdata", says=["--resume", "cannot be resumed"])
    assert not list(tmp_path.iterdir())


# ---- cone beam, in slabs ----

FDK = ["--sod", 400, "--sdd", 600, "--size", "160,160,160", "--voxel", 0.2, "--allow-limited", "--threads", 1, "--device", "cpu"]


@pytest.fixture(scope="module")
def cone(tmp_path_factory):
    scan = tmp_path_factory.mktemp("cone") / "c.h5"
    qb("simulate", "disc", "--geometry", "cone", "--sod", 400, "--sdd", 600, "-o", scan, "--views", 12, "--detector", "48,32")
    return scan


@pytest.fixture(scope="module")
def cone_whole(cone, tmp_path_factory):
    whole = tmp_path_factory.mktemp("whole") / "whole.npy"
    qb("fdk", cone, *FDK, "-o", whole)
    return whole


@memory_is_ours
def test_a_cone_beam(cone, cone_whole, tmp_path):
    """Slabs of several blocks of views, and another cut the second time."""
    out, job = tmp_path / "v.npy", ["fdk", cone, *FDK, *NOTE, "-o", tmp_path / "v.npy"]
    assert killed(*job, "--max-ram", "10M", at=6)
    assert go_on(*job, "--max-ram", "10M") >= 1 and same(out, cone_whole) and not hidden(tmp_path)
    out.unlink()
    assert killed(*job, "--max-ram", "10M", at=6)
    assert go_on(*job) < 3 and same(out, cone_whole) and not hidden(tmp_path)


@memory_is_ours
def test_another_geometry_is_refused(cone, cone_whole, tmp_path):
    """Where source and detector are, by options or in a file that was changed in its place; and back again."""
    out, plan = tmp_path / "v.npy", tmp_path / "g.json"
    job = ["fdk", cone, *FDK, *NOTE, "--max-ram", "10M", "-o", out, "--resume"]
    assert killed(*job, at=6)
    for more, says in ((("--sod", 401), "sod_mm was 400 and is 401"), (("--sdd", 601), "sdd_mm was 600 and is 601"),
                       (("--detector-offset", "1,0"), "offset_u_mm was 0 and is 1"), (("--pixel-size", 3), "pixel_u_mm was 8 and is 3"),
                       (("--jitter", "1,0,2,0"), "rays_and_voxels"), (("--detector-radius", 500), "detector_radius_mm was 0 and is 500")):
        fails(2, *instead(job, *more), says=["belongs to another job", says])
    assert go_on(*job) >= 1 and same(out, cone_whole)
    out.unlink()
    qb("simulate", "disc", "--geometry", "cone", "--sod", 400, "--sdd", 600, "-o", tmp_path / "c.h5", "--views", 12, "--detector", "48,32", "--geometry-out", plan)
    job = ["fdk", cone, "-g", plan, *FDK[4:], *NOTE, "--max-ram", "10M", "-o", out, "--resume"]
    assert killed(*job, at=6)
    about, text = plan.stat(), plan.read_text()
    assert '"sdd":\t600' in text
    with plan.open("r+") as file:
        file.write(text.replace('"sdd":\t600', '"sdd":\t602'))
    os.utime(plan, ns=(about.st_atime_ns, about.st_mtime_ns))
    fails(2, *job, says=["belongs to another job"])


@memory_is_ours
def test_a_device_that_has_no_room_any_more(opencl, cone, tmp_path, monkeypatch):
    """The CPU takes over only once all is open; what the device made does not become a part of what it makes."""
    out, all_on = tmp_path / "v.npy", ["--sod", 400, "--sdd", 600, "--size", "64,64,64", "--voxel", 0.4, "--allow-limited"]
    monkeypatch.setenv("QB_TUNING", eager(tmp_path))
    job = ["fdk", cone, *all_on, *NOTE, "-o", out]
    env = {**Shim(tmp_path, gpu=1).env, **{k: v for k, v in fault("pwrite", ".part-", 5, -9).items() if k in ("LD_PRELOAD", "QB_FILES", "ASAN_OPTIONS")}}
    done = subprocess.run([QB, *map(str, job), "--max-vram", "1M", "--device", "opencl"], env=env, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == -signal.SIGKILL and list(hidden(tmp_path)[0].glob("done/*")), done.stderr
    fails(2, *job, "--resume", env=Shim(tmp_path, gpu=1, bytes=1000).env, says=["engine was device and is cpu"])
    assert hidden(tmp_path) and not out.exists()


@memory_is_ours
def test_a_large_file_goes_on_as_it_was(cone, tmp_path):
    """--resume makes no other file than the run that it goes on with: as many parts."""
    big = ["plan", "fdk", cone, *FDK[:4], "--size", "1300,1300,1300", "--voxel", 0.02, "--allow-limited", "--device", "cpu", "--max-ram", "500M", "-o", tmp_path / "v.h5"]
    parts = [qb_json(*big, "--threads", 2, *more).get("output_parts") for more in ([], ["--resume"])]
    assert parts == [2, 2] or len(os.sched_getaffinity(0)) < 2


# ---- ranks ----

def ranks(n, *args, env=None):
    with_env = ["env", *[f"{k}={v}" for k, v in (env or {}).items()]]
    return subprocess.run([MPIRUN, "--oversubscribe", "--bind-to", "none", "-n", str(n), *with_env, QB, *map(str, args)], env=RANKS_ENV,
                          capture_output=True, text=True, timeout=PATIENCE)


def rank_killed(n, *args, out):
    """Rank 0, once all have noted all; then each forgets its last slab, as if they had not come so far: how far each comes is
    a matter of luck. Their hidden folder."""
    shim = {k: v for k, v in fault("pwrite", ".json.part-", 1, -9).items() if k in ("LD_PRELOAD", "QB_FILES")}
    done = ranks(n, *args, "-o", out, env={**shim, "ASAN_OPTIONS": RANKS_ENV.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"})
    assert done.returncode != 0 and not out.exists(), done.stderr
    (kept,) = [h for h in hidden(out.parent) if (h / "done").exists()]
    for note in (kept / "done").iterdir():
        with note.open("r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # once that rank is gone
            file.truncate(note.stat().st_size - 24)
    return kept


def taken(done):
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    return sum(one.get("slabs_resumed", 0) for one in [report, *report.get("other_ranks", [])])


@pytest.mark.skipif(bool(NO_RANKS), reason=str(NO_RANKS))
def test_ranks(scan, want, tmp_path):
    """Fewer ranks, or one process, go on; what each of them had noted counts."""
    out, job = tmp_path / "v.npy", ["fbp", scan, *FBP, *NOTE, "-o", tmp_path / "v.npy"]
    kept = rank_killed(3, *job[:-2], out=out)
    assert len(list((kept / "done").iterdir())) == 3
    fails(2, *job, "--resume", "--filter", "hann", says=["filter was ramp and is hann"])
    shutil.copytree(kept, tmp_path / "copy")
    for n in 2, 1:
        if not kept.exists():
            out.unlink()
            shutil.move(tmp_path / "copy", kept)
        assert taken(ranks(n, *job, "--resume", "--json")) >= 1 if n > 1 else go_on(*job) >= 1
        assert same(out, want) and not hidden(tmp_path)


@pytest.mark.skipif(bool(NO_RANKS), reason=str(NO_RANKS))
def test_ranks_and_parts(scan, want, tmp_path):
    """Each rank writes into all parts; others go on with what all of them had."""
    out = tmp_path / "v.h5"
    job = ["fbp", scan, *FBP, *NOTE, "-o", out, "--parts", 4]
    shim = {k: v for k, v in fault("pwrite", "/parts/", 30, -9).items() if k in ("LD_PRELOAD", "QB_FILES")}
    done = ranks(3, *job, env={**shim, "ASAN_OPTIONS": RANKS_ENV.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"})
    assert done.returncode != 0 and not out.exists() and len(hidden(tmp_path)) == 1, done.stderr
    assert taken(ranks(2, *job, "--resume", "--json")) >= 1
    assert same(out, want) and not hidden(tmp_path) and len(list((tmp_path / "v.h5.parts").iterdir())) == 4


@memory_is_ours
@pytest.mark.skipif(bool(NO_RANKS), reason=str(NO_RANKS))
def test_a_grid_of_ranks(cone, tmp_path):
    """Rows make their slabs in step, and leave out the same ones; another number of columns makes other bits."""
    out, whole = tmp_path / "v.npy", tmp_path / "whole.npy"
    job = ["fdk", cone, *FDK, *NOTE, "--max-ram", "10M", "-o", out]
    rank_killed(4, *job[:-2], "--grid", "2x2", out=out)
    fails(2, *job, "--resume", says=["columns_of_ranks was 2 and is 1"])
    assert taken(ranks(4, *job, "--grid", "2x2", "--resume", "--json")) >= 1 and not hidden(tmp_path)
    assert ranks(2, *job[:-1], whole, "--grid", "1x2").returncode == 0
    assert same(out, whole)
