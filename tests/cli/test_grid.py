# SPDX-License-Identifier: MIT
"""The volume that is asked for: --size, --voxel, --offset, --like and --slices, for fbp and fdk."""
import json

import numpy as np
import pytest

from qbtest import fails, qb, qb_json, read_h5, read_mha, slow

SCAN = ["--sod", "500", "--sdd", "800"]
GRID = ["--size", "40,36,20", "--voxel", "0.8", "--offset", "3.2,-1.6,4"]


@pytest.fixture(scope="module")
def cone(tmp_path_factory):
    scan = tmp_path_factory.mktemp("cone") / "s.h5"
    qb("simulate", "spheres", "--geometry", "cone", *SCAN, "--pixel-size", "1.6", "--detector", "72,48", "--views", "90", "-o", scan)
    return scan


@pytest.fixture(scope="module")
def parallel(tmp_path_factory):
    scan = tmp_path_factory.mktemp("parallel") / "s.h5"
    qb("simulate", "spheres", "--detector", "48,30", "--pixel-size", "0.5", "--views", "60", "-o", scan)
    return scan


def where(path):
    """First voxel, spacing, shape (x, y, z) of a MetaImage."""
    _, header = read_mha(path)
    return [[float(n) for n in header[key].split()] for key in ("Offset", "ElementSpacing", "DimSize")]


def test_all_three_numbers_of_an_offset(cone, tmp_path):
    """A volume moved by whole voxels is a piece of the volume that is not moved."""
    qb("fdk", cone, *SCAN, "--size", "60,60,40", "--voxel", "0.8", "-o", tmp_path / "whole.h5")
    qb("fdk", cone, *SCAN, *GRID, "-o", tmp_path / "part.h5")
    whole, part = read_h5(tmp_path / "whole.h5"), read_h5(tmp_path / "part.h5")
    piece = whole[10 + 5:30 + 5, 12 - 2:48 - 2, 10 + 4:50 + 4]
    assert part.shape == piece.shape
    assert np.abs(part - piece).max() < 2e-3 * np.abs(whole).max()
    assert np.linalg.norm(part - piece) < 5e-4 * np.linalg.norm(piece)


@pytest.mark.parametrize("verb, region, kernel", [
    ("fbp", "3:4,0:48", "bp_parallel_linear.scalar"), ("fbp", "0:48,47:48", "bp_parallel_linear.avx2"), ("fbp", "17:31,5:40", "bp_parallel_linear.avx2_slice"),
    ("fdk", "3:4,0:36,0:20", "bp_cone_circular.scalar"), ("fdk", "0:40,35:36,0:20", "bp_cone_matrix.scalar"), ("fdk", "7:39,5:34,13:14", None), ("fdk", "0:40,0:36,2:3", None)])
def test_a_region_has_the_bits_of_the_whole(cone, parallel, tmp_path, verb, region, kernel):
    common = ["fbp", parallel, "--center", 23.7] if verb == "fbp" else ["fdk", cone, *SCAN, *GRID]
    listed = qb("devices").stdout
    common += ["--kernel", kernel] if kernel and kernel in listed else []
    whole = qb(*common, "-o", tmp_path / "whole.mha", "--filter", "hann") and read_mha(tmp_path / "whole.mha")
    qb(*common, "-o", tmp_path / "part.mha", "--filter", "hann", "--region", region)
    part = read_mha(tmp_path / "part.mha")
    ranges = [slice(*map(int, r.split(":"))) for r in region.split(",")]
    assert np.array_equal(part[0], whole[0][tuple(reversed(ranges + [slice(None)] * (3 - len(ranges))))])
    first, step, _ = where(tmp_path / "whole.mha")
    begin = [first[i] + (ranges[i].start * step[i] if i < len(ranges) else 0) for i in range(3)]
    assert where(tmp_path / "part.mha")[0] == pytest.approx(begin, abs=1e-5)


