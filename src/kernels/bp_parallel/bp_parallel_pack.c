/* SPDX-License-Identifier: MIT */
#include "bp_parallel_pack.h"

#include "base/memory.h"
#include "kernels/macros.h"

#include <math.h>

enum { ITEMS = 256, LANES = 32, PIECE_BYTES = 16, GROUPS_MOST = 65535 };

/* ---- the packed memory ---- */

size_t qb__pack_bytes(const qb__bp_parallel_problem *problem, unsigned slices, unsigned group, bool half) {
    size_t groups = qb__ceil_div(slices, group), bytes;
    if (!qb__mul(groups * group, problem->views, problem->columns, &bytes) ||
        !qb__mul(bytes, half ? 2 : 4, 1, &bytes) || bytes > QB__PACKED_MOST)
        return QB__PACKED_MOST;
    return qb__ceil_div(bytes, 256) * 256 + groups * group * sizeof(float);
}

uint64_t qb__pack_undo_at(const qb__bp_parallel_problem *problem, unsigned slices, unsigned group, bool half) {
    size_t groups = qb__ceil_div(slices, group);
    return qb__pack_bytes(problem, slices, group, half) / sizeof(float) - groups * group;
}

/* ---- the kernel ---- */

/* Columns of a 16-byte piece, and rows, so that each item has 16 loads under way. */
qb_status qb__pack_create(qb__device *device, unsigned group, bool half, qb__pack *pack) {
    const int element = half ? 2 : 4, column = (int)group * element;
    const int columns = column < PIECE_BYTES ? PIECE_BYTES / column : 1;
    const int batch = 16 / (columns * (int)group);
    *pack = (qb__pack){.group = group, .half = half, .columns = columns, .batch = batch > 0 ? batch : 1};
    qb__macros macros = {.count = 0};
    qb__macros_add(&macros, "SLICES", (int)group);
    qb__macros_add(&macros, "HALF", half);
    qb__macros_add(&macros, "COLUMNS", pack->columns);
    qb__macros_add(&macros, "BATCH", pack->batch);
    qb_status status = qb__program_build(device, "bp_parallel_pack.cl", macros.list, &pack->program);
    if (!status) status = qb__kernel_get(pack->program, "bp_parallel_pack", &pack->kernel);
    if (!status) return QB_OK;
    qb__pack_destroy(pack);
    return status;
}

void qb__pack_destroy(qb__pack *pack) {
    qb__program_release(pack->program);
    *pack = (qb__pack){0};
}

/* ---- packing ---- */

/* A power of two that brings the slice's largest value below 2^12, so that eight of them can be summed in half
 * precision. */
static float scale_of(const qb__bp_parallel_problem *problem, size_t slice, unsigned slices) {
    float largest = slice < slices ? problem->largest[slice] : 0.0f;
    int exponent;
    if (!(largest > 0.0f && largest < INFINITY)) return 1.0f;
    frexpf(largest, &exponent);
    exponent = 12 - exponent;
    exponent = exponent > 120 ? 120 : exponent < -120 ? -120 : exponent;
    return ldexpf(1.0f, exponent);
}

/* The scales of one launch, as the kernel takes them. */
enum { SCALES = 64 };
typedef struct scales {
    float of[SCALES];
} scales;

/* Position of the rows in floats, and which of them are packed. */
typedef struct rows_of {
    const qb__memory *memory;
    uint64_t offset, view_stride, slice_stride;
    size_t view0, view1;
    unsigned slices;
} rows_of;

/* True if all reads and writes of items are aligned to whole vectors. */
static bool wide(const qb__pack *pack, const rows_of *rows, size_t columns) {
    const uint64_t loaded = pack->columns < 4 ? (uint64_t)pack->columns : 4;
    const uint64_t places = rows->offset | rows->view_stride | rows->slice_stride;
    return columns % (size_t)pack->columns == 0 && places % loaded == 0;
}

/* Pack the groups from group0 on, as many as one launch can take. */
static qb_status pack_groups(const qb__pack *pack, qb__queue *queue, const qb__bp_parallel_problem *problem,
                             const rows_of *rows, size_t group0, size_t groups, qb__memory *packed) {
    const int32_t columns = (int32_t)problem->columns, views = (int32_t)problem->views;
    const int32_t first = (int32_t)rows->view0, end = (int32_t)rows->view1;
    const int32_t group = (int32_t)group0, all = (int32_t)rows->slices;
    const int32_t whole = wide(pack, rows, problem->columns);
    const uint64_t undo_at = qb__pack_undo_at(problem, rows->slices, pack->group, pack->half);
    const size_t high = qb__ceil_div(rows->view1 - rows->view0, (size_t)(ITEMS / LANES * pack->batch));
    const size_t grid[3] = {qb__ceil_div(problem->columns, (size_t)(LANES * pack->columns)),
                            high < GROUPS_MOST ? high : GROUPS_MOST, groups};
    const size_t items[3] = {ITEMS, 1, 1};
    scales scale;
    for (size_t i = 0; i < SCALES; i++)
        scale.of[i] = pack->half ? scale_of(problem, group0 * pack->group + i, rows->slices) : 1.0f;
    const qb__arg args[] = {QB__MEMORY(rows->memory),
                            QB__VALUES(rows->offset, rows->view_stride, rows->slice_stride, columns, views, first, end,
                                       group, all, scale, whole),
                            QB__MEMORIES(packed, packed), QB__VALUE(undo_at)};
    return qb__kernel_launch(pack->kernel, queue, grid, items, args, sizeof args / sizeof *args);
}

qb_status qb__pack_run(const qb__pack *pack, qb__queue *queue, const qb__bp_parallel_problem *problem,
                       const qb__memory *rows, size_t offset, size_t view_stride, size_t slice_stride, size_t view0,
                       size_t view1, unsigned slices, qb__memory *packed) {
    const rows_of from = {rows, offset / sizeof(float), view_stride, slice_stride, view0, view1, slices};
    const size_t groups = qb__ceil_div(slices, pack->group);
    const size_t most = pack->half ? SCALES / pack->group : 32768;
    qb_status status = QB_OK;
    if (view0 >= view1 || !slices) return QB_OK;
    for (size_t g = 0; g < groups && !status; g += most) {
        const size_t n = groups - g < most ? groups - g : most;
        status = pack_groups(pack, queue, problem, &from, g, n, packed);
    }
    return status;
}
