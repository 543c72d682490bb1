/* SPDX-License-Identifier: MIT */
#include "bench/cone_trial.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/sort.h"
#include "base/status.h"
#include "geometry/matrix.h"

enum {
    NOISE = 16,   /* distinct images, so that large problems start fast */
    BLOCK = 128,  /* views at a time: image i of a block shows noise i % NOISE */
    SLICES = 8,   /* that are checked, ... */
    SAMPLES = 125, /* ... voxels of each */
    REPEAT_MAX = 64,
};

struct qb__cone_trial {
    qb__device *device;
    qb__queue *queue;
    qb__event *from, *to;
    qb__bp_cone_problem problem;
    double (*matrix)[12];
    float *noise;     /* [NOISE][rows][columns] */
    qb__memory *rows; /* [block][rows][columns] */
    qb__memory *out;  /* [nz][ny][nx] */
};

qb_status qb__cone_circle(const qb__bp_cone_problem *p, double (*matrix)[12]) {
    const double most = (double)(p->nx > p->nz ? p->nx : p->nz), sod = 2 * most, sdd = 1.5 * sod;
    const double pixel = 1.5 * (double)p->nx / (double)p->columns;
    const qb_grid grid = {.n = {p->nx, p->ny, p->nz}, .voxel = {1, 1, 1}};
    qb_geometry geometry = {0};
    qb__matrix *matrices = NULL;
    double *angles = NULL;
    qb_status status;
    QB__TRY(qb__alloc(p->views, sizeof *angles, &angles));
    QB__TRY(qb__alloc(p->views, sizeof *matrices, &matrices));
    for (size_t v = 0; v < p->views; v++) angles[v] = 2 * M_PI * (double)v / (double)p->views;
    QB__TRY(qb_geometry_cone(p->views, angles, p->rows, p->columns, pixel, pixel, sod, sdd, 0, 0,
                             &geometry));
    QB__TRY(qb__matrices_on_grid(&geometry, &grid, matrices));
    for (size_t v = 0; v < p->views; v++) memcpy(matrix[v], matrices[v].m, sizeof matrix[v]);
out:
    qb_geometry_destroy(&geometry);
    qb__free(matrices);
    qb__free(angles);
    return status;
}

static size_t image(const qb__cone_trial *t) { return t->problem.rows * t->problem.columns; }
static size_t slice(const qb__cone_trial *t) { return t->problem.nx * t->problem.ny; }
static size_t block(const qb__cone_trial *t) { return qb__smaller(BLOCK, t->problem.views); }

static const float *image_of(const qb__cone_trial *t, size_t view) {
    return t->noise + view % block(t) % NOISE * image(t);
}

static qb_status make_noise(qb__cone_trial *t) {
    const size_t bytes = image(t) * sizeof(float);
    qb_status status;
    QB__TRY(qb__alloc(NOISE, bytes, &t->noise));
    qb__noise(t->noise, NOISE * image(t), 20261);
    QB__TRY(qb__memory_create(t->device, block(t) * bytes, &t->rows));
    for (size_t i = 0; i < block(t); i++)
        QB__TRY(qb__memory_upload(t->queue, t->rows, i * bytes, image_of(t, i), bytes));
    QB__TRY(qb__queue_finish(t->queue));
out:
    return status;
}

qb_status qb__cone_trial_create(qb__device *device, const qb__bp_cone_problem *sizes,
                                qb__cone_trial **trial) {
    qb__cone_trial *t;
    size_t bytes;
    *trial = NULL;
    qb_status status = qb__alloc(1, sizeof *t, &t);
    if (status != QB_OK) return status;
    t->device = device;
    t->problem = *sizes;
    QB__TRY(qb__alloc(sizes->views, sizeof *t->matrix, &t->matrix));
    t->problem.matrix = (const double(*)[12])t->matrix;
    QB__TRY(qb__cone_circle(&t->problem, t->matrix));
    QB__TRY(qb__queue_create(device, &t->queue));
    QB__TRY(qb__event_create(device, &t->from));
    QB__TRY(qb__event_create(device, &t->to));
    QB__TRY(make_noise(t));
    if (!qb__mul(slice(t), sizes->nz, sizeof(float), &bytes)) {
        status = qb__fail(QB_NO_MEMORY, "too many voxels");
        goto out;
    }
    QB__TRY(qb__memory_create(device, bytes, &t->out));
out:
    if (status == QB_OK)
        *trial = t;
    else
        qb__cone_trial_destroy(t);
    return status;
}

void qb__cone_trial_destroy(qb__cone_trial *t) {
    if (!t) return;
    qb__memory_destroy(t->rows);
    qb__memory_destroy(t->out);
    qb__event_destroy(t->from);
    qb__event_destroy(t->to);
    qb__queue_destroy(t->queue);
    qb__free(t->matrix);
    qb__free(t->noise);
    qb__free(t);
}

