/* SPDX-License-Identifier: MIT */
/* A device as an engine of the iterative methods. The CPU prepares the line integrals, which are uploaded once. Volume,
 * projections and all vectors of the solver stay on the device, and the volume is downloaded at the end. If ranks share
 * the views, each device holds the whole volume, and runs of its lines pass through the hosts or by NCCL; ranks of MBIR
 * share the slices (iterative_slices.c). If memory is
 * short, two vectors of the volume and a block of views stay on the device, and other vectors are in host memory
 * (ops/vectors_device.h). With even less memory, volume and views pass through the device in parts
 * (iterative_slabs.c). */
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/status.h"
#include "ops/project.h"
#include "recon/iterative/iterative_device.h"

typedef qb__iterative_on_device on_device;

/* ---- runs of lines, where ranks share the views ---- */

static size_t grains(const on_device *d) {
    return qb__ceil_div(d->problem.grid->n[1], qb__joseph_lines_grain(d->pick.choice.values));
}

static size_t run_count(const on_device *d) { return qb__iterative_run_count(d->run.it, grains(d)); }

static size_t first_line(const on_device *d, size_t run) {
    const size_t each = qb__ceil_div(grains(d), run_count(d)) * qb__joseph_lines_grain(d->pick.choice.values);
    return qb__smaller(run * each, d->problem.grid->n[1]);
}

static size_t lines_bytes(const on_device *d, size_t run) {
    return qb__joseph_lines_at(&d->problem, first_line(d, run + 1)) -
           qb__joseph_lines_at(&d->problem, first_line(d, run));
}

static size_t run_room(const on_device *d) { return qb__iterative_shares_slices(d->run.it) ? 0 : lines_bytes(d, 0); }

static size_t run_bytes(void *self, size_t run) { return lines_bytes(self, run); }

static size_t run_start(void *self, size_t run) {
    return qb__joseph_lines_at(&((const on_device *)self)->problem, first_line(self, run));
}

/* ---- what it holds ---- */

/* The problem with only the views of this cut. A rank without views plans its memory for one view. */
static qb__joseph_problem own_problem(const on_device *d, const qb__cut *cut) {
    qb__joseph_problem own = d->problem;
    own.views = qb__run_count(cut->all_views);
    return own;
}

static size_t staging_bytes(const on_device *d, const qb__cut *cut) {
    const qb__iterative *it = d->run.it;
    const size_t views = qb__iterative_piece_views(d, cut) * it->info->rows * it->info->columns;
    return (d->spill.piece ? views : qb__larger(qb__iterative_unknowns(it), views)) * sizeof(float);
}

static qb__joseph_most most_of(const on_device *d, const qb__cut *cut) {
    return (qb__joseph_most){d->run.it->grid.n[2], qb__larger(qb__run_count(cut->all_views), d->run.exchange.views)};
}

static size_t whole_bytes(const on_device *d, const qb__cut *cut) {
    const qb__iterative *it = d->run.it;
    const qb__joseph_problem own = own_problem(d, cut), *p = &own;
    return (1 + qb__iterative_unknown_vectors(it)) * qb__device_vector_bytes(p, QB__UNKNOWNS) +
           (1 + qb__iterative_line_vectors(it)) * qb__device_vector_bytes(p, QB__EQUATIONS) +
           qb__device_vectors_bytes(p) + staging_bytes(d, cut) + qb__iterative_exchange_bytes(&d->run) +
           qb__joseph_plan_bytes(d->pick.device, &d->problem, most_of(d, cut), d->pick.choice.values);
}

/* If vectors are spilled, the device keeps the two vectors of unknowns that the projections use, and one block of
 * views. */
enum { KEPT_UNKNOWNS = 2, KEPT_EQUATIONS = 1 };

static size_t spilled_bytes(const on_device *d, const qb__cut *cut) {
    const qb__joseph_problem *p = &d->problem;
    return KEPT_UNKNOWNS * qb__device_vector_bytes(p, QB__UNKNOWNS) +
           KEPT_EQUATIONS * qb__joseph_block_bytes(p, d->spill.views) + qb__device_vectors_bytes(p) +
           staging_bytes(d, cut) + qb__spill_bytes(d->spill.piece) +
           qb__joseph_plan_bytes(d->pick.device, p, most_of(d, cut), d->pick.choice.values);
}

