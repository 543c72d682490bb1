/* SPDX-License-Identifier: MIT */
/* The CPU as an engine. The filter stage prepares, filters and packs rows; the back-projection stage adds them to
 * slices. */
#include "recon/fbp/fbp_cpu.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "planner/choose.h"
#include "planner/rates.h"

enum {
    FILTER_VIEWS = 4,
    MOST_TILE = 64
}; /* views per filtering task for several slices; pixels on a side of a tile of one slice */

/* ---- slices ---- */

static const qb__bp_parallel_variant *variant_for(const qb__fbp *fbp, size_t slices) {
    return qb__bp_parallel_for(fbp->variant, slices);
}

static unsigned lanes_for(const qb__fbp *fbp, size_t slices) {
    return (unsigned)qb__round_up(slices, variant_for(fbp, slices)->head.step);
}

static size_t rows_bytes(const qb__fbp *fbp, size_t slices) { return slices * qb__fbp_row_stride(fbp) * sizeof(float); }

/* Scratch of a thread: the rows of one view and scratch of the filter, or scratch of a tile. */
size_t qb__fbp_scratch(const qb__fbp *fbp, size_t slices) {
    size_t filter = rows_bytes(fbp, slices) + qb__filter_scratch(fbp->filter);
    if (fbp->roll.maps) filter += qb__rolled_rows_scratch(&fbp->rolled, (slices - 1) * fbp->step + 1);
    size_t tile = fbp->variant->scratch_bytes(&fbp->problem, (unsigned)qb__round_up(slices, fbp->variant->head.step));
    return qb__larger(filter, tile); /* where the last slab is one slice, its tiles take less */
}

size_t qb__fbp_packed_bytes(const qb__fbp *fbp, size_t slices) {
    return fbp->info->views * variant_for(fbp, slices)->view_bytes(&fbp->problem, lanes_for(fbp, slices));
}

/* Multiply a row by its columns' shares, and write zeros on both sides. */
static void share_out(const qb__fbp *fbp, const float *share, float *row) {
    const qb__half_fan *fan = &fbp->fan;
    memset(row, 0, fan->before * sizeof *row);
    row += fan->before;
    for (size_t c = 0; c < fan->columns; c++) row[c] *= share[c];
    memset(row + fan->columns, 0, fan->after * sizeof *row);
}

static void prepare_view(const qb__fbp *fbp, const qb__fbp_worker *worker, size_t view, size_t slices, size_t first_row,
                         const char *raw, float *rows) {
    const size_t stride = qb__fbp_row_stride(fbp);
    if (fbp->roll.maps) {
        size_t first, end;
        qb__fbp_window(fbp, first_row, slices, &first, &end);
        raw += view * (end - first) * qb__fbp_raw_row(fbp);
        qb__rolled_rows_view(&fbp->rolled, worker->prepare, view, first_row, fbp->step, slices, raw,
                             rows + fbp->fan.before, stride, worker->scratch + rows_bytes(fbp, slices), worker->counts);
        return;
    }
    for (size_t s = 0; s < slices; s++)
        qb__prepare_row(worker->prepare, view, first_row + s * fbp->step,
                        raw + qb__fbp_raw_offset(fbp, slices, 1, view, s), rows + s * stride + fbp->fan.before,
                        worker->counts);
}

void qb__fbp_filter_view(const qb__fbp *fbp, const qb__fbp_worker *worker, size_t view, size_t slices, size_t first_row,
                         const char *raw, void *packed) {
    unsigned lanes = lanes_for(fbp, slices);
    size_t stride = qb__fbp_row_stride(fbp);
    float *rows = (float *)worker->scratch;
    prepare_view(fbp, worker, view, slices, first_row, raw, rows);
    const float *share = qb__fbp_share_of(fbp, view);
    for (size_t s = 0; share && s < slices; s++) share_out(fbp, share, rows + s * stride);
    qb__filter_rows(fbp->filter, rows, slices, stride, fbp->weights[view], worker->scratch + rows_bytes(fbp, slices));
    char *block = (char *)packed + view * variant_for(fbp, slices)->view_bytes(&fbp->problem, lanes);
    variant_for(fbp, slices)->pack(&fbp->problem, view, lanes, (unsigned)slices, rows, stride, block);
}

