/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

#include "quickbeam/scan.h"

/* A sample of rows of some views, evenly over the scan, for checks of the scan. A group of lines is a detector row in
 * several views. */
enum { QB__SAMPLE_VIEWS = 32, QB__SAMPLE_GROUPS = 8, QB__SAMPLE_LINES = QB__SAMPLE_GROUPS * QB__SAMPLE_VIEWS };

/* The sampled region of detector rows row0, row0 + step, ... < row1 of a job. Only rows held0 <= row < held1 and views
 * view0 <= view < view1 are sampled here, because only they are prepared here. Ranks that share the job sample other
 * views; all together sample the same as a single process. */
typedef struct qb__row_sample {
    size_t row0, row1, step;
    size_t held0, held1, view0, view1;
    size_t room; /* bytes for reading */
} qb__row_sample;

/* `number` of QB__SAMPLE_LINES; raw: the row's numbers, as stored in the scan. */
typedef void (*qb__line_looker)(void *self, size_t number, size_t view, size_t row, const char *raw);

/* Reads as little as the storage allows. */
qb_status qb__row_sample_read(qb_scan *scan, const qb__row_sample *where, qb__line_looker look, void *self);

/* Number of views of which this number of rows can be read at the cost of a few percent of the scan; all views of a
 * small scan. */
size_t qb__views_affordable(const qb_scan *scan, size_t rows);
