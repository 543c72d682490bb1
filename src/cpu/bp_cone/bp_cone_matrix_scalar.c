/* SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>

#define WIDTH 1
typedef float vector;
typedef int32_t integers;
typedef bool lanes;
#define vector_set1(a) (a)
#define vector_add(a, b) ((a) + (b))
#define vector_mul(a, b) ((a) * (b))
#define vector_fma(a, b, c) ((a) * (b) + (c))
#define integers_set1(a) (a)
#define vector_load(from) (*(from))
#define vector_store(to, value) (*(to) = (value))
#define vector_load_some(from, on) (*(from))
#define vector_store_some(to, on, value) (*(to) = (value))
#define vector_place(x) ((float)(x))
#define vector_inverse(w) (1.0f / (w))
#define lanes_between(begin, end) true
#define cpu_gathers() false

#include "bp_cone_float.h"

INLINE vector sample(const ray *r, reading how, lanes on, vector u, vector v) {
    (void)how, (void)on;
    const float left = floorf(u), top = floorf(v), across = u - left, down = v - top;
    const ptrdiff_t stride = r->stride_cells;
    const ptrdiff_t cell = (ptrdiff_t)top * stride + (ptrdiff_t)left;
    const float *from = (const float *)((uintptr_t)r->origin + (uintptr_t)(4 * cell));
    float upper = from[0] + across * (from[1] - from[0]);
    float lower = from[stride] + across * (from[stride + 1] - from[stride]);
    return upper + down * (lower - upper);
}

const qb__bp_cone_variant qb__bp_cone_matrix_scalar = {.head = {.id = "bp_cone_matrix.scalar",
                                                                .operation = QB__BP_CONE,
                                                                .accuracy = QB_ACCURACY_HIGH,
                                                                .speed = 0.2,
                                                                .unusable = matrix_unusable},
                                                       PACK_FLOAT,
                                                       MATRIX_VARIANT};
