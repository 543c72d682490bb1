#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Model-based reconstruction of one scan by `qb mbir` and by mbirjax (PyPI), in one run on one machine: a JSON of both.

  python3 -m pip install mbirjax==0.7.3   (with jax for the device: jax[cuda13])
  bench/beside_mbirjax.py [--device cuda] [--columns 512 --views 720 --slices 128] [--json FILE]

Both minimise the same cost from the same line integrals of a foam of water with noise: weights exp(-y), sigma_x and
sigma_y as qb finds them (--snr-db, --sharpness), 6 neighbours of equal weight (mbirjax knows no diagonal ones), p 1.2,
q 2, T 1, no bound at zero. mbirjax writes that prior with its powers swapped: |d|^2 / (2 s^2) / (1 + |d / (T s)|^0.8)
is qb's |d|^1.2 / (1.2 sigma^1.2) r / (1 + r), r = |d / sigma|^0.8, where s = sigma sqrt(1.2 / 2) and T = sigma / s.
Their system matrices are not the same (shadows of voxels are cast each in its own way), so their converged images differ a little.

Each begins with its own filtered back-projection, which counts. mbirjax runs --iterations (its default: 15) at most and stops
by its default rule; qb by its own. `seconds` of mbirjax is that of recon() on arrays in memory, after one such call that compiled
(`seconds_with_compilation`); of qb that of the job as it reports it, file to file, the second of two
(`seconds_first`; `seconds_process` has the start of the process in it). Converged: qb's after --converged equits; mbirjax's
own goes on from its image to as many iterations in all, a few at a time, until one changes it by less than a tenth of what
its default rule stops at. After each few it says how far it is, and --json has what is known by then."""
import argparse
import importlib.metadata
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

WATER = 0.02  # 1/mm
STOP = 0.2  # per cent of change: where mbirjax stops by default


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    number = {"type": int, "metavar": "N"}
    parser.add_argument("--columns", default=512, help="channels, and voxels of a side", **number)
    parser.add_argument("--views", default=720, help="over 180 degrees", **number)
    parser.add_argument("--slices", default=128, help="detector rows", **number)
    parser.add_argument("--photons", default=50000, help="of a pixel of the open beam", **number)
    parser.add_argument("--iterations", default=15, help="of mbirjax at most", **number)
    parser.add_argument("--converged", default=60, help="iterations and equits of the images to compare with; 0: none", **number)
    parser.add_argument("--snr-db", default=35, type=float, metavar="DB", help="what sigma_y follows from")
    parser.add_argument("--sharpness", default=0, type=float, metavar="X", help="what sigma_x follows from")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"], help="of both")
    parser.add_argument("--qb", help="the command (else that of PATH, else build/qb)")
    parser.add_argument("--json", metavar="FILE", help="write it there too, and in the longest run again and again what is known by then")
    args = parser.parse_args()
    for name, least in (("columns", 16), ("views", 8), ("slices", 1), ("photons", 1), ("iterations", 1), ("converged", 0)):
        if getattr(args, name) < least:
            parser.error(f"--{name} {getattr(args, name)}: at least {least}")
    args.qb = args.qb or shutil.which("qb") or str(pathlib.Path(__file__).resolve().parents[1] / "build" / "qb")
    if not os.access(args.qb, os.X_OK):
        parser.error(f"--qb {args.qb}: there is no such command")
    return args


def check_peer(device):
    """In a process of its own: jax would take the device's memory, where qb is to run before."""
    if device == "cpu":
        os.environ["JAX_PLATFORMS"] = "cpu"
    asked = subprocess.run([sys.executable, "-W", "ignore", "-c", "import mbirjax, jax; print(jax.default_backend())"], capture_output=True, text=True)
    if asked.returncode:
        sys.exit(f"mbirjax cannot be imported ({(asked.stderr.strip().splitlines() or ['no reason given'])[-1]}): python3 -m pip install "
                 "mbirjax==0.7.3 in an environment of its own, and run this with its python")
    if device == "cuda" and asked.stdout.split()[-1] != "gpu":
        sys.exit(f"jax sees no GPU, only {asked.stdout.split()[-1]}: install jax[cuda13], or --device cpu")


def run(command):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr}")
    return done.stdout


def scan(args, folder):
    """Line integrals [view][row][column] as both take them, and the phantom [z][y][x]."""
    import h5py
    import numpy
    run([args.qb, "simulate", "foam", "-o", folder / "scan.h5", "--views", args.views, "--detector", f"{args.columns},{args.slices}",
         "--pixel-size", args.pixel, "--photons", args.photons, "--seed", 1, "--attenuation", WATER, "--truth", folder / "truth.npy", "-q"])
    with h5py.File(folder / "scan.h5") as file:
        dark = file["exchange/data_dark"][:].mean(0)
        lines = (file["exchange/data"][:] - dark) / (file["exchange/data_white"][:].mean(0) - dark)
    lines = -numpy.log(numpy.maximum(lines, 1e-6)).astype("float32")
    numpy.save(folder / "lines.npy", lines)
    return lines, numpy.load(folder / "truth.npy")


def by_qb(args, folder, *options):
    """Its image, what it reports, and the seconds of the process."""
    import numpy
    begun = time.perf_counter()
    report = json.loads(run([
        args.qb, "mbir", folder / "lines.npy", "-o", folder / "qb.npy", "--angles", "0:180", "--pixel-size", args.pixel,
        "--center", (args.columns - 1) / 2, "--weights", "transmission", "--snr-db", args.snr_db, "--sharpness", args.sharpness,
        "--neighbours", "1,0,1", "--no-positivity", "--device", args.device, "--json", "-q", *options]))
    return numpy.load(folder / "qb.npy"), report, time.perf_counter() - begun


