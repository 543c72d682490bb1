# SPDX-License-Identifier: MIT
"""HDF5 in compressed chunks: the numbers come back whatever codec, type and number of threads; a run that is killed is gone on with; damage is refused."""
import os
import random
import shutil
import subprocess

import h5py
import numpy as np
import pytest

from qbtest import MPIRUN, NO_RANKS, QB, RANKS_ENV, fails, killed, memory_is_ours, qb, qb_json

FBP = ["--center", "74.5", "--device", "cpu", "--threads", 1, "--kernel", "bp_parallel_linear.scalar"]  # slabs of few slices
CODECS = {"gzip": None, "zstd": "32015", "blosc": "32001", "bitshuffle": "32008", "lz4": "32004"}


@pytest.fixture(scope="module")
def scan(tmp_path_factory):
    scan = tmp_path_factory.mktemp("scan") / "s.h5"
    qb("simulate", "foam", "-o", scan, "--views", 6, "--detector", "150,141", "--pixel-size", 0.25, "--photons", 20000)
    return scan


@pytest.fixture(scope="module")
def want(scan, tmp_path_factory):
    whole = tmp_path_factory.mktemp("whole") / "whole.npy"
    qb("fbp", scan, *FBP, "-o", whole)
    return whole


def check(path, want):
    """By our reader, and by HDF5 where it has the filter."""
    assert qb_json("compare", path, want)["max_abs"] == 0
    with h5py.File(path) as f:
        data = f["/exchange/data"]
        assert data.attrs["voxel_size_x"] == 0.25 and "provenance" in f["/process/quickbeam"]
        assert data.id.get_num_chunks() == 18 * 4 and data.chunks == (8, 75, 75)
        if data.compression == "gzip":
            np.testing.assert_array_equal(data[:], np.load(want))


@pytest.mark.parametrize("codec", CODECS)
def test_values(scan, want, tmp_path, codec):
    out = tmp_path / "v.h5"
    qb("fbp", scan, *FBP, "-o", out, "--compress", codec)
    check(out, want)
    assert os.listdir(tmp_path) == ["v.h5"] and os.path.getsize(out) < 0.95 * os.path.getsize(want)
    with h5py.File(out) as f:
        assert CODECS[codec] is None or CODECS[codec] in f["/exchange/data"]._filters
    told = qb_json("info", out)
    assert told["voxel_mm"] == [0.25] * 3 if "voxel_mm" in told else told["format"]


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float16"])
def test_types(scan, tmp_path, dtype):
    qb("fbp", scan, *FBP, "--dtype", dtype, "-o", tmp_path / "v.npy")
    for codec in CODECS:
        qb("fbp", scan, *FBP, "--dtype", dtype, "-o", tmp_path / "v.h5", "--compress", codec)
        assert qb_json("compare", tmp_path / "v.h5", tmp_path / "v.npy")["max_abs"] == 0


def test_threads_make_the_same_file(scan, tmp_path):
    places = []
    for threads in (1, 4):
        out = tmp_path / f"v{threads}.h5"
        qb("fbp", scan, *FBP[:4], "--threads", threads, "-o", out, "--compress", "gzip")
        with h5py.File(out) as f:
            data = f["/exchange/data"]
            places.append([(i.chunk_offset, i.size) for i in map(data.id.get_chunk_info, range(72))])
            first, last = data.id.get_chunk_info(0), data.id.get_chunk_info(71)
            places[-1].append(out.read_bytes()[first.byte_offset : last.byte_offset + last.size])
    assert places[0] == places[1]


