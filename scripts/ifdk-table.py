#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ifdk-table.py QB DEVICE [--problem NAME] [--kernels] [--k N] [--accuracy CLASS] [--repeat N]: Table 4 of the iFDK paper (Chen
et al., SC 2019) of this machine, as JSON: fifteen problems, back-projection alone by qb bench, data on the device.

--kernels times the kernels of that table, too (a build with -DQB_PAPERS), before the planner's choice; --problem takes one
problem, pixels-voxels, as 512-128 or 2k-2k (2k voxels are 1k x 1k x 2k); --k makes N of what the paper calls 1k. What does not
fit the device's memory, or a kernel that does not serve, is a row with the reason. Ends with 1 when nothing ran."""
import argparse
import itertools
import json
import subprocess
import sys

PAPER = ["bp_cone_matrix.rtk-32", *(f"bp_cone_circular.{k}" for k in ("bp-tex", "tex-tran", "bp-l1", "l1-tran"))]
PIXELS = {"512": 512, "1k": 1024, "2k": 2048}
VOXELS = {"128": (128, 128), "256": (256, 256), "512": (512, 512), "1k": (1024, 1024), "2k": (1024, 2048)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("qb")
    parser.add_argument("device")
    names = ["-".join(p) for p in itertools.product(PIXELS, VOXELS)]
    parser.add_argument("--problem", choices=names)
    parser.add_argument("--kernels", action="store_true")
    parser.add_argument("--k", type=int, default=1024)
    parser.add_argument("--accuracy", default="normal")
    parser.add_argument("--repeat", default="3")
    args = parser.parse_args()
    rows = []
    for name in [args.problem] if args.problem else names:
        pixels, voxels = name.split("-")
        side, nx, nz = (max(n * args.k // 1024, 1) for n in (PIXELS[pixels], *VOXELS[voxels]))
        words = ["bench", "backproject", "--geometry", "cone", "--device", args.device, "--accuracy", args.accuracy, "--repeat", args.repeat,
                 "--views", str(args.k), "--detector", f"{side},{side}", "--size", f"{nx},{nx},{nz}", "--json", "--quiet"]
        for kernel in [*PAPER, None] if args.kernels else [None]:
            done = subprocess.run([args.qb, *words, *(["--kernel", kernel] if kernel else [])], capture_output=True, text=True)
            row = {"name": name, "problem": f"{side}^2 x {args.k} -> {nx}^2 x {nz}", "alpha": side * side * args.k / (nx * nx * nz)}
            rows.append(row)
            if done.returncode:
                row |= {"kernel": kernel or "auto", "not_run": done.stderr.strip()}
            else:
                row |= json.loads(done.stdout)
    ran = [row["gups"] for row in rows if "gups" in row]
    print(json.dumps({"problems": rows, "gups_least": min(ran, default=0)}, indent=1))
    return not ran


sys.exit(main())
