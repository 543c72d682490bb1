#!/bin/sh
# SPDX-License-Identifier: MIT
# Refuse files larger than 1 MB that git tracks or would add, so that no scratch file is committed by accident.
# The measured scans of tests/data are meant to be there. A copy without git has nothing to check.
set -eu
cd "$(dirname "$0")/.."
git -c safe.directory='*' rev-parse --is-inside-work-tree >/dev/null 2>&1 || exit 0
large=$(git -c safe.directory='*' ls-files --cached --others --exclude-standard -z | xargs -0 sh -c 'find "$@" -maxdepth 0 -type f -size +1000000c' sh 2>/dev/null | grep -v '^tests/data/' || true)
[ -z "$large" ] && exit
echo "these files are larger than 1 MB; remove them, or name them in .gitignore:"
echo "$large"
exit 1
