/* SPDX-License-Identifier: MIT */
#include "bench/bench_cone.h"

#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/sort.h"
#include "base/status.h"

enum { TRIES = 3, EDGE = 64, MOST = 8 };

static size_t family(const char *id) {
    return (size_t)(strchr(id, '.') - id);
}

const qb__bp_cone_variant *qb__bench_cone_scalar(const qb__bp_cone_variant *variant) {
    size_t count;
    const qb__bp_cone_variant *rows = qb__bp_cone_variants(&count);
    for (size_t i = 0; i < count; i++)
        if (rows[i].head.features == 0 && family(rows[i].head.id) == family(variant->head.id) &&
            strncmp(rows[i].head.id, variant->head.id, family(variant->head.id)) == 0)
            return rows + i;
    return variant;
}

typedef struct contestant {
    const qb__bp_cone_variant *variant;
    char *packed, *scratch;
    double seconds[TRIES];
} contestant;

static qb_status prepare(contestant *c, const qb__bp_cone_problem *p, const float *images) {
    const qb__bp_cone_window whole = {0, p->rows};
    const size_t bytes = c->variant->view_bytes(p, whole);
    qb_status status = qb__alloc(p->views, bytes, &c->packed);
    if (status == QB_OK) status = qb__alloc(1, c->variant->scratch_bytes(p), &c->scratch);
    for (size_t v = 0; v < p->views && status == QB_OK; v++)
        c->variant->pack(p, v, whole, images + v * p->rows * p->columns, p->columns,
                         c->packed + v * bytes);
    return status;
}

static double run(const contestant *c, const qb__bp_cone_problem *p, qb__bp_cone_brick b,
                  float *block) {
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
                               const qb__bp_cone_variant *const *variants, size_t count,
                               double *seconds) {
    contestant all[MOST] = {0};
    qb__bp_cone_brick b = {.z0 = 0, .z1 = problem->nz};
    float *block = NULL;
    qb_status status;
    middle(problem->nx, &b.x0, &b.x1);
    middle(problem->ny, &b.y0, &b.y1);
    count = count < MOST ? count : MOST;
    QB__TRY(qb__alloc((b.x1 - b.x0) * (b.y1 - b.y0) * problem->nz, sizeof *block, &block));
    for (size_t i = 0; i < count; i++) {
        all[i].variant = variants[i];
        QB__TRY(prepare(&all[i], problem, images));
    }
    for (int t = 0; t < TRIES; t++)
        for (size_t i = 0; i < count; i++) all[i].seconds[t] = run(&all[i], problem, b, block);
    for (size_t i = 0; i < count; i++) seconds[i] = qb__median(all[i].seconds, TRIES);
out:
    for (size_t i = 0; i < count; i++) {
        qb__free(all[i].packed);
        qb__free(all[i].scratch);
    }
    qb__free(block);
    return status;
}
