/* SPDX-License-Identifier: MIT */
#pragma once

#include "quickbeam/geometry.h"

/* Rays that each stay at one height, through few slices: all rays of a single slice, parallel or fan beam. */

/* The rays of one view as lines in a slice, in voxel indices of x and y: the ray of column c is the whole line through
 * origin + c origin_step along along + c along_step. */
typedef struct qb__flat_view {
    double origin[2], origin_step[2], along[2], along_step[2];
} qb__flat_view;

/* The rays of a view: lines in the slice, and the height of each row, in slices. */
typedef struct qb__flat_rays {
    qb__flat_view view;
    double height, height_step; /* height of row 0; step from row to row */
} qb__flat_rays;

/* *rays[views], released by the caller; NULL if rays change their height, there are many slices, a detector is curved,
 * or neighbouring columns are less than 1 / 16 of a voxel apart. */
qb_status qb__flat_rays_of(const qb_geometry *geometry, const qb_grid *grid, qb__flat_rays **rays);
/* True if the rays of a view stay at one height: height of row 0, and step from row to row, in slices. */
bool qb__flat_rows(const qb_geometry *geometry, const qb_grid *grid, size_t view, double *height, double *step);

/* Length in mm of a column's ray between two neighbouring voxel planes. */
double qb__flat_length(const qb__flat_view *view, const double voxel[3], size_t column);

/* The main axis of a column's ray, chosen as in qb__fan_axis. */
int qb__flat_axis(const qb__flat_view *view, size_t column);

/* All columns from c up to the result, which is at most `end`, have one main axis. */
size_t qb__flat_run(const qb__flat_view *view, size_t c, size_t end, int *axis);

/* Where the ray of a column with that main axis crosses a plane, in voxels of the other axis. */
double qb__flat_place(const qb__flat_view *view, int axis, double column, double plane);

/* The weight of a row in a slice: linear between slices. */
double qb__flat_share(const qb__flat_rays *rays, size_t row, size_t slice);
