/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "quickbeam/array.h"

/* The mean of frames, pixel by pixel. A single value far from all others of its pixel, such as a zinger, is left out;
 * of two frames the brighter one. If there is none, the bits are those of the plain mean. Values that are not finite are
 * missing: the mean is that of the other frames. */
typedef struct qb__field_mean {
    size_t pixels, frames, threads;
    double *sum;
    float *high, *low; /* extremes of each pixel; NULL: not needed */
    uint32_t *lost;    /* frames without a finite value of each pixel; NULL: integers */
    float top;         /* maximum of the type; INFINITY: none */
} qb__field_mean;

/* `frames`: number that will be added; `robust`: leave out single values. */
qb_status qb__field_mean_begin(qb__field_mean *m, size_t pixels, size_t frames, qb_dtype dtype, bool robust,
                               size_t threads);
void qb__field_mean_end(qb__field_mean *m);
/* Add pixels first <= i < first + count of one frame. Threads may add different pixels at the same time. */
void qb__field_mean_add(qb__field_mean *m, size_t first, size_t count, const float *values);
/* Results of the mean. */
typedef struct qb__field_found {
    size_t left_out;  /* number of values */
    size_t missing;   /* pixels with no finite value in some of the frames */
    size_t saturated; /* pixels at the type's maximum: their mean is NaN */
    double differ[2]; /* relative difference of frames in the parts that differ least and most; 0: unknown */
    double noise;     /* standard deviation of a usual pixel in one frame; 0: too few frames */
} qb__field_found;
qb_status qb__field_mean_take(const qb__field_mean *m, float *mean, qb__field_found *found);
