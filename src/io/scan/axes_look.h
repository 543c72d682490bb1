/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "quickbeam/scan.h"

/* True if an image of line integrals [lines][columns] looks like a sinogram whose columns are the views: each view has
 * the same mass, so the sums of views are equal, and the sums of detector columns are not. NaN is ignored. */
bool qb__looks_transposed(const float *image, size_t lines, size_t columns);
/* qb__looks_transposed for counts or transmissions: replaces them by -ln of their ratio to the largest one. */
bool qb__looks_transposed_as(float *image, size_t lines, size_t columns, qb_quantity quantity);
