/* SPDX-License-Identifier: MIT */
/* Part of bp_cone_circular.h: how a view is packed into profiles, and which problems are suitable. A block holds, for
 * columns -1 .. columns, one profile per half: LEAD zeros, the pixels j0 .. j1 of the half, zeros. */
#include "bp_cone_circle.h"
#include "bp_cone_variants.h"

#include <math.h>
#include <string.h>

typedef struct layout {
    qb__cone_circle circle;
    bool held[2];   /* the halves that have rows in the window */
    int64_t j0, j1; /* profile pixels in the block, of either half */
    size_t profile; /* floats */
    size_t column;  /* floats per column, of all halves in the block */
} layout;

/* Convert rows r0 <= row < r1 to profile pixels of half h. A mirrored profile begins at most one pixel before the plane
 * of symmetry. */
static bool held_pixels(const layout *l, unsigned h, qb__bp_cone_window w, int64_t *j0, int64_t *j1) {
    const int64_t r0 = (int64_t)w.r0, r1 = (int64_t)w.r1, row = l->circle.row[h];
    *j0 = l->circle.row_step[h] > 0 ? r0 - row : row - r1 + 1;
    *j1 = l->circle.row_step[h] > 0 ? r1 - row : row - r0 + 1;
    if (l->circle.mirrored && *j0 < -1) *j0 = -1;
    return *j0 < *j1;
}

static bool layout_of(const qb__bp_cone_problem *p, qb__bp_cone_window window, layout *l) {
    *l = (layout){.j0 = INT64_MAX, .j1 = INT64_MIN};
    if (!qb__cone_circle_of(p, &l->circle)) return false;
    unsigned held = 0;
    for (unsigned h = 0; h < l->circle.halves; h++) {
        int64_t j0, j1;
        l->held[h] = held_pixels(l, h, window, &j0, &j1);
        if (!l->held[h]) continue;
        held++;
        l->j0 = j0 < l->j0 ? j0 : l->j0;
        l->j1 = j1 > l->j1 ? j1 : l->j1;
    }
    if (held == 0) l->j0 = l->j1 = 0;
    l->profile = ((size_t)(l->j1 - l->j0) + LEAD + TAIL + 15) / 16 * 16;
    l->column = l->profile * held;
    return true;
}

static size_t layout_bytes(const qb__bp_cone_problem *p, const layout *l) {
    size_t bytes;
    if (__builtin_mul_overflow(p->columns + 2, l->column * sizeof(float), &bytes)) return 0;
    return bytes ? bytes : 64;
}

static size_t circular_view_bytes(const qb__bp_cone_problem *p, qb__bp_cone_window window) {
    layout l;
    return layout_of(p, window, &l) ? layout_bytes(p, &l) : 0;
}

/* Offsets within a block are 32 bits wide. */
static const char *circular_unusable(const struct qb__device_info *device, const void *of, const int *values) {
    const qb__bp_cone_problem *p = of;
    const bool huge = p->columns > INT32_MAX / 2 || p->rows > INT32_MAX / 2;
    qb__cone_circle circle;
    (void)device, (void)values;
    if (!huge && !qb__cone_circle_of(p, &circle))
        return "needs columns of the detector along the axis in every view, as of a circle";
    const size_t bytes = huge ? 0 : circular_view_bytes(p, (qb__bp_cone_window){0, p->rows});
    return bytes != 0 && bytes / sizeof(float) < INT32_MAX ? NULL : "a view is too large for 32-bit indices";
}

/* The time of a chunk hardly depends on the number of wanted voxels. */
static qb__layers circular_layers(const qb__bp_cone_problem *p) {
    qb__cone_circle c;
    qb__layers layers = {.thickness = CHUNK};
    if (qb__cone_circle_of(p, &c) && c.mirrored) {
        layers.above = (size_t)c.z[0];
        layers.below = (size_t)(c.z[1] + 1);
    }
    return layers;
}

/* Pack one row of pixels: pixel j of half h in every column. */
static void pack_row(const qb__bp_cone_problem *p, const layout *l, const float *row, float *profile) {
    for (size_t u = 0; u < p->columns; u++) profile[u * l->column] = row[u];
}

static void pack_half(const qb__bp_cone_problem *p, const layout *l, unsigned h, qb__bp_cone_window window,
                      const float *image, size_t row_stride, float *profiles) {
    enum { TOGETHER = 16 }; /* columns whose lines fit into the first-level cache */
    int64_t j0, j1;
    held_pixels(l, h, window, &j0, &j1);
    for (size_t u = 0; u < p->columns; u += TOGETHER) {
        qb__bp_cone_problem part = *p;
        part.columns = p->columns - u < TOGETHER ? p->columns - u : TOGETHER;
        float *column = profiles + (u + 1) * l->column + LEAD - l->j0;
        for (int64_t j = j0; j < j1; j++) {
            int64_t row = l->circle.row[h] + l->circle.row_step[h] * j - (int64_t)window.r0;
            pack_row(&part, l, image + (size_t)row * row_stride + u, column + j);
        }
    }
}

static void circular_pack(const qb__bp_cone_problem *p, size_t view, qb__bp_cone_window window, const float *image,
                          size_t row_stride, void *block) {
    (void)view;
    layout l;
    if (!layout_of(p, window, &l)) return;
    memset(block, 0, layout_bytes(p, &l));
    float *profiles = block;
    for (unsigned h = 0; h < 2; h++) {
        if (!l.held[h]) continue;
        pack_half(p, &l, h, window, image, row_stride, profiles);
        profiles += l.profile;
    }
}