@pytest.mark.parametrize("codec", ["gzip", "blosc"])
def test_killed_at_any_moment(scan, want, tmp_path, codec):
    out = tmp_path / "v.h5"
    job = ["fbp", scan, *FBP, "--checkpoint", "1e-9", "-o", out, "--compress", codec]
    dice = random.Random(codec)
    for at in (dice.randint(30, 90), dice.randint(90, 160)):
        shutil.rmtree(out, ignore_errors=True)
        out.unlink(missing_ok=True)
        assert killed(*job, at=at) and not out.exists()
        killed(*job, "--resume", at=at // 2)
        took = qb_json(*job, "--resume")["slabs_resumed"] if not out.exists() else 1
        assert took >= 1
        check(out, want)
        assert os.listdir(tmp_path) == ["v.h5"]


@pytest.mark.skipif(NO_RANKS is not None, reason=str(NO_RANKS))
@memory_is_ours
def test_ranks(scan, want, tmp_path):
    out = tmp_path / "v.h5"
    subprocess.run([MPIRUN, "-n", "3", QB, "fbp", scan, *map(str, FBP), "-o", out, "--compress", "zstd"], env=RANKS_ENV, check=True, capture_output=True)
    check(out, want)


def test_more_chunks_than_a_node_of_the_index_holds(tmp_path):
    """Three levels of nodes: 64 x 64 chunks are two."""
    angles = np.linspace(0, 360, 8 * 4100, endpoint=False)
    values = np.arange(8 * 4100 * 2 * 3, dtype=np.float32).reshape(-1, 2, 3)
    with h5py.File(tmp_path / "s.h5", "w") as f:
        f["/exchange/data"], f["/exchange/theta"] = values, angles
    qb("convert", tmp_path / "s.h5", "--quantity", "line_integral", "--keep-all-views", "-o", tmp_path / "p.h5", "--compress", "gzip")
    with h5py.File(tmp_path / "p.h5") as f:
        assert f["/exchange/data"].id.get_num_chunks() == 4100
        np.testing.assert_array_equal(f["/exchange/data"][:], values)
        np.testing.assert_allclose(f["/exchange/theta"][:], angles, atol=1e-9)


@pytest.mark.parametrize("libver", ["earliest", "latest"])
def test_forms_of_the_index(tmp_path, libver):
    """A tree of version 1 is read by us, other forms by the library; both at edges that cut chunks, of rank 2 and 3."""
    values = np.random.default_rng(5).integers(0, 60, (41, 23, 29)).astype(np.uint16)
    for name, data, chunks in (("a", values, (2, 3, 4)), ("b", values[0], (3, 4)), ("c", values, (64, 64, 64))):
        with h5py.File(tmp_path / "s.h5", "w", libver=libver) as f:
            f.create_dataset("/exchange/data", data=data, maxshape=(None,) * data.ndim if name == "c" else None, chunks=chunks, compression="gzip", shuffle=name == "a")
        np.save(tmp_path / "s.npy", data)
        assert qb_json("compare", tmp_path / "s.h5", tmp_path / "s.npy")["max_abs"] == 0


def test_damage(scan, tmp_path):
    out = tmp_path / "v.h5"
    qb("fbp", scan, *FBP, "-o", out, "--compress", "blosc")
    with h5py.File(out) as f:
        chunk = f["/exchange/data"].id.get_chunk_info(40)
    whole = out.read_bytes()
    out.write_bytes(whole[: chunk.byte_offset] + b"\xff" * chunk.size + whole[chunk.byte_offset + chunk.size :])
    fails(3, "compare", out, out, says=["the chunk at image 80, row 0, column 0 cannot be read"])
    out.write_bytes(whole[: chunk.byte_offset])
    fails(3, "compare", out, out, says=["is cut short"])


def test_what_does_not_go(scan, tmp_path):
    fails(2, "fbp", scan, *FBP, "-o", tmp_path / "v.npy", "--compress", "gzip", says=["give a .h5, .zarr, .mha or .nrrd file"])
    fails(2, "fbp", scan, *FBP, "-o", tmp_path / "v.h5", "--compress", "gzip", "--parts", 2, says=["--parts 1"])
    fails(2, "fbp", scan, *FBP, "-o", tmp_path / "v.h5", "--compress", "lzma", says=["bitshuffle"])
    assert os.listdir(tmp_path) == []


def test_bench_of_the_codec_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    found = qb_json("bench", "io", "--size", "128,128,16")
    rows = [found[f"{kind}_{codec}"] for kind in ("h5",) for codec in CODECS]
    assert all(row["compression"] > 1.5 for row in rows)
    for what, codec, storage in (("write", "packs", "takes"), ("read", "unpacks", "gives")):
        for row in rows:
            of_medians = row[f"{what}_gigabytes_per_second"] / row[f"codec_{codec}_gigabytes_per_second"]
            assert of_medians / 4 < row[f"{what}_share_of_codec"] < of_medians * 4  # the median of the ratios
            assert row[f"{what}_share_of_codec_or_disk"] >= row[f"{what}_share_of_codec"] and row[f"storage_{storage}_gigabytes_per_second"] > 0
    assert os.listdir(tmp_path) == []


def test_kinds_that_are_not_compressed(scan, tmp_path):
    """Refused before the axis is searched for."""
    for name, more, says in ("v.npy", [], "cannot be compressed"), ("v.h5", ["--parts", 2], "is one file"):
        done = fails(2, "fbp", scan, "--compress", "zstd", "-o", tmp_path / name, *more, says=[says])
        assert "axis at column" not in str(done)
