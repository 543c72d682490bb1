/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "quickbeam/geometry.h"

/* A part of a grid's voxels. Their values have the bits of the whole volume: coordinates are those of the whole
 * grid. */
typedef struct qb__grid_region {
    bool asked;      /* false: all voxels */
    size_t first[3]; /* index in the whole grid of the region's first voxel, along x, y, z */
    qb_grid whole;
} qb__grid_region;

/* Parse "X0:X1,Y0:Y1" or, with `dimensions` 3, "X0:X1,Y0:Y1,Z0:Z1" for *grid, which becomes the region's grid; NULL:
 * all voxels. */
qb_status qb__grid_region_take(const char *text, int dimensions, qb_grid *grid, qb__grid_region *region);
