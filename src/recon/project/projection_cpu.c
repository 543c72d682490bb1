/* SPDX-License-Identifier: MIT */
/* The CPU as an engine of the projection. Each slab of the volume is added to a block of views. The projector computes
 * a slab with its own threads. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "planner/choose.h"
#include "planner/rates.h"
#include "recon/project/projection.h"

typedef struct on_cpu {
    const qb__projection *p;
    int threads;
    size_t value_bytes; /* bytes of a pixel in the file */
    /* while running */
    const qb_env *env;
    float *sums; /* sums of the current block of views */
} on_cpu;

/* ---- cost of a cut ---- */

/* Views per block to try. With the whole volume: 64, then half as many each time, at least 16. With several slabs: all
 * views, then blocks of equal size, down to one view. */
static size_t views_after(const void *state, const qb__cut *cut, size_t before) {
    enum { MANY = 64, FEW = 16 };
    const size_t all = ((const on_cpu *)state)->p->scan.views;
    if (cut->slabs > 1) {
        if (before < 2) return before ? 0 : all;
        size_t blocks = qb__ceil_div(all, before);
        while (qb__ceil_div(all, blocks) >= before) blocks++;
        return qb__ceil_div(all, blocks);
    }
    size_t views = before ? before / 2 : qb__smaller(MANY, all);
    return views < qb__smaller(FEW, all) ? 0 : views;
}

static double compute_seconds(const on_cpu *cpu, const qb__cut *cut) {
    const qb__projection *p = cpu->p;
    const double voxels = (double)p->grid.n[0] * (double)p->grid.n[1] * (double)p->grid.n[2];
    return (qb__projection_samples(p) / qb__speed(&p->projector->variant->head) + (double)cut->blocks * voxels * 1e-9) /
           cpu->threads;
}

/* With built-in rates that must be right within a factor of two: a core packs a voxel in 1 ns, for each block of views
 * again; files pass at 1.5 and 1 GB/s. Slabs are read while others are projected, which is not counted: on a slow disk
 * reading again takes longest, so a volume that fits is kept. */
static double seconds(void *state, const qb__cut *cut) {
    const on_cpu *cpu = state;
    const qb__projection *p = cpu->p;
    const size_t *n = p->grid.n, *piece = p->source->chunk;
    const double voxels = (double)n[0] * (double)n[1] * (double)n[2];
    const double blocks = (double)cut->blocks;
    const double once =
        voxels * (double)qb_dtype_size(p->source->dtype) / (piece[0] * piece[1] * piece[2] > 1 ? 0.2e9 : 1.5e9);
    const double read = cut->slabs > 1 ? once * blocks : once;
    const double compute = compute_seconds(cpu, cut);
    const double write = (double)p->scan.views * (double)qb__projection_pixels(p) * (double)cpu->value_bytes / 1e9;
    if (cut->slots < 2) return read + compute + write;
    return read + fmax(compute, write) + write / blocks;
}

static qb__room memory(void *state, const qb__cut *cut) {
    const qb__projection *p = ((on_cpu *)state)->p;
    return (qb__room){.host = cut->views * qb__project_view_floats(p->projector) * sizeof(float) +
                              qb__projection_raw_bytes(p, cut)};
}

static qb_status decide(const qb__task *task, void *plan, const qb_env *env, qb__offer *offer) {
    (void)env;
    const qb__projection *p = plan;
    on_cpu *cpu;
    QB__OR_RETURN(qb__alloc(1, sizeof *cpu, &cpu));
    *cpu = (on_cpu){.p = p, .threads = task->threads, .value_bytes = qb__value_written(task->output)};
    offer->state = cpu;
    offer->timed = true;
    offer->pool = p->projector->pool;
    offer->space = (qb__cut_space){.slices = p->grid.n[2],
                                   .views = p->scan.views,
                                   .layers = {.thickness = p->projector->side[2]},
                                   .most = p->grid.n[2],
                                   .thinner = qb__thinner_single,
                                   .views_after = views_after,
                                   .engine = cpu,
                                   .views_stream = true,
                                   .cap = offer->space.cap};
    return qb__kernel_of_cpu(p->options->kernel);
}

/* ---- the stage ---- */

static qb_status project_run(void *self, size_t chunk, size_t task, int worker, const void *in, void *out) {
    (void)task, (void)worker;
    on_cpu *cpu = self;
    qb_projector *projector = cpu->p->projector;
    const qb__projection_piece k = qb__projection_piece_of(cpu->p, chunk);
    const size_t floats = (k.view1 - k.view0) * qb__project_view_floats(projector);
    if (k.first) memset(cpu->sums, 0, floats * sizeof *cpu->sums);
    qb_status status = qb__project_add(projector, in, k.z0, k.z1, k.view0, k.view1, cpu->sums, cpu->env);
    if (status == QB_OK && k.last) qb__project_finish(projector, k.view0, k.view1, cpu->sums, out);
    return status;
}

static double pool_seconds(void *self) { return qb__pool_for_seconds(((on_cpu *)self)->p->projector->pool); }

static int stages(void *state, const qb__cut *cut, qb__slot_maker *source, qb__stage *stages) {
    (void)source;
    stages[0] = qb__projection_stage(((on_cpu *)state)->p, cut);
    stages[0].self = state;
    stages[0].forecast = compute_seconds(state, cut) / ((double)cut->slabs * (double)cut->blocks);
    stages[0].run = project_run;
    stages[0].cpu_seconds = pool_seconds;
    return 1;
}

/* ---- life ---- */

static qb_status open_cpu(void *state, const qb__cut *cut, const qb__running *run) {
    on_cpu *cpu = state;
    cpu->env = run->env;
    return qb__alloc(cut->views, qb__project_view_floats(cpu->p->projector) * sizeof(float), &cpu->sums);
}

static void close_cpu(void *state) {
    on_cpu *cpu = state;
    qb__free(cpu->sums);
    cpu->sums = NULL;
}

static void facts(void *state, const qb__cut *cut, qb__job_facts *facts) {
    facts->kernel = &((on_cpu *)state)->p->projector->variant->head;
    qb__fact_number(facts, NULL, "volume_reads", cut->slabs == 1 ? 1.0 : (double)cut->blocks);
}

const qb__engine qb__projection_cpu = {
    .decide = decide,
    .memory = memory,
    .seconds = seconds,
    .stages = stages,
    .open = open_cpu,
    .close = close_cpu,
    .facts = facts,
    .destroy = qb__free,
};
