/* SPDX-License-Identifier: MIT */
#include "recon/fdk/fdk_cpu.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/scan/scan.h"
#include "planner/rates.h"

/* ---- cost of a cut ---- */

static qb__layers layers_of(const qb__fdk *fdk) {
    if (!fdk->variant->layers) return (qb__layers){.thickness = 1};
    const qb__layers all = fdk->variant->layers(&fdk->problem);
    return fdk->region.asked ? qb__layers_from(&all, fdk->region.first[2], fdk->grid.n[2]) : all;
}

/* A variant's layout may depend on the position of the rows, not only on their number. Views are sent packed for each
 * row of ranks. */
static void slabs(void *state, qb__cut *cut, size_t *edge, qb__chunks *chunks) {
    qb__fdk_on_cpu *cpu = state;
    const qb__fdk *fdk = cpu->fdk;
    qb__fdk_slabs(cpu->plan, cut, edge, 1);
    qb__cut_chunks(cut, edge, chunks);
    cpu->view_bytes = cpu->sent_bytes = 64;
    cpu->slices = 0;
    for (size_t slab = 0; slab < cut->slabs; slab++) {
        const qb__fdk_window *w = &fdk->window[slab];
        size_t bytes = 0;
        for (int row = 0; cut->grid && row < cut->grid->rows; row++)
            bytes += qb__fdk_packed_bytes(fdk, &fdk->all[(size_t)row * cut->slabs + slab]);
        cpu->sent_bytes = qb__larger(cpu->sent_bytes, bytes);
        if (w->rows.r0 == w->rows.r1) continue;
        cpu->view_bytes = qb__larger(cpu->view_bytes, qb__fdk_packed_bytes(fdk, w));
        cpu->slices += qb__bp_cone_worth(fdk->variant, &fdk->problem, w->z0, w->z1);
    }
    if (!cut->grid) cpu->sent_bytes = cpu->view_bytes;
    cpu->share = cut->grid ? (double)qb__run_count(cut->all_views) / (double)fdk->problem.views / cut->grid->rows : 1;
}

/* Rates without measurements (planner/rates.h), which must be right within a factor of two: a core filters a value in 5
 * ns, resamples one in 15, loads and stores a voxel's sum in 1; packed files pass at 0.2 GB/s. */
double qb__fdk_filter_seconds(const qb__fdk *fdk, double rows) {
    const double each = 1 / qb__rate(QB__RATE_FILTER_CONE, 0.2e9);
    return rows * (double)fdk->problem.views * (double)fdk->width * (each + (fdk->resampled ? 15e-9 : 0));
}

double qb__fdk_read_seconds(const qb__fdk *fdk) {
    const double computed = qb__scan_computed(fdk->scan), rate = fdk->task->read;
    return fdk->stored_rows * (double)fdk->problem.views * (double)qb__fdk_raw_row(fdk) /
           (computed > 0                ? computed
            : fdk->info->chunk_rows > 1 ? fmin(rate, 0.2e9)
                                        : rate);
}

double qb__fdk_write_seconds(const qb__fdk *fdk) {
    const size_t *n = fdk->grid.n, value = qb__value_written(fdk->task->output);
    return (double)n[0] * (double)n[1] * (double)n[2] * (double)value / fdk->task->write;
}

/* Seconds to back-project all chunks, in one thread. */
static double project_seconds(const qb__fdk_on_cpu *cpu, const qb__cut *cut) {
    const qb__bp_cone_problem *p = &cpu->fdk->problem;
    const double slice = (double)p->nx * (double)p->ny;
    return cpu->slices * slice * (double)qb__run_count(cut->all_views) / qb__speed(&cpu->fdk->variant->head) +
           (double)cut->blocks * (double)qb__run_count(cut->all_slices) * slice * 1e-9;
}

/* With two buffers per ring stages overlap, except writing the last slab and preparing the first block; with one they
 * alternate. */
static double seconds(void *state, const qb__cut *cut) {
    const qb__fdk_on_cpu *cpu = state;
    const qb__fdk *fdk = cpu->fdk;
    const qb__bp_cone_problem *p = &fdk->problem;
    double filter = cpu->share * qb__fdk_filter_seconds(fdk, fdk->rows);
    double project = project_seconds(cpu, cut);
    double read = cpu->share * qb__fdk_read_seconds(fdk);
    double write = qb__fdk_write_seconds(fdk) * (double)qb__run_count(cut->all_slices) / (double)p->nz;
    double threads = fdk->task->threads, compute = (filter + project) / threads;
    if (cut->slots < 2) return read + compute + write;
    double slowest = fmax(compute, fmax(read, write)), slabs = (double)cut->slabs;
    return slowest + write / slabs + (read + filter / threads) / (slabs * (double)cut->blocks);
}

