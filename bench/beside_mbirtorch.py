#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Model-based reconstruction of a cone by `qb mbir` and by mbirtorch (PyPI), in one run on one machine: a JSON of both.

  python3 -m pip install mbirtorch==0.2.0 h5py
  bench/beside_mbirtorch.py [--device cuda] [--size 512] [--sharpness 0 1 2] [--json FILE]
  bench/beside_mbirtorch.py --size 128 --scan sparse --search 200 --compile off --device cuda

A cube of voxels, as many views, rows and columns as it has of a side, or one of SCANS; source 1000 mm and detector 1500 mm away. Both take the same line
integrals by their defaults, and the same voxels; each of --sharpness runs with each of --weights, and --qb-only runs qb alone. --search looks for mbirtorch's best sharpness, from the first of --sharpness
on in steps of 1, of 0.5 and of 0.25; `enclosed` says whether a worse one was seen on either side. `fdk` is the rmse of `qb fdk` with each
of five windows. `seconds` of both is from an array
of line integrals in memory to the volume in memory, by recon() and by quickbeam_ct.mbir(); of the second of two calls with --warm. `process` is the whole
command, file to file. `cpu_seconds` is what the processor worked, which another program on the machine changes little. `rmse` is to the phantom, in HU of water at 0.02/mm; `left` of qb the rms
distance from its own volume where hardly anything moves (--converged passes; 0: not computed)."""
import argparse
import itertools
import json
import math
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time

WATER, SOD, SDD, WIDTH = 0.02, 1000, 1500, 256
SCANS = {"sparse": (1 / 8, 100_000), "low-dose": (1, 2_000), "both": (1 / 8, 10_000)}  # share of pi / 2 views a column, photons
WINDOWS = ("ramp", "shepp-logan", "cosine", "hann", "parzen")


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--size", type=int, default=64, metavar="N", help="voxels, columns, rows and views")
    parser.add_argument("--views", type=int, default=0, metavar="N", help="0: as --size")
    parser.add_argument("--scan", choices=SCANS, help="sets --views and --photons")
    parser.add_argument("--phantom", default="shepp-logan")
    parser.add_argument("--photons", type=int, default=20000, metavar="N")
    parser.add_argument("--sharpness", type=float, nargs="*", default=[1.0], metavar="X", help="of mbirtorch")
    parser.add_argument("--weights", choices=("none", "transmission", "transmission_root"), nargs="*", default=["none"], help="of mbirtorch; none is its default")
    parser.add_argument("--search", type=float, default=0, metavar="SECONDS", help="look for mbirtorch's best sharpness; no new one is begun after that time")
    parser.add_argument("--compile", choices=("auto", "off"), default="auto", help="compile_mode of mbirtorch; off is slower, but starts at once")
    parser.add_argument("--converged", type=int, default=200, metavar="N")
    parser.add_argument("--threads", type=int, default=2, metavar="N")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--warm", action="store_true", help="each runs twice")
    parser.add_argument("--neighbours", help="those of qb mbir, as 1,0.7071,1; else its default")
    parser.add_argument("--qb-only", action="store_true")
    parser.add_argument("--qb", help="the command (else that of PATH, else build/qb)")
    parser.add_argument("--json", metavar="FILE")
    args = parser.parse_args()
    args.views = args.views or args.size
    if args.scan:
        share, args.photons = SCANS[args.scan]
        args.views = int(share * math.pi / 2 * args.size)
    args.qb = args.qb or shutil.which("qb") or str(pathlib.Path(__file__).resolve().parents[1] / "build" / "qb")
    return args


def run(*command):
    """Its output, seconds, and seconds of the processor."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run([*map(str, command)], capture_output=True, text=True)
    seconds, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr}")
    return done.stdout, seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def hu(a, b):
    import numpy
    return float(1000 / WATER * numpy.sqrt(((a.astype(float) - b) ** 2).mean()))


def timed(call, warm):
    """Its result, seconds, and seconds of the processor."""
    for _ in range(1 + warm):
        before, begun = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
        result = call()
        seconds, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_SELF)
    return result, seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def by_arrays(args, lines):
    import numpy
    os.environ.setdefault("QUICKBEAM_LIBRARY", str(pathlib.Path(args.qb).resolve().with_name("libquickbeam.so")))
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))
    import quickbeam_ct
    angles = numpy.linspace(0, 2 * numpy.pi, args.views, endpoint=False)
    more = {"neighbours": [float(x) for x in args.neighbours.split(",")]} if args.neighbours else {}
    return timed(lambda: quickbeam_ct.mbir(lines, angles, SDD / SOD * WIDTH / args.size, sod=SOD, sdd=SDD, quantity="line_integral", device=args.device,
                                           threads=args.threads, **more), args.warm)


def by_fdk(args, folder, truth):
    import numpy
    rmse = {}
    for window in WINDOWS:
        run(args.qb, "fdk", folder / "scan.h5", "--sod", SOD, "--sdd", SDD, "--filter", window, "--threads", args.threads, "-q", "-o", folder / "fdk.npy")
        rmse[window] = hu(numpy.load(folder / "fdk.npy"), truth)
    return rmse


