# SPDX-License-Identifier: MIT
"""HDF5 files with some bytes changed: read or refused, never a crash. The HDF5 library itself crashes on some of them.
QB_MUTATIONS=5000 tries so many of each layout, QB_SEED=N others."""
import os
import random
import struct
import subprocess
from pathlib import Path

import h5py
import numpy as np
import pytest

from qbtest import QB, SANITIZED, fails

CORPUS = Path(__file__).resolve().parents[1] / "fuzz" / "corpus" / "hdf5"
SHAPE = (6, 5, 7)
SPECIAL = [0, 1, 0x7f, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0xffffffff, 0x7fffffffffffffff, 0xffffffffffffffff]


def contiguous(f):
    f["/exchange/data"] = np.ones(SHAPE, "f4")


def swapped(f):
    f["/exchange/data"] = np.ones(SHAPE, ">f4")


def compact(f):
    create = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    create.set_layout(h5py.h5d.COMPACT)
    group = f.create_group("exchange")
    data = h5py.h5d.create(group.id, b"data", h5py.h5t.IEEE_F32LE, h5py.h5s.create_simple(SHAPE), create)
    data.write(h5py.h5s.ALL, h5py.h5s.ALL, np.ones(SHAPE, "f4"))


def chunked(f):
    f.create_dataset("/exchange/data", data=np.ones(SHAPE, "f4"), chunks=(1, 5, 7), compression="gzip", shuffle=True)


def checked(f):
    f.create_dataset("/exchange/data", data=np.ones(SHAPE, "f4"), chunks=(2, 3, 4), compression="gzip", shuffle=True, fletcher32=True)


def virtual(f):
    folder = Path(f.filename).parent
    layout = h5py.VirtualLayout(SHAPE, "f4")
    for i in range(0, 6, 2):
        with h5py.File(folder / f"part{i}.h5", "w") as part:
            part["d"] = np.ones((2, 5, 7), "f4")
        layout[i:i + 2] = h5py.VirtualSource(f"part{i}.h5", "d", shape=(2, 5, 7))
    f.create_virtual_dataset("/exchange/data", layout)


def external(f):
    np.ones(SHAPE, "f4").tofile(Path(f.filename).parent / "raw.bin")
    f.create_dataset("/exchange/data", SHAPE, "f4", external=[(str(Path(f.filename).parent / "raw.bin"), 0, 840)])


def newest(f):
    f.create_dataset("/exchange/data", data=np.ones(SHAPE, "f4"), chunks=(1, 5, 7), maxshape=(None, 5, 7), compression="lzf")


def mutated(data, rng):
    """A few of: a bit, a byte, a number that is special, a piece moved, a cut."""
    data = bytearray(data)
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(len(data))
        kind, width = rng.randrange(8), 1 << rng.randrange(4)
        if kind < 2:
            data[at] ^= 1 << rng.randrange(8)
        elif kind < 4:
            data[at] = rng.randrange(256)
        elif kind < 6 and at + width <= len(data):
            data[at:at + width] = struct.pack("<Q", rng.choice(SPECIAL))[:width]
        elif kind == 6:
            start = rng.randrange(at + 1)
            data[at:] = data[start:start + len(data) - at]
        elif kind == 7 and rng.randrange(4) == 0:
            del data[at + 1:]
    return bytes(data)


def survives(folder, path):
    """What is wrong with the file is said, by exit codes 2 and 3 or as running out of memory: no signal."""
    for command in (["info", path], ["compare", path, path]):
        done = subprocess.run([QB, *map(str, command)], cwd=folder, capture_output=True, text=True, errors="replace", timeout=300)
        if done.returncode not in (0, 1, 2, 3):
            return f"{command[0]} ended with {done.returncode}: {done.stderr}"
        if done.returncode == 3:  # nor is anything else
            break
    return ""


@pytest.mark.parametrize("layout", [contiguous, swapped, compact, chunked, checked, virtual, external, newest])
def test_no_signal(tmp_path, layout):
    path = tmp_path / "s.h5"
    with h5py.File(path, "w", libver="latest" if layout is newest else "earliest") as f:
        layout(f)
        f["/exchange/theta"] = np.arange(6) * 30.0
    whole = path.read_bytes()
    rng = random.Random(f"{os.environ.get('QB_SEED', '1')} {layout.__name__}")
    assert not survives(tmp_path, path)
    for number in range(int(os.environ.get("QB_MUTATIONS", "20"))):
        path.write_bytes(mutated(whole, rng))
        wrong = survives(tmp_path, path)
        if wrong:
            kept = Path(f"/tmp/qb-crash-{layout.__name__}-{number}.h5")
            kept.write_bytes(path.read_bytes())
            pytest.fail(f"{kept}: {wrong}")


@pytest.mark.parametrize("command", [["info"], ["fbp", "--center", "3", "--quantity", "line_integral", "-o", "v.h5"], ["compare", CORPUS / "read-crash.h5"]])
def test_a_file_on_which_reading_crashes(tmp_path, command):
    """It opens well; the library dies on reading it."""
    fails(3, *command[:1], CORPUS / "read-crash.h5", *command[1:], says=["read-crash.h5", "malformed", "that reads it fails" if SANITIZED else "crashes"], cwd=tmp_path)


def test_a_virtual_dataset_that_crashes_by_chance(tmp_path):
    """The library reads beyond its memory before it finds an error: whether it dies differs from run to run."""
    path = tmp_path / "virtual-crash.h5"
    path.write_bytes((CORPUS / "virtual-crash.h5").read_bytes())
    for i in (0, 2, 4):
        with h5py.File(tmp_path / f"part{i}.h5", "w") as part:
            part["d"] = np.ones((2, 5, 7), "f4")
    for _ in range(40):
        fails(3, "info", path, says=["virtual-crash.h5"])
