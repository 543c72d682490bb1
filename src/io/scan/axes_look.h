/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_AXES_LOOK_H
#define QB_IO_AXES_LOOK_H

#include <stdbool.h>
#include <stddef.h>

#include "quickbeam/scan.h"

/* Whether an image of line integrals [lines][columns] looks like a sinogram whose columns are the views: each view holds the same
 * mass, so sums along views are equal, and sums along detector columns are not. NaN is left out. */
bool qb__looks_transposed(const float *image, size_t lines, size_t columns);
/* qb__looks_transposed for counts or transmissions: replaces them by -ln of their share of the largest one. */
bool qb__looks_transposed_as(float *image, size_t lines, size_t columns, qb_quantity quantity);

#endif
