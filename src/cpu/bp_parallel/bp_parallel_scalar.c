/* SPDX-License-Identifier: MIT */
/* The variant without requirements, and the reference: plain C, any number of lanes. */
#include "bp_parallel_line.h"
#include "bp_parallel_rows.h"

#include <string.h>

enum { TILE = 32, LANES = 64 };

static const char *unusable(const struct qb__device_info *device, const void *of, const int *values) {
    (void)device, (void)values;
    return qb__bp_line_unfit(of);
}

/* [columns][lanes], padded to a multiple of 64 bytes. */
static size_t view_bytes(const qb__bp_parallel_problem *problem, unsigned lanes) {
    return (problem->columns * lanes * sizeof(float) + 63) / 64 * 64;
}

/* [pixel of the tile][lanes] */
static size_t scratch_bytes(const qb__bp_parallel_problem *problem, unsigned lanes) {
    (void)problem;
    return (size_t)TILE * TILE * lanes * sizeof(float);
}

static void pack(const qb__bp_parallel_problem *problem, size_t view, unsigned lanes, unsigned slices,
                 const float *rows, size_t row_stride, void *block) {
    (void)view;
    float *to = block;
    for (size_t c = 0; c < problem->columns; c++)
        for (unsigned s = 0; s < lanes; s++) to[c * lanes + s] = s < slices ? rows[s * row_stride + c] : 0.0f;
}

static void add_column(float *sums, const float *block, size_t columns, unsigned lanes, int64_t k, float weight) {
    if (k < 0 || (uint64_t)k >= columns) return;
    const float *column = block + (size_t)k * lanes;
    for (unsigned s = 0; s < lanes; s++) sums[s] += weight * column[s];
}

static void add_view(float *sums, const float *block, size_t columns, unsigned lanes, int64_t q, qb_interp interp) {
    if (interp == QB_INTERP_NEAREST) {
        add_column(sums, block, columns, lanes, (q + (INT64_C(1) << 31)) >> 32, 1.0f);
        return;
    }
    float after = (float)((uint32_t)q >> 8) * 0x1p-24f;
    add_column(sums, block, columns, lanes, q >> 32, 1.0f - after);
    add_column(sums, block, columns, lanes, (q >> 32) + 1, after);
}

static void run(const qb__bp_parallel_problem *problem, const void *packed, unsigned lanes, unsigned slices, size_t x0,
                size_t x1, size_t y0, size_t y1, float *out, size_t stride_z, size_t stride_y, float *sums,
                qb_interp interp) {
    const size_t bytes = view_bytes(problem, lanes);
    memset(sums, 0, scratch_bytes(problem, lanes));
    for (size_t v = 0; v < problem->views; v++) {
        const qb__bp_line line = qb__bp_line_of(problem, v);
        const float *block = (const float *)((const char *)packed + v * bytes);
        for (size_t y = y0; y < y1; y++)
            for (size_t x = x0; x < x1; x++)
                add_view(sums + ((y - y0) * TILE + (x - x0)) * lanes, block, problem->columns, lanes,
                         qb__bp_line_at(line, x, y), interp);
    }
    for (unsigned z = 0; z < slices; z++)
        for (size_t y = y0; y < y1; y++)
            for (size_t x = x0; x < x1; x++)
                out[z * stride_z + y * stride_y + x] = sums[((y - y0) * TILE + (x - x0)) * lanes + z];
}

static void linear_run(const qb__bp_parallel_problem *problem, const void *packed, unsigned lanes, unsigned slices,
                       size_t x0, size_t x1, size_t y0, size_t y1, float *out, size_t stride_z, size_t stride_y,
                       void *scratch) {
    run(problem, packed, lanes, slices, x0, x1, y0, y1, out, stride_z, stride_y, scratch, QB_INTERP_LINEAR);
}

static void nearest_run(const qb__bp_parallel_problem *problem, const void *packed, unsigned lanes, unsigned slices,
                        size_t x0, size_t x1, size_t y0, size_t y1, float *out, size_t stride_z, size_t stride_y,
                        void *scratch) {
    run(problem, packed, lanes, slices, x0, x1, y0, y1, out, stride_z, stride_y, scratch, QB_INTERP_NEAREST);
}

#define VARIANT(name, interpolation, kind)                                                                             \
    {                                                                                                                  \
        .head = {.id = name,                                                                                           \
                 .operation = QB__BP_PARALLEL,                                                                         \
                 .interp = kind,                                                                                       \
                 .accuracy = QB_ACCURACY_HIGH,                                                                         \
                 .speed = 4.0,                                                                                         \
                 .step = 1,                                                                                            \
                 .most = LANES,                                                                                        \
                 .unusable = unusable},                                                                                \
        .view_bytes = view_bytes, .pack = pack, .tile = TILE, .scratch_bytes = scratch_bytes,                          \
        .run = interpolation##_run                                                                                     \
    }

const qb__bp_parallel_variant qb__bp_parallel_linear_scalar =
    VARIANT("bp_parallel_linear.scalar", linear, QB_INTERP_LINEAR);
const qb__bp_parallel_variant qb__bp_parallel_nearest_scalar =
    VARIANT("bp_parallel_nearest.scalar", nearest, QB_INTERP_NEAREST);
