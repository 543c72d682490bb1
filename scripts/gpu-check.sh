#!/bin/sh
# SPDX-License-Identifier: MIT
# On a machine with a GPU: build, check every device kernel against its oracle, test the device layer,
# run both under compute-sanitizer, measure, and leave one JSON file.
#   gpu-check.sh [--build DIR] [--out FILE] [--quick]
# --build takes what is built there already (where nothing can be installed or compiled); --quick leaves
# out the benchmarks. Exit code 1 when anything failed; what was not run is listed with its reason.
set -u
cd "$(dirname "$0")/.." || exit 1
build='' out='' quick=0
while [ $# -gt 0 ]; do
    case $1 in
    --build) build=$2 && shift ;;
    --out) out=$2 && shift ;;
    --quick) quick=1 ;;
    *) sed -n '3,8s/^# \{0,1\}//p' "$0" && exit 2 ;;
    esac
    shift
done
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
: >"$work/steps"
failed=0 comma=''

quote() { printf '"%s"' "$(printf '%s' "$1" | tr -d '\000-\037\177' | sed 's/\\/\\\\/g; s/"/\\"/g')"; }

# step NAME json|lines|text COMMAND...: runs it, shows how it went, and keeps its JSON (one object, or one
# a line) or its last line.
step() {
    name=$1 kind=$2
    shift 2
    begin=$(date +%s)
    "$@" >"$work/out" 2>"$work/err"
    code=$?
    seconds=$(($(date +%s) - begin))
    said=''
    if [ "$kind" = text ] || [ $code != 0 ]; then
        said=$(cat "$work/out" "$work/err" | grep -v '^ *$' | tail -n 1)
    fi
    result=passed
    [ $code = 77 ] && result=skipped
    if [ $code != 0 ] && [ $code != 77 ]; then
        result=failed failed=1
        tail -n 40 "$work/out" "$work/err"
    fi
    printf '%-28s %-8s %4d s  %.90s\n' "$name" "$result" "$seconds" "$said"
    {
        printf '%s\n{"step": "%s", "result": "%s", "seconds": %d, ' "$comma" "$name" "$result" "$seconds"
        if [ "$kind" = json ] && [ $result = passed ]; then
            printf '"output": '
            tr '\n\t' '  ' <"$work/out"
        elif [ "$kind" = lines ] && [ $result = passed ]; then
            printf '"output": [\n'
            sed '$!s/$/,/' "$work/out"
            printf ']'
        else
            printf '"says": %s' "$(quote "$said")"
        fi
        printf '}'
    } >>"$work/steps"
    comma=,
}
not_run() {
    printf '%-28s %-8s         %s\n' "$1" "not run" "$2"
    printf '%s\n{"step": "%s", "result": "not run", "says": %s}' "$comma" "$1" "$(quote "$2")" >>"$work/steps"
    comma=,
}

if [ -z "$build" ]; then
    build=build
    step packages text scripts/install-packages.sh test
    step configure text cmake -S . -B $build -G Ninja -DCMAKE_BUILD_TYPE=Release
    step build text cmake --build $build
fi
[ -x "$build/qb" ] || { echo "there is no $build/qb" >&2 && exit 1; }
[ -z "${QB_CACHE_DIR+set}" ] && export QB_CACHE_DIR="$work/cache"

step devices json "$build/qb" devices --json --quiet
step nvrtc text "$build/tests/device/nvrtccheck"
step variants-sm-90 text "$build/tests/device/variantcheck" 90
step variants-sm-75 text env QB_QUICK=1 "$build/tests/device/variantcheck" 75
step missing text "$build/tests/device/device_missing"
step faults text "$build/tests/device/device_faults"
step cache text "$build/tests/device/device_cache"
step device-layer text "$build/tests/unit/unit_device"
step device-filter text "$build/tests/unit/unit_device_filter"
step device-lost text "$build/tests/device/device_lost"
step kernelcheck text "$build/tests/kernelcheck/kernelcheck" --filter @

# The sanitizer slows kernels down a hundredfold: fewer trials, and the faults tests (no GPU) not at all.
if command -v compute-sanitizer >/dev/null 2>&1; then
    for tool in memcheck racecheck synccheck initcheck; do
        step "$tool" text env QB_LIBOPENCL= compute-sanitizer --tool $tool --error-exitcode 9 \
            --report-api-errors no "$build/tests/unit/unit_device"
    done
    for tool in memcheck racecheck; do
        step "$tool-filter" text env QB_LIBOPENCL= compute-sanitizer --tool $tool --error-exitcode 9 \
            --report-api-errors no "$build/tests/unit/unit_device_filter"
    done
    step memcheck-kernels text env QB_LIBOPENCL= compute-sanitizer --tool memcheck --error-exitcode 9 \
        --report-api-errors no "$build/tests/kernelcheck/kernelcheck" --quick --trials 3 --threads 1 \
        --filter @cuda
else
    not_run compute-sanitizer "it is not there: NVIDIA's cuda-sanitizer package brings it"
fi

bench() { # NAME, then what qb bench takes
    name=$1
    shift
    step "bench-$name" json "$build/qb" bench "$@" --json --quiet
}
if [ $quick = 0 ]; then
    bench p1 backproject --size 2048,2048,512 --views 2048 --device cuda --accuracy normal
    bench p1-high backproject --size 2048,2048,512 --views 2048 --device cuda --accuracy high
    bench p2 backproject --size 1024,1024,256 --views 1024 --device cuda --accuracy normal
    bench p2-high backproject --size 1024,1024,256 --views 1024 --device cuda --accuracy high
    bench filter-p1 filter --size 2048,1,512 --views 2048 --device cuda
    bench whole-p1 resident --size 2048,2048,512 --views 2048 --device cuda --accuracy normal
    bench whole-p1-high resident --size 2048,2048,512 --views 2048 --device cuda --accuracy high
    bench one-slice backproject --size 2048,2048,1 --views 2048 --device cuda
    step kernels json "$build/tests/kernelcheck/kernelcheck" --bench --json --filter @cuda
    step kernels-opencl json "$build/tests/kernelcheck/kernelcheck" --bench --quick --json --filter @opencl:0
    step variants-p1 lines "$build/tests/variants/bench_bp_parallel" cuda 2048 2048 16
else
    not_run benchmarks "--quick"
fi

gpu=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -n 1)
[ -n "$gpu" ] || gpu="no GPU"
if [ -z "$out" ]; then
    mkdir -p bench/results
    out=bench/results/$(printf '%s' "$gpu" | tr -cs 'A-Za-z0-9' -).json
fi
{
    printf '{"machine": %s, "driver": %s, "date": "%s", "version": %s,\n"steps": [' "$(quote "$gpu")" \
        "$(quote "$(nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>/dev/null | head -n 1)")" \
        "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$(quote "$("$build/qb" --version 2>/dev/null | head -n 1)")"
    cat "$work/steps"
    printf '\n]}\n'
} >"$out"
echo "everything in $out"
exit $failed
