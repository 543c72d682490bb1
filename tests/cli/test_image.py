# SPDX-License-Identifier: MIT
"""--rotate, --flip, --crop and --bin: as if the file had been written so, to the last bit, with all that belongs to it."""
import numpy as np
import pytest

from qbtest import fails, opencl, qb, qb_json, read_h5, write_scan

COLUMNS, ROWS, VIEWS, PIXEL, AXIS = 72, 12, 90, 0.5, 38.25  # mm, column
ANGLES = np.arange(VIEWS) * 180 / VIEWS
CASES = {
    "bin": ["--bin", "2"],
    "bins": ["--bin", "3x2"],
    "crop": ["--crop", "6:66,2:10"],
    "columns": ["--crop", "4:"],
    "flip u": ["--flip", "u"],
    "flip v": ["--flip", "v"],
    "half turn": ["--rotate", "180"],
    "all": ["--rotate", "180", "--flip", "v", "--crop", "5:69,1:9", "--bin", "2x2"],
}


def changed(stack, options, total=False):
    """What numpy makes of images [...][row][column]."""
    at = dict(zip(options[::2], options[1::2]))
    stack = np.rot90(stack, -int(at.get("--rotate", 0)) // 90, axes=(-2, -1))
    if "u" in at.get("--flip", ""):
        stack = stack[..., ::-1]
    if "v" in at.get("--flip", ""):
        stack = stack[..., ::-1, :]
    window = (at.get("--crop", ":") + ",:").split(",")[:2]
    columns, rows = (slice(*(int(n) if n else None for n in text.split(":"))) for text in window)
    stack = stack[..., rows, columns]
    bins = [int(n) for n in (at.get("--bin", "1") + "x" + at.get("--bin", "1")).split("x")[:2]]
    r, c = (stack.shape[-2 + i] // bins[1 - i] for i in range(2))
    stack = stack[..., :r * bins[1], :c * bins[0]].reshape(*stack.shape[:-2], r, bins[1], c, bins[0]).astype("f8")
    return (stack.sum(axis=(-3, -1)) if total else stack.mean(axis=(-3, -1))).astype("f4"), bins


def column_of(column, options):
    """The same place in the images as they are read."""
    at = dict(zip(options[::2], options[1::2]))
    first = int((at.get("--crop", "0:").split(":")[0]) or 0)
    return (column - first + 0.5) / int(at.get("--bin", "1").split("x")[0]) - 0.5


def upright_axis(options):
    return COLUMNS - 1 - AXIS if ("u" in options) != ("180" in options) else AXIS


def counts_of(axis=AXIS, rows=ROWS, columns=COLUMNS):
    """Two discs off the axis, of 0.1/mm, less in each row; gains of pixels and a dark that is not level."""
    rng = np.random.default_rng(3)
    s = np.arange(columns) - axis
    p = np.zeros((VIEWS, rows, columns))
    for x, y, radius, mu in ((6, 2, 8, 0.05), (-9, -6, 4, 0.1)):
        t = np.deg2rad(ANGLES)[:, None, None]
        at = s * PIXEL - (x * np.cos(t) + y * np.sin(t)) * PIXEL
        p += 2 * mu * np.sqrt(np.maximum((radius * PIXEL) ** 2 - at ** 2, 0)) * (1 - 0.05 * np.arange(rows))[:, None]
    gain, dark = rng.uniform(0.9, 1.1, (rows, columns)), rng.uniform(90, 110, (rows, columns))
    counts = rng.poisson(30000 * gain * np.exp(-p)) + dark
    flats, darks = rng.poisson(30000 * gain, (5, rows, columns)) + dark, np.broadcast_to(dark, (3, rows, columns))
    return [np.round(a).astype("u2") for a in (counts, flats, darks)]


def both(tmp_path, options):
    """The scan, and a copy that is changed by hand."""
    scan, copy = tmp_path / "scan.h5", tmp_path / "copy.h5"
    stacks = counts_of()
    write_scan(scan, stacks[0], ANGLES, *stacks[1:], pixel=PIXEL)
    made = [changed(a, options, True) for a in stacks]
    write_scan(copy, made[0][0], ANGLES, made[1][0], made[2][0], pixel=PIXEL * made[0][1][0], quantity="counts")
    more = [] if made[0][1][0] == made[0][1][1] else ["--pixel-size", f"{PIXEL * made[0][1][0]},{PIXEL * made[0][1][1]}"]
    return scan, copy, more


@pytest.mark.parametrize("name", CASES)
def test_as_if_stored_so(tmp_path, name):
    options = CASES[name]
    scan, copy, more = both(tmp_path, options)
    qb("convert", scan, *options, "-o", tmp_path / "a.h5")
    qb("convert", copy, *more, "-o", tmp_path / "b.h5")
    assert np.array_equal(read_h5(tmp_path / "a.h5"), read_h5(tmp_path / "b.h5"))
    axis = upright_axis(options)
    for cap in ([], ["--max-ram", "60M"]):
        told = qb_json("fbp", scan, *options, "--center", axis, "-o", tmp_path / "a.h5", *cap)
        qb("fbp", copy, *more, "--center", column_of(axis, options), "-o", tmp_path / "b.h5")
        assert np.array_equal(read_h5(tmp_path / "a.h5"), read_h5(tmp_path / "b.h5")), cap
        assert told["column"] == pytest.approx(axis)


WAYS = {"sirt": ["-g", "parallel", "--iterations", 3], "cgls": ["-g", "parallel", "--iterations", 3],
        "tv": ["-g", "parallel", "--iterations", 3], "mbir": ["--equits", 2]}


@pytest.mark.parametrize("verb", WAYS)
def test_every_method(tmp_path, verb):
    options = CASES["all"]
    scan, copy, more = both(tmp_path, options)
    axis = upright_axis(options)
    qb(verb, scan, *options, "--center", axis, *WAYS[verb], "-o", tmp_path / "a.h5")
    qb(verb, copy, *more, "--center", column_of(axis, options), *WAYS[verb], "-o", tmp_path / "b.h5")
    assert np.array_equal(read_h5(tmp_path / "a.h5"), read_h5(tmp_path / "b.h5"))


@pytest.mark.parametrize("name", ["bin", "crop", "flip u", "all"])
def test_axis_is_told_on_the_whole_detector(tmp_path, name):
    options = CASES[name]
    scan, _, _ = both(tmp_path, options)
    told = qb_json("center", scan, *options)
    assert told["column"] == pytest.approx(upright_axis(options), abs=0.15)
    assert "columns 0..71" in fails(2, "fbp", scan, "--center", 80, "-o", tmp_path / "a.h5")
    assert "outside" in fails(2, "fbp", scan, *CASES["crop"], "--center", 5, "-o", tmp_path / "a.h5", says=["6..65"])


def test_a_quarter_turn(tmp_path):
    """The axis along the rows of the file: turned upright it is the same scan."""
    stacks = counts_of()
    for degrees in (90, 270):
        turned = [np.rot90(a, degrees // 90, axes=(-2, -1)) for a in stacks]
        scan = write_scan(tmp_path / f"{degrees}.h5", turned[0], ANGLES, *turned[1:], pixel=PIXEL)
        qb("convert", scan, "--rotate", degrees, "-o", tmp_path / "a.h5")
        write_scan(tmp_path / "upright.h5", stacks[0], ANGLES, *stacks[1:], pixel=PIXEL)
        qb("convert", tmp_path / "upright.h5", "-o", tmp_path / "b.h5")
        assert np.array_equal(read_h5(tmp_path / "a.h5"), read_h5(tmp_path / "b.h5"))
    np.save(tmp_path / "s.npy", stacks[0].swapaxes(0, 1))
    assert "whole views" in fails(3, "info", tmp_path / "s.npy", "--as", "sinogram", "--rotate", 90)


def test_sinograms_and_masks(tmp_path):
    options = CASES["all"]
    stacks, mask = counts_of(), np.zeros((ROWS, COLUMNS), "u1")
    mask[3, 20] = mask[6:8, 40] = 1
    np.save(tmp_path / "mask.npy", mask)
    write_scan(tmp_path / "scan.h5", stacks[0], ANGLES, *stacks[1:], pixel=PIXEL)
    write_scan(tmp_path / "rows.h5", stacks[0].swapaxes(0, 1), ANGLES, *stacks[1:], pixel=PIXEL)
    qb("convert", tmp_path / "scan.h5", *options, "--mask", tmp_path / "mask.npy", "-o", tmp_path / "a.h5")
    qb("convert", tmp_path / "rows.h5", "--as", "sinogram", *options, "--mask", tmp_path / "mask.npy", "-o",
       tmp_path / "b.h5")
    assert np.array_equal(read_h5(tmp_path / "a.h5"), read_h5(tmp_path / "b.h5"))
    told = qb_json("info", tmp_path / "scan.h5", *options, "--mask", tmp_path / "mask.npy")
    assert told["not_measured"]["masked"] == (changed(mask, options, True)[0] > 0).sum() == 3
    assert (told["columns"], told["rows"], told["pixel_size_mm"]) == (32, 4, 2 * PIXEL)


def test_saturated_pixels_of_a_bin(tmp_path):
    counts, flats, darks = counts_of()
    counts[:, 3, 30] = 65535
    write_scan(tmp_path / "scan.h5", counts, ANGLES, flats, darks, pixel=PIXEL)
    qb("convert", tmp_path / "scan.h5", "--bin", 2, "-o", tmp_path / "a.h5")
    clean = counts.copy()
    clean[:, 3, 30] = counts[:, 3, 29]
    write_scan(tmp_path / "clean.h5", clean, ANGLES, flats, darks, pixel=PIXEL)
    qb("convert", tmp_path / "clean.h5", "--bin", 2, "-o", tmp_path / "b.h5")
    a, b = read_h5(tmp_path / "a.h5"), read_h5(tmp_path / "b.h5")
    assert np.abs(a - b)[:, 1, 15].max() < 0.3  # bridged from its neighbours, not a beam of 65535
    assert np.array_equal(np.delete(a[:, 1], 15, -1), np.delete(b[:, 1], 15, -1))


CONE = ["--sod", 200, "--sdd", 400]


@pytest.mark.parametrize("name", ["bin", "crop", "all"])
def test_cone_geometry_follows(tmp_path, name):
    """A ball is where it is, as large as it is and as dense, whatever part of the detector shows it."""
    scan = tmp_path / "scan.h5"
    offset = ["--detector-offset", "1.5,-1"]
    qb("simulate", "spheres", "-g", "cone", *CONE, *offset, "--detector", "96,64", "--pixel-size", 1, "--views", 120,
       "--size", "32,32,32", "--voxel", 1, "-o", scan, "--geometry-out", tmp_path / "g.json")
    options = {"bin": ["--bin", 2], "crop": ["--crop", "6:92,8:60"], "all": ["--crop", "6:92,8:60", "--bin", "2"]}[name]
    place = ["--size", "32,32,16", "--voxel", 1]
    qb("fdk", scan, *CONE, *offset, *place, "-o", tmp_path / "whole.h5")
    qb("fdk", scan, *CONE, *offset, *place, *options, "-o", tmp_path / "part.h5")
    qb("fdk", scan, "-g", tmp_path / "g.json", *place, *options, "-o", tmp_path / "file.h5")
    whole, part, file = (read_h5(tmp_path / f"{n}.h5") for n in ("whole", "part", "file"))
    slopes = np.stack([g.ravel() for g in np.gradient(whole.astype("f8"))], 1)
    moved = np.linalg.lstsq(slopes, (whole - part).ravel(), rcond=None)[0]  # voxels along z, y, x
    assert np.abs(moved).max() < 0.02
    assert np.linalg.norm(file - part) < 1e-3 * np.linalg.norm(part)
    assert np.linalg.norm(part - whole) < (0.03 if name == "crop" else 0.35) * np.linalg.norm(whole)


def test_devices(tmp_path, opencl):
    options = CASES["all"]
    scan, copy, more = both(tmp_path, options)
    qb("fbp", scan, *options, "--center", 30, "--device", "opencl:0", "-o", tmp_path / "a.h5")
    qb("fbp", copy, *more, "--center", column_of(30, options), "--device", "opencl:0", "-o", tmp_path / "b.h5")
    assert np.array_equal(read_h5(tmp_path / "a.h5"), read_h5(tmp_path / "b.h5"))


def test_refusals(tmp_path):
    stacks = counts_of()
    scan = write_scan(tmp_path / "scan.h5", stacks[0], ANGLES, *stacks[1:], pixel=PIXEL)
    for options, says in ((["--bin", 0], "1 to 64"), (["--bin", "2x"], "1 to 64"), (["--bin", 1.5], "whole"),
                          (["--crop", "10:90"], "0:72"), (["--crop", "0:72:2"], "--bin"), (["--crop", "9:3"], "0:72"),
                          (["--crop", "0:4", "--bin", 8], "leaves none"), (["--rotate", 45], "45"),
                          (["--flip", "w"], "w")):
        assert says in fails(2, "info", scan, *options), options
    np.save(tmp_path / "small.npy", stacks[1][:, :, ::2])
    fails(3, "info", scan, "--bin", 2, "--flats", tmp_path / "small.npy", says=["12 x 36", "12 x 72"])
    wrapped = (stacks[0].astype("i4") * 2).astype("u2").view("i2")
    write_scan(tmp_path / "wrapped.h5", wrapped, ANGLES, pixel=PIXEL, quantity="counts")
    fails(3, "fbp", tmp_path / "wrapped.h5", "--bin", 2, "-o", tmp_path / "a.h5", says=["--unsigned"])
