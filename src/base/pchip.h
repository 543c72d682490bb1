/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

/* Monotonic cubic interpolation with the slopes of Fritsch and Butland (SIAM J. Sci. Stat. Comput. 5, 300, 1984).
 * x[count] is ascending; two equal x make a step, where one curve ends and the next begins. Beyond the ends the first
 * and the last slope continue. */
double qb__pchip(const double *x, const double *y, size_t count, double at);
/* Slope at point i; at a step that of the curve which begins there. */
double qb__pchip_slope(const double *x, const double *y, size_t count, size_t i);
