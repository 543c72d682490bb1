/* SPDX-License-Identifier: MIT */
/* qb bench backproject --geometry cone: white-noise projections of a full circle, back-projection
 * alone, by the fastest kernel for a circle and the fastest for any matrix that keep the accuracy,
 * in turn; each checked against the oracle. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/pool.h"
#include "base/random.h"
#include "base/sort.h"
#include "base/status.h"
#include "bench/bench_parts.h"
#include "bench/trial/trial.h"
#include "cpu/bp_cone/bp_cone.h"
#include "cpu/features.h"
#include "planner/choose.h"

enum { IMAGES = 4, KERNELS = 2, REPEAT_MAX = 64, SAMPLES = 1000 };

typedef struct candidate {
    const qb__bp_cone_variant *variant;
    char *packed;
    double seconds[REPEAT_MAX], packing, rel_l2;
} candidate;

typedef struct bench {
    qb__bp_cone_problem problem;
    double (*matrix)[12];
    float *largest;
    float *images; /* [IMAGES][row][column]; view v shows number v % IMAGES */
    float *volume;
    qb__pool *pool;
    candidate all[KERNELS];
    size_t count;
    candidate *now; /* whom tasks work for */
    char *scratch;  /* [thread] */
    size_t scratch_bytes, bricks[3];
} bench;

static const float *image_of(const bench *b, size_t view) {
    return b->images + view % IMAGES * b->problem.rows * b->problem.columns;
}

static qb__bp_cone_window whole(const bench *b) { return (qb__bp_cone_window){0, b->problem.rows}; }

/* The fastest of each kernel, or the one asked for. */
static qb_status choose(bench *b, const qb_tool_bench_options *options) {
    static const char *const kernels[KERNELS] = {"bp_cone_circular.", "bp_cone_matrix."};
    qb__question question = {.operation = QB__BP_CONE,
                             .problem = &b->problem,
                             .slices = 1,
                             .accuracy = options->accuracy,
                             .id = options->kernel};
    qb__choice choice;
    for (int k = 0; k < KERNELS; k++) {
        question.family = kernels[k];
        if (options->kernel && strncmp(options->kernel, kernels[k], strlen(kernels[k])) != 0) continue;
        if (qb__choose(&question, &choice) == QB_OK)
            b->all[b->count++].variant = (const qb__bp_cone_variant *)choice.variant;
    }
    question.family = NULL; /* the reason */
    return b->count > 0 ? QB_OK : qb__choose(&question, &choice);
}

static void pack_task(void *context, size_t view, int worker) {
    (void)worker;
    bench *b = context;
    const size_t bytes = b->now->variant->view_bytes(&b->problem, whole(b));
    b->now->variant->pack(&b->problem, view, whole(b), image_of(b, view), b->problem.columns,
                          b->now->packed + view * bytes);
}

static qb_status prepare(bench *b, candidate *c) {
    const size_t bytes = c->variant->view_bytes(&b->problem, whole(b));
    const size_t scratch = (c->variant->scratch_bytes(&b->problem) + 63) / 64 * 64;
    if (scratch > b->scratch_bytes) b->scratch_bytes = scratch;
    qb_status status = qb__alloc(b->problem.views, bytes, &c->packed);
    if (status != QB_OK) return status;
    memset(c->packed, 0, b->problem.views * bytes);
    b->now = c;
    c->packing = qb__now();
    qb__pool_for(b->pool, b->problem.views, pack_task, b);
    c->packing = qb__now() - c->packing;
    return QB_OK;
}

static size_t extent(const bench *b, int axis) {
    const size_t n[3] = {b->problem.nx, b->problem.ny, b->problem.nz};
    const size_t wanted = b->now->variant->brick[axis];
    return wanted ? wanted : n[axis];
}

static void brick_task(void *context, size_t task, int worker) {
    bench *b = context;
    const size_t n[3] = {b->problem.nx, b->problem.ny, b->problem.nz};
    size_t at[3], end[3];
    for (int i = 0; i < 3; i++) {
        at[i] = task % b->bricks[i] * extent(b, i);
        end[i] = at[i] + extent(b, i) < n[i] ? at[i] + extent(b, i) : n[i];
        task /= b->bricks[i];
    }
    const qb__bp_cone_brick brick = {at[0], end[0], at[1], end[1], at[2], end[2]};
    b->now->variant->run(&b->problem, 0, b->problem.views, b->now->packed, whole(b), brick, b->volume, n[1] * n[0],
                         n[0], false, b->scratch + (size_t)worker * b->scratch_bytes);
}

static double run(bench *b, candidate *c) {
    const size_t n[3] = {b->problem.nx, b->problem.ny, b->problem.nz};
    b->now = c;
    for (int i = 0; i < 3; i++) b->bricks[i] = (n[i] + extent(b, i) - 1) / extent(b, i);
    const double from = qb__now();
    qb__pool_for(b->pool, b->bricks[0] * b->bricks[1] * b->bricks[2], brick_task, b);
    return qb__now() - from;
}

