/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_PLACES_H
#define QB_IO_PLACES_H

#include "io/scan/image.h"

/* Lens distortion as discorpy has it (Vo, Opt. Express 23, 32859, 2015): what an ideal image has at r from the centre,
 * in stored pixels, is found in the stored one at r (factor[0] + factor[1] r + factor[2] r^2 + ...) in the same
 * direction. */
typedef struct qb__distortion {
    double x, y; /* column and row of the centre */
    double factor[10];
    int factors; /* 0: there is none */
} qb__distortion;

/* Where images are read: their own pixels, moved by a turn, a shift and the distortion. */
typedef struct qb__places {
    qb__image image; /* its bins are 0: as stored */
    qb__image_map map;
    qb__distortion distortion;
    double middle[2], aspect; /* column and row about which views are turned; pitch of rows over that of columns */
} qb__places;

/* The file of --distortion, for stored images of this size; NULL: none. QB_BAD_INPUT with the number. */
qb_status qb__distortion_load(const char *path, size_t rows, size_t columns, qb__distortion *distortion);
qb__places qb__places_of(const qb_scan_info *info, const qb__image *image, const qb__distortion *distortion);
/* Of the ideal, unmoved image's pixels first.. (count) in a row: column[] and row[] where they are found. shift:
 * columns and rows of the whole, unbinned image by which it has moved; turn: radians by which it was turned before.
 * NULL: 0. */
void qb__places_line(const qb__places *places, const double *shift, const double *turn, size_t row, size_t count,
                     double *column, double *at_row);
/* The file of --shifts: u, v and degrees of each of `views` views, into shifts[views][3]. */
qb_status qb__shifts_load(const char *path, size_t views, double (*shifts)[3]);

#endif
