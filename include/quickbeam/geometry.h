/* SPDX-License-Identifier: MIT */
#ifndef QUICKBEAM_GEOMETRY_H
#define QUICKBEAM_GEOMETRY_H

#include <stddef.h>

#include "quickbeam/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The world is right-handed, in mm (or in detector pixels where no pixel size is known); z is the
 * rotation axis. At view angle t rays travel along (-sin t, cos t, 0), the detector's columns run
 * along (cos t, sin t, 0) and its rows along (0, 0, 1). Pixel centres are at integer indices. */
typedef enum qb_beam { QB_BEAM_PARALLEL, QB_BEAM_CONE } qb_beam;

/* The one internal form of any scan: where each view's source and detector are. */
typedef struct qb_view {
    double source[3];   /* cone: its place; parallel: the unit vector along which rays travel */
    double detector[3]; /* the centre of pixel (column 0, row 0) */
    double u[3];        /* from one column to the next */
    double v[3];        /* from one row to the next */
} qb_view;

typedef struct qb_geometry {
    qb_beam beam;
    size_t views, rows, columns;
    qb_view *view; /* [views], owned */
} qb_geometry;

/* Parallel beam: detector column = (x cos t + y sin t) / pixel + center, row = z / pixel +
 * (rows - 1) / 2. angles[views] in radians; pixel in mm; center in columns. QB_BAD_ARGUMENT for a
 * size of zero or a pixel that is not positive, QB_BAD_INPUT for an angle that is not finite,
 * QB_NO_MEMORY. *geometry owns memory only on success: release it with qb_geometry_destroy. */
QB_API qb_status qb_geometry_parallel(size_t views, const double *angles, size_t rows,
                                      size_t columns, double pixel, double center,
                                      qb_geometry *geometry);

/* Cone beam, flat detector, circular source: at angle t the source is at sod (sin t, -cos t, 0) and
 * the detector's plane, at right angles to the principal ray (-sin t, cos t, 0), lies sdd from it;
 * columns run along (cos t, sin t, 0), rows along (0, 0, 1). angles[views] in radians, all lengths
 * in mm, 0 < sod <= sdd. (offset_u, offset_v) is where the detector's centre lies relative to the
 * principal ray, which therefore meets it at column (columns - 1) / 2 - offset_u / pixel_u and row
 * (rows - 1) / 2 - offset_v / pixel_v. Errors and ownership as in qb_geometry_parallel. */
QB_API qb_status qb_geometry_cone(size_t views, const double *angles, size_t rows, size_t columns,
                                  double pixel_u, double pixel_v, double sod, double sdd,
                                  double offset_u, double offset_v, qb_geometry *geometry);

/* NULL-safe; leaves the geometry empty. */
QB_API void qb_geometry_destroy(qb_geometry *geometry);

/* Voxel (ix, iy, iz) is centred at x = (ix - (n[0] - 1) / 2) voxel[0] + offset[0], likewise y, z.
 */
typedef struct qb_grid {
    size_t n[3];      /* x, y, z */
    double voxel[3];  /* mm */
    double offset[3]; /* mm */
} qb_grid;

#ifdef __cplusplus
}
#endif
#endif
