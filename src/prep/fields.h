/* SPDX-License-Identifier: MIT */
#ifndef QB_PREP_FIELDS_H
#define QB_PREP_FIELDS_H

#include "base/comm.h"
#include "prep/step.h"

/* fields->dark and ->gain of the rows that fields names, from the scan's mean flats and darks; without flats the gain is 1.
 * *dead: pixels whose flat is. One field is all that is held beside them. On failure too they are
 * the caller's to free. */
qb_status qb__fields_load(qb_scan *scan, qb__fields *fields, uint64_t *dead);
/* A field of that value in all rows, where there is none yet. */
qb_status qb__fields_make(const qb__fields *fields, float value, float **field);
/* Of a field [row][column] where all ranks have all rows: what each has made of its own ones goes to the others. */
qb_status qb__fields_share(const qb__fields *fields, qb__comm *comm, float *field);

#endif
