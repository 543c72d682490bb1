# SPDX-License-Identifier: MIT
"""What is there and cannot be read is never taken for what is not there."""
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import h5py
import numpy as np
import pytest

from qbtest import PATIENCE, QB, QUICK, fails, leftovers, qb, qb_json, write_scan

SHIM = os.environ.get("QB_SHIM_FILES")
EACCES, EIO, EMFILE, ENOSPC = 13, 5, 24, 28


def faulty(call, name, nth, error):
    """An environment in which the nth such call (0: each) on files called so fails: tests/cli/shim_files.c."""
    if not SHIM:
        pytest.skip("the shim is not built")
    # Where a call of it fails, libhdf5 leaks.
    asan = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
    return {**os.environ, "LD_PRELOAD": SHIM, "QB_FILES": f"{call}:{name}:{nth}:{error}", "ASAN_OPTIONS": asan}


@pytest.fixture
def folder(tmp_path):
    """p.npy: transmissions, as p.npy.json says; c.h5: counts with flats and darks; both with a pixel size."""
    shape = ("--views", 16, "--detector", "32,4", "--pixel-size", 0.5, "-q")
    qb("simulate", "disc", "-o", "p.npy", *shape, cwd=tmp_path)
    qb("simulate", "disc", "-o", "c.h5", *shape, "--photons", 1000, cwd=tmp_path)
    return tmp_path


INPUTS = "p.npy", "p.npy.json", "c.h5"


def fbp(name, *more):
    return "fbp", name, "--center", 15.5, "-o", "v.h5", "-q", *more


# ---- companions ----


def test_a_companion_cut_off(folder):
    """With its words lost, transmissions were taken for line integrals."""
    whole = (folder / "p.npy.json").read_text()
    for text in (whole[:300], whole[:-2], whole + "x", ""):
        (folder / "p.npy.json").write_text(text)
        for command in (fbp("p.npy"), ("info", "p.npy"), ("compare", "p.npy", "p.npy")):
            fails(3, *command, says=["p.npy.json", "not valid JSON"], cwd=folder)
        assert leftovers(folder, *INPUTS) == []


def test_a_companion_of_somebody_else_is_left_alone(folder):
    (folder / "p.npy.json").write_text('{"shape": [1, 2, 3], "quantity": "counts"}')
    assert qb_json("info", "p.npy", cwd=folder)["quantity"] == "line_integral"


def test_no_companion(folder):
    (folder / "p.npy.json").unlink()
    assert qb_json("info", "p.npy", cwd=folder)["quantity"] == "line_integral"


@pytest.mark.parametrize("call", ["stat", "open", "pread"])
@pytest.mark.parametrize("error,words", [(EACCES, "Permission denied"), (EIO, "Input/output error"),
                                         (EMFILE, "Too many open files")])
def test_a_companion_that_cannot_be_read(folder, call, error, words):
    fails(1, *fbp("p.npy"), says=["p.npy.json", words], cwd=folder, env=faulty(call, "p.npy.json", 0, error))
    assert leftovers(folder, *INPUTS) == [] and not (folder / "v.h5").exists()


def test_raw_data_without_readable_companion(folder):
    qb("simulate", "disc", "-o", "p.raw", "--views", 8, "--detector", "16,2", "-q", cwd=folder)
    fails(1, "info", "p.raw", says=["p.raw.json"], cwd=folder, env=faulty("open", "p.raw.json", 0, EACCES))
    (folder / "p.raw.json").write_text("{")
    fails(3, "info", "p.raw", says=["p.raw.json"], cwd=folder)


# ---- flats, darks, angles ----


def test_fields_that_have_no_effect_are_named(folder):
    """Transmissions are divided by nothing: who gives flats may mean counts."""
    np.save(folder / "flat.npy", np.full((2, 4, 32), 2, np.float32))
    for option in "--flats", "--darks":
        assert f"{option} has no effect on transmission" in qb(*fbp("p.npy", option, "flat.npy"), cwd=folder).stderr
        told, = [p for p in qb_json("info", "p.npy", option, "flat.npy", cwd=folder)["problems"] if option in p]
        assert "--quantity counts" in told
    assert "no effect" not in qb(*fbp("p.npy", "--flats", "flat.npy", "--quantity", "counts"), cwd=folder).stderr
    assert "no effect" not in qb(*fbp("c.h5"), "--quantity", "line_integral", cwd=folder).stderr  # the file's own


