/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "geometry/circle.h"
#include "prep/prepare.h"

/* Sums of images of a circular cone-beam scan along planes through the sources of two views. Lengths are in bins of
 * some pixels. */
enum {
    QB__PLANES_VIEWS = 36,
    QB__PLANES_ANGLES = 2, /* number of angles between the views of a pair */
    QB__PLANES_PAIRS = QB__PLANES_ANGLES * QB__PLANES_VIEWS
};

typedef struct qb__plane_pair {
    size_t a, b; /* numbers of the two images */
    double half; /* radians: half of the angle between them */
} qb__plane_pair;

typedef struct qb__cone_planes {
    size_t n[2];          /* columns, rows of the images */
    double column, row;   /* stated position of the ray that is perpendicular to the axis */
    double pixel[2], sdd; /* mm */
    float *image;         /* [views][n[1]][n[0]] */
    size_t views;
    qb__plane_pair pair[QB__PLANES_PAIRS];
    size_t pairs;
    size_t low, high; /* range of rows that are compared */
    qb__pool *pool;   /* pairs are compared by its threads; NULL = by the caller */
    double *scratch;  /* [threads][qb__cone_planes_scratch()] */
} qb__cone_planes;

/* Difference of the detector from the stated one. */
typedef struct qb__plane_place {
    double shift; /* rows by which the true position of `row` is farther */
    double turn;  /* radians, as qb_geometry_options.tilt */
} qb__plane_place;

static inline size_t qb__cone_planes_scratch(const qb__cone_planes *h) { return 2 * (2 * h->n[0] + h->n[1]); }
/* Finds the rows whose lines are on the images at all positions up to `most` away from `from`; false if there are fewer
 * than `least` rows. */
bool qb__cone_planes_rows(qb__cone_planes *h, qb__plane_place from, qb__plane_place most, size_t least);
/* How much sums differ at places[count]: logarithms of mean squares, each[pair][count], and their means over the
 * pairs. */
void qb__cone_planes_differ(qb__cone_planes *h, const qb__plane_place *places, size_t count, double *each,
                            double *mean);

/* Checks whether the detector of a circular cone-beam scan has the stated height and is not rotated in its plane. Any
 * plane through the sources of two views cuts both images in a line. The integrals of a view along the rays of such a
 * plane, times the cosine of their angle to the normal of the line of sources in the plane, are equal in both views
 * (Lesaint, Clackdoyle, Desbat and others, 2017). If the detector has another height or is rotated in its plane, the
 * lines are wrong and the sums differ. For an object that looks the same from all sides the sums are equal in all
 * views, and there is no result. */
typedef struct qb__cone_height {
    /* Measured values; NAN: unknown. rows: by how many rows farther than stated the level ray meets the detector. turn:
     * degrees by which the detector is rotated about that point, as qb_geometry_options.tilt. */
    double rows, turn;
    double confidence[2]; /* 0..1, for rows and for turn; at most 0.5 if the value is off but not clearly */
    /* for rows and for turn: by what factor the mean square of the differences becomes smaller; 0: no clear error */
    double better[2];
} qb__cone_height;

/* Finds the position of the detector at which the sums agree best. A bin is `rows` rows of the detector. */
void qb__cone_place_find(qb__cone_planes *planes, size_t rows, qb__cone_height *found);

/* radians[views]: angles of the sources; rows row0 <= row < row1 are prepared. Reads at most 36 views, if that is a
 * small part of the scan, and holds at most `room` bytes. pool: NULL = the caller's thread computes. */
qb_status qb__cone_height_find(qb_scan *scan, const qb__prepare *prepare, const qb__circle *circle,
                               const double *radians, size_t row0, size_t row1, size_t room, qb__pool *pool,
                               qb__cone_height *found);
/* Warns only of clear errors. */
void qb__cone_height_warn(const qb__cone_height *found, const qb__circle *circle, bool from_file, const qb_env *env);
