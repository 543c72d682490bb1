#!/bin/sh
# SPDX-License-Identifier: MIT
# docs/cli.md, from what the command says of itself: make-cli-docs.sh build/qb >docs/cli.md
exec "${1:-build/qb}" help --markdown
