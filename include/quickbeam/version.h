/* SPDX-License-Identifier: MIT */
#ifndef QUICKBEAM_VERSION_H
#define QUICKBEAM_VERSION_H

#include "quickbeam/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Version of these headers, from which the build takes it. */
#define QB_VERSION_MAJOR 0
#define QB_VERSION_MINOR 2
#define QB_VERSION_PATCH 0
/* Are these headers of that version or a later one? For #if. */
#define QB_VERSION_AT_LEAST(major, minor, patch)                                                                       \
    (QB_VERSION_MAJOR * 1000000 + QB_VERSION_MINOR * 1000 + QB_VERSION_PATCH >=                                        \
     (major)*1000000 + (minor)*1000 + (patch))

/* Version of the running library, such as "0.2.0". */
QB_API const char *qb_version(void);

/* One line per library built in or missing ("FFT: FFTW 3.3.10 (GPL-2.0-or-later)"), for --version. */
QB_API const char *qb_build_summary(void);

#ifdef __cplusplus
}
#endif
#endif
