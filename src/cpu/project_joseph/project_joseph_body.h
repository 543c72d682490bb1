/* SPDX-License-Identifier: MIT */
/* project_joseph in vectors of WIDTH rows of a detector column. The including file supplies
 *
 *   WIDTH, vector, integers, lanes        single precision, 32-bit integers, lane masks
 *   MOST_IN_TURN                          rows up to which take_in_turn() is faster than windows: 0, 3 or 4
 *   vector_...(), integers_...()          arithmetic; vector_place() is 0, 1, 2, ...
 *   lanes_first(n), lanes_inside()        the first n lanes; those with -1 < v < limit
 *   window(p, i), window_two(p, i, &, &)  p[i], and p[i + 1], for 0 <= i and i + 1 < 2 WIDTH
 *   gather_two(p, i, on, &, &)            for any i; inactive lanes are 0
 *
 * The memory of a window of 2 WIDTH + 1 floats must be readable, with any contents. */
#pragma once

#include <math.h>
#include <string.h>

#include "project_joseph_rows.h"

#define INLINE static inline __attribute__((always_inline))

#include "project_joseph_vertical.h"
#include "project_joseph_general.h"
#include "project_joseph_leaning.h"
#include "project_joseph_flat.h"

/* ---- both directions ---- */

/* Columns processed at a time. */
enum { BLOCK = 32 };

typedef struct block {
    vertical vertical[BLOCK];
    const qb__fan *general[BLOCK];
    float *rays[BLOCK]; /* values of the general rays */
    size_t verticals, generals;
} block;

static void sort_fans(const qb__fan *fans, size_t count, size_t r0, size_t r1, float *lines, size_t stride, block *b) {
    b->verticals = b->generals = 0;
    for (size_t i = 0; i < count; i++) {
        if (vertical_of(&fans[i], r0, r1, &b->vertical[b->verticals])) {
            b->vertical[b->verticals++].rays = lines + i * stride;
        } else {
            b->general[b->generals] = &fans[i];
            b->rays[b->generals++] = lines + i * stride;
        }
    }
}

static void joseph_forward(const qb__joseph_brick *brick, const qb__fan *fans, size_t count, size_t r0, size_t r1,
                           float *sums, size_t stride, void *scratch) {
    memset(scratch, 0, (LINE + 2 * PAD) * sizeof(float));
    for (size_t i = 0; i < count && r0 < r1; i += BLOCK) {
        block b;
        sort_fans(fans + i, count - i < BLOCK ? count - i : BLOCK, r0, r1, sums + i * stride, stride, &b);
        for (int axis = 0; axis < 2; axis++) vertical_forward(brick, b.vertical, b.verticals, axis, r0, r1, scratch);
        for (size_t j = 0; j < b.generals; j++) general_forward(brick, b.general[j], r0, r1, b.rays[j]);
    }
}

static void joseph_adjoint(const qb__joseph_brick *brick, const qb__fan *fans, size_t count, size_t r0, size_t r1,
                           const float *values, size_t stride, void *scratch) {
    memset(scratch, 0, (LINE + 2 * PAD) * sizeof(float));
    for (size_t i = 0; i < count && r0 < r1; i += BLOCK) {
        block b;
        sort_fans(fans + i, count - i < BLOCK ? count - i : BLOCK, r0, r1, (float *)values + i * stride, stride, &b);
        copy_columns(b.vertical, b.verticals, r0, r1, scratch);
        for (int axis = 0; axis < 2; axis++) vertical_adjoint(brick, b.vertical, b.verticals, axis, r0, r1, scratch);
        for (size_t j = 0; j < b.generals; j++)
            if (!leaning_adjoint(brick, b.general[j], r0, r1, b.rays[j], scratch))
                general_adjoint(brick, b.general[j], r0, r1, b.rays[j]);
    }
}

/* A line between zeros; a block's columns between zeros. */
static size_t joseph_scratch_bytes(size_t rows) { return (LINE + 3 * PAD + BLOCK * (rows + PAD) + 15) / 16 * 64; }

#define JOSEPH_VARIANT(name, needed, listed_speed)                                                                     \
    {                                                                                                                  \
        .head = {.id = name,                                                                                           \
                 .operation = QB__PROJECT_JOSEPH,                                                                      \
                 .features = needed,                                                                                   \
                 .accuracy = QB_ACCURACY_HIGH,                                                                         \
                 .speed = listed_speed},                                                                               \
        .flat_forward = flat_forward, .flat_adjoint = flat_adjoint, .flat_scratch_bytes = flat_scratch_bytes,          \
        .forward = joseph_forward, .adjoint = joseph_adjoint, .scratch_bytes = joseph_scratch_bytes,                   \
    }
