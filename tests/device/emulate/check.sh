#!/bin/sh
# SPDX-License-Identifier: MIT
# Kernels for CUDA against their oracles, on this processor: check.sh KERNELCHECK LIBRARY TRIALS ID...
for tool in g++ python3; do
    command -v $tool >/dev/null || { echo "$tool is not there"; exit 77; }
done
check=$1
export QB_LIBCUDA="$2" QB_LIBNVRTC="$2" QB_LIBCUFFT= QB_LIBOPENCL= MOCK_CUDA_FREE=4000000000
trials=$3
shift 3
# A GPU has the same names for other code, and so has another state of what emulates one.
[ -z "${QB_CACHE_DIR:-}" ] || export QB_CACHE_DIR="$QB_CACHE_DIR/emulated${EMULATE_WRITTEN:+-written}-$(cat "$(dirname "$0")"/emulate* | cksum | cut -d ' ' -f 1)"
for id in "$@"; do
    "$check" --quick --trials "$trials" --filter "$id@cuda" || exit 1
done
