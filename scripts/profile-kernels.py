# SPDX-License-Identifier: MIT
"""What NVIDIA's profiler (ncu) says of every CUDA variant of parallel back-projection: the busiest
units, in percent of their peak, and what the warps wait for. One JSON object on stdout; --table makes
Markdown of such an object. Parameters are those that --sets has as each variant's fastest."""
import argparse
import csv
import io
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
KERNELS = "regex:^bp_parallel_(alu|texture|direct|linear_tensor)$"
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


def profile(build, name, row, size):
    bench = [str(build / "tests/variants/bench_bp_parallel"), "cuda", *size, "--id", name]
    if row:
        bench += ["--set", ",".join(f"{key}={value}" for key, value in row["values"].items())]
    done = subprocess.run(["ncu", "--clock-control", "none", "--csv", "--page", "raw", "--kernel-name", KERNELS,
                           "--launch-count", "1", "--metrics", METRICS, *bench], capture_output=True, text=True)
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
        if "failed" in row:
            print(f"| `{row['id']}` | failed | | | |")
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
    parser.add_argument("--table", metavar="FILE", help="print what a run (or gpu-check) found as Markdown")
    options = parser.parse_args()
    if options.table:
        return table(options.table)
    build, best = pathlib.Path(options.build), best_sets(options.sets)
    rows = [profile(build, name, best.get(name), options.size.split(","))
            for name in variants(build) if options.filter in name]
    json.dump({"problem": options.size, "variants": rows}, sys.stdout, indent=1)
    failed = [f"{row['id']}: {row['failed']}" for row in rows if "failed" in row]
    print("\n".join(failed), file=sys.stderr)
    return 1 if failed or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
