#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Speed as pictures and as a table, from bench/results: make-plots.py [FOLDER] writes speed-cores.svg, speed-sizes.svg and
speed-cluster.svg (into docs/ unless said) and prints the table at the head of docs/performance.md."""
import json
import math
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "bench" / "results"
XEON, H200, COMMANDS = "Intel-Xeon-16-cores-avx512fp16.json", "NVIDIA-H200.json", "NVIDIA-H200-commands.json"
CLUSTER = "cluster-abci-v100.json"


def results(name):
    """The objects of a file: one a line, or the steps of scripts/gpu-check.py that have one."""
    text = (RESULTS / name).read_text()
    try:
        whole = json.loads(text)
        return [dict(s["output"], step=s["step"]) for s in whole["steps"] if isinstance(s.get("output"), dict)]
    except json.JSONDecodeError:
        return [json.loads(line) for line in text.splitlines()]


def pick(name, **fields):
    """All results of a file with these fields; those of the last run count, too."""
    found = [r for r in results(name) if all(r.get(k, r.get("last_run", {}).get(k)) == v for k, v in fields.items())]
    assert found, (name, fields)
    return found


def check(result, columns, slices):
    """Is this the problem that the caller takes it for? Results say how many updates there were, not their shape."""
    updates = result["seconds_median"] * result["giga_updates_per_second"] * 1e9
    assert abs(updates / (columns ** 3 * slices) - 1) < 0.01, (result, columns, slices)
    return result


def size(result):
    """Columns of a problem with as many views as columns, from the updates of one slice."""
    updates = result["seconds_median"] * result["giga_updates_per_second"] * 1e9
    columns = round((updates / result["slices"]) ** (1 / 3))
    return columns if check(result, columns, result["slices"]) else 0


# ---- the table ----

RUNS = [  # file, what to pick, columns (= views), slices, counts of 2 bytes and voxels of 4 go through files; machine
    (XEON, dict(bench="fbp", kernel="bp_parallel_linear.avx512", threads=2), 1024, 512, True, "2 cores of a Xeon (AVX-512)"),
    (XEON, dict(bench="fbp", kernel="bp_parallel_linear.avx512fp16", threads=2), 1024, 512, True, "the same, `--accuracy normal`"),
    (XEON, dict(bench="fbp", kernel="bp_parallel_linear.avx512", threads=16), 1024, 512, True, "16 cores of it"),
    (H200, dict(step="bench-file-to-file"), 2048, 2048, True, "one NVIDIA H200 and 16 cores, one file (`--parts 1`)"),
    (H200, dict(step="bench-whole-p1"), 2048, 512, False, "one NVIDIA H200, data on the device"),
    (H200, dict(step="bench-whole-p1-high"), 2048, 512, False, "the same, `--accuracy high`"),
]

WHOLE = [  # whole commands, starting counted, each in a process of its own: what to pick; machine
    (dict(method="fbp", output="float32"), "one NVIDIA H200 and 16 cores, 16 parts"),
    (dict(method="fbp", output="uint16"), "the same, to uint16"),
    (dict(method="fdk", device="cpu"), "16 cores of a Xeon"),
    (dict(method="fdk", device="cuda"), "one NVIDIA H200 and 16 cores"),
]


def command_rows():
    for fields, machine in WHOLE:
        run = pick(COMMANDS, bench="command", **fields)[0]
        views, rows, columns, cone = run["views"], run["rows"], run["columns"], run["method"] == "fdk"
        read, written = views * rows * columns * run["input_bytes"], rows * columns * columns * run["output_bytes"]
        yield (f"| {'cone: ' if cone else ''}{views} views, {rows} rows of {columns} | {rows} slices of {columns} x {columns} | {machine} | "
               f"{read * 1e-9:.1f} | {written * 1e-9:.1f} | {run['seconds']:.3g} |")


def table():
    lines = ["| scan | volume | machine | read, GB | written, GB | seconds |", "|---|---|---|---:|---:|---:|"]
    for name, fields, columns, slices, files, machine in RUNS:
        run = check(pick(name, **fields)[0], columns, slices)
        gb = [f"{columns * columns * slices * b / 1e9:.1f}" if files else "-" for b in (2, 4)]
        lines.append(f"| {columns} views, {slices} rows of {columns} | {slices} slices of {columns} x {columns} | {machine} | {gb[0]} | {gb[1]} | "
                     f"{run['seconds_median']:.3g} |")
    return "\n".join([*lines, *command_rows()]) + "\n"


# ---- the pictures ----

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 420, 70, 250, 46, 56
COLORS = ["#1f5fa8", "#c0392b", "#2e7d32", "#8e44ad", "#b9770e", "#117a65", "#555", "#ad1457"]


def ticks(low, high):
    """1, 2 and 5 times powers of ten, or powers of ten alone where these are too many."""
    for steps in ((1, 2, 5), (1,)):
        found = [s * 10.0 ** e for e in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1) for s in steps]
        found = [t for t in found if low <= t * 1.0001 and t <= high * 1.0001]
        if len(found) <= 9:
            break
    return found


def plot(path, title, across, upward, series):
    """Both axes logarithmic; series: [(name, [(x, y)], dashed)]."""
    points = [p for _, ps, _ in series for p in ps]
    places = sorted({x for x, _ in points})
    low, high = min(y for _, y in points) / 1.3, max(y for _, y in points) * 1.3
    first, last = min(places) / 1.15, max(places) * 1.15

    def x(v):
        return LEFT + (WIDTH - LEFT - RIGHT) * math.log(v / first) / math.log(last / first)

    def y(v):
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * math.log(v / low) / math.log(high / low)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
           'font-family="DejaVu Sans, Helvetica, Arial, sans-serif" font-size="13" fill="#222">',
           f'<title>{title}</title>', '<rect width="100%" height="100%" fill="#fff"/>',
           f'<text x="{LEFT}" y="26" font-weight="bold" font-size="15">{title}</text>']
    for t in ticks(low, high):
        out.append(f'<path stroke="#ddd" d="M{LEFT} {y(t):.1f}H{WIDTH - RIGHT}"/>'
                   f'<text x="{LEFT - 8}" y="{y(t) + 4:.1f}" text-anchor="end">{t:,.0f}</text>')
    for t in places:
        out.append(f'<path stroke="#ddd" d="M{x(t):.1f} {TOP}V{HEIGHT - BOTTOM}"/>'
                   f'<text x="{x(t):.1f}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle">{t}</text>')
    out.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 12}" text-anchor="middle">{across}</text>')
    out.append(f'<text x="18" y="{(TOP + HEIGHT - BOTTOM) / 2}" text-anchor="middle" '
               f'transform="rotate(-90 18 {(TOP + HEIGHT - BOTTOM) / 2})">{upward}</text>')
    last_label = math.inf
    order = sorted(range(len(series)), key=lambda i: series[i][1][-1][1])
    for i in order:
        name, ps, dashed = series[i]
        color = COLORS[i % len(COLORS)]
        line = "".join(f"{'L' if k else 'M'}{x(a):.1f} {y(b):.1f}" for k, (a, b) in enumerate(ps))
        out.append(f'<path fill="none" stroke="{color}" stroke-width="2"{" stroke-dasharray=" + chr(34) + "5 5" + chr(34) if dashed else ""} d="{line}"/>')
        if not dashed:  # dashes are reckoned, dots measured
            out += [f'<circle cx="{x(a):.1f}" cy="{y(b):.1f}" r="4" fill="{color}"/>' for a, b in ps]
        last_label = min(last_label - 17, y(ps[-1][1]) + 4)  # names do not cover one another
        out.append(f'<text x="{WIDTH - RIGHT + 10}" y="{last_label:.1f}" fill="{color}">{name}</text>')
    path.write_text("\n".join(out + ["</svg>"]) + "\n")


def cores(path):
    one = max(r["giga_updates_per_second"] for r in pick(XEON, bench="backproject", kernel="bp_parallel_linear.avx512", threads=1)
              if size(r) == 1024)
    whole = sorted((r["last_run"]["threads"], r["giga_updates_per_second"])
                   for r in pick(XEON, bench="fbp", kernel="bp_parallel_linear.avx512"))
    most = whole[-1][0]
    plot(path, "Scan to volume, 512 slices of 1024 x 1024, Xeon", "cores", "giga-updates/s",
         [("whole reconstructions", whole, False), ("back-projection, one core", [(1, one)], False),
          ("that, times the cores", [(1 << k, one * (1 << k)) for k in range(most.bit_length())], True)])


def sizes(path):
    def line(name, what, **fields):
        found = {}
        for r in pick(name, **fields):
            found.setdefault(size(r), []).append(r["giga_updates_per_second"])
        return (what, sorted((n, sorted(v)[len(v) // 2]) for n, v in found.items()), False)

    steps = [[r for r in results(H200) if r["step"] == s][0] for s in ("bench-whole-p2", "bench-whole-p1")]
    core = dict(bench="backproject", threads=1)
    plot(path, "Parallel beam, by the width of a slice", "columns = views", "giga-updates/s", [
        line(H200, "H200, half precision (normal)", bench="backproject", kernel="bp_parallel_linear.tensor"),
        ("H200, with filter, on the device", sorted((size(r), r["giga_updates_per_second"]) for r in steps), False),
        line(H200, "H200, pairs of halves (high)", bench="backproject", kernel="bp_parallel_linear.tensor_split"),
        line(XEON, "one core, half precision", kernel="bp_parallel_linear.avx512fp16", **core),
        line(XEON, "one core, AVX-512", kernel="bp_parallel_linear.avx512", **core),
        line(XEON, "one core, AVX2", kernel="bp_parallel_linear.avx2", **core),
        line(XEON, "one core, a single slice", kernel="bp_parallel_linear.avx512_slice", **core)])


def cluster(path):
    """What qb plan fdk --cluster forecasts of the iFDK paper's machine, and what the paper measured there."""
    measured = pick(CLUSTER, bench="ifdk-table-5")[0]
    lines = []
    for volume in (4096, 8192):
        steps = pick(CLUSTER, bench="cluster", volume=volume)[0]
        name, paper = f"{volume // 1024}K", measured[str(volume)]
        lines += [(f"{name}: measured until back-projected", list(zip(paper["ranks"], paper["compute"])), False),
                  (f"{name}: forecast of that", [(s["ranks"], s["terms"]["compute"]) for s in steps["strong_scaling"]], True),
                  (f"{name}: forecast, written", [(s["ranks"], s["runtime_seconds"]) for s in steps["strong_scaling"]], True),
                  (f"{name}: the same, views with the GPUs", [(s["ranks"], s["runtime_seconds"]) for s in steps["weak_scaling"]], True)]
    plot(path, "On paper: 4096 views of 2048 x 2048 to 4K and 8K, V100s of ABCI", "GPUs", "seconds", lines)


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs"
    cores(folder / "speed-cores.svg")
    sizes(folder / "speed-sizes.svg")
    cluster(folder / "speed-cluster.svg")
    print(table(), end="")
