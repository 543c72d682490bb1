/* SPDX-License-Identifier: MIT */
/* A device as an engine of the iterative methods: the CPU prepares the line integrals, which go up once; volume,
 * projections and all vectors of the solver stay on the device, and the volume comes down at the end. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "ops/project.h"
#include "ops/vectors_device.h"
#include "recon/iterative/iterative.h"

typedef struct on_device {
    qb__iterative_run run; /* first: shared with the CPU's (iterative_prepare.c) */
    int threads;
    qb__joseph_problem problem;
    qb__device_pick pick;
    /* while running */
    qb__queue *queue;
    qb__joseph_plan *plan;
    qb__memory *staging;
    qb__device_vectors own;
    qb__vectors vectors;
    void *data, *volume; /* vectors */
} on_device;

/* ---- what it holds ---- */

/* Views that go up at a time. */
static size_t piece_views(const on_device *d) {
    enum { MANY = 32 };
    return qb__smaller(MANY, d->run.it->info->views);
}

static size_t staging_bytes(const on_device *d) {
    const qb__iterative *it = d->run.it;
    return qb__larger(qb__iterative_unknowns(it), piece_views(d) * it->info->rows * it->info->columns) * sizeof(float);
}

static qb__joseph_most most_of(const on_device *d) {
    return (qb__joseph_most){d->run.it->grid.n[2], d->run.it->info->views};
}

static size_t device_bytes(const on_device *d) {
    const qb__iterative *it = d->run.it;
    const qb__joseph_problem *p = &d->problem;
    const size_t data = it->solver == &qb__solver_cgls && it->options->nonneg;
    return (1 + it->solver->unknowns) * qb__device_vector_bytes(p, QB__UNKNOWNS) +
           (1 + it->solver->equations + data) * qb__device_vector_bytes(p, QB__EQUATIONS) +
           qb__device_vectors_bytes(p) + staging_bytes(d) +
           qb__joseph_plan_bytes(d->pick.device, p, most_of(d), d->pick.choice.values);
}

static qb__room memory(void *state, const qb__cut *cut) {
    (void)cut;
    const on_device *d = state;
    const qb__joseph_problem *p = &d->problem;
    qb__room room = {.host = (size_t)d->run.it->options->iterations * sizeof(qb__solve_trace) +
                             qb__device_vectors_bytes(p),
                     .device = device_bytes(d)};
    room.host += qb__device_pick_host_bytes(&d->pick, room.device);
    return room;
}

static qb_status no_room(void *state, const qb__cut *least, const qb__room *cap, const qb_env *env) {
    (void)least;
    return qb__device_no_room(device_bytes(state), cap, "the volume with all projections needs",
                              "a smaller volume, or --device cpu", env);
}

/* ---- how long ---- */

/* Both directions once an iteration, and SIRT's sums of rows and columns as one more. */
static double seconds(void *state, const qb__cut *cut) {
    (void)cut;
    const on_device *d = state;
    const qb__iterative *it = d->run.it;
    const double up = (double)qb__iterative_equations(it) * 4, down = (double)qb__iterative_unknowns(it) * 4;
    const double vectors = 12 * (up + down) / 2e12 + 1e-3;
    const double prepare = (double)qb__iterative_equations(it) * 2e-9 / d->threads;
    return prepare + up / d->pick.costs.up + down / d->pick.costs.down +
           (it->options->iterations + 1) * (2 * d->pick.choice.seconds + vectors);
}

/* Layout, forward, scale, back, vectors. */
static double start(void *state) { return qb__device_pick_start(&((on_device *)state)->pick, 5); }

/* ---- the offer ---- */

static qb_status decide(const qb__task *task, void *plan, const qb_env *env, qb__offer *offer) {
    const qb__iterative *it = plan;
    on_device *d;
    qb_status status = qb__alloc(1, sizeof *d, &d);
    if (status != QB_OK) return status;
    d->run.it = it;
    d->threads = task->threads;
    d->problem = qb__project_problem(it->geometry, &it->grid);
    status = qb__project_pick(&d->pick, &d->problem, it->options->kernel, env, &offer->named);
    if (!d->pick.device) {
        qb__free(d);
        return status;
    }
    offer->state = d;
    if (status != QB_OK) return status;
    offer->space = qb__iterative_space(&d->run, (qb__room){.device = qb__device_pick_cap(&d->pick, env)});
    return QB_OK;
}

/* ---- work ---- */

static qb_status forward(void *self, const void *x, void *y) {
    const on_device *d = self;
    const size_t views = d->run.it->info->views, slices = d->run.it->grid.n[2];
    return qb__joseph_forward(d->plan, d->queue, x, 0, slices, 0, views, y);
}

static qb_status adjoint(void *self, const void *y, void *x) {
    const on_device *d = self;
    const size_t views = d->run.it->info->views, slices = d->run.it->grid.n[2];
    return qb__joseph_adjoint(d->plan, d->queue, y, 0, views, x, 0, slices, false);
}

