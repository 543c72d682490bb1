/* SPDX-License-Identifier: MIT */
#pragma once

#include "io/publish/publication.h"
#include "job/grey_levels.h"

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