def edit(path, name, value=None, link=None):
    with h5py.File(path, "a") as f:
        del f[name]
        if link:
            f[name] = link
        elif value is not None:
            f[name] = value


@pytest.mark.parametrize("name,option", [("data_dark", "--darks"), ("data_white", "--flats")])
def test_fields_that_do_not_fit(folder, name, option):
    """Darks of another size were left out with a warning: another volume, and exit code 0."""
    edit(folder / "c.h5", f"/exchange/{name}", np.ones((2, 4, 31), np.uint16))
    fails(3, *fbp("c.h5"), says=[name, "4 x 31", option], cwd=folder)
    edit(folder / "c.h5", f"/exchange/{name}", link=h5py.SoftLink("/nowhere"))
    fails(3, *fbp("c.h5"), says=[name, "is a broken link", option], cwd=folder)
    np.save(folder / "f.npy", np.full((2, 4, 32), 1000 if "white" in name else 0, np.uint16))
    qb(*fbp("c.h5", option, "f.npy"), cwd=folder)  # others are given
    (folder / "v.h5").unlink()
    edit(folder / "c.h5", f"/exchange/{name}")
    if option == "--darks":
        qb(*fbp("c.h5"), cwd=folder)  # none are there: 0, and said
    else:
        fails(3, *fbp("c.h5"), says=["holds counts but no flats"], cwd=folder)


def test_an_image_key_control_that_cannot_be_read(tmp_path):
    """It says which frames are for alignment only."""
    with h5py.File(tmp_path / "n.nxs", "w") as f:
        entry = f.create_group("entry")
        entry["definition"] = "NXtomo"
        detector = entry.create_group("instrument/detector")
        detector["data"] = np.full((12, 3, 32), 7, np.uint16)
        detector["image_key"] = np.r_[1, np.zeros(11)].astype(int)
        entry["sample/rotation_angle"] = np.arange(12) * 15.0
        detector["image_key_control"] = h5py.SoftLink("/nowhere")
    fails(3, "info", "n.nxs", says=["image_key_control", "is a broken link"], cwd=tmp_path)


def test_a_quantity_that_is_no_text(folder):
    with h5py.File(folder / "c.h5", "a") as f:
        f["/exchange/data"].attrs["quantity"] = np.arange(3)
    fails(3, "info", "c.h5", says=["its quantity", "cannot be read"], cwd=folder)


@pytest.mark.parametrize("option", ["--flats", "--darks", "--angles"])
def test_given_files_that_cannot_be_read(folder, option):
    if option == "--angles":
        (folder / "other.txt").write_text("\n".join(str(11.25 * i) for i in range(16)))
        name = "other.txt"
    else:
        np.save(folder / "other.npy", np.full((2, 4, 32), 900, np.uint16))
        name = "other.npy"
    for call in ("open", "pread"):
        fails(1, *fbp("c.h5", option, name), says=[name, "Input/output error"], cwd=folder,
              env=faulty(call, name, 1, EIO))


# ---- HDF5: every call ----


@pytest.mark.parametrize("call", ["open", "pread"])
def test_every_fault_of_reading_hdf5_ends_the_run(folder, call):
    """HDF5 looks past many of its failures, and so do we where what is sought is optional: not past the system's."""
    qb(*fbp("c.h5"), cwd=folder)
    (folder / "v.h5").unlink()
    calls = [*range(1, 60, 9 if QUICK else 1), *(int(60 * 1.1 ** k) for k in range(0, 70, 9 if QUICK else 1))]
    for nth in calls:
        env = faulty(call, "c.h5", nth, EIO)
        failed = not (folder / "v.h5").exists()
        try:
            fails(1, *fbp("c.h5"), says=["c.h5", "Input/output error"], cwd=folder, env=env)
        except AssertionError:
            assert (folder / "v.h5").exists() and nth > 4  # all calls have been made to fail
            return
        assert failed and not (folder / "v.h5").exists() and leftovers(folder, *INPUTS) == []
    raise AssertionError(f"{calls[-1]} calls for so small a file")


