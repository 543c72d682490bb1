#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Rings of simulated faults, by --rings and by algotom (Vo's rank-wise sorting and the others of his paper) in one run: a table.

  python3 -m pip install algotom h5py numpy
  bench/beside_preparation.py [--qb build/qb] [--columns 256] [--views 400] [--seeds 5]

For each kind of fault on foams: the error of the slice after the correction over that before (1: nothing done, above: worse than
none), the mean of some seeds. "clean" is the change of a slice without faults, relative to the slice; "ns" is what a sample takes on
one core."""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
import h5py
import numpy as np

KINDS = {"clean": [], "narrow": ["--rings", "0.03"], "wide": ["--faults", "wide=0.1"], "partial": ["--faults", "partial=0.3"],
         "drifting": ["--faults", "drifting=0.2"], "flicker": ["--faults", "flicker=3"]}
OURS = ["sort", "wavelet", "titarenko", "raven", "double-flat", "fit", "large", "dead", "all", "auto"]

def peers():
    try:
        import algotom.prep.removal as removal
    except ImportError as why:
        sys.exit(f"algotom cannot be imported (ImportError: {why}): python3 -m pip install algotom in an environment of its own, and run "
                 "this with its python")
    return {"sorting": lambda p: removal.remove_stripe_based_sorting(p, 21),
            "filtering": lambda p: removal.remove_stripe_based_filtering(p, 3, 21),
            "fitting": lambda p: removal.remove_stripe_based_fitting(p, 2, 5),
            "large": lambda p: removal.remove_large_stripe(p, 3.0, 51), "dead": lambda p: removal.remove_dead_stripe(p, 3.0, 51),
            "wavelet": lambda p: removal.remove_stripe_based_wavelet_fft(p, 5, 1.0),
            "all": lambda p: removal.remove_all_stripe(p, 3.0, 51, 21)}


class Bench:
    def __init__(self, qb, folder, columns, views):
        self.qb, self.folder, self.columns, self.views = qb, folder, columns, views

    def run(self, *args):
        done = subprocess.run([self.qb, *map(str, args), "--threads", "1", "-q"], cwd=self.folder, capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stderr)

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

    def costs(self, theirs):
        """Nanoseconds a sample and core, of 1024 views of 1024 columns: 16 rows by qb, the least of three, less what the command takes
        without --rings; one row by a peer."""
        def least(call, turns):
            took = []
            for _ in range(turns):
                start = time.perf_counter()
                call()
                took.append(time.perf_counter() - start)
            return 1e9 * min(took)

        scan = ["simulate", "foam", "--detector", "1024,16", "--views", 1024, "--rings", 0.02, "--photons", 20000]
        self.run(*scan, "-o", "t.h5")
        convert = ["convert", "t.h5", "-o", "t.npy.h5", "--center", 511.5]
        plain = least(lambda: self.run(*convert), 3)
        cost = {("qb", m): (least(lambda: self.run(*convert, "--rings", m), 3) - plain) / (16 * 1024 ** 2) for m in OURS}
        with h5py.File(self.folder / "t.h5") as f:
            lines = -np.log(np.maximum(f["/exchange/data"][:, 0].astype(float) - 100, 1) / 20000)
        cost.update({("algotom", m): least(lambda: theirs[m](np.copy(lines)), 1) / 1024 ** 2 for m in theirs})
        return cost


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--qb", default=pathlib.Path(__file__).resolve().parents[1] / "build" / "qb")
    arguments.add_argument("--columns", type=int, default=256)
    arguments.add_argument("--views", type=int, default=400)
    arguments.add_argument("--seeds", type=int, default=5)
    a = arguments.parse_args()
    if not shutil.which(a.qb):
        arguments.error(f"{a.qb}: there is no such command")
    if a.seeds < 1:
        arguments.error(f"--seeds {a.seeds}: at least 1")
    theirs = peers()
    left = {(who, method): {kind: [] for kind in KINDS} for who, methods in (("qb", OURS), ("algotom", theirs)) for method in methods}
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(str(pathlib.Path(shutil.which(a.qb)).resolve()), pathlib.Path(folder), a.columns, a.views)
        bench.pixel = 256 / a.columns
        for seed in range(1, a.seeds + 1):
            bench.simulate(seed, [])
            truth = bench.slice("s.h5")
            for kind, faults in KINDS.items():
                lines = bench.simulate(seed, faults)
                before = np.linalg.norm(bench.slice("s.h5") - truth)
                scale = np.linalg.norm(truth) if kind == "clean" else before
                for who, method in left:
                    image = bench.slice("s.h5", "--rings", method) if who == "qb" else bench.slice_of_lines(theirs[method](np.copy(lines)))
                    left[who, method][kind].append(np.linalg.norm(image - truth) / scale)
        cost = bench.costs(theirs)
    print(f"{'':20}" + "".join(f"{kind:>10}" for kind in KINDS) + f"{'ns':>10}")
    for (who, method), of in left.items():
        print(f"{who + ' ' + method:20}" + "".join(f"{np.mean(of[kind]):10.4f}" for kind in KINDS) + f"{cost[who, method]:10.1f}")


if __name__ == "__main__":
    main()
