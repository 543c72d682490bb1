/* SPDX-License-Identifier: MIT */
#pragma once

#include "kernels/project_joseph/project_joseph_device.h"

/* Slice-by-slice projection (project_joseph_flat.cl): its data of the rays, and its launches. */

/* Compile-time parameters of the adjoint: columns that a voxel checks, columns of a tile, largest distance in columns
 * of a ray that touches a voxel. */
typedef struct qb__flat_shape {
    bool even; /* parallel rays */
    int taps, cap;
    float reach;
} qb__flat_shape;

/* Why rays and grid cannot be processed slice by slice, in tiles `tall` voxels high; NULL: they can. */
const char *qb__joseph_flat_refuses(const qb__joseph_problem *problem, size_t tall, qb__flat_shape *shape);

typedef struct qb__joseph_flat qb__joseph_flat;

size_t qb__joseph_flat_bytes(const qb__joseph_problem *problem, qb__joseph_most most);
qb_status qb__joseph_flat_create(qb__device *device, const qb__joseph_problem *problem, qb__joseph_most most, int steps,
                                 qb__joseph_flat **flat);
void qb__joseph_flat_destroy(qb__joseph_flat *flat); /* NULL-safe */

/* As in project_joseph_device.h; lines y0 <= y < y1 of the volume, y0 a multiple of 8 `steps`. */
qb_status qb__joseph_flat_forward(qb__joseph_flat *flat, qb__queue *queue, const qb__memory *slab, size_t z0, size_t z1,
                                  size_t view0, size_t view1, qb__memory *rays);
qb_status qb__joseph_flat_adjoint(qb__joseph_flat *flat, qb__queue *queue, const qb__memory *rays, size_t view0,
                                  size_t view1, qb__memory *slab, size_t y0, size_t y1, size_t z0, size_t z1,
                                  bool more);

/* Data that a plan uploads (project_joseph_flat_records.c). */
typedef struct qb__flat_records {
    float (*courses)[4]; /* [view][column] */
    float *lengths;      /* [view][column] */
    /* [view]: coefficients for the column of a point; for parallel rays the distance of columns, and its inverse */
    float (*points)[8];
    float (*heights)[2]; /* [view][row] */
    int32_t (*spans)[2]; /* [view][slice] */
    int32_t (*runs)[4];  /* view, main axis, first column, end */
    size_t *first_run;   /* [views + 1] */
} qb__flat_records;

qb_status qb__flat_records_make(const qb__joseph_problem *problem, qb__flat_records *records);
void qb__flat_records_destroy(qb__flat_records *records);
