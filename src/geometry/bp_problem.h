/* SPDX-License-Identifier: MIT */
#ifndef QB_GEOMETRY_BP_PROBLEM_H
#define QB_GEOMETRY_BP_PROBLEM_H

#include <stddef.h>

#include "quickbeam/kernel.h"

/* Parallel-beam back-projection, the mathematics that every variant on every device computes.
 *
 *   f[z][y][x] = sum over views v, in ascending order, of P_z[v](h)
 *   h = ax[v] x + ay[v] y + h0[v]
 *
 * where x and y are voxel indices, P_z[v] is the filtered row of slice z at view v, already
 * weighted, and P_z[v](h) interpolates it at column coordinate h: linearly between pixel centres at
 * integers, or at the nearest one (half up), or, oversampled, at the nearest of a row resampled
 * linearly to a multiple of its columns. Columns outside 0..columns-1 read as zero, so linear
 * interpolation fades over the last half-open pixel on either side. ax, ay, h0 come from the
 * geometry in double, so uneven angles, any pixel pitch, per-view shifts and regions of interest
 * are only numbers here. */
enum { QB__OVERSAMPLE = 4 }; /* samples a column of an oversampled row, at 0, 1/4, 1/2, 3/4 */

typedef struct qb__bp_parallel_problem {
    size_t views, columns;
    size_t nx, ny;              /* pixels of a slice */
    const double *ax, *ay, *h0; /* [views] */
    /* [slices of the pass, as given to pack() and run()] upper bound of |value| over all rows of a slice; NULL if not known.
     * Variants in half precision need it. */
    const float *largest;
} qb__bp_parallel_problem;

#endif
