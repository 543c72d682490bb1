/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/variant.h"
#include "geometry/bp_problem.h"

/* Interface of all CPU variants of parallel-beam back-projection (formula in bp_problem.h). h is fixed point with 32
 * fraction bits (bp_parallel_line.h), the same integer in every variant; the nearest column is the floor of h plus a
 * half. In half precision, eight views are summed first, in pairs. */

/* Limit for all variants. */
enum { QB__BP_PARALLEL_MOST_LANES = 128 };

/* A variant has its own layout for the sinograms of `lanes` slices, one block per view: pack() writes a view's block
 * from rows, run() reads all blocks for one tile of pixels. Lanes without a slice are packed as zeros. */
typedef struct qb__bp_parallel_variant {
    qb__variant head; /* `step` and `most` count lanes */

    /* Bytes of one view's block: a multiple of 64. */
    size_t (*view_bytes)(const qb__bp_parallel_problem *problem, unsigned lanes);
    /* Write rows[s * row_stride + column], s < slices <= lanes, to the block. Thread-safe; views in any order. */
    void (*pack)(const qb__bp_parallel_problem *problem, size_t view, unsigned lanes, unsigned slices,
                 const float *rows, size_t row_stride, void *block);
    /* Preferred side of a tile in pixels: the unit of work. */
    unsigned tile;
    /* Bytes of 64-byte aligned scratch per thread. */
    size_t (*scratch_bytes)(const qb__bp_parallel_problem *problem, unsigned lanes);
    /* Overwrites out[z * stride_z + y * stride_y + x] for z < slices, y0 <= y < y1, x0 <= x < x1 (x1 - x0 and y1 - y0
     * at most `tile`; x0 and y0 are multiples of it if `most` is 1). out is the address of voxel (0,0,0) of the slab.
     * The bits do not depend on the tile, the lanes or the other slices. */
    void (*run)(const qb__bp_parallel_problem *problem, const void *packed, unsigned lanes, unsigned slices, size_t x0,
                size_t x1, size_t y0, size_t y1, float *out, size_t stride_z, size_t stride_y, void *scratch);
    /* The same bits for one slice, faster, for any x0 and y0; its tile is as large. NULL: none. */
    const struct qb__bp_parallel_variant *one;
} qb__bp_parallel_variant;

/* The functions for so many slices. */
static inline const qb__bp_parallel_variant *qb__bp_parallel_for(const qb__bp_parallel_variant *variant,
                                                                 size_t slices) {
    return slices == 1 && variant->one ? variant->one : variant;
}

/* All variants of this build, best first within an interpolation; their number in *count. Includes rows whose features
 * the CPU lacks: compare with qb__cpu_features(). */
const qb__bp_parallel_variant *qb__bp_parallel_variants(size_t *count);

/* The double-precision oracle (ref/): one pixel of one slice; rows[view * row_stride + column]. */
double qb__bp_parallel_reference(const qb__bp_parallel_problem *problem, qb_interp interp, const float *rows,
                                 size_t row_stride, size_t x, size_t y);
