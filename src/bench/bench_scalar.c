/* SPDX-License-Identifier: MIT */
/* How much faster than scalar a parallel-beam variant is: one tile in the middle, few views, in
 * turn. */
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/sort.h"
#include "base/status.h"
#include "bench/bench_backproject.h"

enum { TRIES = 3, VIEWS = 32 };

typedef struct contestant {
    const qb__bp_parallel_variant *variant;
    unsigned slices, lanes;
    char *packed, *scratch;
    float *tile;
    double seconds[TRIES]; /* for a thousand million updates */
} contestant;

static const qb__bp_parallel_variant *scalar_like(const qb__bp_parallel_variant *variant) {
    size_t count;
    const qb__bp_parallel_variant *rows = qb__bp_parallel_variants(&count);
    for (size_t i = 0; i < count; i++)
        if (rows[i].head.features == 0 && rows[i].head.interp == variant->head.interp)
            return rows + i;
    return variant;
}

static qb_status prepare(contestant *c, const qb__bp_parallel_problem *p, unsigned slices) {
    const qb__bp_parallel_variant *v = c->variant;
    const size_t stride = (p->columns + 15) / 16 * 16, side = v->tile;
    float *rows = NULL;
    qb_status status;
    c->slices = slices < v->head.most ? slices : v->head.most;
    c->lanes = (c->slices + v->head.step - 1) / v->head.step * v->head.step;
    const size_t bytes = v->view_bytes(p, c->lanes);
    QB__TRY(qb__alloc(p->views, bytes, &c->packed));
    QB__TRY(qb__alloc(1, v->scratch_bytes(p, c->lanes), &c->scratch));
    QB__TRY(qb__alloc(c->slices * side * side, sizeof *c->tile, &c->tile));
    QB__TRY(qb__alloc(c->slices * stride, sizeof *rows, &rows));
    for (size_t i = 0; i < p->views; i++) {
        qb__noise(rows, c->slices * stride, i);
        v->pack(p, i, c->lanes, c->slices, rows, stride, c->packed + i * bytes);
    }
out:
    qb__free(rows);
    return status;
}

static double run(const contestant *c, const qb__bp_parallel_problem *p) {
    const size_t side = c->variant->tile, x0 = p->nx / 2 / side * side,
                 y0 = p->ny / 2 / side * side;
    const size_t x1 = x0 + side < p->nx ? x0 + side : p->nx;
    const size_t y1 = y0 + side < p->ny ? y0 + side : p->ny;
    const uintptr_t origin = (uintptr_t)c->tile - (y0 * side + x0) * sizeof *c->tile;
    const double from = qb__now();
    c->variant->run(p, c->packed, c->lanes, c->slices, x0, x1, y0, y1, (float *)origin, side * side,
                    side, c->scratch);
    const double seconds = qb__now() - from;
    return 1e9 * seconds / ((double)((x1 - x0) * (y1 - y0)) * c->slices * (double)p->views);
}

qb_status qb__bench_parallel_ratio(const qb__bp_parallel_problem *problem,
                                   const qb__bp_parallel_variant *variant, unsigned slices,
                                   double *ratio) {
    contestant both[2] = {{.variant = variant}, {.variant = scalar_like(variant)}};
    qb__bp_parallel_problem few = *problem;
    qb_status status;
    if (few.views > VIEWS) few.views = VIEWS;
    for (int i = 0; i < 2; i++) QB__TRY(prepare(&both[i], &few, slices));
    for (int t = -1; t < TRIES; t++) /* the first round warms up */
        for (int i = 0; i < 2; i++) {
            const double seconds = run(&both[i], &few);
            if (t >= 0) both[i].seconds[t] = seconds;
        }
    *ratio = qb__median(both[1].seconds, TRIES) / qb__median(both[0].seconds, TRIES);
out:
    for (int i = 0; i < 2; i++) {
        qb__free(both[i].packed);
        qb__free(both[i].scratch);
        qb__free(both[i].tile);
    }
    return status;
}