static size_t spilled_host_bytes(const on_device *d) {
    const qb__iterative *it = d->run.it;
    const qb__joseph_problem *p = &d->problem;
    return (1 + qb__iterative_unknown_vectors(it) - KEPT_UNKNOWNS) * qb__device_vector_bytes(p, QB__UNKNOWNS) +
           (1 + qb__iterative_line_vectors(it) - KEPT_EQUATIONS) * qb__device_vector_bytes(p, QB__EQUATIONS);
}

static size_t device_bytes(const on_device *d, const qb__cut *cut) {
    return d->apart ? d->slabs.cut.bytes : d->spill.piece ? spilled_bytes(d, cut) : whole_bytes(d, cut);
}

static size_t host_bytes(const on_device *d, const qb__cut *cut) {
    const qb__joseph_problem own = own_problem(d, cut);
    if (d->apart) return qb__iterative_here_bytes(d->run.it, cut);
    return (size_t)d->run.it->options->iterations * sizeof(qb__solve_trace) + qb__device_vectors_bytes(&own) +
           qb__iterative_share_bytes(d->run.it, run_room(d)) + qb__iterative_exchange_bytes(&d->run) +
           (d->spill.piece ? spilled_host_bytes(d) : 0);
}

static qb__room memory(void *state, const qb__cut *cut) {
    const on_device *d = state;
    qb__room room = {.host = host_bytes(d, cut), .device = device_bytes(d, cut)};
    room.host += qb__device_pick_host_bytes(&d->pick, room.device);
    return room;
}

/* Find how many views and floats at a time fit into `cap` bytes, if vectors are spilled. False: there is too little
 * memory. */
static bool spill(on_device *d, size_t cap) {
    enum { MANY_VIEWS = 4 * QB__JOSEPH_VIEWS, MANY = 1 << 24, FEW = 1 << 20 };
    const size_t views = d->run.it->info->views, grain = qb__device_vectors_grain(&d->problem);
    const qb__cut all = {.all_views = {0, views}};
    const size_t most = qb__larger(qb__device_vector_bytes(&d->problem, QB__UNKNOWNS),
                                   qb__device_vector_bytes(&d->problem, QB__EQUATIONS)) /
                        sizeof(float);
    if (!d->run.it->solver->spills || d->run.it->ranks > 1 || d->apart) return false;
    d->spill.views = qb__smaller(views, MANY_VIEWS);
    d->spill.piece = qb__smaller(MANY, qb__round_up(most, grain));
    while (spilled_bytes(d, &all) > cap) {
        if (d->spill.piece > FEW || (d->spill.views <= QB__JOSEPH_VIEWS && d->spill.piece > grain))
            d->spill.piece = qb__round_up(d->spill.piece / 2, grain);
        else if (d->spill.views > QB__JOSEPH_VIEWS)
            d->spill.views = qb__round_up(d->spill.views / 2, QB__JOSEPH_VIEWS);
        else
            break;
    }
    const bool fits = spilled_bytes(d, &all) <= cap;
    if (!fits) d->spill.piece = 0;
    return fits;
}

/* Choose spilled vectors or parts, because the whole problem does not fit into `cap` bytes. If even the smallest part
 * does not fit, the frame finds that out. Ranks pass on volumes that are whole on their devices, so they cannot use
 * parts. */
static qb_status take_less(on_device *d, size_t cap, const qb_env *env) {
    if (spill(d, cap) || d->run.it->ranks > 1) return QB_OK;
    const qb_status status = qb__slab_projector_cut(&d->problem, &d->pick, cap, env, &d->slabs.cut);
    d->apart = status == QB_OK || status == QB_NO_MEMORY;
    return d->apart ? QB_OK : status;
}

/* ---- how long ---- */

/* Seconds of transfers between ranks in an iteration: through host memory, and back to the devices. */
static double pass_seconds(const on_device *d) {
    const qb__iterative *it = d->run.it;
    const size_t numbers = qb__iterative_shares_slices(it) ? qb__iterative_equations(it) : qb__iterative_unknowns(it);
    return it->ranks < 2 ? 0 : 2 * 4 * (double)numbers * (1 / d->pick.costs.up + 1 / d->pick.costs.down + 1 / 4e9);
}