@pytest.mark.parametrize("region", ["0:40,0:36", "0:41,0:36,0:20", "5:5,0:36,0:20", "0:40,0:36,0:20,1:2", "0:40;0:36,0:20", "-1:4,0:36,0:20", ""])
def test_regions_that_there_are_not(cone, tmp_path, region):
    assert "--region" in fails(2, "fdk", cone, *SCAN, *GRID, "--region", region, "-o", tmp_path / "v.h5")


@pytest.mark.parametrize("kind", ["mha", "h5", "npy", "tif", "raw"])
def test_fdk_like_another_volume(cone, tmp_path, kind):
    like = tmp_path / f"like.{kind}"
    qb("fdk", cone, *SCAN, *GRID, "-o", like)
    qb("fdk", cone, *SCAN, *GRID, "-o", tmp_path / "a.mha")
    qb("fdk", cone, *SCAN, "--like", like, "-o", tmp_path / "b.mha")
    assert where(tmp_path / "a.mha") == where(tmp_path / "b.mha")
    a, b = read_mha(tmp_path / "a.mha")[0], read_mha(tmp_path / "b.mha")[0]
    assert np.array_equal(a, b)


def test_like_takes_unequal_voxels(cone, tmp_path):
    values = np.zeros((10, 12, 14), "<f4")
    header = ("ObjectType = Image\nNDims = 3\nBinaryData = True\nBinaryDataByteOrderMSB = False\nCompressedData = False\n"
              "%sOffset = -7 3 1.5\nElementSpacing = 1 0.5 2\nDimSize = 14 12 10\nElementType = MET_FLOAT\n"
              "ElementDataFile = LOCAL\n")
    like = tmp_path / "like.mha"
    like.write_bytes((header % "").encode() + values.tobytes())
    plan = qb_json("plan", "fdk", cone, *SCAN, "--like", like, "-o", tmp_path / "v.mha")
    assert plan["size"] == [14, 12, 10] and plan["voxel"] == [1, 0.5, 2]
    assert np.allclose(plan["offset"], [-7 + 6.5, 3 + 5.5 * 0.5, 1.5 + 4.5 * 2])
    qb("fdk", cone, *SCAN, "--like", like, "-o", tmp_path / "v.mha")
    assert where(tmp_path / "v.mha") == [[-7, 3, 1.5], [1, 0.5, 2], [14, 12, 10]]
    like.write_bytes((header % "TransformMatrix = 0 1 0 -1 0 0 0 0 1\n").encode() + values.tobytes())
    fails(3, "fdk", cone, *SCAN, "--like", like, "-o", tmp_path / "w.mha", says=["like.mha", "TransformMatrix"])


def test_like_refusals(cone, parallel, tmp_path):
    np.save(tmp_path / "bare.npy", np.zeros((4, 5, 6), np.float32))
    out = ["-o", tmp_path / "v.h5"]
    fails(3, "fdk", cone, *SCAN, "--like", tmp_path / "none.mha", *out, says=["none.mha"])
    fails(3, "fdk", cone, *SCAN, "--like", tmp_path / "bare.npy", *out, says=["bare.npy", "voxels"])
    qb("fdk", cone, *SCAN, *GRID, "-o", tmp_path / "like.mha")
    for flag in (["--size", "8"], ["--voxel", "2"], ["--offset", "1,2,3"]):
        fails(2, "fdk", cone, *SCAN, "--like", tmp_path / "like.mha", *flag, *out, says=[flag[0], "like.mha"])
    fails(2, "fdk", cone, *SCAN, "--offset", "1,2,3,4", *out, says=["--offset", "three"])
    assert not (tmp_path / "v.h5").exists()


@pytest.mark.parametrize("slices,picked", [("10:20", slice(10, 20)), ("4:20:3", slice(4, 20, 3)), ("-20:-10", slice(-20, -10)),
                                           ("7", slice(7, 8))])
