/* SPDX-License-Identifier: MIT */
#include "kernels/filter/near_rows.h"

#include "base/memory.h"
#include "base/status.h"
#include "kernels/filter/filter_device_parts.h"

enum { ITEMS = 128 };

struct qb__near_rows {
    size_t rows, columns;
    float base, slope;
    qb__memory *dark, *gain, *beam; /* a buffer of one number if the field does not exist */
    qb__memory *counts;             /* low and high word of the number of changed pixels */
    qb__memory *pairs;
    qb__program *program;
    qb__kernel *kernel;
};

size_t qb__near_rows_bytes(size_t rows, size_t columns) { return 3 * rows * columns * sizeof(float); }

static qb_status upload(qb__device *device, qb__queue *queue, const void *field, size_t count, qb__memory **memory) {
    static const float none = 0;
    const size_t bytes = field ? count * sizeof none : sizeof none;
    qb_status status = qb__memory_create(device, bytes, memory);
    if (status == QB_OK) status = qb__memory_upload(queue, *memory, 0, field ? field : &none, bytes);
    return status;
}

static qb_status build(qb__device *device, const qb__near_plan *plan, qb__near_rows *near) {
    qb__macros macros = {.count = 0};
    qb__define_raw(&macros, plan->dtype);
    qb__macros_add(&macros, "COLUMNS", (long long)plan->columns);
    qb__macros_add(&macros, "LOGARITHM", 1);
    qb__macros_add(&macros, "HAS_DARK", plan->dark != NULL);
    qb__macros_add(&macros, "HAS_GAIN", plan->gain != NULL);
    qb__macros_add(&macros, "HAS_AIR", 0);
    qb__macros_add(&macros, "ALONE", plan->rows == 1);
    qb__macros_add(&macros, "STEP", 1);
    const char *list[QB__MACROS_MAX + 1];
    size_t count = 0;
    for (size_t i = 0; i < macros.count; i++) list[count++] = macros.text[i];
    for (size_t i = 0; i < plan->step.count && count < QB__MACROS_MAX; i++) list[count++] = plan->step.text[i];
    list[count] = NULL;
    qb_status status = qb__program_build(device, "near_rows.cl", list, &near->program);
    return status == QB_OK ? qb__kernel_get(near->program, "near_rows", &near->kernel) : status;
}

qb_status qb__near_rows_create(qb__device *device, qb__queue *queue, const qb__near_plan *plan, qb__near_rows **out) {
    const size_t pixels = plan->rows * plan->columns;
    qb__near_rows *near = NULL;
    qb_status status;
    *out = NULL;
    QB__TRY(qb__alloc(1, sizeof *near, &near));
    *near = (qb__near_rows){.rows = plan->rows, .columns = plan->columns, .base = plan->base, .slope = plan->slope};
    QB__TRY(build(device, plan, near));
    QB__TRY(upload(device, queue, plan->dark, pixels, &near->dark));
    QB__TRY(upload(device, queue, plan->gain, pixels, &near->gain));
    QB__TRY(upload(device, queue, plan->beam, pixels, &near->beam));
    QB__TRY(upload(device, queue, plan->pairs, 2 * plan->views, &near->pairs));
    QB__TRY(qb__memory_create(device, 2 * sizeof(uint32_t), &near->counts));
    QB__TRY(qb__memory_fill(queue, near->counts, 0, 0, 2 * sizeof(uint32_t)));
    QB__TRY(qb__queue_finish(queue));
out:
    if (status != QB_OK) {
        qb__near_rows_destroy(near);
        return status;
    }
    *out = near;
    return QB_OK;
}

void qb__near_rows_destroy(qb__near_rows *near) {
    if (!near) return;
    QB__MEMORY_DESTROY(near->dark, near->gain, near->beam, near->pairs, near->counts);
    qb__program_release(near->program);
    qb__free(near);
}

qb_status qb__near_rows_run(const qb__near_rows *near, qb__queue *queue, const qb__near_block *block,
                            const qb__memory *raw, qb__memory *out) {
    const uint32_t first = (uint32_t)block->first, end = (uint32_t)block->end, row0 = (uint32_t)block->row0;
    const uint32_t slices = (uint32_t)block->slices, rows = (uint32_t)near->rows;
    const uint32_t own0 = (uint32_t)block->own0, own1 = block->own1 ? (uint32_t)block->own1 : rows;
    const float base = near->base, slope = near->slope;
    const qb__arg args[] = {QB__MEMORIES(raw, near->dark, near->gain, near->beam, near->pairs, out, near->counts),
                            QB__VALUES(first, end, row0, slices, rows, own0, own1, base, slope)};
    const size_t groups[3] = {block->views * block->slices, 1, 1}, items[3] = {ITEMS, 1, 1};
    if (groups[0] == 0) return QB_OK;
    return qb__kernel_launch(near->kernel, queue, groups, items, args, sizeof args / sizeof *args);
}

qb_status qb__near_rows_found(qb__near_rows *near, qb__queue *queue, uint64_t *changed) {
    uint32_t words[2];
    qb_status status = qb__memory_download(queue, near->counts, 0, words, sizeof words);
    if (status == QB_OK) status = qb__queue_finish(queue);
    if (status == QB_OK) *changed = words[0] | (uint64_t)words[1] << 32;
    return status;
}
