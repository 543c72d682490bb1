#!/bin/sh
# SPDX-License-Identifier: MIT
# test.sh check|test|all|peers: the tiers of tests (make check, make test, make test-all, make test-peers).
# check   under a minute: floors; unit and property tests with few trials, some of the command.
# test    builds with everything, with no optional library and under the sanitizers; every test that needs nothing but
#         the packages of install-packages.sh, each with cases that QB_SEED draws.
# all     the same, with every case: hours.
# peers   other programs and NVIDIA's compiler, from PyPI into build-peers/; the Python wheel, in build-wheel/.
# The last lines say what was skipped and why, then `N passed, N failed, N skipped`.
set -eu
cd "$(dirname "$0")/.."
tier=${1:-test}
jobs=$(nproc)
results=$(mktemp -d)
# A second try of a random test is one of the same cases.
export QB_SEED="${QB_SEED:-$(date +%s)}"
echo "QB_SEED=$QB_SEED"

finish() {
    code=$?
    trap - EXIT
    [ -z "${libraries:-}" ] || kill "$libraries" || true
    [ "$code" = 0 ] || echo "failed ${doing:-$tier}" >>"$results/steps"
    python3 scripts/test-summary.py "$results" || code=1
    rm -rf "$results"
    exit "$code"
}
trap finish EXIT
trap 'exit 130' INT TERM

step() { # what it is, then a command, which counts as one test
    doing=$1
    echo "== $doing"
    shift
    "$@"
    echo "passed $doing" >>"$results/steps"
}

configure() { # folder, then cmake arguments
    folder=$1
    shift
    cmake -S . -B "$folder" -G Ninja "$@" >"$folder.log" 2>&1 || { cat "$folder.log"; return 1; }
    rm -f "$folder.log"
    cmake --build "$folder" >"$folder.log" 2>&1 || { grep -vE '^\[[0-9]+/[0-9]+\] ' "$folder.log"; return 1; }
    grep -E 'warning:' "$folder.log" || true
    rm -f "$folder.log"
}

bare() {
    configure build-bare -DCMAKE_BUILD_TYPE=Debug -DQB_WITH_HDF5=OFF -DQB_WITH_TIFF=OFF -DQB_WITH_PNG=OFF -DQB_WITH_FREETYPE=OFF -DQB_WITH_ZLIB=OFF -DQB_WITH_ZSTD=OFF -DQB_WITH_BLOSC=OFF -DQB_WITH_LZ4=OFF -DQB_WITH_CFITSIO=OFF -DQB_WITH_OPENJPEG=OFF -DQB_WITH_EXPAT=OFF -DQB_WITH_XXHASH=OFF -DQB_WITH_MPI=OFF -DQB_WITH_WEBSOCKETS=OFF -DQB_FFT=own -DQB_TESTS=OFF
    build-bare/qb --version
}

skip() { # what, why
    echo "== $1: skipped, $2"
    echo "skipped $1: $2" >>"$results/steps"
}

layout() {
    if scripts/check-format.sh --version >/dev/null 2>&1; then
        step "layout of sources" scripts/check-format.sh
    else
        skip "layout of sources" "clang-format 14 is not installed"
    fi
}

# Compiled by another compiler, which also looks for inputs that the readers do not survive.
with_clang() {
    flags="-fsanitize=fuzzer" probe=$results/probe
    echo 'int LLVMFuzzerTestOneInput(const unsigned char *data, unsigned long size) { return data && size > 9; }' >"$probe.c"
    if ! command -v clang >/dev/null 2>&1; then
        skip "build by clang" "clang is not installed"
    elif ! clang $flags "$probe.c" -o "$probe" 2>/dev/null; then
        step "build by clang" configure build-clang -DCMAKE_C_COMPILER=clang -DQB_TESTS=OFF -DCMAKE_BUILD_TYPE=Debug
        skip "libFuzzer" "libFuzzer is not installed (libclang-rt-14-dev)"
    else
        step "build by clang" configure build-clang -DCMAKE_C_COMPILER=clang -DQB_TESTS=OFF -DQB_FUZZ=ON
        step "2 s of libFuzzer for each reader" scripts/fuzz.sh build-clang 2
    fi
}

run() { # title, build folder, then ctest's arguments
    doing=$1
    folder=$2
    echo "== tests: $doing"
    shift 2
    set -- ctest --test-dir "$folder" --output-on-failure --timeout 1800 --no-tests=error \
        --test-output-size-passed 4000000 --test-output-size-failed 4000000 "$@"
    "$@" -j "$jobs" --output-junit "$results/$doing.xml" && return
    [ -s "$results/$doing.xml" ] || return 1
    # What a busy machine held up too long passes alone; what is wrong fails again. Both are counted at the end.
    echo "== tests: $doing, a second try of what failed"
    "$@" --rerun-failed -j 1 --output-junit "$results/$doing.again.xml" || [ -s "$results/$doing.again.xml" ]
}

