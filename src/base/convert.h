/* SPDX-License-Identifier: MIT */
#ifndef QB_BASE_CONVERT_H
#define QB_BASE_CONVERT_H

#include "quickbeam/array.h"

/* What turning floats into a file's type takes, in the numbers that it is done with: the same on the CPU
 * (convert.c) and on devices (kernels/convert/), so that both write the same bits. Integers are
 * (x - base) * scale, rounded half to even, from 0 to `top`; NaN becomes 0. Halves end at +-65504. */
typedef struct qb__conversion {
    qb_dtype dtype;
    float base, scale, top;
    float least, most; /* what is not between them, both counted in, the type cannot hold */
} qb__conversion;

/* low .. high become the whole range of an integer type; other types take no notice of them. */
qb__conversion qb__conversion_of(qb_dtype dtype, double low, double high);

#endif
