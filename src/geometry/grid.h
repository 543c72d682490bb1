/* SPDX-License-Identifier: MIT */
#ifndef QB_GEOMETRY_GRID_H
#define QB_GEOMETRY_GRID_H

#include "geometry/matrix.h"

/* QB_BAD_ARGUMENT with the number for what is no grid: without voxels, of too many, of lengths that are none. */
qb_status qb__grid_check(const qb_grid *grid);

/* Three lengths from the one that options had first and the numbers that may say each; none where neither does. One that is none is left as it is. */
qb_numbers qb__voxels(double one, const qb_numbers *each);
/* QB_BAD_ARGUMENT for a --voxel that is a thousand times the one that the scan's pixels make, or a millionth. */
qb_status qb__voxel_check(double given, double usual);
/* Read --pixel-size: mm along columns and rows, pixel[2]; 0 if not given. QB_BAD_ARGUMENT for three numbers, or a 0 among two. */
qb_status qb__pixels(double one, const qb_numbers *each, double *pixel);

/* How far from the axis the circle that fits into a grid's slices reaches, in mm: what views have
 * to cover. */
double qb__grid_field(const qb_grid *grid);

/* Whether a full turn of a cone with the detector to one side sees farther than the grid; writes a text that names the --size that
 * takes all of it. */
bool qb__grid_narrow(const qb_geometry_info *info, const qb_grid *grid, char *text, size_t size);

/* Tell where the usual volume lies that a detector above or below the source's plane looks at, unless that is asked for. */
void qb__grid_report_height(const qb_grid *usual, const qb_grid_options *asked, const qb_env *env);

/* QB_BAD_INPUT when in no view any of the grid falls on the detector, with where it falls, or when all
 * of it is farther from the axis than any ray. The grid is in front of all sources
 * (qb_geometry_check_grid). */
qb_status qb__grid_check_fov(const qb_geometry *geometry, const qb_grid *grid);

/* All views on a grid, checked as by qb_geometry_check_grid: matrices[geometry->views]. */
qb_status qb__matrices_on_grid(const qb_geometry *geometry, const qb_grid *grid, qb__matrix *matrices);

#endif
