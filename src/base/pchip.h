/* SPDX-License-Identifier: MIT */
#ifndef QB_BASE_PCHIP_H
#define QB_BASE_PCHIP_H

#include <stddef.h>

/* A curve through points that rises and falls only where they do: cubic pieces with the slopes of Fritsch and Butland (SIAM J. Sci.
 * Stat. Comput. 5, 300, 1984). x[count] rises; two equal x are a step: there one curve ends and the next begins. Beyond the ends the
 * first and the last slope go on. */
double qb__pchip(const double *x, const double *y, size_t count, double at);
/* Its slope at point i; at a step that of the curve which begins there. */
double qb__pchip_slope(const double *x, const double *y, size_t count, size_t i);

#endif