static qb__room memory(void *state, const qb__cut *cut) {
    (void)cut;
    const qb__fdk *fdk = ((qb__fdk_on_cpu *)state)->fdk;
    return (qb__room){
        .host = qb__fdk_filter_bytes(fdk),
        .scratch = qb__larger(qb__fdk_filter_scratch(fdk), fdk->variant->scratch_bytes(&fdk->problem)),
    };
}

/* Views per block: 64, or more for many threads; then fewer, down to 8. */
static size_t views_after(const void *state, const qb__cut *cut, size_t before) {
    (void)cut;
    enum { MANY = 64, FEW = 8 };
    const qb__fdk_on_cpu *cpu = state;
    size_t views = MANY;
    while (views < 2 * (size_t)cpu->fdk->task->threads) views *= 2;
    if (before == 0) return qb__smaller(views, cpu->fdk->problem.views);
    while (views >= before) views /= 2;
    return views >= FEW ? views : 0;
}

static qb_status decide(const qb__task *task, void *plan, const qb_env *env, qb__offer *offer) {
    (void)task, (void)env;
    qb__fdk *fdk = plan;
    qb__fdk_on_cpu *cpu;
    qb_status status = qb__fdk_kernel_of_cpu(fdk);
    if (status == QB_OK) status = qb__alloc(1, sizeof *cpu, &cpu);
    if (status != QB_OK) return status;
    *cpu = (qb__fdk_on_cpu){.fdk = fdk, .plan = fdk};
    offer->state = cpu;
    offer->timed = true;
    offer->space = (qb__cut_space){.slices = fdk->grid.n[2],
                                   .views = fdk->problem.views,
                                   .layers = layers_of(fdk),
                                   .most = fdk->grid.n[2],
                                   .thinner = qb__thinner_layers,
                                   .views_after = views_after,
                                   .engine = cpu,
                                   .views_stream = true,
                                   .cap = offer->space.cap};
    return QB_OK;
}

/* ---- filter ---- */

static size_t filter_tasks(void *self, size_t chunk) {
    const qb__fdk_on_cpu *cpu = self;
    qb__fdk_piece p = qb__fdk_share_of(cpu->fdk, chunk);
    return p.view1 - p.view0;
}

/* A run of a view's rows, packed for the rows of ranks whose windows contain it: out[row][view]. */
static void pack_run(const qb__fdk *fdk, size_t chunk, const qb__fdk_piece *p, size_t task, const qb__fdk_window *run,
                     const float *rows, size_t stride, char *out) {
    for (int row = 0; row < qb__fdk_ranks(fdk); row++) {
        const qb__fdk_window *w = qb__fdk_window_of(fdk, chunk, row);
        const size_t bytes = qb__fdk_packed_bytes(fdk, w);
        if (bytes > 0 && w->rows.r0 >= run->rows.r0 && w->rows.r1 <= run->rows.r1)
            fdk->variant->pack(&fdk->problem, p->view0 + task, w->rows, rows + (w->rows.r0 - run->rows.r0) * stride,
                               stride, out + task * bytes);
        out += (p->view1 - p->view0) * bytes;
    }
}

static qb_status filter_run(void *self, size_t chunk, size_t task, int worker, const void *in, void *out) {
    const qb__fdk_on_cpu *cpu = self;
    const qb__fdk *fdk = cpu->fdk;
    const qb__fdk_piece p = qb__fdk_share_of(fdk, chunk);
    const qb__fdk_window *run;
    const size_t runs = qb__fdk_runs(fdk, chunk, &run), views = p.view1 - p.view0;
    for (size_t i = 0; i < runs; i++) {
        size_t stride;
        if (run[i].rows.r0 == run[i].rows.r1) continue;
        const char *raw = (const char *)in + qb__fdk_raw_offset(fdk, run, i, views);
        raw += task * (run[i].raw.end - run[i].raw.first) * qb__fdk_raw_row(fdk);
        const float *rows = qb__fdk_filter_rows(&cpu->filter, &run[i], p.view0 + task, raw, worker, &stride);
        pack_run(fdk, chunk, &p, task, &run[i], rows, stride, out);
    }
    return QB_OK;
}

/* ---- back-project ---- */

typedef struct bricks {
    size_t size[3], count[3];
} bricks;

static bricks bricks_of(const qb__fdk *fdk, const qb__fdk_piece *p) {
    size_t n[3] = {fdk->grid.n[0], fdk->grid.n[1], p->z1 - p->z0};
    bricks b;
    for (int i = 0; i < 3; i++) {
        b.size[i] = fdk->variant->brick[i] ? fdk->variant->brick[i] : qb__larger(n[i], 1);
        b.count[i] = qb__ceil_div(n[i], b.size[i]);
    }
    return b;
}

