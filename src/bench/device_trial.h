/* SPDX-License-Identifier: MIT */
#ifndef QB_BENCH_DEVICE_TRIAL_H
#define QB_BENCH_DEVICE_TRIAL_H

#include "kernels/bp_parallel/bp_parallel_device.h"

/* The rows of one slice, [view][column], as they were back-projected. */
typedef qb_status qb__slice_rows(void *context, unsigned slice, float *rows);

/* The error of a volume on the device, `out` [slice][y][x], relative to the double-precision oracle at
 * pixels all over its first, middle and last slice. */
qb_status qb__device_error(qb__queue *queue, const qb__memory *out,
                           const qb__bp_parallel_problem *problem, qb_interp interp,
                           unsigned slices, qb__slice_rows *rows_of, void *context, double *rel_l2);

/* One back-projection problem on one device, of white noise, on which any variant can be timed and
 * checked: what qb bench and qb tune do. Angles are even over half a turn, pixels as wide as bins.
 */
typedef struct qb__device_trial qb__device_trial;

typedef struct qb__device_result {
    double seconds;      /* median of a pass's back-projection, by the device's own clock */
    double fastest;      /* seconds */
    double pack_seconds; /* of all views */
    double rel_l2;       /* against the double-precision oracle, at pixels all over the volume */
    double giga_updates; /* a second, of the slices asked for */
    size_t packed_bytes;
} qb__device_result;

/* QB_NO_MEMORY when the problem does not fit the device. The device must outlive the trial. */
qb_status qb__device_trial_create(qb__device *device, size_t views, size_t columns, size_t nx,
                                  size_t ny, unsigned slices, qb__device_trial **trial);
void qb__device_trial_destroy(qb__device_trial *trial); /* NULL-safe */
const qb__bp_parallel_problem *qb__device_trial_problem(const qb__device_trial *trial);
/* The output is poisoned before. `slices` at most those of the trial. */
qb_status qb__device_trial_run(qb__device_trial *trial,
                               const qb__bp_parallel_device_variant *variant, const int *values,
                               unsigned slices, int repeat, qb__device_result *result);

#endif
