# SPDX-License-Identifier: MIT
"""The table of exit codes in docs/concepts.md, row by row."""
import os
import resource
import signal
import subprocess
import time

import h5py
import numpy as np
import pytest

from qbtest import PATIENCE, QB, fails, gently, leftovers, memory_is_ours, qb, write_scan

SHIM = os.environ.get("QB_SHIM_FILES")
SYSTEM = {"no permission": 13, "a failing disk": 5, "no descriptor left": 24}
# What each input is given as, in a command that works without faults.
INPUTS = {
    "scan.h5": ("fbp", "scan.h5"), "scan.npy": ("fbp", "scan.npy"), "scan.npy.json": ("fbp", "scan.npy"),
    "scan.mha": ("fbp", "scan.mha", "--angles", "0:180"), "tiff/view_00000.tif": ("fbp", "tiff", "--angles", "0:180"),
    "scan.raw": ("fbp", "scan.raw"), "flats.npy": ("fbp", "scan.h5", "--flats", "flats.npy"),
    "darks.npy": ("fbp", "scan.h5", "--darks", "darks.npy"), "angles.txt": ("fbp", "scan.h5", "--angles", "angles.txt"),
    "options": ("fbp", "scan.h5", "--config", "options"), "volume.mha": ("fbp", "scan.h5", "--like", "volume.mha"),
}
OPTIONAL = {"scan.npy.json"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("exit")
    shape = ("--views", 16, "--detector", "32,4", "--pixel-size", 0.5, "-q")
    qb("simulate", "disc", "-o", "scan.h5", *shape, "--photons", 1000, "--truth", "volume.mha", cwd=folder)
    for name in ("scan.npy", "scan.mha", "tiff/", "scan.raw"):
        qb("simulate", "disc", "-o", name, *shape, cwd=folder)
    np.save(folder / "flats.npy", np.full((2, 4, 32), 1000, np.uint16))
    np.save(folder / "darks.npy", np.full((2, 4, 32), 1, np.uint16))
    (folder / "angles.txt").write_text("\n".join(str(11.25 * i) for i in range(16)))
    (folder / "options").write_text("filter = hann\n")
    return folder


def command(name):
    return (*INPUTS[name], "--center", 15.5, "-o", "v.h5", "-q")


def test_without_faults_all_is_0(folder):
    for name in INPUTS:
        qb(*command(name), cwd=folder)
        (folder / "v.h5").unlink()


@pytest.mark.parametrize("args", [("fpb",), ("fbp", "scan.h5", "-o", "v.h5", "--filtre", "hann"),
                                  ("fbp", "scan.h5", "-o", "v.h5", "--threads", "-1"),
                                  ("fbp", "scan.h5", "-o", "v.h5", "--max-ram", "1K"),
                                  ("fbp", "scan.h5", "-o", "v.h5", "--range", "0,1")])
def test_usage_is_2(folder, args):
    fails(2, *args, cwd=folder)


def spoil(path, how):
    """How a file can be no input; returns how to mend it."""
    aside = path.with_name(path.name + ".aside")
    path.rename(aside)
    whole = aside.read_bytes()
    if how == "empty":
        path.write_bytes(b"")
    elif how == "cut off":
        path.write_bytes(whole[:len(whole) * 2 // 3])
    elif how == "rubbish":
        path.write_bytes(bytes((i * i + 77) % 251 for i in range(len(whole))))
    elif how == "a folder":
        path.mkdir()
    elif how == "a pipe":
        os.mkfifo(path)

    def mend():
        if path.is_dir():
            path.rmdir()
        else:
            path.unlink(missing_ok=True)
        aside.rename(path)

    return mend


def spoils(name, how):
    """Text that ends early is still text; raw data have no form; of a series one image less is another series; some
    files may be absent."""
    if how in ("cut off", "empty") and name in ("options", "angles.txt"):
        return (name, how) == ("angles.txt", "empty")
    if how == "absent":
        return not name.startswith("tiff") and name not in OPTIONAL
    return (name, how) != ("scan.raw", "rubbish")


@pytest.mark.parametrize("name,how", [(name, how) for name in INPUTS
                                      for how in ("absent", "empty", "cut off", "rubbish", "a folder", "a pipe")
                                      if spoils(name, how)])
def test_bad_input_is_3(folder, name, how):
    mend = spoil(folder / name, how)
    try:
        before = leftovers(folder)
        codes = 2 if name == "options" and how == "rubbish" else 3  # no options of this verb
        words = fails(codes, *command(name), cwd=folder)
        assert os.path.basename(name.split("/")[0]) in words
        assert leftovers(folder) == before
    finally:
        mend()


def test_contradictions_are_3(folder):
    np.save(folder / "narrow.npy", np.ones((1, 4, 31), np.uint16))
    (folder / "few.txt").write_text("0\n1\n")
    fails(3, *command("scan.h5"), "--flats", "narrow.npy", cwd=folder)
    fails(3, *command("scan.h5"), "--angles", "few.txt", cwd=folder)


@pytest.mark.parametrize("name,call,fault", [
    *((name, "open", fault) for name in INPUTS for fault in SYSTEM),
    *((name, "pread", "a failing disk") for name in INPUTS if name != "options")])
def test_what_the_system_denies_on_reading_is_1(folder, name, call, fault):
    if not SHIM:
        pytest.skip("the shim is not built")
    env = {**os.environ, "LD_PRELOAD": SHIM, "QB_FILES": f"{call}:{name}:0:{SYSTEM[fault]}"}
    before = leftovers(folder)
    words = fails(1, *command(name), cwd=folder, env=env)
    assert os.strerror(SYSTEM[fault]) in words and name in words
    assert leftovers(folder) == before


@pytest.mark.parametrize("output", ["out.h5", "out.npy", "out.raw", "out.mha", "out.tif", "out/"])
@pytest.mark.parametrize("fault", [*SYSTEM, "a full disk"])
def test_what_the_system_denies_on_writing_is_1(folder, output, fault):
    if not SHIM:
        pytest.skip("the shim is not built")
    call = "open" if fault in ("no permission", "no descriptor left") else "pwrite"
    number = SYSTEM.get(fault, 28)
    env = {**os.environ, "LD_PRELOAD": SHIM, "QB_FILES": f"{call}:out:0:{number}"}
    before = leftovers(folder)
    words = fails(1, "fbp", "scan.h5", "--center", 15.5, "-q", "-o", output, cwd=folder, env=env)
    assert os.strerror(number) in words and "out" in words
    assert leftovers(folder) == before


def test_a_folder_that_is_not_there_is_1(folder):
    fails(1, "fbp", "scan.h5", "--center", 15.5, "-q", "-o", "nowhere/v.h5", cwd=folder)


@pytest.mark.parametrize("args", [("--help",), ("--version",), ("help",), ("help", "fbp"), ("fbp", "--help"),
                                  ("info", "scan.h5"), ("info", "scan.h5", "--json"), ("devices",)])
def test_words_that_cannot_be_written_are_1(folder, args):
    with open("/dev/full", "w") as full:
        done = subprocess.run([QB, *args], cwd=folder, stdout=full, stderr=subprocess.PIPE, text=True, timeout=PATIENCE)
    assert done.returncode == 1 and "standard output" in done.stderr


@memory_is_ours
def test_no_memory_is_1(folder):
    def little():
        resource.setrlimit(resource.RLIMIT_AS, (160 << 20, 160 << 20))

    rng = np.random.default_rng(1)
    np.save(folder / "large.npy", rng.random((256, 256, 256), np.float32))
    fails(1, "compare", "large.npy", "large.npy", cwd=folder, preexec_fn=little)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_are_130(folder, number):
    np.save(folder / "slow.npy", np.ones((2000, 64, 64), np.float32))
    run = subprocess.Popen([QB, "fbp", "slow.npy", "--angles", "0:180", "--size", "2000", "--center", "30", "-o", "s.h5",
                            "--threads", "1"], cwd=folder, stderr=subprocess.PIPE, preexec_fn=gently)
    while not any(name.startswith(".s.h5") for name in os.listdir(folder)):
        assert run.poll() is None
        time.sleep(0.01)
    run.send_signal(number)
    assert run.wait(PATIENCE) == 130
    run.stderr.close()
    assert not any("s.h5" in name for name in os.listdir(folder))
