/* SPDX-License-Identifier: MIT */
#ifndef QB_BENCH_RABBITCT_CHECK_H
#define QB_BENCH_RABBITCT_CHECK_H

#include "io/plain/rabbitct.h"
#include "quickbeam/param.h"

/* QB_BAD_INPUT, with view and number, when a matrix puts the source into or before the cube of
 * size^3 voxels, or when no view sees the cube at all. Reads matrices alone. */
qb_status qb__rabbitct_check_matrices(const qb__rabbitct *set, size_t size);

/* QB_BAD_ARGUMENT unless the numbers of --size are one, and that a cube of the benchmark's. */
qb_status qb__rabbitct_check_size(const qb_numbers *given, size_t *size);

/* The reference that the scores are taken against: the file `path`, or where that is NULL the data set's own, of which
 * there may be none: NULL. The caller's, to be freed. */
qb_status qb__rabbitct_load_reference(const qb__rabbitct *set, size_t size, const char *path, uint16_t **reference);

/* Voxels drawn at random, the same every time, and their sums in double precision. */
enum { QB__RABBITCT_SAMPLES = 4096 };
typedef struct qb__rabbitct_sample {
    size_t at[3];
    double sum;
} qb__rabbitct_sample;

void qb__rabbitct_draw_samples(size_t size, qb__rabbitct_sample *samples);
void qb__rabbitct_add_samples(const qb__rabbitct *set, size_t size, const double world[12], const float *image,
                              qb__rabbitct_sample *samples);

typedef struct qb__rabbitct_quality {
    double rmse, largest; /* HU, as the benchmark counts them */
    double rel_l2;        /* of the samples' values, before they become HU */
    size_t compared;      /* voxels behind rmse and largest */
} qb__rabbitct_quality;

/* Against the reference, or the samples when it is NULL. */
qb__rabbitct_quality qb__rabbitct_measure(const qb__rabbitct *set, size_t size, const float *volume,
                                          const uint16_t *reference, const qb__rabbitct_sample *samples);

#endif
