/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdint.h>

#define WIDTH 1
typedef float vector;
typedef int32_t places;
#define vector_load(from) (*(from))
#define vector_store(to, value) (*(to) = (value))
#define vector_set1(a) (a)
#define vector_add(a, b) ((a) + (b))
#define vector_sub(a, b) ((a) - (b))
#define vector_mul(a, b) ((a) * (b))
#define vector_fma(a, b, c) ((a) * (b) + (c))
#define vector_lanes() 0.0f

static inline places split(vector r, vector *rest) {
    float below = floorf(r);
    *rest = r - below;
    return (places)below;
}

static inline void taps(const float *cells, places at, vector *below, vector *above) {
    *below = cells[at];
    *above = cells[at + 1];
}

#include "bp_cone_circular.h"

const qb__bp_cone_variant qb__bp_cone_circular_scalar = CIRCULAR_VARIANT("bp_cone_circular.scalar", 0, 0.35);
