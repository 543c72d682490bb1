/* SPDX-License-Identifier: MIT */
#include "kernels/bp_parallel/bp_parallel_device.h"

#include "base/status.h"

bool qb__device_pass_measures(const qb__variant *variant, const qb__device_info *info,
                              const qb__bp_parallel_problem *problem, const int *values) {
    return !problem->largest && variant->unusable(info, problem, values);
}

unsigned qb__device_pass_rounds(const qb__device_pass *pass) {
    return pass->measure && pass->block < pass->views ? 2 : 1;
}

static size_t block_end(const qb__device_pass *pass, size_t view) {
    return pass->views - view > pass->block ? view + pass->block : pass->views;
}

/* The rows of a block, `slices` rows per view. */
static qb__device_rows block_rows(const qb__device_pass *pass, unsigned slices) {
    qb__device_rows rows = pass->rows;
    rows.view_stride = slices * rows.slice_stride;
    return rows;
}

static qb_status filter_block(qb__device_pass *pass, qb__queue *queue, const qb__device_rows *raw, size_t view,
                              unsigned slices, size_t row0, size_t row_step) {
    const qb__device_rows rows = block_rows(pass, slices);
    qb__device_rows from = *raw;
    from.offset += view * raw->view_stride * pass->number_bytes;
    return qb__device_filter_run(pass->filter, queue, &from, view, block_end(pass, view), slices, row0, row_step,
                                 &rows);
}

qb_status qb__device_pass_prepare(qb__device_pass *pass, qb__queue *queue, const qb__device_rows *raw, unsigned slices,
                                  size_t row0, size_t row_step) {
    const qb__device_rows rows = block_rows(pass, slices);
    qb_status status = QB_OK;
    if (!pass->measure) return QB_OK;
    for (size_t view = 0; view < pass->views && status == QB_OK; view += pass->block) {
        status = filter_block(pass, queue, raw, view, slices, row0, row_step);
        if (status == QB_OK)
            status = qb__rows_largest_run(pass->measure, queue, &rows, view, block_end(pass, view), slices);
    }
    return status;
}

qb_status qb__device_pass_pack(qb__device_pass *pass, qb__queue *queue, const qb__device_rows *raw, unsigned slices,
                               size_t row0, size_t row_step) {
    const qb__device_rows rows = block_rows(pass, slices);
    const bool filtered = pass->measure && pass->block >= pass->views;
    qb_status status = QB_OK;
    if (pass->measure) status = qb__rows_largest_found(pass->measure, queue, slices, pass->largest, &pass->faint);
    for (size_t view = 0; view < pass->views && status == QB_OK; view += pass->block) {
        if (!filtered) status = filter_block(pass, queue, raw, view, slices, row0, row_step);
        if (status == QB_OK)
            status = pass->variant->pack(pass->plan, queue, rows.memory, rows.offset, rows.view_stride,
                                         rows.slice_stride, view, block_end(pass, view), slices, pass->packed);
    }
    return status;
}
