/* SPDX-License-Identifier: MIT */
/* Projections that are already in the device's memory: they do not pass through the host. */
#include "io/scan/scan.h"
#include "recon/fbp/fbp_device.h"

qb__tensor_device *qb__fbp_device_has(const qb__fbp_devices *gpu) {
    if (gpu->parts != 1 || gpu->fbp->roll.maps) return NULL;
    if (gpu->fbp->scan->corrected && !gpu->part[0].near) return NULL;
    return qb__projections_on(gpu->fbp->scan, gpu->part[0].device);
}

bool qb__fbp_device_keeps(const qb__fbp_devices *gpu) {
    const bool level = gpu->fbp->step == 1 && !gpu->fbp->roll.maps;
    return gpu->parts == 1 && level && qb__phase_keeps(gpu->fbp->scan, gpu->part[0].device);
}

qb_status qb__fbp_device_take(const qb__fbp_devices *gpu, size_t chunk, qb__memory *raw) {
    const qb__fbp *fbp = gpu->fbp;
    size_t slices = qb__fbp_chunk_slices(fbp, chunk), row0 = qb__fbp_chunk_row(fbp, chunk), end;
    const size_t views = fbp->info->views;
    const ptrdiff_t columns = (ptrdiff_t)fbp->info->columns;
    ptrdiff_t stride[3];
    qb__tensor_block block = {.first = 0};
    if (gpu->part[0].near) {
        qb__fbp_read_window(fbp, chunk, &row0, &end);
        slices = end - row0;
    }
    block.first = qb__scan_place(fbp->scan, 0, row0, stride);
    if (fbp->step == 1) /* the array has the order of the file: [view][row][column] */
        block = (qb__tensor_block){block.first,
                                   {views, slices, (size_t)columns},
                                   {stride[0], stride[1], stride[2]},
                                   {(ptrdiff_t)slices * columns, columns, 1}};
    else
        block = (qb__tensor_block){block.first,
                                   {slices, views, (size_t)columns},
                                   {stride[1] * (ptrdiff_t)fbp->step, stride[0], stride[2]},
                                   {(ptrdiff_t)views * columns, columns, 1}};
    return qb__tensor_device_take(gpu->arrays.from, gpu->part[0].up, &block, raw, 0);
}
