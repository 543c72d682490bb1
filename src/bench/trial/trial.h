/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/pool.h"
#include "device/device.h"
#include "planner/choose.h"

/* A problem of an operation with white noise, on which any of its kernels can be timed and checked, on a device or on
 * the CPU: for qb tune, qb bench and kernelcheck --bench. The angles of a parallel beam are even over half a turn, with
 * pixels as wide as voxels; the views of a cone beam and of projection are a full circle around a grid that the
 * detector covers. */
typedef struct qb__trial qb__trial;

typedef struct qb__trial_sizes {
    size_t views, columns, rows; /* rows: of a cone beam's detector; a parallel beam has one per slice */
    size_t nx, ny, nz;
    bool parallel;  /* projection: parallel rays */
    qb__pool *pool; /* CPU: the threads of the pool compute the whole grid; NULL: one thread computes a part of it */
} qb__trial_sizes;

typedef struct qb__trial_result {
    double seconds; /* median of a back-projection: by the device's clock, or processor time of one CPU thread */
    double fastest;
    double pack_seconds; /* time to convert all views to the layout of the kernel */
    double rel_l2;       /* against the double-precision oracle, at sampled voxels */
    double giga_updates; /* per second, for the slices asked for, or for the part computed on the CPU */
    size_t packed_bytes; /* size of a parallel beam's pass, or of a cone beam's block */
    size_t block;        /* views at a time */
} qb__trial_result;

/* device NULL: the CPU. QB_NO_MEMORY if the problem does not fit. The device must outlive the trial. */
qb_status qb__trial_create(qb__operation operation, qb__device *device, const qb__trial_sizes *sizes,
                           qb__trial **trial);
void qb__trial_destroy(qb__trial *trial); /* NULL-safe */
/* The question for the planner, with accuracy and interpolation left open. */
qb__question qb__trial_question(const qb__trial *trial);
/* The output is poisoned before. `slices` of a parallel beam's pass, at most those of the trial; a cone beam always
 * computes all. */
qb_status qb__trial_run(qb__trial *trial, const qb__variant *row, const int *values, unsigned slices, int repeat,
                        qb__trial_result *result);

/* Projection only: which pass. An adjoint alone uses rays that were made before. */
typedef enum qb__trial_part { QB__TRIAL_BOTH, QB__TRIAL_FORWARD, QB__TRIAL_ADJOINT } qb__trial_part;
void qb__joseph_trial_part(qb__trial *trial, qb__trial_part part);

/* ---- checks for other benchmarks (trial_parallel.c, trial_cone.c) ---- */

struct qb__bp_parallel_problem;

/* The rows of one slice, [view][column], as they were back-projected. */
typedef qb_status qb__slice_rows(void *context, unsigned slice, float *rows);
/* The error of a volume on the device, `out` [slice][y][x], relative to the double-precision oracle, at pixels of its
 * first, middle and last slice. */
qb_status qb__parallel_error(qb__queue *queue, const qb__memory *out, const struct qb__bp_parallel_problem *problem,
                             qb_interp interp, unsigned slices, qb__slice_rows *rows_of, void *context, double *rel_l2);
