/* SPDX-License-Identifier: MIT */
/* Which device and kernel a cone-beam reconstruction takes, and in what slabs and blocks. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/comm.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "planner/tuning.h"
#include "recon/fdk/fdk_cpu.h"
#include "recon/fdk/fdk_device.h"

enum {
    MOST_VIEWS = 128 /* of a block */
};

static const qb__bp_cone_device_variant *variant_of(const qb__fdk_gpu *gpu) {
    return qb__bp_cone_on_device(gpu->pick.choice.variant);
}

/* ---- what a cut holds ---- */

qb__bp_cone_most qb__fdk_gpu_most(const qb__fdk_gpu *gpu, const qb__cut *cut) {
    return (qb__bp_cone_most){cut->views, gpu->fdk->window_rows};
}

size_t qb__fdk_gpu_block(const qb__fdk_gpu *gpu, const qb__cut *cut) {
    return cut->views * gpu->fdk->window_rows * gpu->fdk->width * sizeof(float);
}

/* The room of one, for a rank that has none. */
static size_t most_slices(const qb__cut *cut) { return qb__larger(cut->slices, 1); }

size_t qb__fdk_gpu_slab(const qb__fdk_gpu *gpu, const qb__cut *cut) {
    return most_slices(cut) * gpu->fdk->grid.n[0] * gpu->fdk->grid.n[1] * sizeof(float);
}

size_t qb__fdk_gpu_raw(const qb__fdk_gpu *gpu, const qb__cut *cut) {
    return cut->views * gpu->fdk->raw_rows * qb__fdk_raw_row(gpu->fdk);
}

/* Raw blocks that may lie on the device: more than two where they are little beside a slab, for while the slab before is
 * written to files in memory, reading takes four times as long as else, and the device is not to wait for it. */
size_t qb__fdk_gpu_ahead(const qb__fdk_gpu *gpu, const qb__cut *cut) {
    enum { MOST = 8 };
    const size_t room = qb__fdk_gpu_slab(gpu, cut) / 2 / qb__larger(qb__fdk_gpu_raw(gpu, cut), 1);
    return cut->slots < 2 || cut->slabs < 2 ? cut->slots : qb__larger(2, qb__smaller(room, MOST));
}

static size_t device_bytes(const qb__fdk_gpu *gpu, const qb__cut *cut) {
    const qb__bp_cone_problem *p = &gpu->problem;
    const qb__bp_cone_most most = qb__fdk_gpu_most(gpu, cut);
    const size_t filter =
        gpu->beside ? 0 : qb__fdk_gpu_filter_bytes(gpu) + qb__fdk_gpu_ahead(gpu, cut) * qb__fdk_gpu_raw(gpu, cut);
    return filter + cut->slots * qb__fdk_gpu_block(gpu, cut) +
           qb__fdk_gpu_slabs(cut) * qb__fdk_gpu_slab(gpu, cut) +
           variant_of(gpu)->packed_bytes(p, most, gpu->pick.choice.values) +
           variant_of(gpu)->plan_bytes(gpu->pick.device, p, most, gpu->pick.choice.values) +
           qb__down_device(&gpu->way_down, qb__fdk_gpu_down(cut)) +
           (qb__fdk_gpu_columns(cut) > 1 ? qb__device_sum_bytes(qb__fdk_gpu_columns(cut), qb__fdk_gpu_slab(gpu, cut)) : 0);
}

qb__room qb__fdk_gpu_memory(void *state, const qb__cut *cut) {
    const qb__fdk_gpu *gpu = state;
    const size_t filter = gpu->beside ? qb__fdk_filter_bytes(gpu->fdk) : qb__fdk_gpu_filter_tables(gpu->fdk);
    qb__room room = {.host = filter + qb__down_open_bytes(&gpu->way_down),
                     .device = device_bytes(gpu, cut)};
    if (qb__fdk_gpu_columns(cut) > 1) room.host += qb__device_sum_host(qb__fdk_gpu_columns(cut), qb__fdk_gpu_slab(gpu, cut));
    room.host += qb__device_pick_host_bytes(&gpu->pick, room.device);
    return room;
}

void qb__fdk_gpu_cut(void *state, const qb__cut *cut, const size_t *edge) {
    (void)edge;
    qb__fdk_gpu *gpu = state;
    gpu->rows = gpu->raw_rows = 0;
    for (size_t slab = 0; slab < cut->slabs; slab++) {
        const qb__fdk_window *w = cut->folded ? gpu->fdk->half + 2 * slab : &gpu->fdk->window[slab];
        for (const qb__fdk_window *end = w + 1 + cut->folded; w < end; w++) {
            if (w->rows.r0 == w->rows.r1) continue;
            gpu->rows += (double)(w->rows.r1 - w->rows.r0);
            gpu->raw_rows += qb__fdk_rows_read(gpu->fdk->info, &w->raw);
        }
    }
}

