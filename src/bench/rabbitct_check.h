/* SPDX-License-Identifier: MIT */
#pragma once

#include "io/plain/rabbitct.h"
#include "quickbeam/param.h"

/* QB_BAD_INPUT, with view and number, if a matrix puts the source into or in front of the cube of size^3 voxels, or if
 * no view sees the cube. Reads only the matrices. */
qb_status qb__rabbitct_check_matrices(const qb__rabbitct *set, size_t size);

/* QB_BAD_ARGUMENT unless --size is one number, and a size of the benchmark. */
qb_status qb__rabbitct_check_size(const qb_numbers *given, size_t *size);

/* The reference for the scores: the file `path`, or if it is NULL the data set's own, if it has one, else NULL.
 * Released by the caller. */
qb_status qb__rabbitct_load_reference(const qb__rabbitct *set, size_t size, const char *path, uint16_t **reference);

/* Randomly chosen voxels, the same every time, and their sums in double precision. */
enum { QB__RABBITCT_SAMPLES = 4096 };
typedef struct qb__rabbitct_sample {
    size_t at[3];
    double sum;
} qb__rabbitct_sample;

void qb__rabbitct_draw_samples(size_t size, qb__rabbitct_sample *samples);
void qb__rabbitct_add_samples(const qb__rabbitct *set, size_t size, const double world[12], const float *image,
                              qb__rabbitct_sample *samples);

typedef struct qb__rabbitct_quality {
    double rmse, largest; /* HU, as defined by the benchmark */
    double rel_l2;        /* relative L2 error of the sampled values, before conversion to HU */
    size_t compared;      /* number of voxels in rmse and largest */
} qb__rabbitct_quality;

/* Compare with the reference, or with the samples if it is NULL. */
qb__rabbitct_quality qb__rabbitct_measure(const qb__rabbitct *set, size_t size, const float *volume,
                                          const uint16_t *reference, const qb__rabbitct_sample *samples);
