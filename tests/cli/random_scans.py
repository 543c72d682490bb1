#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random scans with one to three faults each: no volume may be wrong in silence.

Each scan is a disc (or a ball) of known attenuation, simulated by `qb simulate`, into which faults are written. A run is
right when it is refused with a sentence (exit code 2 or 3), or warns, or when its volume is within 1 % of the same scan
without faults. A scan without faults must not warn.

    tests/cli/random_scans.py --count 2000 --seed 7      one line for each run that is wrong; exit code 1 if there is one
    tests/cli/random_scans.py --only 123 --seed 7 --keep DIR      one case, whose files stay in DIR
"""
import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import h5py
import numpy as np

QB = os.environ.get("QB", str(Path(__file__).resolve().parents[2] / "build" / "qb"))
ATTENUATION = 0.02  # 1/mm, of the disc
RADIUS = 0.5        # of the field of view, within which the mean is taken: the disc's own radius is 0.8

CIRCLE = ("--sod", "500", "--sdd", "800")
SHAPE = ("--detector", "64,8", "--pixel-size", "3")
# name: (options of simulate, verb, options of the verb)
KINDS = {
    "fbp-half": (("--views", "120", *SHAPE), "fbp", ()),
    "fbp-turn": (("--views", "180", "--angles", "0:360", *SHAPE), "fbp", ()),
    "fbp-wide": (("--views", "240", "--angles", "0:360", "--center-offset", "-22", *SHAPE), "fbp", ("--center", "9.5")),
    "fdk-turn": (("--geometry", "cone", *CIRCLE, "--views", "160", *SHAPE), "fdk", CIRCLE),
    "fdk-short": (("--geometry", "cone", *CIRCLE, "--views", "130", "--angles", "0:220", *SHAPE), "fdk", CIRCLE),
    "cgls-half": (("--views", "90", *SHAPE), "cgls", ("--iterations", "12")),
    "sirt-half": (("--views", "60", *SHAPE), "sirt", ("--iterations", "60")),
    "mbir-half": (("--views", "60", "--detector", "48,2", "--pixel-size", "4"), "mbir", ()),
}


class Scan:
    """An HDF5 scan that is read, changed and written again, and the options of the run."""

    def __init__(self, path, options):
        with h5py.File(path) as file:
            group = file["exchange"]
            self.data = {name: np.array(group[name]) for name in group}
            self.attrs = {name: dict(group[name].attrs) for name in group}
            self.root = dict(file.attrs)
        self.options = []
        self.fixed = options
        self.cut = 1.0
        self.path = None

    def write(self, path):
        with h5py.File(path, "w") as file:
            file.attrs.update(self.root)
            for name, values in self.data.items():
                file.create_dataset(f"exchange/{name}", data=values).attrs.update(self.attrs[name])
        if self.cut < 1:
            os.truncate(path, int(os.path.getsize(path) * self.cut))

    @property
    def views(self):
        return len(self.data["data"])

    @property
    def counts(self):
        return "data_white" in self.data

    @property
    def top(self):
        kind = self.data["data"].dtype
        return np.iinfo(kind).max if kind.kind in "iu" else np.nan

    def floats(self):
        self.data["data"] = self.data["data"].astype(np.float32)

    def keep(self, chosen):
        self.data["data"] = self.data["data"][chosen]
        self.data["theta"] = self.data["theta"][chosen[chosen < len(self.data["theta"])]]


FAULTS = {}


def fault(check=lambda scan: True):
    def register(make):
        FAULTS[make.__name__] = (make, check)
        return make
    return register


# The codes of warnings that name a fault. Views that are left out leave gaps in the angles.
ANGLES = {"angle-gap", "angle-cap", "limited-angle", "uneven-angles", "few-views", "offset-short-scan", "repeated-view", "one-angle",
          "row-ends"}
VIEWS = {"views-blank", "views-constant", "views-not-numbers", "views-saturated", "scan-unusable", "not-finite", "opaque-rays", "transmission-floor",
         "zero-pixels"} | ANGLES
PIXELS = {"not-finite", "rows-lost", "nan-slices", "far-values", "zingers", "saturated", "flats-saturated", "dead-flat"}
FIELDS = {"odd-flats", "odd-darks", "fields-exchanged", "fields-unusable", "fields-unused", "no-flats", "no-darks", "dead-flat", "beam-level", "beam-drift",
          "bright-air", "bright-object", "air-level", "transmission-floor"}
QUANTITY = {"other-quantity", "bright-air", "bright-object", "negative-lines", "opaque-rays", "fields-unused", "no-flats", "row-ends", "far-values",
            "not-finite", "transmission-floor"}
NAMED_BY = {
    "gap": ANGLES, "lost": ANGLES, "phases": ANGLES, "stood": ANGLES, "repeated_end": ANGLES, "nan_views": VIEWS, "blank_views": VIEWS,
    "zero_views": VIEWS, "nan_rows": PIXELS, "nan_columns": PIXELS, "nan_pixels": PIXELS, "saturated": PIXELS, "outlier": PIXELS,
    "exchanged": FIELDS, "closed_flat": FIELDS, "open_darks": FIELDS, "cut_flats": FIELDS, "shifted": {"center-doubt", "row-ends"}, "cut_file": set(),
    "cut_angles": {"angles-unusable", "angles-unreadable", "no-angles"}, "swapped_bytes": QUANTITY | PIXELS | FIELDS,
    "dead_part": {"dead-part", "stuck-pixels", "zero-pixels", "transmission-floor", "margins-empty", "rows-lost", "nan-slices"},
    "pillar": {"views-covered"} | VIEWS | ANGLES, "swapped_darks": FIELDS, "scaled": {"scan-scaled", "views-scaled"} | QUANTITY,
    "misstated_quantity": QUANTITY, "misstated_unit": {"angle-unit", "angle-turns", "angles-guessed"} | ANGLES,
}


def run_of(scan, dice, most):
    count = dice.randint(1, max(1, int(scan.views * most)))
    first = dice.randrange(scan.views)
    return (first + np.arange(count)) % scan.views


@fault()
def gap(scan, dice):
    """Views that lie together were never taken."""
    scan.keep(np.setdiff1d(np.arange(scan.views), run_of(scan, dice, 0.4)))


@fault()
def lost(scan, dice):
    """Views here and there were never taken."""
    kept = [i for i in range(scan.views) if dice.random() > dice.choice([0.02, 0.1, 0.3])]
    scan.keep(np.array(kept if len(kept) > 3 else range(scan.views)))


@fault()
def phases(scan, dice):
    """Gated: a part of every period of the angles."""
    period = dice.choice([4, 10, 20])
    share = dice.choice([0.5, 0.8])
    scan.keep(np.array([i for i in range(scan.views) if i % period < period * share]))


@fault()
def stood(scan, dice):
    """The stage stood still for a while: many views at one angle."""
    at = dice.randrange(scan.views)
    scan.keep(np.sort(np.concatenate([np.arange(scan.views), np.full(dice.randint(5, 60), at)])))


@fault()
def nan_views(scan, dice):
    scan.floats()
    scan.data["data"][run_of(scan, dice, 0.2)] = np.nan


@fault()
def nan_rows(scan, dice):
    scan.floats()
    scan.data["data"][:, dice.randrange(scan.data["data"].shape[1])] = dice.choice([np.nan, np.inf])


@fault()
def nan_columns(scan, dice):
    scan.floats()
    first = dice.randrange(scan.data["data"].shape[2] - 4)
    scan.data["data"][:, :, first:first + dice.randint(1, 4)] = np.nan


@fault()
def nan_pixels(scan, dice):
    scan.floats()
    some = np.random.default_rng(dice.randrange(1 << 30)).random(scan.data["data"].shape)
    scan.data["data"][some < dice.choice([1e-4, 1e-2, 0.1])] = np.nan


@fault(lambda scan: scan.counts and scan.data["data_dark"].shape[1:] == scan.data["data"].shape[1:])
def blank_views(scan, dice):
    """The shutter was closed, or the beam was gone."""
    scan.data["data"][run_of(scan, dice, 0.2)] = scan.data["data_dark"][0]


@fault()
def zero_views(scan, dice):
    """Chunks that were never written."""
    scan.data["data"][run_of(scan, dice, 0.2)] = 0


@fault(lambda scan: scan.counts)
def saturated(scan, dice):
    """Pixels at their type's maximum, as a detector with gaps between its modules gives them."""
    if scan.data["data"].dtype.kind == "f":
        return
    first = dice.randrange(scan.data["data"].shape[2] - 4)
    scan.data["data"][:, :, first:first + dice.randint(1, 3)] = scan.top
    if dice.random() < 0.5:
        scan.data["data_white"][:, :, first:first + 2] = scan.top


