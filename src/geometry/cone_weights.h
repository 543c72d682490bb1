/* SPDX-License-Identifier: MIT */
#pragma once

#include "geometry/turn.h"
#include "quickbeam/geometry.h"

/* The weights of FDK for a flat detector (Feldkamp, Davis, Kress 1984), from the vectors of each view:
 *   f(x) = sum over views of  view[i] / w^2 * q_i(column, row)
 *   q_i  = ramp filter along rows, with samples `pitch` mm apart, of (pixel weight * projection)
 * with w from qb__matrix_of_view. The weight of a pixel is its cosine times its redundancy weight. */
typedef struct qb__cone_weights {
    qb_redundancy kind;
    /* [views] the angular range in radians that a view stands for, times a factor near 1 */
    double *view;
    double pitch;                 /* mm: mean spacing of the columns at the depth of the origin */
    double *beta;                 /* [views] radians, 0..2 pi: source angle from the beginning of the scan */
    double span;                  /* radians covered by the views; 2 pi for a full turn */
    double gamma_low, gamma_high; /* fan angles that every view has, low < 0 < high */
    double needed,
        /* radians: 180 degrees + fan, and the part of it that was not measured. For several gaps, or a full turn with
         * one gap: 360 degrees, and the widest range without an opposite ray */
        missing;
    double step, gap, gap_from; /* radians: usual step, largest gap, source angle before the gap */
    size_t gaps;                /* number of angular gaps */
    double guessed;             /* share of the rays, 0..1, that neither a view nor its opposite measured */
    /* share by which a value at the axis is too low, 0..1, because weights do not sum to the full turn */
    double lacking;
    bool open;       /* limited angle: views do not stand in for the missing range */
    size_t repeated; /* views with the angle of an earlier view */
    /* offset detector: columns to be added to the filtered rows on the left and right, because their values beyond the
     * short side are not zero */
    size_t before, after;
    bool offset; /* the detector sees much more on one side of the axis */
    /* a full turn, perhaps with gaps, of an offset detector: the field of view is that of the long side */
    bool sided;
    bool vertical; /* fan angles are constant along a detector column */
    qb__turn turn; /* the views on the circle */
} qb__cone_weights;

/* `field`: radius in mm of the volume, to judge the coverage; 0 = the field of view. QB_UNSUPPORTED for a parallel
 * beam, QB_BAD_INPUT if the detector does not see the axis (with the view and the distance), QB_NO_MEMORY. The caller
 * refuses or reports missing angles. */
qb_status qb__cone_weights_create(const qb_geometry *geometry, double field, qb__cone_weights *weights);
/* As qb__cone_weights_create, with another rule for the weights of views, and for resampled views: `geometry` is the
 * virtual detector's, `measured` the real detector's, which tells where data exist. */
qb_status qb__cone_weights_virtual(const qb_geometry *geometry, const qb_geometry *measured, double field,
                                   qb_angle_weights rule, qb__cone_weights *weights);
void qb__cone_weights_destroy(qb__cone_weights *weights); /* NULL-safe */

/* The share of a ray, so that the shares of the ray and its opposite sum to 1: by its view and its fan angle in
 * radians, positive if the ray passes to the left of the axis as seen from the source. */
double qb__cone_redundancy(const qb__cone_weights *weights, size_t view, double gamma);

/* The fan angle of a pixel. */
double qb__cone_fan_angle(const qb_view *view, double column, double row);

/* Cosine times redundancy weight of rows row0 <= row < row1 of a view, out[row][column]. */
void qb__cone_pixel_weights(const qb_geometry *geometry, const qb__cone_weights *weights, size_t view, size_t row0,
                            size_t row1, float *out);
