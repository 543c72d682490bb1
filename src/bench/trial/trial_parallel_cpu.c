/* SPDX-License-Identifier: MIT */
/* Trials of a parallel beam on the CPU: the threads of a pool compute all tiles; one thread computes a few tiles,
 * spread over the slice. */
#include <math.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/status.h"
#include "bench/trial/trial_kind.h"
#include "cpu/bp_parallel/bp_parallel.h"
#include "geometry/parallel.h"

enum {
    NOISE = 8,    /* number of different views: view v shows noise v % NOISE */
    FEW = 4,      /* tiles along x and y, for one thread */
    SAMPLES = 128 /* pixels that are checked */
};

typedef struct cpu_trial {
    qb__trial base;
    qb__bp_parallel_problem problem;
    double *coefficients;
    float *largest, *noise; /* noise[NOISE][slices][stride] */
    size_t stride;
    float *slab; /* [slices][ny][nx] */
    /* used during an attempt */
    unsigned lanes;
    size_t across[2]; /* tiles along x and y */
} cpu_trial;

typedef struct tile {
    size_t x0, x1, y0, y1;
} tile;

static const qb__bp_parallel_variant *variant_of(const cpu_trial *t) {
    return (const qb__bp_parallel_variant *)t->base.row;
}

static const float *rows_of(const cpu_trial *t, size_t view) {
    return t->noise + view % NOISE * t->base.all * t->stride;
}

/* ---- the problem ---- */

static qb_status make(qb__trial *trial, const qb__trial_sizes *s) {
    cpu_trial *t = (cpu_trial *)trial;
    trial->all = (unsigned)s->nz;
    t->stride = qb__round_up(s->columns, 16);
    t->problem = (qb__bp_parallel_problem){.views = s->views, .columns = s->columns, .nx = s->nx, .ny = s->ny};
    QB__OR_RETURN(qb__half_turn(&t->problem, &t->coefficients));
    QB__OR_RETURN(qb__alloc(s->nz, sizeof *t->largest, &t->largest));
    QB__OR_RETURN(qb__alloc(NOISE * s->nz * t->stride, sizeof *t->noise, &t->noise));
    QB__OR_RETURN(qb__alloc(s->nz * s->nx * s->ny, sizeof *t->slab, &t->slab));
    qb__noise(t->noise, NOISE * s->nz * t->stride, 20260);
    for (size_t i = 0; i < s->nz; i++) t->largest[i] = 1;
    t->problem.largest = t->largest;
    return QB_OK;
}

static void release(qb__trial *trial) {
    cpu_trial *t = (cpu_trial *)trial;
    QB__FREE(t->coefficients, t->largest, t->noise, t->slab);
}

/* ---- one attempt ---- */

static qb_status open_attempt(qb__trial *trial, qb__trial_result *result) {
    cpu_trial *t = (cpu_trial *)trial;
    const qb__bp_parallel_variant *variant = variant_of(t);
    const size_t n[2] = {t->problem.nx, t->problem.ny}, most = trial->pool ? SIZE_MAX : FEW;
    t->lanes = qb__variant_padded(trial->row, trial->slices);
    for (int i = 0; i < 2; i++) t->across[i] = qb__smaller(qb__ceil_div(n[i], variant->tile), most);
    trial->scratch_bytes = variant->scratch_bytes(&t->problem, t->lanes);
    result->block = t->problem.views;
    result->packed_bytes = t->problem.views * variant->view_bytes(&t->problem, t->lanes);
    for (size_t i = 0; trial->pool && i < trial->slices * n[0] * n[1]; i++) t->slab[i] = NAN;
    return QB_OK;
}

static void pack_view(void *context, size_t view, int worker) {
    const cpu_trial *t = context;
    (void)worker;
    variant_of(t)->pack(&t->problem, view, t->lanes, t->base.slices, rows_of(t, view), t->stride,
                        t->base.views_packed + view * variant_of(t)->view_bytes(&t->problem, t->lanes));
}

static qb_status pack(qb__trial *trial) {
    qb__trial_each(trial, trial->views, pack_view);
    return QB_OK;
}

static size_t tiles(const cpu_trial *t) { return t->across[0] * t->across[1]; }

/* Tile i of the checked ones, evenly spread over the image. */
static tile tile_at(const cpu_trial *t, size_t i) {
    const size_t side = variant_of(t)->tile, n[2] = {t->problem.nx, t->problem.ny};
    const size_t at[2] = {i % t->across[0], i / t->across[0]};
    size_t from[2], to[2];
    for (int k = 0; k < 2; k++) {
        from[k] = at[k] * qb__ceil_div(n[k], side) / t->across[k] * side;
        to[k] = qb__smaller(from[k] + side, n[k]);
    }
    return (tile){from[0], to[0], from[1], to[1]};
}

static void run_tile(void *context, size_t task, int worker) {
    const cpu_trial *t = context;
    const tile k = tile_at(t, task);
    variant_of(t)->run(&t->problem, t->base.views_packed, t->lanes, t->base.slices, k.x0, k.x1, k.y0, k.y1, t->slab,
                       t->problem.nx * t->problem.ny, t->problem.nx,
                       t->base.scratch + (size_t)worker * t->base.scratch_bytes);
}

static qb_status pass(qb__trial *trial) {
    qb__trial_each(trial, tiles((const cpu_trial *)trial), run_tile);
    return QB_OK;
}

/* Checks one pixel of a tile in slice after slice. */
static qb_status error_of(qb__trial *trial, double *rel_l2) {
    const cpu_trial *t = (const cpu_trial *)trial;
    const qb__bp_parallel_problem *p = &t->problem;
    float *rows;
    double error = 0, norm = 0;
    qb_status status = qb__alloc(p->views * t->stride, sizeof *rows, &rows);
    for (size_t s = 0; status == QB_OK && s<trial->slices; s += trial->slices> 1 ? trial->slices - 1 : 1) {
        for (size_t v = 0; v < p->views; v++)
            for (size_t c = 0; c < p->columns; c++) rows[v * t->stride + c] = rows_of(t, v)[s * t->stride + c];
        for (size_t n = 0; n < SAMPLES; n++) {
            const tile k = tile_at(t, n * 7919 % tiles(t));
            const size_t x = k.x0 + n * 7 % (k.x1 - k.x0), y = k.y0 + n * 13 % (k.y1 - k.y0);
            const double want = qb__bp_parallel_reference(p, trial->row->interp, rows, t->stride, x, y);
            const double d = (double)t->slab[(s * p->ny + y) * p->nx + x] - want;
            error += d * d;
            norm += want * want;
        }
    }
    qb__free(rows);
    *rel_l2 = sqrt(error / norm);
    return status;
}

static double updates(const qb__trial *trial) {
    const cpu_trial *t = (const cpu_trial *)trial;
    double pixels = 0;
    for (size_t i = 0; i < tiles(t); i++) {
        const tile k = tile_at(t, i);
        pixels += (double)((k.x1 - k.x0) * (k.y1 - k.y0));
    }
    return pixels * (double)t->problem.views * trial->slices;
}

const qb__trial_kind qb__trial_parallel_cpu = {.operation = QB__BP_PARALLEL,
                                               .bytes = sizeof(cpu_trial),
                                               .problem = offsetof(cpu_trial, problem),
                                               .make = make,
                                               .release = release,
                                               .open = open_attempt,
                                               .pack = pack,
                                               .pass = pass,
                                               .error = error_of,
                                               .updates = updates};
