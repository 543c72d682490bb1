/* SPDX-License-Identifier: MIT */
/* Forecast of a cone-beam reconstruction on a device, and from that the choice of the filter. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/comm.h"
#include "base/status.h"
#include "cpu/features.h"
#include "planner/device_costs.h"
#include "recon/fdk/fdk_device.h"

/* ---- time ---- */

/* Number of views of this rank, and its share of all updates. */
static double views_of(const qb__fdk *fdk, const qb__cut *cut) {
    return (double)(qb__run_count(cut->all_views) * fdk->turns);
}

static double share_of(const qb__fdk *fdk, const qb__cut *cut) {
    return views_of(fdk, cut) / (double)fdk->problem.views * (double)qb__run_count(cut->all_slices) /
           (double)fdk->grid.n[2];
}

/* A slab thinner than a layer takes as long as a layer. */
static double layers_worth(const qb__fdk_gpu *gpu, const qb__cut *cut) {
    const size_t layer = (qb__fdk_paired(cut) ? 2 : 1) * qb__fdk_gpu_variant(gpu)->layer(gpu->pick.choice.values);
    if (cut->slices >= layer || cut->slabs < 2) return 1;
    return (double)(cut->slabs * layer) / (double)qb__round_up(qb__run_count(cut->all_slices), layer);
}

/* Blocks are copied twice within the device's memory, at about 4 TB/s. */
static double back_projection(const qb__fdk_gpu *gpu, const qb__cut *cut) {
    const qb__bp_cone_device_variant *variant = qb__fdk_gpu_variant(gpu);
    const bool some = cut->slabs > 1 || qb__run_count(cut->all_slices) < gpu->fdk->grid.n[2];
    const bool alone = some && !qb__fdk_paired(cut) && variant->mirrored && variant->mirrored(gpu->pick.choice.values);
    return (alone ? 2 : 1) * layers_worth(gpu, cut) * share_of(gpu->fdk, cut) * gpu->pick.choice.seconds +
           2 * gpu->fdk->rows * (double)gpu->fdk->width * views_of(gpu->fdk, cut) * 8 / 2e12;
}

/* The sums are read and written once more for each block. This is counted separately from the slowest stage, because
 * storage rates are uncertain: where storage was expected to limit a run, blocks of four views made the device twice as
 * slow as that. */
static double sums(const qb__fdk_gpu *gpu, const qb__cut *cut) {
    const double slice = (double)gpu->fdk->grid.n[0] * (double)gpu->fdk->grid.n[1];
    return (double)cut->blocks * slice * (double)qb__run_count(cut->all_slices) * 8 / 2e12;
}

/* Bytes of rows that are uploaded: for one block, and for all blocks. */
static size_t block_up(const qb__fdk_gpu *gpu, const qb__cut *cut) {
    return gpu->cpu_filter ? qb__fdk_gpu_block(gpu, cut) : qb__fdk_gpu_raw(gpu, cut);
}

static double bytes_up(const qb__fdk_gpu *gpu, const qb__cut *cut) {
    const qb__fdk *fdk = gpu->fdk;
    const double view = gpu->cpu_filter ? gpu->fdk->filtered_rows * (double)(fdk->width * sizeof(float))
                                        : gpu->fdk->stored_rows * (double)qb__fdk_raw_row(fdk);
    return view * views_of(gpu->fdk, cut);
}

/* On the device: an H200 filtered 130 billion values of padded rows per second; other devices in proportion to their
 * memory rate. Making rows takes three passes through that memory, and resampling 64 taps per value: 7 to 12 billion
 * values per second there. */
static double filtering(const qb__fdk_gpu *gpu, const qb__cut *cut, int threads) {
    const qb__fdk *fdk = gpu->fdk;
    if (gpu->cpu_filter)
        return qb__fdk_filter_seconds(fdk, gpu->fdk->filtered_rows) / threads * views_of(gpu->fdk, cut) /
               (double)fdk->problem.views;
    static const double memory_then = 4.1e12;
    qb__device_model model;
    qb__device_model_of(qb__device_info_of(gpu->pick.device), &model);
    const double made = !qb__fdk_gpu_makes_rows(fdk) ? 0 : (double)fdk->width * (fdk->resampled ? 1 / 8e9 : 1 / 80e9);
    return gpu->fdk->filtered_rows * views_of(gpu->fdk, cut) * ((double)qb__filter_length(fdk->filter) / 100e9 + made) *
           memory_then / model.rate[QB__UNIT_MEMORY];
}

