# SPDX-License-Identifier: MIT
"""Flats of several times: what a view is divided by is the beam that was there when it was taken. Truths are line integrals of a
disc of 0.02/mm behind beams that change linearly."""
import h5py
import numpy as np
import pytest

from qbtest import devices, fails, opencl, qb, qb_json, write_scan

N, ROWS, VIEWS, DARK = 64, 6, 90, 100.0
ANGLES = np.arange(VIEWS) * 180 / VIEWS
S = np.arange(N) - (N - 1) / 2
LINES = np.broadcast_to(0.04 * np.sqrt(np.maximum(20.0 ** 2 - S ** 2, 0)), (VIEWS, ROWS, N))
WAYS = {"fbp": ["--center", 31.5], "sirt": ["-g", "parallel", "--iterations", 10], "cgls": ["-g", "parallel", "--iterations", 5],
        "tv": ["-g", "parallel", "--iterations", 20], "mbir": ["--equits", 3],
        "fdk": ["--sod", 5000, "--sdd", 5001, "--angles", f"0:360:{VIEWS}"]}
KEYS = np.r_[[2] * 3, [1] * 4, [0] * 40, [1] * 2, [0] * 50, [1] * 5]  # image_key: darks, flats before, within and behind


def pixels(seed=1):
    """The beam of a detector, and how much of it each pixel loses during the scan: 3 % by fading, 3 % by tilting, and its own."""
    rng = np.random.default_rng(seed)
    return 30000 * (1 + rng.normal(0, 0.1, (ROWS, N))), -0.03 + 0.03 * S / S.max() + rng.normal(0, 0.005, (ROWS, N))


def beam(moment):
    """At moments 0 to 1."""
    start, change = pixels()
    return start * (1 + change * np.asarray(moment)[..., None, None])


def nxtomo(path, moment, dtype="f4", lines=LINES, monitor=False):
    """Frames in their order; moment: of each frame."""
    frames = np.where((KEYS == 2)[:, None, None], 0, beam(moment))
    frames[KEYS == 0] *= np.exp(-lines)
    with h5py.File(path, "w") as f:
        f["entry/definition"] = "NXtomo"
        f["entry/instrument/detector/data"] = np.round(frames + DARK) if dtype == "u2" else (frames + DARK).astype(dtype)
        f["entry/instrument/detector/image_key"] = KEYS
        angles = np.zeros(len(KEYS))
        angles[KEYS == 0] = ANGLES
        f["entry/sample/rotation_angle"] = angles
        f["entry/sample/rotation_angle"].attrs["units"] = "degree"
        f["entry/instrument/detector/x_pixel_size"] = 1e-3
        f["entry/instrument/detector/x_pixel_size"].attrs["units"] = "m"
        if monitor:
            f["entry/control/data"] = 5.0 * (1 - 0.03 * np.asarray(moment))
    return path


TIMES = np.linspace(0, 1, len(KEYS))
SERIES = [np.flatnonzero(KEYS == 1)[a:b] for a, b in ((0, 4), (4, 6), (6, 11))]


def lines_of(scan, out, *how, cwd=None):
    qb("convert", scan, *how, "-o", out, cwd=cwd)
    return np.load(cwd / out if cwd else out)


def test_a_linear_drift_is_exact(tmp_path):
    scan = nxtomo(tmp_path / "s.nx", TIMES)
    assert np.abs(lines_of(scan, tmp_path / "l.npy") - LINES).max() < 1e-5  # auto: the file says when
    assert np.abs(lines_of(scan, tmp_path / "l.npy", "--flat-fields", "linear") - LINES).max() < 1e-5
    assert np.abs(lines_of(scan, tmp_path / "l.npy", "--flat-fields", "mean") - LINES).max() > 0.02
    nearest = np.array([min(SERIES, key=lambda s: abs(s.mean() - i)).mean() for i in np.flatnonzero(KEYS == 0)])
    wanted = LINES - np.log(beam(TIMES[KEYS == 0]) / beam(nearest / (len(KEYS) - 1)))
    assert np.abs(lines_of(scan, tmp_path / "l.npy", "--flat-fields", "nearest") - wanted).max() < 1e-5
    how = qb_json("info", scan)
    assert how["flat_fields"].startswith("linear between 3 series of flats, before views 0 to 90, levels")
    assert not [p for p in how["problems"] if "beam-drift" in p]
    plan = qb_json("plan", "fbp", scan, "--center", 31.5, "-o", tmp_path / "v.h5")
    assert plan["flat_fields"] == how["flat_fields"]
    qb("fbp", scan, "--center", 31.5, "-o", tmp_path / "v.h5")
    with h5py.File(tmp_path / "v.h5") as file:
        assert how["flat_fields"] in file["/process/quickbeam/provenance"][()].decode()