@pytest.mark.parametrize("error,words", [(EIO, "Input/output error"), (ENOSPC, "No space left")])
def test_every_fault_of_writing_hdf5_ends_the_run(folder, error, words):
    """HDF5 1.10 writes at exit what it could not write before, and crashed."""
    for nth in range(1, 200):
        try:
            fails(1, *fbp("c.h5"), says=["writing v.h5", words], cwd=folder, env=faulty("pwrite", "v.h5", nth, error))
        except AssertionError:
            assert (folder / "v.h5").exists() and nth > 10
            with h5py.File(folder / "v.h5") as f:
                json.loads(f["/process/quickbeam/provenance"][()])
            return
        assert leftovers(folder, *INPUTS) == [] and not (folder / "v.h5").exists()
    raise AssertionError("200 writes for so small a file")


# ---- groups within groups ----


@pytest.mark.parametrize("depth", [50, 400])
def test_nested_groups(tmp_path, depth):
    """Each group used to cost as much as the square of its depth: 400 took over a minute."""
    path = "/" + "/".join("g" for _ in range(depth))
    with h5py.File(tmp_path / "n.h5", "w") as f:
        f["near"] = np.zeros((2, 3, 4), np.float32)
        f[path + "/far"] = np.ones((2, 3, 5), np.float32)
    words = fails(3, "info", "n.h5", cwd=tmp_path, says=["2 arrays"]) if depth == 50 else None
    if depth == 400:
        found = qb_json("info", "n.h5", cwd=tmp_path)
        assert found["columns"] == 4 and any("deeper than 64 levels" in p for p in found["problems"])
    else:
        assert path in words
    if depth == 400:
        fails(3, "info", "n.h5", "--dataset", path + "/far", says=["804 characters"], cwd=tmp_path)
        path = path[:400]
        with h5py.File(tmp_path / "n.h5", "a") as f:
            f[path + "/far"] = np.ones((2, 3, 5), np.float32)
    assert qb_json("info", "n.h5", "--dataset", path + "/far", cwd=tmp_path)["columns"] == 5


def test_a_group_within_itself(tmp_path):
    with h5py.File(tmp_path / "n.h5", "w") as f:
        f["a/b/data"] = np.zeros((2, 3, 4), np.float32)
        f["a/b/again"] = f["a"]
        f["root"] = f["/"]
    assert qb_json("info", "n.h5", cwd=tmp_path)["columns"] == 4


# ---- a first signal, wherever it is ----


TICK = 0.01


def interrupted(folder, order, args, ready, number):
    """Start qb with a call that never returns, wait for ready(), send the signal; seconds until the end, as many as this process slept: a machine that
    serves others holds up both."""
    env = faulty(*order, 0)
    run = subprocess.Popen([QB, *map(str, args)], cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    until = time.monotonic() + PATIENCE
    while not ready(run.pid):
        assert run.poll() is None and time.monotonic() < until
        time.sleep(TICK)
    time.sleep(0.1)
    run.send_signal(number)
    until, ticks = time.monotonic() + PATIENCE, 0
    while run.poll() is None and time.monotonic() < until:
        time.sleep(TICK)
        ticks += 1
    if run.poll() is None:
        run.kill()
    code = run.wait()
    run.stdout.close()
    words = run.stderr.read().decode()
    run.stderr.close()
    assert code == 130, (code, words)
    assert "could not be stopped" in words
    return TICK * ticks


def sleeping(pid):
    """Does the process, or a child, hang in the shim's pause()?"""
    for process in (pid, *children(pid)):
        try:
            for thread in os.listdir(f"/proc/{process}/task"):
                if open(f"/proc/{process}/task/{thread}/syscall").read().split()[0] == "34":
                    return True
        except (FileNotFoundError, ProcessLookupError):
            pass
    return False


def children(pid):
    return [int(p) for p in open(f"/proc/{pid}/task/{pid}/children").read().split()]


HUNG = [(("open", "c.h5", 1), "v.h5"), (("pread", "c.h5", 3), "v.h5"), (("pread", "p.npy", 5), "v.h5"), (("pwrite", "v.h5", 1), "v.h5"), (("pwrite", "v.npy", 2), "v.npy"),
        (("pwrite", "v_0000", 3), "v/v_%04d.tif"), (("pwrite", "v.tif", 1), "v.tif")]


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="knows the number of one system call")
@pytest.mark.parametrize("order,output,number", [*((*hung, signal.SIGTERM) for hung in HUNG), (*HUNG[0], signal.SIGINT), (*HUNG[3], signal.SIGHUP)])
def test_the_first_signal_ends_it_within_two_seconds(folder, order, output, number):
    """A disk that does not answer: qb ends by itself, says so and leaves nothing, however long the disk will hang."""
    if output.startswith("v/"):
        (folder / "v").mkdir()
    args = ("fbp", "p.npy", "--angles", "0:180") if "p.npy" in order else ("fbp", "c.h5")
    took = []
    while not took or took[-1] >= 2.0 and len(took) < 12:  # the machine may have had others to serve
        took.append(interrupted(folder, order, (*args, "--center", 15.5, "-o", output), sleeping, number))
    assert took[-1] < 2.0, took
    assert leftovers(folder, *INPUTS, "v") == [] and (output[:2] != "v/" or os.listdir(folder / "v") == [])


