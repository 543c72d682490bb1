/* SPDX-License-Identifier: MIT */
#pragma once

#include "quickbeam/array.h"

/* Parameters of the conversion from float to the type of a file. The CPU (convert.c) and devices (kernels/convert/) use
 * the same numbers and write the same bits. Integers are (x - base) * scale, rounded half to even and limited to 0 ..
 * `top`; NaN becomes 0. float16 is limited to +-65504. */
typedef struct qb__conversion {
    qb_dtype dtype;
    float base, scale, top;
    float least, most; /* smallest and largest value that the type can hold */
} qb__conversion;

/* low .. high becomes the whole range of an integer type; other types ignore it. */
qb__conversion qb__conversion_of(qb_dtype dtype, double low, double high);
