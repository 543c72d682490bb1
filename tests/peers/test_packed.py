# SPDX-License-Identifier: MIT
"""h5py with hdf5plugin reads our compressed HDF5, and we read theirs without any plug-in."""
import os
import subprocess
import sys

import h5py
import hdf5plugin
import numpy as np
import pytest

from qbtest import qb, qb_json

CODECS = ["gzip", "zstd", "blosc", "bitshuffle"]


@pytest.fixture(scope="module")
def volume(tmp_path_factory):
    folder = tmp_path_factory.mktemp("v")
    qb("simulate", "foam", "-o", "s.npy", "--views", 6, "--detector", "150,70", "--pixel-size", 0.25, cwd=folder)
    return folder


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float16", "float32"])
@pytest.mark.parametrize("codec", CODECS)
def test_they_read_ours(volume, tmp_path, codec, dtype):
    fbp = ["fbp", "s.npy", "--quantity", "transmission", "--angles", "0:180", "--center", 74.5, "--dtype", dtype]
    qb(*fbp, "-o", tmp_path / "v.h5", "--compress", codec, cwd=volume)
    qb(*fbp, "-o", tmp_path / "v.npy", cwd=volume)
    with h5py.File(tmp_path / "v.h5") as f:
        np.testing.assert_array_equal(f["/exchange/data"][:], np.load(tmp_path / "v.npy"))


@pytest.mark.parametrize("how", [hdf5plugin.Zstd(clevel=3), hdf5plugin.Blosc(cname="zstd", shuffle=2), hdf5plugin.Blosc(cname="lz4"), hdf5plugin.LZ4(nbytes=1024), hdf5plugin.LZ4(),
                                 hdf5plugin.Bitshuffle(cname="lz4"), hdf5plugin.Bitshuffle(nelems=256, cname="lz4")])
@pytest.mark.parametrize("dtype", ["uint8", "int16", "uint16", "int32", "float32", "float64"])
def test_we_read_theirs(tmp_path, dtype, how):
    values = (100 * np.random.default_rng(3).random((5, 33, 43))).astype(dtype)
    np.save(tmp_path / "want.npy", values)
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f.create_dataset("/exchange/data", data=values, chunks=(2, 16, 13), **how)
    assert qb_json("compare", "a.h5", "want.npy", cwd=tmp_path)["rmse"] == 0


@pytest.mark.parametrize("codec", ["zstd", "blosc", "bitshuffle"])
def test_the_path_of_plugins_is_enough(tmp_path, codec):
    """Other programs than Python: the variable alone."""
    values = np.arange(3000, dtype="f4").reshape(10, 15, 20)
    np.save(tmp_path / "a.npy", values)
    qb("convert", "a.npy", "--volume", "--compress", codec, "-o", "a.h5", cwd=tmp_path)
    read = "import h5py; print(h5py.File('a.h5')['/exchange/data'][:].sum())"
    env = dict(os.environ, HDF5_PLUGIN_PATH=hdf5plugin.PLUGIN_PATH)
    done = subprocess.run([sys.executable, "-c", read], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert float(done.stdout) == values.sum(), done.stderr
    env["HDF5_PLUGIN_PATH"] = str(tmp_path)
    assert subprocess.run([sys.executable, "-c", read], cwd=tmp_path, env=env, capture_output=True).returncode != 0
