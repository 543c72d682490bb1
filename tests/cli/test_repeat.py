# SPDX-License-Identifier: MIT
"""Same input, same kernel: same bits, however the work is cut; and the same data in any container."""
import re

import numpy as np
import pytest

from qbtest import fails, memory_is_ours, qb, qb_json, read_h5, write_scan

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


@pytest.fixture(scope="module")
def kernel(counts):
    """Named, so that no cap is too small for it: slices one by one have a kernel, and bits, of their own."""
    return "--kernel", qb_json("plan", "fbp", counts / "plain.h5", "-o", "x.h5", "--center", "101.3")["kernel"]


def smallest(scan, threads, *kernel):
    """A memory cap little above the least that will do, which a refusal tells; above it, since what a process holds
    before it begins differs from run to run."""
    said = fails(2, "plan", "fbp", scan, "-o", "x.h5", "--center", "101.3", "--threads", threads, "--max-ram", "1M", *kernel)
    return int(float(re.search(r"slices? at a time needs? ([\d.]+) MiB", said).group(1)) * 1.05 * 2**20)


@pytest.mark.parametrize("name", ["plain.h5", "chunked.h5", "frames.h5"])
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_memory_and_chunks(counts, reference, kernel, tmp_path, name, threads):
    chunkings = set()
    least = smallest(counts / name, threads, *kernel)
    for cap in (least, int(least * 1.3), least * 2, 2 << 30):
        args = [counts / name, "-o", tmp_path / "v.h5", "--center", "101.3", "--threads", threads, "--max-ram", cap, *kernel]
        plan = qb_json("plan", "fbp", *args)
        chunkings.add((plan["slices_per_chunk"], plan["ring_slots"]))
        qb("fbp", *args)
        assert (read_h5(tmp_path / "v.h5") == reference).all(), f"{threads} threads, --max-ram {cap}"
    assert len(chunkings) > 1


@memory_is_ours
def test_the_least_is_one_slice(counts, reference, kernel, tmp_path):
    """Where there is no room for as many slices as the usual kernel takes, another takes one by one, and that is said."""
    args = [counts / "plain.h5", "-o", tmp_path / "v.h5", "--center", "101.3", "--threads", 1]
    usual, least = smallest(counts / "plain.h5", 1, *kernel), smallest(counts / "plain.h5", 1)
    plan = qb_json("plan", "fbp", *args, "--max-ram", least)
    if plan["kernel"] == kernel[1]:
        pytest.skip(f"{kernel[1]} takes single slices")
    of_one_slice = VIEWS * N * (2 + 4) + N * N * 4  # read, filtered, back-projected
    assert plan["slices_per_chunk"] == 1 and least < usual - 5 * of_one_slice
    for cap in least, (least + usual) // 2:
        done = qb("fbp", *args, "--max-ram", cap)
        assert "is slower and takes one" in done.stderr and kernel[1] in done.stderr
        found = read_h5(tmp_path / "v.h5")
        assert np.linalg.norm(found - reference) < 2e-3 * np.linalg.norm(reference)  # --accuracy normal, twice
    assert "takes one" not in qb("fbp", *args, "--max-ram", 2 << 30).stderr
    fails(2, "fbp", *args, "--max-ram", least, *kernel, says=["slices at a time need"])
    fails(2, "fbp", *args, "--max-ram", least // 2, says=["one slice at a time needs"])


def test_stages_overlap_without_a_cap(counts, tmp_path):
    """As soon as there are slices for two chunks, they are two: one is read or written while the other is computed."""
    wide = np.zeros((16, 200, 32), np.uint16) + 7
    np.save(tmp_path / "wide.npy", wide)
    plan = qb_json("plan", "fbp", tmp_path / "wide.npy", "-o", tmp_path / "v.npy", "--angles", "0:180", "--center", "middle",
                   "--quantity", "line_integral", "--max-ram", "4G")
    stages = plan["forecast"]["stages"]
    assert plan["chunks"] >= 2 and plan["ring_slots"] == 2
    assert plan["forecast"]["streaming"] < 0.9 * sum(stages.values())


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