/* Seconds to read all rows. */
static double reading(const qb__fdk_gpu *gpu, const qb__cut *cut) {
    return qb__fdk_read_seconds(gpu->fdk) * views_of(gpu->fdk, cut) / (double)gpu->fdk->problem.views;
}

static double sending_up(const qb__fdk_gpu *gpu, const qb__cut *cut) {
    return qb__fdk_gpu_has(gpu) ? 0 : bytes_up(gpu, cut) / gpu->pick.costs.up;
}

size_t qb__fdk_gpu_lead(const qb__fdk_gpu *gpu, const qb__cut *cut) {
    const double each = back_projection(gpu, cut) / (double)cut->slabs;
    return (size_t)fmin(fmax(reading(gpu, cut), sending_up(gpu, cut)) / each + 0.5, 1e6);
}

/* Data that a pipeline processes before its first slab is finished, and from then on until the last one. With kept
 * rows, all of them come with the first slab. */
typedef struct spans {
    double read, up, filter, project, down, write;
} spans;

static spans spans_of(const qb__fdk_gpu *gpu, const qb__cut *cut) {
    return (spans){.read = reading(gpu, cut),
                   .up = sending_up(gpu, cut),
                   .filter = filtering(gpu, cut, gpu->fdk->task->threads),
                   .project = back_projection(gpu, cut),
                   .down = (double)qb__down_host(&gpu->way_down, qb__run_count(cut->all_slices)) /
                           qb__fdk_gpu_columns(cut) / gpu->pick.costs.down,
                   .write = qb__fdk_write_seconds(gpu->fdk)};
}

/* Files in memory share one rate: reading and writing at the same time take somewhat longer than one after the
 * other. */
static double files(const qb__fdk_gpu *gpu, double read, double write) {
    return gpu->fdk->task->in_memory ? read + write + 0.4 * fmin(read, write) : fmax(read, write);
}

/* Seconds of the busiest of the parts that work in parallel. One device filters and back-projects alternately. */
static double at_once(const qb__fdk_gpu *gpu, double in, double out, const spans *s, double project) {
    const double filter = in * s->filter, device = gpu->cpu_filter ? fmax(filter, project) : filter + project;
    return fmax(fmax(files(gpu, in * s->read, out * s->write), in * s->up), fmax(device, out * s->down));
}

static double streaming(const qb__fdk_gpu *gpu, const qb__cut *cut, const spans *s) {
    const double all = (double)qb__run_count(cut->all_slices), even = 1 / (double)cut->slabs;
    const double first = qb__fdk_lead(cut) > 1 ? (double)cut->slices / all : even,
                 last = qb__fdk_lead(cut) > 1 ? (double)cut->thickness / all : even;
    const double in = qb__fdk_kept(cut) ? 1 : first; /* share of the rows that come in before the first slab */
    const double begin = at_once(gpu, in, 0, s, first * s->project),
                 rest = at_once(gpu, 1 - in, 1 - last, s, (1 - first) * s->project);
    const double piece =
        fmax(s->down, s->write) +
        fmin(s->down, s->write) / (double)qb__fdk_gpu_pieces(gpu, cut); /* the last slab is written in pieces */
    const double block = (s->read + s->up + s->filter) * in / (double)cut->blocks;
    return block + begin + rest + last * piece;
}

double qb__fdk_gpu_seconds(void *state, const qb__cut *cut) {
    const qb__fdk_gpu *gpu = state;
    const spans s = spans_of(gpu, cut);
    const double locked = (double)cut->slots * (double)block_up(gpu, cut) +
                          (double)qb__fdk_gpu_ring(gpu, cut) * (double)qb__fdk_gpu_piece(gpu, cut);
    /* Launching kernels, waiting and passing chunks on take a fifth of a millisecond per chunk, measured on an H200. */
    const double extra =
        locked / gpu->pick.costs.lock + 2e-4 * (double)cut->slabs * (double)cut->blocks + sums(gpu, cut);
    return extra + (cut->slots < 2 ? s.read + s.filter + s.up + s.project + s.down + s.write : streaming(gpu, cut, &s));
}

