/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_SIGNED_COUNTS_H
#define QB_IO_SIGNED_COUNTS_H

#include "io/scan/frame_look.h"
#include "io/plain/source.h"

/* Unsigned counts that a program stored as signed ones: the upper half of their range reads as negative numbers. */
typedef enum qb__wrapped { QB__WRAPPED_NONE, QB__WRAPPED_SOME, QB__WRAPPED_MANY } qb__wrapped;

/* Judges the counts of a series by its frames; *least: the smallest value found. */
qb__wrapped qb__counts_wrapped(const qb__frame *frames, size_t count, qb_dtype dtype, float *least);
/* Whether counts of that type may be so, and whether this one is too far below 0 for noise. */
bool qb__counts_may_wrap(qb_dtype dtype);
bool qb__count_wrapped(qb_dtype dtype, float count);
/* Reads signed integers of the source as unsigned ones of the same size; false where it holds none. */
bool qb__source_read_unsigned(qb__source *source);
/* Whether darks of that level show that a program took half of the range off all counts: these need no mending, as only differences
 * from the darks count. */
bool qb__counts_shifted(qb_dtype dtype, double dark);
/* That half: 32768 of int16. */
double qb__signed_offset(qb_dtype dtype);
/* "uint16" of int16. */
const char *qb__unsigned_name(qb_dtype dtype);

#endif
