# SPDX-License-Identifier: MIT
"""Objects wider than the detector: told by every method, on every device; and not of scans that are as they should be."""
import json

import numpy as np
import pytest

from conebeam import Circle
from qbtest import few, opencl, qb, qb_json, sinogram, write_scan  # noqa: F401 (a fixture)

WORDS = "do not end in air"
COLUMNS, ROWS, MU = 64, 8, 0.02
HALF = np.arange(90) * 2.0
TURN = np.arange(120) * 3.0
MIDDLE = (COLUMNS - 1) / 2
INSIDE = [(MU, 27, 25, 2, -1, 20), (MU, 6, 4, -8, 9, 0)]
WIDE = [(MU, 43, 38, 1, -2, 30)]
LONG = [(MU, 45, 15, 0, 0, 0)]  # leaves the detector in some views only
SOLVED = [["cgls", "--iterations", 1], ["sirt", "--iterations", 1], ["mbir", "--equits", 1]]


def slab(object_, angles, center=MIDDLE, rows=ROWS):
    return np.repeat(sinogram(object_, angles, COLUMNS, center)[:, None], rows, axis=1)


def told(folder, scan, verb, *how):
    done = qb(*verb, scan, "-o", folder / "v.npy", "--json", *how)
    found = json.loads(done.stdout).get("wider_than_detector")
    assert (found is not None) == (WORDS in done.stderr)
    assert done.stderr.count(WORDS) <= 1
    return found, done.stderr


def lines(folder, p, angles):
    return write_scan(folder / "s.h5", p.astype(np.float32), angles, pixel=1.0, quantity="line_integral")


def counts(folder, p, angles, photons, seed=3, gain=1.0):
    """With `gain` an open beam that is brighter or darker than the flats say, view by view."""
    rng = np.random.default_rng(seed)
    raw = rng.poisson(photons * gain * np.exp(-p)).astype(np.uint16)
    flats = rng.poisson(photons, (20, *p.shape[1:])).astype(np.uint16)
    return write_scan(folder / "s.h5", raw, angles, flats=flats, darks=np.zeros_like(flats[:2]), pixel=1.0)


def holder():
    """A clamp as wide as the detector across a quarter of the rows."""
    p = slab(INSIDE, HALF)
    p[:, :2] += 3
    return p


def empty():
    """Noise around nothing, but for a few rows."""
    p = slab(INSIDE, HALF)
    p[:, 3:] = 0
    return p


GOOD = {
    "inside": lambda d: lines(d, slab(INSIDE, HALF), HALF),
    "to the last column but one": lambda d: lines(d, slab([(MU, 30.5, 30.5, 0, 0, 0)], HALF), HALF),
    "few photons": lambda d: counts(d, slab(INSIDE, HALF), HALF, 40),
    "next to nothing, few photons": lambda d: counts(d, 0.05 * slab(INSIDE, HALF), HALF, 400),
    "air 2 % too bright": lambda d: counts(d, 0.1 * slab(INSIDE, HALF), HALF, 60000, gain=1.02),
    "air 2 % too dark": lambda d: counts(d, 0.1 * slab(INSIDE, HALF), HALF, 60000, gain=0.98),
    "air that drifts": lambda d: counts(d, slab(INSIDE, HALF), HALF, 30000, gain=np.linspace(0.98, 1.02, 90)[:, None, None]),
    "empty rows": lambda d: counts(d, empty(), HALF, 1000),
    "nothing at all": lambda d: counts(d, 0 * empty(), HALF, 1000),
    "a holder": lambda d: lines(d, holder(), HALF),
    "a turn": lambda d: lines(d, slab(INSIDE, TURN), TURN),
}


@pytest.mark.parametrize("what", GOOD)
def test_good_scans_are_none_of_it(tmp_path, what):
    scan = GOOD[what](tmp_path)
    for verb in (["fbp"], SOLVED[0]):
        assert told(tmp_path, scan, verb, "--center", MIDDLE)[0] is None
    if what in ("inside", "few photons"):
        assert told(tmp_path, scan, SOLVED[2], "--center", MIDDLE)[0] is None


@pytest.mark.parametrize("photons", [0, 60])
@pytest.mark.parametrize("verb", [["fbp"], *SOLVED], ids=lambda v: v[0])
def test_a_wider_object_is_told(tmp_path, verb, photons):
    p = slab(WIDE, HALF)
    found, said = told(tmp_path, counts(tmp_path, p, HALF, photons) if photons else lines(tmp_path, p, HALF), verb, "--center", MIDDLE)
    assert found["left"] > 0.5 and found["right"] > 0.5
    assert ("--pad ellipse" if verb == ["fbp"] else "--size 8") in said
    if not photons:
        assert found["left"] == found["right"] == 1
        assert 0.4 < found["of_largest"] < 0.8


