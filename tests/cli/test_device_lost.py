# SPDX-License-Identifier: MIT
"""A device that is gone after so many commands: one clear message, no crash, nothing left behind."""
import os
import subprocess

import numpy as np
import pytest

from qbtest import PATIENCE, QB, QUICK, Shim, eager, few, leftovers, opencl, provenance_h5, qb, qb_json, read_h5  # noqa: F401 (opencl is a fixture)

CODES = {"not-available": -2, "resources": -5, "invalid-queue": -36}


@pytest.fixture(scope="module")
def scan(tmp_path_factory):
    path = tmp_path_factory.mktemp("scan") / "scan.h5"
    qb("simulate", "spheres", "-o", path, "--views", 24, "--detector", "48,12", "--photons", 20000, "--seed", 3, "-q")
    return path


def command(scan, out, *more):
    return ["fbp", scan, "-o", out, "--center", "23.5", "-q", *more]


def lose(scan, folder, after, *more, devices=None, **orders):
    """A run that loses the device; what it said."""
    shim = Shim(folder, lose_after=after, **orders)
    if devices:
        shim.env["POCL_DEVICES"] = devices
    done = subprocess.run([QB, *map(str, command(scan, folder / "out.h5", *more))], env=shim.env, capture_output=True,
                          text=True, timeout=PATIENCE)
    where = f"after {after} commands: {done.stdout}{done.stderr}"
    assert done.returncode == 1, f"exit code {done.returncode} {where}"
    assert done.stdout == "" and leftovers(folder, "shim-report") == [], where
    last = done.stderr.strip().split("\n")[-1]
    assert last.startswith("qb fbp: ") and "was lost" in last and "--device cpu" in last, where
    assert "OpenCL error" not in last and "CL_" in last, where
    assert shim.counted()["lost"] == 1
    return last


def commands(scan, folder, *more, devices=None):
    """How many a whole run takes; after the last of them nothing can be lost any more."""
    shim = Shim(folder)
    if devices:
        shim.env["POCL_DEVICES"] = devices
    qb(*command(scan, folder / "whole.h5", *more), env=shim.env)
    (folder / "whole.h5").unlink()
    return shim.counted()["commands"]


def moments(count):
    """All of the first 60, every seventh after; fewer when there is no time."""
    every = range(0, min(count, 60), 5 if QUICK else 1)
    return [*every, *range(60, count, 7)]


@pytest.mark.parametrize("code", few("not-available", others=["resources", "invalid-queue"]))
def test_at_any_moment(opencl, scan, tmp_path, code):
    more = ("--device", opencl, "--kernel", "bp_parallel_linear.alu", "--max-vram", "60K")
    count = commands(scan, tmp_path, *more)
    assert count > 60
    # The last commands unmap the rings, when the volume is there; they do not count.
    # Which code it is matters less than when.
    for after in moments(count - 2)[:: 1 if code == "not-available" else 3]:
        lose(scan, tmp_path, after, *more, lose_with=CODES[code])


def test_what_was_done_is_taken_up(opencl, scan, tmp_path):
    out, more = tmp_path / "out.h5", ("--device", opencl, "--kernel", "bp_parallel_linear.alu", "--max-vram", "60K", "--checkpoint", "1e-9")
    count = commands(scan, tmp_path, *more)
    shim = Shim(tmp_path, lose_after=count * 4 // 5)
    done = subprocess.run([QB, *map(str, command(scan, out, *more))], env=shim.env, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 1 and "was lost" in done.stderr and not out.exists()
    assert qb_json(*command(scan, out, *more), "--resume")["slabs_resumed"] > 0
    qb(*command(scan, tmp_path / "whole.h5", *more))
    assert (read_h5(out) == read_h5(tmp_path / "whole.h5")).all() and leftovers(tmp_path, "shim-report", "out.h5", "whole.h5") == []


def test_both_sides_of_what_was_done(opencl, tmp_path):
    """Slabs that have slices above the middle and those that mirror them."""
    scan, out, whole = (tmp_path / name for name in ("cone.h5", "out.h5", "whole.h5"))
    qb("simulate", "spheres", "-o", scan, "--geometry", "cone", "--views", 24, "--detector", "32,24", "--sod", 200, "--sdd", 300, "--pixel-size", 1, "-q")
    job = ["fdk", scan, "--sod", 200, "--sdd", 300, "--pixel-size", 1, "--size", "32,32,96", "--voxel", 0.15, "-q", "--device", opencl, "--kernel", "bp_cone_circular.half",
           "--max-vram", "300K", "--checkpoint", "1e-9", "-o"]
    shim = Shim(tmp_path)
    qb(*job, whole, env=shim.env)
    shim = Shim(tmp_path, lose_after=shim.counted()["commands"] * 4 // 5)
    done = subprocess.run([QB, *map(str, job), str(out)], env=shim.env, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 1 and "was lost" in done.stderr and not out.exists()
    report = qb_json(*job, out, "--resume")
    assert report["slabs_resumed"] > 0
    assert (read_h5(out) == read_h5(whole)).all() and provenance_h5(out)["plan"]["folded"]


def test_with_textures_on_a_gpu(opencl, scan, tmp_path):
    """Buffers are touched when they are taken, textures loaded by commands: other moments to lose it."""
    more = ("--device", opencl, "--kernel", "bp_parallel_linear.texture", "--max-vram", "160K")
    count = commands(scan, tmp_path, *more)
    for after in moments(count - 2)[::3]:
        for code in (-2, -5):
            lose(scan, tmp_path, after, *more, gpu=1, lose_with=code)


def test_one_of_two(opencl, scan, tmp_path):
    more = ("--device", "opencl:all", "--kernel", "bp_parallel_linear.alu")
    two = "pthread pthread"
    count = commands(scan, tmp_path, *more, devices=two)
    for after in moments(count - 4)[::4]:
        lose(scan, tmp_path, after, *more, devices=two)


def test_what_is_under_way_is_waited_for(opencl, tmp_path, tmp_path_factory):
    """Transfers that the driver had accepted: the memory that they write to must outlive them."""
    large = tmp_path_factory.mktemp("large") / "s.h5"
    qb("simulate", "spheres", "-o", large, "--views", 60, "--detector", "160,24", "--seed", 3, "-q")
    more = ("--device", opencl, "--kernel", "bp_parallel_linear.alu", "--max-vram", "1500K")
    count = commands(large, tmp_path, *more)
    for after in moments(count - 2)[::2]:
        lose(large, tmp_path, after, *more, late=1, lose_with=CODES["invalid-queue"])


def test_not_lost(opencl, scan, tmp_path):
    """The same run with a limit that is not reached."""
    more = ("--device", opencl, "--kernel", "bp_parallel_linear.alu")
    shim = Shim(tmp_path, lose_after=100000)
    qb(*command(scan, tmp_path / "a.h5", *more), env=shim.env)
    assert shim.counted()["lost"] == 0
    qb(*command(scan, tmp_path / "b.h5", *more), env=dict(os.environ))
    assert np.array_equal(read_h5(tmp_path / "a.h5"), read_h5(tmp_path / "b.h5"))


def test_auto_does_not_hide_it(opencl, scan, tmp_path, tmp_path_factory, monkeypatch):
    """Falling back in mid-run would be silent: it is an error whoever chose the device."""
    monkeypatch.setenv("QB_TUNING", eager(tmp_path_factory.mktemp("tuning")))
    for after in (5, 20):
        lose(scan, tmp_path, after, gpu=1)
