/* SPDX-License-Identifier: MIT */
#pragma once

#include "prep/rolled_rows.h"

/* Reads single rows, of all views, of a detector whose rotation in its plane (roll) is corrected. */
typedef struct qb__roll_reader qb__roll_reader;

/* Keeps pointers to all arguments. QB_NO_MEMORY. */
qb_status qb__roll_reader_create(qb_scan *scan, const qb__prepare *prepare, const qb__roll *roll, qb__pool *pool,
                                 qb__roll_reader **leveler);
void qb__roll_reader_destroy(qb__roll_reader *leveler); /* NULL-safe */
/* Reads one row into sinogram[view][column]. */
qb_status qb__roll_reader_row(qb__roll_reader *leveler, size_t row, float *sinogram);