# ---- files on which their library crashes or hangs ----

@pytest.mark.parametrize("path", sorted(Path(__file__).with_name("hdf5").glob("*.h5")), ids=lambda path: path.stem)
def test_files_that_hdf5_does_not_survive(tmp_path, path):
    """Found by changing bytes of good files: HDF5 1.10.8 ends with SIGSEGV on crash-*, computes for ever on hang."""
    commands = ("info", path), ("fbp", path, "-o", "v.h5"), ("compare", path, path), ("center", path)
    for command in commands[:1 if path.stem == "hang" else 4]:  # each has its ten seconds
        words = fails(3, *command, cwd=tmp_path, says=[path.name])
        assert len(words.strip().splitlines()) == 1
    assert leftovers(tmp_path) == []


def packed_fits(path, kind, tile, values):
    """FITS of two images of 8 x 8 int16, each packed in one tile by `kind`."""
    cards = ["SIMPLE  = T", "BITPIX  = 8", "NAXIS   = 0", "EXTEND  = T", "END"]
    table = ["XTENSION= 'BINTABLE'", "BITPIX  = 8", "NAXIS   = 2", "NAXIS1  = 8", "NAXIS2  = 2", f"PCOUNT  = {2 * len(tile)}", "GCOUNT  = 1", "TFIELDS = 1", "TTYPE1  = 'COMPRESSED_DATA'",
             f"TFORM1  = '1PB({len(tile)})'", "ZIMAGE  = T", "ZBITPIX = 16", "ZNAXIS  = 3", "ZNAXIS1 = 8", "ZNAXIS2 = 8", "ZNAXIS3 = 2", "ZTILE1  = 8", "ZTILE2  = 8", "ZTILE3  = 1", f"ZCMPTYPE= '{kind}'",
             *values, "END"]
    data = b"".join(np.array([len(tile), i * len(tile)], ">i4").tobytes() for i in range(2)) + 2 * tile
    blocks = ["".join(card.ljust(80) for card in block).ljust(2880).encode() for block in (cards, table)]
    path.write_bytes(b"".join(blocks) + data.ljust(2880, b"\0"))


def test_files_that_cfitsio_does_not_survive(tmp_path):
    """An H-compressed tile of 8 x 8 that says 4096 x 4096: cfitsio 4.2 writes past its memory. One by Rice is read."""
    packed_fits(tmp_path / "h.fits", "HCOMPRESS_1", b"\xdd\x99" + np.array([4096, 4096, 0], ">i4").tobytes() + bytes(8) + b"\x0f\x0f\x0f" + b"\xff" * 64,
                ["ZNAME1  = 'SCALE'", "ZVAL1   = 0", "ZNAME2  = 'SMOOTH'", "ZVAL2   = 0"])
    packed_fits(tmp_path / "r.fits", "RICE_1", b"\x00\x05" + bytes(2), ["ZNAME1  = 'BLOCKSIZE'", "ZVAL1   = 32", "ZNAME2  = 'BYTEPIX'", "ZVAL2   = 2"])
    for command in ("info", "h.fits"), ("convert", "h.fits", "-o", "v.npy"):
        assert "malformed" in fails(3, *command, cwd=tmp_path, says=["h.fits"])
    qb("convert", "r.fits", "--volume", "-o", "r.npy", cwd=tmp_path)
    values = np.load(tmp_path / "r.npy")
    assert values.shape == (2, 8, 8) and (values == 5).all()


