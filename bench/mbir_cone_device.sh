#!/bin/bash
# SPDX-License-Identifier: MIT
# Model-based reconstruction of cones on a device: seconds, passes and HU left, of 512^3, of 1024^3, and of 1024^3 with a memory cap.
# usage: bench/mbir_cone_device.sh [QB] [DEVICE]; about six minutes on one H100.
qb=${1:-build/qb} device=${2:-cuda} where=$(mktemp -d)
trap 'rm -rf "$where"' EXIT
circle="--sod 1000 --sdd 1500"
scan() {
    "$qb" simulate shepp-logan -o "$where/$1.h5" --geometry cone $circle --detector $1,$1 --views $1 --photons 20000 -q
}
job() { # NAME SECONDS SIZE OPTIONS...
    local name=$1 limit=$2 size=$3 begun end
    shift 3
    begun=$(date +%s.%N)
    timeout "$limit" "$qb" mbir "$where/$size.h5" $circle --device "$device" -o "$where/$name.npy" --json -q "$@" >"$where/$name.json" || echo "$name: ended after $limit s"
    end=$(date +%s.%N)
    python3 - "$where/$name.json" "$name" "$begun" "$end" <<'P'
import json, sys
try:
    s = json.load(open(sys.argv[1]))["convergence"]["slabs"][0]
except ValueError:
    sys.exit()
print(sys.argv[2], "process", round(float(sys.argv[4]) - float(sys.argv[3]), 2), "s; passes", len(s["cost"]), s["stopped"], "solver", [round(t, 2) for t in s["seconds"][:12]],
      "HU left", [round(r, 1) for r in s.get("rmse", [])[:12]], "change", [round(c, 4) for c in s["change"][:12]])
P
}
scan 512
job best 60 512 --equits 60 --stop 0.001
job warm 60 512
job 512 60 512
job 512-left 60 512 --reference "$where/best.npy" --hu 0.02
scan 1024
job 1024 80 1024
job 1024-12G 150 1024 --max-vram 12G