def by_qb(args, folder, truth):
    import numpy
    job = [args.qb, "mbir", folder / "scan.h5", "--sod", SOD, "--sdd", SDD, "--device", args.device, "--threads", args.threads, "--json", "-q"]
    job += ["--neighbours", args.neighbours] if args.neighbours else []
    if args.converged:
        run(*job, "-o", folder / "best.npy", "--equits", args.converged, "--stop", 1e-3)
    text, process, _ = run(*job, "-o", folder / "x.npy")
    slab = json.loads(text)["convergence"]["slabs"][0]
    x, seconds, cpu = by_arrays(args, lines_of(folder / "scan.h5"))
    return {"seconds": seconds, "cpu_seconds": cpu, "process": process, "solver_seconds": slab["seconds"], "passes": len(slab["cost"]), "rmse": hu(x, truth),
            "left": hu(x, numpy.load(folder / "best.npy")) if args.converged else None}


def lines_of(path):
    import h5py
    import numpy
    with h5py.File(path) as file:
        dark = file["exchange/data_dark"][:].mean(0)
        lines = (file["exchange/data"][:] - dark) / (file["exchange/data_white"][:].mean(0) - dark)
    return -numpy.log(numpy.maximum(lines, 1e-6)).astype("float32")


def nearest(volume, truth):
    """Its rmse in whichever way its axes run."""
    import numpy
    ways = []
    for order in itertools.permutations(range(3)):
        turned = volume.transpose(order)
        if turned.shape == truth.shape:
            ways += [hu(numpy.flip(turned, axes), truth) for k in range(4) for axes in itertools.combinations(range(3), k)]
    return min(ways)


def by_mbirtorch(args, lines, truth, weights, sharpness):
    if args.device == "cpu":
        os.environ["CUDA_VISIBLE_DEVICES"] = ""  # it takes all GPUs that it sees
    import mbirtorch
    import numpy
    import torch
    if args.device == "cuda" and not torch.cuda.is_available():
        sys.exit("torch sees no GPU: --device cpu")
    torch.set_num_threads(args.threads)
    pixel = SDD / SOD * WIDTH / args.size
    model = mbirtorch.ConeBeamModel(lines.shape, numpy.linspace(0, 2 * numpy.pi, args.views, endpoint=False).astype("float32"),
                                    source_detector_dist=SDD / pixel, source_iso_dist=SOD / pixel, compile_mode=args.compile)
    model.set_params(no_warning=True, delta_voxel=SOD / SDD, recon_shape=(args.size,) * 3, sharpness=sharpness)
    values = None if weights == "none" else mbirtorch.gen_weights(lines, weights)
    (volume, record), seconds, cpu = timed(lambda: model.recon(lines, weights=values, logfile_path=None, print_logs=False), args.warm)
    return {"weights": weights, "sharpness": sharpness, "seconds": seconds, "cpu_seconds": cpu,
            "iterations": int(record["recon_params"]["num_iterations"]), "rmse": nearest(numpy.asarray(volume) / pixel, truth)}


def search(rmse_at, start, seconds):
    """The best sharpness, and whether a worse one was seen on either side of it."""
    begun, seen, step, best = time.perf_counter(), {}, 1.0, start
    while step >= 0.25:
        for x in (best, best - step, best + step):
            if x not in seen and time.perf_counter() - begun < seconds:
                seen[x] = rmse_at(x)
        lowest = min(seen, key=seen.get)
        if time.perf_counter() - begun >= seconds:
            best = lowest
            break
        best, step = lowest, step if lowest != best else step / 2
    return best, min(seen) < best < max(seen)


def main():
    args = parse()
    import numpy
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        run(args.qb, "simulate", args.phantom, "-o", folder / "scan.h5", "--geometry", "cone", "--sod", SOD, "--sdd", SDD, "--detector",
            f"{args.size},{args.size}", "--views", args.views, "--photons", args.photons, "--truth", folder / "truth.npy", "-q")
        truth = numpy.load(folder / "truth.npy")
        told = {"size": args.size, "views": args.views, "phantom": args.phantom, "photons": args.photons, "threads": args.threads, "device": args.device,
                "fdk": by_fdk(args, folder, truth), "qb": by_qb(args, folder, truth), "mbirtorch": []}
        print("fdk:", json.dumps(told["fdk"]), "\nqb:", json.dumps(told["qb"]), file=sys.stderr, flush=True)
        lines = lines_of(folder / "scan.h5")

        def beside(weights, sharpness):
            told["mbirtorch"].append(by_mbirtorch(args, lines, truth, weights, sharpness))
            print("mbirtorch:", json.dumps(told["mbirtorch"][-1]), file=sys.stderr, flush=True)
            return told["mbirtorch"][-1]["rmse"]
        for weights in [] if args.qb_only else args.weights:
            if args.search:
                best, enclosed = search(lambda x, weights=weights: beside(weights, x), args.sharpness[0], args.search / len(args.weights))
                told.setdefault("best", []).append({"weights": weights, "sharpness": best, "enclosed": enclosed})
            else:
                for sharpness in args.sharpness:
                    beside(weights, sharpness)
    text = json.dumps(told, indent=1)
    print(text)
    if args.json:
        pathlib.Path(args.json).write_text(text + "\n")


main()