@fault(lambda scan: scan.counts)
def exchanged(scan, dice):
    scan.data["data_white"], scan.data["data_dark"] = scan.data["data_dark"], scan.data["data_white"]


@fault(lambda scan: scan.counts and scan.data["data_dark"].shape[1:] == scan.data["data_white"].shape[1:])
def closed_flat(scan, dice):
    frames = scan.data["data_white"]
    frames[dice.randrange(len(frames))] = scan.data["data_dark"][0]


@fault(lambda scan: scan.counts and len(scan.data["data_dark"]) > 2 and scan.data["data_dark"].shape[1:] == scan.data["data_white"].shape[1:])
def open_darks(scan, dice):
    frames = scan.data["data_dark"]
    for i in range(dice.randint(1, max(1, len(frames) // 2))):
        frames[i] = scan.data["data_white"][0].astype(frames.dtype)


@fault(lambda scan: not {"--center", "--sod"} & set(scan.fixed))
def shifted(scan, dice):
    """The axis is some pixels from where it was, which methods that look for it find."""
    by = dice.randint(-3, 3)
    for name in {"data", "data_white", "data_dark"} & set(scan.data):
        scan.data[name] = np.roll(scan.data[name], by, axis=2)


@fault()
def cut_file(scan, dice):
    scan.cut = dice.uniform(0.05, 0.99)


@fault()
def cut_angles(scan, dice):
    scan.data["theta"] = scan.data["theta"][:-dice.randint(1, 5)]


@fault(lambda scan: scan.counts)
def cut_flats(scan, dice):
    scan.data["data_white"] = scan.data["data_white"][:, :-1]


@fault()
def outlier(scan, dice):
    scan.floats()
    at = [dice.randrange(n) for n in scan.data["data"].shape]
    scan.data["data"][tuple(at)] = dice.choice([3.4e38, -3.4e38, np.inf, 1e30])


@fault()
def swapped_bytes(scan, dice):
    if scan.data["data"].dtype.kind != "f":
        scan.data["data"] = scan.data["data"].byteswap()


@fault()
def misstated_quantity(scan, dice):
    scan.options += ["--quantity", dice.choice(["transmission", "line_integral", "counts"])]


@fault()
def misstated_unit(scan, dice):
    """Degrees that are called radians, or radians called degrees."""
    theta = scan.data["theta"]
    if dice.random() < 0.5:
        scan.attrs["theta"]["units"] = "rad"
    else:
        scan.data["theta"] = np.radians(theta)


@fault()
def repeated_end(scan, dice):
    """The last view is the first one, one turn or half a turn later: harmless."""
    scan.keep(np.append(np.arange(scan.views), 0))


@fault()
def dead_part(scan, dice):
    """A quadrant of the detector is dead or frozen in the views; the flats are as they were."""
    _, rows, columns = scan.data["data"].shape
    part = scan.data["data"][:, dice.choice([slice(0, rows // 2), slice(rows // 2, rows)])]
    part[:, :, dice.choice([slice(0, columns // 2), slice(columns // 2, columns)])] = dice.choice([0, 300]) if scan.counts else 0


@fault()
def pillar(scan, dice):
    """Something opaque before a side of the detector, in some views."""
    _, rows, columns = scan.data["data"].shape
    width = dice.randint(columns // 5, columns // 2)
    dark = scan.data["data_dark"][0, 0, 0] if scan.counts and scan.data["data_dark"].ndim == 3 else 0
    side = dice.choice([slice(0, width), slice(columns - width, columns)])
    views = run_of(scan, dice, 0.2)
    part = scan.data["data"][views]
    part[:, :, side] = dark
    scan.data["data"][views] = part


@fault(lambda scan: scan.counts)
def swapped_darks(scan, dice):
    """Darks in another byte order than the views."""
    if scan.data["data_dark"].dtype.kind != "f":
        scan.data["data_dark"] = scan.data["data_dark"].byteswap()


@fault(lambda scan: not scan.counts)
def scaled(scan, dice):
    """All values together brought to 0..1, as for display."""
    values = scan.data["data"].astype(np.float64)
    low, high = np.nanmin(values), np.nanmax(values)
    if np.isfinite(high - low) and high > low:
        scan.data["data"] = ((values - low) / (high - low)).astype(np.float32)


def simulate(kind, folder, photons):
    path = folder / f"{kind}-{photons}.h5"
    if not path.exists():
        options, _, _ = KINDS[kind]
        phantom = "disc"
        more = ["--photons", str(photons), "--seed", "5"] if photons else []
        subprocess.run([QB, "simulate", phantom, *options, *more, "-o", path, "-q"], check=True, capture_output=True)
    return path


def reconstruct(kind, path, options, output):
    _, verb, more = KINDS[kind]
    if output.exists():
        output.unlink()
    return subprocess.run([QB, verb, path, *more, *options, "-o", output, "--json", "-q"], capture_output=True, text=True, timeout=300)


def mean_of(path):
    """Of the disc's inner part, in the middle slices; NaN stays NaN."""
    volume = np.load(path).astype(float)
    nz, ny, nx = volume.shape
    y, x = np.mgrid[:ny, :nx]
    inner = np.hypot(x - (nx - 1) / 2, y - (ny - 1) / 2) < 0.25 * min(64, nx) * RADIUS * 2
    return volume[nz // 2 - 1:nz // 2 + 1, inner].mean() if nz > 1 else volume[0, inner].mean()


class Bench:
    """Scans without faults and what they come to, made once."""

    def __init__(self, folder):
        self.folder = folder
        self.means = {}

    def truth(self, kind, photons):
        if (kind, photons) not in self.means:
            path = simulate(kind, self.folder, photons)
            output = self.folder / "truth.npy"
            done = reconstruct(kind, path, (), output)
            assert done.returncode == 0, done.stderr
            warned = json.loads(done.stdout)["warnings"]
            assert not warned, f"{kind}: a good scan is warned of: {warned}"
            self.means[kind, photons] = mean_of(output)
        return self.means[kind, photons]

    def case(self, number, seed, keep=None):
        """What is wrong with this case, or None; and what it was."""
        dice = random.Random(f"{seed}-{number}")
        kind = dice.choice(list(KINDS))
        photons = dice.choice([0, 20000])
        truth = self.truth(kind, photons)
        scan = Scan(simulate(kind, self.folder, photons), KINDS[kind][2])
        names = []
        for _ in range(dice.randint(1, 3)):
            name = dice.choice(list(FAULTS))
            make, applies = FAULTS[name]
            if name in names or not applies(scan):
                continue
            if "saturated" in names and scan.data["data"].dtype.kind in "iu":  # in floats no number is the type's maximum
                break
            make(scan, dice)
            names.append(name)
        what = f"case {number}: {kind}, {photons} photons, {' + '.join(names) or 'no fault'}"
        folder = keep or self.folder
        path, output = folder / "case.h5", folder / "case.npy"
        scan.write(path)
        done = reconstruct(kind, path, scan.options, output)
        return self.judge(what, names, done, output, truth), what

    @staticmethod
    def judge(what, names, done, output, truth):
        if done.returncode in (2, 3):
            said = done.stderr.strip().splitlines()
            return None if names and said and len(said[-1]) > 20 else f"{what}: refused without a reason: {done.stderr!r}"
        if done.returncode != 0:
            return f"{what}: exit code {done.returncode}: {done.stderr[-300:]!r}"
        warnings = json.loads(done.stdout)["warnings"]
        if warnings and not names:
            return f"{what}: warned of nothing: {warnings}"
        codes = set(re.findall(r"\[([a-z0-9-]+)\]", " ".join(warnings)))
        mean = mean_of(output)
        if abs(mean / truth - 1) < 0.01 or codes & set.union(set(), *(NAMED_BY[name] for name in names)):
            return None
        return f"{what}: {mean:.6f} for {truth:.6f} ({100 * (mean / truth - 1):+.1f} %), and no word of it: {warnings}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--only", type=int)
    parser.add_argument("--keep", type=Path)
    args = parser.parse_args()
    folder = Path(tempfile.mkdtemp())
    bench = Bench(folder)
    wrong = 0
    try:
        for number in [args.only] if args.only is not None else range(args.count):
            trouble, what = bench.case(number, args.seed, args.keep)
            if args.only is not None:
                print(what)
            if trouble:
                wrong += 1
                print(trouble, flush=True)
    finally:
        shutil.rmtree(folder)
    print(f"{wrong} wrong")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
