/* SPDX-License-Identifier: MIT */
#include "kernels/bp_cone/bp_cone_parts.h"

#include <stdio.h>

#include "base/memory.h"
#include "base/status.h"

qb_status qb__cone_build(qb__device *device, const char *name, const qb__macros *macros, qb__program **program,
                         qb__kernel **kernel) {
    char source[64];
    snprintf(source, sizeof source, "%s.cl", name);
    qb_status status = qb__program_build(device, source, macros->list, program);
    return status == QB_OK ? qb__kernel_get(*program, name, kernel) : status;
}

qb_status qb__cone_pack(qb__kernel *kernel, qb__queue *queue, const qb__cone_images *images, int32_t pitch,
                        int32_t height, qb__memory *packed) {
    enum { TILE = 16 };
    const uint64_t rows_at = images->offset / sizeof(float), stride = images->view_stride;
    const int32_t row = (int32_t)images->row_stride, columns = (int32_t)images->columns;
    const int32_t count = (int32_t)(images->window.r1 - images->window.r0);
    const qb__arg args[] = {QB__MEMORY(images->rows), QB__VALUES(rows_at, stride, row, columns, count),
                            QB__MEMORY(packed), QB__VALUES(pitch, height)};
    const size_t groups[3] = {qb__ceil_div((size_t)pitch, TILE), qb__ceil_div((size_t)height, TILE), images->views};
    const size_t items[3] = {TILE * TILE, 1, 1};
    return qb__kernel_launch(kernel, queue, groups, items, args, sizeof args / sizeof *args);
}

qb_status qb__cone_upload(qb__device *device, const void *numbers, size_t bytes, qb__memory **memory) {
    qb__queue *queue = NULL;
    qb_status status;
    QB__TRY(qb__memory_create(device, bytes, memory));
    QB__TRY(qb__queue_create(device, &queue));
    QB__TRY(qb__memory_upload(queue, *memory, 0, numbers, bytes));
    QB__TRY(qb__queue_finish(queue));
out:
    qb__queue_destroy(queue);
    return status;
}

size_t qb__cone_matrices_bytes(size_t views) { return views * 24 * sizeof(float); }

/* Store each number as two floats; the caller releases *out. */
static qb_status parts_of(const double (*matrix)[12], size_t views, float (**out)[24]) {
    float(*parts)[24];
    *out = NULL;
    QB__OR_RETURN(qb__alloc(views, sizeof *parts, &parts));
    for (size_t v = 0; v < views; v++)
        for (int i = 0; i < 12; i++) {
            parts[v][i] = (float)matrix[v][i];
            parts[v][12 + i] = (float)(matrix[v][i] - (double)parts[v][i]);
        }
    *out = parts;
    return QB_OK;
}

qb_status qb__cone_matrices_upload(qb__device *device, const double (*matrix)[12], size_t views, qb__memory **memory) {
    float(*parts)[24];
    QB__OR_RETURN(parts_of(matrix, views, &parts));
    const qb_status status = qb__cone_upload(device, parts, qb__cone_matrices_bytes(views), memory);
    qb__free(parts);
    return status;
}

qb_status qb__cone_matrices_replace(qb__queue *queue, const double (*matrix)[12], size_t views, qb__memory *memory) {
    float(*parts)[24];
    QB__OR_RETURN(parts_of(matrix, views, &parts));
    qb_status status = qb__memory_upload(queue, memory, 0, parts, qb__cone_matrices_bytes(views));
    status = qb__queue_finish_after(queue, status);
    qb__free(parts);
    return status;
}
