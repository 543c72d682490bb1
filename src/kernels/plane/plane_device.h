/* SPDX-License-Identifier: MIT */
#pragma once

#include "device/device.h"

/* Planes of a parallel-beam volume from filtered rows: see plane_parallel.cl. */
typedef struct qb__plane_kernel qb__plane_kernel;

/* A view: a point (x, y) of the volume is seen at column ax x + ay y + h0. */
typedef struct qb__plane_view {
    float ax, ay, h0, weight;
    uint64_t at; /* elements before the view's first row */
} qb__plane_view;

/* x, y and detector row of the first point; steps to the next line and to the next point. */
typedef struct qb__plane_place {
    float origin[3], down[3], right[3];
} qb__plane_place;

qb_status qb__plane_create(qb__device *device, qb__plane_kernel **kernel);
void qb__plane_destroy(qb__plane_kernel *kernel); /* NULL-safe */
/* out[lines][points]; rows are `stride` elements apart, `views` as qb__plane_view. Asynchronous. */
qb_status qb__plane_run(const qb__plane_kernel *kernel, qb__queue *queue, const qb__memory *rows,
                        const qb__memory *views, size_t count, const size_t detector[2], size_t stride,
                        const qb__plane_place *place, qb__memory *out, size_t lines, size_t points);