def test_of_some_views(tmp_path):
    found, _ = told(tmp_path, lines(tmp_path, slab(LONG, HALF), HALF), ["fbp"], "--center", MIDDLE)
    far = np.hypot(45 * np.cos(np.deg2rad(HALF)), 15 * np.sin(np.deg2rad(HALF))) > COLUMNS / 2
    assert found["left"] == pytest.approx(far.mean(), abs=0.1)


@pytest.mark.parametrize("side", ["left", "right"])
def test_one_side(tmp_path, side):
    """A dish beside the axis is cut on either side in some views; of half a turn about an axis that is not in the middle on one."""
    center = MIDDLE + (-8 if side == "left" else 8)
    found, _ = told(tmp_path, lines(tmp_path, slab([(MU, 30, 30, 0, 0, 0)], HALF, center), HALF), ["fbp"], "--center", center)
    other = "right" if side == "left" else "left"
    assert found[side] == 1 and found[other] == 0


@pytest.mark.parametrize("verb", [["fbp"], *SOLVED], ids=lambda v: v[0])
@pytest.mark.parametrize("off", [20, -20])
def test_full_turns_with_the_axis_to_one_side(tmp_path, off, verb):
    """What the near end cuts off is seen half a turn later: only the far end counts."""
    center = MIDDLE + off
    near, far = COLUMNS / 2 - abs(off), COLUMNS / 2 + abs(off)
    wide = ["left", "right"][off < 0]
    scan = lines(tmp_path, slab([(MU, near + 20, near + 25, 0, 0, 0)], TURN, center), TURN)
    assert told(tmp_path, scan, verb, "--center", center)[0] is None
    scan = lines(tmp_path, slab([(MU, far + 5, far + 9, 0, 0, 0)], TURN, center), TURN)
    found, said = told(tmp_path, scan, verb, "--center", center)
    assert found[wide] == 1 and len(found) == 2 and f"on the {wide}" in said


@pytest.mark.parametrize("verb,how", [
    (["fbp"], ["--pad", "ellipse"]), (["fbp"], ["--pad", "taper"]), (["fbp"], ["--filter", "none"]),
    *((verb, ["--size", "84,84"]) for verb in SOLVED)], ids=lambda v: "-".join(map(str, v[:2])))
def test_what_has_been_seen_to_is_not_told(tmp_path, verb, how):
    scan = lines(tmp_path, slab(WIDE, HALF), HALF)
    assert told(tmp_path, scan, verb, "--center", MIDDLE, *how)[0] is None
    if "--filter" not in how:
        assert told(tmp_path, scan, verb, "--center", MIDDLE, *(["--pad", "mirror"] if verb == ["fbp"] else ["--size", "70,70"]))[0]


def test_a_volume_that_is_large_enough_helps(tmp_path):
    """What the warning says is worth it."""
    p = slab([(MU, 45, 45, 0, 0, 0)], HALF, rows=1)
    scan, off = lines(tmp_path, p, HALF), {}
    y, x = np.mgrid[:COLUMNS, :COLUMNS] - MIDDLE
    for n in (64, 84):
        qb("cgls", scan, "-o", tmp_path / "v.npy", "--center", MIDDLE, "--iterations", 20, "--size", f"{n},{n}")
        v = np.load(tmp_path / "v.npy")[0]
        m = (n - COLUMNS) // 2
        v = v[m:m + COLUMNS, m:m + COLUMNS]
        off[n] = np.sqrt(((v[np.hypot(x, y) < 28] / MU - 1) ** 2).mean())
    assert off[84] < 0.5 * off[64]


@pytest.mark.parametrize("chunks", [(1, ROWS, COLUMNS), (90, 1, COLUMNS), (90, ROWS, COLUMNS), (7, 3, 20)])
def test_however_it_is_stored(tmp_path, chunks):
    """Pieces that hold several of the rows looked at are unpacked once: the same rows, the same numbers."""
    p = slab(LONG, HALF) * np.linspace(1, 2, ROWS)[:, None]
    plain = told(tmp_path, lines(tmp_path, p, HALF), ["fbp"], "--center", MIDDLE)[0]
    scan = write_scan(tmp_path / "z.h5", p.astype(np.float32), HALF, pixel=1.0, quantity="line_integral", chunks=chunks, compression="gzip")
    assert told(tmp_path, scan, ["fbp"], "--center", MIDDLE)[0] == plain
    np.save(tmp_path / "t.npy", np.ascontiguousarray(p.astype(np.float32).swapaxes(0, 1)))
    turned = told(tmp_path, tmp_path / "t.npy", ["fbp"], "--center", MIDDLE, "--as", "sinogram", "--angles", "0:180", "--pixel-size", 1)[0]
    assert turned == plain


