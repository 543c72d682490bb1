#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Do two builds of qb compute the same bits? same-bits.py BEFORE AFTER [--devices opencl,cuda] [--ranks N] [--plans] [--only WORD]

For changes that must not change results. Runs some eighty small jobs with each build on the same inputs (methods, dtypes,
memory caps, threads, instruction sets, devices, ranks, runs that are killed and resumed) and compares the values written,
byte for byte. --plans compares what qb plan --json says instead, over a grid of sizes, caps and dtypes. Ends with 1 when
something differs."""
import argparse
import hashlib
import itertools
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

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
    "few.h5": ["simulate", "shepp-logan", "--views", "40", "--detector", "48,12", "--pixel-size", "0.1", "--photons", "20000",
               "--seed", "3"],
    "fewcone.h5": ["simulate", "spheres", "--geometry", "cone", "--sod", "200", "--sdd", "350", "--views", "30",
                   "--detector", "40,24", "--pixel-size", "1.2", "--photons", "20000", "--seed", "4"],
    "fan.h5": ["simulate", "disc", "--geometry", "cone", "--sod", "200", "--sdd", "350", "--views", "60", "--detector", "64,1",
               "--pixel-size", "0.8", "--photons", "20000", "--seed", "6"],
}
CIRCLE = ["--sod", "200", "--sdd", "350", "--pixel-size", "0.4"]
FEW_CIRCLE = ["--sod", "200", "--sdd", "350", "--pixel-size", "1.2"]
EQUITS = ["--center", "23.5", "--equits", "5", "--stop", "0"]
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
    "project float16": ["project", "@volume.h5", "--sod", "100", "--sdd", "180", "--views", "40", "--dtype", "float16"],
    "fdk uint8 auto": ["fdk", "@cone.h5", *CIRCLE, "--dtype", "uint8"],
    "fdk cap of devices": ["fdk", "@cone.h5", *CIRCLE, "--dtype", "float16", "--max-ram", "200M", "--max-vram", "12M"],
    "fdk float16 cap": ["fdk", "@cone.h5", *CIRCLE, "--dtype", "float16", "--max-ram", "30M"],
    "sirt": ["sirt", "@few.h5", "--center", "23.5", "--iterations", "4"],
    "sirt one thread": ["sirt", "@few.h5", "--center", "23.5", "--iterations", "4", "--threads", "1"],
    "sirt cone": ["sirt", "@fewcone.h5", *FEW_CIRCLE, "--iterations", "3"],
    "cgls": ["cgls", "@few.h5", "--center", "23.5", "--iterations", "4"],
    "cgls cone uint16": ["cgls", "@fewcone.h5", *FEW_CIRCLE, "--iterations", "3", "--dtype", "uint16", "--range", "-0.01,0.1"],
    "tv": ["tv", "@few.h5", "--center", "23.5", "--iterations", "10", "--lambda", "0.01"],
    "tv cone": ["tv", "@fewcone.h5", *FEW_CIRCLE, "--iterations", "6", "--lambda", "0.01"],
    "mbir": ["mbir", "@few.h5", *EQUITS],
    "mbir one thread": ["mbir", "@few.h5", *EQUITS, "--threads", "1"],
    "mbir one slice": ["mbir", "@few.h5", *EQUITS, "--slices", "4:5"],
    "mbir alone": ["mbir", "@few.h5", *EQUITS, "--neighbours", "1,0.7,0"],
    "mbir uint8": ["mbir", "@few.h5", *EQUITS, "--dtype", "uint8", "--range", "0,1"],
    "mbir fan": ["mbir", "@fan.h5", "--sod", "200", "--sdd", "350", "--pixel-size", "0.8", "--equits", "4", "--stop", "0"],
}
MASKS = {"fbp": ["scalar", "avx2", "avx512"], "fbp one slice": ["scalar", "avx2", "avx512"], "fdk": ["scalar", "avx2", "avx512"],
         "fdk jitter": ["scalar", "avx2", "avx512"], "project cone": ["scalar", "avx2", "avx512"]}
DEVICE = ["fbp", "fbp high", "fbp nearest", "fbp one slice", "fbp uint8", "fbp float16", "fbp lines", "fdk", "fdk cap of devices", "fdk uint16",
          "project cone", "sirt cone", "cgls", "mbir"]
RANKS = ["fbp", "fbp cap", "fdk", "fdk cap", "fdk uint16", "sirt cone", "cgls", "tv", "mbir alone"]
RESUMED = {"fbp resumed": "fbp one thread", "fdk resumed": "fdk cap", "fdk uint16 resumed": "fdk uint16",
           "mbir resumed": "mbir alone"}
# What qb plan says of these must not change, but for what the clock or the free memory says.
PLANNED = ["fbp", "fbp uint8", "fdk", "fdk high", "fdk uint16", "fdk slices", "fdk jitter", "sirt", "cgls", "tv", "mbir", "mbir fan",
           "project parallel", "project cone"]
PLAN_SIZES = [["--slices", "3:9"], []]
PLAN_CAPS = ["24M", "40M", "100M", "800M"]
PLAN_THREADS = ["1", "2"]


def run(binary, words, folder, env=None, launch=()):
    words = [str(folder / w[1:]) if w.startswith("@") else w for w in words]
    return subprocess.run([*launch, binary, *words, "-q"], capture_output=True, text=True, env={**os.environ, **(env or {})})


def interrupt(binary, words, folder, out):
    """Start the job and kill it once something of it is kept. A job that ends before that is compared all the same."""
    words = [str(folder / w[1:]) if w.startswith("@") else w for w in words]
    job = subprocess.Popen([binary, *words, "-q", "-o", str(out), "--checkpoint", "0.001"], stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
    end = time.monotonic() + 60
    while job.poll() is None and time.monotonic() < end:
        if any(folder.glob(f".{out.name}*")) or any(folder.glob(f"{out.name}.checkpoint/slab_*")):
            time.sleep(0.01)
            job.send_signal(signal.SIGKILL)
        time.sleep(0.001)
    job.kill()
    job.wait()


def failure(done):
    return f"exit {done.returncode}: {done.stderr.strip().splitlines()[-1] if done.stderr.strip() else ''}"


def values(binary, words, folder, out, env, launch, resumed):
    for old in folder.glob(f"*{out.name}*"):
        shutil.rmtree(old) if old.is_dir() else old.unlink()
    if resumed:
        interrupt(binary, words, folder, out)
        words = words if out.exists() else [*words, "--resume", "--checkpoint", "0"]
    done = run(binary, [*words, "-o", str(out)], folder, env, launch)
    return failure(done) if done.returncode else hashlib.sha256(out.read_bytes()).hexdigest()[:16]


def plan_of(binary, words, folder, out, env, launch, resumed):
    """Of several ranks the first one's."""
    del resumed
    done = run(binary, ["plan", *words, "-o", str(out), "--json"], folder, env, launch)
    if done.returncode:
        return failure(done)
    plan = json.JSONDecoder().raw_decode(done.stdout[done.stdout.index("{"):])[0]
    return json.dumps(plan, sort_keys=True)


