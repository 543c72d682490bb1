/* SPDX-License-Identifier: MIT */
/* The CPU as an engine of the iterative methods: blocks of views are prepared into one buffer of all
 * line integrals, then the solver makes the volume of it. */
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "ops/project.h"
#include "recon/iterative/iterative.h"

enum { READ_VIEWS = 16, MANY_VIEWS = 64 };

typedef struct on_cpu {
    const qb__iterative *it;
    int threads;
    /* while running */
    const qb__running *run;
    qb_env quiet; /* projection says how far it is, view by view: that is not how far the solver is */
    float *block;
    qb__solved solved;
} on_cpu;

/* ---- reading: blocks of views, all rows ---- */

static size_t raw_view(const qb__iterative *it) {
    return it->info->rows * it->info->columns * qb_dtype_size(it->info->dtype);
}

static size_t first_view(const qb__iterative *it, size_t chunk) { return chunk * it->cut.views; }

static size_t end_view(const qb__iterative *it, size_t chunk) {
    return qb__smaller(first_view(it, chunk) + it->cut.views, it->info->views);
}

static size_t read_tasks(void *self, size_t chunk) {
    return qb__ceil_div(end_view(self, chunk) - first_view(self, chunk), READ_VIEWS);
}

static qb_status read_run(void *self, size_t chunk, size_t task, int worker, const void *in,
                          void *out) {
    (void)worker, (void)in;
    const qb__iterative *it = self;
    const size_t first = first_view(it, chunk) + task * READ_VIEWS;
    const size_t end = qb__smaller(first + READ_VIEWS, end_view(it, chunk));
    return qb_scan_read(it->scan, first, end, 0, it->info->rows,
                        (char *)out + task * READ_VIEWS * raw_view(it));
}

int qb__iterative_stages(void *plan, const qb__cut *cut, qb__stage *stages) {
    stages[0] = (qb__stage){.name = "read",
                            .self = plan,
                            .blocking = true,
                            .slots = cut->slots,
                            .slot_bytes = cut->views * raw_view(plan),
                            .tasks = read_tasks,
                            .run = read_run};
    return 1;
}

qb_status qb__iterative_open(void *plan, const qb__cut *cut) {
    ((qb__iterative *)plan)->cut = *cut;
    return QB_OK;
}

/* ---- preparation ---- */

static size_t prepare_tasks(void *self, size_t chunk) {
    const qb__iterative *it = ((const on_cpu *)self)->it;
    return end_view(it, chunk) - first_view(it, chunk);
}

static qb_status prepare_run(void *self, size_t chunk, size_t task, int worker, const void *in,
                             void *out) {
    const on_cpu *cpu = self;
    const qb__iterative *it = cpu->it;
    const size_t view = first_view(it, chunk) + task, columns = it->info->columns;
    const size_t row_bytes = columns * qb_dtype_size(it->info->dtype);
    const char *raw = (const char *)in + task * raw_view(it);
    float *lines = (float *)out + view * it->info->rows * columns;
    for (size_t row = 0; row < it->info->rows; row++)
        qb__prepare_row(cpu->run->prepare, view, row, raw + row * row_bytes, lines + row * columns,
                        &cpu->run->counts[worker]);
    return QB_OK;
}

/* ---- iterations ---- */

/* Projections pass through a block of views in the order that the kernels want. */
static size_t block_views(const qb__iterative *it) {
    return qb__smaller(MANY_VIEWS, it->info->views);
}

static size_t block_floats(const qb__iterative *it) {
    return block_views(it) * qb__project_view_floats(it->projector);
}

static qb_status forward(void *self, const float *x, float *y) {
    const on_cpu *cpu = self;
    const qb__iterative *it = cpu->it;
    const size_t image = it->info->rows * it->info->columns, all = it->info->views;
    for (size_t view = 0; view < all; view += block_views(it)) {
        const size_t end = qb__smaller(view + block_views(it), all);
        memset(cpu->block, 0, block_floats(it) * sizeof *cpu->block);
        qb_status status = qb__project_add(it->projector, x, 0, it->grid.n[2], view, end, cpu->block,
                                           &cpu->quiet);
        if (status != QB_OK) return status;
        qb__project_finish(it->projector, view, end, cpu->block, y + view * image);
    }
    return QB_OK;
}

