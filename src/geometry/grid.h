/* SPDX-License-Identifier: MIT */
#ifndef QB_GEOMETRY_GRID_H
#define QB_GEOMETRY_GRID_H

#include "quickbeam/geometry.h"

/* How far from the axis the circle that fits into a grid's slices reaches, in mm: what views have
 * to cover. */
double qb__grid_field(const qb_grid *grid);

/* QB_BAD_INPUT when in no view any of the grid falls on the detector, with where it falls, or when all
 * of it is farther from the axis than any ray. The grid is in front of all sources
 * (qb_geometry_check_grid). */
qb_status qb__grid_check_seen(const qb_geometry *geometry, const qb_grid *grid);

#endif
