/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

#include "quickbeam/status.h"

/* --denoise: a filter of each image after the reconstruction. Beyond the edges images are mirrored. NaN and infinite
 * values stay and are ignored by their neighbours. */
typedef struct qb__denoise {
    double sigma;  /* standard deviation of a Gaussian filter, in pixels; 0: none */
    size_t window; /* side of a median filter's window in pixels, odd; 0: none */
} qb__denoise;

/* Parse "gaussian:SIGMA" or "median:N"; NULL or "none": no filter. QB_BAD_ARGUMENT for other text, and for a filter
 * without effect. */
qb_status qb__denoise_parse(const char *text, qb__denoise *denoise);
/* Bytes of memory for filtering one image. */
size_t qb__denoise_bytes(const qb__denoise *denoise, size_t nx, size_t ny);
/* Filter image[ny][nx] in place. */
qb_status qb__denoise_image(const qb__denoise *denoise, float *image, size_t nx, size_t ny);