qb_status qb__fdk_gpu_no_room(void *state, const qb__cut *least, const qb__room *cap, const qb_env *env) {
    const qb__fdk_gpu *gpu = state;
    return qb__device_no_room(device_bytes(gpu, least), cap, "even one slice needs",
                              "a smaller --size, or --device cpu", env);
}

/* ---- how long ---- */

/* Of a rank: its views, and what part of all updates is its own. */
static double views_of(const qb__cut *cut) { return (double)(cut->view1 - cut->view0); }

static double share_of(const qb__fdk *fdk, const qb__cut *cut) {
    return views_of(cut) / (double)fdk->problem.views * (double)cut->count / (double)fdk->grid.n[2];
}

/* Slabs thinner than a layer take as long as a layer each. */
static double layers_worth(const qb__fdk_gpu *gpu, const qb__cut *cut) {
    const size_t layer = (cut->folded ? 2 : 1) * variant_of(gpu)->layer(gpu->pick.choice.values);
    if (cut->slices >= layer || cut->slabs < 2) return 1;
    return (double)(cut->slabs * layer) / (double)qb__round_up(cut->count, layer);
}

/* Blocks are copied twice, through the device's memory: about 4 TB/s there. */
static double back_projection(const qb__fdk_gpu *gpu, const qb__cut *cut) {
    const qb__bp_cone_device_variant *variant = variant_of(gpu);
    const bool some = cut->slabs > 1 || cut->count < gpu->fdk->grid.n[2];
    const bool alone = some && !cut->folded && variant->mirrored && variant->mirrored(gpu->pick.choice.values);
    return (alone ? 2 : 1) * layers_worth(gpu, cut) * share_of(gpu->fdk, cut) * gpu->pick.choice.seconds +
           2 * gpu->rows * (double)gpu->fdk->width * views_of(cut) * 8 / 2e12;
}

/* The sums pass it once more for each block. Counted apart, whatever else is slowest: what storage takes is known
 * least, and where it was thought to bound a run, blocks of four views made the device twice as slow as that. */
static double sums(const qb__fdk_gpu *gpu, const qb__cut *cut) {
    const double slice = (double)gpu->fdk->grid.n[0] * (double)gpu->fdk->grid.n[1];
    return (double)cut->blocks * slice * (double)cut->count * 8 / 2e12;
}

/* Bytes of all views' rows that go up in a block; of all. */
static size_t block_up(const qb__fdk_gpu *gpu, const qb__cut *cut) {
    return gpu->beside ? qb__fdk_gpu_block(gpu, cut) : qb__fdk_gpu_raw(gpu, cut);
}

static double bytes_up(const qb__fdk_gpu *gpu, const qb__cut *cut) {
    const qb__fdk *fdk = gpu->fdk;
    const size_t row = gpu->beside ? fdk->width * sizeof(float) : qb__fdk_raw_row(fdk);
    return gpu->rows * (double)row * views_of(cut);
}

/* By the device: an H200 had 130 billion values of padded rows a second. */
static double filtering(const qb__fdk_gpu *gpu, const qb__cut *cut) {
    const qb__fdk *fdk = gpu->fdk;
    if (gpu->beside)
        return qb__fdk_filter_seconds(fdk, gpu->rows) / gpu->threads * views_of(cut) / (double)fdk->problem.views;
    return gpu->rows * views_of(cut) * (double)qb__filter_length(fdk->filter) / 100e9;
}

