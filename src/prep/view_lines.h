/* SPDX-License-Identifier: MIT */
#pragma once

#include "io/scan/scan.h"

/* Some rows of each view, for a check that goes from view to view. A file may pack several views into one block, and
 * every read unpacks whole blocks: the rows of all views of a block are read together and kept. */
typedef struct qb__view_lines {
    qb_scan *scan;
    const size_t *row; /* [rows] detector rows, which the caller keeps */
    size_t rows, line; /* number of rows; bytes of a row */
    size_t ahead;      /* views read together */
    size_t first, end; /* views in `raw` */
    char *raw;         /* [rows][ahead] rows as they are stored */
} qb__view_lines;

qb_status qb__view_lines_create(qb_scan *scan, const size_t *row, size_t rows, qb__view_lines *lines);
/* `raw`: row[r] of this view, valid until the next call. */
qb_status qb__view_lines_read(qb__view_lines *lines, size_t view, size_t r, const char **raw);
void qb__view_lines_destroy(qb__view_lines *lines);
