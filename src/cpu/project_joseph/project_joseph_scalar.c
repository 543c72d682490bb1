/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WIDTH 1
#define MOST_IN_TURN 0
typedef float vector;
typedef int32_t integers;
typedef bool lanes;
#define vector_set1(a) ((float)(a))
#define vector_place() 0.0f
#define vector_add(a, b) ((a) + (b))
#define vector_sub(a, b) ((a) - (b))
#define vector_mul(a, b) ((a) * (b))
#define vector_fma(a, b, c) ((a) * (b) + (c))
#define vector_max(a, b) ((a) > (b) ? (a) : (b))
#define vector_abs fabsf
#define vector_floor floorf
#define vector_load(from) (*(from))
#define vector_store(to, value) (*(to) = (value))
#define vector_load_some(from, on) ((void)(on), *(from))
#define vector_store_some(to, on, value) ((void)(on), *(to) = (value))
#define vector_chosen(on, value) ((on) ? (value) : 0.0f)
#define integers_set1(a) ((int32_t)(a))
#define integers_of(v) ((int32_t)(v))
#define integers_add(a, b) ((a) + (b))
#define integers_mul(a, b) ((a) * (b))
#define integers_store(to, value) (*(to) = (value))
#define lanes_first(n) ((n) > 0)
#define lanes_of(bits) ((bits) != 0)
#define lanes_bits(on) ((unsigned)(on))
#define lanes_any(on) (on)
#define lanes_inside(on, v, limit) ((on) && (v) > -1 && (v) < (limit))
#define lanes_equal(on, v, value) ((on) && (v) == (value))
#define lanes_without(on, same) ((on) && !(same))
#define window(p, i) ((p)[i])
#define window_two(p, i, a, b) (*(a) = (p)[i], *(b) = (p)[(i) + 1])
#define gather_two(p, i, on, a, b) ((void)(on), window_two(p, i, a, b))

static inline void gather_apart(const float *p, size_t apart, integers i, lanes on, vector *a, vector *b) {
    *a = on ? p[i] : 0;
    *b = on ? p[(size_t)i + apart] : 0;
}

#include "project_joseph_body.h"

const qb__joseph_variant qb__project_joseph_scalar = JOSEPH_VARIANT("project_joseph.scalar", 0, 0.15);
