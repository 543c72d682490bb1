#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What qb plan says a job takes, beside what it takes: plan-check.py [--qb build/qb] [--columns N] [--repeat N].

Wall seconds mean something on a quiet machine; on a loaded one look at the processor seconds a thread, which a job
cannot go below. With --json one object, as bench/results/*.json keep it."""
import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

JOBS = {  # name: scan, verb and options, output
    "fbp": ("lines", ["fbp", "--center", "middle"], "v.h5"),
    "fbp, counts, uint16 TIFF": ("counts", ["fbp", "--center", "middle", "--dtype", "uint16", "--range", "0,0.05"], "v_%05d.tif"),
    "fbp, axis looked for": ("counts", ["fbp", "--center", "auto"], "v.h5"),
    "fbp, rings, NPY": ("counts", ["fbp", "--center", "middle", "--rings", "sort"], "v.npy"),
    "fbp, high accuracy, 500 MB": ("counts", ["fbp", "--center", "middle", "--accuracy", "high", "--max-ram", "500M"], "v.mha"),
    "fdk": ("cone", ["fdk"], "v.h5"),
    "fdk, uint16 TIFF": ("cone", ["fdk", "--dtype", "uint16", "--range", "0,0.05"], "v_%05d.tif"),
    "sirt": ("small", ["sirt", "--center", "middle", "--iterations", "5"], "v.h5"),
    "cgls": ("small", ["cgls", "--center", "middle", "--iterations", "5"], "v.h5"),
    "mbir": ("small", ["mbir", "--center", "middle", "--equits", "8", "--stop", "0"], "v.h5"),
}


def run(command):
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True)
    wall, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr}")
    return done.stdout, wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def simulate(qb, folder, n):
    wide = ["--views", n, "--detector", f"{n},{n // 8}", "--pixel-size", "0.1"]
    few = ["--views", n // 4, "--detector", f"{n // 4},16", "--pixel-size", "0.1"]
    kinds = {
        "lines": (wide, "npy"),
        "counts": ([*wide, "--photons", 20000, "--center-offset", 3], "h5"),
        "cone": (["--geometry", "cone", "--views", n, "--detector", f"{n // 2},{n // 2}", "--pixel-size", "0.2", "--sod", n, "--sdd", 1.5 * n,
                  "--geometry-out", folder / "cone.json"], "h5"),
        "small": ([*few, "--photons", 20000], "h5"),
    }
    scans = {}
    for name, (options, kind) in kinds.items():
        scans[name] = [folder / f"{name}.{kind}"]
        run([qb, "simulate", "foam", *map(str, options), "-o", scans[name][0], "-q"])
    scans["lines"] += ["--angles", "0:180", "--quantity", "transmission"]
    scans["cone"] += ["-g", folder / "cone.json"]
    return scans


def check(qb, folder, scans, job, repeat):
    scan, (verb, *options), output = JOBS[job]
    words = [qb, verb, *scans[scan], *options, "-o", folder / "out" / output, "--device", "cpu"]
    walls, cpus = [], []
    plan = json.loads(run([qb, "plan", *words[1:], "--json"])[0])
    for _ in range(repeat):
        _, wall, cpu = run([*words, "-q"])
        walls.append(wall)
        cpus.append(cpu)
    wall = statistics.median(walls)
    return {"job": job, "forecast": plan["forecast_seconds"], "wall": wall, "ratio": plan["forecast_seconds"] / wall,
            "cpu_per_thread": statistics.median(cpus) / plan["threads"], "rates": plan["forecast"]["rates"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--qb", default="build/qb")
    parser.add_argument("--columns", type=int, default=512)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", help="jobs whose name contains this")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    qb, rows = str(pathlib.Path(given.qb).resolve()), []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "out").mkdir()
        os.environ.setdefault("QB_TUNING", str(folder / "tuning.json"))  # else the user's own
        scans = simulate(qb, folder, given.columns)
        if not given.json:
            print(f"{'job':28} {'forecast s':>10} {'wall s':>8} {'ratio':>6} {'CPU s/thread':>13}")
        for job in JOBS:
            if given.only and given.only not in job:
                continue
            rows.append(row := check(qb, folder, scans, job, given.repeat))
            if not given.json:
                print(f"{job:28} {row['forecast']:10.2f} {row['wall']:8.2f} {row['ratio']:6.2f} {row['cpu_per_thread']:13.2f}", flush=True)
    if given.json:
        print(json.dumps({"threads": len(os.sched_getaffinity(0)), "columns": given.columns, "jobs": rows}, indent=1))


if __name__ == "__main__":
    main()
