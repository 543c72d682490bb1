#!/bin/sh
# SPDX-License-Identifier: MIT
# Prints the path of an NVRTC, NVIDIA's run-time compiler: a toolkit's where there is one, else that of the wheel in the
# virtual environment FOLDER (get-peers.sh makes it). Nothing when there is none: get-nvrtc.sh FOLDER
set -eu
for place in "${CUDA_HOME:-/usr/local/cuda}/lib64" "${CUDA_PATH:-/usr/local/cuda}/lib64" "$1"/lib/python3*/site-packages/nvidia/*/lib; do
    for file in "$place"/libnvrtc.so.[0-9]*; do
        case $file in *builtins* | *.alt.*) continue ;; esac
        if [ -e "$file" ]; then
            echo "$file"
            exit 0
        fi
    done
done
ldconfig -p 2>/dev/null | sed -n 's/.*libnvrtc\.so\.[0-9.]* .*=> //p' | head -n 1
