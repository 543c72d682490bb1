/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "quickbeam/geometry.h"

/* True if the ray through a pixel misses the volume by more than a voxel. Only voxels within `radius` mm of the centre
 * of their slice count; INFINITY: all. `flat`: ignore z. */
bool qb__ray_misses(const qb_geometry *geometry, size_t view, double column, double row, const qb_grid *grid,
                    double radius, bool flat);