/* Number of tiles of the whole grid, along axis i, that overlap the region. */
static size_t tiles_along(const qb__fbp *fbp, int i) {
    const size_t tile = fbp->variant->tile, first = fbp->region.first[i];
    return qb__ceil_div(first + fbp->grid.n[i], tile) - first / tile;
}

size_t qb__fbp_tiles(const qb__fbp *fbp) { return tiles_along(fbp, 0) * tiles_along(fbp, 1); }

/* Compute the part of a tile that lies in the region, with a kernel that starts at tiles: [y0, y1) x [x0, x1) of the
 * whole grid. */
static void run_aligned(const qb__fbp *fbp, const void *packed, const size_t from[2], const size_t to[2], float *slab,
                        char *scratch) {
    float made[MOST_TILE * MOST_TILE];
    const size_t tile = fbp->variant->tile, *at = fbp->region.first, nx = fbp->grid.n[0];
    const size_t x0 = from[0] / tile * tile, y0 = from[1] / tile * tile;
    fbp->variant->run(&fbp->problem, packed, lanes_for(fbp, 1), 1, x0, to[0], y0, to[1], made - y0 * tile - x0,
                      tile * tile, tile, scratch);
    for (size_t y = from[1]; y < to[1]; y++)
        memcpy(slab + (y - at[1]) * nx + from[0] - at[0], made + (y - y0) * tile + from[0] - x0,
               (to[0] - from[0]) * sizeof *slab);
}

void qb__fbp_tile(const qb__fbp *fbp, size_t slices, size_t number, const void *packed, float *slab, char *scratch) {
    const size_t tile = fbp->variant->tile, nx = fbp->grid.n[0], ny = fbp->grid.n[1];
    const size_t *at = fbp->region.first, turn[2] = {number % tiles_along(fbp, 0), number / tiles_along(fbp, 0)};
    size_t from[2], to[2]; /* corners in coordinates of the whole grid */
    for (int i = 0; i < 2; i++) {
        const size_t begin = (at[i] / tile + turn[i]) * tile;
        from[i] = qb__larger(begin, at[i]);
        to[i] = qb__smaller(begin + tile, at[i] + fbp->grid.n[i]);
    }
    if (fbp->region.asked && fbp->variant->head.most == 1) {
        run_aligned(fbp, packed, from, to, slab, scratch);
        return;
    }
    variant_for(fbp, slices)
        ->run(&fbp->problem, packed, lanes_for(fbp, slices), (unsigned)slices, from[0], to[0], from[1], to[1],
              slab - at[1] * nx - at[0], nx * ny, nx, scratch);
}

/* ---- the engine ---- */

typedef struct on_cpu {
    const qb__fbp *fbp;
    const qb__variant *instead_of; /* a kernel for which memory is missing; NULL: none */
    const qb__running *run;        /* set while running */
} on_cpu;

static qb_status make_offer(const qb__fbp *fbp, const qb__variant *instead_of, qb__offer *offer) {
    const qb__variant *variant = &fbp->variant->head;
    const size_t slices = qb__fbp_question(fbp).slices;
    on_cpu *cpu;
    QB__OR_RETURN(qb__alloc(1, sizeof *cpu, &cpu));
    *cpu = (on_cpu){.fbp = fbp, .instead_of = instead_of};
    offer->state = cpu;
    /* Two buffers per ring let stages overlap. But storage chunks of several rows are read again for every slab that
     * needs a part of them, so fewer slabs may be faster. */
    offer->timed = fbp->info->chunk_rows <= 1;
    offer->space = (qb__cut_space){.slices = slices,
                                   .views = fbp->info->views,
                                   .layers = {.thickness = variant->step},
                                   .most = qb__smaller(qb__round_up(slices, variant->step), variant->most),
                                   .thinner = qb__thinner_even,
                                   .cap = offer->space.cap};
    return QB_OK;
}