static double error_of(const bench *b) {
    const qb__bp_cone_problem *p = &b->problem;
    double error = 0, norm = 0;
    for (size_t i = 0; i < SAMPLES; i++) {
        const size_t x = i * 7919 % p->nx, y = i * 104729 % p->ny, z = i * 1299709 % p->nz;
        double want = 0, got = (double)b->volume[(z * p->ny + y) * p->nx + x];
        for (size_t v = 0; v < p->views; v++) want += qb__bp_cone_reference(p, v, image_of(b, v), p->columns, x, y, z);
        error += (got - want) * (got - want);
        norm += want * want;
    }
    return sqrt(error / norm);
}

static void describe(const bench *b, candidate *c, int repeat, cJSON *result) {
    const qb__bp_cone_problem *p = &b->problem;
    const double seconds = qb__median(c->seconds, (size_t)repeat);
    const double updates = (double)p->nx * (double)p->ny * (double)p->nz * (double)p->views;
    const int threads = qb__pool_threads(b->pool);
    cJSON_AddStringToObject(result, "kernel", c->variant->head.id);
    cJSON_AddNumberToObject(result, "threads", threads);
    cJSON_AddNumberToObject(result, "seconds_median", seconds);
    cJSON_AddNumberToObject(result, "giga_updates_per_second", updates / seconds * 1e-9);
    cJSON_AddNumberToObject(result, "gups", updates / seconds / 0x1p30);
    cJSON_AddNumberToObject(result, "gups_per_thread", updates / seconds / 0x1p30 / threads);
    cJSON_AddNumberToObject(result, "packing_seconds", c->packing);
    cJSON_AddNumberToObject(result, "rel_l2", c->rel_l2);
}

static qb_status allocate(bench *b) {
    const qb__bp_cone_problem *p = &b->problem;
    size_t voxels;
    qb_status status;
    if (!qb__mul(p->nx, p->ny, p->nz, &voxels)) return qb__fail(QB_NO_MEMORY, "too many voxels");
    QB__TRY(qb__alloc(p->views, sizeof *b->matrix, &b->matrix));
    QB__TRY(qb__alloc(p->views, sizeof *b->largest, &b->largest));
    QB__TRY(qb__alloc(IMAGES * p->rows * p->columns, sizeof *b->images, &b->images));
    QB__TRY(qb__alloc(voxels, sizeof *b->volume, &b->volume));
    qb__noise(b->images, IMAGES * p->rows * p->columns, 1);
    for (size_t v = 0; v < p->views; v++) b->largest[v] = 1;
    b->problem.matrix = (const double(*)[12])b->matrix;
    b->problem.largest = b->largest;
out:
    return status;
}

static void release(bench *b) {
    for (size_t i = 0; i < b->count; i++) qb__free(b->all[i].packed);
    qb__pool_destroy(b->pool);
    qb__free(b->matrix);
    qb__free(b->largest);
    qb__free(b->images);
    qb__free(b->volume);
    qb__free(b->scratch);
}

static qb_status on_cpu(const qb_tool_bench_options *options, const qb_env *env, cJSON *result) {
    const int repeat = options->repeat > REPEAT_MAX ? REPEAT_MAX : options->repeat;
    const qb__trial_sizes s = qb__bench_sizes(options, 0);
    bench b = {.problem = {.views = s.views, .columns = s.columns, .rows = s.rows, .nx = s.nx, .ny = s.ny, .nz = s.nz}};
    cJSON *kernels;
    qb_status status;
    QB__TRY(allocate(&b));
    QB__TRY(qb__cone_circle(&b.problem, b.matrix));
    QB__TRY(choose(&b, options));
    QB__TRY(qb__pool_create(env ? env->threads : 0, &b.pool));
    for (size_t i = 0; i < b.count; i++) QB__TRY(prepare(&b, &b.all[i]));
    QB__TRY(qb__alloc((size_t)qb__pool_threads(b.pool), b.scratch_bytes, &b.scratch));
    for (int r = -1; r < repeat; r++) { /* the first round warms up */
        for (size_t i = 0; i < b.count; i++) {
            QB__TRY(qb__check_cancel(env));
            const double seconds = run(&b, &b.all[i]);
            if (r >= 0) b.all[i].seconds[r] = seconds;
            if (r == repeat - 1) b.all[i].rel_l2 = error_of(&b);
        }
    }
    describe(&b, &b.all[0], repeat, result);
    kernels = b.count > 1 ? cJSON_AddArrayToObject(result, "also") : NULL;
    for (size_t i = 1; i < b.count; i++) {
        cJSON *row = cJSON_CreateObject();
        describe(&b, &b.all[i], repeat, row);
        cJSON_AddItemToArray(kernels, row);
    }
    cJSON_AddStringToObject(result, "cpu", qb__cpu_name());
out:
    release(&b);
    return status;
}

static qb_status on_device(const qb_tool_bench_options *options, qb__device *device, const qb_env *env, cJSON *result) {
    (void)env;
    const qb__trial_sizes sizes = qb__bench_sizes(options, 0);
    return qb__bench_backproject_device(options, QB__BP_CONE, &sizes, device, result);
}

qb_status qb__bench_backproject_cone(const qb_tool_bench_options *options, const qb_env *env, cJSON *result) {
    return qb__bench_either(options, on_device, on_cpu, env, result);
}
