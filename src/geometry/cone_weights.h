/* SPDX-License-Identifier: MIT */
#ifndef QB_GEOMETRY_CONE_WEIGHTS_H
#define QB_GEOMETRY_CONE_WEIGHTS_H

#include <stdbool.h>

#include "geometry/turn.h"
#include "quickbeam/geometry.h"

/* The weights of FDK for a flat detector (Feldkamp, Davis, Kress 1984), from each view's own
 * vectors:
 *   f(x) = sum over views of  view[i] / w^2 * q_i(column, row)
 *   q_i  = ramp filter along the rows, its samples `pitch` mm apart, of (pixel weight * projection)
 * with w from qb__matrix_of_view. A pixel's weight is its cosine times its redundancy. */
typedef struct qb__cone_weights {
    qb_redundancy kind;
    double *view;                 /* [views] mostly the angle in radians that the view stands for */
    double pitch;                 /* mm: mean spacing of the columns, seen at the depth of the origin */
    double *beta;                 /* [views] radians, 0..2 pi: the source's angle from where the scan begins */
    double span;                  /* radians: what the views cover, 2 pi for a full turn */
    double gamma_low, gamma_high; /* fan angles that every view sees, low < 0 < high */
    double needed,
        missing; /* radians: 180 degrees + fan, and what of it there is not. Of several gaps, or a full turn with one:
                                     360 degrees, and the widest range for which no opposite ray was measured either */
    double step, gap, gap_from; /* radians: usual step, largest gap, the source angle before it */
    size_t gaps;                /* ranges of angles that were not measured */
    double guessed;             /* share of the rays, 0..1, that neither a view nor its opposite measured */
    double lacking;  /* share that a value at the axis is too low by, 0..1, because weights do not sum to the whole */
    bool open;       /* limited angle: no view stands in for what is missing */
    size_t repeated; /* views at the angle of an earlier one */
    size_t before, after; /* offset detector: so many columns must be added to the filtered rows, left and
                             right: beside the detector's short side their values are not zero */
    bool offset;          /* the detector sees much more on one side of the axis */
    bool sided;           /* a full turn, perhaps with gaps, of such a detector: the long side's field is covered */
    bool vertical;        /* fan angles do not change along a column of the detector */
    qb__turn turn;        /* the views on the circle */
} qb__cone_weights;

/* `field`: radius in mm of what will be reconstructed, to judge the coverage; 0 = all that is seen.
 * QB_UNSUPPORTED for a parallel beam, QB_BAD_INPUT when the detector does not see the axis (with
 * the view and by how much), QB_NO_MEMORY. Missing angle is for the caller to refuse or report. */
qb_status qb__cone_weights_create(const qb_geometry *geometry, double field, qb__cone_weights *weights);
/* As qb__cone_weights_create, with another rule for the weights of views, and for resampled views: `geometry` is that of the virtual
 * detector, `measured` that of the real one, which says how far to the sides anything was measured. */
qb_status qb__cone_weights_virtual(const qb_geometry *geometry, const qb_geometry *measured, double field,
                                   qb_angle_weights rule, qb__cone_weights *weights);
void qb__cone_weights_destroy(qb__cone_weights *weights); /* NULL-safe */

/* What share of a ray counts, so that with its opposite it makes 1: by its view and its fan angle,
 * in radians, positive where the ray passes to the left of the axis as seen from the source. */
double qb__cone_redundancy(const qb__cone_weights *weights, size_t view, double gamma);

/* The fan angle of a pixel. */
double qb__cone_fan_angle(const qb_view *view, double column, double row);

/* Cosine times redundancy of rows row0 <= row < row1 of a view, out[row][column]. */
void qb__cone_pixel_weights(const qb_geometry *geometry, const qb__cone_weights *weights, size_t view, size_t row0,
                            size_t row1, float *out);

#endif