def test_fdk_slices(cone, tmp_path, slices, picked):
    qb("fdk", cone, *SCAN, "-o", tmp_path / "whole.mha")
    qb("fdk", cone, *SCAN, f"--slices={slices}", "-o", tmp_path / "part.mha")
    whole, part = read_mha(tmp_path / "whole.mha")[0], read_mha(tmp_path / "part.mha")[0]
    assert part.shape == whole[picked].shape
    assert np.linalg.norm(part - whole[picked]) < 1e-4 * np.linalg.norm(whole[picked])
    (x, y, z), (dx, dy, dz), _ = where(tmp_path / "whole.mha")
    numbers = range(whole.shape[0])[picked]
    first, spacing, _ = where(tmp_path / "part.mha")
    assert np.allclose(first, [x, y, z + numbers[0] * dz], atol=1e-9)
    assert abs(spacing[2] - dz * numbers.step) < 1e-9


def test_fdk_slices_out_of_range(cone, tmp_path):
    fails(2, "fdk", cone, *SCAN, "--slices", "40:60", "-o", tmp_path / "v.h5", says=["--slices 40:60", "0:48"])


def test_fbp_takes_three_numbers(parallel, tmp_path):
    """Rows 4 to 13 of 30, by their place in mm: (4 + 13) / 2 - 14.5 = -6 rows of 0.5 mm."""
    center = ["--center", "23.5"]
    qb("fbp", parallel, *center, "--slices", "4:14", "-o", tmp_path / "a.mha", "--size", "40,44", "--offset", "1,2")
    qb("fbp", parallel, *center, "--size", "40,44,10", "--offset", "1,2,-3", "-o", tmp_path / "b.mha")
    qb("fbp", parallel, *center, "--like", tmp_path / "a.mha", "-o", tmp_path / "c.mha")
    a = read_mha(tmp_path / "a.mha")[0]
    for other in ("b.mha", "c.mha"):
        assert where(tmp_path / "a.mha") == where(tmp_path / other)
        assert np.array_equal(a, read_mha(tmp_path / other)[0])
    qb("fbp", parallel, *center, "--slices", "3:28:4", "-o", tmp_path / "d.mha")
    qb("fbp", parallel, *center, "--like", tmp_path / "d.mha", "-o", tmp_path / "e.mha")
    assert np.array_equal(read_mha(tmp_path / "d.mha")[0], read_mha(tmp_path / "e.mha")[0])


@pytest.mark.parametrize("options,says", [
    (["--size", "40,40,10", "--offset", "0,0,0.1"], ["row", "--offset"]),
    (["--size", "40,40,10", "--offset", "0,0,6"], ["22 to 31", "0 to 29"]),
    (["--size", "40,40,31"], ["--offset"]),
])
def test_fbp_slices_lie_on_rows(parallel, tmp_path, options, says):
    fails(3, "fbp", parallel, "--center", "23.5", *options, "-o", tmp_path / "v.mha", says=says)


def test_fbp_like_needs_whole_rows(parallel, tmp_path):
    qb("fbp", parallel, "--center", "23.5", "--pixel-size", "0.3", "-o", tmp_path / "like.mha")
    fails(3, "fbp", parallel, "--center", "23.5", "--like", tmp_path / "like.mha", "-o", tmp_path / "v.mha", says=["0.3 mm", "0.6"])


def test_plan_says_the_grid(cone, tmp_path):
    plan = json.loads(qb("plan", "fdk", cone, *SCAN, *GRID, "-o", tmp_path / "v.h5", "--json").stdout)
    assert plan["size"] == [40, 36, 20] and plan["voxel"] == [0.8, 0.8, 0.8] and plan["offset"] == [3.2, -1.6, 4]