static qb_status send(on_device *d, const float *lines) {
    const qb__iterative *it = d->run.it;
    const size_t image = it->info->rows * it->info->columns, step = piece_views(d);
    qb_status status = QB_OK;
    for (size_t v = 0; v < it->info->views; v += step) {
        const size_t count = qb__smaller(step, it->info->views - v);
        QB__TRY(qb__memory_upload(d->queue, d->staging, 0, lines + v * image, count * image * sizeof(float)));
        QB__TRY(qb__joseph_columns_at(d->plan, d->queue, d->staging, 0, v, v + count, d->data));
    }
out:
    return status;
}

static qb_status fetch(on_device *d, float scale, float *volume) {
    const qb__iterative *it = d->run.it;
    qb_status status;
    QB__TRY(qb__joseph_from_lines(d->plan, d->queue, d->volume, 0, it->grid.n[2], scale, d->staging, 0));
    QB__TRY(qb__memory_download(d->queue, d->staging, 0, volume, qb__iterative_unknowns(it) * sizeof(float)));
out:
    return status;
}

static qb_status solve(on_device *d, const float *lines, float *volume) {
    const qb__iterative *it = d->run.it;
    const qb__linear a = {d, qb__iterative_unknowns(it), qb__iterative_equations(it), forward, adjoint, NULL};
    qb_status status;
    QB__TRY(send(d, lines));
    QB__TRY(qb__iterative_solve(&d->run, &a, &d->vectors, d->data, d->volume));
    QB__TRY(fetch(d, it->options->hu > 0 ? (float)(1000 / it->options->hu) : 1, volume));
out:
    return qb__queue_finish_after(d->queue, status);
}

static qb_status solve_run(void *self, size_t chunk, size_t task, int worker, const void *in, void *out) {
    (void)chunk, (void)task, (void)worker;
    return solve(self, in, out);
}

static int stages(void *state, const qb__cut *cut, qb__slot_maker *source, qb__stage *stages) {
    (void)source;
    on_device *d = state;
    stages[0] = qb__iterative_prepare_stage(&d->run, cut);
    stages[1] = (qb__stage){.name = d->run.it->solver->name,
                            .self = d,
                            .blocking = true,
                            .slots = 1,
                            .slot_bytes = qb__iterative_unknowns(d->run.it) * sizeof(float),
                            .run = solve_run};
    return 2;
}

/* ---- life ---- */

static qb_status open_device(void *state, const qb__cut *cut, const qb__running *run) {
    (void)cut;
    on_device *d = state;
    const qb__joseph_problem *p = &d->problem;
    qb_status status;
    d->run.run = run;
    qb__device_pick_begin(&d->pick, run->env);
    QB__TRY(qb__queue_create(d->pick.device, &d->queue));
    QB__TRY(qb__joseph_plan_create(d->pick.device, p, most_of(d), d->pick.choice.values, &d->plan));
    QB__TRY(qb__memory_create(d->pick.device, staging_bytes(d), &d->staging));
    QB__TRY(qb__device_vectors_create(d->pick.device, d->queue, p, &d->own, &d->vectors));
    QB__TRY(qb__vector_make(&d->vectors, QB__EQUATIONS, 0, &d->data));
    QB__TRY(qb__vector_make(&d->vectors, QB__UNKNOWNS, 0, &d->volume));
out:
    return status;
}

static qb_status finish(void *state, cJSON *report, qb__prep_counts *counts) {
    on_device *d = state;
    qb__device_pick_done(&d->pick, report);
    return qb__iterative_report(&d->run, report, counts);
}

static void close_device(void *state) {
    on_device *d = state;
    if (d->queue) qb__queue_finish(d->queue);
    qb__device_vectors_destroy(&d->own);
    qb__joseph_plan_destroy(d->plan);
    qb__memory_destroy(d->staging);
    qb__queue_destroy(d->queue);
    d->queue = NULL;
    d->plan = NULL;
    d->staging = NULL;
    d->data = d->volume = NULL;
    qb__iterative_forget(&d->run);
}

static void tell(void *state, const qb_env *env) { qb__device_pick_tell(&((on_device *)state)->pick, "", env); }

static void describe(void *state, const qb__cut *cut, cJSON *plan) {
    qb__device_pick_describe(&((on_device *)state)->pick, cut->need.device, plan);
}

static const char *kernel(void *state) { return ((on_device *)state)->pick.choice.variant->id; }

static void destroy(void *state) {
    qb__device_pick_close(&((on_device *)state)->pick);
    qb__free(state);
}

const qb__engine qb__iterative_device = {
    .name = "device",
    .place = "the device",
    .least = qb__device_least_start,
    .decide = decide,
    .memory = memory,
    .seconds = seconds,
    .start = start,
    .no_room = no_room,
    .tell = tell,
    .stages = stages,
    .open = open_device,
    .finish = finish,
    .close = close_device,
    .describe = describe,
    .kernel = kernel,
    .destroy = destroy,
};
