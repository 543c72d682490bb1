#!/bin/sh
# SPDX-License-Identifier: MIT
# Prints the path of an NVRTC, NVIDIA's run-time compiler: a toolkit's where there is one, else the
# one of PyPI's wheel, fetched once into FOLDER (58 MB; not with NO_INSTALL=1). Nothing when there is
# none: get-nvrtc.sh FOLDER
set -eu
folder=$1
for place in "${CUDA_HOME:-/usr/local/cuda}/lib64" "${CUDA_PATH:-/usr/local/cuda}/lib64" "$folder"/nvidia/*/lib; do
    for file in "$place"/libnvrtc.so.[0-9]*; do
        case $file in *builtins* | *.alt.*) continue ;; esac
        if [ -e "$file" ]; then
            echo "$file"
            exit 0
        fi
    done
done
ldconfig -p 2>/dev/null | sed -n 's/.*libnvrtc\.so\.[0-9.]* .*=> //p' | head -n 1 | grep . && exit 0
[ "${NO_INSTALL:-0}" = 1 ] && exit 0
mkdir -p "$folder"
if ! python3 -m pip download -q --no-deps --only-binary=:all: -d "$folder" nvidia-cuda-nvrtc >&2; then
    echo "no NVRTC: neither a toolkit nor PyPI's nvidia-cuda-nvrtc can be had" >&2
    exit 0
fi
for wheel in "$folder"/nvidia_cuda_nvrtc*.whl; do
    python3 -m zipfile -e "$wheel" "$folder"
    rm -f "$wheel"
done
for file in "$folder"/nvidia/*/lib/libnvrtc.so.[0-9]*; do
    [ -e "$file" ] && echo "$file"
done