class Mbirjax:
    def __init__(self, args, lines, sigmas):
        import mbirjax
        import numpy
        self.lines, self.weights = lines, numpy.exp(-lines)
        angles = numpy.pi * numpy.arange(args.views) / args.views
        self.model = mbirjax.ParallelBeamModel(lines.shape, angles)
        swapped = sigmas["sigma_x"] * (1.2 / 2) ** 0.5
        self.model.set_params(
            no_warning=True, verbose=0, delta_det_channel=args.pixel, delta_det_row=args.pixel, delta_voxel=args.pixel,
            recon_shape=(args.columns, args.columns, args.slices), auto_regularize_flag=False, sigma_y=sigmas["sigma_y"],
            sigma_x=swapped, p=2.0, q=1.2, T=sigmas["sigma_x"] / swapped, qggmrf_nbr_wts=[1.0, 1.0, 1.0], positivity_flag=False)

    def run(self, iterations, stop, begin=None, done=0):
        """The image [z][y][x], iterations in all, seconds, and the last iteration's change in per cent; it may go on from an image of `done`."""
        import numpy
        numpy.random.seed(1 + done)  # its partitions
        # [row][column][slice], its rows against our y.
        start = None if begin is None else numpy.ascontiguousarray(begin[:, ::-1].transpose(1, 2, 0))
        begun = time.perf_counter()
        image, record = self.model.recon(self.lines, weights=self.weights, init_recon=start, max_iterations=iterations,
                                         first_iteration=done, stop_threshold_change_pct=stop, logfile_path=None, print_logs=False)
        seconds = time.perf_counter() - begun
        done += record["recon_params"]["num_iterations"]
        change = record["recon_params"]["stop_threshold_change_pct"][-1]
        print(f"mbirjax: {done} iterations, {seconds:.2f} s, change {change:.3f} %", file=sys.stderr, flush=True)
        return numpy.asarray(image).transpose(2, 0, 1)[:, ::-1], done, seconds, change

    def settle(self, image, done, limit):
        """Its converged image, by and by: image, iterations in all, change in per cent."""
        change = STOP
        while done < limit and change >= STOP / 10:
            image, done, _, change = self.run(min(done + 6, limit), STOP / 10, image, done)
            yield image, done, change


def distance(a, b):
    """Rms in Hounsfield units within the circle of both, two voxels from its rim."""
    import numpy
    at = numpy.arange(a.shape[1]) - (a.shape[1] - 1) / 2
    inside = numpy.hypot(at[:, None], at[None, :]) < a.shape[1] / 2 - 2
    return float(1000 / WATER * numpy.sqrt(((a - b)[:, inside].astype(float) ** 2).mean()))


def device_name(device):
    if device == "cpu":
        with open("/proc/cpuinfo") as file:
            return next((line.split(":")[1].strip() for line in file if line.startswith("model name")), "cpu")
    import jax
    return jax.devices()[0].device_kind


def keep(args, result):
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(result, indent=1) + "\n")


def main():
    args = parse()
    check_peer(args.device)
    args.pixel = 256 / args.columns
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        lines, truth = scan(args, folder)
        _, first, _ = by_qb(args, folder)
        ours, report, process = by_qb(args, folder)
        settled = by_qb(args, folder, "--stop", 0, "--equits", args.converged)[0] if args.converged else None
    print(f"qb mbir: {report['wall_seconds']:.2f} s", file=sys.stderr, flush=True)
    sigmas = report["convergence"]
    them = Mbirjax(args, lines, sigmas)
    compiled = them.run(args.iterations, STOP)[2]
    theirs, iterations, seconds, _ = them.run(args.iterations, STOP)
    slab = sigmas["slabs"][0]
    mine = {"seconds": report["wall_seconds"], "seconds_first": first["wall_seconds"], "seconds_process": process,
            "slices_per_second": args.slices / report["wall_seconds"], "kernel": report["kernel"], "equits": slab["equits"][-1],
            "stopped": slab["stopped"], "rmse_phantom_hu": distance(ours, truth)}
    peers = {"version": importlib.metadata.version("mbirjax"), "jax": importlib.metadata.version("jax"),
             "seconds": seconds, "seconds_with_compilation": compiled, "slices_per_second": args.slices / seconds,
             "iterations": iterations, "rmse_phantom_hu": distance(theirs, truth)}
    result = {"device": device_name(args.device), "cores": len(os.sched_getaffinity(0)), "columns": args.columns, "views": args.views,
              "slices": args.slices, "photons": args.photons, "sigma_x": sigmas["sigma_x"], "sigma_y": sigmas["sigma_y"], "qb": mine,
              "mbirjax": peers, "times_as_fast": seconds / report["wall_seconds"], "apart_hu": distance(ours, theirs)}
    if args.converged:
        mine["to_own_converged_hu"], peers["to_converged_of_qb_hu"] = distance(ours, settled), distance(theirs, settled)
        mine["converged_rmse_phantom_hu"] = distance(settled, truth)
        keep(args, result)
        for reached, peers["converged_iterations"], peers["converged_change_percent"] in them.settle(theirs, iterations, args.converged):
            mine["to_converged_of_mbirjax_hu"], peers["to_own_converged_hu"] = distance(ours, reached), distance(theirs, reached)
            peers["converged_rmse_phantom_hu"], result["converged_apart_hu"] = distance(reached, truth), distance(settled, reached)
            keep(args, result)
    keep(args, result)
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
