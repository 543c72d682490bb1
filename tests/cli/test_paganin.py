# SPDX-License-Identifier: MIT
"""--paganin: phase retrieval of one distance. The oracle is the formula by numpy's FFT in double precision; projections with phase
contrast are made by the same formula the other way, so that what goes in is what must come out."""
import math
import re

import h5py
import numpy as np
import pytest

from qbtest import MPIRUN, NO_RANKS, QB, RANKS_ENV, circle, fails, opencl, qb, qb_json, sinogram, smallest_cap, write_scan  # noqa: F401

HC = 1.2398419843320026e-6  # keV mm
PIXEL, ENERGY, DISTANCE, RATIO = 0.002, 20.0, 150.0, 200.0  # mm, keV, mm, delta/beta


def length_of(ratio=RATIO, energy=ENERGY, distance=DISTANCE):
    """mm"""
    return math.sqrt(math.pi * HC / energy * distance * ratio)


BEAM = ["--paganin", RATIO, "--energy", ENERGY, "--distance", DISTANCE, "--pixel-size", PIXEL]
PIXELS = length_of() / PIXEL


# ---- the oracle ----

def response(shape, length, generalised=False):
    """(L f)^2 + 1 on numpy's grid; length in pixels, of rows and of columns or one for both."""
    v, u = np.broadcast_to(length, 2)
    f = [np.fft.fftfreq(n) for n in shape]
    if generalised:
        f = [np.sin(np.pi * g) / np.pi for g in f]
    return 1 + (v * f[0][:, None]) ** 2 + (u * f[1]) ** 2


def margin(length):
    return int(2 * np.max(length)) + 40


def filtered(t, length, generalised=False):
    """Transmissions [view][row][column] as the filter must hand them out, edges going on."""
    m = margin(length)
    rows = m if t.shape[1] > 1 else 0
    p = np.pad(np.asarray(t, float), ((0, 0), (rows, rows), (m, m)), mode="edge")
    p = np.fft.ifft2(np.fft.fft2(p, axes=(1, 2)) / response(p.shape[1:], length, generalised), axes=(1, 2)).real
    return p[:, rows:rows + t.shape[1], m:m + t.shape[2]]


def contrast(t, length, generalised=False):
    """What a detector at that distance sees of transmissions: the same the other way."""
    m = margin(length)
    rows = m if t.shape[1] > 1 else 0
    p = np.pad(np.asarray(t, float), ((0, 0), (rows, rows), (m, m)), mode="edge")
    p = np.fft.ifft2(np.fft.fft2(p, axes=(1, 2)) * response(p.shape[1:], length, generalised), axes=(1, 2)).real
    return p[:, rows:rows + t.shape[1], m:m + t.shape[2]]


# ---- scans ----

