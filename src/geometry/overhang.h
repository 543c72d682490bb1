/* SPDX-License-Identifier: MIT */
#ifndef QB_GEOMETRY_OVERHANG_H
#define QB_GEOMETRY_OVERHANG_H

#include "quickbeam/geometry.h"

/* Rays that cross the volume and leave it through its first or last slice go on through what lies before or after. slices[]: how many
 * more slices of the same voxels, at each of the two ends, hold such rays within the circle inscribed in a slice. */
void qb__grid_overhang(const qb_geometry *geometry, const qb_grid *grid, size_t slices[2]);

#endif
