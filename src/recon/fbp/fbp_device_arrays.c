/* SPDX-License-Identifier: MIT */
/* Projections and volumes that are in the device's memory already: no way through the host. */
#include "base/status.h"
#include "io/scan.h"
#include "recon/fbp/fbp_device.h"

/* float32 slices go where they belong as they are; observers look at what the host sees. */
static bool result_stays(const qb__fbp_devices *gpu) {
    const qb__volume_out *volume = gpu->run->volume;
    return !qb__volume_converts(volume) && !qb__observed(volume->options);
}

bool qb__fbp_device_has(const qb__fbp_devices *gpu, const qb__tensor_device *array) {
    return gpu->parts == 1 && array && qb__tensor_device_is(array, gpu->part[0].device);
}

static qb__tensor_device *here(const qb__fbp_devices *gpu, qb__tensor_device *array) {
    return qb__fbp_device_has(gpu, array) ? array : NULL;
}

qb_status qb__fbp_device_attach(qb__fbp_devices *gpu) {
    const qb__fbp_part *part = &gpu->part[0];
    qb__volume_out *volume = gpu->run->volume;
    qb_status status = QB_OK;
    gpu->from = here(gpu, qb__scan_on_device(gpu->fbp->scan));
    gpu->to = result_stays(gpu) ? here(gpu, qb__tensor_device_written(volume->writer)) : NULL;
    if (gpu->from) QB__TRY(qb__tensor_device_await(gpu->from, part->up));
    if (gpu->to) QB__TRY(qb__tensor_device_await(gpu->to, part->down));
    qb__fbp_leave_reading(gpu->plan, gpu->from != NULL);
    *gpu->run->taken = gpu->from != NULL;
    volume->in_place = gpu->to != NULL;
out:
    return status;
}

void qb__fbp_device_detach(qb__fbp_devices *gpu) {
    qb__fbp_leave_reading(gpu->plan, false);
    gpu->run->volume->in_place = *gpu->run->taken = false;
    gpu->from = gpu->to = NULL;
}

qb_status qb__fbp_device_take(qb__fbp_devices *gpu, size_t chunk, qb__memory *raw) {
    const qb__fbp *fbp = gpu->fbp;
    const size_t slices = qb__fbp_chunk_slices(fbp, chunk), views = fbp->info->views;
    const ptrdiff_t columns = (ptrdiff_t)fbp->info->columns;
    ptrdiff_t stride[3];
    qb__tensor_block block = {
        .first = qb__scan_place(fbp->scan, 0, qb__fbp_chunk_row(fbp, chunk), stride)};
    if (fbp->step == 1) /* as the file is read: [view][row][column] */
        block = (qb__tensor_block){block.first,
                                   {views, slices, (size_t)columns},
                                   {stride[0], stride[1], stride[2]},
                                   {(ptrdiff_t)slices * columns, columns, 1}};
    else
        block = (qb__tensor_block){block.first,
                                   {slices, views, (size_t)columns},
                                   {stride[1] * (ptrdiff_t)fbp->step, stride[0], stride[2]},
                                   {(ptrdiff_t)views * columns, columns, 1}};
    return qb__tensor_device_take(gpu->from, gpu->part[0].up, &block, raw, 0);
}

qb_status qb__fbp_device_put(qb__fbp_devices *gpu, size_t chunk, const qb__memory *slab) {
    const qb__fbp *fbp = gpu->fbp;
    const qb__tensor *t = qb__tensor_of(gpu->to);
    const size_t *n = fbp->grid.n;
    const size_t first = chunk * fbp->reader.cut.slices;
    const qb__tensor_block block = {
        .first = (ptrdiff_t)first * t->stride[0],
        .count = {qb__fbp_chunk_slices(fbp, chunk), n[1], n[0]},
        .stride = {t->stride[0], t->stride[1], t->stride[2]},
        .other = {(ptrdiff_t)(n[0] * n[1]), (ptrdiff_t)n[0], 1}};
    return qb__tensor_device_put(gpu->to, gpu->part[0].down, &block, slab, 0);
}
