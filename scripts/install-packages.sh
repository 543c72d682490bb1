#!/bin/sh
# SPDX-License-Identifier: MIT
# Install the Debian/Ubuntu packages that quickbeam needs: install-packages.sh build|test|peers
# What is there already is left alone; NO_INSTALL=1 installs nothing.
set -eu
want="gcc cmake ninja-build pkg-config libfftw3-dev libcjson-dev libhdf5-dev libtiff-dev libpng-dev libfreetype-dev fonts-dejavu-core libexpat1-dev libxxhash-dev zlib1g-dev libzstd-dev libblosc-dev liblz4-dev libcfitsio-dev libopenjp2-7-dev"
[ "${1:-build}" != build ] && want="$want g++ libcmocka-dev python3 python3-numpy python3-h5py python3-pytest python3-tifffile python3-pil locales clang-format libwebsockets-dev libzmq5 ocl-icd-libopencl1 pocl-opencl-icd"

[ "${1:-build}" = peers ] && want="$want python3-venv"

missing=
for package in $want; do
    # A tool that is on the PATH counts, wherever it came from.
    case $package in gcc | g++ | cmake | python3 | clang-format) command -v "$package" >/dev/null 2>&1 && continue ;; esac
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q "ok installed" || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
if [ "${NO_INSTALL:-0}" = 1 ]; then
    echo "not installing (NO_INSTALL=1):$missing"
    exit 0
fi
if ! command -v apt-get >/dev/null 2>&1; then
    echo "this is no Debian or Ubuntu; install what corresponds to:$missing" >&2
    exit 0
fi
run=
if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null 2>&1; then
        echo "neither root nor sudo; ask an administrator for: apt-get install$missing" >&2
        exit 1
    fi
    run=sudo
fi
echo "installing$missing"
# Others (a machine that updates itself) may be at it and are waited for, which apt-get does not do for its lists.
for try in 1 2 3 4; do
    $run apt-get update -qq && break
    [ "$try" -lt 4 ] || exit 1
    sleep 10
done
# shellcheck disable=SC2086
DEBIAN_FRONTEND=noninteractive $run apt-get install -o DPkg::Lock::Timeout=600 -y -qq --no-install-recommends $missing >/dev/null