def drifting_darks(path, keys, moment, dtype="f4", most=9000):
    """A beam that changes over a dark that rises by up to `most` counts, pixel by pixel."""
    rise = np.random.default_rng(3).uniform(0, most, (ROWS, N))
    frames = np.where((keys == 2)[:, None, None], 0, beam(moment))
    frames[keys == 0] *= np.exp(-LINES)
    frames = frames + DARK + rise * np.asarray(moment)[:, None, None]
    with h5py.File(path, "w") as f:
        f["entry/definition"] = "NXtomo"
        f["entry/instrument/detector/data"] = np.round(frames).astype(dtype) if dtype == "u2" else frames.astype(dtype)
        f["entry/instrument/detector/image_key"] = keys
        angles = np.zeros(len(keys))
        angles[keys == 0] = ANGLES
        f["entry/sample/rotation_angle"] = angles
        f["entry/sample/rotation_angle"].attrs["units"] = "degree"
        f["entry/instrument/detector/x_pixel_size"] = 1e-3
        f["entry/instrument/detector/x_pixel_size"].attrs["units"] = "m"
    return frames


@pytest.mark.parametrize("dtype,error", [("f4", 2e-5), ("u2", 1e-3)])
def test_darks_that_drift(opencl, tmp_path, dtype, error):
    """Darks before, within and behind the views: a linear drift of both is exact, for views and flats, and in every pixel."""
    keys = np.r_[[2] * 3, [1] * 4, [0] * 40, [1] * 2, [2] * 2, [0] * 50, [1] * 5, [2] * 4]
    moment = np.linspace(0, 1, len(keys))
    scan = tmp_path / "s.nx"
    drifting_darks(scan, keys, moment, dtype)
    said = qb("convert", scan, "-o", tmp_path / "l.npy").stderr
    assert "darks: linear between 3 series" in said
    assert np.abs(np.load(tmp_path / "l.npy") - LINES).max() < error
    assert np.abs(lines_of(scan, tmp_path / "m.npy", "--flat-fields", "mean") - LINES).max() > 0.05
    assert np.abs(lines_of(scan, tmp_path / "v.npy", "--views", "10:60:5") - LINES[10:60:5]).max() < error
    for name, more in ("a", ["--threads", 1]), ("b", ["--max-ram", "60M"]), ("c", ["--device", opencl]):
        qb("fbp", scan, "--center", 31.5, *more, "-o", tmp_path / f"{name}.npy")
    a, b, c = (np.load(tmp_path / f"{name}.npy") for name in "abc")
    assert (a == b).all() and np.linalg.norm(a - c) < 2e-3 * np.linalg.norm(a)


def test_darks_that_stay(tmp_path):
    """Darks before and behind the views that differ by noise alone: the mean of all, and numbers as they are stored."""
    keys = np.r_[[2] * 3, [1] * 4, [0] * 90, [1] * 5, [2] * 4]
    scan = tmp_path / "s.nx"
    drifting_darks(scan, keys, np.zeros(len(keys)), "u2")
    with h5py.File(scan, "r+") as f:
        data = f["entry/instrument/detector/data"]
        frames = data[:]
        frames[keys == 2] = frames[keys == 2] + np.random.default_rng(7).integers(0, 9, frames[keys == 2].shape).astype("u2")
        data[...] = frames
    assert "darks: " not in qb("convert", scan, "-o", tmp_path / "l.npy").stderr
    assert qb_json("info", scan)["dtype"] == "uint16"


