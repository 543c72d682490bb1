/* SPDX-License-Identifier: MIT */
#include "quickbeam/version.h"

#define HAVE(name, package) name ": built in\n"
#define LACK(name, package) name ": missing, install " package " and build again\n"

#ifdef QB_HAVE_FFTW
#define QB_FFT_SUMMARY "FFT: FFTW " QB_HAVE_FFTW " (GPL-2.0-or-later, which then covers this binary)\n"
#else
#define QB_FFT_SUMMARY "FFT: quickbeam's own (MIT)\n"
#endif

const char *qb_version(void) { return QB_VERSION; }

const char *qb_build_summary(void) {
    return QB_FFT_SUMMARY
#ifdef QB_HAVE_HDF5
        HAVE("HDF5", "libhdf5-dev")
#else
        LACK("HDF5", "libhdf5-dev")
#endif
#ifdef QB_HAVE_TIFF
            HAVE("TIFF", "libtiff-dev")
#else
            LACK("TIFF", "libtiff-dev")
#endif
#ifdef QB_HAVE_PNG
                HAVE("PNG", "libpng-dev")
#else
                LACK("PNG", "libpng-dev")
#endif
#ifdef QB_HAVE_XXHASH
                    HAVE("hashes of inputs", "libxxhash-dev")
#else
                    LACK("hashes of inputs", "libxxhash-dev")
#endif
#ifdef QB_HAVE_EXPAT
                        HAVE("RTK geometry XML", "libexpat1-dev")
#else
                        LACK("RTK geometry XML", "libexpat1-dev")
#endif
#ifdef QB_HAVE_MPI
                            HAVE("MPI", "libopenmpi-dev");
#else
                            LACK("MPI", "libopenmpi-dev");
#endif
}
