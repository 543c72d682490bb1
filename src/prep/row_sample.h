/* SPDX-License-Identifier: MIT */
#ifndef QB_PREP_ROW_SAMPLE_H
#define QB_PREP_ROW_SAMPLE_H

#include <stddef.h>

#include "quickbeam/scan.h"

/* A few rows of a few views, evenly over all: what is found in them is told of the scan. A group of lines is a detector row in so
 * many views. */
enum { QB__SAMPLE_VIEWS = 32, QB__SAMPLE_GROUPS = 8, QB__SAMPLE_LINES = QB__SAMPLE_GROUPS * QB__SAMPLE_VIEWS };

/* Where to look: over all the height of the detector rows row0, row0 + step, ... < row1 of a job, but only at those that are prepared
 * here, held0 <= row < held1, and in views view0 <= view < view1: who shares the job looks at others, and all together at the same as
 * one alone. */
typedef struct qb__row_sample {
    size_t row0, row1, step;
    size_t held0, held1, view0, view1;
    size_t room; /* bytes that reading may take */
} qb__row_sample;

/* `number` of QB__SAMPLE_LINES; raw: the row's numbers, as the scan has them. */
typedef void (*qb__line_looker)(void *self, size_t number, size_t view, size_t row, const char *raw);

/* Reads as little as the storage lets it. */
qb_status qb__row_sample_read(qb_scan *scan, const qb__row_sample *where, qb__line_looker look, void *self);

/* Of how many views so many rows can be read at the cost of a few percent of the scan; all of them where it is small. */
size_t qb__views_affordable(const qb_scan *scan, size_t rows);

#endif
