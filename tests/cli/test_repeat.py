# SPDX-License-Identifier: MIT
"""Same input, same kernel: same bits, however the work is cut; and the same data in any container."""
import numpy as np
import pytest

from qbtest import qb, qb_json, read_h5, write_scan

VIEWS, ROWS, N = 181, 37, 200
ANGLES = np.arange(VIEWS) * (180 / VIEWS)


@pytest.fixture(scope="module")
def counts(tmp_path_factory):
    rng = np.random.default_rng(7)
    folder = tmp_path_factory.mktemp("scan")
    data = rng.integers(2000, 60000, (VIEWS, ROWS, N)).astype(np.uint16)
    flats = rng.integers(50000, 65000, (5, ROWS, N)).astype(np.uint16)
    darks = rng.integers(0, 500, (5, ROWS, N)).astype(np.uint16)
    write_scan(folder / "plain.h5", data, ANGLES, flats, darks, 0.1)
    write_scan(folder / "chunked.h5", data, ANGLES, flats, darks, 0.1, chunks=(8, 10, 64), compression="gzip", shuffle=True)
    write_scan(folder / "frames.h5", data, ANGLES, flats, darks, 0.1, chunks=(1, ROWS, N))
    np.save(folder / "views.npy", data)
    np.save(folder / "flats.npy", flats)
    np.save(folder / "darks.npy", darks)
    return folder


@pytest.fixture(scope="module")
def reference(counts):
    qb("fbp", counts / "plain.h5", "-o", counts / "ref.h5", "--center", "101.3", "--threads", "1")
    return read_h5(counts / "ref.h5")


def smallest(scan, threads):
    """A memory cap close to the least that will do, by asking the plan."""
    low, high = 1 << 20, 1 << 30
    while high > low * 1.02:
        middle = (low + high) // 2
        try:
            qb("plan", "fbp", scan, "-o", "x.h5", "--center", "101.3", "--threads", threads, "--max-ram", middle)
            high = middle
        except AssertionError:
            low = middle
    return high


@pytest.mark.parametrize("name", ["plain.h5", "chunked.h5", "frames.h5"])
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_memory_and_chunks(counts, reference, tmp_path, name, threads):
    chunkings = set()
    least = smallest(counts / name, threads)
    for cap in (int(least * 1.03), int(least * 1.3), least * 2, 2 << 30):
        args = [counts / name, "-o", tmp_path / "v.h5", "--center", "101.3", "--threads", threads, "--max-ram", cap]
        plan = qb_json("plan", "fbp", *args)
        chunkings.add(plan["slices_per_chunk"])
        qb("fbp", *args)
        assert (read_h5(tmp_path / "v.h5") == reference).all(), f"{threads} threads, --max-ram {cap}"
    assert len(chunkings) > 1


def test_containers(counts, reference, tmp_path):
    qb("fbp", counts / "views.npy", "--flats", counts / "flats.npy", "--darks", counts / "darks.npy", "--quantity", "counts",
       "--angles", "0:180", "--pixel-size", "0.1", "-o", tmp_path / "v.h5", "--center", "101.3")
    assert abs(read_h5(tmp_path / "v.h5") - reference).max() <= 1e-6 * abs(reference).max()


def test_tiff_folders(counts, reference, tmp_path):
    tifffile = pytest.importorskip("tifffile")
    for kind in ("views", "flats", "darks"):
        (tmp_path / kind).mkdir()
        for i, frame in enumerate(np.load(counts / f"{kind}.npy")):
            tifffile.imwrite(tmp_path / kind / f"{kind}_{i}.tif", frame)  # no leading zeros: 2 comes before 10
    qb("fbp", "views", "--flats", "flats", "--darks", "darks/darks_*.tif", "--angles", "0:180", "--pixel-size", "0.1",
       "-o", "v.h5", "--center", "101.3", cwd=tmp_path)
    assert abs(read_h5(tmp_path / "v.h5") - reference).max() <= 1e-6 * abs(reference).max()


def test_views_can_be_thinned(counts, tmp_path):
    """--views A:B:S is the scan with only those views."""
    data, flats, darks = (np.load(counts / f"{k}.npy") for k in ("views", "flats", "darks"))
    write_scan(tmp_path / "thin.h5", data[1:171:2], ANGLES[1:171:2], flats, darks, 0.1)
    qb("fbp", tmp_path / "thin.h5", "-o", tmp_path / "a.h5", "--center", "101.3")
    qb("fbp", counts / "plain.h5", "--views", "1:171:2", "-o", tmp_path / "b.h5", "--center", "101.3")
    assert (read_h5(tmp_path / "a.h5") == read_h5(tmp_path / "b.h5")).all()