/* Seconds to prepare the line integrals. */
static double prepare_seconds(const on_device *d, const qb__cut *cut) {
    return (double)qb__iterative_lines(d->run.it, cut) * 2e-9 / d->threads;
}

static double passes_of(const qb__iterative *it) {
    return it->solver->usual ? qb__iterative_passes(it) : it->options->iterations + 1;
}

/* An iteration takes one forward and one adjoint projection, and SIRT's sums of rows and columns take one more pass.
 * With ranks, the last one begins its adjoint only when the run has passed all others: `waits` counts this. */
static double seconds(void *state, const qb__cut *cut) {
    const on_device *d = state;
    const qb__iterative *it = d->run.it;
    const double up = (double)qb__iterative_lines(it, cut) * 4, down = (double)qb__iterative_unknowns(it) * 4;
    const double vectors = 12 * (up + down) / 2e12 + 1e-3;
    const double prepare = prepare_seconds(d, cut);
    if (d->apart) return prepare + passes_of(it) * qb__iterative_slabs_seconds(&d->slabs, it, d->threads);
    /* In each step two vectors of unknowns are uploaded while one is downloaded. */
    const double steps = it->subsets ? (double)it->subsets : 1;
    const double passing = d->spill.piece ? (2 * steps * down + up) / d->pick.costs.up : 0;
    const double share = (double)qb__run_count(cut->all_views) / (double)it->info->views;
    const double waits = qb__iterative_shares_slices(it) ? 0 : (double)(it->ranks - 1) / (double)run_count(d);
    return prepare + up / d->pick.costs.up + down / d->pick.costs.down +
           passes_of(it) * ((2 + waits) * share * d->pick.choice.seconds + pass_seconds(d) + vectors + passing);
}

/* ---- views first <= v < first + count of the rays, through all slices of the grid ---- */

static qb_status project(void *self, const void *x, size_t first, size_t count, void *y) {
    const on_device *d = self;
    if (count == 0) return QB_OK;
    return qb__joseph_forward(d->plan, d->queue, x, 0, d->run.it->grid.n[2], first, first + count, y);
}

static qb_status back(void *self, const void *y, size_t first, size_t count, bool more, void *x) {
    const on_device *d = self;
    return qb__joseph_adjoint(d->plan, d->queue, y, first, first + count, x, 0, d->run.it->grid.n[2], more);
}

/* ---- the offer ---- */

static qb_status decide(const qb__task *task, void *plan, const qb_env *env, qb__offer *offer) {
    const qb__iterative *it = plan;
    on_device *d;
    QB__OR_RETURN(qb__alloc(1, sizeof *d, &d));
    offer->named = it->options->kernel;
    /* kernels to compile: layout, forward, scale, adjoint, vectors */
    offer->start = qb__device_pick_start(&d->pick, 5);
    d->run.it = it;
    d->threads = task->threads;
    d->problem = qb__project_problem(it->rays, &it->grid);
    d->problem.pool = it->projector->pool;
    qb__iterative_exchange_sizes(&d->run, qb__joseph_block_bytes(&d->problem, 1));
    d->run.exchange.project = project;
    d->run.exchange.back = back;
    offer->state = d;
    QB__OR_RETURN(qb__project_pick(task->devices, &d->problem, it->options->kernel, env, &d->pick));
    offer->named = it->options->kernel;
    const size_t cap = qb__device_pick_cap(&d->pick, env);
    offer->space = qb__iterative_space(&d->run, (qb__room){.device = cap});
    return whole_bytes(d, &(qb__cut){.all_views = {0, it->info->views}}) > cap ? take_less(d, cap, env) : QB_OK;
}

/* ---- work ---- */

static qb_status forward(void *self, const void *x, void *y) {
    return project(self, x, ((const on_device *)self)->run.it->cut.all_views.first, ((const on_device *)self)->views,
                   y);
}

static qb_status add_run(void *self, size_t run, bool first) {
    const on_device *d = self;
    if (qb__run_count(d->some) == 0) return QB_OK;
    return qb__joseph_adjoint_lines(d->plan, d->queue, d->y, d->some.first, d->some.end, d->x, first_line(d, run),
                                    first_line(d, run + 1), !first);
}

