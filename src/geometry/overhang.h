/* SPDX-License-Identifier: MIT */
#pragma once

#include "quickbeam/geometry.h"

/* Rays that leave the volume through its first or last slice pass through the object before or after it. slices[]:
 * additional slices, at each end, that contain such rays within the circle inscribed in a slice. */
void qb__grid_overhang(const qb_geometry *geometry, const qb_grid *grid, size_t slices[2]);
