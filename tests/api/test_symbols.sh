#!/bin/sh
# SPDX-License-Identifier: MIT
# test_symbols.sh NM LIBRARY LIST SOLVERS: the library exports what the list says, the calls of the solvers in solvers.h, and
# nothing else, and each name begins with qb_ (not qb__, which is inside). A new call joins the list by hand; one that goes is a break.
set -eu
nm=$1 library=$2 list=$3 solvers=$4
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
"$nm" -D --defined-only "$library" | awk '{ sub(/@.*/, "", $NF); print $NF }' | LC_ALL=C sort -u > "$work/exported"
sed -n 's/.*ROW(\([a-z0-9_]*\), ".*/qb_\1 qb_\1_params qb_\1_plan/p' "$solvers" | tr ' ' '\n' | LC_ALL=C sort -u - "$list" > "$work/listed"
if grep -v '^qb_[a-z]' "$work/exported"; then
    echo "are exported and are not called qb_..." >&2
    exit 1
fi
diff "$work/listed" "$work/exported" >&2 || {
    echo "$(basename "$list") (<) and the library (>) differ" >&2
    exit 1
}
wc -l < "$work/exported"
