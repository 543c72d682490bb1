# SPDX-License-Identifier: MIT
"""The tables of beside_preparation.py that are not of rings. A peer's function takes and gives [view][row][column] in float32; what it is
called with is what it wants: transmissions, counts or line integrals. Formulas of packages that need a GPU stand here in numpy:
tomocupy 1.1 (remove_outlier, retrieve_phase), httomolibgpu 2026-08 (remove_outlier, paganin_filter)."""
import h5py
import numpy as np
from scipy import ndimage

LENGTH, ENERGY, PIXEL, RATIO = 12.0, 20.0, 0.002, 200.0  # pixels, keV, mm, delta/beta
WAVE = 1.2398419843320026e-6 / ENERGY  # mm
DISTANCE = (LENGTH * PIXEL) ** 2 / (np.pi * WAVE * RATIO)
PHOTONS = 20000


def rms(a):
    return float(np.sqrt(np.mean(np.square(a, dtype=float))))


def ours(bench, scan, *how):
    """Line integrals."""
    bench.run("convert", scan, "-o", "l.npy", *how)
    return np.load(bench.folder / "l.npy")


def frames(bench, scan):
    with h5py.File(bench.folder / scan) as f:
        get = lambda name: f[f"/exchange/{name}"][:].astype(np.float32)
        return get("data"), get("data_white"), get("data_dark")


def table(title, heads, rows):
    print(f"\n{title}\n{'':26}" + "".join(f"{head:>12}" for head in heads))
    for name, values in rows:
        print(f"{name:26}" + "".join(f"{value:12.4g}" for value in values))


# ---- zingers ----

def outlier_tomocupy(counts, threshold=5000):
    """3 x 3 median of an image, in counts."""
    middle = ndimage.median_filter(counts, (1, 3, 3))
    return np.where(counts - middle > threshold, middle, counts)


def outlier_httomo(counts, difference=1000):
    """3 x 3 x 3 median, in counts, both ways."""
    middle = ndimage.median_filter(counts, 3)
    return np.where(np.abs(counts - middle) >= difference, middle, counts)


def zinger_peers(shape):
    from algotom.prep.removal import remove_zinger
    from nabu.preproc.ccd import CCDFilter

    def nabu(t):
        clip = CCDFilter(t.shape[1:], median_clip_thresh=0.04)
        return np.stack([clip.median_clip_correction(view) for view in t])

    def algotom(t):
        return np.stack([remove_zinger(t[:, row], 0.08) for row in range(t.shape[1])], axis=1)

    return {"nabu CCD, + 0.04": (nabu, False), "algotom, 0.08": (algotom, False), "tomocupy, 5000": (outlier_tomocupy, True),
            "httomolibgpu, 1000": (outlier_httomo, True)}


def zingers(bench):
    shape, share = (400, 16, 256), 1e-4
    scan = ["simulate", "foam", "--detector", "256,16", "--views", 400, "--seed", 5, "--photons", PHOTONS]
    for name, faults in ("clean.h5", []), ("dirty.h5", ["--faults", f"zingers={share}"]):
        bench.run(*scan, *faults, "-o", name)
    (clean, flat, dark), (dirty, *_) = frames(bench, "clean.h5"), frames(bench, "dirty.h5")
    dark, beam = dark.mean(0), flat.mean(0) - dark.mean(0)
    hit = np.abs(dirty - clean) > 0.25 * PHOTONS
    lines = lambda t: -np.log(np.maximum(t, 1e-6))
    t = {name: (counts - dark) / beam for name, counts in (("clean", clean), ("dirty", dirty))}
    want, spoilt = bench.volume_of_lines(lines(t["clean"])), bench.volume_of_lines(lines(t["dirty"]))
    before, rows = rms(spoilt - want) / rms(want), []

    def row(name, made, untouched, nanoseconds):
        """Line integrals of the dirty and of the clean scan."""
        changed = np.abs(made - lines(t["dirty"])) > 1e-4
        rows.append((name, [100 * (changed & hit).sum() / hit.sum(), 1e6 * (changed & ~hit).sum() / hit.size,
                            100 * rms(bench.volume_of_lines(made) - want) / rms(want),
                            100 * rms(bench.volume_of_lines(untouched) - want) / rms(want), nanoseconds]))

    for name, how in ("qb --zingers 8", []), ("qb, in time", ["--zingers-in", "time"]):
        untouched = ours(bench, "clean.h5", "--zingers", 8, *how)
        made = ours(bench, "dirty.h5", "--zingers", 8, *how)
        row(name, made, untouched, bench.step_cost("--zingers", 8, *how))
    for name, (call, counts) in zinger_peers(shape).items():
        both = []
        for which, numbers in ("dirty", dirty), ("clean", clean):
            took, made = bench.least(lambda: call(numbers if counts else t[which].astype(np.float32)), 1)
            both.append(lines((made - dark) / beam if counts else made))
        row(name, *both, 1e9 * took / hit.size)
    table(f"Zingers, {hit.sum()} of {hit.size} numbers; error of the volume with them {100 * before:.3g} %",
          ["found %", "false 1e-6", "left %", "clean %", "ns"], rows)


