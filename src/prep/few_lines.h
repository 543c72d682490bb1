/* SPDX-License-Identifier: MIT */
#ifndef QB_PREP_FEW_LINES_H
#define QB_PREP_FEW_LINES_H

#include <stddef.h>

#include "quickbeam/scan.h"

/* A few rows of a few views, evenly over all: what is found in them is told of the scan. A group of lines is a detector row in so
 * many views. */
enum { QB__FEW_VIEWS = 32, QB__FEW_GROUPS = 8, QB__FEW_LINES = QB__FEW_GROUPS * QB__FEW_VIEWS };

/* Where to look: over all the height of the detector rows row0, row0 + step, ... < row1 of a job, but only at those that are prepared
 * here, held0 <= row < held1, and in views view0 <= view < view1: who shares the job looks at others, and all together at the same as
 * one alone. */
typedef struct qb__few_lines {
    size_t row0, row1, step;
    size_t held0, held1, view0, view1;
    size_t room; /* bytes that reading may take */
} qb__few_lines;

/* `number` of QB__FEW_LINES; raw: the row's numbers, as the scan has them. */
typedef void (*qb__line_looker)(void *self, size_t number, size_t view, size_t row, const char *raw);

/* Reads as little as the storage lets it. */
qb_status qb__few_lines_look(qb_scan *scan, const qb__few_lines *where, qb__line_looker look, void *self);

#endif
