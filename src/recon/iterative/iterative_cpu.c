/* SPDX-License-Identifier: MIT */
/* The CPU as an engine of the iterative methods. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "ops/project.h"
#include "planner/choose.h"
#include "planner/rates.h"
#include "recon/iterative/iterative.h"

enum { MANY_VIEWS = 64, MANY_FLAT_VIEWS = 256 };

typedef struct on_cpu {
    qb__iterative_run run; /* must be the first member */
    int threads;
    size_t views; /* views of this rank */
    /* while running */
    float *x;     /* image into which adjoint() back-projects */
    qb__run some; /* views that are back-projected now */
    qb_env quiet; /* without progress of the projections, because the solver reports progress */
    float *block;
} on_cpu;

/* ---- iterations ---- */

/* Number of views that are projected at a time, in a block with the layout of the kernels; where runs of the volume pass
 * from rank to rank, all views of this rank. */
static size_t block_views(const qb__iterative *it, const qb__cut *cut) {
    const size_t most = it->projector->flat ? MANY_FLAT_VIEWS : MANY_VIEWS;
    return cut->grid && !qb__iterative_shares_slices(it) ? qb__run_count(cut->all_views)
                                                         : qb__smaller(most, it->info->views);
}

static size_t block_floats(const qb__iterative *it, const qb__cut *cut) {
    return block_views(it, cut) * qb__project_view_floats(it->projector);
}

/* y = A x for views first <= v < first + count of the rays. */
static qb_status project(void *self, const void *x, size_t view0, size_t count, void *projections) {
    float *y = projections;
    const on_cpu *cpu = self;
    const qb__iterative *it = cpu->run.it;
    const size_t image = it->info->rows * it->info->columns, view1 = view0 + count;
    for (size_t view = view0; view < view1; view += block_views(it, &it->cut)) {
        const size_t end = qb__smaller(view + block_views(it, &it->cut), view1);
        memset(cpu->block, 0, block_floats(it, &it->cut) * sizeof *cpu->block);
        QB__OR_RETURN(qb__project_add(it->projector, x, 0, it->grid.n[2], view, end, cpu->block, &cpu->quiet));
        qb__project_finish(it->projector, view, end, cpu->block, y + (view - view0) * image);
    }
    return QB_OK;
}

static qb_status forward(void *self, const void *x, void *projections) {
    const on_cpu *cpu = self;
    return project(self, x, cpu->run.it->cut.all_views.first, cpu->views, projections);
}

/* ---- runs of bricks, where ranks share the views ---- */

static size_t run_count(const qb__iterative *it) {
    return qb__iterative_run_count(it, qb__project_bricks(it->projector));
}

static size_t first_brick(const qb__iterative *it, size_t run) {
    const size_t bricks = qb__project_bricks(it->projector);
    return qb__smaller(run * qb__ceil_div(bricks, run_count(it)), bricks);
}

static size_t run_bytes(void *self, size_t run) {
    const qb__iterative *it = ((const on_cpu *)self)->run.it;
    size_t voxels = 0, at[3], n[3];
    for (size_t brick = first_brick(it, run); brick < first_brick(it, run + 1); brick++) {
        qb__project_brick(it->projector, brick, at, n);
        voxels += n[0] * n[1] * n[2];
    }
    return voxels * sizeof(float);
}

/* Largest bytes of a run, if all bricks were as large as the first one. */
static size_t most_run_bytes(const qb__iterative *it) {
    size_t at[3], n[3];
    qb__project_brick(it->projector, 0, at, n);
    return first_brick(it, 1) * n[0] * n[1] * n[2] * sizeof(float);
}

static size_t run_room(const qb__iterative *it) { return qb__iterative_shares_slices(it) ? 0 : most_run_bytes(it); }

/* Copy the voxels of a brick, line by line, from cpu->x to `to`, or from `from` to cpu->x. Returns their number. */
static size_t copy_brick(const on_cpu *cpu, size_t brick, float *to, const float *from) {
    const qb__iterative *it = cpu->run.it;
    size_t at[3], n[3];
    qb__project_brick(it->projector, brick, at, n);
    for (size_t i = 0; i < n[1] * n[2]; i++) {
        float *line = cpu->x + ((at[2] + i / n[1]) * it->grid.n[1] + at[1] + i % n[1]) * it->grid.n[0] + at[0];
        if (to)
            memcpy(to + i * n[0], line, n[0] * sizeof *line);
        else
            memcpy(line, from + i * n[0], n[0] * sizeof *line);
    }
    return n[0] * n[1] * n[2];
}

