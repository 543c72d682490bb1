/* SPDX-License-Identifier: MIT */
#ifndef QB_CENTER_CENTER_ROLL_H
#define QB_CENTER_CENTER_ROLL_H

#include "prep/rolled_rows.h"

/* Single rows of a level detector, of all views, out of a turned one's. */
typedef struct qb__roll_reader qb__roll_reader;

/* Borrows all. QB_NO_MEMORY. */
qb_status qb__roll_reader_create(qb_scan *scan, const qb__prepare *prepare, const qb__roll *roll, qb__pool *pool,
                                 qb__roll_reader **leveler);
void qb__roll_reader_destroy(qb__roll_reader *leveler); /* NULL-safe */
/* sinogram[view][column] */
qb_status qb__roll_reader_row(qb__roll_reader *leveler, size_t row, float *sinogram);

#endif
