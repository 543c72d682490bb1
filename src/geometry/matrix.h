/* SPDX-License-Identifier: MIT */
#pragma once

#include "quickbeam/geometry.h"

/* 3x4: (column w, row w, w) = m (x, y, z, 1). */
typedef struct qb__matrix {
    double m[3][4];
} qb__matrix;

/* The matrix of a view for world points in mm. Cone: w = depth / D_so > 0 in front of the source, where depth is the
 * distance from the source along the detector's normal and D_so that of the origin; w = 1 at the origin, and on the
 * whole axis of a circular scan. Parallel: w = 1. QB_BAD_INPUT for a degenerate view: a source in the detector's plane
 * or at the origin's depth. */
qb_status qb__matrix_of_view(qb_beam beam, const qb_view *view, qb__matrix *matrix);

/* The matrix of a view for voxel indices (ix, iy, iz, 1) of a grid. */
void qb__matrix_on_grid(const qb__matrix *world, const qb_grid *grid, qb__matrix *matrix);

/* A view whose matrix is a multiple, of either sign, of this one, with columns pixel_u apart. A matrix determines the
 * rays but not the distance of the detector, which follows from the pitch. pixel_v is checked to 1 %; 0 = not checked.
 * The beam is parallel if the last row is (0, 0, 0, c). */
qb_status qb__matrix_decompose(const qb__matrix *matrix, double pixel_u, double pixel_v, qb_beam *beam, qb_view *view);

static inline void qb__matrix_apply(const qb__matrix *matrix, double x, double y, double z, double out[3]) {
    for (int i = 0; i < 3; i++) {
        const double *row = matrix->m[i];
        out[i] = row[0] * x + row[1] * y + row[2] * z + row[3];
    }
}

/* The z on the vertical line through (x, y) that is seen in a row: v (c + d z) = a + b z. */
static inline double qb__matrix_z_of_row(const qb__matrix *matrix, double x, double y, double row) {
    double at0[3], at1[3];
    qb__matrix_apply(matrix, x, y, 0, at0);
    qb__matrix_apply(matrix, x, y, 1, at1);
    return (at0[1] - row * at0[2]) / (row * (at1[2] - at0[2]) - (at1[1] - at0[1]));
}

/* A corner of the voxels 0..n-1: corner 0..7, one bit per axis. */
static inline void qb__matrix_at_corner(const qb__matrix *on_grid, const qb_grid *grid, int corner, double out[3]) {
    qb__matrix_apply(on_grid, corner & 1 ? (double)grid->n[0] - 1 : 0, corner & 2 ? (double)grid->n[1] - 1 : 0,
                     corner & 4 ? (double)grid->n[2] - 1 : 0, out);
}
