/* SPDX-License-Identifier: MIT */
#pragma once

#include "geometry/curve.h"

/* The flat virtual detector onto which the views of a tilted or curved detector are resampled before filtering: its
 * rows are perpendicular to the axis, its columns parallel to it. In each view its plane contains the point where the
 * real detector meets the horizontal ray through the axis, and turns about z as that point does. There it has the real
 * pitch, and that point is the same pixel in all views, so that the resampled views are an ideal circle if the sources
 * are on one. It covers the real detector in every view. */
typedef struct qb__virtual_detector {
    const qb_geometry *real;
    qb_geometry geometry; /* geometry of the virtual detector; owned */
    double (*map)[9];     /* [views] virtual (column, row, 1) -> (column w, row w, w) of the real plane */
    qb__curve *curve;     /* [views] for a curved detector, else NULL */
    size_t different;     /* number of views whose map differs from that of the first view */
} qb__virtual_detector;

/* Largest deviation of a detector row from a level line across the detector, in rows. */
double qb__virtual_detector_drift(const qb_geometry *geometry);

/* Whether a cone-beam detector should be resampled before filtering: it is curved, or a row deviates by more than a
 * pixel from a level line. */
bool qb__virtual_detector_wanted(const qb_geometry *geometry);

/* `real` must outlive it. QB_UNSUPPORTED with the view for a detector that is parallel to the rays' plane, a curved one
 * whose rows and columns are not perpendicular, or one that sees more than a flat detector can; QB_BAD_INPUT,
 * QB_NO_MEMORY. */
qb_status qb__virtual_detector_create(const qb_geometry *real, qb__virtual_detector *virtual_detector);
void qb__virtual_detector_destroy(qb__virtual_detector *virtual_detector); /* NULL-safe */

/* Positions of the pixels of a row of the virtual detector on the real one: column[], row[] of the virtual geometry's
 * columns; far outside or NAN if not measured. */
void qb__virtual_detector_line(const qb__virtual_detector *virtual_detector, size_t view, size_t at, double *column,
                               double *row);

/* Real rows first <= row < end, with `margin` more on both sides, that the virtual rows row0 <= row < row1 need in any
 * view; first = end if there are none. */
void qb__virtual_detector_rows(const qb__virtual_detector *virtual_detector, size_t row0, size_t row1, size_t margin,
                               size_t *first, size_t *end);
