#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the source distribution and, from it, the wheel for PyPI: make-wheel.sh FOLDER; they lie in FOLDER/dist.
# GLIBC=2.28 is the oldest glibc that it runs on.
set -eu
cd "$(dirname "$0")/.."
scripts/wheel-libraries.sh "$1"
folder=$(cd "$1" && pwd)
prefix=$folder/prefix
platform=manylinux_$(echo "${GLIBC:-2.28}" | tr . _)_x86_64
python=$folder/tools/bin/python
rm -rf "$folder/dist" "$folder/unpacked" "$folder/raw"
mkdir -p "$folder/unpacked"
"$python" -m build --no-isolation --sdist --outdir "$folder/dist" . >"$folder/sdist.log" 2>&1 || { tail -20 "$folder/sdist.log"; exit 1; }
tar -xzf "$folder"/dist/*.tar.gz -C "$folder/unpacked" --strip-components=1
command -v ccache >/dev/null 2>&1 && export CMAKE_C_COMPILER_LAUNCHER=ccache

# The machine's compiler, whose kernels are faster (clang's bp_cone_circular takes 1.4 times as long), and zig as the
# linker, for the old glibc. The libraries are those of the folder, and no others of the machine.
link="$folder/bin/cc"
export PKG_CONFIG_LIBDIR="$prefix/lib/pkgconfig" PATH="$folder/tools/bin:$PATH"
"$python" -m build --no-isolation --wheel --outdir "$folder/raw" "$folder/unpacked" \
    -C "cmake.define.CMAKE_PREFIX_PATH=$prefix" -C cmake.define.CMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF -C cmake.define.QB_FFT=own \
    -C "cmake.define.HDF5_ROOT=$prefix" -C cmake.define.HDF5_USE_STATIC_LIBRARIES=ON -C "cmake.define.QB_LICENSES=$prefix/licenses" \
    -C "cmake.define.CMAKE_C_CREATE_SHARED_LIBRARY=$link -shared <LINK_FLAGS> <SONAME_FLAG><TARGET_SONAME> -o <TARGET> <OBJECTS> <LINK_LIBRARIES>" \
    -C "cmake.define.CMAKE_C_LINK_EXECUTABLE=$link <LINK_FLAGS> <OBJECTS> -o <TARGET> <LINK_LIBRARIES>" \
    -C "cmake.define.QB_OPENMPI_HEADERS=$folder/mpi/libopenmpi-dev/usr/lib/x86_64-linux-gnu/openmpi/include" \
    -C "cmake.define.QB_MPICH_HEADERS=$folder/mpi/libmpich-dev/usr/include/x86_64-linux-gnu/mpich" \
    -C cmake.define.CMAKE_MODULE_LINKER_FLAGS=-s -C cmake.define.CMAKE_SHARED_LINKER_FLAGS=-s -C cmake.define.CMAKE_EXE_LINKER_FLAGS=-s \
    >"$folder/wheel.log" 2>&1 || { tail -40 "$folder/wheel.log"; exit 1; }
auditwheel repair --plat "$platform" --only-plat --wheel-dir "$folder/dist" "$folder"/raw/*.whl >"$folder/repair.log" 2>&1 || { cat "$folder/repair.log"; exit 1; }
ls -l "$folder"/dist