const qb__bp_cone_problem *qb__cone_trial_problem(const qb__cone_trial *t) { return &t->problem; }

/* ---- one run ---- */

typedef struct attempt {
    qb__cone_trial *t;
    const qb__bp_cone_device_variant *variant;
    qb__bp_cone_plan *plan;
    qb__memory *packed;
} attempt;

static qb_status pack_block(attempt *a) {
    const qb__bp_cone_problem *p = &a->t->problem;
    return a->variant->pack(a->plan, a->t->queue, a->t->rows, 0, image(a->t), p->columns, block(a->t),
                            (qb__bp_cone_window){0, p->rows}, a->packed);
}

static qb_status run_all(attempt *a) {
    const qb__bp_cone_problem *p = &a->t->problem;
    for (size_t v = 0; v < p->views; v += block(a->t)) {
        const size_t end = qb__smaller(v + block(a->t), p->views);
        qb_status status = a->variant->run(a->plan, a->t->queue, a->packed, v, end,
                                           (qb__bp_cone_window){0, p->rows}, 0, p->nz, a->t->out, 0,
                                           v > 0);
        if (status != QB_OK) return status;
    }
    return QB_OK;
}

static qb_status elapsed(attempt *a, qb_status (*work)(attempt *), double *seconds) {
    qb__cone_trial *t = a->t;
    qb_status status;
    QB__TRY(qb__event_record(t->from, t->queue));
    QB__TRY(work(a));
    QB__TRY(qb__event_record(t->to, t->queue));
    QB__TRY(qb__queue_finish(t->queue));
    QB__TRY(qb__event_seconds(t->from, t->to, seconds));
out:
    return status;
}

static qb_status check(const qb__cone_trial *t, double *rel_l2) {
    const qb__bp_cone_problem *p = &t->problem;
    double error = 0, norm = 0;
    float *one;
    qb_status status = qb__alloc(slice(t), sizeof *one, &one);
    for (size_t i = 0; status == QB_OK && i < SLICES; i++) {
        const size_t z = i * (p->nz - 1) / (SLICES - 1);
        status = qb__memory_download(t->queue, t->out, z * slice(t) * sizeof *one, one,
                                     slice(t) * sizeof *one);
        if (status == QB_OK) status = qb__queue_finish(t->queue);
        for (size_t n = 0; status == QB_OK && n < SAMPLES; n++) {
            const size_t x = (n * 7919 + i) % p->nx, y = (n * 104729 + 31 * i) % p->ny;
            double want = 0;
            for (size_t v = 0; v < p->views; v++)
                want += qb__bp_cone_reference(p, v, image_of(t, v), p->columns, x, y, z);
            const double d = (double)one[y * p->nx + x] - want;
            error += d * d;
            norm += want * want;
        }
    }
    qb__free(one);
    *rel_l2 = sqrt(error / norm);
    return status;
}

qb_status qb__cone_trial_run(qb__cone_trial *t, const qb__bp_cone_device_variant *variant,
                             const int *values, int repeat, qb__cone_result *result) {
    const qb__bp_cone_problem *p = &t->problem;
    const qb__bp_cone_most most = {block(t), p->rows};
    const size_t bytes = variant->packed_bytes(p, most, values);
    attempt a = {.t = t, .variant = variant};
    double seconds[REPEAT_MAX];
    qb_status status;
    if (repeat > REPEAT_MAX) repeat = REPEAT_MAX;
    *result = (qb__cone_result){.block = block(t)};
    QB__TRY(variant->plan(t->device, p, most, values, &a.plan));
    QB__TRY(qb__memory_create(t->device, bytes, &a.packed));
    QB__TRY(qb__memory_fill(t->queue, a.packed, 0, 0xff, bytes));
    QB__TRY(qb__memory_fill(t->queue, t->out, 0, 0xff, qb__memory_bytes(t->out)));
    QB__TRY(elapsed(&a, pack_block, &result->pack_seconds)); /* warms up */
    QB__TRY(elapsed(&a, run_all, &seconds[0]));
    QB__TRY(check(t, &result->rel_l2));
    QB__TRY(elapsed(&a, pack_block, &result->pack_seconds));
    result->pack_seconds *= (double)p->views / (double)block(t);
    for (int i = 0; i < repeat; i++) QB__TRY(elapsed(&a, run_all, &seconds[i]));
    result->seconds = qb__median(seconds, (size_t)repeat);
    result->giga_updates = (double)slice(t) * (double)p->nz * (double)p->views / result->seconds * 1e-9;
out:
    variant->destroy(a.plan);
    qb__memory_destroy(a.packed);
    return status;
}
