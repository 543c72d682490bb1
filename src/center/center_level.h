/* SPDX-License-Identifier: MIT */
#ifndef QB_CENTER_CENTER_LEVEL_H
#define QB_CENTER_CENTER_LEVEL_H

#include "prep/leveled.h"

/* Single rows of a level detector, of all views, out of a turned one's. */
typedef struct qb__leveler qb__leveler;

/* Borrows all. QB_NO_MEMORY. */
qb_status qb__leveler_create(qb_scan *scan, const qb__prepare *prepare, const qb__level *level, qb__pool *pool,
                             qb__leveler **leveler);
void qb__leveler_destroy(qb__leveler *leveler); /* NULL-safe */
/* sinogram[view][column] */
qb_status qb__leveler_row(qb__leveler *leveler, size_t row, float *sinogram);

#endif
