#!/bin/sh
# SPDX-License-Identifier: MIT
# Compare the layout of all C, CUDA and OpenCL sources with .clang-format, and name the files that differ.
# check-format.sh --fix rewrites them. Other versions than 14 lay some lines out differently: they are not asked.
set -eu
cd "$(dirname "$0")/.."
for format in clang-format-14 clang-format; do
    command -v $format >/dev/null 2>&1 && break
done
case $($format --version 2>&1) in
*"version 14."*) ;;
*)
    echo "check-format: clang-format 14 is not installed" >&2
    exit 1
    ;;
esac
[ "${1:-}" != --version ] || exit 0
sources() {
    find bench examples include plugins src tests tools -type f \
        \( -name '*.c' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh' -o -name '*.cl' -o -name '*.clh' \) -print0
}
if [ "${1:-}" = --fix ]; then
    sources | xargs -0 -n 40 -P "$(nproc)" $format -i
    exit
fi
differ=$(sources | xargs -0 -n 40 -P "$(nproc)" $format --dry-run 2>&1 | sed -n 's/^\([^:]*\):[0-9]*:[0-9]*: warning: code should.*/\1/p' | sort -u)
[ -z "$differ" ] && exit
echo "these files are not laid out as .clang-format says (scripts/check-format.sh --fix mends them):"
echo "$differ"
exit 1
