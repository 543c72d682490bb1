#!/bin/sh
# SPDX-License-Identifier: MIT
# On a machine with a GPU: build, check every device kernel against its oracle, test the device layer,
# run both under compute-sanitizer, compare whole reconstructions with the CPU's, measure, let the
# profiler say what stalls each kernel, and leave one JSON file. gpu-check.sh --help lists the options.
set -eu
cd "$(dirname "$0")/.."
build=''
previous=''
for word in "$@"; do
    case $word in --build=*) build=${word#--build=} ;; -h | --help) exec python3 scripts/gpu-check.py --help ;; esac
    [ "$previous" = --build ] && build=$word
    previous=$word
done
if [ -z "$build" ]; then
    scripts/install-packages.sh test
    cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release >build.log 2>&1 || { cat build.log && exit 1; }
    cmake --build build >build.log 2>&1 || { tail -n 40 build.log && exit 1; }
    rm -f build.log
fi
exec python3 scripts/gpu-check.py "$@"