def jobs_of_values(args):
    kinds = [d for d in args.devices.split(",") if d]
    jobs = [(n, w, {}, (), False) for n, w in RUNS.items()]
    jobs += [(f"{n} [{m}]", RUNS[n], {"QB_CPU_MASK": m}, (), False) for n, masks in MASKS.items() for m in masks]
    jobs += [(f"{n} on {d}", [*RUNS[n], "--device", d], {}, (), False) for d in kinds for n in DEVICE]
    jobs += [(name, RUNS[n], {}, (), True) for name, n in RESUMED.items()]
    launch = ["mpirun", "--oversubscribe", "--allow-run-as-root", "--bind-to", "none", "-n", str(args.ranks)]
    jobs += [(f"{n} by {args.ranks} ranks", RUNS[n], {}, launch, False) for n in RANKS if args.ranks > 1]
    return jobs


def jobs_of_plans(args):
    jobs = []
    places = ["cpu", *[d for d in args.devices.split(",") if d]]
    launch = ["mpirun", "--oversubscribe", "--allow-run-as-root", "--bind-to", "none", "-n", str(args.ranks)] if args.ranks > 1 else ()
    for name, place, size, cap, threads in itertools.product(PLANNED, places, PLAN_SIZES, PLAN_CAPS, PLAN_THREADS):
        if size and ("project" in name or "--slices" in RUNS[name] or "fan" in name):
            continue
        words = [*RUNS[name], *size, "--max-ram", cap, "--threads", threads, "--device", place]
        jobs.append((" ".join([name, *size, cap, threads, place]), words, {}, launch, False))
    return jobs


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--devices", default="", help="device kinds to run a part on, too: opencl,cuda")
    parser.add_argument("--ranks", type=int, default=1, help="run a part by so many processes, too; with mpirun and builds that have MPI")
    parser.add_argument("--plans", action="store_true", help="compare plans, not values")
    parser.add_argument("--only", default="", help="runs whose name contains this")
    args = parser.parse_args()
    bad = count = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        os.environ["QB_TUNING"] = str(folder / "tuning.json")  # what both measure, and not the user's own
        for scan, words in SCANS.items():
            done = run(args.before, [*words, "-o", "@" + scan], folder)
            if done.returncode:
                sys.exit(f"{scan}: {done.stderr}")
        run(args.before, [*RUNS["fdk"], "-o", "@volume.h5"], folder)
        run(args.before, ["plan", *RUNS["fbp"], "-o", str(folder / "out.raw")], folder)  # measures the machine, once
        compare = plan_of if args.plans else values
        for job, words, env, launch, resumed in jobs_of_plans(args) if args.plans else jobs_of_values(args):
            if args.only not in job:
                continue
            a, b = (compare(q, words, folder, folder / "out.raw", env, launch, resumed) for q in (args.before, args.after))
            count += 1
            bad += a != b
            if a != b or not args.plans:
                print(f"{'same     ' if a == b else 'DIFFERENT'} {job}: {a}{'' if a == b else ' -> ' + b}", flush=True)
    print(f"{count} {'plans' if args.plans else 'runs'}, {bad} different")
    sys.exit(bad != 0)


main()
