/* SPDX-License-Identifier: MIT */
#pragma once

#include "io/publish/publication.h"
#include "job/grey_levels.h"
#include "quickbeam/status.h"

/* One PNG with many images of the same size in a grid, each with a label, y up, and with one grey-level window, to
 * choose one of them. If there are too many images, only every n-th is shown. */
typedef struct qb__contact_sheet qb__contact_sheet;

/* For images [ny][nx] with numbers 0 .. images - 1, and labels of at most `letters` letters. */
qb_status qb__contact_sheet_create(size_t images, size_t nx, size_t ny, size_t letters, qb__contact_sheet **sheet);
/* Keep what the sheet shows of an image; letters of the label: see io/picture/label.h. */
void qb__contact_sheet_add(qb__contact_sheet *sheet, size_t number, const float *image, const char *label);
/* Write the file; `asked` as for --window, *window gets the window that was used. */
qb_status qb__contact_sheet_write(qb__contact_sheet *sheet, const char *asked, const char *units, const char *path,
                                  qb__grey_levels *window);
void qb__contact_sheet_destroy(qb__contact_sheet *sheet); /* NULL-safe */

/* Sharpness and noise of a slice within the ellipse that touches its sides. NaN and infinite values do not count. */
typedef struct qb__sharpness {
    /* rms of the gradient, by central differences over 2 pixels, divided by the standard deviation; 1/pixel */
    double edges;
    /* 1.4826 * median of |a - b - c + d| / 2 of 2 x 2 neighbours: the standard deviation of white noise */
    double noise;
    /* |sum of values| / sum of |values|, at most 1: a wrong axis gives values below zero (Donath et al., J. Opt. Soc.
     * Am. A 23, 1048, 2006). */
    double positivity;
    double mean;
} qb__sharpness;

/* For an image [ny][nx]; `zero` is the value of no attenuation. All results are 0 for fewer than 3 x 3 pixels or a
 * constant image. */
qb_status qb__sharpness_of(const float *image, size_t nx, size_t ny, double zero, qb__sharpness *out);
