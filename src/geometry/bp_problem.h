/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

/* Parallel-beam back-projection: the formula of all variants on all devices.
 *
 *   f[z][y][x] = sum over views v, in ascending order, of P_z[v](h)
 *   h = ax[v] x + ay[v] y + h0[v]
 *
 * x and y are voxel indices. P_z[v] is the filtered and weighted row of slice z at view v. P_z[v](h) interpolates it at
 * column h: linearly between pixel centres at integers; or at the nearest pixel (half up); or, oversampled, at the
 * nearest sample of a row that was resampled linearly to a multiple of its columns. Columns outside 0..columns-1 read
 * as zero, so linear interpolation fades out over the last pixel on either side. ax, ay and h0 are computed from the
 * geometry in double precision, so uneven angles, any pixel pitch, shifts of views and regions of interest are only
 * numbers here. */
enum { QB__OVERSAMPLE = 4 }; /* samples per column of an oversampled row, at 0, 1/4, 1/2, 3/4 */

typedef struct qb__bp_parallel_problem {
    size_t views, columns;
    size_t nx, ny;              /* voxels of a slice */
    const double *ax, *ay, *h0; /* [views] */
    /* [slices of the pass, as given to pack() and run()] upper bound of |value| over all rows of a slice; NULL if
     * unknown. Variants in half precision need it. */
    const float *largest;
} qb__bp_parallel_problem;
