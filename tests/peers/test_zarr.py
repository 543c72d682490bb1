# SPDX-License-Identifier: MIT
"""zarr-python, ome-zarr-py and tensorstore, which is neuroglancer's reader in Python, open what we write, with every codec; we read what they write."""
import numpy as np
import pytest
import tensorstore
import zarr
from ome_zarr.io import parse_url
from ome_zarr.reader import Reader
from zarr.codecs import BloscCodec, GzipCodec, ZstdCodec

from qbtest import qb, qb_json

CODECS = ["none", "gzip", "zstd", "blosc", "bitshuffle"]


@pytest.fixture(scope="module")
def volume(tmp_path_factory):
    folder = tmp_path_factory.mktemp("v")
    qb("simulate", "foam", "-o", "s.npy", "--views", 6, "--detector", "150,70", "--pixel-size", 0.25, cwd=folder)
    qb("fbp", "s.npy", "--quantity", "transmission", "--angles", "0:180", "--center", 74.5, "-o", "v.npy", cwd=folder)
    return folder


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("version", ["0.4", "0.5"])
def test_they_read_ours(volume, tmp_path, codec, version):
    store = tmp_path / "v.ome.zarr"
    qb("fbp", "s.npy", "--quantity", "transmission", "--angles", "0:180", "--center", 74.5, "-o", store, "--zarr", version, "--compress", codec, cwd=volume)
    want = np.load(volume / "v.npy")
    group = zarr.open_group(str(store), mode="r")
    np.testing.assert_array_equal(group["0"][:], want)
    even = want[:70, :150, :150].astype(np.float64).reshape(35, 2, 75, 2, 75, 2).mean(axis=(1, 3, 5))
    np.testing.assert_allclose(group["1"][:], even, rtol=1e-6, atol=1e-9)
    for level in "0", "1":
        kvstore = {"driver": "file", "path": str(store / level)}
        read = tensorstore.open({"driver": "zarr3" if version == "0.5" else "zarr", "kvstore": kvstore}, read=True).result()
        np.testing.assert_array_equal(read.read().result(), group[level][:])
        assert version == "0.4" or read.domain.labels == ("z", "y", "x")
    (node,) = Reader(parse_url(str(store)))()
    assert [level.shape for level in node.data] == [(70, 150, 150), (35, 75, 75)]
    np.testing.assert_array_equal(np.asarray(node.data[0]), want)
    scales = [next(t["scale"] for t in level if t["type"] == "scale") for level in node.metadata["coordinateTransformations"]]
    assert [axis["name"] for axis in node.metadata["axes"]] == ["z", "y", "x"]
    first = [next(t["translation"] for t in level if t["type"] == "translation") for level in node.metadata["coordinateTransformations"]]
    np.testing.assert_allclose(first, [[-34.5 * 0.25, -74.5 * 0.25, -74.5 * 0.25], [-34 * 0.25, -74 * 0.25, -74 * 0.25]])
    assert scales == [[0.25] * 3, [0.5] * 3] and [axis["unit"] for axis in node.metadata["axes"]] == ["millimeter"] * 3


@pytest.mark.parametrize("dtype", ["uint8", "int16", "uint16", "int32", "float32", "float64"])
def test_we_read_theirs(tmp_path, dtype):
    values = (100 * np.random.default_rng(3).random((5, 33, 40))).astype(dtype)
    np.save(tmp_path / "want.npy", values)
    for i, (codec, shards) in enumerate([(None, None), (GzipCodec(), None), (ZstdCodec(checksum=True), (4, 32, 32)), (BloscCodec(cname="zstd"), (4, 16, 32)), (BloscCodec(cname="lz4"), None)]):
        zarr.create_array(str(tmp_path / f"a{i}.zarr"), data=values, chunks=(2, 16, 16), shards=shards, compressors=codec, overwrite=True)
    zarr.create_array(str(tmp_path / "a5.zarr"), data=values[None, None], chunks=(1, 1, 2, 16, 16), zarr_format=2)
    zarr.create_array(str(tmp_path / "a6.zarr"), data=values, chunks=(2, 16, 16), zarr_format=2, compressors=None)
    for i in range(7):
        assert qb_json("compare", f"a{i}.zarr", "want.npy", cwd=tmp_path)["rmse"] == 0, i