def noisy(rows=12, columns=96, views=5, seed=0):
    """Transmissions with an edge along rows and columns, fine structure and noise."""
    random = np.random.default_rng(seed)
    t = np.ones((views, rows, columns))
    t[:, :, columns // 3:2 * columns // 3] = 0.4
    t[:, rows // 2:] *= 0.8
    return t * random.uniform(0.9, 1.1, t.shape)


def save(folder, t):
    np.save(folder / "t.npy", t.astype(np.float32))
    return folder / "t.npy", "--angles", "0:180", "--quantity", "transmission"


def converted(folder, scan, *how):
    qb("convert", *scan, "-o", folder / "p.npy", *how)
    return np.load(folder / "p.npy").astype(float)


def disc(columns=96, rows=6, views=90, mu=10):
    """Line integrals of a disc; mu in 1/mm."""
    angles = np.arange(views) * 180 / views
    p = sinogram([(mu * PIXEL, columns / 3, columns / 3, 0, 0, 0)], angles, columns, (columns - 1) / 2)
    return np.repeat(p[:, None], rows, axis=1), angles


def counts_of(path, t, angles, photons=30000, **how):
    """Counts behind a detector whose pixels differ, with its fields; the pixel size is not stated."""
    random = np.random.default_rng(3)
    dark = random.integers(90, 110, t.shape[1:])
    beam = np.rint(photons * random.uniform(0.8, 1.2, t.shape[1:]))
    fields = [np.repeat(f[None], 3, axis=0).astype(np.uint16) for f in (beam + dark, dark)]
    return write_scan(path, np.rint(t * beam + dark).astype(np.uint16), angles, *fields, **how)


# ---- the filter ----

@pytest.mark.parametrize("kernel", ["plain", "generalised"])
@pytest.mark.parametrize("rows,columns", [(1, 80), (2, 64), (13, 97), (70, 33)])
def test_every_value_is_the_oracles(tmp_path, kernel, rows, columns):
    t = noisy(rows, columns)
    got = np.exp(-converted(tmp_path, save(tmp_path, t), "--paganin", "6px", "--paganin-kernel", kernel))
    assert np.abs(got - filtered(t, 6, kernel == "generalised")).max() < 3e-4 * 0.6  # beyond the margin; float32 is far below


def test_blocks_join_without_a_seam(tmp_path):
    """More rows than a block has: every row is the oracle's, also next to where blocks meet."""
    t = noisy(900, 24, 2)
    got = np.exp(-converted(tmp_path, save(tmp_path, t), "--paganin", "3px"))
    assert np.abs(got - filtered(t, 3)).max() < 1e-4


def test_a_long_kernel_ends_in_the_margin(tmp_path):
    t = noisy(900, 40, 2)
    t[:, 384:] *= 0.5
    got = np.exp(-converted(tmp_path, save(tmp_path, t), "--paganin", "30px"))
    assert np.abs(got - filtered(t, 30)).max() < 1e-4


@pytest.mark.parametrize("how", [BEAM, ["--paganin", f"alpha:{1 / (4 * math.pi ** 2 * RATIO)!r}", *BEAM[2:]],
                                 ["--paganin", f"nabu:{RATIO}", *BEAM[2:]], ["--paganin", f"tomopy:{1 / (4 * math.pi ** 2 * RATIO)!r}", *BEAM[2:]],
                                 ["--paganin", f"tomocupy:{1 / (4 * math.pi ** 2 * RATIO)!r}", *BEAM[2:]], ["--paganin", f"httomo:{RATIO / 4}", *BEAM[2:]],
                                 ["--paganin", f"{1000 * length_of()!r}um", "--pixel-size", PIXEL],
                                 ["--paganin", f"{length_of()!r}mm", "--pixel-size", PIXEL], ["--paganin", f"{PIXELS!r}px"]])
def test_ways_to_say_it(tmp_path, how):
    t = noisy()
    got = np.exp(-converted(tmp_path, save(tmp_path, t), *how))
    assert np.abs(got - filtered(t, PIXELS)).max() < 2e-4


def test_pixels_that_are_not_square(tmp_path):
    t = noisy(40, 60)
    got = np.exp(-converted(tmp_path, save(tmp_path, t), "--paganin", "16um", "--pixel-size", "0.002,0.004"))
    assert np.abs(got - filtered(t, (4, 8))).max() < 2e-4


def test_the_plan_says_all(tmp_path):
    t = noisy(1, 64, 20)
    said = qb_json("plan", "fbp", *save(tmp_path, t), *BEAM, "-o", tmp_path / "v.npy", "--center", 31.5)["phase_retrieval"]
    numbers = dict(zip(("L", "pixels", "ratio", "alpha", "keV", "mm"), map(float, re.search(
        r"L = (\S+) um \((\S+) pixels\), delta/beta (\S+), alpha 1/\(4 pi\^2 delta/beta\) (\S+), (\S+) keV, (\S+) mm", said).groups())))
    assert numbers == pytest.approx({"L": 1000 * length_of(), "pixels": PIXELS, "ratio": RATIO, "alpha": 1 / (4 * math.pi ** 2 * RATIO),
                                     "keV": ENERGY, "mm": DISTANCE}, rel=1e-3)
    assert "1/(1 + (L f)^2)" in said


def test_the_plan_counts_its_time(tmp_path):
    t = noisy(64, 64, 200)
    seconds = [qb_json("plan", "fbp", *save(tmp_path, t), *how, "-o", tmp_path / "v.npy", "--center", 31.5)["forecast"]["stages"]["read"]
               for how in ([], ["--paganin", "6px"])]
    assert seconds[1] - seconds[0] > 1e-9 * t.size / 16


def test_a_tiny_filter_changes_next_to_nothing(tmp_path):
    """A smooth object, a length of one pixel: as without, to a thousandth."""
    x = np.arange(128) - 63.5
    t = np.exp(-np.exp(-x ** 2 / 800))[None, None] * np.ones((4, 8, 1))
    scan = save(tmp_path, t)
    assert np.abs(converted(tmp_path, scan, "--paganin", "1px") - converted(tmp_path, scan)).max() < 1e-3


# ---- an object ----

@pytest.mark.parametrize("kernel", ["plain", "generalised"])
def test_the_thickness_of_an_edge(tmp_path, kernel):
    """A plate of 0.3 mm: with phase contrast it is far off at its edge; the filter brings it back to 1 %."""
    mu, thickness = 0.8, 0.3
    row, column = np.mgrid[:120, :160]
    plate = thickness / (1 + np.exp((np.hypot(row - 59.2, column - 80.3) - 30) / 1.5))
    t = np.exp(-mu * plate)[None] * np.ones((3, 1, 1))
    seen = contrast(t, PIXELS, kernel == "generalised")
    scan = save(tmp_path, seen)
    before = converted(tmp_path, scan) / mu
    got = converted(tmp_path, scan, *BEAM, "--paganin-kernel", kernel) / mu
    assert np.abs(before - plate).max() > 0.3 * thickness
    assert np.abs(got - plate).max() < 0.01 * thickness


@pytest.mark.parametrize("verb", ["fbp", "sirt", "cgls", "tv", "mbir"])
def test_every_method(tmp_path, verb):
    """uint16 with flats and darks: a scan with phase contrast gives the volume of the same scan without."""
    p, angles = disc(64)
    blur = np.exp(-(np.arange(-8, 9) / 2) ** 2 / 2)
    t = np.exp(-np.apply_along_axis(np.convolve, 2, p, blur / blur.sum(), "same"))
    plain = counts_of(tmp_path / "t.h5", t, angles)
    scan = counts_of(tmp_path / "s.h5", contrast(t, 12), angles)
    how = ["--center", 31.5] if verb in ("fbp", "mbir") else ["--iterations", 20]
    volumes = []
    for what in ([plain], [scan], [scan, "--paganin", "12px"]):
        qb(verb, *what, "-o", tmp_path / "v.npy", *how)
        volumes.append(np.load(tmp_path / "v.npy"))
    want, spoilt, got = volumes
    if verb == "fbp":
        assert got[:, circle(64, 10)].mean() == pytest.approx(10 * PIXEL, rel=0.01)
    assert np.linalg.norm(got - want) < 0.01 * np.linalg.norm(want) < 0.1 * np.linalg.norm(spoilt - want)


def test_a_cone_beam(tmp_path):
    """Effective distance D / M and pixels p / M. The oracle filters the counts' transmissions; fdk of both is the same."""
    circle_of = ["--geometry", "cone", "--sod", 200, "--sdd", 300, "--pixel-size", 0.03]
    qb("simulate", "ball", *circle_of, "--detector", "64,40", "--views", 40, "-o", tmp_path / "s.h5")
    with h5py.File(tmp_path / "s.h5") as f:
        t = f["exchange/data"][:].astype(float)
    assert t.max() == pytest.approx(1, abs=1e-3)
    length = math.sqrt(math.pi * HC / 20 * (100 / 1.5) * 500) / (0.03 / 1.5)
    assert length > 1.5
    for name, numbers in (("seen", t), ("want", filtered(t, length))):
        np.save(tmp_path / f"{name}.npy", numbers.astype(np.float32))
    how = ["--quantity", "transmission", "--angles", "0:360", "--sod", 200, "--sdd", 300, "--pixel-size", 0.03]
    report = qb("fdk", tmp_path / "seen.npy", *how, "--paganin", 500, "--energy", 20, "-o", tmp_path / "got.npy").stderr
    qb("fdk", tmp_path / "want.npy", *how, "-o", tmp_path / "want-v.npy")
    got, want = np.load(tmp_path / "got.npy"), np.load(tmp_path / "want-v.npy")
    assert np.linalg.norm(got - want) < 2e-3 * np.linalg.norm(want)
    assert "66.6667 mm (effective distance, magnification 1.5)" in report
    how = ["fdk", tmp_path / "seen.npy", *how, "--paganin", 500, "--energy", 20, "-o", tmp_path / "v.npy",
           "--kernel", "bp_cone_matrix.scalar"]  # of few slices the fastest kernel may be another, with other bits
    qb(*how)
    got = np.load(tmp_path / "v.npy")
    for cut in (["--max-ram", smallest_cap(*how)], ["--threads", 1], ["--slices", "10:14"]):
        qb(*how, *cut)
        v = np.load(tmp_path / "v.npy")
        assert (v == (got[10:14] if "--slices" in cut else got)).all(), cut


# ---- the same bits, however it is cut ----

@pytest.fixture(scope="module")
def big(tmp_path_factory):
    folder = tmp_path_factory.mktemp("big")
    p, angles = disc(64, 700, 16)
    t = np.exp(-p * np.random.default_rng(1).uniform(0.8, 1.2, p.shape))
    t[3, 300:310, 20:24] = 3  # saturated
    counts_of(folder / "plain.h5", t, angles)
    counts_of(folder / "blocks.h5", t, angles, chunks=(8, 50, 64))
    how = ["--center", 31.5, "--paganin", "3px"]
    qb("fbp", folder / "plain.h5", *how, "-o", folder / "v.npy")
    return folder, how, np.load(folder / "v.npy")


@pytest.mark.parametrize("name", ["plain.h5", "blocks.h5"])
def test_bits_do_not_depend_on_the_cut(tmp_path, big, name):
    folder, how, want = big
    scan = folder / name
    how = [*how, "--kernel", qb_json("fbp", scan, "-o", tmp_path / "v.npy", *how)["kernel"]]
    cap = smallest_cap("fbp", scan, "-o", tmp_path / "v.npy", *how)
    for cut in ([], ["--max-ram", cap], ["--threads", 1], ["--threads", 3]):
        qb("fbp", scan, "-o", tmp_path / "v.npy", *how, *cut)
        assert (np.load(tmp_path / "v.npy") == want).all(), cut
    for rows in ("1:699:9", "254:258"):
        qb("fbp", scan, "-o", tmp_path / "v.npy", *how, "--slices", rows)
        first, end, *step = map(int, rows.split(":"))
        assert (np.load(tmp_path / "v.npy") == want[first:end:step[0] if step else 1]).all()


def test_rings_are_found_behind_the_filter(tmp_path, big):
    """In blocks of any number of rows they are the same."""
    folder, how, _ = big
    how = ["fbp", folder / "plain.h5", "-o", tmp_path / "v.npy", *how, "--rings", "sort"]
    how += ["--kernel", qb_json(*how)["kernel"]]
    want = np.load(tmp_path / "v.npy")
    for cut in (["--max-ram", smallest_cap(*how)], ["--threads", 1]):
        qb(*how, *cut)
        assert (np.load(tmp_path / "v.npy") == want).all(), cut


@pytest.mark.skipif(NO_RANKS is not None, reason=NO_RANKS or "")
def test_ranks(tmp_path, big):
    import subprocess
    folder, how, want = big
    done = subprocess.run([MPIRUN, "-n", "3", QB, "fbp", str(folder / "plain.h5"), "-o", str(tmp_path / "r.npy"), *map(str, how), "--threads", "1"],
                          env=RANKS_ENV, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (np.load(tmp_path / "r.npy") == want).all()


def test_a_device(tmp_path, opencl):  # noqa: F811
    """What it has filtered stays there, for rings and all slices, where there is room: the bits are the same without. Two
    blocks of rows come one after the other; rings of the first one are found meanwhile."""
    scan = tmp_path / "s.h5"
    qb("simulate", "shepp-logan", "-o", scan, "--detector", "24,560", "--views", 110, "--rings", 0.03, "--photons", 20000, "--faults", "zingers=1e-4")
    volumes, found = [], []
    for where, stay in ((["cpu"], 0), ([opencl], 560), ([opencl, "--max-vram", "10M", "--threads", 1], 0)):
        how = ["fbp", scan, "-o", tmp_path / "v.npy", "--paganin", "3px", "--center", 11.5, "--accuracy", "high", "--rings", "all", "--zingers", 6, "--device", *where]
        plan = qb_json("plan", *how)
        assert ("phase_by" in plan) == (opencl in where) and plan.get("phase_rows_on_device", 0) == stay
        report = qb_json(*how)["preparation"]
        found.append((report["rings"], report["zingers"]))
        volumes.append(np.load(tmp_path / "v.npy"))
    assert found[1] == found[2] and float(found[0][0].split()[3]) > 1e-4 and found[0][1] == found[1][1] > 5
    assert found[0][0].split(";")[0] == found[1][0].split(";")[0]
    assert np.linalg.norm(volumes[1] - volumes[0]) < 1e-3 * np.linalg.norm(volumes[0])  # a stripe may be found or not by its last bits
    assert (volumes[2] == volumes[1]).all()


def test_the_filter_of_a_device(tmp_path, opencl):  # noqa: F811
    """The formula, by qb convert: the one verb that hands out what was filtered."""
    t = noisy(rows=70, columns=150, views=4)
    how = ["--paganin", "8px", "--paganin-kernel", "generalised", "--device", opencl]
    got = np.exp(-converted(tmp_path, save(tmp_path, t), *how))
    assert np.abs(got - filtered(t, 8, True)).max() < 1e-4
    fails(2, "convert", *save(tmp_path, t), "-o", tmp_path / "q.npy", "--device", opencl, says=["CPU only, except --paganin"])


def test_zingers_before_the_filter_of_a_device(tmp_path, opencl):  # noqa: F811
    """The device takes them out by itself: what comes is the formula of the scan without them."""
    clean = np.random.default_rng(1).poisson(5000, (5, 70, 90)) / 5200
    hit = clean.copy()
    places = [(0, 0, 0), (1, 34, 40), (1, 35, 41), (2, 69, 89), (4, 36, 10)]
    for at in places:
        hit[at] = 1.7
    scan = counts_of(tmp_path / "s.h5", hit, np.arange(5) * 36.0)
    made = {}
    for where in ("cpu", opencl):
        report = qb_json("convert", scan, "-o", tmp_path / "p.npy", "--zingers", 6, "--paganin", "6px", "--device", where)
        made[where] = np.exp(-np.load(tmp_path / "p.npy").astype(float)), report["preparation"]["zingers"]
    assert made["cpu"][1] == made[opencl][1] == len(places)
    assert np.abs(made["cpu"][0] - made[opencl][0]).max() < 1e-4
    assert np.abs(made[opencl][0] - filtered(clean, 6)).max() < 0.02  # a median is not what was there


# ---- what is in the way ----

def test_lost_pixels_do_not_spread(tmp_path):
    """Saturated and missing pixels take their neighbours' values before the filter, and are lost again behind it."""
    t = 0.5 * np.ones((6, 20, 80))
    t[2, 10, 40:43] = np.nan
    t[3, 5, :] = np.nan
    t[4, 8, 7] = np.inf
    t[5, 9, 11] = 5000
    t[5, 10, 11] = -np.inf
    report = qb_json("convert", *save(tmp_path, t), "--paganin", "6px", "-o", tmp_path / "p.npy")
    assert report["preparation"]["not_finite"] == 3 + 80 + 3
    got = np.exp(-np.load(tmp_path / "p.npy").astype(float))
    assert np.abs(np.delete(got, 3, axis=0) - 0.5).max() < 1e-4
    assert np.abs(np.delete(got[3], 5, axis=0) - 0.5).max() < 1e-4


def test_saturated_and_dead_pixels(tmp_path):
    """Of counts: full pixels and those with a dead flat are lost, and no others."""
    scan = counts_of(tmp_path / "s.h5", 0.5 * np.ones((6, 20, 80)), np.arange(6) * 30.0)
    with h5py.File(scan, "r+") as f:
        f["exchange/data"][2, 10, 40:43] = 65535
        f["exchange/data_white"][:, 4, 9] = f["exchange/data_dark"][0, 4, 9]
    report = qb_json("convert", scan, "--paganin", "6px", "-o", tmp_path / "p.npy")["preparation"]
    assert (report["not_finite"], report["dead"]) == (3, 6)
    assert np.abs(np.exp(-np.load(tmp_path / "p.npy").astype(float)) - 0.5).max() < 1e-4


def test_zingers_go_before(tmp_path):
    t = noisy(12, 96, 20) * 0 + 0.5
    clean, angles = counts_of(tmp_path / "c.h5", t, np.arange(20) * 9.0), np.arange(20) * 9.0
    t[5, 6, 40] = 1.6
    dirty = counts_of(tmp_path / "d.h5", t, angles)
    how = ["--paganin", "6px", "--zingers", 8]
    got, want = (converted(tmp_path, [scan], *how) for scan in (dirty, clean))
    assert np.abs(got - want).max() < 1e-4


def test_the_axis(tmp_path):
    p, angles = disc(96, 5, 120)
    t = np.exp(-np.roll(p, 4, axis=2))
    scan = counts_of(tmp_path / "s.h5", contrast(t, 6), angles)
    assert qb_json("center", scan, "--paganin", "6px")["column"] == pytest.approx(47.5 + 4, abs=0.3)


def test_the_scan_states_energy_and_distance(tmp_path):
    p, angles = disc(64, 3, 30)
    scan = counts_of(tmp_path / "s.h5", np.exp(-p), angles)
    with h5py.File(scan, "r+") as f:
        for path, value, units in (("monochromator/energy", 1000 * ENERGY, "eV"), ("detector/distance", DISTANCE / 10, "cm")):
            f[f"measurement/instrument/{path}"] = value
            f[f"measurement/instrument/{path}"].attrs["units"] = units
    got = converted(tmp_path, [scan], "--paganin", RATIO, "--pixel-size", PIXEL)
    assert (got == converted(tmp_path, [scan], *BEAM)).all()
    told = qb_json("info", scan)
    assert (told["energy_kev"], told["object_to_detector_mm"]) == (pytest.approx(ENERGY), pytest.approx(DISTANCE))
    how = ["--paganin", RATIO, "--pixel-size", PIXEL, "-o", tmp_path / "v.npy"]
    assert "[phase-beam]" not in qb("convert", scan, *how, "--energy", ENERGY).stderr
    for given in (["--energy", 1.5 * ENERGY], ["--distance", 1.5 * DISTANCE]):
        assert "is taken, but the scan states" in qb("convert", scan, *how, *given).stderr


def test_an_nxtomo_states_them_too(tmp_path):
    p, angles = disc(64, 3, 30)
    with h5py.File(tmp_path / "s.nx", "w") as f:
        f.attrs["default"] = "entry"
        entry = f.create_group("entry")
        entry.attrs["NX_class"], entry["definition"] = "NXentry", "NXtomo"
        for path, value, units in (("beam/incident_energy", ENERGY, "keV"), ("instrument/detector/distance", DISTANCE / 1000, "m"),
                                   ("instrument/detector/x_pixel_size", PIXEL, "mm"), ("instrument/detector/y_pixel_size", PIXEL, "mm")):
            entry[path] = value
            entry[path].attrs["units"] = units
        t = np.exp(-p)
        entry["instrument/detector/data"] = np.rint(np.concatenate([t * 30000, np.full((3, 3, 64), 30000)])).astype(np.uint16)
        entry["instrument/detector/image_key"] = np.repeat([0, 1], [30, 3])
        entry["sample/rotation_angle"] = np.append(angles, [0, 0, 0])
        entry["sample/rotation_angle"].attrs["units"] = "degree"
    got = converted(tmp_path, [tmp_path / "s.nx"], "--paganin", RATIO)
    assert np.abs(np.exp(-got) - filtered(np.rint(t * 30000) / 30000, PIXELS)).max() < 2e-4
    assert (got == converted(tmp_path, [tmp_path / "s.nx"], *BEAM[:-2])).all()


def test_thickness(tmp_path):
    """In mm, by the attenuation, by beta, and by delta over delta/beta."""
    mu, thickness = 0.8, 0.3
    beta = mu * HC / ENERGY / (4 * math.pi)
    row, column = np.mgrid[:120, :160]
    plate = thickness / (1 + np.exp((np.hypot(row - 59.2, column - 80.3) - 30) / 1.5))
    scan = save(tmp_path, contrast(np.exp(-mu * plate)[None] * np.ones((3, 1, 1)), PIXELS))
    lines = converted(tmp_path, scan, *BEAM)
    for way in str(mu), f"beta:{beta:.9g}", f"delta:{beta * RATIO:.9g}":
        got = converted(tmp_path, scan, *BEAM, "--thickness", way)
        assert np.abs(got - plate).max() < 0.01 * thickness and np.abs(got - lines / mu).max() < 1e-6
    told = qb_json("convert", *scan, *BEAM, "--thickness", f"beta:{beta:.9g}", "-o", tmp_path / "s.h5")
    assert told["thickness_mu"] == pytest.approx(mu, rel=1e-6)
    out = ["-o", tmp_path / "p.npy"]
    for how, says in ((["--thickness", "0"], ["above 0"]), (["--thickness", "beta:1e-9"], ["--energy KEV"]),
                      (["--thickness", "delta:1e-7", "--paganin", "12px"], ["--energy KEV"])):
        fails(2, "convert", *scan, *out, *how, says=says)


# ---- what makes no sense ----

@pytest.mark.parametrize("code,how,says", [
    (2, ["--paganin", 200, "--energy", 20], ["--distance MM"]),
    (2, ["--paganin", 200, "--distance", 100], ["--energy KEV"]),
    (2, ["--paganin", 200], ["--energy KEV and --distance MM"]),
    (2, ["--paganin", "20um", "--energy", 20], ["--energy needs", "--distance MM"]),
    (2, ["--paganin", "20um", "--distance", 20], ["--distance needs", "--energy KEV"]),
    (2, ["--energy", 20], ["--energy 20", "--paganin DELTA_BETA"]),
    (2, ["--distance", 20], ["--distance 20", "--paganin DELTA_BETA"]),
    (2, ["--paganin", "1um"], ["0.5 pixels", "less than one"]),
    (2, ["--paganin", "1mm"], ["500 pixels", "64 columns"]),
    (2, ["--paganin", "0"], ["above 0"]),
    (2, ["--paganin", "-3px"], ["above 0"]),
    (2, ["--paganin", "20furlongs"], ["25um"]),
    (2, ["--paganin", "alpha:1e-3px"], ["alpha:1e-3"]),
    (2, ["--paganin", 200, "--energy", 20, "--distance", -5], ["--distance"])])
def test_refused(tmp_path, code, how, says):
    scan = save(tmp_path, noisy(3, 64))
    fails(code, "fbp", *scan, "-o", tmp_path / "v.npy", "--pixel-size", PIXEL, *how, says=says)
    fails(code, "convert", *scan, "-o", tmp_path / "v.npy", "--pixel-size", PIXEL, *how, says=says)


def test_refused_of_the_scan(tmp_path):
    scan = save(tmp_path, noisy(3, 64))
    fails(2, "fbp", *scan, "-o", tmp_path / "v.npy", "--paganin", "20um", says=["--pixel-size MM"])
    np.save(tmp_path / "p.npy", np.ones((20, 4, 64), np.float32))
    fails(3, "fbp", tmp_path / "p.npy", "--angles", "0:180", "--quantity", "line_integral", "--paganin", "6px", "-o", tmp_path / "v.npy",
          says=["--paganin", "line integrals"])
    cone = ["--sod", 200, "--sdd", 300, "--pixel-size", 0.03, "--angles", "0:360"]
    fails(2, "fdk", scan[0], *scan[3:], *cone, "-o", tmp_path / "v.npy", "--paganin", 500, "--energy", 20, "--distance", 50,
          says=["--distance 50 mm", "100 mm"])
    qb("simulate", "ball", "--geometry", "cone", *cone[:6], "--detector", "32,16", "--views", 8, "-o", tmp_path / "c.h5")
    how = ["convert", tmp_path / "c.h5", "-o", tmp_path / "v.npy", "--paganin", 500, "--energy", 20]  # the file states its geometry
    fails(2, *how, "--distance", 50, says=["--distance 50 mm", "100 mm"])
    qb(*how)


# ---- sharpened ----

def test_unsharp(tmp_path):
    """Behind the filter t + C (t - its Gaussian mean), as nabu's unsharp mask; with bins lengths mean the whole detector's pixels."""
    rng, length, strength, sigma = np.random.default_rng(1), 3.0, 4.0, 1.5
    t = rng.uniform(0.6, 0.7, (3, 40, 64)).astype("f4")
    write_scan(tmp_path / "t.h5", t, [0, 60, 120], pixel=0.01, quantity="transmission")

    def made(*options):
        qb("convert", tmp_path / "t.h5", "--paganin", "3px", *options, "-o", tmp_path / "p.h5")
        with h5py.File(tmp_path / "p.h5") as f:
            return np.exp(-f["/exchange/data"][()].astype(float))

    def oracle(t, scale):
        p = filtered(t, length / scale)
        m = 40
        wide = np.pad(np.asarray(t, float), ((0, 0), (m, m), (m, m)), mode="edge")
        f = [np.fft.fftfreq(n) for n in wide.shape[1:]]
        mean = np.exp(-2 * (np.pi * sigma / scale) ** 2 * (f[0][:, None] ** 2 + f[1] ** 2))
        h = (1 + strength * (1 - mean)) / response(wide.shape[1:], length / scale)
        sharp = np.fft.ifft2(np.fft.fft2(wide, axes=(1, 2)) * h, axes=(1, 2)).real[:, m:-m, m:-m]
        return p, sharp

    soft, sharp = oracle(t, 1)
    assert np.abs(made("--unsharp", "4,1.5") - sharp).max() < 1e-4 and np.abs(made() - soft).max() < 1e-4
    small = t.reshape(3, 20, 2, 32, 2).mean(axis=(2, 4))
    assert np.abs(made("--unsharp", "4,1.5", "--bin", 2) - oracle(small, 2)[1]).max() < 1e-4
    for options, says in ((["--paganin", "3px", "--unsharp", "4"], "C,SIGMA"), (["--unsharp", "4,1.5"], "--paganin DELTA_BETA"),
                          (["--paganin", "3px", "--unsharp", "4,20"], "<= 8")):
        fails(2, "convert", tmp_path / "t.h5", *options, "-o", tmp_path / "p.h5", says=[says])
