/* SPDX-License-Identifier: MIT */
#pragma once

#include "io/plain/source.h"
#include "quickbeam/scan.h"

/* Changes of every image when it is read: it is rotated (--rotate), then mirrored (--flip); a window of it is taken
 * (--crop), whose pixels are binned (--bin). The same for views, flats, darks and masks. */
typedef struct qb__image {
    size_t stored_rows, stored_columns;
    int turn; /* quarter turns clockwise, with row 0 on top */
    bool flip_u, flip_v;
    size_t whole_rows, whole_columns;
    size_t first_row, first_column; /* first row and column of the window, in the rotated image */
    size_t bin_u, bin_v;
    size_t rows, columns; /* size of the result */
    bool sum;             /* counts of a bin are added; else their mean is taken */
} qb__image;

/* The pixel of a stored image for pixel (row, column) of the rotated image:
 *     stored row = row[0] + row[1] row + row[2] column, and the column in the same way. */
typedef struct qb__image_map {
    ptrdiff_t row[3], column[3];
} qb__image_map;
qb__image_map qb__image_map_of(const qb__image *image);

/* True if the options ask for any change. */
bool qb__image_wanted(const qb_scan_options *options);
/* Reads the options for stored images of this size. QB_BAD_ARGUMENT with the wrong number. */
qb_status qb__image_parse(const qb_scan_options *options, size_t rows, size_t columns, qb__image *image);
/* Replace *source by one with changed images, which owns the old one, also after a failure. `sinogram`: its images are
 * detector rows of [view][column]; `lines`: they are flats or darks of a detector with a single row, one field per
 * line. */
qb_status qb__source_image(qb__source **source, const qb__image *image, bool sinogram, bool lines);
/* Convert a mask of stored pixels: a pixel with any masked pixel in it is masked. */
void qb__image_mask(const qb__image *image, const unsigned char *stored, unsigned char *mask);
/* "turned by 90 degrees, ..." */
void qb__image_text(const qb__image *image, char *text, size_t size);