def test_files_of_darks_at_times(tmp_path):
    """Two files of flats and two of darks, --flats-at: of both."""
    keys = np.r_[[2] * 3, [1] * 4, [0] * 90, [1] * 5, [2] * 4]
    moment = np.clip((np.arange(len(keys)) - 7 + 0.5) / 90, 0, 1)
    frames = drifting_darks(tmp_path / "s.nx", keys, moment, most=1000)
    for name, part in ("d0", slice(0, 3)), ("f0", slice(3, 7)), ("v", slice(7, 97)), ("f1", slice(97, 102)), ("d1", slice(102, 106)):
        np.save(tmp_path / f"{name}.npy", frames[part].astype("f4"))
    got = lines_of("v.npy", "l.npy", "--quantity", "counts", "--angles", "0:180", "--flats", "f0.npy", "--flats", "f1.npy", "--darks", "d0.npy", "--darks", "d1.npy", "--flats-at", "0,90",
                   cwd=tmp_path)
    assert np.abs(got - LINES).max() < 1e-4


def test_chosen_views_keep_their_times(tmp_path):
    """Also where views without beam are left out."""
    scan = nxtomo(tmp_path / "s.nx", TIMES, "u2")
    with h5py.File(scan, "r+") as f:
        frames = f["entry/instrument/detector/data"][:]
        frames[np.flatnonzero(KEYS == 0)[30:33]] = DARK + 1
        f["entry/instrument/detector/data"][...] = frames
    got = lines_of(scan, tmp_path / "l.npy", "--views", "10:80", "--exclude", "50:55")
    kept = np.setdiff1d(np.arange(10, 80), np.r_[30:33, 50:55])
    assert len(got) == len(kept) and np.abs(got - LINES[kept]).mean() < 1e-4
    some = lines_of(scan, tmp_path / "l.npy", "--exclude-flats", "0:2,6", "--views", "0:30")
    assert np.abs(some - LINES[:30]).mean() < 1e-4


@pytest.mark.parametrize("verb", WAYS)
def test_every_method_takes_them(tmp_path, verb):
    drifting, steady = nxtomo(tmp_path / "d.nx", TIMES), nxtomo(tmp_path / "s.nx", 0 * TIMES)
    for scan in drifting, steady:
        qb(verb, scan, *WAYS[verb], "-o", tmp_path / f"{scan.stem}.npy")
    d, s = np.load(tmp_path / "d.npy"), np.load(tmp_path / "s.npy")
    assert np.linalg.norm(d - s) < 3e-5 * np.linalg.norm(s)


def test_phases_and_open_beam(tmp_path):
    """What works on transmissions sees those of the beam that was there."""
    drifting, steady = nxtomo(tmp_path / "d.nx", TIMES), nxtomo(tmp_path / "s.nx", 0 * TIMES)
    for how in ["--paganin", "4px"], ["--air", "0:3,0:6"], ["--zingers", 8], ["--rings", "sort"]:
        d, s = (lines_of(scan, tmp_path / "l.npy", *how) for scan in (drifting, steady))
        assert np.abs(d - s).max() < 1e-4, how


@pytest.mark.parametrize("more", [[], ["--monitor", "ignore"], ["--flat-fields", "mean"]])
def test_a_monitor_is_not_counted_twice(tmp_path, more):
    """The monitor says what fades; with a mean flat it is all that is known of it."""
    scan = nxtomo(tmp_path / "s.nx", TIMES, monitor=True)
    got = lines_of(scan, tmp_path / "l.npy", *more)
    worst = np.abs(got - LINES).max()
    assert worst > 0.01 if "mean" in more else worst < 2e-4  # the fade of flats less that of the monitor's straight line


def test_the_same_bits_however_it_is_cut(tmp_path):
    scan = nxtomo(tmp_path / "s.nx", TIMES, "u2")
    volumes = set()
    for i, how in enumerate([["--threads", 1], ["--threads", 2], ["--slices", "0:3"], ["--slices", "3:6"]]):
        qb("fbp", scan, "--center", 31.5, "--kernel", "bp_parallel_linear.scalar", *how, "-o", tmp_path / f"{i}.npy")
    one, two, first, last = (np.load(tmp_path / f"{i}.npy") for i in range(4))
    assert np.array_equal(one, two) and np.array_equal(one, np.concatenate([first, last]))
    if any(d["device"] == "opencl:0" for d in devices()):
        for verb in "fbp", "fdk":
            for device in "cpu", "opencl":
                done = qb_json(verb, scan, *WAYS[verb], "--device", device, "-o", tmp_path / f"{device}.npy")
                volumes.add((verb, done["preparation"]["dead"], done["preparation"]["clamped"]))
            a, b = np.load(tmp_path / "cpu.npy"), np.load(tmp_path / "opencl.npy")
            assert np.linalg.norm(a - b) < 1e-3 * np.linalg.norm(a)
        assert len(volumes) == 2


