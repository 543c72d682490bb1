/* SPDX-License-Identifier: MIT */
/* Projections in the device's memory: no transfer through the host. */
#include "base/status.h"
#include "io/scan/scan.h"
#include "recon/fdk/fdk_device.h"

qb__tensor_device *qb__fdk_gpu_has(const qb__fdk_gpu *gpu) {
    if (gpu->fdk->scan->corrected) return NULL;
    return gpu->cpu_filter ? NULL : qb__projections_on(gpu->fdk->scan, gpu->pick.device);
}

/* Each range of views separately, in the order in which a file is read: [view][row][column]. */
static qb_status take_run(const qb__fdk_gpu *gpu, const qb__fdk_piece *p, const qb__fdk_window *run, qb__memory *raw,
                          size_t at) {
    const qb__fdk *fdk = gpu->fdk;
    const size_t rows = run->raw.end - run->raw.first, range = p->view1 - p->view0, columns = fdk->info->columns;
    qb_status status = QB_OK;
    if (rows == 0) return QB_OK;
    for (size_t i = 0; i < p->turns && status == QB_OK; i++) {
        ptrdiff_t stride[3];
        const size_t view = qb__fdk_piece_view(fdk, p, i * range);
        const ptrdiff_t first = qb__scan_place(fdk->scan, view, run->raw.first, stride);
        const qb__tensor_block block = {first,
                                        {range, rows, columns},
                                        {stride[0], stride[1], stride[2]},
                                        {(ptrdiff_t)(rows * columns), (ptrdiff_t)columns, 1}};
        status = qb__tensor_device_take(gpu->arrays.from, gpu->up, &block, raw,
                                        at + i * range * rows * qb__fdk_raw_row(fdk));
    }
    return status;
}

qb_status qb__fdk_gpu_take(const qb__fdk_gpu *gpu, size_t chunk, qb__memory *raw) {
    const qb__fdk_piece p = qb__fdk_piece_of(gpu->fdk, chunk);
    const qb__fdk_window *run;
    const size_t runs = qb__fdk_runs(gpu->fdk, chunk, &run), views = qb__fdk_piece_views(&p);
    qb_status status = QB_OK;
    for (size_t i = 0; i < runs && status == QB_OK; i++)
        status = take_run(gpu, &p, &run[i], raw, qb__fdk_raw_offset(gpu->fdk, run, i, views));
    return status;
}