def test_of_one_row_and_few_views(tmp_path):
    for views in (1, 2, 5):
        angles = np.arange(views) * 30.0
        assert (told(tmp_path, lines(tmp_path, slab(WIDE, angles, rows=1), angles), ["fbp"], "--center", MIDDLE)[0] is None) == (views == 1)
        assert told(tmp_path, lines(tmp_path, slab(INSIDE, angles, rows=1), angles), ["fbp"], "--center", MIDDLE)[0] is None


def test_every_second_slice(tmp_path):
    p = slab(INSIDE, HALF)
    p[:, 1::2] = slab(WIDE, HALF)[:, 1::2]
    scan = lines(tmp_path, p, HALF)
    assert told(tmp_path, scan, ["fbp"], "--center", MIDDLE, "--slices", "0:8:2")[0] is None
    assert told(tmp_path, scan, ["fbp"], "--center", MIDDLE, "--slices", "1:8:2")[0]["left"] == 1


def test_ends_that_were_not_measured(tmp_path):
    """NaN, as a mask leaves it: the first values that are some tell, be they bridged or left out."""
    for object_, is_wide in ((WIDE, True), ([(MU, 22, 23, 1, 2, 0)], False)):
        p = slab(object_, HALF)
        p[:, :, :2] = p[:, :, -3:] = np.nan
        for verb in (["fbp"], SOLVED[2]):
            assert (told(tmp_path, lines(tmp_path, p, HALF), verb, "--center", MIDDLE)[0] is not None) == is_wide


# ---- cones ----

CONES = [(MU, (1, -1, 0), (28, 26, 6))], [(MU, (1, -1, 0), (50, 45, 6))]
CONE_ANGLES = np.arange(60) * 6.0


def cone(folder, object_, angles=CONE_ANGLES, **more):
    circle = Circle(500, 750, COLUMNS, 16, 1.5, **more)
    scan = write_scan(folder / "s.h5", circle.project(object_, angles), angles, quantity="line_integral")
    u, v = circle.offset
    return scan, [*circle.args(), f"--detector-offset={u},{v}", "--tilt", ",".join(str(t) for t in circle.tilt)]


@pytest.mark.parametrize("more", few({}, {"tilt": (0, 0, 3)}, others=[{"tilt": (4, 0, 0)}, {"tilt": (0, 5, 0)}, {"offset": (0, 3)}]), ids=str)
def test_cones(tmp_path, more):
    for verb in (["fdk"], SOLVED[0]):
        scan, how = cone(tmp_path, CONES[0], **more)
        assert told(tmp_path, scan, verb, *how)[0] is None
        scan, how = cone(tmp_path, CONES[1], **more)
        found, said = told(tmp_path, scan, verb, *how)
        assert found["left"] > 0.6 and found["right"] > 0.6
        assert ("--pad ellipse" if verb == ["fdk"] else "--size 8") in said
    assert told(tmp_path, scan, ["fdk"], *how, "--pad", "ellipse")[0] is None


@pytest.mark.parametrize("u", [24, -24])
def test_half_fans(tmp_path, u):
    wide = "right" if u > 0 else "left"
    for verb in (["fdk"], ["sirt", "--iterations", 1]):
        scan, how = cone(tmp_path, [(MU, (0, 0, 0), (34, 36, 6))], offset=(u, 0))
        assert told(tmp_path, scan, verb, *how)[0] is None
        scan, how = cone(tmp_path, [(MU, (0, 0, 0), (60, 58, 6))], offset=(u, 0))
        found, said = told(tmp_path, scan, verb, *how)
        assert found[wide] > 0.6 and len(found) == 2


def test_fans(tmp_path):
    circle = Circle(500, 750, COLUMNS, 1, 1.5)
    for object_, is_wide in zip(CONES, (False, True)):
        scan = write_scan(tmp_path / "s.h5", circle.project(object_, CONE_ANGLES), CONE_ANGLES, quantity="line_integral")
        assert (told(tmp_path, scan, SOLVED[2], *circle.args())[0] is not None) == is_wide


