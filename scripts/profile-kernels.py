# SPDX-License-Identifier: MIT
"""What NVIDIA's profiler (ncu) says of every CUDA variant: the busiest units, in percent of their peak, and what the
warps wait for. One JSON object on stdout; --table makes Markdown of such an object. Parameters are those that --sets
has as each variant's fastest, or those that the planner takes. With --seconds no variant begins later than that; those
left out are named."""
import argparse
import csv
import io
import json
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Of each operation the entries that compute, without packing.
KERNELS = {"bp_parallel": "regex:^bp_parallel_(alu|texture|direct|linear_tensor)$",
           "bp_cone": "regex:^bp_cone_(circular|circular_local|matrix|plain|shuffle)$",
           "project_joseph": "regex:^project_joseph_(forward|back|gather|flat_forward|flat_back)$",
           "icd_supervoxel": "regex:^icd_(update|theta)$"}
PAPERS = re.compile("naive|rtk|bp-tex|tex-tran|bp-l1|l1-tran")
FIRST = ("bp_cone", "project_joseph", "icd_supervoxel", "bp_parallel_linear.tensor")
THROUGHPUT = re.compile(r"^(?:breakdown:)?((?:sm|l1tex|lts|smsp|idc|gpu|dram)__\w+)\.\w+\.pct_of_peak_sustained_\w+$")
STALL = re.compile(r"^smsp__average_warps_issue_stalled_(\w+)_per_issue_active\.ratio$")
# ncu's names in words.
UNITS = {"pipe_tensor": "tensor cores", "pipe_shared": "tensor cores", "data_pipe_lsu": "shared memory",
         "lsu_": "shared memory", "lsuin": "shared memory", "f_wavefronts": "texture filter",
         "texin": "texture filter", "data_pipe_tex": "texture data", "tex_writeback": "texture results",
         "fmaheavy": "fp32 units", "issue": "instructions", "inst_executed": "instructions"}
STALLS = {"not_selected": "their turn", "short_scoreboard": "shared memory", "long_scoreboard": "loads, texels",
          "tex_throttle": "the texture queue", "mio_throttle": "the memory queue", "barrier": "the group",
          "math_pipe_throttle": "arithmetic units", "wait": "a fixed latency", "dispatch": "dispatch",
          "imc_miss": "constants", "lg_throttle": "the load queue", "no_instruction": "instructions"}
METRICS = ",".join([
    "gpu__time_duration.sum", "launch__registers_per_thread", "sm__warps_active.avg.pct_of_peak_sustained_active",
    "smsp__inst_executed.sum", "smsp__issue_active.avg.pct_of_peak_sustained_active",
    *(f"breakdown:{unit}__throughput.avg.pct_of_peak_sustained_elapsed" for unit in ("sm", "l1tex", "lts")),
    r"regex:smsp__average_warps_issue_stalled_[a-z_]+_per_issue_active\.ratio"])


def number(text):
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None


def digest(text):
    """ncu's raw page (names, units, one row a launch) as numbers."""
    lines = [line for line in text.splitlines() if line.startswith('"')]
    rows = list(csv.reader(io.StringIO("\n".join(lines))))
    if len(rows) < 3:
        return None
    values = {name: number(value) for name, value in zip(rows[0], rows[2])}
    units, stalls = {}, {}
    for name, value in values.items():
        if value is None:
            continue
        if match := THROUGHPUT.match(name):
            unit = match.group(1)
            if not unit.endswith("__throughput") and "warps_active" not in unit:
                units[unit] = max(value, units.get(unit, 0))
        if match := STALL.match(name):
            stalls[match.group(1)] = value
    issued = stalls.pop("selected", 1.0) or 1.0
    waiting = sum(stalls.values()) + issued
    first = sorted(units.items(), key=lambda item: -item[1])[:4]
    return {"seconds": values.get("gpu__time_duration.sum"), "time_unit": dict(zip(rows[0], rows[1])).get("gpu__time_duration.sum"),
            "registers": values.get("launch__registers_per_thread"),
            "instructions": values.get("smsp__inst_executed.sum"),
            "occupancy_percent": values.get("sm__warps_active.avg.pct_of_peak_sustained_active"),
            "issue_percent": values.get("smsp__issue_active.avg.pct_of_peak_sustained_active"),
            "busiest": {name: round(value, 1) for name, value in first},
            "stalls_percent": {name: round(100 * value / waiting, 1)
                               for name, value in sorted(stalls.items(), key=lambda item: -item[1])[:4]}}