static qb_status take_run(void *self, size_t run, void *to) {
    const on_device *d = self;
    const size_t at = qb__joseph_lines_at(&d->problem, first_line(d, run));
    const qb_status status = qb__memory_download(d->queue, d->x, at, to, run_bytes(self, run));
    return qb__queue_finish_after(d->queue, status);
}

static qb_status put_run(void *self, size_t run, const void *from) {
    const on_device *d = self;
    const size_t at = qb__joseph_lines_at(&d->problem, first_line(d, run));
    const qb_status status = qb__memory_upload(d->queue, d->x, at, from, run_bytes(self, run));
    return qb__queue_finish_after(d->queue, status);
}

static qb_status adjoint(void *self, const void *y, void *x) {
    on_device *d = self;
    const size_t view0 = d->run.it->cut.all_views.first;
    const qb__iterative_runs runs = {.self = d,
                                     .count = run_count(d),
                                     .bytes = run_bytes,
                                     .add = add_run,
                                     .take = take_run,
                                     .put = put_run,
                                     .queue = d->queue,
                                     .volume = x,
                                     .at = run_start};
    if (d->run.it->ranks < 2) return back(self, y, view0, d->views, false, x);
    d->y = y, d->x = x;
    d->some = (qb__run){view0, view0 + d->views};
    return qb__iterative_pass(&d->run, &runs);
}

static qb_status total(void *self, double *sum) { return qb__iterative_total(&((on_device *)self)->run, sum); }

static qb_status same(void *self, double *number) { return qb__iterative_same(&((on_device *)self)->run, number); }

static qb_status barrier(void *self, qb_status status) {
    return qb__iterative_barrier(&((on_device *)self)->run, status);
}

/* ---- solving ---- */

static qb_status solve(on_device *d, const float *lines, float *volume) {
    const qb__iterative *it = d->run.it;
    const bool shares = qb__iterative_shares_slices(it);
    const qb__linear calls = {.self = d,
                              .forward = forward,
                              .adjoint = adjoint,
                              .forward_of = shares ? qb__iterative_forward_slices : project,
                              .adjoint_of = shares ? qb__iterative_adjoint_slices : back,
                              .aligned = QB__JOSEPH_VIEWS,
                              .most_views = d->spill.piece ? d->spill.views : 0,
                              .load = qb__iterative_device_load,
                              .total = total,
                              .same = same,
                              .kernel = d->pick.choice.variant->id};
    const qb__linear a = qb__iterative_linear(it, d->views, &calls);
    qb_status status;
    QB__TRY(qb__iterative_connect(&d->run, d->pick.device));
    QB__TRY(qb__iterative_device_send(d, lines));
    QB__TRY(qb__iterative_solve(&d->run, &a, &d->vectors, d->data, d->volume));
    QB__TRY(qb__iterative_device_fetch(d, it->options->hu > 0 ? (float)(1000 / it->options->hu) : 1, volume));
out:
    status = qb__queue_finish_after(d->queue, status);
    qb__iterative_disconnect(&d->run, status);
    return status;
}

static qb_status solve_run(void *self, size_t chunk, size_t task, int worker, const void *in, void *out) {
    (void)chunk, (void)task, (void)worker;
    on_device *d = self;
    qb_status status = qb__iterative_fill_masked(&d->run, d->views, (float *)in);
    if (status == QB_OK) status = qb__iterative_find_truncation(&d->run, d->views, in);
    if (status == QB_OK) qb__iterative_scale_ends(d->run.it, d->views, (float *)in);
    if (status != QB_OK) return status;
    d->run.lines = in;
    return d->apart ? qb__iterative_slabs_solve(&d->slabs, &d->run, (float *)in, out) : solve(d, in, out);
}

static double pool_seconds(void *self) {
    return qb__pool_for_seconds(((const on_device *)self)->run.it->projector->pool);
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
                            .forecast = seconds(state, cut),
                            .run = solve_run,
                            .barrier = barrier,
                            .cpu_seconds = pool_seconds};
    return 2;
}

/* ---- life ---- */