def test_devices(tmp_path, opencl):
    """They take raw numbers up: it is told before, the same words."""
    other = tmp_path / "cone"
    other.mkdir()
    for scan, how, verb in ((lines(tmp_path, slab(WIDE, HALF), HALF), ["--center", MIDDLE], ["fbp"]), (*cone(other, CONES[1]), ["fdk"])):
        here, device = (told(tmp_path, scan, verb, *how, "--device", d) for d in ("cpu", opencl))
        assert here[0] == device[0] and here[0]["left"] > 0.6


# ---- columns at the ends that measured nothing ----

def cut_disc(kind, columns=64, cut=14, views=90, rows=4):
    """Line integrals, or counts with their fields, of a disc of radius 20 of which 18 columns on either side of the axis were measured."""
    s = np.arange(columns) - (columns - 1) / 2
    lines = np.broadcast_to(2 * 0.02 * np.sqrt(np.maximum(20.0 ** 2 - s ** 2, 0)), (views, rows, columns)).copy()
    margin = np.r_[0:cut, columns - cut:columns]
    if kind in ("NaN", "0"):
        lines[:, :, margin] = float(kind)
        return {"projections": lines.astype("f4"), "quantity": "line_integral"}
    flats, darks = np.full((3, rows, columns), 40100), np.full((3, rows, columns), 100)
    counts = np.round(40000 * np.exp(-lines)) + 100
    for part in (counts, flats, darks) if kind == "dead" else (counts,):
        part[:, :, margin] = 0
    return {"projections": counts.astype("u2"), "flats": flats.astype("u2"), "darks": darks.astype("u2")}


@pytest.mark.parametrize("kind", ["NaN", "0", "counts of 0", "dead"])
def test_padding_begins_at_the_last_measured_column(tmp_path, kind):
    """As of a detector that is so narrow: the row-ends are no air, and --pad ellipse makes up for what is cut off."""
    angles = np.arange(90) * 2.0
    scan = write_scan(tmp_path / "s.h5", **cut_disc(kind), angles_deg=angles, pixel=1)
    s = np.arange(64) - 31.5
    inner = s[:, None] ** 2 + s ** 2 < 10 ** 2
    for verb, how in ("fbp", []), ("cgls", ["--iterations", 8]), ("mbir", ["--equits", 2]):
        said = qb(verb, scan, "--center", 31.5, *how, "-o", tmp_path / "v.npy").stderr
        assert "[row-ends]" in said and ("[margins-empty]" in said) == (kind in ("0", "counts of 0")), said
    said = qb("fbp", scan, "--center", 31.5, "--pad", "ellipse", "-o", tmp_path / "v.npy").stderr
    assert "row-ends" not in said
    assert np.load(tmp_path / "v.npy")[:, inner].mean() == pytest.approx(0.02, rel=0.01)
    if kind in ("0", "counts of 0"):
        [finding] = [f for f in qb_json("info", scan)["findings"] if f["code"] == "margins-empty"]
        assert finding["which"] == "0-13, 50-63" and finding["count"] == 28


@pytest.mark.parametrize("pad", ["ellipse", "taper", "zero"])
def test_devices_pad_from_the_last_measured_column(tmp_path, opencl, pad):
    scan = write_scan(tmp_path / "s.h5", **cut_disc("NaN"), angles_deg=np.arange(90) * 4.0, pixel=1)
    for verb, how in ("fbp", ["--center", 31.5]), ("fdk", ["--sod", 5000, "--sdd", 6000]):
        for device in "cpu", opencl:
            qb(verb, scan, *how, "--pad", pad, "--device", device, "--accuracy", "high", "-o", tmp_path / f"{device[:3]}.npy")
        cpu, other = np.load(tmp_path / "cpu.npy"), np.load(tmp_path / f"{opencl[:3]}.npy")
        assert np.abs(cpu - other).max() < 1e-4 * np.abs(cpu).max()


@pytest.mark.parametrize("phantom", ["disc", "shepp-logan", "ball", "foam"])
def test_air_is_no_empty_margin(tmp_path, phantom):
    """Without noise air is 0, and an object ends at the same column in all views."""
    for more in [], ["--geometry", "cone", "--sod", 500, "--sdd", 800]:
        qb("simulate", phantom, "--views", 40, "--detector", "64,6", "--pixel-size", 1, *more, "-o", tmp_path / "s.h5")
        assert not [p for p in qb_json("info", tmp_path / "s.h5")["problems"] if "margins" in p]
        qb("convert", tmp_path / "s.h5", *([] if more else ["--center", "middle"]), "-o", tmp_path / "l.h5")
        assert not [p for p in qb_json("info", tmp_path / "l.h5")["problems"] if "margins" in p]