def best_sets(path):
    """The fastest row of each variant."""
    best = {}
    for row in json.load(open(path))["rows"]:
        if row["giga_updates_per_second"] > best.get(row["id"], {"giga_updates_per_second": 0})["giga_updates_per_second"]:
            best[row["id"]] = row
    return best


def variants(build):
    listed = subprocess.run([str(build / "tests/kernelcheck/kernelcheck"), "--list", "--filter", "@cuda:0"],
                            capture_output=True, text=True).stdout
    return [line.split("@")[0] for line in listed.splitlines() if not line.endswith("(not here)")]


def in_order(names):
    """The worthiest first, the kernels of papers last."""
    return sorted(names, key=lambda name: (bool(PAPERS.search(name)), not name.startswith(FIRST), "local" not in name))


def bench_of(build, name, row, size):
    if name.startswith("icd"):
        slices = "16" if name.endswith("tiles") else "1"
        return [str(build / "qb"), "bench", "mbir", "--device", "cuda", "--kernel", name, "--size", f"256,256,{slices}",
                "--views", "360", "--repeat", "1", "--quiet"]
    if not name.startswith("bp_parallel"):
        return [str(build / "tests/kernelcheck/kernelcheck"), "--bench", "--quick", "--size", "256", "--filter", f"{name}@cuda:0"]
    bench = [str(build / "tests/variants/bench_bp_parallel"), "cuda", *size, "--id", name]
    if row:
        bench += ["--set", ",".join(f"{key}={value}" for key, value in row["values"].items())]
    return bench


def profile(build, name, row, size, seconds):
    entries = next(entries for operation, entries in KERNELS.items() if name.startswith(operation))
    command = ["ncu", "--clock-control", "none", "--csv", "--page", "raw", "--kernel-name", entries, "--launch-count", "1", "--metrics", METRICS]
    try:
        done = subprocess.run([*command, *bench_of(build, name, row, size)], capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return {"id": name, "left_out": f"stopped after {seconds:.0f} seconds"}
    found = digest(done.stdout)
    if not found:
        tail = " ".join((done.stdout + done.stderr).split())[-300:]
        return {"id": name, "failed": tail}
    return {"id": name, "values": row["values"] if row else {}, **found}


def words(shares, names):
    """Shares under their plain names, the largest of each."""
    plain = {}
    for key, value in shares.items():
        name = next((word for pattern, word in names.items() if pattern in key), key.split("__")[-1])
        plain[name] = max(value, plain.get(name, 0))
    return [(name.replace("_", " "), value) for name, value in sorted(plain.items(), key=lambda item: -item[1])]


def table(path):
    found = json.load(open(path))
    for step in found.get("steps", []):
        if step["step"] == "profile":
            found = step["output"]
    print("| variant | slowest unit | next | occupancy | warps wait for |\n|---|---|---|---:|---|")
    for row in found["variants"]:
        if "busiest" not in row:
            print(f"| `{row['id']}` | {'failed' if 'failed' in row else 'not run'} | | | |")
            continue
        units = [f"{name} {value:.0f} %" for name, value in words(row["busiest"], UNITS)] + [""]
        waits = ", ".join(f"{name} {value:.0f} %" for name, value in words(row["stalls_percent"], STALLS)[:2])
        print(f"| `{row['id'].replace('bp_parallel_', '')}` | {units[0]} | {units[1]} | "
              f"{row['occupancy_percent']:.0f} % | {waits} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build")
    parser.add_argument("--sets", default=str(ROOT / "bench/results/NVIDIA-H200-bp-parallel.json"))
    parser.add_argument("--size", default="1024,1024,64", help="views, columns (and pixels a side), slices")
    parser.add_argument("--filter", default="", help="only variants whose id contains it")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no variant later, and stop the last one soon after")
    parser.add_argument("--table", metavar="FILE", help="print what a run (or gpu-check) found as Markdown")
    options = parser.parse_args()
    if options.table:
        return table(options.table)
    build, best = pathlib.Path(options.build), best_sets(options.sets)
    rows, end = [], time.monotonic() + options.seconds
    for name in in_order(name for name in variants(build) if options.filter in name):
        left = end - time.monotonic()
        rows.append(profile(build, name, best.get(name), options.size.split(","), min(left + 5, 120)) if left > 0
                    else {"id": name, "left_out": "no time was left"})
    json.dump({"problem": options.size, "variants": rows}, sys.stdout, indent=1)
    failed = [f"{row['id']}: {row['failed']}" for row in rows if "failed" in row]
    left_out = [row["id"] for row in rows if "left_out" in row]
    print("\n".join(failed + ([f"no time was left for {', '.join(left_out)}"] if left_out else [])), file=sys.stderr)
    return 1 if failed or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
