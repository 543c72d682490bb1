/* SPDX-License-Identifier: MIT */
#include "kernels/filter/filter_device_parts.h"

static bool divides(uint64_t by, const uint64_t *values, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (values[i] % by) return false;
    }
    return true;
}

qb_status qb__filter_prepare(qb__device_filter *filter, qb__queue *queue, const qb__memory *raw, qb__memory *out,
                             const qb__row_block *block, bool weighted) {
    const uint64_t all[] = {block->raw_first, block->raw_view, block->raw_slice,
                            block->out_first, block->out_view, block->out_slice};
    const uint64_t apart = (uint64_t)filter->rows * filter->measured;
    int32_t in_fours = divides(4, all, 6), times = weighted;
    const qb__arg args[] = {
        QB__MEMORIES(raw, filter->dark, filter->gain, filter->mode, filter->drift, filter->courses, filter->air,
                     filter->weights, filter->share, filter->view_share, out, filter->counts),
        QB__VALUES(block->raw_first, block->raw_view, block->raw_slice, block->out_first, block->out_view,
                   block->out_slice, block->slices, block->view0, block->row0, block->row_step, apart, filter->bound),
        QB__VALUES(in_fours, times)};
    const size_t groups[3] = {block->rows, 1, 1}, group[3] = {filter->items, 1, 1};
    return qb__kernel_launch(filter->kernel, queue, groups, group, args, sizeof args / sizeof args[0]);
}

qb_status qb__filter_local(qb__device_filter *filter, qb__queue *queue, const qb__memory *raw, qb__memory *out,
                           const qb__row_block *block) {
    const uint64_t from[] = {block->raw_first, block->raw_view, block->raw_slice};
    const uint64_t to[] = {block->out_first, block->out_view, block->out_slice};
    const uint64_t apart = (uint64_t)filter->rows * filter->measured;
    int32_t in_fours = divides(4, from, 3), in_twos = divides(2, to, 3);
    const qb__arg args[] = {
        QB__MEMORIES(raw, filter->dark, filter->gain, filter->mode, filter->drift, filter->courses, filter->air,
                     filter->weights, filter->share, filter->view_share, filter->roots, filter->coefficients),
        QB__MEMORIES(out, filter->counts),
        QB__VALUES(block->raw_first, block->raw_view, block->raw_slice, block->out_first, block->out_view,
                   block->out_slice, block->rows, block->slices, block->view0, block->row0, block->row_step, apart),
        QB__VALUES(filter->bound, in_fours, in_twos), QB__LOCAL(filter->local_bytes)};
    const size_t groups[3] = {(block->rows + filter->group_rows - 1) / filter->group_rows, 1, 1};
    const size_t group[3] = {filter->items, 1, 1};
    return qb__kernel_launch(filter->kernel, queue, groups, group, args, sizeof args / sizeof args[0]);
}