double qb__fdk_gpu_seconds(void *state, const qb__cut *cut) {
    const qb__fdk_gpu *gpu = state;
    const qb__fdk *fdk = gpu->fdk;
    const double up = qb__fdk_gpu_has(gpu) ? 0 : bytes_up(gpu, cut) / gpu->pick.costs.up;
    const double down = (double)qb__down_host(&gpu->way_down, cut->count) / qb__fdk_gpu_columns(cut) / gpu->pick.costs.down;
    const double filter = filtering(gpu, cut);
    const double read = qb__fdk_read_seconds(fdk, gpu->raw_rows, gpu->read) * views_of(cut) / (double)fdk->problem.views;
    const double write = qb__fdk_write_seconds(fdk, gpu->value_bytes, gpu->write);
    const double project = back_projection(gpu, cut), slabs = (double)cut->slabs;
    const double locked = (double)cut->slots * (double)block_up(gpu, cut) +
                          (double)qb__fdk_gpu_ring(cut) * (double)qb__fdk_gpu_piece(gpu, cut);
    /* Launching, waiting, handing over: a tenth of a millisecond a chunk. */
    const double extra = locked / gpu->pick.costs.lock + 1e-4 * slabs * (double)cut->blocks + sums(gpu, cut);
    if (cut->slots < 2) return extra + read + filter + up + project + down + write;
    const double device = gpu->beside ? fmax(filter, project) : filter + project; /* one device: they share it */
    const double slowest = fmax(fmax(read, up), fmax(device, fmax(down, write)));
    const double out = fmax(down, write) + fmin(down, write) / (double)cut->pieces; /* of the last slab, piece by piece */
    return extra + slowest + out / slabs +
           (read + filter + up) / (slabs * (double)cut->blocks);
}

/* Filtering, packing, back-projecting, converting: a program each. */
double qb__fdk_gpu_start(void *state) {
    const qb__fdk_gpu *gpu = state;
    return qb__device_pick_start(&gpu->pick, 2 + gpu->way_down.converts + !gpu->beside);
}

/* ---- the offer ---- */

/* A bound on the filtered rows of each view, as qb fbp has it: the logarithm of a finite float is within 89, the ramp's
 * taps sum to 1/2, no window of ours makes that more than 4 times as much, and a pixel's weight is at most 1.
 * Nothing is known of given line integrals and of a filter file. */
static qb_status bound_rows(qb__fdk_gpu *gpu) {
    const qb__fdk *fdk = gpu->fdk;
    const char *filter = fdk->options->filter;
    const double hu = fdk->options->hu > 0 ? 1000.0 / fdk->options->hu : 1.0;
    if (fdk->info->quantity == QB_LINE_INTEGRAL || access(filter, F_OK) == 0) return QB_OK;
    qb_status status = qb__alloc(fdk->problem.views, sizeof *gpu->largest, &gpu->largest);
    if (status != QB_OK) return status;
    const double most = 89 * hu * (strncmp(filter, "none", 4) ? 0.5 * 4 / fdk->weights.pitch : 1);
    for (size_t v = 0; v < fdk->problem.views; v++)
        gpu->largest[v] = (float)(most * fabs(fdk->weights.view[v]));
    gpu->problem.largest = gpu->largest;
    return QB_OK;
}

/* Half as many each time, down to one where there is no room for more. */
static size_t views_after(const void *state, const qb__cut *cut, size_t before) {
    (void)cut;
    const qb__fdk_gpu *gpu = state;
    const size_t turns = qb__bp_cone_turns(variant_of(gpu), gpu->pick.choice.values);
    if (before == 0) return qb__smaller(MOST_VIEWS, gpu->fdk->problem.views);
    return before > turns ? qb__round_up(before / 2, turns) : 0;
}

/* Slices come down in page-locked memory, which takes its time to lock: so many at a time that each pass is long, and that
 * all threads have some to write. */
static size_t piece_of(const void *state, size_t slices) {
    enum { LEAST = 1 << 20, MOST = 512 << 20, PARTS = 8 };
    const qb__fdk_gpu *gpu = state;
    const size_t slice = qb__down_host(&gpu->way_down, 1), least = qb__ceil_div(LEAST, slice), most = qb__larger(1, MOST / slice);
    return qb__smaller(slices, qb__smaller(most, qb__larger(least, qb__ceil_div(slices, PARTS))));
}

/* Slabs that begin or end within a layer make all of it. Ranks have agreed on whether slices are folded. */
static qb__cut_space space_of(const qb__fdk_gpu *gpu, const qb_env *env) {
    const qb__bp_cone_problem *p = &gpu->fdk->problem;
    const qb__bp_cone_device_variant *variant = variant_of(gpu);
    const int *values = gpu->pick.choice.values;
    const bool alone = qb__comm_count(qb__comm_of(env)) == 1;
    const bool folded = !alone ? gpu->fdk->folded : gpu->fdk->foldable && qb__bp_cone_pairs(variant, values);
    return (qb__cut_space){.slices = p->nz,
                           .views = p->views,
                           .folded = folded,
                           .either = folded && alone,
                           .layers = {.thickness = (folded ? 2 : 1) * variant->layer(values)},
                           .most = p->nz,
                           .thinner = qb__thinner_layers,
                           .views_after = views_after,
                           .piece = piece_of,
                           .turns = qb__bp_cone_turns(variant_of(gpu), gpu->pick.choice.values),
                           .engine = gpu,
                           .views_stream = true,
                           .cap.device = qb__device_pick_cap(&gpu->pick, env)};
}

