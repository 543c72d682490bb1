/* SPDX-License-Identifier: MIT */
#pragma once

#include "geometry/matrix.h"

/* QB_BAD_ARGUMENT with the number for an invalid grid: no voxels, too many, or invalid lengths. */
qb_status qb__grid_check(const qb_grid *grid);

/* Three lengths from the single number and the list of numbers of the options; unchanged if neither is given. Invalid
 * numbers are kept, for the check that follows. */
qb_numbers qb__voxels(double one, const qb_numbers *each);
/* QB_BAD_ARGUMENT for a --voxel that differs from the voxel of the scan's pixels by a factor of a thousand or a
 * millionth. */
qb_status qb__voxel_check(double given, double usual);
/* Read --pixel-size: mm along columns and rows, pixel[2]; 0 if not given. QB_BAD_ARGUMENT for three numbers, or a 0
 * among two. */
qb_status qb__pixels(double one, const qb_numbers *each, double *pixel);

/* Radius in mm of the circle inscribed in the slices of a grid, which views have to cover. */
double qb__grid_field(const qb_grid *grid);

/* True if a full turn of a cone with an offset detector sees farther than the grid; the text names the --size that
 * covers all of it. */
bool qb__grid_narrow(const qb_geometry_info *info, const qb_grid *grid, char *text, size_t size);

/* Tell the z of the default volume if the detector is above or below the source's plane, unless an offset is given. */
void qb__grid_report_height(const qb_grid *usual, const qb_grid_options *asked, const qb_env *env);

/* QB_BAD_INPUT if the grid falls on the detector in no view, with its position, or if it is farther from the axis than
 * any ray. The grid is in front of all sources (qb_geometry_check_grid). */
qb_status qb__grid_check_fov(const qb_geometry *geometry, const qb_grid *grid);

/* The matrices of all views for a grid, checked as by qb_geometry_check_grid: matrices[geometry->views]. */
qb_status qb__matrices_on_grid(const qb_geometry *geometry, const qb_grid *grid, qb__matrix *matrices);
