#!/bin/sh
# SPDX-License-Identifier: MIT
# docs/cli.md, from what the command says of itself: make-cli-docs.sh build/qb >docs/cli.md
set -eu
qb=${1:-build/qb}
echo "# The command line"
echo
echo "Made by scripts/make-cli-docs.sh from \`qb VERB --help\`; do not edit. The value in brackets is the default."
for verb in $("$qb" --help | sed -n 's/^  \([a-z][a-z]*\) .*/\1/p'); do
    printf '\n## qb %s\n\n```\n' "$verb"
    "$qb" "$verb" --help
    echo '```'
done
