# SPDX-License-Identifier: MIT
"""Cone beam: values, orientation, short scans, same bits, memory, a measured head."""
import re

import h5py
import numpy as np
import pytest

from qbtest import data, fails, qb, qb_json, slow, smallest_cap, write_scan

CONE = ["--geometry", "cone", "--sod", "500", "--sdd", "800", "--pixel-size", "1.6"]
SCAN = ["--sod", "500", "--sdd", "800"]


def volume(path):
    with h5py.File(path) as f:
        return f["/exchange/data"][:]


def ball_inside(v, voxel, radius, reach=0.8):
    z, y, x = np.indices(v.shape)
    c = [(n - 1) / 2 for n in v.shape]
    return np.hypot(np.hypot(x - c[2], y - c[1]), z - c[0]) * voxel < reach * radius


@pytest.mark.parametrize("angles,weights", [("0:360", "none"), ("10:240", "Parker")])
def test_ball_has_its_value(tmp_path, angles, weights):
    scan, out = tmp_path / "s.h5", tmp_path / "v.h5"
    qb("simulate", "ball", *CONE, "--detector", "128,96", "--views", "240", "--angles", angles, "-o", scan)
    plan = qb_json("plan", "fdk", scan, *SCAN, "-o", out)
    assert plan["redundancy"].startswith(weights) and plan["kernel"].startswith("bp_cone_circular")
    qb("fdk", scan, *SCAN, "-o", out)
    v = volume(out)
    middle = v[47:49][ball_inside(v, 1.0, 0.4 * 96)[47:49]]
    assert abs(middle.mean() / 0.02 - 1) < 0.005


def test_few_slices_take_the_kernel_without_layers(tmp_path):
    """A layer of 128 slices costs as a whole: of one slice, and of a few, kernels of any matrix are faster."""
    scan = tmp_path / "s.h5"
    qb("simulate", "ball", *CONE, "--detector", "32,32", "--views", "24", "-o", scan)
    def plan(nz):
        chosen = qb_json("plan", "fdk", scan, *SCAN, "--size", f"128,128,{nz}", "-o", tmp_path / "v.h5", "--device", "cpu")
        table = {row["kernel"]: row for row in chosen["why"]}
        return chosen["kernel"], table["bp_cone_circular.scalar"]["core_seconds"]
    kernels, seconds = zip(*(plan(nz) for nz in (1, 8, 128)))
    assert [kernel.split(".")[0] for kernel in kernels] == ["bp_cone_matrix", "bp_cone_matrix", "bp_cone_circular"]
    assert 0.5 < seconds[0] / seconds[2] < 1 and seconds[0] < seconds[1] < seconds[2]
    qb("fdk", scan, *SCAN, "--size", "128,128,1", "-o", tmp_path / "v.h5", "--device", "cpu")
    assert volume(tmp_path / "v.h5").shape == (1, 128, 128)


def test_spheres_come_back_unflipped(tmp_path):
    scan, out, truth = tmp_path / "s.h5", tmp_path / "v.h5", tmp_path / "t.h5"
    qb("simulate", "spheres", *CONE, "--detector", "96,64", "--views", "180", "-o", scan, "--truth", truth)
    qb("fdk", scan, *SCAN, "-o", out)
    a, b = volume(out), volume(truth)

    def likeness(x):
        return np.corrcoef(x.ravel(), b.ravel())[0, 1]

    assert likeness(a) > 0.9
    for axes in [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)]:
        assert likeness(np.flip(a, axes)) < 0.5


def test_same_bits_however_cut(tmp_path):
    scan = tmp_path / "s.h5"
    qb("simulate", "spheres", *CONE, "--detector", "96,64", "--views", "100", "-o", scan)
    first = None
    cap = smallest_cap("fdk", scan, *SCAN, "-o", tmp_path / "v.h5")
    for options in (["--threads", "1"], ["--threads", "3"], ["--max-ram", cap]):
        qb("fdk", scan, *SCAN, "-o", tmp_path / "v.h5", *options)
        v = volume(tmp_path / "v.h5")
        first = v if first is None else first
        assert np.array_equal(first, v)


def test_a_tilted_detector_takes_the_general_kernel(tmp_path):
    scan, out = tmp_path / "s.h5", tmp_path / "v.h5"
    qb("simulate", "ball", *CONE, "--detector", "96,64", "--views", "120", "-o", scan)
    plan = qb_json("plan", "fdk", scan, *SCAN, "--tilt", "0,2,0", "-o", out)
    assert plan["kernel"].startswith("bp_cone_matrix")
    qb("fdk", scan, *SCAN, "--kernel", "bp_cone_circular.scalar", "--tilt", "0,2,0", "-o", out, code=3)