static qb_status adjoint(void *self, const float *y, float *x) {
    const on_cpu *cpu = self;
    const qb__iterative *it = cpu->it;
    const size_t image = it->info->rows * it->info->columns, all = it->info->views;
    memset(x, 0, qb__iterative_unknowns(it) * sizeof *x);
    for (size_t view = 0; view < all; view += block_views(it)) {
        const size_t end = qb__smaller(view + block_views(it), all);
        qb__project_spread(it->projector, view, end, y + view * image, cpu->block);
        qb_status status = qb__project_back(it->projector, cpu->block, view, end, 0, it->grid.n[2], x,
                                            &cpu->quiet);
        if (status != QB_OK) return status;
    }
    return QB_OK;
}

static qb_status solve_run(void *self, size_t chunk, size_t task, int worker, const void *in,
                           void *out) {
    (void)chunk, (void)task, (void)worker;
    on_cpu *cpu = self;
    const qb__iterative *it = cpu->it;
    const qb_iterative_options *o = it->options;
    const qb__linear a = {cpu, qb__iterative_unknowns(it), qb__iterative_equations(it), forward,
                          adjoint};
    const qb__solve_options options = {o->iterations, o->tolerance, o->relaxation, o->nonneg};
    qb__vectors vectors = {0};
    float *x = out;
    qb__free(cpu->solved.trace);
    qb_status status;
    QB__TRY(qb__alloc((size_t)o->iterations, sizeof *cpu->solved.trace, &cpu->solved.trace));
    QB__TRY(qb__vectors_create(it->projector->pool, a.unknowns > a.equations ? a.unknowns : a.equations,
                               &vectors));
    for (size_t i = 0; i < a.unknowns; i++) x[i] = 0;
    QB__TRY(it->solver->run(&a, &options, &vectors, cpu->run->env, (float *)in, x, &cpu->solved));
    if (o->hu > 0) qb__vector_scale(&vectors, 1000 / o->hu, x, a.unknowns); /* the sink takes 1000 off */
out:
    qb__vectors_destroy(&vectors);
    return status;
}

static double pool_seconds(void *self) {
    return qb__project_cpu_seconds(((on_cpu *)self)->it->projector);
}

static int stages(void *state, const qb__cut *cut, qb__slot_maker *source, qb__stage *stages) {
    (void)source;
    const qb__iterative *it = ((on_cpu *)state)->it;
    stages[0] = (qb__stage){.name = "prepare",
                            .self = state,
                            .slots = 1,
                            .gather = cut->blocks,
                            .slot_bytes = qb__iterative_equations(it) * sizeof(float),
                            .tasks = prepare_tasks,
                            .run = prepare_run};
    stages[1] = (qb__stage){.name = it->solver->name,
                            .self = state,
                            .blocking = true,
                            .slots = 1,
                            .slot_bytes = qb__iterative_unknowns(it) * sizeof(float),
                            .run = solve_run,
                            .cpu_seconds = pool_seconds};
    return 2;
}

/* ---- what it costs ---- */

static qb__room memory(void *state, const qb__cut *cut) {
    (void)cut;
    const qb__iterative *it = ((on_cpu *)state)->it;
    const qb__solver *solver = it->solver;
    const size_t unknowns = qb__iterative_unknowns(it), equations = qb__iterative_equations(it);
    const size_t data = solver == &qb__solver_cgls && it->options->nonneg; /* a copy of them */
    const size_t longest = unknowns > equations ? unknowns : equations;
    return (qb__room){.host = (solver->unknowns * unknowns + (solver->equations + data) * equations) *
                                  sizeof(float) +
                              3 * sizeof(double) * qb__vector_blocks(longest) +
                              block_floats(it) * sizeof(float) +
                              (size_t)it->options->iterations * sizeof(qb__solve_trace)};
}

static size_t scratch(void *state, const qb__cut *cut) {
    (void)state, (void)cut;
    return 0; /* the projector has its own */
}

/* Both directions once an iteration; two passes over all vectors besides. Guesses that need be right
 * to a factor of two. */
