/* SPDX-License-Identifier: MIT */
/* qb bench backproject: white-noise sinograms, back-projection alone, checked against the oracle. */
#include <math.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/pool.h"
#include "base/random.h"
#include "base/sort.h"
#include "base/status.h"
#include "bench/bench_parts.h"
#include "cpu/bp_parallel/bp_parallel.h"
#include "cpu/features.h"
#include "geometry/parallel.h"
#include "planner/choose.h"

typedef struct bench {
    qb__bp_parallel_problem problem;
    const qb__bp_parallel_variant *variant;
    qb__pool *pool;
    unsigned slices, lanes; /* of a pass */
    float *rows;            /* [slice][column] of one view, the noise of view v seeded by v */
    char *packed;
    float *slab;
    char **scratch;
    float *largest; /* [slice] of the noise: 1 */
    size_t row_stride;
} bench;

static void view_rows(const bench *b, size_t view, float *rows) {
    qb__noise(rows, b->slices * b->row_stride, 1 + view * 7919);
}

static void pack_view(void *context, size_t view, int worker) {
    bench *b = context;
    float *rows = b->rows + (size_t)worker * b->slices * b->row_stride;
    view_rows(b, view, rows);
    b->variant->pack(&b->problem, view, b->lanes, b->slices, rows, b->row_stride,
                     b->packed + view * b->variant->view_bytes(&b->problem, b->lanes));
}

static void run_tile(void *context, size_t task, int worker) {
    bench *b = context;
    size_t tile = b->variant->tile, across = (b->problem.nx + tile - 1) / tile;
    size_t x0 = task % across * tile, y0 = task / across * tile;
    size_t x1 = x0 + tile < b->problem.nx ? x0 + tile : b->problem.nx;
    size_t y1 = y0 + tile < b->problem.ny ? y0 + tile : b->problem.ny;
    b->variant->run(&b->problem, b->packed, b->lanes, b->slices, x0, x1, y0, y1, b->slab, b->problem.nx * b->problem.ny,
                    b->problem.nx, b->scratch[worker]);
}

/* Relative L2 error at pixels along a diagonal of the first and last slices. */
static qb_status check(const bench *b, double *rel_l2) {
    enum { PIXELS = 64 };
    size_t views = b->problem.views, nx = b->problem.nx, ny = b->problem.ny;
    float *rows = NULL, *one = NULL;
    double error = 0, norm = 0;
    qb_status status;
    QB__TRY(qb__alloc(b->slices * b->row_stride, sizeof(float), &rows));
    QB__TRY(qb__alloc(views * b->row_stride, sizeof(float), &one));
    for (size_t s = 0; s<b->slices; s += b->slices> 1 ? b->slices - 1 : 1) {
        for (size_t v = 0; v < views; v++) {
            view_rows(b, v, rows);
            for (size_t c = 0; c < b->problem.columns; c++) one[v * b->row_stride + c] = rows[s * b->row_stride + c];
        }
        for (size_t i = 0; i < PIXELS; i++) {
            size_t x = i * (nx - 1) / (PIXELS - 1), y = (i * 37 + 11) % PIXELS * (ny - 1) / (PIXELS - 1);
            double want = qb__bp_parallel_reference(&b->problem, b->variant->head.interp, one, b->row_stride, x, y);
            double d = (double)b->slab[(s * ny + y) * nx + x] - want;
            error += d * d;
            norm += want * want;
        }
    }
    *rel_l2 = sqrt(error / norm);
out:
    qb__free(rows);
    qb__free(one);
    return status;
}

static qb_status allocate(bench *b) {
    int threads = qb__pool_threads(b->pool);
    qb_status status;
    b->row_stride = (b->problem.columns + 15) / 16 * 16;
    QB__TRY(qb__alloc((size_t)threads * b->slices * b->row_stride, sizeof(float), &b->rows));
    QB__TRY(qb__alloc(b->problem.views, b->variant->view_bytes(&b->problem, b->lanes), &b->packed));
    QB__TRY(qb__alloc(b->slices * b->problem.nx * b->problem.ny, sizeof(float), &b->slab));
    QB__TRY(qb__alloc((size_t)threads, sizeof *b->scratch, &b->scratch));
    for (int i = 0; i < threads; i++)
        QB__TRY(qb__alloc(b->variant->scratch_bytes(&b->problem, b->lanes), 1, &b->scratch[i]));
out:
    return status;
}

