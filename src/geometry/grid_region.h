/* SPDX-License-Identifier: MIT */
#ifndef QB_GEOMETRY_GRID_REGION_H
#define QB_GEOMETRY_GRID_REGION_H

#include <stdbool.h>

#include "quickbeam/geometry.h"

/* Some of the voxels of a grid. Their values are the bits that they have in the whole: coordinates are those of the whole grid. */
typedef struct qb__grid_region {
    bool asked;      /* false: all voxels */
    size_t first[3]; /* number in the whole grid of the region's first voxel, along x, y, z */
    qb_grid whole;
} qb__grid_region;

/* "X0:X1,Y0:Y1" or, with `dimensions` 3, "X0:X1,Y0:Y1,Z0:Z1" of *grid, which becomes the region's; NULL: all. */
qb_status qb__grid_region_take(const char *text, int dimensions, qb_grid *grid, qb__grid_region *region);

#endif
