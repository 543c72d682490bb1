/* SPDX-License-Identifier: MIT */
#pragma once

#include "cpu/bp_parallel/bp_parallel.h"
#include "geometry/partition.h"

/* Interface of all CPU variants of cone-beam back-projection.
 *
 *   f[z][y][x] = sum over views, in ascending order, of P(u, v) / w^2
 *   (u w, v w, w) = M (x, y, z, 1)
 *
 * x, y, z are voxel indices, M is the view's 3x4 matrix and P its filtered and weighted image [row][column],
 * interpolated bilinearly between pixel centres at integers. A tap outside the image counts as zero, so the values fade
 * out over the last pixel on every side. w must be positive in the whole grid; scaled to depth/D_so it makes 1/w^2 the
 * distance weight of FDK.
 *
 * Every voxel adds the views one by one in single precision. So a block of views may continue the sum of an earlier
 * block, and the bits do not depend on bricks, slabs, blocks of views or threads. */
typedef struct qb__bp_cone_problem {
    size_t views, columns, rows;
    size_t nx, ny, nz;
    const double (*matrix)[12]; /* [views], row by row: u w, v w, w */
    /* [views] upper limit of the magnitude of the pixels, for variants that need it */
    const float *largest;
    const struct qb__cone_circle *circle; /* result of qb__cone_circle_of(); NULL: it is computed each time */
} qb__bp_cone_problem;

/* A box of voxels x0 <= x < x1 and so on. */
typedef struct qb__bp_cone_brick {
    size_t x0, x1, y0, y1, z0, z1;
} qb__bp_cone_brick;

/* Detector rows r0 <= row < r1 in a view's block. */
typedef struct qb__bp_cone_window {
    size_t r0, r1;
} qb__bp_cone_window;

/* A variant has its own layout for a view's image, one block per view: pack() writes a block, run() reads those of a
 * range of views for one brick. */
typedef struct qb__bp_cone_variant {
    qb__variant head;
    size_t brick[3]; /* preferred brick in voxels along x, y, z; 0 = everything */

    /* NULL: a brick may be divided anywhere along z. Else the best place. */
    qb__layers (*layers)(const qb__bp_cone_problem *problem);
    /* Bytes of one view's block: a multiple of 64; 0 on overflow. */
    size_t (*view_bytes)(const qb__bp_cone_problem *problem, qb__bp_cone_window window);
    /* Write image[(row - r0) * row_stride + column], only the window's rows, to the block. Thread-safe. */
    void (*pack)(const qb__bp_cone_problem *problem, size_t view, qb__bp_cone_window window, const float *image,
                 size_t row_stride, void *block);
    /* As pack(), by several threads: part 0 <= part < parts of the block. NULL: only pack() exists. */
    void (*pack_part)(const qb__bp_cone_problem *problem, size_t view, qb__bp_cone_window window, const float *image,
                      size_t row_stride, void *block, size_t part, size_t parts);
    /* Bytes of 64-byte aligned scratch per thread. */
    size_t (*scratch_bytes)(const qb__bp_cone_problem *problem);
    /* Back-project views first <= view < end, whose blocks are view_bytes() apart, `first` at `packed`. The window must
     * contain every detector row that the brick needs (qb__bp_cone_rows). Overwrites, or with `accumulate` adds to,
     * out[z * stride_z + y * stride_y + x] within the brick; out is the address of voxel (0, 0, 0) of the grid. Any
     * brick, any thread. */
    void (*run)(const qb__bp_cone_problem *problem, size_t first, size_t end, const void *packed,
                qb__bp_cone_window window, qb__bp_cone_brick brick, float *out, size_t stride_z, size_t stride_y,
                bool accumulate, void *scratch);
} qb__bp_cone_variant;

/* All variants of this build, fastest first, including those whose features the CPU lacks. */
const qb__bp_cone_variant *qb__bp_cone_variants(size_t *count);

/* Time of slices z0 <= z < z1, in units of the time of a slice in whole layers. */
double qb__bp_cone_worth(const qb__bp_cone_variant *variant, const qb__bp_cone_problem *problem, size_t z0, size_t z1);

/* The rows that planes z0 <= z < z1 of the grid need in any view; r0 = r1 if none. */
qb__bp_cone_window qb__bp_cone_rows(const qb__bp_cone_problem *problem, size_t z0, size_t z1);

/* The smallest w in the grid: it must be positive. */
double qb__bp_cone_nearest(const qb__bp_cone_problem *problem);

/* The double-precision oracle (ref/): the contribution of one view, image[row * row_stride + column], to a voxel. */
double qb__bp_cone_reference(const qb__bp_cone_problem *problem, size_t view, const float *image, size_t row_stride,
                             size_t x, size_t y, size_t z);
