#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Projections through a circular cone beam and back, by `qb bench project` and by ASTRA in turn on one GPU: a JSON of both.

  python3 -m pip install astra-toolbox==2.5.0 torch
  bench/beside_astra.py [--size 512 --views 512] [--turns 3] [--json FILE]

Everything is on the GPU: size^3 voxels, --views views of size^2 pixels, the detector one and a half times as far from
the source as the axis, which is two volumes from it. What turns arrays into the layout that qb's kernels read and back, which
iterations do not need (two passes over the arrays, 1 % at 512^3 by its bytes), is not in qb's time; ASTRA's copies into
textures are in its. ASTRA runs its `cuda3d` projector (one ray to a pixel, textures that weigh by 8 bits) through
`direct_FP3D` and `direct_BP3D`, whose adjoint is not the transpose of its projector; qb's is. Each has a process of its own
in each turn; a time is the median of five calls after two, of which the least of all turns counts."""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys

PARTS = ("forward", "adjoint")
ASTRA = """
import json, math, statistics, sys, time
import astra, astra.experimental, torch
size, views = map(int, sys.argv[1:])
if not torch.cuda.is_available():
    sys.exit("torch sees no GPU")
angles = [2 * math.pi * view / views for view in range(views)]
volume = astra.create_vol_geom(size, size, size)
beam = astra.create_proj_geom("cone", 1.5, 1.5, size, size, angles, 2.0 * size, 1.0 * size)
projector = astra.create_projector("cuda3d", beam, volume)
voxels = torch.rand((size, size, size), device="cuda")
lines = torch.zeros((size, views, size), device="cuda")
back = torch.zeros_like(voxels)

def seconds(call, target, source):
    took = []
    for _ in range(7):
        torch.cuda.synchronize()
        begun = time.perf_counter()
        call(projector, *((source, target) if call is astra.experimental.direct_FP3D else (target, source)))
        torch.cuda.synchronize()
        took.append(time.perf_counter() - begun)
    if not target.abs().sum() > 0:
        sys.exit("ASTRA left zeros")
    return statistics.median(took[2:])

print(json.dumps({"version": astra.__version__, "device": torch.cuda.get_device_name(0),
                  "forward": seconds(astra.experimental.direct_FP3D, lines, voxels),
                  "adjoint": seconds(astra.experimental.direct_BP3D, back, lines)}))
"""


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    number = {"type": int, "metavar": "N"}
    parser.add_argument("--size", default=512, help="voxels and pixels of a side", **number)
    parser.add_argument("--views", default=512, help="over 360 degrees", **number)
    parser.add_argument("--turns", default=3, help="runs of both", **number)
    parser.add_argument("--accuracy", default="high", choices=["fast", "normal", "high"], help="of qb")
    parser.add_argument("--device", default="cuda", choices=["cuda", "opencl"], help="what qb asks for the GPU")
    parser.add_argument("--qb", help="the command (else that of PATH, else build/qb)")
    parser.add_argument("--json", metavar="FILE", help="write it there too")
    args = parser.parse_args()
    for name, least in (("size", 16), ("views", 8), ("turns", 1)):
        if getattr(args, name) < least:
            parser.error(f"--{name} {getattr(args, name)}: at least {least}")
    args.qb = args.qb or shutil.which("qb") or str(pathlib.Path(__file__).resolve().parents[1] / "build" / "qb")
    if not os.access(args.qb, os.X_OK):
        parser.error(f"--qb {args.qb}: there is no such command")
    return args


def run(who, command):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{who}: {(done.stderr.strip().splitlines() or ['no reason given'])[-1]}")
    return json.loads(done.stdout)


def by_astra(args):
    return run("ASTRA (python3 -m pip install astra-toolbox==2.5.0 torch)", [sys.executable, "-c", ASTRA, args.size, args.views])


def by_qb(args):
    told = run("qb", [args.qb, "bench", "project", "--device", args.device, "--size", args.size, "--views", args.views, "--accuracy", args.accuracy,
                      "--repeat", 5, "--json", "-q"])
    return {"device": told["device"], "kernel": told["kernel"], **{part: told[part]["seconds_median"] for part in PARTS}}


def main():
    args = parse()
    turns = [(by_astra(args), by_qb(args)) for _ in range(args.turns)]
    peer, ours = ({**runs[-1], **{part: min(run[part] for run in runs) for part in PARTS}} for runs in zip(*turns))
    told = {"bench": "beside_astra", "size": args.size, "views": args.views, "accuracy": args.accuracy, "api": args.device, "qb": ours, "astra": peer,
            "times_as_fast": {part: peer[part] / ours[part] for part in PARTS},
            "turns": [{"astra": {part: a[part] for part in PARTS}, "qb": {part: b[part] for part in PARTS}} for a, b in turns]}
    text = json.dumps(told)
    if args.json:
        pathlib.Path(args.json).write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
