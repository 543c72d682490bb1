# SPDX-License-Identifier: MIT
"""What killed runs leave, links, and what is no file: the next run to the same place names and removes what nobody owns,
outputs go where links lead, and only a regular file is ever replaced."""
import os
import signal
import socket
import subprocess
import time

import numpy as np
import pytest

from qbtest import PATIENCE, QB, fails, gently, killed, leftovers, qb, read_h5, read_stack, write_scan

SMALL = ["--center", "15.5", "--threads", "1"]


@pytest.fixture(scope="module")
def scan(tmp_path_factory):
    rng = np.random.default_rng(2)
    path = tmp_path_factory.mktemp("scan") / "scan.h5"
    return write_scan(path, rng.uniform(0, 1, (12, 4, 32)).astype(np.float32), np.arange(12) * 15.0, quantity="line_integral")


@pytest.fixture
def place(tmp_path):
    os.chdir(tmp_path)
    return tmp_path


def hidden(folder):
    return [name for name in os.listdir(folder) if name.startswith(".")]


def start(*args):
    return subprocess.Popen([QB, *map(str, args)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, preexec_fn=gently)


def long_run(out):
    """A run that has begun to write and takes a while; it is stopped, not ended."""
    run = start("simulate", "spheres", "-o", out, "--views", "4000", "--detector", "256,256", "--pixel-size", "1", "--threads", "1")
    folder = os.path.dirname(os.path.abspath(str(out).rstrip("/")))
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if hidden(folder) and "new" in os.listdir(f"{folder}/{hidden(folder)[0]}"):  # the lock is its own by then
            break
        assert run.poll() is None
        time.sleep(0.02)
    run.send_signal(signal.SIGSTOP)
    return run


@pytest.mark.parametrize("name", ["v.h5", "v.npy", "v/"])
def test_the_next_run_removes_what_a_killed_one_left(place, scan, name):
    run = long_run(f"{place}/{name}")
    run.kill()
    run.wait()
    (left,) = hidden(place)
    assert not [n for n in os.listdir(place) if n != left]
    done = qb("fbp", scan, *SMALL, "-o", name)
    assert left in done.stderr and "MB" in done.stderr and "killed" in done.stderr
    assert not hidden(place)


def test_killed_while_it_compresses(place):
    qb("simulate", "foam", "-o", "s.h5", "--views", 9, "--detector", "32,8", "--truth", "t.npy")
    job = ["convert", "t.npy", "-o", "v.nii.gz"]
    assert killed(*job, at=1, text="new.gz") and hidden(place)
    qb(*job)
    assert not hidden(place) and "v.nii.gz" in os.listdir(place)


def test_another_name_in_the_same_folder_is_the_same_place(place, scan):
    run = long_run(place / "a.h5")
    run.kill()
    run.wait()
    qb("fbp", scan, *SMALL, "-o", "b.npy")
    assert leftovers(place) == ["b.npy", "b.npy.json"]


def test_who_lives_keeps_what_it_has(place, scan):
    """Two runs to one name: neither takes away what the other is writing."""
    run = long_run(place / "v.h5")
    (mine,) = hidden(place)
    done = qb("fbp", scan, *SMALL, "-o", "v.h5")
    assert "removing" not in done.stderr and hidden(place) == [mine]
    assert read_h5("v.h5").shape == (4, 32, 32)
    run.send_signal(signal.SIGCONT)
    run.send_signal(signal.SIGTERM)
    run.wait(timeout=PATIENCE)
    assert not hidden(place)


def test_reading_removes_nothing(place, scan):
    run = long_run(place / "v.h5")
    run.kill()
    run.wait()
    before = hidden(place)
    fails(3, "info", "v.h5")
    qb("info", scan)
    assert hidden(place) == before


def test_strange_folders_stay(place, scan):
    """Only what has the name and the look of ours is removed."""
    os.makedirs(".mine.part-x")
    os.makedirs(".v.h5.part-12-abc")
    (place / ".v.h5.part-12-abc" / "thesis.txt").write_text("not ours")
    (place / ".v.h5.part-13-abc").write_text("a file")
    qb("fbp", scan, *SMALL, "-o", "v.h5")
    assert (place / ".v.h5.part-12-abc" / "thesis.txt").read_text() == "not ours"
    assert sorted(hidden(place)) == [".mine.part-x", ".v.h5.part-12-abc", ".v.h5.part-13-abc"]


# ---- links ----


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize("name", ["v.h5", "v.npy", "v.tif"])
def test_a_link_stays_and_its_target_is_written(place, scan, name, there):
    os.makedirs("disk/deep")
    if there:
        (place / "disk" / name).write_bytes(b"old")
    os.symlink(f"../{name}", f"disk/deep/{name}")  # a link to a link
    os.symlink(f"disk/deep/{name}", name)
    qb("fbp", scan, *SMALL, "-o", name)
    assert os.path.islink(name) and os.path.islink(f"disk/deep/{name}")
    assert (place / "disk" / name).stat().st_size > 1000 and not os.path.islink(f"disk/{name}")
    assert not hidden(place) and not hidden("disk") and not hidden("disk/deep")


def test_a_link_to_a_folder_gets_the_images(place, scan):
    os.makedirs("disk")
    os.symlink("disk", "v")
    qb("fbp", scan, *SMALL, "-o", "v/")
    assert os.path.islink("v") and read_stack("disk").shape == (4, 32, 32)


def test_links_in_a_circle(place, scan):
    os.symlink("b.h5", "a.h5")
    os.symlink("a.h5", "b.h5")
    fails(1, "fbp", scan, *SMALL, "-o", "a.h5", says=["a.h5"])
    assert os.path.islink("a.h5") and os.path.islink("b.h5")


# ---- what is no file ----


def make_socket(path):
    socket.socket(socket.AF_UNIX).bind(path)


def make_link(path):
    os.symlink("somebody's", path)


@pytest.mark.parametrize("kind, make", [("a pipe", os.mkfifo), ("a socket", make_socket), ("a folder", os.mkdir), ("a link", make_link)])
@pytest.mark.parametrize("output", ["v_%05d.tif", "v/"])
def test_what_is_no_image_of_a_series_is_left_alone(tmp_path, kind, make, output):
    """It went with the older images: a folder with all in it under a hidden name that nobody looks at."""
    qb("simulate", "disc", "-o", "s.npy", "--views", 8, "--detector", "16,2", "--pixel-size", 0.5, "-q", cwd=tmp_path)
    (tmp_path / "v").mkdir()
    name = tmp_path / ("v/slice_00001.tif" if output == "v/" else "v_00001.tif")
    make(str(name))
    before = os.lstat(name)
    for more in [], ["--dry-run"]:  # a plan says so, too
        fails(2, "fbp", "s.npy", "--center", 7.5, "-q", "-o", output, *more, cwd=tmp_path, says=[name.name, kind])
    assert os.lstat(name).st_ino == before.st_ino and os.lstat(name).st_mode == before.st_mode
    assert leftovers(tmp_path, "s.npy", "s.npy.json", "v", name.name) == []


@pytest.mark.parametrize("kind, make", [("a pipe", os.mkfifo), ("a socket", make_socket), ("a folder", os.mkdir)])
@pytest.mark.parametrize("what", ["output", "preview", "notes", "configuration"])
def test_what_is_no_file_is_refused(place, scan, kind, make, what):
    name = {"output": "v.raw", "preview": "p.png", "notes": "v.npy.json", "configuration": "o.cfg"}[what]
    make(name)
    before = os.lstat(name).st_ino, os.lstat(name).st_mode
    words = {"output": ["-o", name], "preview": ["-o", "v.h5", "--preview", name], "notes": ["-o", "v.npy"],
             "configuration": ["-o", "v.h5", "--save-config", name]}[what]
    fails(2, "fbp", scan, *SMALL, *words, says=[name])
    assert (os.lstat(name).st_ino, os.lstat(name).st_mode) == before and leftovers(place) == [name]


def test_a_device_is_refused(place, scan):
    os.symlink("/dev/null", "p.png")
    said = fails(2, "fbp", scan, *SMALL, "-o", "v.h5", "--preview", "p.png", says=["p.png", "a device"])
    assert "give another name" in said and os.path.exists("/dev/null") and leftovers(place) == ["p.png"]
    os.symlink("/dev/null", "v.raw")
    fails(2, "fbp", scan, *SMALL, "-o", "v.raw", says=["v.raw", "a device"])


@pytest.mark.parametrize("name", ["dd.h5", "dd.npy", "dd.tif"])
def test_a_folder_whose_name_says_otherwise(place, scan, name):
    os.makedirs(name)
    fails(2, "fbp", scan, *SMALL, "-o", name, says=[name, "is a folder", f"{name}/"])
    assert os.listdir(name) == []
    qb("fbp", scan, *SMALL, "-o", f"{name}/")  # said so, it is one
    assert len(os.listdir(name)) == 4