static double seconds(void *state, const qb__cut *cut) {
    (void)cut;
    const on_cpu *cpu = state;
    const qb__iterative *it = cpu->it;
    const size_t *n = it->grid.n;
    const double planes = (double)(n[0] > n[1] ? n[0] : n[1]);
    const double samples = (double)qb__iterative_equations(it) * planes;
    const double each = 2 * samples / (it->projector->variant->head.speed * 1e9) +
                        6e-9 * ((double)qb__iterative_unknowns(it) + (double)qb__iterative_equations(it));
    return it->options->iterations * each / cpu->threads;
}

static size_t views_after(const void *state, const qb__cut *cut, size_t before) {
    (void)cut;
    const size_t all = ((const on_cpu *)state)->it->info->views;
    if (before == 0) return qb__smaller(MANY_VIEWS, all);
    return before / 2;
}

static size_t never_thinner(const qb__cut_space *space, size_t thickness) {
    (void)space, (void)thickness;
    return 0; /* every voxel depends on every other */
}

static qb_status decide(const qb__task *task, void *plan, const qb_env *env, qb__offer *offer) {
    (void)env;
    const qb__iterative *it = plan;
    on_cpu *cpu;
    qb_status status = qb__alloc(1, sizeof *cpu, &cpu);
    if (status != QB_OK) return status;
    *cpu = (on_cpu){.it = it, .threads = task->threads};
    offer->state = cpu;
    offer->space = (qb__cut_space){.slices = it->grid.n[2],
                                   .views = it->info->views,
                                   .layers = {.thickness = 1},
                                   .most = it->grid.n[2],
                                   .thinner = never_thinner,
                                   .views_after = views_after,
                                   .engine = cpu,
                                   .views_stream = true,
                                   .cap = offer->space.cap};
    return QB_OK;
}

/* ---- life ---- */

static qb_status open_cpu(void *state, const qb__cut *cut, const qb__running *run) {
    (void)cut;
    on_cpu *cpu = state;
    cpu->run = run;
    if (run->env) cpu->quiet = *run->env;
    cpu->quiet.progress = NULL;
    return qb__alloc(block_floats(cpu->it), sizeof *cpu->block, &cpu->block);
}

static qb_status finish(void *state, cJSON *report, qb__prep_counts *counts) {
    (void)counts;
    on_cpu *cpu = state;
    const qb__solved *solved = &cpu->solved;
    if (!report) return QB_OK;
    cJSON *json = cJSON_AddObjectToObject(report, "convergence");
    cJSON *residual = cJSON_CreateArray(), *change = cJSON_CreateArray();
    cJSON_AddNumberToObject(json, "iterations", solved->iterations);
    cJSON_AddStringToObject(json, "stopped", solved->stopped);
    for (int i = 0; i < solved->iterations; i++) {
        cJSON_AddItemToArray(residual, cJSON_CreateNumber(solved->trace[i].residual));
        cJSON_AddItemToArray(change, cJSON_CreateNumber(solved->trace[i].change));
    }
    cJSON_AddItemToObject(json, "residual", residual);
    cJSON_AddItemToObject(json, "change", change);
    return QB_OK;
}

static void close_cpu(void *state) {
    on_cpu *cpu = state;
    qb__free(cpu->solved.trace);
    qb__free(cpu->block);
    cpu->block = NULL;
    cpu->solved = (qb__solved){0};
}

static void describe(void *state, const qb__cut *cut, cJSON *plan) {
    (void)cut;
    const qb__joseph_variant *variant = ((on_cpu *)state)->it->projector->variant;
    cJSON_AddStringToObject(plan, "kernel", variant->head.id);
    cJSON_AddStringToObject(plan, "device", "cpu");
}

static const char *kernel(void *state) {
    return ((on_cpu *)state)->it->projector->variant->head.id;
}

const qb__engine qb__iterative_cpu = {
    .name = "cpu",
    .place = "this computer",
    .decide = decide,
    .memory = memory,
    .scratch = scratch,
    .seconds = seconds,
    .stages = stages,
    .open = open_cpu,
    .finish = finish,
    .close = close_cpu,
    .describe = describe,
    .kernel = kernel,
    .destroy = qb__free,
};