static size_t brick_tasks(void *self, size_t chunk) {
    const qb__fdk *fdk = ((qb__fdk_on_cpu *)self)->fdk;
    qb__fdk_piece p = qb__fdk_piece_of(fdk, chunk);
    bricks b = bricks_of(fdk, &p);
    return b.count[0] * b.count[1] * b.count[2];
}

static void clear_brick(const qb__fdk *fdk, qb__bp_cone_brick k, float *out) {
    for (size_t z = k.z0; z < k.z1; z++) {
        for (size_t y = k.y0; y < k.y1; y++)
            memset(out + (z * fdk->grid.n[1] + y) * fdk->grid.n[0] + k.x0, 0, (k.x1 - k.x0) * sizeof *out);
    }
}

static qb_status backproject_run(void *self, size_t chunk, size_t task, int worker, const void *in, void *out) {
    const qb__fdk_on_cpu *cpu = self;
    const qb__fdk *fdk = cpu->fdk;
    qb__fdk_piece p = qb__fdk_piece_of(fdk, chunk);
    bricks b = bricks_of(fdk, &p);
    size_t x = task % b.count[0] * b.size[0], rest = task / b.count[0];
    size_t y = rest % b.count[1] * b.size[1], z = p.z0 + rest / b.count[1] * b.size[2];
    const size_t *n = fdk->grid.n, *at = fdk->region.first; /* coordinates are those of the whole grid */
    qb__bp_cone_brick brick = {x + at[0], qb__smaller(x + b.size[0], n[0]) + at[0],
                               y + at[1], qb__smaller(y + b.size[1], n[1]) + at[1],
                               z,         qb__smaller(z + b.size[2], p.z1)};
    float *origin = (float *)out - p.z0 * n[0] * n[1] - at[1] * n[0] - at[0];
    if (p.need->rows.r0 == p.need->rows.r1) {
        if (p.first) clear_brick(fdk, brick, origin);
        return QB_OK;
    }
    fdk->variant->run(&fdk->problem, p.view0, p.view1, in, p.need->rows, brick, origin, n[0] * n[1], n[0], !p.first,
                      cpu->filter.run->scratch[worker]);
    return QB_OK;
}

static int stages(void *state, const qb__cut *cut, qb__slot_maker *source, qb__stage *stages) {
    (void)source;
    qb__fdk_on_cpu *cpu = state;
    const size_t slice = cpu->fdk->grid.n[0] * cpu->fdk->grid.n[1] * sizeof(float);
    const size_t ranks = cut->grid ? (size_t)cut->grid->rows : 1;
    const double chunks = (double)cut->slabs * (double)cut->blocks;
    stages[0] = (qb__stage){.name = "filter",
                            .self = state,
                            .slots = cut->slots,
                            .slot_bytes = qb__ceil_div(cut->views, ranks) * cpu->sent_bytes,
                            .forecast = cpu->share * qb__fdk_filter_seconds(cpu->fdk, cpu->fdk->rows) / chunks,
                            .tasks = filter_tasks,
                            .run = filter_run};
    const int n = 1 + qb__fdk_gather_stage(cpu, cut, stages + 1);
    stages[n] = (qb__stage){.name = "back-project",
                            .self = state,
                            .slots = cut->slabs > 1 ? cut->slots : 1,
                            .gather = cut->blocks,
                            .slot_bytes = qb__larger(cut->slices, 1) * slice,
                            .forecast = project_seconds(cpu, cut) / chunks,
                            .tasks = brick_tasks,
                            .run = backproject_run};
    return n + 1;
}

/* ---- life ---- */

static qb_status open_cpu(void *state, const qb__cut *cut, const qb__running *run) {
    (void)cut;
    qb__fdk_on_cpu *cpu = state;
    qb_status status = qb__fdk_filter_open(&cpu->filter, cpu->fdk, run);
    if (status == QB_OK && run->ranks)
        status = qb__alloc(2 * (size_t)run->ranks->rows, sizeof *cpu->parts, &cpu->parts);
    return status;
}

static void close_cpu(void *state) {
    qb__fdk_on_cpu *cpu = state;
    qb__fdk_filter_close(&cpu->filter);
    qb__free(cpu->parts);
    cpu->parts = NULL;
}

static void facts(void *state, const qb__cut *cut, qb__job_facts *facts) {
    (void)cut;
    facts->kernel = &((qb__fdk_on_cpu *)state)->fdk->variant->head;
}

const qb__engine qb__fdk_cpu = {
    .decide = decide,
    .slabs = slabs,
    .memory = memory,
    .seconds = seconds,
    .stages = stages,
    .open = open_cpu,
    .close = close_cpu,
    .facts = facts,
    .destroy = qb__free,
};
