/* SPDX-License-Identifier: MIT */
#ifndef QB_CPU_PROJECT_JOSEPH_PROJECT_JOSEPH_H
#define QB_CPU_PROJECT_JOSEPH_PROJECT_JOSEPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/pool.h"
#include "cpu/bp_parallel/bp_parallel.h"
#include "geometry/fan.h"
#include "geometry/flat_rays.h"

/* Forward projection after Joseph (IEEE Trans. Med. Imaging 1 (1982) 192), and its adjoint: the
 * contract of every CPU variant.
 *
 *   S(ray) = sum over the planes k of voxels at right angles to the ray's axis of V_k(b, c)
 *
 * with the axis of qb__fan_axis, (b, c) where the ray crosses plane k, and V_k interpolated
 * bilinearly between voxel centres; a voxel outside counts as zero. The line integral is S times
 * qb__fan_length. Both are linear, so a volume is done in bricks, each as if there were nothing
 * around it: S is the sum over the bricks. The adjoint adds every ray's value to the voxels that it
 * reads, with the same weights.
 *
 * Bricks follow from the volume's size alone (qb__joseph_cut), rays and bricks are taken in
 * ascending order, so no bit depends on threads, slabs or blocks of views. */
enum { QB__JOSEPH_SIDE = 32, QB__JOSEPH_DEPTH = 126 };

/* A box of voxels as a variant wants it: lines along z, [y][x][z], with one voxel more on every
 * side. Those are zero for forward(); what adjoint() leaves there is meaningless. */
typedef struct qb__joseph_brick {
    size_t at[3], n[3]; /* its first voxel and how many, along x, y, z */
    size_t stride;      /* floats from line to line: a multiple of 16, at least n[2] + 2 */
    float *data;        /* 64-byte aligned */
} qb__joseph_brick;

/* Few slices whose rays each stay at one height are done slice by slice, in vectors across columns: a vector of rows would be
 * mostly empty. The contract is the same. */

/* A slice as rays of one main axis want it: planes at right angles to the axis, one behind another, and in each a line of
 * places along the other axis with QB__FLAT_MARGIN zeros on both sides. */
enum { QB__FLAT_MARGIN = 96 };
typedef struct qb__flat_image {
    const float *voxel; /* plane 0, place 0 */
    size_t pitch;       /* floats from plane to plane */
    size_t planes, places;
} qb__flat_image;

/* A part of a slice, to which rays of one main axis are added. Lines may be written up to a multiple of 16 places. */
typedef struct qb__flat_tile {
    float *voxel;
    size_t pitch;
    size_t plane0, planes, place0, places;
} qb__flat_tile;

/* The problem that the planner chooses a kernel for. */
typedef struct qb__joseph_problem {
    size_t views, rows, columns;
    size_t planes;               /* planes that a ray crosses: as many as the longer side has voxels */
    const qb_geometry *geometry; /* geometry and grid, needed by devices; may be NULL for the CPU */
    const qb_grid *grid;
    bool flat;      /* devices: arrays lie as the kernel that goes slice by slice has them (qb__joseph_lay_out) */
    qb__pool *pool; /* devices: threads that prepare what kernels read; NULL: the caller's */
} qb__joseph_problem;

typedef struct qb__joseph_variant {
    qb__variant head; /* an update is a sample: a ray on a plane; accuracy is of both directions */

    /* fans[count] are neighbouring columns of a view, with rows r0 <= r < r1; those of fan i lie at
     * i * stride + r. forward: sums += S. adjoint: brick += its transpose times the values. scratch
     * is 64-byte aligned. Any thread. */
    void (*forward)(const qb__joseph_brick *brick, const qb__fan *fans, size_t count, size_t r0, size_t r1, float *sums,
                    size_t stride, void *scratch);
    void (*adjoint)(const qb__joseph_brick *brick, const qb__fan *fans, size_t count, size_t r0, size_t r1,
                    const float *values, size_t stride, void *scratch);
    size_t (*scratch_bytes)(size_t rows);

    /* Neighbouring columns c0 <= c < c0 + count of one main axis (0 or 1). forward: sums[c - c0] += weight times S of planes
     * k0 <= k < k0 + planes, at most 32 of them. adjoint: tile += its transpose times weight values[c - c0]; neighbouring
     * columns are at least 1 / 16 voxel apart and in the same order in all planes. scratch is 64-byte aligned. */
    void (*flat_forward)(const qb__flat_image *image, const qb__flat_view *view, int axis, size_t c0, size_t count,
                         size_t k0, size_t planes, float weight, float *sums);
    void (*flat_adjoint)(const qb__flat_tile *tile, const qb__flat_view *view, int axis, size_t c0, size_t count,
                         const float *values, float weight, void *scratch);
    size_t (*flat_scratch_bytes)(size_t columns);
} qb__joseph_variant;

/* All variants built in, fastest first; a row whose features the CPU lacks is listed too. */
const qb__joseph_variant *qb__joseph_variants(size_t *count);

/* How a volume of n[3] voxels falls into bricks: how many along each axis. Bricks are side[] voxels
 * long but for the last. */
void qb__joseph_cut(const size_t n[3], size_t side[3], size_t count[3]);
/* Floats of a brick's data when it holds n[3] voxels: lines, and what windows may reach beyond. */
size_t qb__joseph_floats(const size_t n[3], size_t *stride);
/* slab[(z * ny + y) * nx + x] of a volume of nx x ny pixels a slice, its slice z0 first, to and
 * from a brick. pack() clears the border; volume NULL = zeros. */
void qb__joseph_pack(const qb__joseph_brick *brick, const float *slab, size_t z0, size_t nx, size_t ny);
void qb__joseph_unpack(const qb__joseph_brick *brick, float *slab, size_t z0, size_t nx, size_t ny);

/* The double-precision oracle (ref/): the interpolation weights of one ray, plane by plane, in a
 * volume of n[3] voxels. tap() gets the voxel's index (z n[1] + y) n[0] + x. */
void qb__joseph_reference(const qb__fan *fan, size_t row, const size_t n[3],
                          void (*tap)(void *context, size_t voxel, double weight), void *context);

#endif
