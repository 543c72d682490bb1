#!/bin/sh
# SPDX-License-Identifier: MIT
# test_variants_progress.sh VARIANTCHECK: each variant has its line.
said=$("$1" 75 nearest.alu)
code=$?
echo "$said"
test $code = 0 || exit $code
echo "$said" | grep -q "^bp_parallel_nearest.alu  *1 compiled" || exit 1
echo "$said" | grep -q "^bp_parallel_nearest.alu_split  *1 compiled"
