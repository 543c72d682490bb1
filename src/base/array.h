/* SPDX-License-Identifier: MIT */
#pragma once

#include "quickbeam/array.h"

/* Check a caller's array: QB_BAD_ARGUMENT for an unknown dtype or missing data; `what` names the array in the
 * message. */
qb_status qb__array_check(const qb_array *array, const char *what);
/* The largest value of an integer type; INFINITY for a floating-point type. */
double qb__dtype_most(qb_dtype dtype);
/* The same, rounded to float in the way that counts are. */
float qb__dtype_top(qb_dtype dtype);