def test_times_that_are_given(tmp_path):
    """Of DataExchange files, which do not say them; of a --flats each, and of equal parts of one."""
    start, end = beam(0.0), beam(1.0)
    moment = (np.arange(VIEWS) + 0.5) / VIEWS
    views = (beam(moment) * np.exp(-LINES) + DARK).astype("f4")
    darks = np.full((2, ROWS, N), DARK, "f4")
    before, behind = (np.broadcast_to(b + DARK, (4, ROWS, N)).astype("f4") for b in (start, end))
    scan = write_scan(tmp_path / "s.h5", views, ANGLES, np.concatenate([before, behind]), darks, pixel=1)
    assert np.abs(lines_of(scan, tmp_path / "l.npy", "--flats-at", f"0,{VIEWS}") - LINES).max() < 1e-5
    assert np.abs(lines_of(scan, tmp_path / "l.npy") - LINES).max() > 0.02
    np.save(tmp_path / "a.npy", before[:3])
    np.save(tmp_path / "b.npy", behind)
    two = ["--flats", tmp_path / "a.npy", "--flats", tmp_path / "b.npy", "--flats-at"]
    assert np.abs(lines_of(scan, tmp_path / "l.npy", *two, "0,90") - LINES).max() < 1e-5
    fails(2, "convert", scan, "-o", tmp_path / "x.npy", "--flat-fields", "linear", says=["does not say when its flats were taken", "--flats-at", "0,90"])
    fails(2, "convert", scan, "-o", tmp_path / "x.npy", "--flats-at", "0,45,90", says=["8 flats are not 3 series"])
    fails(2, "convert", scan, "-o", tmp_path / "x.npy", "--flats-at", "0,91", says=["from 0 to 90"])
    fails(2, "convert", scan, "-o", tmp_path / "x.npy", "--flats-at", "0,x", says=["--flats-at 0,x"])
    fails(2, "convert", scan, "-o", tmp_path / "x.npy", "--flats-at", "0,90", "--flat-fields", "mean", says=["does not go with"])
    lines = write_scan(tmp_path / "i.h5", LINES.astype("f4"), ANGLES, pixel=1, quantity="line_integral")
    fails(2, "convert", lines, "-o", tmp_path / "x.npy", "--flat-fields", "linear", says=["are for counts"])


@pytest.mark.parametrize("series", [2, 3])
def test_a_simulated_beam_that_fades_and_tilts(tmp_path, series):
    """By 3 % each: what is left of it is below 0.1 %, and 1.5 % without."""
    qb("simulate", "disc", "--attenuation", 1e-9, "--detector", "64,32", "--views", 60, "--photons", 1e6, "--faults", "fade=0.03,tilt=0.03",
       "--flat-series", series, "-o", tmp_path / "s.h5")
    assert qb_json("info", tmp_path / "s.h5")["flat_fields"].startswith(f"linear between {series} series")
    left = {}
    for how in "auto", "mean":
        lines = lines_of(tmp_path / "s.h5", tmp_path / "l.npy", "--flat-fields", how)
        blocks = lines.reshape(60, 32, 8, 8).mean(axis=(1, 3))  # of 256 pixels of a view: noise 1/16 of a pixel's
        left[how] = np.abs(blocks).max()
    assert left["auto"] < 1e-3 and left["mean"] > 0.015


