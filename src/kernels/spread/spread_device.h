/* SPDX-License-Identifier: MIT */
#pragma once

#include "device/device.h"

/* The transpose of a linear back-projection on a device, without the filter. Each voxel of a volume [z][y][x] is
 * distributed to the pixels that the back-projection reads for it, with the same weights and the same factor 1 /
 * w^2. */
typedef struct qb__spread_problem {
    size_t views, rows, columns, n[3]; /* n: voxels along x, y and z */
    const double (*matrix)[12];        /* [views], row by row: u w, v w and w of voxel (x, y, z) */
} qb__spread_problem;

typedef struct qb__spread qb__spread;

/* Tells whether the geometry is possible: the column and depth of a voxel must not depend on its z. */
bool qb__spread_possible(const qb__spread_problem *problem);
/* Usual number of views of a block. */
size_t qb__spread_block(const qb__spread_problem *problem);

/* Uploads the volume. `views` is the largest number of views of a block. QB_NO_MEMORY. */
qb_status qb__spread_open(qb__device *device, const qb__spread_problem *problem, size_t views, const float *volume,
                          qb__spread **spread);
/* Writes lines[view - view0][row][column]. */
qb_status qb__spread_views(qb__spread *spread, size_t view0, size_t view1, float *lines);
void qb__spread_close(qb__spread *spread); /* NULL-safe */
