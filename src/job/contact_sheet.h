/* SPDX-License-Identifier: MIT */
#ifndef QB_JOB_CONTACT_SHEET_H
#define QB_JOB_CONTACT_SHEET_H

#include <stdbool.h>

#include "io/publish/publication.h"
#include "job/grey_levels.h"

/* One PNG of many images of a size, side by side, each under its label, y up, in one window: what to look at
 * when one of them is to be chosen. Of very many it shows every so-manieth. */
typedef struct qb__contact_sheet qb__contact_sheet;

/* For images [ny][nx], number 0 .. images - 1, with labels of at most so many letters. */
qb_status qb__contact_sheet_create(size_t images, size_t nx, size_t ny, size_t letters, qb__contact_sheet **sheet);
/* Takes what it shows of an image; label in the letters of io/picture/label.h. */
void qb__contact_sheet_add(qb__contact_sheet *sheet, size_t number, const float *image, const char *label);
/* Into a file; `asked` as --window, *window is what it came to. */
qb_status qb__contact_sheet_write(qb__contact_sheet *sheet, const char *asked, const char *units, const char *path,
                                  qb__grey_levels *window);
void qb__contact_sheet_destroy(qb__contact_sheet *sheet); /* NULL-safe */

#endif
