/* SPDX-License-Identifier: MIT */
#include "kernels/filter/rows_largest.h"

#include "base/memory.h"
#include "base/status.h"

enum { ITEMS = 128 }; /* work items of a group of the kernel */

struct qb__rows_largest {
    size_t views, columns;
    qb__program *program;
    qb__kernel *kernel;
    qb__memory *of_rows; /* [view][slice] of the current pass */
    float *host;         /* copy of of_rows on the host */
};

size_t qb__rows_largest_bytes(size_t views, unsigned slices) { return views * slices * sizeof(float); }

qb_status qb__rows_largest_create(qb__device *device, size_t views, unsigned slices, size_t columns,
                                  qb__rows_largest **out) {
    qb__rows_largest *measure = NULL;
    qb_status status;
    *out = NULL;
    QB__TRY(qb__alloc(1, sizeof *measure, &measure));
    measure->views = views;
    measure->columns = columns;
    QB__TRY(qb__alloc(views * slices, sizeof(float), &measure->host));
    QB__TRY(qb__memory_create(device, qb__rows_largest_bytes(views, slices), &measure->of_rows));
    QB__TRY(qb__program_build(device, "rows_largest.cl", NULL, &measure->program));
    QB__TRY(qb__kernel_get(measure->program, "rows_largest", &measure->kernel));
out:
    if (status != QB_OK) {
        qb__rows_largest_destroy(measure);
        return status;
    }
    *out = measure;
    return QB_OK;
}

void qb__rows_largest_destroy(qb__rows_largest *measure) {
    if (!measure) return;
    qb__memory_destroy(measure->of_rows);
    qb__program_release(measure->program);
    QB__FREE(measure->host, measure);
}

qb_status qb__rows_largest_run(qb__rows_largest *measure, qb__queue *queue, const qb__device_rows *rows, size_t view0,
                               size_t view1, unsigned slices) {
    if (view0 >= view1 || slices == 0) return QB_OK;
    const uint64_t first = rows->offset / sizeof(float), view_stride = rows->view_stride,
                   slice_stride = rows->slice_stride;
    const int32_t columns = (int32_t)measure->columns;
    const uint32_t all = slices, from = (uint32_t)view0;
    const qb__arg args[] = {QB__MEMORY(rows->memory), QB__VALUES(first, view_stride, slice_stride, columns, all, from),
                            QB__MEMORY(measure->of_rows)};
    const size_t groups[3] = {(view1 - view0) * slices, 1, 1}, items[3] = {ITEMS, 1, 1};
    return qb__kernel_launch(measure->kernel, queue, groups, items, args, sizeof args / sizeof *args);
}

/* Rows of zeros lose nothing, so they do not count. */
static void count_faint(const qb__rows_largest *measure, unsigned slices, unsigned slice, float largest,
                        qb__rows_faint *faint) {
    const float least = largest * 0x1p-26f;
    uint64_t rows = 0;
    for (size_t v = 0; v < measure->views; v++) {
        const float row = measure->host[v * slices + slice];
        rows += row > 0 && row < least;
    }
    faint->rows += rows;
    if (rows && largest > faint->largest) faint->largest = largest;
}

qb_status qb__rows_largest_found(qb__rows_largest *measure, qb__queue *queue, unsigned slices, float *largest,
                                 qb__rows_faint *faint) {
    qb_status status =
        qb__memory_download(queue, measure->of_rows, 0, measure->host, qb__rows_largest_bytes(measure->views, slices));
    if (status == QB_OK) status = qb__queue_finish(queue);
    if (status != QB_OK) return status;
    for (unsigned s = 0; s < slices; s++) largest[s] = 0;
    for (size_t v = 0; v < measure->views; v++)
        for (unsigned s = 0; s < slices; s++) {
            const float row = measure->host[v * slices + s];
            if (row > largest[s]) largest[s] = row;
        }
    for (unsigned s = 0; s < slices; s++)
        if (largest[s] > 0) count_faint(measure, slices, s, largest[s], faint);
    return QB_OK;
}
