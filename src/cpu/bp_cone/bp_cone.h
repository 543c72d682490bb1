/* SPDX-License-Identifier: MIT */
#ifndef QB_CPU_BP_CONE_BP_CONE_H
#define QB_CPU_BP_CONE_BP_CONE_H

#include "cpu/bp_parallel/bp_parallel.h"
#include "geometry/partition.h"
#include "geometry/partition_cone.h"

/* Cone-beam back-projection: the contract of every CPU variant.
 *
 *   f[z][y][x] = sum over views, in ascending order, of P(u, v) / w^2
 *   (u w, v w, w) = M (x, y, z, 1)
 *
 * where x, y, z are voxel indices, M is the view's 3x4 matrix and P its filtered image
 * [row][column], already weighted, interpolated bilinearly between pixel centres at integers. A tap
 * outside the image counts as zero, so the values fade over the last half-open pixel on every side.
 * w must be positive in the whole grid; scaled to depth/D_so it makes 1/w^2 the distance weight of
 * FDK.
 *
 * Every voxel adds the views one by one in single precision, so a block of views may continue what
 * an earlier block began, and neither bricks, slabs, blocks of views nor threads change a bit. */
typedef struct qb__bp_cone_problem {
    size_t views, columns, rows;
    size_t nx, ny, nz;
    const double (*matrix)[12];           /* [views], row by row: u w, v w, w */
    const float *largest;                 /* [views]: no pixel's magnitude exceeds it; for those that need it */
    const struct qb__cone_circle *circle; /* what qb__cone_circle_of() found once; NULL: it is found each time */
} qb__bp_cone_problem;

/* Voxels x0 <= x < x1 and so on. */
typedef struct qb__bp_cone_brick {
    size_t x0, x1, y0, y1, z0, z1;
} qb__bp_cone_brick;

/* Detector rows r0 <= row < r1 that a view's block holds. */
typedef struct qb__bp_cone_window {
    size_t r0, r1;
} qb__bp_cone_window;

/* A variant keeps each view's image in a layout of its own, a block a view: pack() writes one,
 * run() reads those of a range of views for one brick. */
typedef struct qb__bp_cone_variant {
    qb__variant head;
    size_t brick[3]; /* voxels along x, y, z of the brick it likes best; 0 = all */

    /* NULL: a brick may be cut anywhere along z. Else where it is cut best. */
    qb__layers (*layers)(const qb__bp_cone_problem *problem);
    /* Bytes of one view's block: a multiple of 64; 0 when it would overflow. */
    size_t (*view_bytes)(const qb__bp_cone_problem *problem, qb__bp_cone_window window);
    /* image[(row - r0) * row_stride + column], the window's rows alone -> block. Any thread. */
    void (*pack)(const qb__bp_cone_problem *problem, size_t view, qb__bp_cone_window window, const float *image,
                 size_t row_stride, void *block);
    /* As pack(), by several threads: part 0 <= part < parts of the block. NULL: there is only pack(). */
    void (*pack_part)(const qb__bp_cone_problem *problem, size_t view, qb__bp_cone_window window, const float *image,
                      size_t row_stride, void *block, size_t part, size_t parts);
    /* Bytes of 64-byte aligned scratch one running thread needs. */
    size_t (*scratch_bytes)(const qb__bp_cone_problem *problem);
    /* Views first <= view < end, whose blocks lie view_bytes() apart, `first` at `packed`. The
     * window must hold every detector row that the brick sees (qb__bp_cone_rows). Overwrites, or
     * with `accumulate` adds to, out[z * stride_z + y * stride_y + x] within the brick; out
     * addresses voxel (0, 0, 0) of the grid. Any brick, any thread. */
    void (*run)(const qb__bp_cone_problem *problem, size_t first, size_t end, const void *packed,
                qb__bp_cone_window window, qb__bp_cone_brick brick, float *out, size_t stride_z, size_t stride_y,
                bool accumulate, void *scratch);
} qb__bp_cone_variant;

/* All variants built in, fastest first; a row whose features the CPU lacks is listed too. */
const qb__bp_cone_variant *qb__bp_cone_variants(size_t *count);

/* Slices z0 <= z < z1 in the variant's time for slices of whole layers. */
double qb__bp_cone_worth(const qb__bp_cone_variant *variant, const qb__bp_cone_problem *problem, size_t z0, size_t z1);

/* The rows that planes z0 <= z < z1 of the grid see in any of the views; empty (r0 = r1) when none.
 */
qb__bp_cone_window qb__bp_cone_rows(const qb__bp_cone_problem *problem, size_t z0, size_t z1);

/* The smallest w in the grid: a problem is legal only if it is positive. */
double qb__bp_cone_nearest(const qb__bp_cone_problem *problem);

/* The double-precision oracle (ref/): what one view, image[row * row_stride + column], adds to a
 * voxel. */
double qb__bp_cone_reference(const qb__bp_cone_problem *problem, size_t view, const float *image, size_t row_stride,
                             size_t x, size_t y, size_t z);

#endif
