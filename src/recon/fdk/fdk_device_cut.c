/* SPDX-License-Identifier: MIT */
/* Device memory of a cut of qb fdk. */
#include "recon/fdk/fdk_device.h"

qb__bp_cone_most qb__fdk_gpu_most(const qb__fdk_gpu *gpu, const qb__cut *cut) {
    return (qb__bp_cone_most){qb__fdk_gpu_views(gpu, cut), gpu->fdk->slab_rows};
}

size_t qb__fdk_gpu_block(const qb__fdk_gpu *gpu, const qb__cut *cut) {
    return qb__fdk_gpu_views(gpu, cut) * gpu->fdk->window_rows * gpu->fdk->width * sizeof(float);
}

/* Slices of the thickest slab; a rank without slices plans memory for one. */
static size_t most_slices(const qb__cut *cut) { return qb__larger(cut->slices, 1); }

size_t qb__fdk_gpu_slab(const qb__fdk_gpu *gpu, const qb__cut *cut) {
    return most_slices(cut) * gpu->fdk->grid.n[0] * gpu->fdk->grid.n[1] * sizeof(float);
}

size_t qb__fdk_gpu_raw(const qb__fdk_gpu *gpu, const qb__cut *cut) {
    return qb__fdk_gpu_views(gpu, cut) * gpu->fdk->raw_rows * qb__fdk_raw_row(gpu->fdk);
}

/* Raw blocks on the device: more than two if they are small compared with a slab. While the previous slab is written to
 * files in memory, reading takes four times as long, and the device must not wait for it. */
size_t qb__fdk_gpu_ahead(const qb__fdk_gpu *gpu, const qb__cut *cut) {
    enum { MOST = 8 };
    if (qb__fdk_kept(cut)) return cut->slots; /* after the first slab nothing is read */
    const size_t room = qb__fdk_gpu_slab(gpu, cut) / 2 / qb__larger(qb__fdk_gpu_raw(gpu, cut), 1);
    return cut->slots < 2 || cut->slabs < 2 ? cut->slots : qb__larger(2, qb__smaller(room, MOST));
}

static size_t device_bytes(const qb__fdk_gpu *gpu, const qb__cut *cut) {
    const qb__bp_cone_problem *p = &gpu->problem;
    const qb__bp_cone_most most = qb__fdk_gpu_most(gpu, cut);
    const size_t filter =
        gpu->cpu_filter ? 0
                        : qb__fdk_gpu_filter_bytes(gpu, cut) + qb__fdk_gpu_ahead(gpu, cut) * qb__fdk_gpu_raw(gpu, cut);
    return filter + qb__fdk_gpu_blocks(cut) * qb__fdk_gpu_block(gpu, cut) +
           qb__fdk_gpu_rings(cut) * qb__fdk_gpu_slab(gpu, cut) +
           qb__fdk_gpu_variant(gpu)->packed_bytes(p, most, gpu->pick.choice.values) +
           qb__fdk_gpu_variant(gpu)->plan_bytes(gpu->pick.device, p, most, gpu->pick.choice.values) +
           qb__down_device(&gpu->way_down, qb__fdk_gpu_down(cut)) +
           (qb__fdk_gpu_columns(cut) > 1 ? qb__device_sum_bytes(qb__fdk_gpu_columns(cut), qb__fdk_gpu_slab(gpu, cut))
                                         : 0);
}

qb__room qb__fdk_gpu_memory(void *state, const qb__cut *cut) {
    const qb__fdk_gpu *gpu = state;
    const size_t filter = gpu->cpu_filter ? qb__fdk_filter_bytes(gpu->fdk) : qb__fdk_gpu_filter_tables(gpu->fdk);
    qb__room room = {.scratch = gpu->cpu_filter ? qb__fdk_filter_scratch(gpu->fdk) : 0,
                     .host = filter + qb__down_open_bytes(&gpu->way_down),
                     .device = device_bytes(gpu, cut)};
    if (qb__fdk_gpu_columns(cut) > 1)
        room.host += qb__device_sum_host(qb__fdk_gpu_columns(cut), qb__fdk_gpu_slab(gpu, cut));
    room.host += qb__device_pick_host_bytes(&gpu->pick, room.device);
    return room;
}
