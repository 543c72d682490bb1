/* SPDX-License-Identifier: MIT */
#ifndef QB_CPU_BP_PARALLEL_BP_PARALLEL_H
#define QB_CPU_BP_PARALLEL_BP_PARALLEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/variant.h"
#include "geometry/bp_problem.h"

/* The contract of every CPU variant of parallel-beam back-projection (the mathematics stand in
 * bp_problem.h). h is fixed point with 32 fraction bits (bp_parallel_line.h), the same integer in
 * every variant; the nearest column is its floor after adding half. Half precision first sums eight
 * views, in pairs. */

/* No variant takes more slices at once. */
enum { QB__BP_PARALLEL_MOST_LANES = 128 };

/* A variant keeps the sinograms of `lanes` slices in a layout of its own, the packed sinogram, one
 * block a view: pack() writes a view's block from plain rows, run() reads them all for one tile of
 * pixels. A lane without a slice is packed as zeros. */
typedef struct qb__bp_parallel_variant {
    qb__variant head; /* its slices of a pass are lanes here */

    /* Bytes of one view's block: a multiple of 64. */
    size_t (*view_bytes)(const qb__bp_parallel_problem *problem, unsigned lanes);
    /* rows[s * row_stride + column], s < slices <= lanes -> block. Any thread, any view order. */
    void (*pack)(const qb__bp_parallel_problem *problem, size_t view, unsigned lanes, unsigned slices,
                 const float *rows, size_t row_stride, void *block);
    /* Pixels on a side of the tile that run() likes best: the unit of work. */
    unsigned tile;
    /* Bytes of 64-byte aligned scratch one running thread needs. */
    size_t (*scratch_bytes)(const qb__bp_parallel_problem *problem, unsigned lanes);
    /* Overwrites out[z * stride_z + y * stride_y + x] for z < slices, y0 <= y < y1, x0 <= x < x1
     * (x1 - x0 and y1 - y0 at most `tile`; x0 and y0 multiples of it where `most` is 1). out addresses the voxel
     * (0,0,0) of the slab. The result depends on neither the tile's place, the lanes, nor the other
     * slices: same bits however the work is cut. */
    void (*run)(const qb__bp_parallel_problem *problem, const void *packed, unsigned lanes, unsigned slices, size_t x0,
                size_t x1, size_t y0, size_t y1, float *out, size_t stride_z, size_t stride_y, void *scratch);
} qb__bp_parallel_variant;

/* All variants built in, best first within an interpolation; count in *count. A row whose features
 * the CPU lacks is listed too: compare with qb__cpu_features(). */
const qb__bp_parallel_variant *qb__bp_parallel_variants(size_t *count);

/* The double-precision oracle (ref/): one pixel, one slice; rows[view * row_stride + column]. */
double qb__bp_parallel_reference(const qb__bp_parallel_problem *problem, qb_interp interp, const float *rows,
                                 size_t row_stride, size_t x, size_t y);

#endif