void qb__fdk_gpu_forecast(const qb__fdk_gpu *gpu, const qb__cut *cut, qb__stage *stages, int count) {
    const spans s = spans_of(gpu, cut);
    stages[gpu->cpu_filter ? 1 : 0].all_seconds = s.up;
    stages[gpu->cpu_filter ? 0 : 1].all_seconds = s.filter;
    stages[2].all_seconds = s.project + sums(gpu, cut);
    stages[count - 1].all_seconds = s.down;
}

/* Filtering, packing, back-projecting and converting are compiled as one program each. */
double qb__fdk_gpu_start(const qb__fdk_gpu *gpu) {
    const int filter = gpu->cpu_filter ? 0 : qb__fdk_gpu_makes_rows(gpu->fdk) ? 3 : 1;
    return qb__device_pick_start(&gpu->pick, 2 + gpu->way_down.converts + filter);
}

/* ---- choice of the filter ---- */

static void least_slabs(void *context, qb__cut *cut, size_t *edge) { qb__fdk_gpu_slabs(context, cut, edge, NULL); }

static qb__room least_need(void *context, const qb__cut *cut) {
    return (qb__room){.device = qb__fdk_gpu_memory(context, cut).device};
}

/* Time of back-projection while rows are filtered; rows filtered by the CPU must be uploaded. Raw rows do not count,
 * because they may already be on the device. */
static double whole_seconds(const qb__fdk_gpu *gpu, const qb__cut *whole) {
    const double filter = filtering(gpu, whole, qb__cpu_count()), project = back_projection(gpu, whole);
    return gpu->cpu_filter ? fmax(bytes_up(gpu, whole) / gpu->pick.costs.up, fmax(filter, project)) : filter + project;
}

/* The CPU filters if that is forecast to be much faster. The choice shows in the last bits, so it depends only on the
 * problem and the machine, not on --threads, files, memory or the cut. A device that is the CPU itself always
 * filters. */
static void compare(qb__fdk_gpu *gpu) {
    static const double by_far = 1.25;
    const size_t nz = gpu->fdk->grid.n[2], views = gpu->fdk->problem.views / qb__fdk_gpu_turns(gpu);
    size_t edge[2] = {0, nz};
    qb__cut whole = {.thickness = nz, .slices = nz, .slabs = 1, .all_slices = {0, nz}, .all_views = {0, views}};
    if (qb__device_info_of(gpu->pick.device)->is_cpu) return;
    qb__fdk_gpu_slabs(gpu, &whole, edge, NULL);
    gpu->there = whole_seconds(gpu, &whole);
    gpu->cpu_filter = "it is forecast to be faster";
    gpu->here = whole_seconds(gpu, &whole);
    if (!(gpu->here * by_far < gpu->there)) gpu->cpu_filter = NULL;
}

/* The device filters if it can and has memory for it in any cut: the cut that is taken then does not change the
 * bits. */
static qb_status decide_filter(qb__fdk_gpu *gpu, qb__cut_space space) {
    qb__cut cut;
    bool fits;
    gpu->cpu_filter = qb__fdk_gpu_unfit(gpu->fdk, qb__device_info_of(gpu->pick.device));
    if (gpu->cpu_filter) return QB_OK;
    space.cap.host = SIZE_MAX;
    space.context = gpu;
    space.need = least_need;
    space.slabs = least_slabs;
    qb_status status = qb__cut_search(&space, &cut, &fits);
    if (status == QB_OK && !fits)
        gpu->cpu_filter = "the device has no room for it";
    else if (status == QB_OK)
        compare(gpu);
    return status;
}

/* All ranks must filter on the same processor, because results differ in the last bits. */
static qb_status filter_alike(qb__fdk_gpu *gpu, qb__comm *comm, qb_status status) {
    uint64_t cpu_filter = status == QB_OK && gpu->cpu_filter;
    status = qb__comm_sum(comm, status, &cpu_filter, 1);
    if (cpu_filter && !gpu->cpu_filter) gpu->cpu_filter = "another rank's device leaves it to the CPU";
    return status;
}

qb_status qb__fdk_gpu_who_filters(qb__fdk_gpu *gpu, qb__cut_space space, qb__comm *comm) {
    return filter_alike(gpu, comm, decide_filter(gpu, space));
}
