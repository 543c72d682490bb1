# SPDX-License-Identifier: MIT
"""--range-of volume: what integers stand for is found from all values, by a run before; the truth is numpy's sort of the floats."""
import subprocess

import h5py
import numpy as np
import pytest

from qbtest import MPIRUN, NO_RANKS, QB, RANKS_ENV, fails, provenance_h5, qb, read_h5, smallest_cap

GRID = ["--center", 23.5, "--kernel", "bp_parallel_linear.scalar"]
WAYS = {"fbp": GRID, "fdk": ["--sod", 200, "--sdd", 400], "sirt": ["-g", "parallel", "--iterations", 5], "mbir": ["--equits", 2]}


@pytest.fixture(scope="module")
def scan(tmp_path_factory):
    """Spheres: the middle slice has not the brightest."""
    path = tmp_path_factory.mktemp("range") / "s.h5"
    qb("simulate", "spheres", "--size", "48,48,40", "--views", 60, "--photons", 5000, "-o", path)
    cone = ["--geometry", "cone", "--sod", 200, "--sdd", 400, "--pixel-size", 2, "--detector", "64,48"]
    qb("simulate", "spheres", *cone, "--views", 60, "--photons", 5000, "-o", path.with_name("c.h5"))
    return path


def scale_of(path):
    with h5py.File(path) as file:
        return file["exchange/data"].attrs["scale_low"], file["exchange/data"].attrs["scale_high"]


@pytest.mark.parametrize("verb", WAYS)
def test_one_in_ten_thousand_at_either_end(scan, tmp_path, verb):
    scan = scan.with_name("c.h5") if verb == "fdk" else scan
    qb(verb, scan, *WAYS[verb], "-o", tmp_path / "f.npy")
    done = qb(verb, scan, *WAYS[verb], "--dtype", "uint16", "--range-of", "volume", "-o", tmp_path / "i.h5")
    values = np.sort(np.load(tmp_path / "f.npy").ravel())
    cut = len(values) // 10000
    low, high = scale_of(tmp_path / "i.h5")
    wanted = values[cut], values[-1 - cut]
    assert low <= wanted[0] <= low + abs(low) / 1900 and high - abs(high) / 1900 <= wanted[1] <= high
    assert "from the whole volume" in done.stderr
    got = low + read_h5(tmp_path / "i.h5").astype("f8") * (high - low) / 65535
    floats = np.load(tmp_path / "f.npy")
    assert np.abs(got - np.clip(floats, low, high)).max() <= 0.51 * (high - low) / 65535 + 1e-7
    assert np.mean((floats < low) | (floats > high)) < 2.1e-4


def test_the_same_however_it_is_cut(scan, tmp_path):
    how = ["fbp", scan, *GRID, "--dtype", "uint8", "--range-of", "volume"]
    cap = f"{int(smallest_cap(*how, '-o', tmp_path / 'x.h5')[:-1]) + 4}M"  # two passes hold a little more
    for name, more in {"a": [], "b": ["--threads", 1], "c": ["--max-ram", cap]}.items():
        qb(*how, *more, "-o", tmp_path / f"{name}.h5")
        assert scale_of(tmp_path / f"{name}.h5") == scale_of(tmp_path / "a.h5")
        assert np.array_equal(read_h5(tmp_path / f"{name}.h5"), read_h5(tmp_path / "a.h5"))
    qb(*how[:-2], "--range", ",".join(map(repr, map(float, scale_of(tmp_path / "a.h5")))), "-o", tmp_path / "g.h5")
    assert np.array_equal(read_h5(tmp_path / "g.h5"), read_h5(tmp_path / "a.h5"))
    digests = [provenance_h5(tmp_path / f"{name}.h5").get("content") for name in "ag"]
    assert digests[0] == digests[1]


@pytest.mark.skipif(NO_RANKS is not None, reason=str(NO_RANKS))
def test_ranks(scan, tmp_path):
    how = ["fbp", scan, *GRID, "--dtype", "uint8", "--range-of", "volume", "-o"]
    qb(*how, tmp_path / "one.h5")
    subprocess.run([MPIRUN, "-n", "2", QB, *map(str, how), tmp_path / "two.h5"], env=RANKS_ENV, check=True, capture_output=True)
    assert np.array_equal(read_h5(tmp_path / "two.h5"), read_h5(tmp_path / "one.h5"))


def test_what_cannot_be(scan, tmp_path):
    out = ["-o", tmp_path / "v.npy"]
    fails(2, "fbp", scan, "--range-of", "volume", *out, says=["uint16 or uint8 without --range"])
    fails(2, "fbp", scan, "--range-of", "volume", "--dtype", "uint8", "--range", "0,1", *out, says=["without --range"])
    fails(2, "sirt", scan, "-g", "parallel", "--iterations", 2, "--dtype", "uint8", *out, says=["--range LO,HI, or --range-of volume"])