def test_unequal_voxels_by_options(cone, tmp_path):
    """--voxel X,Y,Z is what --like of such a volume is: the same bits of fdk; sirt, cgls, project and info take it, too."""
    grid = ["--size", "40,72,12", "--voxel", "1,0.5,2", "--offset", "3,-1,2"]
    plan = qb_json("plan", "fdk", cone, *SCAN, *grid, "-o", tmp_path / "v.mha")
    assert plan["voxel"] == [1, 0.5, 2] and plan["size"] == [40, 72, 12]
    qb("fdk", cone, *SCAN, *grid, "-o", tmp_path / "a.mha")
    assert where(tmp_path / "a.mha")[1] == [1, 0.5, 2]
    qb("fdk", cone, *SCAN, "--like", tmp_path / "a.mha", "-o", tmp_path / "b.mha")
    assert np.array_equal(read_mha(tmp_path / "a.mha")[0], read_mha(tmp_path / "b.mha")[0])
    # Voxels of 0.5 mm at the same places hold the same values.
    qb("fdk", cone, *SCAN, "--size", "40,72,12", "--voxel", "0.5", "--offset", "3,-1,2", "-o", tmp_path / "c.mha")
    a, c = read_mha(tmp_path / "a.mha")[0], read_mha(tmp_path / "c.mha")[0]
    x = [(np.arange(40) - 19.5) * size + 3 for size in (1, 0.5)]
    z = [(np.arange(12) - 5.5) * size + 2 for size in (2, 0.5)]
    same = [(i, j, k, m) for i, p in enumerate(x[0]) for j, q in enumerate(x[1]) if abs(p - q) < 1e-9
            for k, r in enumerate(z[0]) for m, s in enumerate(z[1]) if abs(r - s) < 1e-9]
    assert all(np.allclose(a[k, :, i], c[m, :, j], atol=1e-3 * a.max()) for i, j, k, m in same)
    for method in "sirt", "cgls":
        qb(method, cone, *SCAN, *grid, "--iterations", 1, "-o", tmp_path / "i.mha")
        assert where(tmp_path / "i.mha")[1] == [1, 0.5, 2]
    report = qb_json("info", cone, *SCAN, *grid)
    assert report["geometry"]["volume"]["voxel_mm"] == [1, 0.5, 2]
    np.save(tmp_path / "v.npy", np.full((8, 16, 10), 0.02, np.float32))
    line = ["--geometry", "parallel", "--views", 2, "--angles", "0:180", "--pixel-size", 0.25, "--detector", "64,24"]
    qb("project", tmp_path / "v.npy", "--voxel", "1,0.5,2", *line, "-o", tmp_path / "p.h5")
    p = read_h5(tmp_path / "p.h5")  # along y 16 voxels of 0.5 mm, along x 10 of 1 mm
    assert abs(p[0, 12, 31] - 0.02 * 8) < 1e-5 and abs(p[1, 12, 31] - 0.02 * 10) < 1e-5
    for bad, says in (("1,2", "X,Y,Z"), ("1,0,1", "more than 0")):
        fails(2, "fdk", cone, *SCAN, "--voxel", bad, "-o", tmp_path / "v.mha", says=["--voxel", says])


PITCH = ["--pixel-size", "0.8,1.6"]  # columns and rows of a detector of 72 x 48 mm


def ball_of(path):
    """Its mean well inside, and how wide it is along z, y and x, in mm."""
    volume, header = read_mha(path)
    size = [float(n) for n in header["ElementSpacing"].split()][::-1]
    at = np.meshgrid(*[(np.arange(n) - (n - 1) / 2) * s for n, s in zip(volume.shape, size)], indexing="ij")
    body = np.where(volume > 0.01, 1, 0)
    wide = [2 * np.sqrt(5 * (body * a ** 2).sum() / body.sum()) for a in at]
    return volume[np.sqrt(sum(a ** 2 for a in at)) < 8].mean() / 0.02, np.array(wide)


