#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes a private virtual environment with the programs that the tests compare with, in the versions of
# tests/peers/requirements.txt: get-peers.sh FOLDER. What is there already is left alone.
set -eu
cd "$(dirname "$0")/.."
folder=$1
wanted=tests/peers/requirements.txt
cmp -s "$wanted" "$folder/requirements.txt" && exit 0
if [ "${NO_INSTALL:-0}" = 1 ]; then
    echo "not made (NO_INSTALL=1): $folder with what $wanted lists" >&2
    exit 1
fi
python=
for candidate in ${QB_PEERS_BASE_PYTHON:-/usr/bin/python3 python3}; do
    if "$candidate" -c "import venv, ensurepip" 2>/dev/null; then
        python=$candidate
        break
    fi
done
if [ -z "$python" ]; then
    echo "no python3 that can make a virtual environment (Debian: python3-venv)" >&2
    exit 1
fi
rm -rf "$folder"
"$python" -m venv "$folder"
"$folder/bin/python" -m pip install -q --disable-pip-version-check --only-binary=:all: -r "$wanted"
cp "$wanted" "$folder/requirements.txt" # only when all is there
