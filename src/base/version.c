/* SPDX-License-Identifier: MIT */
#include "quickbeam/version.h"

#define HAVE(name, version) name ": built in, " version "\n"
#define LACK(name, package) name ": missing, install " package " and build again\n"

#ifdef QB_HAVE_FFTW
#define FFT "FFT: FFTW " QB_HAVE_FFTW " (GPL-2.0-or-later, which then covers this binary)\n"
#else
#define FFT "FFT: quickbeam's own (MIT)\n"
#endif
#ifdef QB_HAVE_HDF5
#define HDF5 HAVE("HDF5", QB_HDF5_VERSION)
#else
#define HDF5 LACK("HDF5", "libhdf5-dev")
#endif
#ifdef QB_HAVE_TIFF
#define TIFF HAVE("TIFF", QB_TIFF_VERSION)
#else
#define TIFF LACK("TIFF", "libtiff-dev")
#endif
#ifdef QB_HAVE_PNG
#define PNG HAVE("PNG", QB_PNG_VERSION)
#else
#define PNG LACK("PNG", "libpng-dev")
#endif
#ifdef QB_HAVE_FREETYPE
#define LETTERS HAVE("letters of pictures", "FreeType " QB_FREETYPE_VERSION)
#else
#define LETTERS LACK("letters of pictures", "libfreetype-dev")
#endif
#ifdef QB_HAVE_ZLIB
#define ZLIB HAVE("gzip", "zlib " QB_ZLIB_VERSION)
#else
#define ZLIB LACK("gzip", "zlib1g-dev")
#endif
#ifdef QB_HAVE_BLOSC
#define BLOSC HAVE("Blosc", QB_BLOSC_VERSION)
#else
#define BLOSC LACK("Blosc", "libblosc-dev")
#endif
#ifdef QB_HAVE_ZSTD
#define ZSTD HAVE("Zstandard", QB_ZSTD_VERSION)
#else
#define ZSTD LACK("Zstandard", "libzstd-dev")
#endif
#ifdef QB_HAVE_LZ4
#define LZ4 HAVE("LZ4", QB_LZ4_VERSION)
#else
#define LZ4 LACK("LZ4", "liblz4-dev")
#endif
#ifdef QB_HAVE_CFITSIO
#define CFITSIO HAVE("cfitsio", QB_CFITSIO_VERSION)
#else
#define CFITSIO LACK("cfitsio", "libcfitsio-dev")
#endif
#ifdef QB_HAVE_OPENJPEG
#define OPENJPEG HAVE("OpenJPEG", QB_OPENJPEG_VERSION)
#else
#define OPENJPEG LACK("OpenJPEG", "libopenjp2-7-dev")
#endif
#ifdef QB_HAVE_XXHASH
#define HASHES "hashes of inputs: built in\n"
#else
#define HASHES LACK("hashes of inputs", "libxxhash-dev")
#endif
#ifdef QB_HAVE_EXPAT
#define EXPAT HAVE("RTK geometry XML", "expat " QB_EXPAT_VERSION)
#else
#define EXPAT LACK("RTK geometry XML", "libexpat1-dev")
#endif
#ifdef QB_HAVE_MPI
#define MPI "MPI: built in\n"
#elif defined(QB_HAVE_MPI_ADAPTERS)
#define MPI "MPI: Open MPI and MPICH are looked for at run time\n"
#else
#define MPI LACK("MPI", "libopenmpi-dev")
#endif

#ifdef QB_HAVE_WEBSOCKETS
#define VIEW HAVE("qb view", "libwebsockets " QB_HAVE_WEBSOCKETS)
#else
#define VIEW LACK("qb view", "libwebsockets-dev")
#endif

const char *qb_version(void) { return QB_VERSION; }

const char *qb_build_summary(void) {
    return FFT HDF5 TIFF PNG LETTERS ZLIB ZSTD BLOSC LZ4 CFITSIO OPENJPEG HASHES EXPAT MPI VIEW
        "CUDA and OpenCL: looked for at run time (qb devices)\n";
}