static qb_status take_run(void *self, size_t run, void *to) {
    const on_cpu *cpu = self;
    for (size_t brick = first_brick(cpu->run.it, run), at = 0; brick < first_brick(cpu->run.it, run + 1); brick++)
        at += copy_brick(cpu, brick, (float *)to + at, NULL);
    return QB_OK;
}

static qb_status put_run(void *self, size_t run, const void *from) {
    const on_cpu *cpu = self;
    for (size_t brick = first_brick(cpu->run.it, run), at = 0; brick < first_brick(cpu->run.it, run + 1); brick++)
        at += copy_brick(cpu, brick, NULL, (const float *)from + at);
    return QB_OK;
}

static qb_status add_run(void *self, size_t run, bool first) {
    const on_cpu *cpu = self;
    const qb__iterative *it = cpu->run.it;
    if (first && run == 0) memset(cpu->x, 0, qb__iterative_unknowns(it) * sizeof *cpu->x);
    if (qb__run_count(cpu->some) == 0) return QB_OK;
    return qb__project_back(it->projector, cpu->block, cpu->some.first, cpu->some.end, first_brick(it, run),
                            first_brick(it, run + 1), cpu->x, &cpu->quiet);
}

/* ---- the adjoint ---- */

/* x = A' y for these views, or, if `more`, x += A' y. */
static qb_status back(void *self, const void *projections, size_t view0, size_t count, bool more, void *x) {
    const float *y = projections;
    on_cpu *cpu = self;
    const qb__iterative *it = cpu->run.it;
    const size_t image = it->info->rows * it->info->columns, view1 = view0 + count;
    const size_t bricks = qb__project_bricks(it->projector);
    if (!more) memset(x, 0, qb__iterative_unknowns(it) * sizeof(float));
    for (size_t view = view0; view < view1; view += block_views(it, &it->cut)) {
        const size_t end = qb__smaller(view + block_views(it, &it->cut), view1);
        qb__project_spread(it->projector, view, end, y + (view - view0) * image, cpu->block);
        QB__OR_RETURN(qb__project_back(it->projector, cpu->block, view, end, 0, bricks, x, &cpu->quiet));
    }
    return QB_OK;
}

static qb_status adjoint(void *self, const void *projections, void *x) {
    on_cpu *cpu = self;
    const qb__iterative *it = cpu->run.it;
    const size_t view0 = it->cut.all_views.first, view1 = view0 + cpu->views;
    const qb__iterative_runs runs = {
        .self = cpu, .count = run_count(it), .bytes = run_bytes, .add = add_run, .take = take_run, .put = put_run};
    if (it->ranks < 2) return back(self, projections, view0, cpu->views, false, x);
    qb__project_spread(it->projector, view0, view1, projections, cpu->block);
    cpu->x = x;
    cpu->some = (qb__run){view0, view1};
    return qb__iterative_pass(&cpu->run, &runs);
}

static qb_status load(void *self, qb__vector_kind kind, const float *numbers, bool only_kept, void *vector) {
    const on_cpu *cpu = self;
    return qb__iterative_load_here(cpu->run.it, cpu->views, kind, numbers, only_kept, vector);
}

static qb_status total(void *self, double *sum) { return qb__iterative_total(&((on_cpu *)self)->run, sum); }

static qb_status barrier(void *self, qb_status status) { return qb__iterative_barrier(&((on_cpu *)self)->run, status); }

static qb_status solve_run(void *self, size_t chunk, size_t task, int worker, const void *in, void *out) {
    (void)chunk, (void)task, (void)worker;
    on_cpu *cpu = self;
    const bool shares = qb__iterative_shares_slices(cpu->run.it);
    const qb__linear calls = {.self = cpu,
                              .forward = forward,
                              .adjoint = adjoint,
                              .forward_of = shares ? qb__iterative_forward_slices : project,
                              .adjoint_of = shares ? qb__iterative_adjoint_slices : back,
                              .load = load,
                              .total = total,
                              .kernel = cpu->run.it->projector->variant->head.id};
    const qb__linear a = qb__iterative_linear(cpu->run.it, cpu->views, &calls);
    qb_status status = qb__iterative_fill_masked(&cpu->run, cpu->views, (float *)in);
    if (status == QB_OK) status = qb__iterative_find_truncation(&cpu->run, cpu->views, in);
    if (status == QB_OK) qb__iterative_scale_ends(cpu->run.it, cpu->views, (float *)in);
    cpu->run.lines = in;
    return status == QB_OK ? qb__iterative_solve_here(&cpu->run, &a, (float *)in, out) : status;
}

static double pool_seconds(void *self) { return qb__pool_for_seconds(((on_cpu *)self)->run.it->projector->pool); }

static double seconds(void *state, const qb__cut *cut);

