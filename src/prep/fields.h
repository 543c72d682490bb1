/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/comm.h"
#include "prep/step.h"

/* fields->dark and ->gain of the rows of `fields`, from the scan's mean flats and darks; without flats the gain is 1.
 * *dead: pixels with a dead flat. Only one other field is in memory at a time. The caller frees them, also after a
 * failure. */
qb_status qb__fields_load(qb_scan *scan, qb__fields *fields, uint64_t *dead);
/* A field with that value in all rows, unless it exists. */
qb_status qb__fields_make(const qb__fields *fields, float value, float **field);
/* If all ranks have all rows of a field [row][column]: each rank's part is sent to the others. */
qb_status qb__fields_share(const qb__fields *fields, qb__comm *comm, float *field);
