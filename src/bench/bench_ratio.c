/* SPDX-License-Identifier: MIT */
/* How many times as fast as scalar a variant is, on one thread: a tile in the middle of a parallel beam's
 * slices, a block in the middle of a cone's grid; few views, the two in turn. */
#include "bench/bench_ratio.h"

#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/sort.h"
#include "base/status.h"

enum { TRIES = 3, VIEWS = 32, EDGE = 64, MOST = 8 };

/* ---- parallel beam ---- */

typedef struct parallel_candidate {
    const qb__bp_parallel_variant *variant;
    unsigned slices, lanes;
    char *packed, *scratch;
    float *tile;
    double seconds[TRIES]; /* for a thousand million updates */
} parallel_candidate;

static const qb__bp_parallel_variant *scalar_like(const qb__bp_parallel_variant *variant) {
    size_t count;
    const qb__bp_parallel_variant *rows = qb__bp_parallel_variants(&count);
    for (size_t i = 0; i < count; i++)
        if (rows[i].head.features == 0 && rows[i].head.interp == variant->head.interp) return rows + i;
    return variant;
}

static qb_status prepare_parallel(parallel_candidate *c, const qb__bp_parallel_problem *p, unsigned slices) {
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

static double run_parallel(const parallel_candidate *c, const qb__bp_parallel_problem *p) {
    const size_t side = c->variant->tile, x0 = p->nx / 2 / side * side, y0 = p->ny / 2 / side * side;
    const size_t x1 = x0 + side < p->nx ? x0 + side : p->nx;
    const size_t y1 = y0 + side < p->ny ? y0 + side : p->ny;
    const uintptr_t origin = (uintptr_t)c->tile - (y0 * side + x0) * sizeof *c->tile;
    const double from = qb__now();
    c->variant->run(p, c->packed, c->lanes, c->slices, x0, x1, y0, y1, (float *)origin, side * side, side, c->scratch);
    const double seconds = qb__now() - from;
    return 1e9 * seconds / ((double)((x1 - x0) * (y1 - y0)) * c->slices * (double)p->views);
}

qb_status qb__bench_parallel_ratio(const qb__bp_parallel_problem *problem, const qb__bp_parallel_variant *variant,
                                   unsigned slices, double *ratio) {
    parallel_candidate both[2] = {{.variant = variant}, {.variant = scalar_like(variant)}};
    qb__bp_parallel_problem few = *problem;
    qb_status status;
    if (few.views > VIEWS) few.views = VIEWS;
    for (int i = 0; i < 2; i++) QB__TRY(prepare_parallel(&both[i], &few, slices));
    for (int t = -1; t < TRIES; t++) /* the first round warms up */
        for (int i = 0; i < 2; i++) {
            const double seconds = run_parallel(&both[i], &few);
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

/* ---- cone beam ---- */

static size_t family(const char *id) { return (size_t)(strchr(id, '.') - id); }

const qb__bp_cone_variant *qb__bench_cone_scalar(const qb__bp_cone_variant *variant) {
    size_t count;
    const qb__bp_cone_variant *rows = qb__bp_cone_variants(&count);
    for (size_t i = 0; i < count; i++)
        if (rows[i].head.features == 0 && family(rows[i].head.id) == family(variant->head.id) &&
            strncmp(rows[i].head.id, variant->head.id, family(variant->head.id)) == 0)
            return rows + i;
    return variant;
}

typedef struct cone_candidate {
    const qb__bp_cone_variant *variant;
    char *packed, *scratch;
    double seconds[TRIES];
} cone_candidate;

static qb_status prepare_cone(cone_candidate *c, const qb__bp_cone_problem *p, const float *images) {
    const qb__bp_cone_window whole = {0, p->rows};
    const size_t bytes = c->variant->view_bytes(p, whole);
    qb_status status = qb__alloc(p->views, bytes, &c->packed);
    if (status == QB_OK) status = qb__alloc(1, c->variant->scratch_bytes(p), &c->scratch);
    for (size_t v = 0; v < p->views && status == QB_OK; v++)
        c->variant->pack(p, v, whole, images + v * p->rows * p->columns, p->columns, c->packed + v * bytes);
    return status;
}

static double run_cone(const cone_candidate *c, const qb__bp_cone_problem *p, qb__bp_cone_brick b, float *block) {
    const size_t ny = b.y1 - b.y0, nx = b.x1 - b.x0;
    const uintptr_t before = ((b.z0 * ny + b.y0) * nx + b.x0) * sizeof *block;
    const double from = qb__now();
    c->variant->run(p, 0, p->views, c->packed, (qb__bp_cone_window){0, p->rows}, b,
                    (float *)((uintptr_t)block - before), ny * nx, nx, false, c->scratch);
    return qb__now() - from;
}

static void middle(size_t n, size_t *from, size_t *to) {
    const size_t edge = n < EDGE ? n : EDGE;
    *from = (n - edge) / 2 / EDGE * EDGE; /* blocks of kernels begin there */
    *to = *from + edge;
}

qb_status qb__bench_cone_block(const qb__bp_cone_problem *problem, const float *images,
                               const qb__bp_cone_variant *const *variants, size_t count, double *seconds) {
    cone_candidate all[MOST] = {0};
    qb__bp_cone_brick b = {.z0 = 0, .z1 = problem->nz};
    float *block = NULL;
    qb_status status;
    middle(problem->nx, &b.x0, &b.x1);
    middle(problem->ny, &b.y0, &b.y1);
    count = count < MOST ? count : MOST;
    QB__TRY(qb__alloc((b.x1 - b.x0) * (b.y1 - b.y0) * problem->nz, sizeof *block, &block));
    for (size_t i = 0; i < count; i++) {
        all[i].variant = variants[i];
        QB__TRY(prepare_cone(&all[i], problem, images));
    }
    for (int t = 0; t < TRIES; t++)
        for (size_t i = 0; i < count; i++) all[i].seconds[t] = run_cone(&all[i], problem, b, block);
    for (size_t i = 0; i < count; i++) seconds[i] = qb__median(all[i].seconds, TRIES);
out:
    for (size_t i = 0; i < count; i++) {
        qb__free(all[i].packed);
        qb__free(all[i].scratch);
    }
    qb__free(block);
    return status;
}