static void release(bench *b) {
    for (int i = 0; b->scratch && i < qb__pool_threads(b->pool); i++) qb__free(b->scratch[i]);
    qb__free(b->scratch);
    qb__free(b->rows);
    qb__free(b->largest);
    qb__free(b->packed);
    qb__free(b->slab);
    qb__pool_destroy(b->pool);
}

static void report(const bench *b, double seconds, double packing, double rel_l2, cJSON *result) {
    double updates = (double)b->problem.nx * (double)b->problem.ny * b->slices * (double)b->problem.views;
    int threads = qb__pool_threads(b->pool);
    cJSON_AddStringToObject(result, "kernel", b->variant->head.id);
    cJSON_AddNumberToObject(result, "slices", b->slices);
    cJSON_AddNumberToObject(result, "threads", threads);
    cJSON_AddNumberToObject(result, "seconds_median", seconds);
    cJSON_AddNumberToObject(result, "giga_updates_per_second", updates / seconds * 1e-9);
    cJSON_AddNumberToObject(result, "giga_updates_per_second_per_thread", updates / seconds * 1e-9 / threads);
    cJSON_AddNumberToObject(result, "packing_seconds", packing);
    cJSON_AddNumberToObject(result, "rel_l2", rel_l2);
    cJSON_AddStringToObject(result, "cpu", qb__cpu_name());
}

static qb_status bench_cpu(const qb_tool_bench_options *options, const qb_env *env, cJSON *result) {
    bench b = {0};
    double *coefficients = NULL, seconds[64], packing, rel_l2;
    int repeat = options->repeat > 64 ? 64 : options->repeat;
    const qb__trial_sizes sizes = qb__bench_sizes(options, 64);
    const size_t slices = sizes.nz;
    qb_status status;
    b.problem =
        (qb__bp_parallel_problem){.views = sizes.views, .columns = sizes.columns, .nx = sizes.nx, .ny = sizes.ny};
    QB__TRY(qb__half_turn(&b.problem, &coefficients));
    QB__TRY(qb__alloc(slices, sizeof *b.largest, &b.largest));
    for (size_t i = 0; i < slices; i++) b.largest[i] = 1.0f;
    b.problem.largest = b.largest;
    const qb__question question = {.operation = QB__BP_PARALLEL,
                                   .problem = &b.problem,
                                   .slices = slices,
                                   .interp = options->interp,
                                   .accuracy = options->accuracy,
                                   .id = options->kernel};
    qb__choice choice;
    QB__TRY(qb__choose(&question, &choice));
    b.variant = (const qb__bp_parallel_variant *)choice.variant;
    b.slices = slices < b.variant->head.most ? (unsigned)slices : b.variant->head.most;
    b.lanes = (b.slices + b.variant->head.step - 1) / b.variant->head.step * b.variant->head.step;
    QB__TRY(qb__pool_create(env ? env->threads : 0, &b.pool));
    QB__TRY(allocate(&b));
    packing = qb__now();
    qb__pool_for(b.pool, b.problem.views, pack_view, &b);
    packing = qb__now() - packing;
    size_t tile = b.variant->tile;
    size_t tiles = ((b.problem.nx + tile - 1) / tile) * ((b.problem.ny + tile - 1) / tile);
    for (int i = -1; i < repeat; i++) { /* the first run warms up */
        QB__TRY(qb__check_cancel(env));
        double from = qb__now();
        qb__pool_for(b.pool, tiles, run_tile, &b);
        if (i >= 0) seconds[i] = qb__now() - from;
    }
    QB__TRY(check(&b, &rel_l2));
    report(&b, qb__median(seconds, (size_t)repeat), packing, rel_l2, result);
out:
    release(&b);
    qb__free(coefficients);
    return status;
}

static qb_status on_device(const qb_tool_bench_options *options, qb__device *device, const qb_env *env, cJSON *result) {
    (void)env;
    const qb__trial_sizes sizes = qb__bench_sizes(options, 64);
    return qb__bench_backproject_device(options, QB__BP_PARALLEL, &sizes, device, result);
}

qb_status qb__bench_backproject(const qb_tool_bench_options *options, const qb_env *env, cJSON *result) {
    return qb__bench_either(options, on_device, bench_cpu, env, result);
}
