/* SPDX-License-Identifier: MIT */
#include "kernels/icd/icd_state.h"

#include "base/memory.h"
#include "base/status.h"

qb_status qb__icd_pass_state(qb__queue *queue, const qb__icd_state_part *parts, size_t count, size_t block, bool into,
                             qb__icd_piece piece, void *self) {
    char *part;
    qb_status status = qb__alloc(block, 1, &part);
    for (size_t i = 0; i < count && status == QB_OK; i++)
        for (size_t at = 0; at < parts[i].bytes && status == QB_OK; at += block) {
            const size_t bytes = qb__smaller(block, parts[i].bytes - at);
            if (!into) QB__TRY(qb__memory_download(queue, parts[i].memory, at, part, bytes));
            if (!into) QB__TRY(qb__queue_finish(queue));
            QB__TRY(piece(self, part, bytes));
            if (into) QB__TRY(qb__memory_upload(queue, parts[i].memory, at, part, bytes));
            if (into) QB__TRY(qb__queue_finish(queue));
        }
out:
    qb__free(part);
    return status;
}

qb_status qb__icd_upload_views(qb__queue *queue, const float *lines, size_t view, size_t views,
                               qb__device_filter *filter, const qb__device_rows *to) {
    const size_t bytes = views * to->view_stride * sizeof *lines;
    qb__device_rows from = *to;
    if (filter) from.offset += bytes;
    qb_status status = qb__memory_upload(queue, from.memory, from.offset, lines, bytes);
    if (status != QB_OK || !filter) return status;
    const unsigned slices = (unsigned)(to->view_stride / to->slice_stride);
    return qb__device_filter_run(filter, queue, &from, view, view + views, slices, 0, 1, to);
}