/* Offer chunks of many slices. The plan's variant also computes single slices, and may process fewer slices than asked
 * for. */
static qb_status decide(const qb__task *task, void *plan, const qb_env *env, qb__offer *offer) {
    (void)task, (void)env;
    const qb__question question = qb__fbp_question(plan);
    qb__choice choice;
    qb_status status = qb__choose(&question, &choice);
    return status == QB_OK ? make_offer(plan, NULL, offer) : status;
}

/* Offer single slices with the best kernel for one slice. No offer if the user named a kernel, or if that kernel is the
 * usual one. */
static qb_status decide_single(const qb__task *task, void *plan, const qb_env *env, qb__offer *offer) {
    (void)task, (void)env;
    qb__fbp *fbp = plan;
    qb__question question = qb__fbp_question(fbp);
    const qb__variant *usual = &fbp->variant->head;
    qb__choice choice;
    question.slices = 1;
    if (question.id) return QB_OK;
    qb_status status = qb__choose(&question, &choice);
    if (status != QB_OK || choice.variant->step >= usual->step) return status;
    qb__fbp_take_kernel(fbp, choice.variant);
    return make_offer(fbp, usual, offer);
}

static qb__room memory(void *state, const qb__cut *cut) {
    return (qb__room){.scratch = qb__fbp_scratch(((on_cpu *)state)->fbp, cut->slices)};
}

/* Seconds to filter, in one thread. */
static double filter_seconds(const qb__fbp *fbp, size_t slices) {
    return (double)qb__filter_length(fbp->filter) * (double)slices * (double)fbp->info->views /
           qb__rate(QB__RATE_FILTER, 0.4e9);
}

/* Relative time of an update with so few lanes. The work per pixel and view is shared by the vectors of its slices. */
static double narrow(const qb__variant *variant, double lanes) {
    return variant->step ? 1 + 0.3 * variant->step / lanes : 1;
}

/* Seconds to back-project, in one thread. Lanes without a slice cost as much as others. Rates of kernels hold for 64
 * slices. */
static double backproject_seconds(const qb__fbp *fbp, size_t slices) {
    enum { USUAL = 64 };
    const qb__variant *variant = &variant_for(fbp, slices)->head;
    const double lanes = lanes_for(fbp, slices), usual = fmin(USUAL, variant->most ? variant->most : USUAL);
    const double updates = (double)fbp->grid.n[0] * (double)fbp->grid.n[1] * lanes * (double)fbp->info->views;
    return updates / qb__speed(variant) * narrow(variant, lanes) / narrow(variant, usual);
}

/* Number of rows per filtering task. A row takes some microseconds, not much more than starting a task. */
static size_t filter_views(const qb__fbp *fbp, size_t chunk) {
    return qb__fbp_chunk_slices(fbp, chunk) < 4 ? 3 * FILTER_VIEWS : FILTER_VIEWS;
}

static size_t filter_tasks(void *self, size_t chunk) {
    const qb__fbp *fbp = ((on_cpu *)self)->fbp;
    return qb__ceil_div(fbp->info->views, filter_views(fbp, chunk));
}

