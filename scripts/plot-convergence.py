#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How a model-based reconstruction converged, as a picture: plot-convergence.py REPORT.json OUT.svg, where REPORT is
what `qb mbir --json` printed. Above, each slab's cost over its last value; below, the share by which voxels changed; of a run with --reference, how
far it was from that."""
import json
import math
import sys

WIDE, HIGH, LEFT, TOP, GAP = 640, 180, 70, 20, 50


def panel(top, title, lines):
    """Lines of (equits, value) on a logarithmic scale: decades ruled and named."""
    points = [p for line in lines for p in line]
    low = math.floor(math.log10(min(v for _, v in points)))
    high = max(low + 1, math.ceil(math.log10(max(v for _, v in points))))
    end = max(e for e, _ in points)
    out = [f'<text x="{LEFT}" y="{top - 6}">{title}</text>']
    for decade in range(low, high + 1):
        y = top + HIGH * (high - decade) / (high - low)
        out.append(f'<path d="M{LEFT} {y:.1f}h{WIDE}" stroke="#ccc"/><text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">1e{decade}</text>')
    for line in lines:
        xy = " ".join(f"{LEFT + WIDE * e / end:.1f},{top + HIGH * (high - math.log10(v)) / (high - low):.1f}" for e, v in line)
        out.append(f'<polyline points="{xy}" fill="none" stroke="#06c"/>')
    out.append(f'<text x="{LEFT + WIDE}" y="{top + HIGH + 16}" text-anchor="end">{end:.3g} equits</text>')
    return out


def main(report, target):
    with open(report) as file:
        told = json.load(file)["convergence"]
    slabs = told["slabs"]
    cost = [[(e, c / s["cost"][-1] - 1) for e, c in zip(s["equits"], s["cost"]) if c > s["cost"][-1]] for s in slabs]
    change = [[(e, c) for e, c in zip(s["equits"], s["change"]) if c > 0] for s in slabs]
    rmse = [[(e, r) for e, r in zip(s["equits"], s["rmse"]) if r > 0] for s in slabs if "rmse" in s]
    panels = [(title, [line for line in lines if line]) for title, lines in
              (("cost over where it ends, less one", cost), ("change of a turn, as a share of the mean", change),
               (f"rmse to the reference, {told.get('rmse_units')}", rmse))]
    out, top = [], TOP
    for title, lines in panels:
        if not lines:
            continue
        out += panel(top, title, lines)
        top += HIGH + GAP
    with open(target, "w") as file:
        file.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDE + 20}" height="{top}" font-family="sans-serif" '
                   f'font-size="12">\n' + "\n".join(out) + "\n</svg>\n")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
