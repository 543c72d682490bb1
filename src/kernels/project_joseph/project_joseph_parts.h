/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/memory.h"
#include "kernels/project_joseph/project_joseph_flat.h"

/* Shared only by project_joseph_rows.c (the variants), project_joseph_plan.c (plans) and project_joseph_run.c
 * (launches). */

/* The parameters of the rows, in order. */
enum { TEXTURED, RAYS, COLUMNS, VIEWS, CHUNK, GROUPS, LINES, STEPS, BACK_GROUPS, PARAMETERS };
/* Margins of zeros and the division of the work: as in project_joseph.clh. */
enum { FRONT = 8, BACK = 12, EDGE = 2, TILE = 32, ITEMS = 256, PLANES = 8 };
enum { GATHER_X = 8, GATHER_Z = 32 };
/* Values of TEXTURED: four voxels interpolated by instructions, textures, or slice by slice (project_joseph_flat.h). */
enum { BLENDED, BY_TEXTURE, FLAT };
enum { FLAT_STEPS = 1 }; /* the other parameter of slice by slice */

/* Tiles of the adjoint along z: 32 x STEPS voxels each; from voxel `last` on there is one of 32 x last_steps voxels. */
typedef struct qb__joseph_tiles {
    size_t last, last_steps; /* SIZE_MAX, 0: all are alike */
} qb__joseph_tiles;

struct qb__joseph_plan {
    qb__device *device;
    int values[QB__PARAMETERS_MAX];
    size_t views, rows, columns, n[3];
    float voxel[3];
    bool cone, vertical;   /* upright: in the forward direction */
    qb__joseph_flat *flat; /* slice by slice: of the fields below only the layouts are used */
    bool wide;             /* the forward kernel counts floats of a slab in 64 bits */
    qb__joseph_most most;
    size_t members, room;       /* members of a batch; members that `scaled` can hold */
    qb__joseph_records records; /* host memory; only first_run, blocks and axes are kept */
    int copy[3], copies;        /* copies of the block's rays, if the adjoint gathers */
    qb__joseph_tiles tiles;
    qb__program *layout, *forward, *scale, *back, *back_last;
    qb__kernel *pack, *unpack, *columns_kernel, *images, *turn;
    qb__kernel *forward_kernel, *scale_kernel, *back_kernel, *last_kernel;
    qb__memory *fans, *view_records, *runs, *axes;
    qb__memory *scaled, *turned;
    qb__texture *texture[2];  /* planes along x, along y */
    qb__memory *odd;          /* [images]: 1 if values are not finite */
    size_t watched, watching; /* images that fit into it; images of these calls */
    int32_t odd_at;           /* first index of the next launch; -1: nothing is recorded */
};

/* Floats of a line of voxels, and of a column of pixels, with the zeros in front of them. */
static inline size_t qb__joseph_line(bool flat, size_t slices) {
    return flat ? slices : qb__round_up(FRONT + slices + 2, 8);
}
static inline size_t qb__joseph_stride(bool flat, size_t rows) {
    return flat ? rows : qb__round_up(FRONT + rows + BACK, 8);
}
static inline int32_t qb__joseph_front(bool flat) { return flat ? 0 : FRONT; }
