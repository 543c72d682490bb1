/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/pool.h"
#include "cpu/bp_parallel/bp_parallel.h"
#include "geometry/fan.h"
#include "geometry/flat_rays.h"

/* Forward projection after Joseph (IEEE Trans. Med. Imaging 1 (1982) 192), and its adjoint: interface of all CPU
 * variants.
 *
 *   S(ray) = sum over the voxel planes k perpendicular to the ray's axis of V_k(b, c)
 *
 * with the axis of qb__fan_axis, (b, c) the crossing of the ray with plane k, and V_k interpolated bilinearly between
 * voxel centres; voxels outside the volume count as zero. The line integral is S times qb__fan_length. Both directions
 * are linear, so a volume is processed in bricks, each as if it were alone: S is the sum over the bricks. The adjoint
 * adds every ray's value to the voxels that the ray reads, with the same weights.
 *
 * Bricks depend only on the volume's size (qb__joseph_cut), and rays and bricks are processed in ascending order, so
 * the bits do not depend on threads, slabs or blocks of views. */
enum { QB__JOSEPH_SIDE = 32, QB__JOSEPH_DEPTH = 126 };

/* A box of voxels in a variant's layout: lines along z, [y][x][z], with one more voxel on every side. These are zero
 * for forward(); adjoint() leaves undefined values there. */
typedef struct qb__joseph_brick {
    size_t at[3], n[3]; /* first voxel and size of the brick, along x, y, z */
    size_t stride;      /* floats from line to line: a multiple of 16, at least n[2] + 2 */
    float *data;        /* 64-byte aligned */
} qb__joseph_brick;

/* Few slices whose rays each stay at one height are processed slice by slice, in vectors across columns, because a
 * vector of rows would be mostly empty. The definition is the same. */

/* A slice in the layout for rays of one main axis: planes perpendicular to the axis, one after the other, and in each a
 * line of positions along the other axis with QB__FLAT_MARGIN zeros on both sides. */
enum { QB__FLAT_MARGIN = 96 };
typedef struct qb__flat_image {
    const float *voxel; /* plane 0, position 0 */
    size_t pitch;       /* floats from plane to plane */
    size_t planes, places;
} qb__flat_image;

/* A part of a slice, to which rays of one main axis are added. Lines may be written up to a multiple of 16
 * positions. */
typedef struct qb__flat_tile {
    float *voxel;
    size_t pitch;
    size_t plane0, planes, place0, places;
} qb__flat_tile;

/* The problem that the planner chooses a kernel for. */
typedef struct qb__joseph_problem {
    size_t views, rows, columns;
    size_t planes;               /* planes that a ray crosses: the number of voxels of the longer side */
    const qb_geometry *geometry; /* geometry and grid, needed by devices; may be NULL for the CPU */
    const qb_grid *grid;
    bool flat;      /* devices: arrays have the layout of the kernel that goes slice by slice (qb__joseph_lay_out) */
    qb__pool *pool; /* devices: threads that prepare what kernels read; NULL: only the calling thread */
} qb__joseph_problem;

typedef struct qb__joseph_variant {
    qb__variant head; /* an update is a sample: a ray in a plane; the accuracy is that of both directions */

    /* fans[count] are neighbouring columns of a view, with rows r0 <= r < r1; those of fan i are at i * stride + r.
     * forward: sums += S. adjoint: brick += its transpose times the values. scratch is 64-byte aligned. Thread-safe. */
    void (*forward)(const qb__joseph_brick *brick, const qb__fan *fans, size_t count, size_t r0, size_t r1, float *sums,
                    size_t stride, void *scratch);
    void (*adjoint)(const qb__joseph_brick *brick, const qb__fan *fans, size_t count, size_t r0, size_t r1,
                    const float *values, size_t stride, void *scratch);
    size_t (*scratch_bytes)(size_t rows);

    /* Neighbouring columns c0 <= c < c0 + count of one main axis (0 or 1). forward: sums[c - c0] += weight times S of
     * planes k0 <= k < k0 + planes, at most 32. adjoint: tile += its transpose times weight values[c - c0];
     * neighbouring columns are at least 1 / 16 voxel apart and have the same order in all planes. scratch is 64-byte
     * aligned. */
    void (*flat_forward)(const qb__flat_image *image, const qb__flat_view *view, int axis, size_t c0, size_t count,
                         size_t k0, size_t planes, float weight, float *sums);
    void (*flat_adjoint)(const qb__flat_tile *tile, const qb__flat_view *view, int axis, size_t c0, size_t count,
                         const float *values, float weight, void *scratch);
    size_t (*flat_scratch_bytes)(size_t columns);
} qb__joseph_variant;

/* All variants of this build, fastest first, including those whose features the CPU lacks. */
const qb__joseph_variant *qb__joseph_variants(size_t *count);

/* Number of bricks along each axis for a volume of n[3] voxels. Bricks are side[] voxels long, except the last. */
void qb__joseph_cut(const size_t n[3], size_t side[3], size_t count[3]);
/* Floats of a brick's data for n[3] voxels: lines, and what windows may read beyond. */
size_t qb__joseph_floats(const size_t n[3], size_t *stride);
/* Copy slab[(z * ny + y) * nx + x] of a volume of nx x ny pixels per slice, whose first slice is z0, to and from a
 * brick. pack() clears the border; volume NULL = zeros. */
void qb__joseph_pack(const qb__joseph_brick *brick, const float *slab, size_t z0, size_t nx, size_t ny);
void qb__joseph_unpack(const qb__joseph_brick *brick, float *slab, size_t z0, size_t nx, size_t ny);

/* The double-precision oracle (ref/): the interpolation weights of one ray, plane by plane, in a volume of n[3] voxels.
 * tap() gets the voxel's index (z n[1] + y) n[0] + x. */
void qb__joseph_reference(const qb__fan *fan, size_t row, const size_t n[3],
                          void (*tap)(void *context, size_t voxel, double weight), void *context);
