# SPDX-License-Identifier: MIT
"""--zingers: single bright pixels are replaced, and nothing else. The oracle below is written from the formula, in double precision."""
import subprocess

import h5py
import numpy as np
import pytest

from qbtest import MPIRUN, NO_RANKS, QB, RANKS_ENV, circle, fails, opencl, qb, qb_json, sinogram, smallest_cap, write_scan, slow  # noqa: F401

PHOTONS, MU = 20000, 0.02


# ---- the oracle ----

def middles(many, count):
    """The first index of each of `many` even parts."""
    return [(2 * i + 1) * count // (2 * many) for i in range(many)]


def noise_of(numbers, dark, beam):
    """base, slope: the variance of a number n is base + slope n. By second differences of transmissions along a row."""
    views, rows, columns = numbers.shape
    level, square = [np.empty(0)], [np.empty(0)]
    for v in middles(min(24, views), views):
        for r in middles(min(4, rows), rows):
            t = (numbers[v, r] - dark[r]) / beam[r]
            level.append(numbers[v, r, 1:-1].astype(float))
            square.append((np.diff(t, 2) * beam[r, 1:-1]) ** 2)
    level, square = np.concatenate(level), np.concatenate(square)
    assert len(level) < 2 ** 15, "the oracle looks at every column"
    rounding = 1 / 12 if numbers.dtype.kind in "iu" else 0
    if len(level) < 64:
        return rounding, 0
    order = np.argsort(level, kind="stable")
    level, square = level[order], square[order]

    def variance(part):
        return np.sort(square[part])[len(square[part]) // 2] / (6 * 0.4549), level[part].mean()
    quarter = len(level) // 4
    (every, mean), (dark, low), (bright, high) = (variance(p) for p in (slice(None), slice(quarter), slice(len(level) - quarter, None)))
    if not high > 1.5 * low:
        return rounding, every / mean
    slope = max(0, (bright - dark) / (high - low))
    return rounding + (dark - slope * low if slope > 0 else every), slope


def corrected(numbers, sigma, flat=None, dark=None):
    """The numbers without zingers, and where they were."""
    columns = numbers.shape[2]
    dark = np.zeros(numbers.shape[1:]) if dark is None else dark.astype(float)
    beam = np.ones(numbers.shape[1:]) if flat is None else flat - dark
    base, slope = noise_of(numbers, dark, beam)
    t = (numbers - dark) / beam
    rows = 0 if numbers.shape[1] == 1 else 1
    p = np.pad(t, ((0, 0), (rows, rows), (3, 3)), mode="reflect")
    for r, edge in ((0, 1), (-1, -2)) if rows else ():  # beyond the detector the row at its end goes on, without single bright pixels
        along = np.minimum(p[:, edge, 1:-1], 1.25 * np.minimum(p[:, edge, :-2], p[:, edge, 2:]))
        p[:, r, 1:-1] = np.maximum(p[:, r, 1:-1], along)
    p = np.maximum(p[:, :, 1:-1], 0)
    at = [(0, -2), (0, -1), (0, 1), (0, 2)] if rows == 0 else [(r, c) for r in (-1, 0, 1) for c in (-1, 0, 1) if r or c]
    around = np.sort([p[:, rows + r:rows + r + numbers.shape[1], 2 + c:2 + c + columns] for r, c in at], axis=0)
    u, least = around[-2], around[0]
    noise = sigma ** 2 * (np.maximum(0, base + slope * dark) / beam + slope * u) / beam
    found = (t - u > np.maximum(0.01 * u, u - least)) & ((t - u) ** 2 > noise)
    middle = len(at) // 2
    value = (around[middle - 1] + around[middle]) / 2 * beam + dark
    if numbers.dtype.kind in "iu":
        value = np.clip(np.rint(value), 0, np.iinfo(numbers.dtype).max)
    return np.where(found, value, numbers).astype(numbers.dtype), found


# ---- scans ----

def disc(columns=96, rows=12, views=90, seed=0, photons=PHOTONS):
    """Counts of a disc behind a detector whose pixels differ, its flat and its dark."""
    random = np.random.default_rng(seed)
    lines = sinogram([(MU, columns / 3, columns / 3, 0, 0, 0)], np.arange(views) * 180 / views, columns, (columns - 1) / 2)
    dark = random.integers(90, 110, (rows, columns))
    flat = photons * random.uniform(0.8, 1.2, (rows, columns))
    counts = random.poisson(flat * np.exp(-lines)[:, None]) + dark
    return counts, np.rint(flat).astype(int) + dark, dark


def hit(counts, seed, share=1e-3):
    random = np.random.default_rng(seed)
    where = random.random(counts.shape) < share
    return np.where(where, counts + PHOTONS * random.uniform(0.3, 2, counts.shape), counts), where


def write(path, numbers, flat, dark, dtype=np.uint16, **how):
    """Three frames of each field, alike."""
    fields = [np.repeat(f[None], 3, axis=0).astype(dtype) for f in (flat, dark)]
    return write_scan(path, numbers.astype(dtype), np.arange(len(numbers)) * 180 / len(numbers), *fields, **how)


def values(folder, verb, scan, *options):
    qb(verb, scan, "-o", folder / "v.npy", *options)
    return np.load(folder / "v.npy")


def error(a, b):
    return np.linalg.norm(a - b) / np.linalg.norm(b)


# ---- tests ----

@pytest.mark.parametrize("trial", range(16))
def test_every_number_is_the_oracles(tmp_path, trial):
    """Line integrals of a scan with zingers are those of the same scan that the oracle has corrected, and no other pixel changes.
    Values are rounded to numbers of the scan's type: in single precision a half may be rounded the other way."""
    random = np.random.default_rng(100 + trial)
    shape = dict(columns=int(random.integers(5, 90)), rows=[1, 2, 3, 17, 20, 33][trial % 6], views=int(random.integers(2, 60)))
    counts, flat, dark = disc(seed=trial, **shape)
    dtype = [np.uint16, np.float32, np.uint32, np.float64][trial % 4]
    dirty = hit(counts, trial, 0.02)[0].astype(dtype)
    sigma = float(random.choice([4, 6, 8]))
    clean, found = corrected(dirty, sigma, flat, dark)
    write(tmp_path / "dirty.h5", dirty, flat, dark, dtype, quantity="counts")
    write(tmp_path / "clean.h5", clean, flat, dark, dtype, quantity="counts")
    want = values(tmp_path, "convert", tmp_path / "clean.h5")
    report = qb_json("convert", tmp_path / "dirty.h5", "-o", tmp_path / "v.npy", "--zingers", sigma)
    got = np.load(tmp_path / "v.npy")
    assert report["preparation"]["zingers"] == found.sum() > 0
    assert ((got != values(tmp_path, "convert", tmp_path / "dirty.h5")) == found).all()
    counts_apart = np.abs(np.exp(-got.astype(float)) - np.exp(-want.astype(float))) * (flat - dark)
    assert counts_apart.max() < (0.02 if dtype in (np.float32, np.float64) else 1.1)
    assert (counts_apart > 0.1).sum() <= 0.01 * found.sum() + 1


def test_what_is_found(tmp_path):
    """One pixel in 10,000 is hit: 99 % of them are found, and fewer than one in 100,000 others is changed."""
    counts, flat, dark = disc(columns=256, rows=32, views=60)
    dirty, where = hit(counts, 1, 1e-4)
    write(tmp_path / "dirty.h5", dirty, flat, dark)
    before, after = (values(tmp_path, "convert", tmp_path / "dirty.h5", "--zingers", sigma) for sigma in ("none", 8))
    changed = before != after
    assert (changed & where).sum() >= 0.99 * where.sum() > 30
    assert (changed & ~where).sum() < 1e-5 * where.size


def test_clean_structure_is_left_alone(tmp_path):
    """Bright lines one pixel wide, edges in all directions, corners: no pixel of a scan without zingers is changed."""
    counts, flat, dark = disc(columns=128, rows=40, views=30)
    part = np.ones((40, 128))
    part[:, 60:] = 0.2
    part[20:, :] *= 0.5
    part[:, 90] = 1
    part[30, :] = 1
    np.fill_diagonal(part, 2)
    random = np.random.default_rng(4)
    numbers = random.poisson(np.broadcast_to((flat - dark) * part, counts.shape)) + dark
    write(tmp_path / "s.h5", numbers, flat, dark)
    report = qb_json("convert", tmp_path / "s.h5", "-o", tmp_path / "v.npy", "--zingers", 8)
    assert report["preparation"]["zingers"] == 0


@pytest.mark.parametrize("verb", ["fbp", "sirt", "cgls", "tv", "mbir"])
def test_the_disc_comes_back(tmp_path, verb):
    counts, flat, dark = disc(columns=64, rows=4, views=80)
    dirty, _ = hit(counts, 2)
    write(tmp_path / "clean.h5", counts, flat, dark)
    write(tmp_path / "dirty.h5", dirty, flat, dark)
    how = {"fbp": [], "tv": ["--iterations", 30], "mbir": []}.get(verb, ["--iterations", 20])
    how = [*how, "--center", 31.5] if verb in ("fbp", "mbir") else how
    want = values(tmp_path, verb, tmp_path / "clean.h5", *how)
    spoilt = values(tmp_path, verb, tmp_path / "dirty.h5", *how)
    got = values(tmp_path, verb, tmp_path / "dirty.h5", *how, "--zingers", 8)
    assert error(spoilt, want) > 0.05 and error(got, want) < 0.15 * error(spoilt, want), (error(spoilt, want), error(got, want))
    middle = got[1:3, circle(64, 15)] if got.ndim == 3 else got[circle(64, 15)]
    assert middle.mean() == pytest.approx(MU, rel=0.02)


def test_a_foam_without_zingers_keeps_its_bits_and_one_with_them_comes_back(tmp_path):
    """Bubbles end at the detector's first and last rows, too. A pair of zingers lies in the last one."""
    scan = ["simulate", "foam", "--detector", "128,8", "--views", 240, "--photons", PHOTONS, "--seed", 11]
    qb(*scan, "-o", tmp_path / "clean.h5")
    qb(*scan, "--faults", "zingers=1e-4", "-o", tmp_path / "dirty.h5")
    with h5py.File(tmp_path / "dirty.h5", "r+") as f:
        f["exchange/data"][100, 7, 60:62] += np.array([9000, 14000], np.uint16)
    axis = ["--center", 63.5]
    want = values(tmp_path, "fbp", tmp_path / "clean.h5", *axis)
    assert (values(tmp_path, "fbp", tmp_path / "clean.h5", *axis, "--zingers", 8) == want).all()
    assert error(values(tmp_path, "fbp", tmp_path / "dirty.h5", *axis), want) > 0.03
    assert error(values(tmp_path, "fbp", tmp_path / "dirty.h5", *axis, "--zingers", 8), want) < 0.003


def test_a_cone_beam(tmp_path):
    how = ["--geometry", "cone", "--sod", 200, "--sdd", 300, "--pixel-size", 0.5]
    qb("simulate", "ball", *how, "--detector", "64,40", "--views", 60, "--photons", PHOTONS, "-o", tmp_path / "clean.h5")
    (tmp_path / "dirty.h5").write_bytes((tmp_path / "clean.h5").read_bytes())
    with h5py.File(tmp_path / "dirty.h5", "r+") as f:
        f["exchange/data"][:] = np.minimum(hit(f["exchange/data"][:], 3)[0], 65000).astype(f["exchange/data"].dtype)
    circle_of = ["--sod", 200, "--sdd", 300, "--pixel-size", 0.5]
    want = values(tmp_path, "fdk", tmp_path / "clean.h5", *circle_of)
    spoilt = values(tmp_path, "fdk", tmp_path / "dirty.h5", *circle_of)
    got = values(tmp_path, "fdk", tmp_path / "dirty.h5", *circle_of, "--zingers", 8)
    assert error(got, want) < 0.1 * error(spoilt, want)
    cap = smallest_cap("fdk", tmp_path / "dirty.h5", "-o", tmp_path / "v.npy", *circle_of, "--zingers", 8)
    for cut in (["--max-ram", cap], ["--threads", 1]):
        assert (values(tmp_path, "fdk", tmp_path / "dirty.h5", *circle_of, "--zingers", 8, *cut) == got).all()


@pytest.fixture(scope="module")
def big(tmp_path_factory):
    """A scan that a small cap cuts into many pieces, as three files: plain, in pieces of frames, and as sinograms."""
    folder = tmp_path_factory.mktemp("big")
    counts, flat, dark = disc(columns=128, rows=48, views=64)
    dirty, _ = hit(counts, 5)
    write(folder / "plain.h5", dirty, flat, dark)
    write(folder / "frames.h5", dirty, flat, dark, chunks=(1, 48, 128), compression="gzip", compression_opts=1)
    write(folder / "blocks.h5", dirty, flat, dark, chunks=(8, 7, 128))
    np.save(folder / "rows.npy", dirty.astype(np.uint16).transpose(1, 0, 2))
    np.save(folder / "flat.npy", flat[None].astype(np.uint16))
    np.save(folder / "dark.npy", dark[None].astype(np.uint16))
    how = ["--center", 63.5, "--zingers", 8]
    return folder, how, values(folder, "fbp", folder / "plain.h5", *how)


@pytest.mark.parametrize("name", ["plain.h5", "frames.h5", "blocks.h5"])
def test_bits_do_not_depend_on_the_cut(tmp_path, big, name):
    folder, how, want = big
    scan = folder / name
    kernel = ["--kernel", qb_json("fbp", scan, "-o", tmp_path / "v.npy", *how)["kernel"]] # little memory would take another one
    cap = smallest_cap("fbp", scan, "-o", tmp_path / "v.npy", *how, *kernel)
    how = [*how, *kernel]
    for cut in ([], ["--max-ram", cap], ["--threads", 1], ["--threads", 3]):
        assert (values(tmp_path, "fbp", scan, *how, *cut) == want).all(), cut
    assert (values(tmp_path, "fbp", scan, *how, "--slices", "1:47:5") == want[1:47:5]).all()
    assert (values(tmp_path, "fbp", scan, *how, "--slices", "16:17") == want[16:17]).all()


def test_sinograms(tmp_path, big):
    folder, how, want = big
    fields = ["--flats", folder / "flat.npy", "--darks", folder / "dark.npy", "--quantity", "counts", "--angles", "0:180", "--as", "sinogram"]
    got = values(tmp_path, "fbp", folder / "rows.npy", *how, *fields)
    assert np.abs(got / 1.0 - want).max() < 1e-6 or (got == want).all()


@pytest.mark.skipif(NO_RANKS is not None, reason=NO_RANKS or "")
def test_ranks(tmp_path, big):
    folder, how, want = big
    done = subprocess.run([MPIRUN, "-n", "3", QB, "fbp", str(folder / "plain.h5"), "-o", str(tmp_path / "r.npy"), *map(str, how), "--threads", "1"],
                          env=RANKS_ENV, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (np.load(tmp_path / "r.npy") == want).all()
    one = qb("fbp", folder / "plain.h5", "-o", tmp_path / "v.npy", *how).stderr
    said = [line for line in one.splitlines() if "zingers were replaced" in line]
    assert said and said[0] in done.stderr


def test_a_device(tmp_path, big, opencl):  # noqa: F811
    """The device corrects the rows of its chunks by itself: as many pixels as on the CPU, and the volume is that of the oracle's scan."""
    folder, how, _ = big
    with h5py.File(folder / "plain.h5") as f:
        dirty, flat, dark = f["exchange/data"][:], f["exchange/data_white"][0].astype(int), f["exchange/data_dark"][0]
    clean, found = corrected(dirty, 8, flat, dark)
    write(tmp_path / "clean.h5", clean, flat, dark)
    there = ["--device", opencl, "--accuracy", "high"]
    want = values(tmp_path, "fbp", tmp_path / "clean.h5", *how[:2], *there)
    assert error(values(tmp_path, "fbp", folder / "plain.h5", *how[:2], *there), want) > 0.1
    wholes = [qb_json("fbp", folder / "plain.h5", "-o", tmp_path / "v.npy", *how, *on)["preparation"] for on in (there, [])]
    assert [whole["zingers"] for whole in wholes] == [found.sum()] * 2 and [whole["zingers_by"] for whole in wholes] == ["device", "CPU"]
    for name, cut in ("plain.h5", []), ("plain.h5", ["--max-vram", "40M"]), ("frames.h5", []), ("blocks.h5", []):
        got = values(tmp_path, "fbp", folder / name, *how, *there, *cut)
        assert error(got, want) < 2e-4, (name, cut)
    some = values(tmp_path, "fbp", folder / "plain.h5", *how, *there, "--slices", "11:30")
    assert error(some, want[11:30]) < 2e-4


def test_the_axis_is_found_among_zingers(tmp_path):
    counts, flat, dark = disc(columns=96, rows=8, views=120)
    dirty, _ = hit(np.roll(counts, 4, axis=2), 6, 2e-3)
    write(tmp_path / "s.h5", dirty, flat, dark)
    report = qb_json("center", tmp_path / "s.h5", "--zingers", 8)
    assert report["column"] == pytest.approx(47.5 + 4, abs=0.3)


def test_transmissions(tmp_path):
    """No flats, no dark: the noise is told from the transmissions themselves."""
    counts, flat, dark = disc(columns=80, rows=9, views=50)
    t = ((counts - dark) / (flat - dark)).astype(np.float32)
    dirty, where = hit(t * PHOTONS, 7)
    np.save(tmp_path / "s.npy", (dirty / PHOTONS).astype(np.float32))
    how = ["--angles", "0:180", "--quantity", "transmission"]
    before, after = (values(tmp_path, "convert", tmp_path / "s.npy", *how, "--zingers", z) for z in ("none", 8))
    changed = before != after
    assert (changed & where).sum() >= 0.97 * where.sum() > 20 and (changed & ~where).sum() == 0
    want = corrected((dirty / PHOTONS).astype(np.float32), 8)[1]
    assert (changed == want).all()


def test_line_integrals_are_refused(tmp_path):
    np.save(tmp_path / "p.npy", np.ones((20, 4, 16), np.float32))
    fails(3, "fbp", tmp_path / "p.npy", "--angles", "0:180", "--quantity", "line_integral", "--zingers", 8, "-o", tmp_path / "v.npy",
          says=["--zingers", "line integrals"])


def test_the_warning_names_the_option(tmp_path):
    counts, flat, dark = disc(columns=64, rows=16, views=60)
    write(tmp_path / "s.h5", hit(counts, 8, 4e-3)[0], flat, dark)
    how = ["-o", tmp_path / "v.npy", "--center", 31.5]
    warned, = [line for line in qb("fbp", tmp_path / "s.h5", *how).stderr.splitlines() if "[zingers]" in line]
    assert "--zingers 8" in warned
    said = qb("fbp", tmp_path / "s.h5", *how, "--zingers", 8).stderr
    assert "[zingers]" not in said and "zingers were replaced" in said


@pytest.mark.parametrize("scan", ["--detector 110,15 --seed 10299 --views 102 --pixel-size 1.653", "--detector 88,16 --seed 56004 --views 92 --pixel-size 1.109"])
def test_gaps_of_a_bag_at_the_outer_rows_are_none(tmp_path, scan):
    """The first or the last row has one neighbour, which shows the same gap. Bright pixels there are still found."""
    path = tmp_path / "s.h5"
    qb("simulate", "baggage", *scan.split(), "--photons", 100000, "-o", path)
    run = ("fbp", path, "--center", "middle", "-o", tmp_path / "v.npy")
    assert "[zingers]" not in qb(*run).stderr
    with h5py.File(path, "r+") as file:
        for view in range(0, 90, 3):
            file["exchange/data"][view, ::file["exchange/data"].shape[1] - 1, 10 + 7 * view % 60] = 60000
    assert "[zingers]" in qb(*run).stderr


def test_pairs_are_warned_of(tmp_path):
    """Side by side, or one above the other. Details of an object two pixels wide are none."""
    counts, flat, dark = disc(columns=64, rows=16, views=60)
    random = np.random.default_rng(5)
    for below, aside in (0, 1), (1, 0):
        dirty = counts.copy()
        for view, row, column in zip(random.integers(0, 60, 150), random.integers(1, 14, 150), random.integers(3, 60, 150)):
            dirty[view, row:row + 1 + below, column:column + 1 + aside] = 60000
        write(tmp_path / "s.h5", dirty, flat, dark)
        warned, = [line for line in qb("fbp", tmp_path / "s.h5", "-o", tmp_path / "v.npy", "--center", 31.5).stderr.splitlines() if "[zingers]" in line]
        assert float(warned.split("(zingers), ")[1].split()[0]) == pytest.approx(1e6 * (dirty == 60000).mean(), rel=0.5)
    qb("simulate", "baggage", "--size", 128, "--detector", "128,16", "--views", 200, "--photons", 50000, "-o", "b.h5", cwd=tmp_path)
    assert "[zingers]" not in qb("info", tmp_path / "b.h5").stdout


def test_photons_where_most_pixels_have_none_are_no_zingers(tmp_path):
    qb("simulate", "foam", "--detector", "256,8", "--views", 300, "--photons", 10, "--attenuation", 0.06, "--seed", 4, "-o", tmp_path / "s.h5")
    said = qb("fbp", tmp_path / "s.h5", "--center", "middle", "--rings", "all", "-o", tmp_path / "v.npy").stderr
    assert "[transmission-floor]" in said and "[zingers]" not in said, said


def test_who_replaces_them_is_not_told_to(tmp_path):
    qb("simulate", "disc", "--detector", "64,4", "--views", 60, "--photons", 20000, "-o", tmp_path / "s.h5")
    with h5py.File(tmp_path / "s.h5", "r+") as file:
        counts = file["/exchange/data"][:]
        counts[np.random.default_rng(1).random(counts.shape) < 0.005] += 30000
        file["/exchange/data"][:] = counts
    for sigma, told in ("none", True), ("300", False):
        said = qb("fbp", tmp_path / "s.h5", "--center", 31.5, "--zingers", sigma, "-o", tmp_path / "v.npy").stderr
        assert ("[zingers]" in said) == told, said


# ---- in time ----

def in_time(numbers, sigma, angles, flat, dark):
    """The numbers without zingers by the views before and after, and where they were."""
    views, _, columns = numbers.shape
    beam = flat - dark
    base, slope = noise_of(numbers, dark, beam)
    t = (numbers - dark) / beam
    p = np.pad(np.maximum(t, 0), ((0, 0), (0, 0), (2, 2)), mode="reflect")
    near = np.abs(np.diff(np.radians(angles))) * columns / 2 <= 2.5
    before, after = np.r_[False, near], np.r_[near, False]
    v = np.arange(views)
    first = np.where(before, v - 1, np.where(after, v + 1, v))
    second = np.where(after, v + 1, first)
    at = [p[of][:, :, c:c + columns] for c in range(5) for of in (first, second)]
    u, least = np.sort(at, axis=0)[-2], np.min(at, axis=0)
    noise = sigma ** 2 * (np.maximum(0, base + slope * dark) / beam + slope * u) / beam
    found = (t - u > np.maximum(0.01 * u, u - least)) & ((t - u) ** 2 > noise)
    value = (np.minimum(at[4], u) + np.minimum(at[5], u)) / 2 * beam + dark
    if numbers.dtype.kind in "iu":
        value = np.clip(np.rint(value), 0, np.iinfo(numbers.dtype).max)
    return np.where(found, value, numbers).astype(numbers.dtype), found


IN_TIME = ["--zingers", 8, "--zingers-in", "time"]


@pytest.mark.parametrize("trial", range(6))
def test_in_time_every_number_is_the_oracles(tmp_path, trial):
    """Also beside gaps of the angles, and of a detector of one row."""
    random = np.random.default_rng(200 + trial)
    shape = dict(columns=int(random.integers(20, 90)), rows=[1, 2, 17][trial % 3], views=int(random.integers(20, 60)))
    counts, flat, dark = disc(seed=trial, **shape)
    dtype = [np.uint16, np.float32][trial % 2]
    dirty = hit(counts, trial, 0.02)[0].astype(dtype)
    angles = np.arange(shape["views"]) * 1.0
    angles[10:] += 30
    angles[15:] += 30
    angles[16:] += 30
    clean, found = in_time(dirty, 8, angles, flat, dark)
    for name, numbers in ("dirty", dirty), ("clean", clean):
        fields = [np.repeat(f[None], 3, axis=0).astype(dtype) for f in (flat, dark)]
        write_scan(tmp_path / f"{name}.h5", numbers, angles, *fields, quantity="counts")
    want = values(tmp_path, "convert", tmp_path / "clean.h5")
    report = qb_json("convert", tmp_path / "dirty.h5", "-o", tmp_path / "v.npy", *IN_TIME)
    got = np.load(tmp_path / "v.npy")
    assert report["preparation"]["zingers"] == found.sum() > 0
    assert ((got != values(tmp_path, "convert", tmp_path / "dirty.h5")) == found).all() and not found[15].any()
    counts_apart = np.abs(np.exp(-got.astype(float)) - np.exp(-want.astype(float))) * (flat - dark)
    assert counts_apart.max() < (0.02 if dtype == np.float32 else 1.1)


def test_in_time_spots_of_any_size(tmp_path):
    """Spots of three by three pixels: hardly one is found in its view, 99 % in time, and nothing else."""
    counts, flat, dark = disc(columns=128, rows=16, views=90)
    angles = np.arange(90) * 1.0
    random, where = np.random.default_rng(3), np.zeros(counts.shape, bool)
    for v, r, c in zip(random.integers(0, 90, 60), random.integers(1, 15, 60), random.integers(1, 127, 60)):
        where[v, r - 1:r + 2, c - 1:c + 2] = True
    write_scan(tmp_path / "s.h5", np.where(where, counts + 20000, counts).astype(np.uint16), angles,
               *[np.repeat(f[None], 3, axis=0).astype(np.uint16) for f in (flat, dark)])
    before, view, time = (values(tmp_path, "convert", tmp_path / "s.h5", *how) for how in ([], ["--zingers", 8], IN_TIME))
    assert ((view != before) & where).sum() < 0.2 * where.sum() < 0.2 * 600
    assert ((time != before) & where).sum() > 0.99 * where.sum() and ((time != before) & ~where).sum() == 0


def test_in_time_a_foam_comes_back(tmp_path):
    """19 zingers a row make an error of a quarter, less than 0.3 % afterwards; a foam without them keeps nearly all its numbers."""
    foam = ["simulate", "foam", "--detector", "128,4", "--views", 240, "--seed", 5]
    qb(*foam, "-o", tmp_path / "clean.h5")
    (tmp_path / "dirty.h5").write_bytes((tmp_path / "clean.h5").read_bytes())
    with h5py.File(tmp_path / "dirty.h5", "r+") as f:
        counts, random = f["exchange/data"][:], np.random.default_rng(1)
        for i in range(4 * 19):
            counts[random.integers(240), i % 4, random.integers(20, 108)] += 20
        f["exchange/data"][:] = counts
    want, spoilt = (values(tmp_path, "fbp", tmp_path / name, "--center", 63.5) for name in ("clean.h5", "dirty.h5"))
    got = values(tmp_path, "fbp", tmp_path / "dirty.h5", "--center", 63.5, *IN_TIME)
    kept = values(tmp_path, "fbp", tmp_path / "clean.h5", "--center", 63.5, *IN_TIME)
    assert error(spoilt, want) > 0.2 and error(got, want) < 3e-3 and error(kept, want) < 1e-3


@pytest.mark.parametrize("verb", ["fbp", "cgls", "mbir", "fdk", "center"])
def test_in_time_all_ways(tmp_path, verb):
    cone = ["--sod", 500, "--sdd", 700, "--pixel-size", 0.5]
    counts, flat, dark = disc(columns=64, rows=4, views=80)
    write(tmp_path / "clean.h5", counts, flat, dark)
    write(tmp_path / "dirty.h5", hit(counts, 2)[0], flat, dark)
    how = {"fbp": ["--center", 31.5], "mbir": ["--center", 31.5], "fdk": [*cone, "--allow-limited"]}.get(verb, ["--iterations", 20])
    if verb == "center":
        assert qb_json("center", tmp_path / "dirty.h5", *IN_TIME)["column"] == pytest.approx(31.5, abs=0.3)
        return
    want, spoilt = (values(tmp_path, verb, tmp_path / name, *how) for name in ("clean.h5", "dirty.h5"))
    got = values(tmp_path, verb, tmp_path / "dirty.h5", *how, *IN_TIME)
    assert error(got, want) < 0.15 * error(spoilt, want)


@slow
def test_in_time_bits_do_not_depend_on_the_cut(tmp_path, big, opencl):  # noqa: F811
    """Of 48 rows, 128 columns and 64 views: edges move by up to 3.1 columns, so the last ones are cut off."""
    folder, how, _ = big
    how = [*how, "--zingers-in", "time", "--crop", "16:112,0:48"]
    want = values(tmp_path, "fbp", folder / "plain.h5", *how)
    report = qb_json("fbp", folder / "plain.h5", "-o", tmp_path / "v.npy", *how)
    kernel, zingers = ["--kernel", report["kernel"]], report["preparation"]["zingers"]
    assert zingers > 100
    for name in "plain.h5", "frames.h5", "blocks.h5":
        cap = smallest_cap("fbp", folder / name, "-o", tmp_path / "v.npy", *how, *kernel)
        for cut in (["--max-ram", cap], ["--threads", 1], ["--slices", "0:48"]):
            assert (values(tmp_path, "fbp", folder / name, *how, *kernel, *cut) == want).all(), (name, cut)
        there = ["--device", opencl, "--accuracy", "high"]
        for cut in ([], ["--max-vram", "40M"]):
            report = qb_json("fbp", folder / name, "-o", tmp_path / "d.npy", *how, *there, *cut)
            assert report["preparation"]["zingers"] == zingers
            assert error(np.load(tmp_path / "d.npy"), want) < 2e-3
    assert (values(tmp_path, "fbp", folder / "plain.h5", *how, *kernel, "--slices", "16:17") == want[16:17]).all()


def test_who_finds_zingers_beside_a_device(tmp_path, opencl):  # noqa: F811
    counts, flat, dark = disc(columns=64, rows=8, views=160)
    write(tmp_path / "s.h5", hit(counts, 3)[0], flat, dark)
    for who, how in ("device", []), ("CPU", ["--paganin", "2px"]):
        said = qb("fbp", tmp_path / "s.h5", "--center", 31.5, "-o", tmp_path / "v.npy", "--device", opencl, *IN_TIME, *how).stderr
        assert f"zingers were replaced by the {who}, " in said, said


def test_in_time_what_is_refused(tmp_path):
    counts, flat, dark = disc(columns=96, rows=3, views=20)
    write(tmp_path / "s.h5", counts, flat, dark)
    out = ["-o", tmp_path / "v.npy"]
    fails(2, "fbp", tmp_path / "s.h5", "--center", 47.5, *out, "--zingers-in", "time", says=["--zingers 8"])
    fails(2, "fbp", tmp_path / "s.h5", "--center", 47.5, *out, *IN_TIME, says=["7.54 columns", "2.5"])
