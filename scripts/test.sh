#!/bin/sh
# SPDX-License-Identifier: MIT
# Every test: build; floors; unit, property, kernelcheck, CLI and fuzz tests; the same under the
# sanitizers; a build without any optional library. `make test` runs this.
set -eu
cd "$(dirname "$0")/.."
scripts/install-packages.sh test
jobs=$(nproc)
# CUDA sources are compiled for every chip, on machines without a GPU too.
nvrtc=$(scripts/get-nvrtc.sh build-nvrtc)
case $nvrtc in build-nvrtc/*) export QB_LIBNVRTC="$PWD/$nvrtc" ;; esac

configure() { # folder, then cmake arguments
    folder=$1
    shift
    cmake -S . -B "$folder" -G Ninja "$@" >"$folder.log" 2>&1 || { cat "$folder.log"; exit 1; }
    rm -f "$folder.log"
    cmake --build "$folder" 2>&1 | grep -vE '^\[[0-9]+/[0-9]+\] (Building|Linking|Creating)' || true
    cmake --build "$folder" >/dev/null
}

echo "== floors"
python3 scripts/check-floors.py
echo "== release"
configure build
echo "== without optional libraries"
configure build-bare -DQB_WITH_HDF5=OFF -DQB_WITH_TIFF=OFF -DQB_WITH_PNG=OFF -DQB_WITH_EXPAT=OFF -DQB_TESTS=OFF
build-bare/qb --version
echo "== sanitizers"
configure build-asan -DQB_SANITIZE=ON
UBSAN_OPTIONS=print_stacktrace=1 ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1 QB_QUICK=1 \
    ctest --test-dir build-asan --output-on-failure -j "$jobs" --timeout 600
echo "== tests"
ctest --test-dir build --output-on-failure -j "$jobs" --timeout 600
