/* SPDX-License-Identifier: MIT */
#ifndef QB_JOB_DENOISE_H
#define QB_JOB_DENOISE_H

#include <stddef.h>

#include "quickbeam/status.h"

/* --denoise: a filter of each image on its own, after the reconstruction. Images go on beyond their edges as in a mirror. NaN and
 * infinite values stay, and do not count for their neighbours. */
typedef struct qb__denoise {
    double sigma;  /* pixels, of a Gaussian; 0: none */
    size_t window; /* pixels, odd, of a median; 0: none */
} qb__denoise;

/* "gaussian:SIGMA" or "median:N"; NULL or "none": neither. QB_BAD_ARGUMENT for others, and for a filter that does nothing. */
qb_status qb__denoise_parse(const char *text, qb__denoise *denoise);
/* Bytes that filtering one image takes. */
size_t qb__denoise_bytes(const qb__denoise *denoise, size_t nx, size_t ny);
/* image[ny][nx], in place. */
qb_status qb__denoise_image(const qb__denoise *denoise, float *image, size_t nx, size_t ny);

#endif
