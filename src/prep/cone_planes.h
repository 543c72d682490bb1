/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/pool.h"

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