static qb_status open_whole(on_device *d, const qb__cut *cut) {
    const qb__joseph_problem own = own_problem(d, cut);
    QB__OR_RETURN(qb__queue_create(d->pick.device, &d->queue));
    QB__OR_RETURN(
        qb__joseph_plan_create(d->pick.device, &d->problem, most_of(d, cut), d->pick.choice.values, &d->plan));
    QB__OR_RETURN(qb__memory_create(d->pick.device, staging_bytes(d, cut), &d->staging));
    QB__OR_RETURN(qb__device_vectors_create(d->pick.device, d->queue, &own, &d->own, &d->vectors));
    if (d->spill.piece) QB__OR_RETURN(qb__device_vectors_spread(&d->own, d->spill.views, d->spill.piece));
    QB__OR_RETURN(qb__vector_make_spilled(&d->vectors, QB__EQUATIONS, 0, &d->data));
    QB__OR_RETURN(qb__vector_make_spilled(&d->vectors, QB__UNKNOWNS, 0, &d->volume));
    const bool spills = d->spill.piece > 0;
    QB__OR_RETURN(qb__device_vectors_reserve(&d->own, QB__UNKNOWNS,
                                             spills ? KEPT_UNKNOWNS : qb__iterative_unknown_vectors(d->run.it)));
    QB__OR_RETURN(qb__device_vectors_reserve(&d->own, QB__EQUATIONS,
                                             spills ? KEPT_EQUATIONS : qb__iterative_line_vectors(d->run.it)));
    QB__OR_RETURN(qb__iterative_share(&d->run, run_room(d)));
    return qb__iterative_exchange_make(&d->run, d->pick.device, d->queue);
}

/* If the whole problem does not fit after all, the next attempt uses parts. */
static qb_status open_device(void *state, const qb__cut *cut, const qb__running *run) {
    on_device *d = state;
    char why[512];
    d->run.run = run;
    d->views = qb__iterative_views(d->run.it, cut);
    if (d->apart) return qb__iterative_slabs_open(&d->slabs, &d->problem, &d->pick, run->env);
    const qb_status status = open_whole(d, cut);
    if (status != QB_NO_MEMORY) return status;
    snprintf(why, sizeof why, "%s", qb_detail());
    const qb_status other = take_less(d, device_bytes(d, cut) / 2, run->env);
    return other == QB_OK ? qb__fail(QB_NO_MEMORY, "%s", why) : other;
}

static qb_status finish(void *state, cJSON *report, qb__prep_counts *counts) {
    return qb__iterative_report(&((on_device *)state)->run, report, counts);
}

static void close_device(void *state) {
    on_device *d = state;
    qb__iterative_slabs_close(&d->slabs);
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

static void facts(void *state, const qb__cut *cut, qb__job_facts *facts) {
    (void)cut;
    const on_device *d = state;
    const qb__joseph_most *most = &d->slabs.cut.most;
    qb__facts_of_pick(facts, &d->pick, d->apart ? "even one slice needs" : "the volume with all projections needs",
                      "a smaller volume, or --device cpu");
    if (!d->apart && d->spill.piece) {
        const size_t spilled = 1 + qb__iterative_unknown_vectors(d->run.it) - KEPT_UNKNOWNS;
        snprintf(facts->remark, sizeof facts->remark,
                 ", with %zu of its %zu volumes and the projections in the host's memory", spilled,
                 spilled + KEPT_UNKNOWNS);
        qb__fact_number(facts, NULL, "volumes_spilled", (double)spilled);
        qb__fact_number(facts, NULL, "block_views", (double)d->spill.views);
    }
    if (!d->apart) return;
    snprintf(facts->remark, sizeof facts->remark,
             ", by slabs of %zu slices and blocks of %zu views: it has no room for the whole", most->slices,
             most->views);
    qb__fact_number(facts, NULL, "slab_slices", (double)most->slices);
    qb__fact_number(facts, NULL, "block_views", (double)most->views);
}

const qb__engine qb__iterative_device = {
    .on_device = true,
    .decide = decide,
    .memory = memory,
    .seconds = seconds,
    .stages = stages,
    .open = open_device,
    .finish = finish,
    .close = close_device,
    .facts = facts,
    .destroy = qb__free,
};
