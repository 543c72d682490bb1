#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Preparation by qb and by other programs in one run, on one core: algotom and nabu from PyPI, and the formulas of tomocupy and
httomolibgpu, which need a GPU, in numpy. Tables of rings, zingers, phase retrieval, unsharp masks and flats of a beam that drifts.

  python3 -m pip install algotom nabu h5py numpy
  bench/beside_preparation.py [--qb build/qb] [--columns 256] [--views 400] [--seeds 5] [--only rings,zingers,phase,flats]

Rings: for each kind of fault on foams: the error of the slice after the correction over that before (1: nothing done, above: worse than
none), the mean of some seeds. "clean" is the change of a slice without faults, relative to the slice; "ns" is the processor time of
a sample on one core."""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

os.environ.setdefault("OMP_NUM_THREADS", "1")
import h5py
import numpy as np

KINDS = {"clean": [], "narrow": ["--rings", "0.03"], "wide": ["--faults", "wide=0.1"], "partial": ["--faults", "partial=0.3"],
         "drifting": ["--faults", "drifting=0.2"], "flicker": ["--faults", "flicker=3"]}
OURS = ["sort", "wavelet", "titarenko", "raven", "double-flat", "fit", "large", "dead", "all", "auto"]

def peers():
    try:
        import algotom.prep.removal as removal
        from nabu.reconstruction.rings import MunchDeringer, VoDeringer
        import preparation_steps
    except ImportError as why:
        sys.exit(f"algotom or nabu cannot be imported (ImportError: {why}): python3 -m pip install algotom nabu in an environment of its "
                 "own, and run this with its python")

    def munch(lines):
        sinogram = lines[None].astype(np.float32)
        MunchDeringer(sinogram.shape, 1.0, levels=10, wname="db15", padding=None).remove_rings(sinogram)
        return sinogram[0]

    def vo(lines):
        sinogram = lines[None].astype(np.float32)
        return VoDeringer(sinogram.shape).remove_rings_sinograms(sinogram)[0]

    return preparation_steps, {"nabu munch": munch, "nabu vo": vo, **{f"algotom {name}": call for name, call in {"sorting": lambda p: removal.remove_stripe_based_sorting(p, 21),
            "filtering": lambda p: removal.remove_stripe_based_filtering(p, 3, 21),
            "fitting": lambda p: removal.remove_stripe_based_fitting(p, 2, 5),
            "large": lambda p: removal.remove_large_stripe(p, 3.0, 51), "dead": lambda p: removal.remove_dead_stripe(p, 3.0, 51),
            "wavelet": lambda p: removal.remove_stripe_based_wavelet_fft(p, 5, 1.0),
            "all": lambda p: removal.remove_all_stripe(p, 3.0, 51, 21)}.items()}}


class Bench:
    def __init__(self, qb, folder, columns, views):
        self.qb, self.folder, self.columns, self.views = qb, folder, columns, views

    def run(self, *args):
        done = subprocess.run([self.qb, *map(str, args), "--threads", "1", "-q"], cwd=self.folder, capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stderr)

    @staticmethod
    def least(call, turns=3):
        """Processor seconds of this program and of those it has run, and what came of it."""
        took = []
        for _ in range(turns):
            start = os.times()
            made = call()
            took.append(sum(os.times()[:4]) - sum(start[:4]))
        return min(took), made

    def simulate(self, seed, faults):
        self.run("simulate", "foam", "-o", "s.h5", "--detector", f"{self.columns},1", "--views", self.views, "--seed", seed, *faults)
        with h5py.File(self.folder / "s.h5") as f:
            return -np.log(np.maximum(f["/exchange/data"][:, 0].astype(float), 1e-6))

    def slice(self, source, *options):
        self.run("fbp", source, "-o", "v.npy", "--center", (self.columns - 1) / 2, *options)
        return np.load(self.folder / "v.npy")[0].astype(float)

    def slice_of_lines(self, lines):
        with h5py.File(self.folder / "l.h5", "w") as f:
            f["/exchange/data"] = lines[:, None].astype(np.float32)
            f["/exchange/data"].attrs["quantity"] = "line_integral"
            f["/exchange/data"].attrs["voxel_size_x"] = self.pixel
            f["/exchange/theta"] = np.arange(self.views) * 180 / self.views
        return self.slice("l.h5", "--pixel-size", self.pixel)

    def volume_of_lines(self, lines):
        with h5py.File(self.folder / "l.h5", "w") as f:
            f["/exchange/data"] = lines.astype(np.float32)
            f["/exchange/data"].attrs["quantity"] = "line_integral"
            f["/exchange/theta"] = np.arange(len(lines)) * 180 / len(lines)
        self.run("fbp", "l.h5", "-o", "v.npy", "--center", (lines.shape[2] - 1) / 2, "--pixel-size", 1)
        return np.load(self.folder / "v.npy").astype(float)

    def step_cost(self, *how):
        """Nanoseconds a sample and core, of 1024 views of 16 rows of 1024 columns: the least of three, less what the command takes
        without the step."""
        convert = ["convert", "t.h5", "-o", "t.npy.h5", "--center", 511.5]
        if not (self.folder / "t.h5").exists():
            self.run("simulate", "foam", "--detector", "1024,16", "--views", 1024, "--rings", 0.02, "--photons", 20000, "-o", "t.h5")
            self.plain, _ = self.least(lambda: self.run(*convert))
        took, _ = self.least(lambda: self.run(*convert, *how))
        return 1e9 * (took - self.plain) / (16 * 1024 ** 2)

    def costs(self, theirs):
        """Of rings; one row by a peer."""
        cost = {f"qb {m}": self.step_cost("--rings", m) for m in OURS}
        with h5py.File(self.folder / "t.h5") as f:
            lines = -np.log(np.maximum(f["/exchange/data"][:, 0].astype(float) - 100, 1) / 20000)
        cost.update({m: 1e9 * self.least(lambda: theirs[m](np.copy(lines)), 1)[0] / 1024 ** 2 for m in theirs})
        return cost


def rings(bench, theirs, seeds):
    left = {name: {kind: [] for kind in KINDS} for name in [f"qb {m}" for m in OURS] + list(theirs)}
    for seed in range(1, seeds + 1):
        bench.simulate(seed, [])
        truth = bench.slice("s.h5")
        for kind, faults in KINDS.items():
            lines = bench.simulate(seed, faults)
            before = np.linalg.norm(bench.slice("s.h5") - truth)
            scale = np.linalg.norm(truth) if kind == "clean" else before
            for name in left:
                image = (bench.slice("s.h5", "--rings", name[3:]) if name not in theirs
                         else bench.slice_of_lines(theirs[name](np.copy(lines))))
                left[name][kind].append(np.linalg.norm(image - truth) / scale)
    cost = bench.costs(theirs)
    print(f"{'':20}" + "".join(f"{kind:>10}" for kind in KINDS) + f"{'ns':>10}")
    for name, of in left.items():
        print(f"{name:20}" + "".join(f"{np.mean(of[kind]):10.4f}" for kind in KINDS) + f"{cost[name]:10.1f}")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--qb", default=pathlib.Path(__file__).resolve().parents[1] / "build" / "qb")
    arguments.add_argument("--columns", type=int, default=256)
    arguments.add_argument("--views", type=int, default=400)
    arguments.add_argument("--seeds", type=int, default=5)
    arguments.add_argument("--only", default="rings,zingers,phase,flats")
    a = arguments.parse_args()
    if not shutil.which(a.qb):
        arguments.error(f"{a.qb}: there is no such command")
    if a.seeds < 1:
        arguments.error(f"--seeds {a.seeds}: at least 1")
    parts = ["rings", "zingers", "phase", "flats"]
    if set(wanted := a.only.split(",")) - set(parts):
        arguments.error(f"--only {a.only}: some of {','.join(parts)}")
    steps, theirs = peers()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(str(pathlib.Path(shutil.which(a.qb)).resolve()), pathlib.Path(folder), a.columns, a.views)
        bench.pixel = 256 / a.columns
        if "rings" in wanted:
            rings(bench, theirs, a.seeds)
        for part in parts[1:]:
            if part in wanted:
                getattr(steps, part)(bench)


if __name__ == "__main__":
    main()
