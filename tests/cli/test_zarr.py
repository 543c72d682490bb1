# SPDX-License-Identifier: MIT
"""OME-Zarr, read here without any library for it: every level is the mean of 2 x 2 x 2 voxels of the one before, whatever order slabs
come in, however often a run is killed and by how many processes it is made; damaged files are refused with their numbers."""
import gzip
import json
import os
import random
import shutil
import struct
import subprocess

import numpy as np
import pytest

from qbtest import MPIRUN, NO_RANKS, QB, RANKS_ENV, fails, killed, memory_is_ours, qb, qb_json

FBP = ["--center", "74.5", "--device", "cpu", "--threads", 1, "--kernel", "bp_parallel_linear.scalar"]  # slabs of few slices


@pytest.fixture(scope="module")
def scan(tmp_path_factory):
    scan = tmp_path_factory.mktemp("scan") / "s.h5"
    qb("simulate", "foam", "-o", scan, "--views", 6, "--detector", "150,141", "--pixel-size", 0.25, "--photons", 20000)
    return scan


@pytest.fixture(scope="module")
def want(scan, tmp_path_factory):
    whole = tmp_path_factory.mktemp("whole") / "whole.npy"
    qb("fbp", scan, *FBP, "-o", whole)
    return np.load(whole)


def array(folder):
    """Of the two layouts that this program writes, without compression or by gzip."""
    header = folder / "zarr.json"
    if header.exists():
        about = json.loads(header.read_text())
        shards = about["codecs"][0]["configuration"]
        chunk, file = shards["chunk_shape"], about["chunk_grid"]["configuration"]["chunk_shape"]
        packed = [codec["name"] for codec in shards["codecs"]] == ["bytes", "gzip"]
        dtype, prefix = about["data_type"], "c/"
    else:
        about = json.loads((folder / ".zarray").read_text())
        chunk = file = about["chunks"]
        packed, dtype, prefix = bool(about["compressor"]), about["dtype"], ""
    shape = about["shape"]
    out = np.zeros([-(-n // f) * f for n, f in zip(shape, file)], dtype)
    count = [f // c for f, c in zip(file, chunk)]
    for at in np.ndindex(*(-(-n // f) for n, f in zip(shape, file))):
        data = (folder / (prefix + "/".join(map(str, at)))).read_bytes()
        for i, inner in enumerate(np.ndindex(*count)):
            place, length = (0, len(data)) if prefix == "" else struct.unpack_from("<QQ", data, len(data) - 4 - 16 * int(np.prod(count)) + 16 * i)
            if length == 2**64 - 1:
                continue
            raw = data[place : place + length]
            first = [f * a + c * n for f, a, c, n in zip(file, at, chunk, inner)]
            out[tuple(slice(b, b + c) for b, c in zip(first, chunk))] = np.frombuffer(gzip.decompress(raw) if packed else raw, dtype).reshape(chunk)
    return out[tuple(slice(0, n) for n in shape)]


def half(a):
    """Means of what is there of 2 x 2 x 2."""
    even = np.pad(a.astype(np.float64), [(0, n % 2) for n in a.shape], constant_values=np.nan)
    blocks = even.reshape(even.shape[0] // 2, 2, even.shape[1] // 2, 2, even.shape[2] // 2, 2)
    with np.errstate(invalid="ignore"):
        return np.nansum(blocks, axis=(1, 3, 5)) / np.isfinite(blocks).sum(axis=(1, 3, 5))


def check(store, want):
    levels = [array(store / str(i)) for i in range(2)]
    np.testing.assert_array_equal(levels[0], want)
    assert levels[1].shape == tuple(-(-n // 2) for n in want.shape) and not (store / "2").exists()
    if want.dtype.kind == "f":
        np.testing.assert_allclose(levels[1], half(want), rtol=1e-6, atol=1e-9)
    else:
        np.testing.assert_array_equal(levels[1], np.floor(half(want) + 0.5))
    assert not [p for p in store.rglob("*") if p.name.startswith((".spool", ".new"))]


@pytest.mark.parametrize("how", [[], ["--compress", "gzip"], ["--zarr", "0.4"], ["--zarr", "0.4", "--compress", "gzip"]])
def test_levels(scan, want, tmp_path, how):
    qb("fbp", scan, *FBP, "-o", tmp_path / "v.ome.zarr", *how)
    check(tmp_path / "v.ome.zarr", want)
    assert os.listdir(tmp_path) == ["v.ome.zarr"]
    np.save(tmp_path / "want.npy", want)
    assert qb_json("compare", tmp_path / "v.ome.zarr", tmp_path / "want.npy")["rmse"] == 0
    two = "--zarr" in how
    root = json.loads((tmp_path / "v.ome.zarr" / (".zattrs" if two else "zarr.json")).read_text())
    (scales,) = root["multiscales"] if two else root["attributes"]["ome"]["multiscales"]
    assert [axis["unit"] for axis in scales["axes"]] == ["millimeter"] * 3
    first, second = ([t[t["type"]] for t in level["coordinateTransformations"]] for level in scales["datasets"])
    assert first == [[0.25] * 3, [-0.25 * 70, -0.25 * 74.5, -0.25 * 74.5]] and second == [[0.5] * 3, [n + 0.125 for n in first[1]]]


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float16"])
def test_types(scan, tmp_path, dtype):
    for name in ("v.zarr", "v.npy"):
        qb("fbp", scan, *FBP, "--dtype", dtype, "-o", tmp_path / name)
    levels, whole = [array(tmp_path / "v.zarr" / str(i)) for i in range(2)], np.load(tmp_path / "v.npy")
    np.testing.assert_array_equal(levels[0], whole)
    np.testing.assert_allclose(levels[1], half(whole), atol=0.51 if dtype[0] == "u" else 1e-7, rtol=1e-3)


def test_values_that_are_no_numbers(scan, tmp_path):
    qb("fbp", scan, *FBP, "--outside", "nan", "-o", tmp_path / "v.zarr")
    whole, second = array(tmp_path / "v.zarr/0"), array(tmp_path / "v.zarr/1")
    assert np.isnan(whole).any()
    np.testing.assert_allclose(second, half(whole), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("how", [[], ["--zarr", "0.4"]])
def test_killed_at_any_moment(scan, want, tmp_path, how):
    out = tmp_path / "v.zarr"
    job = ["fbp", scan, *FBP, "--checkpoint", "1e-9", "-o", out, *how]
    dice = random.Random(str(how))
    for at in (dice.randint(150, 250), dice.randint(250, 400)):
        shutil.rmtree(out, ignore_errors=True)
        assert killed(*job, at=at) and not out.exists()
        killed(*job, "--resume", at=at // 2)
        took = qb_json(*job, "--resume")["slabs_resumed"] if not out.exists() else 1
        assert took >= 1
        check(out, want)
        assert os.listdir(tmp_path) == ["v.zarr"]


@pytest.mark.skipif(NO_RANKS is not None, reason=str(NO_RANKS))
@memory_is_ours
def test_ranks(scan, want, tmp_path):
    """Layers between two ranks."""
    out = tmp_path / "v.zarr"
    subprocess.run([MPIRUN, "-n", "3", QB, "fbp", scan, *map(str, FBP), "-o", out], env=RANKS_ENV, check=True, capture_output=True)
    check(out, want)


def test_a_scan_keeps_its_angles(scan, tmp_path):
    qb("convert", scan, "-o", tmp_path / "s.zarr")
    told = qb_json("info", tmp_path / "s.zarr")
    assert told["views"] == 6 and told["pixel_size_mm"] == 0.25 and told["quantity"] == "line_integral"
    for source, name in ((scan, "a.npy"), (tmp_path / "s.zarr", "b.npy")):
        qb("fbp", source, *FBP, "-o", tmp_path / name)
    assert qb_json("compare", tmp_path / "a.npy", tmp_path / "b.npy")["rmse"] == 0


def test_what_is_there(scan, want, tmp_path):
    """An older volume gives way as a whole; another folder does not, nor what is read."""
    out = tmp_path / "v.zarr"
    qb("fbp", scan, *FBP, "-o", out, "--zarr", "0.4")
    qb("fbp", scan, *FBP, "-o", out)
    check(out, want)
    assert not (out / ".zattrs").exists()
    (tmp_path / "w.zarr").mkdir()
    (tmp_path / "w.zarr/notes.txt").write_text("mine")
    fails(2, "fbp", scan, *FBP, "-o", tmp_path / "w.zarr", says=["a folder that holds other files than Zarr"])
    (tmp_path / "x.zarr").write_text("mine")
    fails(2, "fbp", scan, *FBP, "-o", tmp_path / "x.zarr", says=["is not a folder, and Zarr is one"])
    qb("convert", scan, "-o", tmp_path / "s.zarr")
    fails(2, "fbp", tmp_path / "s.zarr", *FBP, "-o", tmp_path / "s.zarr", says=["would overwrite the input"])
    fails(2, "fbp", scan, *FBP, "-o", tmp_path / "v.npy", "--compress", "zstd", says=["give a .h5, .zarr, .mha or .nrrd file"])
    fails(2, "fbp", scan, *FBP, "-o", tmp_path / "y.zarr", "--compress", "zip", says=["give none, gzip, zstd, blosc, bitshuffle or lz4"])
    fails(2, "fbp", scan, *FBP, "-o", tmp_path / "y.zarr", "--zarr", "0.6", says=["--zarr 0.6"])


def put(folder, **changes):
    """A small array of version 2, with chunks of which one is missing."""
    about = {"zarr_format": 2, "shape": [2, 3, 4], "chunks": [1, 3, 4], "dtype": "<u2", "compressor": None, "fill_value": 9, "order": "C", "filters": None, **changes}
    folder.mkdir()
    (folder / ".zarray").write_text(json.dumps(about))
    (folder / "0.0.0").write_bytes(np.arange(12, dtype="<u2").tobytes())
    return folder


def test_others(tmp_path):
    """Byte order, missing chunks, groups with one array, a path inside."""
    want = np.array([*range(12), *[9] * 12], np.uint16).reshape(2, 3, 4)
    np.save(tmp_path / "want.npy", want)
    put(tmp_path / "a.zarr")
    put(tmp_path / "b.zarr", dtype=">u2")
    (tmp_path / "b.zarr/0.0.0").write_bytes(np.arange(12, dtype=">u2").tobytes())
    (tmp_path / "g.zarr").mkdir()
    (tmp_path / "g.zarr/.zgroup").write_text('{"zarr_format": 2}')
    put(tmp_path / "g.zarr/one")
    for name in ("a.zarr", "b.zarr", "g.zarr"):
        assert qb_json("compare", tmp_path / name, tmp_path / "want.npy")["rmse"] == 0
    said = qb("convert", tmp_path / "a.zarr", "--volume", "-o", tmp_path / "a.npy").stderr
    assert "1 of 2 files of chunks are missing: they read as the fill value 9 [unwritten-chunks]" in said
    put(tmp_path / "g.zarr/two")
    fails(3, "info", tmp_path / "g.zarr", says=["holds 2 arrays", "--dataset"])
    assert qb_json("info", tmp_path / "g.zarr", "--dataset", "/two", "--angles", "0:180")["views"] == 2
    fails(3, "info", tmp_path / "g.zarr", "--dataset", "../a.zarr", says=["not the path of an array in it"])


SCALE = {"type": "scale", "scale": [2, 3, 4]}


@pytest.mark.parametrize("own, all, axes, voxel, offset, says", [
    ([SCALE], [{"type": "scale", "scale": [10, 10, 10]}], "zyx", [0.04, 0.03, 0.02], [0, 0, 0], None),
    ([SCALE, {"type": "translation", "translation": [10, 0, 0]}], [{"type": "scale", "scale": [2, 1, 1]}, {"type": "translation", "translation": [5, 0, 100]}], "zyx",
     [0.004, 0.003, 0.004], [0.106, 0.003, 0.027], None),
    ([{"type": "scale", "scale": [2, -3, 4]}], [], "zyx", [0.004, 0.003, 0.002], [0, 0, 0], "mirrors the axes"),
    ([SCALE], [], "xyz", [0.004, 0.003, 0.002], [0, 0, 0], "axes are called x, y, z"),
    ([{"type": "identity"}], [], "zyx", None, None, None),
    ([{"type": "scale", "scale": [2, 0, 4]}], [], "zyx", None, None, "its scale along y is 0, not a length: it is not used, give --voxel"),
    ([{"type": "scale", "scale": "2, 3, 4"}], [], "zyx", None, None, "along x is no number"),
    ([{"type": "scale", "scale": [2, 3, "4"]}], [], "zyx", None, None, "along x is no number"),
])
@pytest.mark.parametrize("layout", ["0", "bioformats2raw"])
def test_what_ome_states(tmp_path, own, all, axes, voxel, offset, says, layout):
    """Transformations of a level and of all levels, mirrored and reordered axes, and images in groups that are numbered."""
    place = tmp_path / "v.zarr" / ("0" if layout != "0" else ".")
    place.mkdir(parents=True)
    group = {".zgroup": {"zarr_format": 2}, ".zattrs": {"multiscales": [{"version": "0.4", "axes": [{"name": n, "type": "space", "unit": "micrometer"} for n in axes],
                                                                         "datasets": [{"path": "s/0", "coordinateTransformations": own}], "coordinateTransformations": all}]}}
    for folder, files in [(place, group)] + [(tmp_path / "v.zarr", {".zgroup": {"zarr_format": 2}, ".zattrs": {"bioformats2raw.layout": 3}})] * (layout != "0"):
        for name, text in files.items():
            (folder / name).write_text(json.dumps(text))
    (place / "s").mkdir()
    put(place / "s/0")
    (place / "s/0/1.0.0").write_bytes(bytes(24))
    told = qb_json("info", tmp_path / "v.zarr")
    assert told["kind"] == "volume" and told["size"] == [4, 3, 2]
    assert voxel is None or (told["voxel_mm"] == pytest.approx(voxel) and told["offset_mm"] == pytest.approx(offset))
    assert says in told["problem"] if says else "problem" not in told


@pytest.mark.parametrize("changes, says", [
    (dict(order="F"), "save it in C order"), (dict(dtype="<i8"), "type <i8"), (dict(dtype="<c8"), "type <c8"), (dict(compressor={"id": "lzma"}), "codec lzma"),
    (dict(filters=[{"id": "delta"}]), "filters (delta)"), (dict(shape=[2, 3]), "chunks has 3 numbers, not 2"), (dict(shape=[2, 3, 0]), "is 0"), (dict(shape=[2, 3, 4.5]), "4.5"),
    (dict(shape=[2, 2, 2, 3, 4], chunks=[1, 1, 1, 3, 4]), "axis 1 of 5"), (dict(shape=[2] * 6), "6 axes"), (dict(chunks=[1 << 20, 1 << 20, 4]), "too large"),
    (dict(shape=[1 << 12, 1 << 12, 4], chunks=[1, 1, 4]), "1.68e+07 chunks"), (dict(dimension_separator="-"), "chunk names is '-': correct it to '.' or '/'"),
    (dict(dimension_separator=5), "is 'no text'"), (dict(zarr_format=4), "zarr_format is 4, and 2"), (dict(zarr_format="2"), "zarr_format is missing: add 2"),
    (dict(order="K"), "its order is 'K'"), (dict(fill_value="none"), '"none" is no uint16'), (dict(fill_value=-1), "fill_value -1 is no uint16 number"),
    (dict(fill_value=[0]), "fill_value [0]"), (dict(fill_value=True), "fill_value true"), (dict(fill_value="NaN"), '"NaN" is no uint16'), (dict(dtype="<f4", fill_value="0x7fc0"), '"0x7fc0" is no float32')])
def test_refused(tmp_path, changes, says):
    fails(3, "info", put(tmp_path / "a.zarr", **changes), "--angles", "0:180", says=[says])


@pytest.mark.parametrize("changes, says", [
    (dict(zarr_format=2), "zarr.json: its zarr_format is 2, and 3"), (dict(chunk_key_encoding={"name": "suffix"}), "chunk_key_encoding is 'suffix'"),
    (dict(chunk_key_encoding={"name": "default", "configuration": {"separator": "_"}}), "is '_'"), (dict(fill_value="0x42480000"), None), (dict(fill_value=50), None),
    (dict(storage_transformers=[{"name": "cache"}]), "storage_transformers, the first is 'cache'"), (dict(storage_transformers=[], fill_value=50), None),
    (dict(node_type="Array"), "node_type is 'Array': correct it to array or group"), (dict(node_type=None), "node_type is ''"), (dict(lens={"k": 1}), "its 'lens' is not known"),
    (dict(lens={"must_understand": False}, fill_value=50), None), (dict(data_type={"name": "numpy.datetime64"}), "type numpy.datetime64"), (dict(codecs=[]), "do not name 'bytes'"),
    (dict(codecs=[{"name": "bytes", "configuration": {"endian": order}} for order in ("little", "big")]), "'bytes' twice"),
    (dict(codecs=[{"name": "bytes"}]), "byte order is ''"), (dict(codecs=[{"name": "bytes", "configuration": {"endian": "middle"}}]), "is 'middle'"),
    (dict(codecs=[{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "transpose", "configuration": {"order": [2, 1, 0]}}]), "codec transpose"),
    (dict(codecs=[{"name": "sharding_indexed", "configuration": {"chunk_shape": [1, 1, 3], "index_location": "middle"}}]), "index_location is 'middle'")])
def test_version_three(tmp_path, changes, says):
    """What is unknown is refused; the bits of a fill value are read."""
    (tmp_path / "a.zarr").mkdir()
    about = {"zarr_format": 3, "node_type": "array", "shape": [1, 2, 3], "data_type": "float32", "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1, 2, 3]}},
             "chunk_key_encoding": {"name": "default"}, "fill_value": 0, "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}], **changes}
    (tmp_path / "a.zarr/zarr.json").write_text(json.dumps(about))
    if says:
        fails(3, "info", tmp_path / "a.zarr", says=[says])
    else:
        qb("convert", tmp_path / "a.zarr", "--volume", "-o", tmp_path / "a.npy")
        assert (np.load(tmp_path / "a.npy") == 50).all()


def test_an_image_that_is_its_own(tmp_path):
    (tmp_path / "a.zarr").mkdir()
    (tmp_path / "a.zarr/.zgroup").write_text('{"zarr_format": 2}')
    (tmp_path / "a.zarr/.zattrs").write_text('{"bioformats2raw.layout": 3}')
    (tmp_path / "a.zarr/0").symlink_to(".")
    fails(3, "info", tmp_path / "a.zarr", says=["a.zarr/0 is an image of bioformats2raw, and states images of its own", "--dataset"])


def test_damaged(scan, tmp_path):
    out = tmp_path / "v.zarr"
    qb("fbp", scan, *FBP, "-o", out, "--compress", "gzip")
    compare = ["compare", out, out]
    chunk, header = out / "0/c/0/0/0", out / "0/zarr.json"
    whole, text = chunk.read_bytes(), header.read_text()
    for size, says in ((0, "incomplete"), (100, "incomplete"), (len(whole) - 1000, "incomplete|damaged")):
        chunk.write_bytes(whole[:size])
        said = fails(3, *compare)
        assert any(word in said for word in says.split("|")), said
    chunk.write_bytes(bytes(60) + whole[60:])
    fails(3, *compare, says=["0/c/0/0/0", "damaged", "gzip"])
    chunk.write_bytes(whole)
    header.write_text(text[:-30])
    fails(3, *compare, says=["not valid JSON"])
    header.unlink()
    fails(3, *compare, says=["not Zarr"])
