/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_FIELD_MEAN_H
#define QB_IO_FIELD_MEAN_H

#include <stdbool.h>
#include <stddef.h>

#include "quickbeam/array.h"

/* The mean of frames pixel by pixel. A single value that lies far from all others of its pixel, as a zinger makes it, is
 * left out; of two frames the brighter one. Where none is, the bits are those of the plain mean. */
typedef struct qb__field_mean {
    size_t pixels, frames;
    double *sum;
    float *high, *low; /* of each pixel; NULL: not needed */
    float top;         /* the type's maximum; INFINITY: none */
} qb__field_mean;

/* `frames` that will be added; `robust`: leave out single values. */
qb_status qb__field_mean_begin(qb__field_mean *m, size_t pixels, size_t frames, qb_dtype dtype, bool robust);
void qb__field_mean_end(qb__field_mean *m);
/* Pixels first <= i < first + count of one frame. Threads may add different pixels at once. */
void qb__field_mean_add(qb__field_mean *m, size_t first, size_t count, const float *values);
/* What was found on the way. */
typedef struct qb__field_found {
    size_t left_out;  /* values */
    size_t saturated; /* pixels that stood at the type's maximum: their mean is NaN */
    double differ[2]; /* how far frames differ, of their mean, in the parts that differ least and most; 0: not known */
    double noise;     /* standard deviation of a usual pixel in one frame; 0: there are too few frames */
} qb__field_found;
void qb__field_mean_take(const qb__field_mean *m, float *mean, qb__field_found *found);

#endif