@pytest.mark.parametrize("fade", [0, 0.03])
def test_principal_components_of_a_beam_that_sways(tmp_path, fade):
    """Stripes of 5 % of the beam stand elsewhere in each view: two components, a sine and a cosine. With series the fading is known, too."""
    common = ["--detector", "64,48", "--views", 40, "--photons", 2e5]
    qb("simulate", "disc", *common, "-o", tmp_path / "n.h5")
    qb("simulate", "disc", *common, "--faults", f"sway=2{f',fade={fade}' if fade else ''}", "--flat-series", 2, "-o", tmp_path / "s.h5")
    truth = lines_of(tmp_path / "n.h5", tmp_path / "n.npy")
    left = {}
    for how in "mean", "pca":
        wrong = lines_of(tmp_path / "s.h5", tmp_path / "l.npy", "--flat-fields", how) - truth
        rows = wrong[:, :, 20:44].mean(axis=2)  # noise of 24 pixels
        left[how] = np.sqrt(np.mean(rows ** 2)), np.abs(rows.mean(axis=1)).max()
    assert left["mean"][0] > 0.025 and left["pca"][0] < 0.1 * left["mean"][0]
    assert left["pca"][1] < 2e-3
    said = qb_json("info", tmp_path / "s.h5", "--flat-fields", "pca")["flat_fields"]
    assert said.startswith("2 principal components of 40 flats")
    qb("fbp", tmp_path / "s.h5", "--flat-fields", "pca", "--center", 31.5, "-o", tmp_path / "v.npy")
    qb("fbp", tmp_path / "s.h5", "--flat-fields", "pca", "--center", 31.5, "--threads", 1, "-o", tmp_path / "w.npy")
    assert np.array_equal(np.load(tmp_path / "v.npy"), np.load(tmp_path / "w.npy"))


def test_components_of_noise_alone_are_none(tmp_path):
    qb("simulate", "disc", "--detector", "64,16", "--views", 30, "--photons", 10000, "-o", tmp_path / "s.h5")
    a, b = (lines_of(tmp_path / "s.h5", tmp_path / "l.npy", "--flat-fields", how) for how in ("mean", "pca"))
    assert np.array_equal(a, b)
    fails(2, "convert", tmp_path / "s.h5", "--flat-fields", "pca", "--exclude-flats", "4:20", "-o", tmp_path / "l.npy", says=["4 flats", "5 do"])


def test_series_of_flats_need_counts(tmp_path):
    fails(2, "simulate", "disc", "-o", tmp_path / "s.h5", "--flat-series", 2, says=["--photons"])