def test_integers_take_their_range_from_the_middle_slice(tmp_path):
    """Of those that are asked for, whoever computes and in whatever cut; what no view sees has none."""
    scan = tmp_path / "s.h5"
    qb("simulate", "spheres", *CONE, "--detector", "64,48", "--views", "60", "-o", scan, "-q")
    for more, middle in ((["--slices", "4:40:3"], 22), (["--hu", "0.02", "--outside", "zero"], 24), (["--slices", "20:23", "--max-ram", "100M", "--threads", "1"], 21)):
        job = ["fdk", scan, *SCAN, *more, "--device", "cpu"]
        said = qb(*job, "--dtype", "uint16", "-o", tmp_path / "i.h5").stderr
        qb(*job, "-o", tmp_path / "f.h5", "-q")
        want, slices = volume(tmp_path / "f.h5"), [int(x) for x in more[1].split(":")] if more[0] == "--slices" else [0]
        one = np.sort(want[(middle - slices[0]) // (slices[2] if len(slices) > 2 else 1)], axis=None)
        low, high = one[len(one) // 10000], one[-1 - len(one) // 10000]
        told = re.search(r"integer range (\S+)\.\.(\S+), from slice (\d+)", said)
        assert [float(told[1]), float(told[2])] == pytest.approx([low, high], rel=1e-5) and int(told[3]) == middle
        with h5py.File(tmp_path / "i.h5") as f:
            data = f["/exchange/data"]
            whole = low + data[:].astype(float) * (float(high) - float(low)) / 65535
        assert np.abs(whole - np.clip(want, low, high)).max() < 0.51 * (high - low) / 65535 + 1e-6 * abs(high)
    for verb in ("cgls", "sirt"):
        fails(2, verb, scan, *SCAN, "--dtype", "uint8", "-o", tmp_path / "x.h5", says=["--range LO,HI"])


def test_refusals(tmp_path):
    scan, out = tmp_path / "s.h5", tmp_path / "v.h5"
    qb("simulate", "ball", *CONE, "--detector", "64,32", "--views", "60", "-o", scan)
    said = qb("fdk", scan, "--sod", "20", "--sdd", "800", "--voxel", "2", "-o", out, code=3).stderr
    assert "view" in said  # the source enters the volume
    qb("fdk", scan, *SCAN, "-o", scan, code=2)
    assert not out.exists()


@slow
@pytest.mark.parametrize("tilt", ["0,0,0", "3,0,0"])
def test_memory_cap(tmp_path, tilt):
    """A volume that is several times the cap is reconstructed slab by slab."""
    from test_memory import peak_of
    scan, out = tmp_path / "s.h5", tmp_path / "v.h5"
    qb("simulate", "ball", *CONE, "--detector", "192,192", "--views", "160", "-o", scan)
    args = ["fdk", scan, *SCAN, "-o", out, "--size", "256,256,256", "--voxel", "0.6", "--tilt", tilt]
    cap = 32 << 20
    plan = qb_json("plan", *args, "--max-ram", cap)
    assert plan["output_bytes"] >= 2 * cap and plan["chunks"] > 1
    peak = peak_of([*args, "--max-ram", cap], plan["memory_bytes"])
    assert peak <= cap and abs(plan["memory_bytes"] / peak - 1) < 0.15


def test_32_gib_on_8(tmp_path):
    """2048^3 voxels from 2048 views of 2048 x 2048: the forecast fits into 8 GiB, in whole layers of the kernel."""
    scan = tmp_path / "big.npy"
    with open(scan, "wb") as f:
        np.lib.format.write_array_header_1_0(f, {"descr": "<u2", "fortran_order": False, "shape": (2048,) * 3})
        f.truncate(f.tell() + 2 * 2048**3)
    for more in ([], ["--tilt", "2,0,0"]):
        plan = qb_json("plan", "fdk", scan, "--quantity", "transmission", "--angles", "0:360", "--sod", "500", "--sdd",
                       "800", "--pixel-size", "0.2", "--size", "2048,2048,2048", "--voxel", "0.125", "-o",
                       tmp_path / "v.mha", "--max-ram", "8G", "--threads", "8", *more)
        assert plan["memory_bytes"] <= 8 << 30 and plan["output_bytes"] == 32 << 30
        assert plan["slices_per_chunk"] % 128 == 0 and plan["ring_slots"] == 2


def test_packed_views_are_not_unpacked_for_every_slab(tmp_path):
    """Slabs hide the writing, each reading its own rows; rows that cannot be had alone cost more than that."""
    p = np.zeros((96, 512, 512), np.uint16)
    chunks = []
    for how in ({}, {"chunks": (1, 512, 512), "compression": "gzip"}):
        write_scan(tmp_path / "s.h5", p, np.arange(96) * 360 / 96, quantity="transmission", **how)
        plan = qb_json("plan", "fdk", tmp_path / "s.h5", *SCAN, "--pixel-size", "0.8", "--size", "256,256,256",
                       "--voxel", "1", "--threads", "32", "--max-ram", "8G", "-o", tmp_path / "v.mha")
        chunks.append(plan["chunks"])
    assert chunks[0] > 1 and chunks[1] == 1


@slow
def test_512_mib_on_128(tmp_path):
    """The same in small, and measured: a volume four times the cap."""
    from test_memory import peak_of
    scan, out = tmp_path / "s.h5", tmp_path / "v.mha"
    qb("simulate", "ball", *CONE, "--detector", "256,256", "--views", "48", "-o", scan)
    args = ["fdk", scan, *SCAN, "-o", out, "--size", "512,512,512", "--voxel", "0.5"]
    cap = 128 << 20
    plan = qb_json("plan", *args, "--max-ram", cap)
    assert plan["output_bytes"] == 4 * cap and plan["memory_bytes"] <= cap
    peak = peak_of([*args, "--max-ram", cap], plan["memory_bytes"])
    assert peak <= cap and abs(plan["memory_bytes"] / peak - 1) < 0.15
    assert out.stat().st_size > 4 * cap


def depth(slice_):
    """How many voxels a voxel lies below the skin, along x or y; 0 outside."""
    skin, reach = slice_ > 0.012, np.logical_or.accumulate
    inside = reach(skin, 0) & reach(skin[::-1], 0)[::-1] & reach(skin, 1) & reach(skin[:, ::-1], 1)[:, ::-1]
    d = np.zeros(slice_.shape, int)
    while inside.any():
        d += inside
        inside = (inside & np.roll(inside, 1, 0) & np.roll(inside, -1, 0) & np.roll(inside, 1, 1)
                  & np.roll(inside, -1, 1))
    return d


def test_head(tmp_path):
    """A measured head without flats, or the ball that stands for it. What reads which value is in docs/cookbook.md."""
    folder = data("skull_cbct")
    is_ball = (folder.parent / "skull_cbct.made").exists()
    out = tmp_path / "v.h5"
    done = qb("fdk", folder, "--angles", f"{folder}/angles.csv:2:0:641:2", "--sod", "1000", "--sdd", "1500",
              "--pixel-size", "1.552", "--detector-offset=-0.3,0px", "--air", "99.9%", "-o", out)
    assert "replaces them" in done.stderr and "give --flats or --air" not in done.stderr
    v = volume(out)
    x = np.arange(256) - 127.5
    if is_ball:
        r = np.sqrt(x[None, None] ** 2 + x[None, :, None] ** 2 + (np.arange(192) - 95.5)[:, None, None] ** 2) * 1.552 / 1.5
        inside = v[r < 75]
        assert 0.0201 < np.median(inside) < 0.0205 and np.percentile(inside, 5) > 0.018
        assert abs(np.median(v[(r > 95) & (r < 120)])) < 0.0005
        return
    assert np.percentile(v[20:60], 99.5) > 0.04  # the vault
    seen = np.hypot(x[None], x[:, None]) < 125
    for z in range(12, 181, 7):
        d = depth(v[z])
        tissue = (v[z] > 0.012) & (v[z] < 0.028)
        assert abs(np.median(v[z][seen & (d == 0)])) < 0.001, z  # air
        if z < 60:  # the brain well below the bone, and near it
            assert 0.0200 <= np.median(v[z][tissue & (d >= 45)]) <= 0.0206, z
            assert 0.0210 < np.median(v[z][tissue & (d >= 8) & (d < 35)]) < 0.0222, z
        if z > 100:  # the neck, which no bone surrounds: flat
            assert 0.0206 < np.median(v[z][tissue & (d >= 8) & (d < 35)]) < 0.0220, z


def test_a_kernel_that_cannot_be_had_says_why(tmp_path):
    """The reason and the remedy, and the reason again in the table of all kernels."""
    scan, kernel = tmp_path / "s.h5", "bp_cone_matrix.avx512vnni"
    qb("simulate", "ball", *CONE, "--detector", "16,8", "--views", "20", "-o", scan)
    out = ("-o", tmp_path / "v.h5", "--accuracy", "normal")
    reasons = {r["kernel"]: r["verdict"] for r in qb_json("plan", "fdk", scan, *SCAN, *out)["why"]}
    said = fails(3, "fdk", scan, *SCAN, *out, "--kernel", kernel, says=[reasons[kernel], "qb plan fdk --why"])
    assert "largest value" in said or "instructions" in said
