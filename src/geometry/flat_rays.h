/* SPDX-License-Identifier: MIT */
#ifndef QB_GEOMETRY_FLAT_RAYS_H
#define QB_GEOMETRY_FLAT_RAYS_H

#include "quickbeam/geometry.h"

/* Rays that each stay at one height, through few slices: all of a single slice, parallel or fan beam. */

/* The rays of one view as lines in a slice, in voxel indices along x and y: that of column c is the whole line through
 * origin + c origin_step along along + c along_step. */
typedef struct qb__flat_view {
    double origin[2], origin_step[2], along[2], along_step[2];
} qb__flat_view;

/* How the rays of one view lie: in the slice, and at which height each row is, in slices. */
typedef struct qb__flat_rays {
    qb__flat_view view;
    double height, height_step; /* height of row 0; step from row to row */
} qb__flat_rays;

/* *rays[views] for the caller to release, or NULL where rays change their height, slices are many, a detector is curved, or
 * neighbouring columns lie less than 1 / 16 of a voxel apart. */
qb_status qb__flat_rays_of(const qb_geometry *geometry, const qb_grid *grid, qb__flat_rays **rays);
/* True where the rays of a view stay at one height: that of row 0, and the step from row to row, in slices. */
bool qb__flat_rows(const qb_geometry *geometry, const qb_grid *grid, size_t view, double *height, double *step);

/* How long, in mm, the ray of a column is between two neighbouring planes of voxels. */
double qb__flat_length(const qb__flat_view *view, const double voxel[3], size_t column);

/* The main axis of a column's ray, as qb__fan_axis chooses it. */
int qb__flat_axis(const qb__flat_view *view, size_t column);

/* Columns c <= column < the result, which is at most `end`, have one main axis. */
size_t qb__flat_run(const qb__flat_view *view, size_t c, size_t end, int *axis);

/* Where the ray of a column with that main axis crosses a plane, in voxels of the other axis. */
double qb__flat_place(const qb__flat_view *view, int axis, double column, double plane);

/* The share that a row has in a slice: linear between slices. */
double qb__flat_share(const qb__flat_rays *rays, size_t row, size_t slice);

#endif