static qb_status filter_run(void *self, size_t chunk, size_t task, int worker, const void *in, void *out) {
    const on_cpu *cpu = self;
    const qb__fbp *fbp = cpu->fbp;
    const qb__fbp_worker has = {cpu->run->prepare, cpu->run->scratch[worker], &cpu->run->counts[worker]};
    size_t slices = qb__fbp_chunk_slices(fbp, chunk), row0 = qb__fbp_chunk_row(fbp, chunk);
    const size_t views = filter_views(fbp, chunk), end = qb__smaller((task + 1) * views, fbp->info->views);
    bool ready;
    void *kept = qb__filtered_rows(fbp->reader.filtered, chunk, &ready), *to = kept ? kept : out;
    if (ready) return QB_OK;
    for (size_t view = task * views; view < end; view++) qb__fbp_filter_view(fbp, &has, view, slices, row0, in, to);
    qb__filtered_add(fbp->reader.filtered, chunk, end - task * views);
    return QB_OK;
}

static size_t tile_tasks(void *self, size_t chunk) {
    (void)chunk;
    return qb__fbp_tiles(((on_cpu *)self)->fbp);
}

static qb_status backproject_run(void *self, size_t chunk, size_t task, int worker, const void *in, void *out) {
    const on_cpu *cpu = self;
    bool ready;
    const void *kept = qb__filtered_rows(cpu->fbp->reader.filtered, chunk, &ready);
    qb__fbp_tile(cpu->fbp, qb__fbp_chunk_slices(cpu->fbp, chunk), task, kept ? kept : in, out,
                 cpu->run->scratch[worker]);
    return QB_OK;
}

static int stages(void *state, const qb__cut *cut, qb__slot_maker *source, qb__stage *stages) {
    (void)source;
    const qb__fbp *fbp = ((on_cpu *)state)->fbp;
    const size_t slice = fbp->grid.n[0] * fbp->grid.n[1] * sizeof(float);
    const size_t last = qb__cut_last(cut, qb__run_count(cut->all_slices));
    stages[0] = (qb__stage){.name = "filter",
                            .self = state,
                            .slots = cut->slots,
                            .slot_bytes = qb__fbp_packed_bytes(fbp, cut->slices),
                            .last_bytes = qb__fbp_packed_bytes(fbp, last),
                            .forecast = filter_seconds(fbp, cut->slices),
                            .tasks = filter_tasks,
                            .run = filter_run};
    stages[1] = (qb__stage){.name = "back-project",
                            .self = state,
                            .slots = cut->slots,
                            .slot_bytes = cut->slices * slice,
                            .last_bytes = last * slice,
                            .forecast = backproject_seconds(fbp, cut->slices),
                            .tasks = tile_tasks,
                            .run = backproject_run};
    return 2;
}

static qb_status open_cpu(void *state, const qb__cut *cut, const qb__running *run) {
    on_cpu *cpu = state;
    const qb__fbp *fbp = cpu->fbp;
    cpu->run = run;
    if (fbp->reader.filtered)
        qb__filtered_begin(fbp->reader.filtered, fbp, cut, qb__fbp_packed_bytes(fbp, cut->slices),
                           qb__fbp_packed_bytes(fbp, qb__cut_last(cut, qb__run_count(cut->all_slices))));
    return QB_OK;
}

static void facts(void *state, const qb__cut *cut, qb__job_facts *facts) {
    (void)cut;
    const on_cpu *cpu = state;
    facts->kernel = &cpu->fbp->variant->head;
    facts->question = qb__fbp_question(cpu->fbp);
    facts->class_matters = true;
    facts->too_large = cpu->instead_of;
}

#define ENGINE(...)                                                                                                    \
    { .memory = memory, .stages = stages, .open = open_cpu, .facts = facts, .destroy = qb__free, __VA_ARGS__ }
const qb__engine qb__fbp_cpu = ENGINE(.decide = decide);
const qb__engine qb__fbp_cpu_single = ENGINE(.decide = decide_single, .last = true);

qb__question qb__fbp_question(const qb__fbp *fbp) {
    return (qb__question){.operation = QB__BP_PARALLEL,
                          .problem = &fbp->problem,
                          .slices = fbp->grid.n[2],
                          .interp = fbp->options->interp,
                          .accuracy = fbp->options->accuracy,
                          .id = fbp->options->kernel};
}
