/* SPDX-License-Identifier: MIT */
/* One problem of parallel-beam back-projection through one variant on one device, for the slices
 * and the benchmark: white-noise rows with an amplitude a slice, output poisoned with NaN and
 * followed by a canary, voxels compared with the double-precision oracle. */
#ifndef QB_TESTS_DEVICE_TRIAL_H
#define QB_TESTS_DEVICE_TRIAL_H

#include "kernels/bp_parallel/bp_parallel_device.h"

typedef struct trial {
    qb__bp_parallel_problem problem;
    double *ax, *ay, *h0;
    float *rows, *largest; /* [slices][views][columns]; [slices] */
    unsigned slices;
} trial;

typedef struct trial_result {
    double rel_l2, worst; /* of the sampled voxels; worst in units of their rms */
    double seconds, pack_seconds;
    uint64_t bits; /* a hash of the slices looked at: the same input gives the same */
} trial_result;

/* An ordinary scan: even angles, the axis in the middle. */
trial trial_ordinary(size_t views, size_t columns, unsigned slices, uint64_t seed);
void trial_free(trial *t);

/* The rows on a device, and room for the voxels. */
typedef struct trial_device {
    const trial *trial;
    qb__device *device;
    qb__queue *queue;
    qb__memory *rows, *out;
    qb__event *begin, *end;
    float *host;
} trial_device;
qb_status trial_upload(const trial *t, qb__device *device, trial_device *on);
void trial_device_free(trial_device *on);

/* Packs the views in two blocks, runs `repeats` times (the fastest counts), compares `samples`
 * voxels; of large volumes only the first and the last slice are looked at. The detail says what
 * failed, QB_INTERNAL when the canary died or a voxel was not written. */
qb_status trial_run(trial_device *on, const qb__bp_parallel_device_variant *variant,
                    const int *values, int repeats, size_t samples, trial_result *result);

#endif
