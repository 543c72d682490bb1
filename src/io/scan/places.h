/* SPDX-License-Identifier: MIT */
#pragma once

#include "io/scan/image.h"

/* Lens distortion in the model of discorpy (Vo, Opt. Express 23, 32859, 2015). A point at distance r from the centre in
 * the ideal image, in stored pixels, is found in the stored image in the same direction at the distance r (factor[0] +
 * factor[1] r + factor[2] r^2 + ...). */
typedef struct qb__distortion {
    double x, y; /* column and row of the centre */
    double factor[10];
    int factors; /* number of factors; 0: no distortion */
} qb__distortion;

/* Maps pixels of the ideal image to positions in the stored image: rotation, shift and distortion. */
typedef struct qb__places {
    qb__image image; /* as in qb_scan.image; bins of 0: images are read as stored */
    qb__image_map map;
    qb__distortion distortion;
    double middle[2], aspect; /* column and row about which views are rotated; row pitch divided by column pitch */
} qb__places;

/* Loads the file of --distortion for stored images of this size. `path` NULL: no distortion. QB_BAD_INPUT names the
 * wrong number. */
qb_status qb__distortion_load(const char *path, size_t rows, size_t columns, qb__distortion *distortion);
qb__places qb__places_of(const qb_scan_info *info, const qb__image *image, const qb__distortion *distortion);
/* Positions in the stored image of the pixels first, first + 1, ... (`count`) of one row of the ideal, unmoved image:
 * columns in column[], rows in at_row[]. shift: columns and rows of the whole, unbinned image by which the view has
 * moved; turn: radians by which it was rotated before. Both may be NULL, which means 0. */
void qb__places_line(const qb__places *places, const double *shift, const double *turn, size_t row, size_t count,
                     double *column, double *at_row);
/* Loads the file of --shifts: columns, rows and degrees of each view, into shifts[views][3]. */
qb_status qb__shifts_load(const char *path, size_t views, double (*shifts)[3]);
