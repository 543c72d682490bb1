/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/variant.h"
#include "bench/rabbitct_check.h"
#include "quickbeam/status.h"

/* The RabbitCT problem with the library's kernels: a cube of size^3 voxels, with views that come one by one or a few at
 * a time. Views are packed as they come and back-projected in groups, so that the volume passes through memory once per
 * group. */
typedef struct qb__rabbitct_engine qb__rabbitct_engine;

/* matrix: 12 doubles, column by column, of world coordinates in mm; image[rows][columns]. */
typedef struct qb__rabbitct_input {
    const double *matrix;
    const float *image;
} qb__rabbitct_input;

/* QB_BAD_ARGUMENT for sizes of zero or an unknown kernel, QB_UNSUPPORTED if no kernel takes the problem, QB_NO_MEMORY,
 * QB_NO_DEVICE. */
qb_status qb__rabbitct_engine_create(const qb__rabbitct_setup *setup, qb__rabbitct_engine **engine);
void qb__rabbitct_engine_destroy(qb__rabbitct_engine *engine); /* NULL-safe */

/* Forget the views so far: the next one is the first of a volume. */
qb_status qb__rabbitct_engine_begin(qb__rabbitct_engine *engine);
/* Add views to volume[size][size][size]. Images and matrices are not needed after the call, but their contribution may
 * be missing until the flush. QB_BAD_INPUT, with the number, if a matrix puts the source into or in front of the cube;
 * that view and later ones of the call are not added. A device starts from zero, whatever the volume held, and
 * overwrites it in the flush. */
qb_status qb__rabbitct_engine_add(qb__rabbitct_engine *engine, const qb__rabbitct_input *views, size_t count,
                                  float *volume);
qb_status qb__rabbitct_engine_flush(qb__rabbitct_engine *engine, float *volume);

const qb__variant *qb__rabbitct_engine_kernel(const qb__rabbitct_engine *engine);
const char *qb__rabbitct_engine_device(const qb__rabbitct_engine *engine); /* NULL: the CPU */
int qb__rabbitct_engine_threads(const qb__rabbitct_engine *engine);
