/* SPDX-License-Identifier: MIT */
#ifndef QB_BASE_ARRAY_H
#define QB_BASE_ARRAY_H

#include "quickbeam/array.h"

/* QB_BAD_ARGUMENT where a caller's array cannot be one: a dtype that there is not, no data where there should be
 * some; `what` names it. */
qb_status qb__array_check(const qb_array *array, const char *what);
/* The largest number of an integer type; INFINITY of a floating-point type. */
double qb__dtype_most(qb_dtype dtype);
/* The same, rounded to a float as the counts are. */
float qb__dtype_top(qb_dtype dtype);

#endif