@slow
@pytest.mark.parametrize("beam", ["parallel", "cone"])
def test_pixels_that_are_not_square(tmp_path, beam):
    """A ball seen by the pixels of a geometry file has its value and its shape by --pixel-size U,V."""
    far = SCAN if beam == "cone" else []
    where_it_is = ["--geometry", beam, *far, "--detector", "90,45", "--views", 120]
    qb("simulate", "ball", *where_it_is, *PITCH, "--voxel", 0.5, "--size", "100,100,100", "--geometry-out", "g.json", "-o", "o.h5", cwd=tmp_path)
    stated = json.loads((tmp_path / "g.json").read_text())
    assert stated["pixel_size"] == [0.8, 1.6]
    qb("simulate", "ball", "--geometry", "g.json", "--voxel", 0.5, "--size", "100,100,100", "-o", "s.h5", cwd=tmp_path)
    assert np.allclose(read_h5(tmp_path / "s.h5"), read_h5(tmp_path / "o.h5"), atol=1e-5)
    grid = [] if beam == "parallel" else ["--size", "90,90,72", "--voxel", 0.5]
    truth = None
    for verb, more in [("fbp" if beam == "parallel" else "fdk", []), ("sirt", ["--iterations", 30]), ("cgls", ["--iterations", 8]), ("tv", ["--iterations", 200])]:
        how = [*(["--center", 44.5] if beam == "parallel" else []), *(far if verb == "fdk" or beam == "cone" else [])]
        if beam == "parallel" and verb != "fbp":
            how += ["--geometry", "parallel"]
        qb(verb, "s.h5", *how, *PITCH, *(grid if verb == "fdk" else []), *more, "-o", "v.mha", cwd=tmp_path)
        value, wide = ball_of(tmp_path / "v.mha")
        truth = wide.max() if truth is None else truth
        assert abs(value - 1) < 0.02 and wide.max() - wide.min() < 0.06 * wide.max() and abs(wide.max() - truth) < 0.06 * truth, (verb, value, wide)
    report = qb_json("info", "s.h5", *PITCH, cwd=tmp_path)
    assert report["pixel_size_mm"] == 0.8 and report["pixel_v_mm"] == 1.6
    for bad in ("1,2,3", "1,0"):
        fails(2, "info", "s.h5", "--pixel-size", bad, cwd=tmp_path, says=["--pixel-size"])
    np.save(tmp_path / "p.npy", np.full((40, 40, 40), 0.02, np.float32))
    qb("project", "p.npy", "--voxel", 1, *where_it_is, *PITCH, "-o", "q.h5", "--geometry-out", "q.json", cwd=tmp_path)
    view = json.loads((tmp_path / "q.json").read_text())["views"][0]
    assert [np.linalg.norm(view[axis]) for axis in "uv"] == pytest.approx([0.8, 1.6])


@pytest.mark.parametrize("voxel", ["1e-7", "1e6", "1,1,1e-7"])
def test_voxels_that_cannot_be_meant(tmp_path, voxel):
    """A million times the scan's, or a millionth: another unit."""
    qb("simulate", "disc", "--geometry", "cone", "--sod", 500, "--sdd", 800, "--pixel-size", 1.6, "--detector", "16,8", "--views", 12, "-o", tmp_path / "s.h5")
    for verb in (["fdk"], ["sirt", "--iterations", 1]):
        fails(2, *verb, tmp_path / "s.h5", "--sod", 500, "--sdd", 800, "--voxel", voxel, "-o", tmp_path / "v.h5", says=["--voxel", "1 mm", "in mm?"])
    qb("fdk", tmp_path / "s.h5", "--sod", 500, "--sdd", 800, "--voxel", 0.001, "-o", tmp_path / "v.h5")


@pytest.mark.parametrize("verb, voxel, slices", [("cgls", 2, 12), ("sirt", 1.7, 15), ("sirt", 0.5, 24)])
def test_larger_voxels_leave_no_slice_empty(tmp_path, verb, voxel, slices):
    """A cylinder through all rows: every slice of it holds the same."""
    qb("simulate", "disc", "--detector", "64,24", "--pixel-size", 1, "--views", 40, "-o", tmp_path / "s.h5")
    qb(verb, tmp_path / "s.h5", "--center", 31.5, "--iterations", 30, "--voxel", voxel, "-o", tmp_path / "v.npy")
    volume = np.load(tmp_path / "v.npy")
    assert volume.shape == (slices, 64, 64)
    if voxel > 1:
        assert volume[:, 24:40, 24:40].mean(axis=(1, 2)) == pytest.approx(0.02, rel=0.08)
