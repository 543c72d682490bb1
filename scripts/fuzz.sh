#!/bin/sh
# SPDX-License-Identifier: MIT
# fuzz.sh BUILD SECONDS [NAME]...: each libFuzzer harness of a build by clang with -DQB_FUZZ=ON for so long, as many at a
# time as there are CPUs, from seeds of our own writers and what was kept (tests/fuzz/corpus). A line for each; the exit
# code is not 0 where one found something, which is then kept in BUILD/fuzz/NAME.
set -eu
cd "$(dirname "$0")/.."
if [ "$1" = --one ]; then # of which a library that is not ours may end the process (exit code 3): it goes on
    build=$2 name=$4 place=$2/fuzz/$4 end=$(($(date +%s) + $3)) died=0 code=3
    mkdir -p "$place/corpus"
    "$build/tests/fuzz/fuzz_$name" --seeds "$place/corpus" || exit 0 # not in this build
    cp tests/fuzz/corpus/"$name"/* "$place/corpus" 2>/dev/null || true
    : >"$place/log"
    printf 'leak:libhdf5\nleak:libcfitsio\n' >"$place/leaks" # of what they opened by half
    while [ "$code" = 3 ] && [ "$(date +%s)" -lt "$end" ]; do
        code=0
        # Absurd sizes are asked for and refused, which is not what is looked for here.
        LSAN_OPTIONS=suppressions=$place/leaks:print_suppressions=0 ASAN_OPTIONS=allocator_may_return_null=1 "$build/tests/fuzz/libfuzzer_$name" "$place/corpus" \
            -artifact_prefix="$place/" -max_total_time=$((end - $(date +%s) + 1)) -timeout=120 -rss_limit_mb=0 -entropic=0 \
            -print_final_stats=1 ${QB_SEED:+-seed="$QB_SEED"} >>"$place/log" 2>&1 || code=$?
        [ "$code" != 3 ] || died=$((died + 1))
    done
    runs=$(awk '/stat::number_of_executed_units/ {n += $2} END {print n + 0}' "$place/log")
    edges=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$place/log" | sort -n | tail -1)
    [ "$died" = 0 ] && died= || died=", ended $died times inside the format's own library"
    echo "$name: $runs inputs, ${edges:-0} edges$died"
    [ "$code" = 0 ] || [ "$code" = 3 ] || { tail -40 "$place/log" && exit 1; }
    exit 0
fi
build=$1 seconds=$2
shift 2
[ $# -gt 0 ] || set -- $(ls "$build"/tests/fuzz/libfuzzer_* | sed 's/.*libfuzzer_//')
printf '%s\n' "$@" | xargs -P "$(nproc)" -n 1 scripts/fuzz.sh --one "$build" "$seconds"
