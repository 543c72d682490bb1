#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How a job scales over ranks of one host: scaling.py [--device cuda] [--ranks 1,2,4,8] [--problem NAME]... [--json FILE].

Each problem is run as one process and by mpirun as so many ranks, on a device each (or, --device cpu, with the CPUs shared
out), from views that are computed as they are read (.sim; --files FOLDER: from a file there) into /dev/null: what storage
takes is no part of it. `strong` is one problem for all, `weak` grows views and slices with the ranks; --grids tries
the rows and columns of ranks that make the most of --ranks. Printed, and with --json kept: seconds of the whole job, of
back-projection (its term, had it been alone; the slowest rank's), what part of linear that is, the longest term as
forecast and as measured, what the whole takes beyond that, and the overlap of all terms. --divide N makes all sides and
views N times smaller, to try it; --accuracy is that of fbp and fdk."""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

CONE = ["--geometry", "cone", "--sod", 1000, "--sdd", 1500, "--pixel-size"]
PROBLEMS = {  # name: verb, detector side, views, columns and slices of the volume, its options; the last two of fbp and mbir
    "c1": ("fdk", 512, 1024, 512, []),
    "c2": ("fdk", 1024, 1024, 1024, []),
    "2k": ("fdk", 2048, 2048, 2048, []),
    "4k": ("fdk", 2048, 4096, 4096, ["--dtype", "float16"]),
    "fbp": ("fbp", 2048, 2048, 2048, ["--center", "stated"]),
    "mbir": ("mbir", 512, 720, 512, ["--center", "stated", "--neighbours", "1,0.7071,0"]),
}
AT_ONCE = ("read", "filter", "gather", "back-project", "upload", "mbir")


def run(command, env=None):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, env=env)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr}")
    return json.loads(done.stdout)


class Bench:
    def __init__(self, args, folder):
        self.args, self.folder = args, folder
        root = pathlib.Path(__file__).resolve().parents[1]
        self.qb = args.qb or shutil.which("qb") or root / "build" / "qb"
        self.env = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "PMIX_MCA_gds": "hash"}

    def scan(self, name, grown):
        """Its views, `grown` times as many, and the volume's options."""
        verb, side, views, columns, options = PROBLEMS[name]
        side, views, columns = (max(n // self.args.divide, 8) for n in (side, views, columns))
        pixel = 1.5 * 512 / side
        beam = [*CONE, pixel] if verb == "fdk" else ["--pixel-size", pixel / 1.5]
        path = self.folder / f"{name}-{grown}.{'h5' if self.args.files else 'sim'}"
        rows = side if verb == "fdk" else columns * grown
        if not path.exists():
            subprocess.run([*map(str, [self.qb, "simulate", "ball", *beam, "--views", views * grown, "--detector", f"{side},{rows}", "--size", side,
                                       "-o", path, "-q"])], check=True)
        if self.args.files and verb == "fdk":
            options = [*options, "--sod", 1000, "--sdd", 1500]
        if verb == "fdk":  # as wide as its detector sees, and as high as it is asked for
            options = [*options, "--size", f"{columns},{columns},{columns * grown}", "--voxel", 512 / columns / grown]
        return verb, path, options, columns ** 2 * columns * grown * views * grown

    def measure(self, name, ranks, grid=None, grown=1):
        verb, path, options, updates = self.scan(name, grown)
        threads = max((os.cpu_count() or 1) // ranks, 1)
        launch = [shutil.which("mpirun"), "--oversubscribe", "--bind-to", "none", "-n", ranks] if ranks > 1 else []
        words = [*launch, self.qb, verb, path, "-o", "/dev/null", *options, "--device", self.args.device, "--threads", threads, "-q", "--json"]
        words += ["--accuracy", self.args.accuracy] if self.args.accuracy and verb != "mbir" else []
        words += ["--grid", grid] if grid and ranks > 1 else []
        reports = sorted((run(words, self.env) for _ in range(self.args.repeat)), key=lambda r: r["wall_seconds"])
        report = reports[len(reports) // 2]
        every = [report, *report.get("other_ranks", [])]
        terms = [terms_of(r, self.args.device) for r in every]
        slowest = {term: max(t[term][1] for t in terms if term in t) for term in dict.fromkeys(n for t in terms for n in t)}
        longest = max((n for n in slowest if n in AT_ONCE), key=slowest.get)
        wall = max(r.get("wall_seconds", 0) for r in every)
        return {"problem": name, "ranks": ranks, "grid": "x".join(map(str, report.get("grid", [1, 1]))), "grown": grown, "device": report.get("device", self.args.device),
                "threads": threads, "updates": updates, "wall_seconds": wall, "all_wall_seconds": [r["wall_seconds"] for r in reports],
                "kernel_seconds": slowest.get("back-project") or slowest.get("reconstruct") or slowest.get("mbir"),
                "longest": longest, "longest_seconds": slowest[longest], "longest_forecast_seconds": max(t[longest][0] or 0 for t in terms if longest in t) or None,
                "wall_over_longest": wall / slowest[longest], "overlap": statistics.mean(r.get("overlap", 0) for r in every) or None,
                "terms": {n: s for n, s in slowest.items()}, **({"sums_by": report["sums_by"]} if "sums_by" in report else {})}


def terms_of(report, device):
    """name: forecast and measured seconds, had it been alone. One process tells its stages; a rank without slices nothing."""
    if "terms" in report:
        return {t["name"]: (t["forecast_seconds"], t["seconds"]) for t in report["terms"]}
    def alone(stage):
        on_cpu = device == "cpu" and stage["name"] in ("filter", "back-project", "mbir")
        return stage["cpu_seconds"] / report["threads"] if on_cpu else stage["busy_seconds"]
    return {s["name"]: (None, alone(s)) for s in report.get("stages", [])}


def units(row):
    """What the work is shared by: devices, or threads."""
    return row["ranks"] * (row["threads"] if row["device"] == "cpu" else 1)


def told(rows):
    """A table; efficiencies are beside the first row of a problem, for each device or thread."""
    print(f"{'problem':>8} {'ranks':>5} {'grid':>5} {'grown':>5} {'whole s':>9} {'kernel s':>9} {'linear':>7} {'whole':>6}  {'longest term':>13} {'s':>8} {'forecast':>8} "
          f"{'whole/it':>8} {'overlap':>7}")
    first = {}
    for r in rows:
        base = first.setdefault((r["problem"], r["grown"] > 1 or None), r)
        base = first.setdefault((r["problem"], None), r) if r["grown"] > 1 else base
        work = r["updates"] / base["updates"] * units(base) / units(r)
        for key, name in ("kernel_efficiency", "kernel_seconds"), ("whole_efficiency", "wall_seconds"):
            r[key] = work * base[name] / r[name] if r[name] and base[name] else None
        number = lambda value, form: form.format(value) if value is not None else "-"
        print(f"{r['problem']:>8} {r['ranks']:>5} {r['grid']:>5} {r['grown']:>5} {r['wall_seconds']:9.3f} {number(r['kernel_seconds'], '{:9.3f}'):>9} "
              f"{number(r['kernel_efficiency'], '{:7.2f}'):>7} {number(r['whole_efficiency'], '{:6.2f}'):>6}  {r['longest']:>13} {r['longest_seconds']:8.3f} "
              f"{number(r['longest_forecast_seconds'], '{:8.3f}'):>8} {r['wall_over_longest']:8.2f} {number(r['overlap'], '{:7.2f}'):>7}")


def grids(ranks):
    return [f"{r}x{ranks // r}" for r in range(1, ranks + 1) if ranks % r == 0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--qb")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--ranks", default="1,2")
    parser.add_argument("--problem", action="append", choices=PROBLEMS)
    parser.add_argument("--accuracy")
    parser.add_argument("--weak", action="store_true")
    parser.add_argument("--grids", action="store_true")
    parser.add_argument("--divide", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--files")
    parser.add_argument("--json")
    args = parser.parse_args()
    counts, rows = [int(n) for n in args.ranks.split(",")], []
    if max(counts) > 1 and not shutil.which("mpirun"):
        sys.exit("scaling.py: there is no mpirun: install openmpi-bin")
    with tempfile.TemporaryDirectory(dir=args.files) as folder:
        bench = Bench(args, pathlib.Path(folder))
        for name in args.problem or ["c1"]:
            rows += [bench.measure(name, n) for n in counts]
            if args.grids and PROBLEMS[name][0] == "fdk":
                rows += [bench.measure(name, max(counts), grid) for grid in grids(max(counts))]
            if args.weak:
                rows += [bench.measure(name, n, grown=n) for n in counts if n > 1]
    told(rows)
    if args.json:
        pathlib.Path(args.json).write_text("".join(json.dumps({"bench": "scaling", **r}) + "\n" for r in rows))


main()
