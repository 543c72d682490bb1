/* SPDX-License-Identifier: MIT */
#include "bp_parallel_tensor_sizes.h"

#include "base/memory.h"

/* Shared memory of a stage, and of the other tables. */
static size_t stage_bytes(const qb__tensor_sizes *s) {
    const size_t columns = (size_t)s->planes * (size_t)s->rows * QB__TENSOR_ROW_BYTES;
    return (size_t)s->views * (columns + sizeof(uint32_t) * qb__tensor_table_words(1, s->bins, s->planes == 2));
}

static size_t table_bytes(const qb__tensor_sizes *s) {
    const size_t exchange = QB__TENSOR_WARPS * 64 * 10 * sizeof(float);
    const size_t strips = QB__TENSOR_WARPS * 2 * 2 * sizeof(uint32_t) * (size_t)s->views;
    return exchange + (size_t)s->stages * (strips + 12) + 256; /* 256: room for alignment */
}

static size_t shared_bytes(const qb__tensor_sizes *s) { return (size_t)s->stages * stage_bytes(s) + table_bytes(s); }

/* Choose the number of stages that was asked for, or as many as fit; then fewer views each. */
bool qb__tensor_choose(const qb__device_info *device, const qb__bp_parallel_problem *problem, const int *values,
                       qb__tensor_sizes *s) {
    static const int numbers[] = {3, 4, 6, 8}; /* numbers of stages that several producers can share */
    s->bins = qb__tensor_bins(problem, &s->rows);
    s->planes = 1 + values[QB__TENSOR_SPLIT];
    s->views = values[QB__TENSOR_VIEWS];
    /* With few views, the padding views of each shape cost more than a stage. */
    if (problem->views < 256 && s->views > 4) s->views = 4;
    s->stages = 2;
    while (s->views > 2 && shared_bytes(s) > device->local_bytes) s->views /= 2;
    if (shared_bytes(s) > device->local_bytes) return false;
    for (int i = 0; i < (int)(sizeof numbers / sizeof *numbers); i++) {
        qb__tensor_sizes more = *s;
        more.stages = numbers[i];
        if (more.stages <= values[QB__TENSOR_STAGES] && shared_bytes(&more) <= device->local_bytes)
            s->stages = more.stages;
    }
    s->dynamic_bytes = (size_t)s->stages * stage_bytes(s);
    return true;
}

const char *qb__tensor_unusable(const qb__device_info *device, const void *of, const int *values) {
    const qb__bp_parallel_problem *problem = of;
    qb__tensor_sizes s;
    int rows;
    if (device->api != QB__API_CUDA) return "needs CUDA";
    if (device->arch < 80) return "needs compute capability 8.0";
    if (!problem->largest) return "half precision needs the largest values";
    if (problem->columns > INT32_MAX / 2 || problem->nx > UINT16_MAX || problem->ny > UINT16_MAX)
        return "needs fewer than 65536 pixels a side";
    if (!qb__tensor_bins(problem, &rows)) return "needs pixels smaller than 5 columns";
    if (!qb__tensor_choose(device, problem, values, &s)) return "needs more shared memory";
    return NULL;
}

/* Computed updates per wanted update. */
static double filled(size_t count, size_t step) {
    return count ? (double)(qb__ceil_div(count, step) * step) / (double)count : 1;
}

void qb__tensor_cost(const void *of, unsigned slices, const int *values, qb__kernel_cost *cost) {
    const qb__bp_parallel_problem *problem = of;
    int rows;
    const double blocks = qb__tensor_bins(problem, &rows) / 8.0;
    const double planes = 1 + values[QB__TENSOR_SPLIT];
    const double pixels = QB__TENSOR_GROUP_X * QB__TENSOR_GROUP_Y;
    const double padded = filled(slices, QB__TENSOR_SLICES) * filled(problem->nx, QB__TENSOR_GROUP_X) *
                          filled(problem->ny, QB__TENSOR_GROUP_Y);
    const double streamed = rows * planes * QB__TENSOR_ROW_BYTES / (pixels * QB__TENSOR_SLICES);
    const double table = blocks * 256 * planes / (pixels * QB__TENSOR_SLICES);
    *cost = (qb__kernel_cost){.launches = 1.0};
    /* The matrix products and the computation of their weights share issue slots: the units reach 0.7 of their rate
     * (measured). */
    cost->tensor_flops = padded * blocks * (values[QB__TENSOR_SPLIT] ? 48 : 16) / 0.7;
    cost->local_bytes = padded * (blocks * planes * 0.5 + blocks * planes * 0.0625 + streamed + table);
    cost->arithmetic = padded * blocks * (values[QB__TENSOR_SPLIT] ? 0.9 : 0.23);
    cost->l2_bytes = padded * (streamed + table);
    /* Running groups share columns; most of them lie within 256 x 256 pixels. */
    cost->memory_bytes = padded * streamed / 16 + 4.0 / (double)problem->views;
}

size_t qb__tensor_packed_bytes(const qb__bp_parallel_problem *problem, unsigned slices, const int *values) {
    const size_t groups = qb__ceil_div(slices, QB__TENSOR_SLICES);
    const size_t planes = (size_t)(1 + values[QB__TENSOR_SPLIT]);
    int rows;
    size_t lines, bytes;
    qb__tensor_bins(problem, &rows);
    if (!qb__mul(groups, planes, problem->views, &lines) ||
        !qb__mul(lines, problem->columns + 2 * (size_t)rows, QB__TENSOR_ROW_BYTES, &bytes) || bytes > QB__PACKED_MOST)
        return QB__PACKED_MOST;
    return bytes + groups * QB__TENSOR_SLICES * sizeof(float);
}
