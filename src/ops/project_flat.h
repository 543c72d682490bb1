/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/pool.h"
#include "cpu/project_joseph/project_joseph.h"
#include "geometry/flat_rays.h"

/* Projection of few slices whose rays each stay at one height: all rays of a single slice, parallel or fan beam. Sums
 * and values are images, [view][row][column]. */

/* Floats of a copy of all slices for both main axes. */
size_t qb__flat_floats(const qb_grid *grid);

typedef struct qb__flat_work {
    const qb__joseph_variant *variant;
    const qb_geometry *geometry;
    const qb_grid *grid;
    const qb__flat_rays *rays; /* [views] */
    size_t view0, view1;
    float *lines; /* sums or values: [view1 - view0][row][column] */
    float *copy;  /* qb__flat_floats(); forward only */
} qb__flat_work;

/* sums += the projection of volume[z][y][x]. */
void qb__flat_add(const qb__flat_work *work, const float *volume, qb__pool *pool);

/* Arguments for adding to the voxels at[j] <= voxel < at[j] + n[j]; at most 32 x 32 voxels of each slice. `window`
 * gives the columns of a view that see them. */
typedef struct qb__flat_columns {
    size_t c0, c1;
} qb__flat_columns;
size_t qb__flat_scratch_bytes(const qb__flat_work *work);
void qb__flat_back(const qb__flat_work *work, const size_t at[3], const size_t n[3],
                   qb__flat_columns (*window)(const void *context, size_t view), const void *context, float *volume,
                   void *scratch);
