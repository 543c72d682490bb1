#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Do two builds of qb compute the same bits? same-bits.py BEFORE AFTER [--devices opencl,cuda] [--only WORD]
Runs some forty reconstructions and projections with each - options, dtypes, caps, threads, instruction sets, devices - on the
same inputs and compares the values written, byte for byte. For changes that must not change results; ends with 1 when one did."""
import argparse
import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile

PARALLEL = ["simulate", "shepp-logan", "--views", "201", "--detector", "192,24", "--pixel-size", "0.05",
            "--photons", "40000", "--rings", "0.002", "--center-offset", "3.7", "--seed", "5"]
CONE = ["simulate", "spheres", "--geometry", "cone", "--sod", "200", "--sdd", "350", "--views", "120",
        "--detector", "128,96", "--pixel-size", "0.4", "--seed", "7"]
SCANS = {
    "parallel.h5": PARALLEL,
    "lines.h5": ["simulate", "foam", "--views", "150", "--detector", "160,16", "--pixel-size", "0.1", "--seed", "2"],
    "uneven.h5": ["simulate", "disc", "--views", "97", "--angles", "0:170", "--detector", "130,8", "--pixel-size", "0.1"],
    "cone.h5": CONE,
    "noisy.h5": CONE + ["--photons", "20000"],
    "offset.h5": CONE + ["--detector-offset", "12,0"],
    "turned.h5": CONE + ["--tilt", "5,3,2"],
    "short.h5": CONE[:-4] + ["--angles", "0:230", "--pixel-size", "0.4", "--seed", "7"],
    "jitter.h5": CONE + ["--jitter", "0.5,0.3,3,20", "--geometry-out", "@jitter.json"],
}
CIRCLE = ["--sod", "200", "--sdd", "350", "--pixel-size", "0.4"]
RUNS = {
    "fbp": ["fbp", "@parallel.h5", "--center", "99.2"],
    "fbp auto": ["fbp", "@parallel.h5", "--center", "auto"],
    "fbp high": ["fbp", "@parallel.h5", "--center", "99.2", "--accuracy", "high"],
    "fbp fast": ["fbp", "@parallel.h5", "--center", "99.2", "--accuracy", "fast"],
    "fbp nearest": ["fbp", "@parallel.h5", "--center", "99.2", "--interp", "nearest"],
    "fbp hann edge": ["fbp", "@parallel.h5", "--center", "99.2", "--filter", "hann:0.7", "--pad", "edge"],
    "fbp one slice": ["fbp", "@parallel.h5", "--center", "99.2", "--slices", "5:6"],
    "fbp every third": ["fbp", "@parallel.h5", "--center", "99.2", "--slices", "1:22:3"],
    "fbp hu": ["fbp", "@parallel.h5", "--center", "99.2", "--hu", "0.02"],
    "fbp uint8": ["fbp", "@parallel.h5", "--center", "99.2", "--dtype", "uint8"],
    "fbp uint16": ["fbp", "@parallel.h5", "--center", "99.2", "--dtype", "uint16", "--range", "0,1.5"],
    "fbp float16": ["fbp", "@parallel.h5", "--center", "99.2", "--dtype", "float16"],
    "fbp cap": ["fbp", "@parallel.h5", "--center", "99.2", "--max-ram", "40M"],
    "fbp one thread": ["fbp", "@parallel.h5", "--center", "99.2", "--threads", "1"],
    "fbp size": ["fbp", "@parallel.h5", "--center", "99.2", "--size", "120,90", "--voxel", "0.07", "--offset", "0.5,-0.3"],
    "fbp air": ["fbp", "@parallel.h5", "--center", "99.2", "--air", "0:8,0:24"],
    "fbp lines": ["fbp", "@lines.h5", "--quantity", "line_integral", "--center", "79.5"],
    "fbp uneven": ["fbp", "@uneven.h5", "--center", "64.5"],
    "fdk": ["fdk", "@cone.h5", *CIRCLE],
    "fdk high": ["fdk", "@cone.h5", *CIRCLE, "--accuracy", "high"],
    "fdk counts": ["fdk", "@noisy.h5", *CIRCLE],
    "fdk cap": ["fdk", "@cone.h5", *CIRCLE, "--max-ram", "30M"],
    "fdk one thread": ["fdk", "@cone.h5", *CIRCLE, "--threads", "1"],
    "fdk slices": ["fdk", "@cone.h5", *CIRCLE, "--slices", "20:60:2", "--size", "100,100,80"],
    "fdk offset": ["fdk", "@offset.h5", *CIRCLE, "--detector-offset", "12,0"],
    "fdk turned": ["fdk", "@turned.h5", *CIRCLE, "--tilt", "5,3,2"],
    "fdk short": ["fdk", "@short.h5", *CIRCLE, "--angles", "0:230"],
    "fdk jitter": ["fdk", "@jitter.h5", "-g", "@jitter.json"],
    "fdk ellipse": ["fdk", "@cone.h5", *CIRCLE, "--pad", "ellipse", "--filter", "cosine"],
    "fdk uint16": ["fdk", "@cone.h5", *CIRCLE, "--dtype", "uint16", "--range", "-0.01,0.1"],
    "project parallel": ["project", "@volume.h5", "-g", "parallel", "--views", "60"],
    "project cone": ["project", "@volume.h5", "--sod", "100", "--sdd", "180", "--views", "40"],
    "project geometry": ["project", "@volume.h5", "-g", "@jitter.json"],
    "project cap": ["project", "@volume.h5", "--sod", "100", "--sdd", "180", "--views", "40", "--max-ram", "30M"],
}
MASKS = {"fbp": ["scalar", "avx2", "avx512"], "fbp one slice": ["scalar", "avx2", "avx512"], "fdk": ["scalar", "avx2", "avx512"],
         "fdk jitter": ["scalar", "avx2", "avx512"], "project cone": ["scalar", "avx2", "avx512"]}
DEVICE = ["fbp", "fbp high", "fbp nearest", "fbp one slice", "fbp uint8", "fbp float16", "fbp lines"]


def run(binary, words, folder, env=None):
    words = [str(folder / w[1:]) if w.startswith("@") else w for w in words]
    return subprocess.run([binary, *words, "-q"], capture_output=True, text=True, env={**os.environ, **(env or {})})


def values(binary, words, folder, out, env):
    for old in folder.glob(out.name + "*"):
        old.unlink()
    done = run(binary, [*words, "-o", str(out)], folder, env)
    if done.returncode:
        return f"exit {done.returncode}: {done.stderr.strip().splitlines()[-1] if done.stderr.strip() else ''}"
    return hashlib.sha256(out.read_bytes()).hexdigest()[:16]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--devices", default="", help="device kinds to run a part on, too: opencl,cuda")
    parser.add_argument("--only", default="", help="runs whose name contains this")
    args = parser.parse_args()
    bad = count = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for scan, words in SCANS.items():
            done = run(args.before, [*words, "-o", "@" + scan], folder)
            if done.returncode:
                sys.exit(f"{scan}: {done.stderr}")
        done = run(args.before, [*RUNS["fdk"], "-o", "@volume.h5"], folder)
        jobs = [(n, w, {}) for n, w in RUNS.items()]
        jobs += [(f"{n} [{m}]", RUNS[n], {"QB_CPU_MASK": m}) for n, masks in MASKS.items() for m in masks]
        jobs += [(f"{n} on {d}", [*RUNS[n], "--device", d], {}) for d in args.devices.split(",") if d for n in DEVICE]
        for job, words, env in jobs:
            if args.only not in job:
                continue
            a = values(args.before, words, folder, folder / "a.raw", env)
            b = values(args.after, words, folder, folder / "b.raw", env)
            count += 1
            bad += a != b
            print(f"{'same     ' if a == b else 'DIFFERENT'} {job}: {a}{'' if a == b else ' -> ' + b}", flush=True)
    print(f"{count} runs, {bad} different")
    sys.exit(bad != 0)


main()
