/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

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

/* A part of a grid's voxels. Their values have the bits of the whole volume: coordinates are those of the whole
 * grid. */
typedef struct qb__grid_region {
    bool asked;      /* false: all voxels */
    size_t first[3]; /* index in the whole grid of the region's first voxel, along x, y, z */
    qb_grid whole;
} qb__grid_region;

/* Parse "X0:X1,Y0:Y1" or, with `dimensions` 3, "X0:X1,Y0:Y1,Z0:Z1" for *grid, which becomes the region's grid; NULL:
 * all voxels. */
qb_status qb__grid_region_take(const char *text, int dimensions, qb_grid *grid, qb__grid_region *region);

/* Rays that leave the volume through its first or last slice pass through the object before or after it. slices[]:
 * additional slices, at each end, that contain such rays within the circle inscribed in a slice. */
void qb__grid_overhang(const qb_geometry *geometry, const qb_grid *grid, size_t slices[2]);

/* True if the ray through a pixel misses the volume by more than a voxel. Only voxels within `radius` mm of the centre
 * of their slice count; INFINITY: all. `flat`: ignore z. */
bool qb__ray_misses(const qb_geometry *geometry, size_t view, double column, double row, const qb_grid *grid,
                    double radius, bool flat);
