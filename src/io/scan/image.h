/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_IMAGE_H
#define QB_IO_IMAGE_H

#include "io/plain/source.h"
#include "quickbeam/scan.h"

/* What is done to every image as it is read: it is turned (--rotate), then mirrored (--flip); of the turned image a window is taken
 * (--crop), whose pixels are put together (--bin). Views, flats, darks and masks alike. */
typedef struct qb__image {
    size_t stored_rows, stored_columns;
    int turn; /* quarter turns clockwise, row 0 on top */
    bool flip_u, flip_v;
    size_t whole_rows, whole_columns;
    size_t first_row, first_column; /* of the window, in the turned image */
    size_t bin_u, bin_v;
    size_t rows, columns; /* of what is read */
    bool sum;             /* pixels of a bin are counts, which are added; else their mean is taken */
} qb__image;

/* Which pixel of a stored image is the one in (row, column) of the turned image:
 *     stored row = row[0] + row[1] row + row[2] column, and likewise the column. */
typedef struct qb__image_map {
    ptrdiff_t row[3], column[3];
} qb__image_map;
qb__image_map qb__image_map_of(const qb__image *image);

/* Whether options ask for any of that. */
bool qb__image_wanted(const qb_scan_options *options);
/* For stored images of this size. QB_BAD_ARGUMENT with the number. */
qb_status qb__image_parse(const qb_scan_options *options, size_t rows, size_t columns, qb__image *image);
/* *source with its images changed so; it owns the one before, also on failure. `sinogram`: its images are detector rows of
 * [view][column]; `lines`: they are flats or darks of a detector with a single row, a field in each line. */
qb_status qb__source_image(qb__source **source, const qb__image *image, bool sinogram, bool lines);
/* A mask of stored pixels: of what is read each pixel that holds a masked one. */
void qb__image_mask(const qb__image *image, const unsigned char *stored, unsigned char *mask);
/* "turned by 90 degrees, ..." */
void qb__image_text(const qb__image *image, char *text, size_t size);

#endif