@pytest.fixture(scope="module")
def spoilt(tmp_path_factory):
    """Three series of five flats and three darks, a beam that drifts. One flat of each series is 25 % too dark, as in closing a shutter,
    and pixels of the others and of darks were hit, most of them twice in a series."""
    keys = np.r_[[2] * 5, [1] * 5, [0] * 45, [1] * 5, [0] * 45, [1] * 5]
    random = np.random.default_rng(9)
    frames = np.where((keys == 2)[:, None, None], 0, beam(np.linspace(0, 1, len(keys))))
    frames[keys == 0] *= np.exp(-LINES)
    frames += DARK
    for first in np.flatnonzero(keys == 1)[::5]:
        frames[first + 2] = DARK + 0.75 * (frames[first + 2] - DARK)
    for first in np.flatnonzero(keys > 0)[::5]:
        for pixel in random.permutation(ROWS * N)[:40]:
            frames[first + random.choice([0, 1, 3, 4], 2, replace=False), pixel // N, pixel % N] += 20000
    path = tmp_path_factory.mktemp("spoilt") / "s.nx"
    with h5py.File(path, "w") as f:
        f["entry/definition"] = "NXtomo"
        f.create_dataset("entry/instrument/detector/data", data=frames.astype("f4"), chunks=(1, ROWS, N), compression="gzip")
        f["entry/instrument/detector/image_key"] = keys
        f["entry/sample/rotation_angle"] = np.where(keys == 0, (np.cumsum(keys == 0) - 1) * 180 / VIEWS, 0)
        f["entry/sample/rotation_angle"].attrs["units"] = "degree"
        f["entry/instrument/detector/x_pixel_size"] = 1e-3
        f["entry/instrument/detector/x_pixel_size"].attrs["units"] = "m"
    return path


def off(got):
    return np.abs(got - LINES).max()


def test_medians_of_frames(tmp_path, spoilt):
    """The median of a series lies within one of the frames beside the middle one, which differ by the drift of a frame."""
    step = 0.061 / 109
    wrong = {how: off(lines_of(spoilt, tmp_path / "l.npy", "--average-fields", how)) for how in ("robust", "mean", "median")}
    assert wrong["mean"] > 0.1 and wrong["robust"] > 0.04 and wrong["median"] < 3 * step, wrong
    assert off(lines_of(spoilt, tmp_path / "l.npy", "--average-fields", "median", "--keep-all-fields")) < 3 * step
    assert 0.01 < off(lines_of(spoilt, tmp_path / "l.npy", "--average-fields", "median", "--flat-fields", "mean")) < 0.08  # the drift alone


@pytest.mark.parametrize("way", ["fbp", "fdk"])
def test_medians_by_methods(tmp_path, spoilt, way):
    clean = nxtomo(tmp_path / "c.nx", TIMES)
    make = lambda scan, *how: (qb(way, scan, *WAYS[way], *how, "-o", tmp_path / "v.npy"), np.load(tmp_path / "v.npy"))[1]
    want = make(clean)
    got, plain = make(spoilt, "--average-fields", "median"), make(spoilt, "--average-fields", "mean")
    assert np.linalg.norm(got - want) < 0.01 * np.linalg.norm(want) < np.linalg.norm(plain - want)


def test_the_median_of_many_kinds(tmp_path):
    """Of even and odd numbers of frames, NaN and saturated pixels among them, and lines of a detector of one row: numpy's median."""
    random = np.random.default_rng(4)
    for count, dtype, lines in (7, "u2", 1), (8, "f4", 1), (1, "u2", 1), (2, "f4", 1), (3, "u2", 5):
        rows = 1 if lines > 1 else 70
        flats = random.integers(20000, 30000, (count, lines if lines > 1 else rows, N)).astype(dtype)
        flats[:count // 3 + (count < 3), :, 5] = np.nan if dtype == "f4" else 65535
        flats[:, :, 9] = 65535 if dtype == "u2" else np.nan
        views = np.full((10, rows, N), 12000, dtype)
        for name, what in ("flats", flats), ("views", views), ("darks", np.zeros((1, rows, N), dtype)):
            np.save(tmp_path / f"{name}.npy", what)
        how = ["--quantity", "counts", "--angles", "0:180", "--flats", tmp_path / "flats.npy", "--darks", tmp_path / "darks.npy"]
        got = lines_of(tmp_path / "views.npy", tmp_path / "l.npy", *how, "--average-fields", "median", "--keep-all-fields")
        stack = flats.astype(float).reshape(-1, rows, N)
        stack[:, :, 9] = 1
        want = -np.log(12000 / np.nanmedian(stack, axis=0))
        keep = np.setdiff1d(np.arange(N), [9] + ([5] if dtype == "u2" and count < 3 else []))
        assert np.abs(got[:, :, keep] - want[:, keep]).max() < 1e-6, (count, dtype)


def test_one_missing_value_leaves_its_pixel(tmp_path):
    """The mean is that of the other frames; a pixel without any value is dead."""
    random = np.random.default_rng(8)
    for count in 1, 2, 5:
        flats = random.integers(20000, 20020, (count, 3, N)).astype("f4")
        flats[0, :, 5], flats[count // 2, :, 7], flats[:, 1, 9] = np.nan, np.inf, np.nan
        for name, what in ("flats", flats), ("views", np.full((10, 3, N), 12000, "f4")), ("darks", flats * 0.01):
            np.save(tmp_path / f"{name}.npy", what)
        how = ["--quantity", "counts", "--angles", "0:180", "--flats", tmp_path / "flats.npy", "--darks", tmp_path / "darks.npy"]
        known = np.where(np.isfinite(flats), flats, np.nan).astype(float)
        with np.errstate(all="ignore"):
            mean = np.nansum(known, axis=0) / np.isfinite(known).sum(axis=0)
        want = -np.log((12000 - 0.01 * mean) / (0.99 * mean))
        for average in "mean", "robust":
            done = qb("convert", tmp_path / "views.npy", *how, "--average-fields", average, "--keep-all-fields", "-o", tmp_path / "l.npy")
            got = np.load(tmp_path / "l.npy").reshape(-1, 3, N)[0]
            there = np.isfinite(want)
            assert there.sum() == 3 * N - (1 if count > 1 else 6 + 1), count
            assert np.abs(got - want)[there].max() < 1e-5, (count, average)
            assert count == 1 or "6 pixels of the flats have missing values (NaN) in some frames" in done.stderr