static int stages(void *state, const qb__cut *cut, qb__slot_maker *source, qb__stage *stages) {
    (void)source;
    const qb__iterative *it = ((on_cpu *)state)->run.it;
    stages[0] = qb__iterative_prepare_stage(&((on_cpu *)state)->run, cut);
    stages[1] = (qb__stage){.name = it->solver->name,
                            .self = state,
                            .blocking = true,
                            .slots = 1,
                            .slot_bytes = qb__iterative_unknowns(it) * sizeof(float),
                            .forecast = seconds(state, cut),
                            .run = solve_run,
                            .barrier = barrier,
                            .cpu_seconds = pool_seconds};
    return 2;
}

/* ---- what it costs ---- */

static qb__room memory(void *state, const qb__cut *cut) {
    const qb__iterative *it = ((on_cpu *)state)->run.it;
    return (qb__room){.host = qb__iterative_here_bytes(it, cut) + block_floats(it, cut) * sizeof(float) +
                              qb__iterative_share_bytes(it, run_room(it)) +
                              qb__iterative_exchange_bytes(&((const on_cpu *)state)->run)};
}

/* Forecast: each iteration takes one forward and one adjoint projection, and two passes over all vectors. Kernels
 * process neighbouring rows together. In the unit of the kernel's speed, a ray costs FIXED rows per plane before its
 * first row, and EACH for every row; measured for 1 to 64 rows. If slices are processed one by one
 * (ops/project.h), each row costs FLAT. */
static double seconds(void *state, const qb__cut *cut) {
    const double FIXED = 6.8, EACH = 0.17, FLAT = 0.27;
    const on_cpu *cpu = state;
    const qb__iterative *it = cpu->run.it;
    const size_t *n = it->grid.n;
    const double planes = (double)(n[0] > n[1] ? n[0] : n[1]), rows = (double)it->info->rows;
    const double lines = (double)qb__iterative_lines(it, cut), steps = lines / rows * planes;
    const double row = it->projector->flat ? FLAT * rows : FIXED + EACH * rows;
    const double each = 2 * steps * row / qb__speed(&it->projector->variant->head) +
                        6e-9 * ((double)qb__iterative_unknowns(it) + lines);
    return qb__iterative_passes(it) * each / cpu->threads;
}

static qb_status decide(const qb__task *task, void *plan, const qb_env *env, qb__offer *offer) {
    (void)env;
    const qb__iterative *it = plan;
    on_cpu *cpu;
    QB__OR_RETURN(qb__alloc(1, sizeof *cpu, &cpu));
    *cpu = (on_cpu){.run.it = it, .threads = task->threads};
    cpu->run.exchange.project = project;
    cpu->run.exchange.back = back;
    qb__iterative_exchange_sizes(&cpu->run, it->info->rows * it->info->columns * sizeof(float));
    offer->state = cpu;
    offer->space = qb__iterative_space(&cpu->run, offer->space.cap);
    return qb__kernel_of_cpu(it->options->kernel);
}

/* ---- life ---- */

static qb_status open_cpu(void *state, const qb__cut *cut, const qb__running *run) {
    on_cpu *cpu = state;
    cpu->run.run = run;
    cpu->views = qb__iterative_views(cpu->run.it, cut);
    if (run->env) cpu->quiet = *run->env;
    cpu->quiet.progress = NULL;
    qb_status status;
    QB__TRY(qb__iterative_share(&cpu->run, run_room(cpu->run.it)));
    QB__TRY(qb__iterative_exchange_make(&cpu->run, NULL, NULL));
    status = qb__alloc(block_floats(cpu->run.it, cut), sizeof *cpu->block, &cpu->block);
out:
    return status;
}

static qb_status finish(void *state, cJSON *report, qb__prep_counts *counts) {
    return qb__iterative_report(&((on_cpu *)state)->run, report, counts);
}

static void close_cpu(void *state) {
    on_cpu *cpu = state;
    qb__iterative_forget(&cpu->run);
    qb__free(cpu->block);
    cpu->block = NULL;
}

static void facts(void *state, const qb__cut *cut, qb__job_facts *facts) {
    (void)cut;
    facts->kernel = &((on_cpu *)state)->run.it->projector->variant->head;
    snprintf(facts->alternative, sizeof facts->alternative,
             "all of the volume and the views are in memory: give a smaller --size, "
             "or a larger --voxel");
}

const qb__engine qb__iterative_cpu = {
    .decide = decide,
    .memory = memory,
    .seconds = seconds,
    .stages = stages,
    .open = open_cpu,
    .finish = finish,
    .close = close_cpu,
    .facts = facts,
    .destroy = qb__free,
};
