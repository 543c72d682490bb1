#!/bin/sh
# SPDX-License-Identifier: MIT
# The benchmarks behind docs/performance.md, one JSON a line into bench/results/<host's CPU>.json, of which
# scripts/make-plots.py makes its table and pictures.
set -eu
cd "$(dirname "$0")/.."
qb=$1/qb
name=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1 | tr -cs 'A-Za-z0-9\n' - | sed 's/-*$//')
mkdir -p bench/results
out=bench/results/$name.json
: >"$out"
run() {
    echo "qb bench $*"
    "$qb" bench "$@" --json --quiet | tr -d '\n\t' | sed 's/$/\n/' >>"$out"
}
run backproject --size 1024,1024,64 --views 1024 --threads 1
run backproject --size 512,512,64 --views 512 --threads 1
run backproject --size 2048,2048,64 --views 2048 --threads 1 --repeat 3
run backproject --size 1024,1024,64 --views 1024 --threads 1 --accuracy normal
run backproject --size 1024,1024,1 --views 1024 --threads 1
QB_CPU_MASK=avx2 run backproject --size 1024,1024,64 --views 1024 --threads 1
run filter --size 1024,1024,64 --views 1024
run io --size 1024,1024,128
for threads in 1 2 4 8 16 32 64 128; do
    [ "$threads" -gt "$(nproc)" ] || run fbp --size 1024,1024,512 --views 1024 --repeat 3 --threads "$threads"
done
run backproject --geometry cone --size 256 --views 256 --threads 1
run backproject --geometry cone --size 256 --views 256 --threads 1 --accuracy normal
run fdk --size 512 --views 512 --repeat 3
set=$(mktemp -d)
trap 'rm -rf "$set"' EXIT
"$qb" simulate rabbitct -o "$set/set.rct" --size 256 --quiet
run rabbitct "$set/set.rct" --size 256 --threads 1 --accuracy normal
run rabbitct "$set/set.rct" --size 256 --threads 1 --accuracy high --repeat 1
echo "results in $out"
