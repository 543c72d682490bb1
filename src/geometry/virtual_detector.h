/* SPDX-License-Identifier: MIT */
#ifndef QB_GEOMETRY_VIRTUAL_DETECTOR_H
#define QB_GEOMETRY_VIRTUAL_DETECTOR_H

#include "geometry/curve.h"

/* The flat, upright detector onto which the views of a turned or bent one are resampled before they
 * are filtered: its rows are at right angles to the axis, its columns along it. In each view its
 * plane contains the point where the real one meets the horizontal ray through the axis, and turns
 * about z as that does; there it has the real pitch, and that point is the same pixel in all views,
 * so that faults which are resampled anyway leave an ideal circle where the sources make one. It
 * covers the real detector in every view. */
typedef struct qb__virtual_detector {
    const qb_geometry *real;
    qb_geometry geometry; /* the upright one; owned */
    double (*map)[9];     /* [views] upright (column, row, 1) -> (column w, row w, w) of the real plane */
    qb__curve *curve;     /* [views] when the real one is bent, else NULL */
    size_t different;     /* number of views whose map differs from that of the first view */
} qb__virtual_detector;

/* Largest deviation of a detector row from a level line across the detector, in rows. */
double qb__virtual_detector_drift(const qb_geometry *geometry);

/* Whether a cone-beam detector should be resampled before filtering: it is curved, or a row deviates by more than a pixel from a level
 * line. */
bool qb__virtual_detector_wanted(const qb_geometry *geometry);

/* `real` must outlive it. QB_UNSUPPORTED with the view for a detector that lies flat, a bent one
 * whose rows and columns are not at right angles or that sees what no flat one could; QB_BAD_INPUT,
 * QB_NO_MEMORY. */
qb_status qb__virtual_detector_create(const qb_geometry *real, qb__virtual_detector *virtual_detector);
void qb__virtual_detector_destroy(qb__virtual_detector *virtual_detector); /* NULL-safe */

/* Where the pixels of a row of the upright detector fall on the real one: column[], row[] of
 * upright->geometry.columns; far outside or NAN where it was not measured. */
void qb__virtual_detector_line(const qb__virtual_detector *virtual_detector, size_t view, size_t at, double *column,
                               double *row);

/* Real rows first <= row < end, `margin` more on both sides, on which the upright rows
 * row0 <= row < row1 fall in any view; first = end when there are none. */
void qb__virtual_detector_rows(const qb__virtual_detector *virtual_detector, size_t row0, size_t row1, size_t margin,
                               size_t *first, size_t *end);

#endif