/* ---- who filters ---- */

typedef struct least {
    qb__fdk_gpu *gpu;
    void *plan;
} least;

static void least_slabs(void *context, const qb__cut *cut, const size_t *edge) {
    const least *l = context;
    qb__fdk_slabs(l->plan, cut, edge);
    qb__fdk_gpu_cut(l->gpu, cut, edge);
}

static qb__room least_need(void *context, const qb__cut *cut) {
    return (qb__room){.device = device_bytes(((const least *)context)->gpu, cut)};
}

/* The device, if it can and has room for that in any cut: which cut is then taken changes no bit. */
static qb_status decide_filter(qb__fdk_gpu *gpu, void *plan, qb__cut_space space) {
    least context = {gpu, plan};
    qb__cut cut;
    bool fits;
    gpu->beside = qb__fdk_gpu_unfit(gpu->fdk);
    if (gpu->beside) return QB_OK;
    space.cap.host = SIZE_MAX;
    space.context = &context;
    space.need = least_need;
    space.slabs = least_slabs;
    qb_status status = qb__cut_search(&space, &cut, &fits);
    if (status == QB_OK && !fits) gpu->beside = "the device has no room for it";
    return status;
}

/* All ranks, or the volume were a patchwork: who filters shows in the last bits. */
static qb_status filter_alike(qb__fdk_gpu *gpu, qb__comm *comm, qb_status status) {
    uint64_t beside = status == QB_OK && gpu->beside;
    status = qb__comm_sum(comm, status, &beside, 1);
    if (beside && !gpu->beside) gpu->beside = "another rank's device has no room for it";
    return status;
}

qb_status qb__fdk_gpu_decide(const qb__task *task, void *plan, const qb_env *env, qb__offer *offer) {
    qb__fdk *fdk = plan;
    qb__fdk_gpu *gpu;
    qb_status status = qb__alloc(1, sizeof *gpu, &gpu);
    if (status != QB_OK) return status;
    gpu->fdk = gpu->reading = fdk;
    gpu->problem = fdk->problem;
    gpu->threads = task->threads;
    gpu->read = task->read;
    gpu->write = task->write;
    gpu->value_bytes = qb__value_written(task->output);
    gpu->way_down = qb__down_of(task->output, &fdk->mask, !fdk->mask.along);
    offer->converts = gpu->way_down.converts;
    offer->sums = true;
    status = qb__device_pick_near(fdk->scan, env, &gpu->pick, &offer->named);
    if (!gpu->pick.device) {
        qb__free(gpu);
        return status;
    }
    offer->state = gpu;
    offer->timed = true;
    const char *several = qb__device_pick_several(&gpu->pick);
    status = qb__device_pick_admit(&gpu->pick, fdk->options->kernel, several, env, &offer->named);
    if (status == QB_OK) status = bound_rows(gpu);
    qb__question question = qb__fdk_question(fdk);
    question.problem = &gpu->problem;
    if (status == QB_OK) status = qb__device_pick_choose(&gpu->pick, &question);
    if (status != QB_OK) return status;
    offer->space = space_of(gpu, env);
    return filter_alike(gpu, qb__comm_of(env), decide_filter(gpu, plan, offer->space));
}

/* ---- what is said ---- */

void qb__fdk_gpu_tell(void *state, const qb_env *env) {
    const qb__fdk_gpu *gpu = state;
    char more[160];
    snprintf(more, sizeof more, "%s%s", gpu->beside ? "; the CPU filters beside it: " : "; it filters, too",
             gpu->beside ? gpu->beside : "");
    qb__device_pick_tell(&gpu->pick, more, env);
}

void qb__fdk_gpu_describe(void *state, const qb__cut *cut, cJSON *plan) {
    const qb__fdk_gpu *gpu = state;
    qb__device_pick_describe(&gpu->pick, cut->need.device, plan);
    cJSON_AddBoolToObject(plan, "folded", cut->folded); /* slabs have both sides of the mirror */
    cJSON_AddNumberToObject(plan, "pieces_per_chunk", (double)cut->pieces); /* in which a slab comes down */
    cJSON_AddStringToObject(plan, "filtered_by", gpu->beside ? "cpu" : gpu->pick.question.device->spec);
    if (gpu->beside) cJSON_AddStringToObject(plan, "filtered_by_why", gpu->beside);
}