# ---- phase ----

def response(shape, length):
    return 1 + length ** 2 * sum(np.square(f) for f in np.meshgrid(*map(np.fft.fftfreq, shape), indexing="ij"))


def filtered(t, factor, pad, unsharp=None):
    """In double: edges go on for `pad` pixels."""
    p = np.pad(t.astype(float), ((0, 0), (pad, pad), (pad, pad)), mode="edge")
    of = factor(p.shape[1:])
    if unsharp:
        f = sum(np.square(f) for f in np.meshgrid(*map(np.fft.fftfreq, p.shape[1:]), indexing="ij"))
        of = of * (1 + unsharp[0] * (1 - np.exp(-2 * np.pi ** 2 * unsharp[1] ** 2 * f)))
    p = np.fft.ifft2(np.fft.fft2(p, axes=(1, 2)) * of, axes=(1, 2)).real
    return p[:, pad:-pad, pad:-pad]


def phase_tomocupy(t):
    """1 / (lambda D f^2 / (4 pi) + alpha), f in cycles, normalised at 0; edges to the next power of two."""
    alpha = 1 / (4 * np.pi ** 2 * RATIO)

    def factor(shape):
        f = sum(np.square(f / PIXEL) for f in np.meshgrid(*map(np.fft.fftfreq, shape), indexing="ij"))
        return alpha / (WAVE * DISTANCE * f / (4 * np.pi) + alpha)
    return filtered(t, factor, t.shape[2] // 2)


def phase_httomo(t):
    """Its grid of frequencies reaches 2 pi / p: a quarter of the number is the same filter."""
    def factor(shape):
        f = sum(np.square(2 * f / PIXEL) for f in np.meshgrid(*map(np.fft.fftfreq, shape), indexing="ij"))
        return 1 / (1 + np.pi * WAVE * DISTANCE * RATIO / 4 * f)
    return filtered(t, factor, t.shape[2] // 2)


def phase(bench):
    from nabu.preproc.phase import PaganinPhaseRetrieval
    from nabu.processing.unsharp import UnsharpMask
    sharper = (3.0, 1.5)
    for name, faults in ("truth.h5", []), ("phase.h5", ["--faults", f"phase={LENGTH:g}"]):
        bench.run("simulate", "foam", "--detector", "256,64", "--views", 60, "--seed", 5, *faults, "-o", name)
    with h5py.File(bench.folder / "truth.h5") as f:
        want = -np.log(np.maximum(f["/exchange/data"][:].astype(float), 1e-6))
    with h5py.File(bench.folder / "phase.h5") as f:
        t = f["/exchange/data"][:].astype(np.float32)
    sharp = -np.log(np.maximum(filtered(t, lambda shape: 1 / response(shape, LENGTH), 128, sharper), 1e-6))

    def nabu(t):
        paganin = PaganinPhaseRetrieval(t.shape[1:], distance=DISTANCE / 1e3, energy=ENERGY, delta_beta=RATIO, pixel_size=PIXEL / 1e3, padding="edge",
                                        fft_num_threads=1)
        return np.stack([paganin.apply_filter(view) for view in t])

    def nabu_sharp(t):
        mask = UnsharpMask(t.shape[1:], sharper[1], sharper[0], method="gaussian")
        return np.stack([mask.unsharp(view) for view in nabu(t)])

    beam, heads, rows = ["--paganin", f"{LENGTH:g}px"], ["error %", "ns"], []
    lines = lambda t: -np.log(np.maximum(t, 1e-6))
    before = 100 * rms(lines(t) - want) / rms(want)
    made = ours(bench, "phase.h5", *beam)
    rows.append(("qb --paganin", [100 * rms(made - want) / rms(want), bench.step_cost(*beam)]))
    for name, call in ("nabu", nabu), ("tomocupy's formula", phase_tomocupy), ("httomolibgpu's, a quarter", phase_httomo):
        took, made = bench.least(lambda: call(t))
        rows.append((name, [100 * rms(lines(made) - want) / rms(want), 1e9 * took / t.size]))
    table(f"Paganin: the line integrals' error, {before:.3g} % without", heads, rows)
    rows, beam = [], [*beam, "--unsharp", f"{sharper[0]:g},{sharper[1]:g}"]
    made = ours(bench, "phase.h5", *beam)
    off = lambda seen: 100 * rms(seen - np.exp(-sharp)) / rms(np.exp(-sharp))
    rows.append(("qb --unsharp", [off(np.exp(-made)), bench.step_cost(*beam)]))
    took, made = bench.least(lambda: nabu_sharp(t))
    rows.append(("nabu", [off(np.maximum(made, 1e-6)), 1e9 * took / t.size]))
    table("The same with an unsharp mask 3,1.5: transmissions against both filters in double", heads, rows)


# ---- flats ----

def flats(bench):
    from nabu.preproc.flatfield import FlatFieldArrays
    views, columns, blocks = 800, 512, (20, 16, 16)
    scan = ["simulate", "foam", "--detector", f"{columns},16", "--views", views, "--seed", 5]
    bench.run(*scan, "-o", "truth.h5")
    bench.run(*scan, "--photons", PHOTONS, "--flat-series", 3, "--faults", "fade=0.03,tilt=0.03", "-o", "drift.h5")
    with h5py.File(bench.folder / "truth.h5") as f:
        want = -np.log(np.maximum(f["/exchange/data"][:].astype(float), 1e-6))
    counts, white, dark = frames(bench, "drift.h5")
    series = white.reshape(3, -1, *white.shape[1:]).mean(1)
    at = {0: series[0], views // 2: series[1], views - 1: series[2]}
    parts = lambda x: x.reshape(views // blocks[0], blocks[0], 16 // blocks[1], blocks[1], columns // blocks[2], blocks[2]).mean((1, 3, 5))

    def nabu(how):
        work = FlatFieldArrays(counts.shape, at, {0: dark.mean(0)}, radios_indices=np.arange(views), interpolation=how, n_threads=1)
        return work.normalize_radios(counts.copy())

    rows, lines = [], lambda t: -np.log(np.maximum(t, 1e-6))
    for name, how in ("qb, linear", ["linear"]), ("qb, nearest", ["nearest"]), ("qb, mean", ["mean"]), ("qb, linear, median", ["linear", "--average-fields", "median"]):
        given = ["--flat-fields", *how] + ([] if how[0] == "mean" else ["--flats-at", f"0,{views // 2},{views}"])
        took, _ = bench.least(lambda: bench.run("convert", "drift.h5", "-o", "l.npy", *given))
        rows.append((name, [100 * rms(parts(np.load(bench.folder / "l.npy") - want)), 1e9 * took / counts.size]))
    for how in "linear", "nearest":
        took, made = bench.least(lambda: nabu(how))
        rows.append((f"nabu, {how}", [100 * rms(parts(lines(made) - want)), 1e9 * took / counts.size]))
    table("A beam that fades and tilts by 3 %, 3 series of flats: 100 x what is left in line integrals (qb: the whole command's time)", ["left", "ns"], rows)
