/* SPDX-License-Identifier: MIT */
#pragma once

#include "io/scan/frame_look.h"
#include "io/plain/source.h"

/* Unsigned counts that a program stored as signed ones: the upper half of their range is read as negative numbers. */
typedef enum qb__wrapped { QB__WRAPPED_NONE, QB__WRAPPED_SOME, QB__WRAPPED_MANY } qb__wrapped;

/* Judge the counts of a series by its frames; *least: the smallest value. */
qb__wrapped qb__counts_wrapped(const qb__frame *frames, size_t count, qb_dtype dtype, float *least);
/* True if counts of that type can have this fault, and if this value is too negative for noise. */
bool qb__counts_may_wrap(qb_dtype dtype);
bool qb__count_wrapped(qb_dtype dtype, float count);
/* Read signed integers of the source as unsigned ones of the same size; false if it has none. */
bool qb__source_read_unsigned(qb__source *source);
/* True if darks of that level show that a program subtracted half of the range from all counts: then nothing needs to
 * be corrected, because only differences from the darks count. */
bool qb__counts_shifted(qb_dtype dtype, double dark);
/* That half: 32768 for int16. */
double qb__signed_offset(qb_dtype dtype);
/* "uint16" for int16. */
const char *qb__unsigned_name(qb_dtype dtype);
