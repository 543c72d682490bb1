/* SPDX-License-Identifier: MIT */
/* How long a cone-beam reconstruction takes on a device, and from that which of the two filters. */
#include <math.h>
#include <stdint.h>

#include "base/comm.h"
#include "base/memory.h"
#include "base/status.h"
#include "planner/device_model.h"
#include "recon/fdk/fdk_cpu.h"
#include "recon/fdk/fdk_device.h"

/* ---- how long ---- */

/* Of a rank: its views, and what part of all updates is its own. */
static double views_of(const qb__cut *cut) { return (double)(cut->view1 - cut->view0); }

static double share_of(const qb__fdk *fdk, const qb__cut *cut) {
    return views_of(cut) / (double)fdk->problem.views * (double)cut->count / (double)fdk->grid.n[2];
}

/* Slabs thinner than a layer take as long as a layer each. */
static double layers_worth(const qb__fdk_gpu *gpu, const qb__cut *cut) {
    const size_t layer = (cut->folded ? 2 : 1) * qb__fdk_gpu_variant(gpu)->layer(gpu->pick.choice.values);
    if (cut->slices >= layer || cut->slabs < 2) return 1;
    return (double)(cut->slabs * layer) / (double)qb__round_up(cut->count, layer);
}

/* Blocks are copied twice, through the device's memory: about 4 TB/s there. */
static double back_projection(const qb__fdk_gpu *gpu, const qb__cut *cut) {
    const qb__bp_cone_device_variant *variant = qb__fdk_gpu_variant(gpu);
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
    const double view = gpu->beside ? gpu->rows * (double)(fdk->width * sizeof(float)) : gpu->raw_rows * (double)qb__fdk_raw_row(fdk);
    return view * views_of(cut);
}

/* By the device: an H200 had 130 billion values of padded rows a second; others as many fewer as their memory is slower. Making rows,
 * which is three ways through that memory and 64 taps a value where they are resampled, is a guess. */
static double filtering(const qb__fdk_gpu *gpu, const qb__cut *cut) {
    const qb__fdk *fdk = gpu->fdk;
    if (gpu->beside)
        return qb__fdk_filter_seconds(fdk, gpu->rows) / gpu->threads * views_of(cut) / (double)fdk->problem.views;
    static const double memory_then = 4.1e12;
    qb__device_model model;
    qb__device_model_of(qb__device_info_of(gpu->pick.device), &model);
    const double made = !qb__fdk_gpu_makes_rows(fdk) ? 0 : (double)fdk->width * (fdk->resampled ? 1 / 20e9 : 1 / 80e9);
    return gpu->rows * views_of(cut) * ((double)qb__filter_length(fdk->filter) / 100e9 + made) * memory_then /
           model.rate[QB__UNIT_MEMORY];
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
    const int filter = gpu->beside ? 0 : qb__fdk_gpu_makes_rows(gpu->fdk) ? 3 : 1;
    return qb__device_pick_start(&gpu->pick, 2 + gpu->way_down.converts + filter);
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
    return (qb__room){.device = qb__fdk_gpu_memory(((const least *)context)->gpu, cut).device};
}

/* The CPU beside it, where that is forecast to be faster by far: forecasts differ by as much from run to run, and bits by who
 * filters. A device that is the processor itself has no other beside it. */
static void compare(qb__fdk_gpu *gpu, const qb__cut *cut) {
    static const double by_far = 1.25;
    if (qb__device_info_of(gpu->pick.device)->is_cpu) return;
    const double there = qb__fdk_gpu_seconds(gpu, cut);
    gpu->beside = "it is forecast to be faster";
    const double here = qb__fdk_gpu_seconds(gpu, cut);
    if (!(here * by_far < there)) gpu->beside = NULL;
}

/* The device, if it can and has room for that in any cut: which cut is then taken changes no bit. */
static qb_status decide_filter(qb__fdk_gpu *gpu, void *plan, qb__cut_space space) {
    least context = {gpu, plan};
    qb__cut cut;
    bool fits;
    gpu->beside = qb__fdk_gpu_unfit(gpu->fdk, qb__device_info_of(gpu->pick.device));
    if (gpu->beside) return QB_OK;
    space.cap.host = SIZE_MAX;
    space.context = &context;
    space.need = least_need;
    space.slabs = least_slabs;
    qb_status status = qb__cut_search(&space, &cut, &fits);
    if (status == QB_OK && !fits)
        gpu->beside = "the device has no room for it";
    else if (status == QB_OK)
        compare(gpu, &cut);
    return status;
}

/* All ranks, or the volume were a patchwork: who filters shows in the last bits. */
static qb_status filter_alike(qb__fdk_gpu *gpu, qb__comm *comm, qb_status status) {
    uint64_t beside = status == QB_OK && gpu->beside;
    status = qb__comm_sum(comm, status, &beside, 1);
    if (beside && !gpu->beside) gpu->beside = "another rank's device leaves it to the CPU";
    return status;
}

qb_status qb__fdk_gpu_who_filters(qb__fdk_gpu *gpu, void *plan, qb__cut_space space, qb__comm *comm) {
    return filter_alike(gpu, comm, decide_filter(gpu, plan, space));
}
