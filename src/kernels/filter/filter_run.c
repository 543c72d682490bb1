/* SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "base/status.h"
#include "kernels/filter/filter_device.h"
#include "kernels/filter/filter_device_parts.h"

/* Bytes of the memory up to the end of the block's last row; 0 on overflow. */
static size_t extent(const qb__device_rows *rows, size_t views, size_t slices, size_t columns, size_t element) {
    size_t all, other;
    if (!qb__mul(views - 1, rows->view_stride, element, &all) ||
        !qb__mul(slices - 1, rows->slice_stride, element, &other))
        return 0;
    size_t sum = rows->offset + columns * element;
    if (all > SIZE_MAX / 4 || other > SIZE_MAX / 4 || sum > SIZE_MAX / 4) return 0;
    return sum + all + other;
}

static qb_status check(const qb__device_filter *filter, const qb__device_rows *raw, size_t view0, size_t view1,
                       unsigned slices, size_t row0, size_t row_step, const qb__device_rows *filtered) {
    size_t columns = filter->spectrum.columns;
    if (view1 > filter->views || row0 >= filter->rows || (slices - 1) * row_step >= filter->rows - row0)
        return qb__fail(QB_BAD_ARGUMENT, "filtering views %zu:%zu, rows %zu + %u x %zu of %zu views, %zu rows", view0,
                        view1, row0, slices, row_step, filter->views, filter->rows);
    size_t from = extent(raw, view1 - view0, slices, filter->measured, filter->number_bytes);
    size_t to = extent(filtered, view1 - view0, slices, columns, sizeof(float));
    if (raw->offset % filter->number_bytes || filtered->offset % sizeof(float) || !from || !to ||
        from > qb__memory_bytes(raw->memory) || to > qb__memory_bytes(filtered->memory) ||
        (view1 - view0) * (uint64_t)slices > INT32_MAX)
        return qb__fail(QB_BAD_ARGUMENT,
                        "filtering %zu views x %u slices: %zu bytes at %zu of %zu, to %zu bytes at "
                        "%zu of %zu",
                        view1 - view0, slices, from, raw->offset, qb__memory_bytes(raw->memory), to, filtered->offset,
                        qb__memory_bytes(filtered->memory));
    return QB_OK;
}

qb_status qb__device_filter_run(qb__device_filter *filter, qb__queue *queue, const qb__device_rows *raw, size_t view0,
                                size_t view1, unsigned slices, size_t row0, size_t row_step,
                                const qb__device_rows *filtered) {
    if (view0 >= view1 || slices == 0) return QB_OK;
    QB__OR_RETURN(check(filter, raw, view0, view1, slices, row0, row_step, filtered));
    const qb__row_block block = {.raw_first = raw->offset / filter->number_bytes,
                                 .raw_view = raw->view_stride,
                                 .raw_slice = raw->slice_stride,
                                 .out_first = filtered->offset / sizeof(float),
                                 .out_view = filtered->view_stride,
                                 .out_slice = filtered->slice_stride,
                                 .rows = (uint32_t)((view1 - view0) * slices),
                                 .slices = slices,
                                 .view0 = (uint32_t)view0,
                                 .row0 = (uint32_t)row0,
                                 .row_step = (uint32_t)row_step};
    if (filter->spectrum.identity)
        return qb__filter_prepare(filter, queue, raw->memory, filtered->memory, &block, true);
    if (filter->passes)
        return qb__filter_long_run(filter->passes, filter, queue, raw->memory, filtered->memory, &block);
    return qb__filter_local(filter, queue, raw->memory, filtered->memory, &block);
}

qb_status qb__device_filter_found(qb__device_filter *filter, qb__queue *queue, qb__device_filter_counts *counts) {
    uint32_t words[QB__FILTER_FOUND_WORDS];
    qb_status status = qb__memory_download(queue, filter->counts, 0, words, sizeof words);
    if (status == QB_OK) status = qb__queue_finish(queue);
    if (status != QB_OK) return status;
    uint64_t *const into[] = {&counts->clamped, &counts->not_finite, &counts->dead, &counts->saturated};
    for (int i = 0; i < QB__FILTER_FOUND_WORDS / 2; i++) *into[i] = words[2 * i] | (uint64_t)words[2 * i + 1] << 32;
    return QB_OK;
}
