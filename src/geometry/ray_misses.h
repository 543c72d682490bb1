/* SPDX-License-Identifier: MIT */
#ifndef QB_GEOMETRY_RAY_MISSES_H
#define QB_GEOMETRY_RAY_MISSES_H

#include <stdbool.h>

#include "quickbeam/geometry.h"

/* Does the ray through a pixel pass beside a volume, by more than a voxel? No voxel can then account for what it met.
 * `radius`: of voxels only those so near to the middle of their slice count, mm; INFINITY: all. `flat`: whatever its z. */
bool qb__ray_misses(const qb_geometry *geometry, size_t view, double column, double row, const qb_grid *grid,
                    double radius, bool flat);

#endif