def test_the_guard_itself(folder):
    """What qb starts: says nothing, and ends with 0 where the HDF5 library survives."""
    for name in ("c.h5", "p.npy", "nowhere.h5"):
        done = subprocess.run([QB, "--try-file", name], cwd=folder, capture_output=True)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


# ---- data outside the header's own folder ----


def raw_outside(tmp_path, name):
    """own/ with headers, secret.raw beside it."""
    (tmp_path / "own" / "sub").mkdir(parents=True)
    data = np.random.default_rng(1).random((12, 4, 16)).astype(np.float32)
    (tmp_path / "own-not").mkdir()
    for place in "secret.raw", "own-not/secret.raw":
        (tmp_path / place).write_bytes(data.tobytes())
    (tmp_path / "own" / "sub" / "inside.raw").write_bytes(data.tobytes())
    os.symlink(tmp_path / "secret.raw", tmp_path / "own" / "link.raw")
    path = tmp_path / "own" / name
    return path, data


def write_mhd(path, file):
    path.write_text("ObjectType = Image\nNDims = 3\nDimSize = 16 4 12\nElementType = MET_FLOAT\n"
                    f"ElementDataFile = {file}\n")


COMMANDS = [("info", "F"), ("fbp", "F", "--angles", "0:180", "--center", "7.5", "-o", "v.h5"), ("compare", "F", "F"),
            ("center", "F", "--angles", "0:180"), ("project", "F", "-g", "parallel", "--voxel", "1", "-o", "p.h5"),
            ("fbp", "good.npy", "--angles", "0:180", "--center", "7.5", "-o", "v.h5", "--flats", "F")]


@pytest.mark.parametrize("file", ["../secret.raw", "{}/secret.raw", "sub/../../secret.raw", "../own-not/secret.raw", "/etc/passwd"])
def test_a_metaimage_that_reaches_out(tmp_path, file):
    path, _ = raw_outside(tmp_path, "h.mhd")
    write_mhd(path, file.format(tmp_path))
    np.save(tmp_path / "good.npy", np.ones((12, 4, 16), np.float32))
    for command in COMMANDS:
        command = [str(path) if word == "F" else word for word in command]
        fails(3, *command, says=["h.mhd", "outside its own folder", "--allow-external"], cwd=tmp_path)
    if file != "/etc/passwd":
        qb("info", path, "--allow-external")


@pytest.mark.parametrize("file", ["sub/inside.raw", "link.raw", "{}/own/sub/inside.raw"])
def test_a_metaimage_with_data_in_its_folder(tmp_path, file):
    path, data = raw_outside(tmp_path, "h.mhd")
    write_mhd(path, file.format(tmp_path))
    for cwd, name in ((tmp_path, "own/h.mhd"), (tmp_path / "own", "h.mhd"), (tmp_path, path)):
        assert qb_json("info", name, cwd=cwd)["columns"] == 16


def test_external_storage_of_hdf5(tmp_path):
    """Any file could be read as images, or as angles."""
    path, data = raw_outside(tmp_path, "x.h5")
    np.save(tmp_path / "good.npy", np.ones((12, 4, 16), np.float32))
    with h5py.File(path, "w") as f:
        f.create_dataset("/exchange/data", data.shape, "f4",
                         external=[(str(tmp_path / "secret.raw"), 0, data.nbytes)])
    for command in COMMANDS:
        command = [str(path) if word == "F" else word for word in command]
        fails(3, *command, says=["x.h5", "secret.raw", "--allow-external"], cwd=tmp_path)
    qb("fbp", path, "--angles", "0:180", "--center", 7.5, "--quantity", "line_integral", "-o", "v.h5",
       "--allow-external", cwd=tmp_path)
    with h5py.File(path, "w") as f:
        f["/exchange/data"] = data
        f.create_dataset("/exchange/theta", (12,), "f8", external=[(str(tmp_path / "secret.raw"), 0, 96)])
    found = qb_json("info", path)
    assert found.get("angles") in (None, [], {}) or "secret" not in str(found["angles"])
    assert any("theta cannot be used" in p and "secret.raw" in p for p in found["problems"])
    with h5py.File(path, "w") as f:
        f.create_dataset("/exchange/data", data.shape, "f4",
                         external=[(str(tmp_path / "own/sub/inside.raw"), 0, data.nbytes)])
    qb("info", path)