case $tier in
check)
    scripts/install-packages.sh test
    step "floors" python3 scripts/check-floors.py
    step "words" python3 scripts/check-words.py
    step "sizes of files" scripts/check-sizes.sh
    layout
    step "release build" configure build -DQB_UNITS=ON
    QB_QUICK=1 run release build -L check
    ;;
test | all)
    scripts/install-packages.sh test
    step "floors" python3 scripts/check-floors.py
    step "words" python3 scripts/check-words.py
    step "sizes of files" scripts/check-sizes.sh
    layout
    step "release build" configure build -DQB_UNITS=ON
    step "build without optional libraries" bare
    step "build with sanitizers" configure build-asan -DQB_SANITIZE=ON -DQB_TEST_CACHE="$PWD/build/kernel-cache"
    with_clang
    # Drawn from the cases of each test; of 16 slow tests one.
    [ "$tier" = all ] || export QB_QUICK=1 QB_SLOW=16
    run release build -LE peers -E '^fuzz\.' # which say more under the sanitizers
    # Behind the release: what a driver compiled is kept, and a driver is slow under the sanitizers. The order of
    # libraries is left alone: tests preload calls that fail. What tests kernels alone, or a device's memory alone,
    # gains nothing here. intercept_tls_get_addr=0: the leak checker of GCC 12 takes a thread's variables of a library that
    # was opened in mid-run, where they begin 16 bytes into a page, for glibc 2.19's, whose place it then reads from
    # numbers of its own, and dies of it: by chance, in whatever run has a driver. use_sigaltstack=0: a driver built on LLVM
    # gives the thread that opens it a signal stack of its own, which the sanitizer would unmap when the thread ends. The longest
    # tests, half of the time of all, are for make test-all.
    longest="mbir|mbir_(cone|defaults|masked|fan|fit|reference)|hardening_(fit|two)|cone_(axis|height)|(fbp|fdk|project|ranks)_devices"
    longest="$longest|grid|ranks|docs|cluster|angle_gaps|fdk|view_reconstruct|resume|resume_slabs|zingers|lost|real|values|tv|opposite_views"
    longest="$longest|options|other_programs|mbirct|packed|device_lost|iterative"
    longest="$longest|quantity|paganin|rings|places|turned|turn_check|project|sweep|mbir_(far|matrix)"
    # About values, figures or scripts: they reach no reader, memory or thread that others do not.
    longest="$longest|bench|crop|denoise|faults|field|flat_fields|gpu_check|iterative_truncation|kernel_names|mask|mbir_(sigmas|truncation)"
    longest="$longest|pairing|prep|saturated|scanners_truth|scatter|simulated|stated_center|summary"
    longest="cli\.($longest)|unit\.(interrupted_device|jobs|tensor_misuse|tensor_zeroed|center|rabbitct)"
    [ "$tier" = test ] || longest=none
    UBSAN_OPTIONS=print_stacktrace=1 QB_QUICK=1 QB_SLOW= LSAN_OPTIONS="suppressions=$PWD/tests/leaks:print_suppressions=0" \
        ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1:verify_asan_link_order=0:intercept_tls_get_addr=0:use_sigaltstack=0 \
        run sanitizers build-asan -LE "peers|kernels" -E "^($longest)\$"
    ;;
peers)
    scripts/install-packages.sh peers
    # Downloads and unpacking leave processors idle: the wheel's libraries are built meanwhile. What fails there fails again
    # in the wheel's own step, which says so.
    scripts/wheel-libraries.sh build-wheel >"$results/wheel-libraries" 2>&1 &
    libraries=$!
    step "peers from PyPI" scripts/get-peers.sh build-peers
    nvrtc=$(scripts/get-nvrtc.sh build-peers)
    case $nvrtc in build-peers/*) export QB_LIBNVRTC="$PWD/$nvrtc" ;; esac
    step "release build" configure build -DQB_UNITS=ON -DQB_PEERS_PYTHON="$PWD/build-peers/bin/python"
    wait "$libraries" || true
    libraries=
    run release build -L peers
    step "the Python wheel" scripts/test-python.sh build-wheel
    ;;
*)
    echo "usage: test.sh check|test|all|peers" >&2
    exit 2
    ;;
esac
