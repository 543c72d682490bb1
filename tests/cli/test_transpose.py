# SPDX-License-Identifier: MIT
"""--transpose: arrays whose axes are in another order."""
import itertools

import h5py
import numpy as np
import pytest

from qbtest import fails, qb, qb_json

AXES = "views", "rows", "columns"


@pytest.fixture(scope="module")
def scan(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scan")
    qb("simulate", "spheres", "--views", 30, "--detector", "32,10", "--pixel-size", 1, "-o", "s.npy", cwd=folder)
    qb("simulate", "spheres", "--geometry", "cone", "--sod", 100, "--sdd", 200, "--views", 30, "--detector", "32,10", "--pixel-size", 1, "-o", "c.npy", cwd=folder)
    return folder


def volumes(scan, folder, name, source, order, *more):
    """Of a transposed array, and of the array itself."""
    verb, *how = {"s": ["fbp", "--center", 15.5, "--angles", "0:180"], "c": ["fdk", "--sod", 100, "--sdd", 200, "--angles", "0:360"]}[name]
    how += ["--quantity", "transmission", "--pixel-size", 1, *more]
    qb(verb, scan / f"{name}.npy", *how, "-o", folder / "want.npy")
    qb(verb, source, *how, "--transpose", ",".join(AXES[k] for k in order), "-o", folder / "v.npy")
    return np.load(folder / "v.npy"), np.load(folder / "want.npy")


@pytest.mark.parametrize("order", itertools.permutations(range(3)))
def test_every_order(scan, tmp_path, order):
    np.save(tmp_path / "t.npy", np.ascontiguousarray(np.load(scan / "s.npy").transpose(order)))
    assert np.array_equal(*volumes(scan, tmp_path, "s", tmp_path / "t.npy", order))


@pytest.mark.parametrize("name, order", [("s", (2, 1, 0)), ("c", (1, 2, 0))])
def test_parts_of_chunks(scan, tmp_path, name, order):
    """Some views, in small pieces, of HDF5 chunks; parallel beams and cones."""
    with h5py.File(tmp_path / "t.h5", "w") as file:
        file.create_dataset("d", data=np.load(scan / f"{name}.npy").transpose(order), chunks=(2, 3, 4))
    assert np.array_equal(*volumes(scan, tmp_path, name, tmp_path / "t.h5", order, "--views", "3:28:2", "--max-ram", "100M"))


def test_info_and_bad_words(scan, tmp_path):
    np.save(tmp_path / "t.npy", np.zeros((4, 5, 6), "u2"))
    told = qb_json("info", tmp_path / "t.npy", "--transpose", "c,r,v")
    assert (told["views"], told["rows"], told["columns"]) == (6, 5, 4)
    for words in ("views,rows", "views,rows,rows", "x,y,z", "views,rows,columns,views", ","):
        fails(2, "info", tmp_path / "t.npy", "--transpose", words, says=["name the axes of the file"])
