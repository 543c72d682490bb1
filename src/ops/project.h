/* SPDX-License-Identifier: MIT */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/pool.h"
#include "cpu/project_joseph/project_joseph.h"
#include "geometry/flat_rays.h"
#include "geometry/matrix.h"
#include "ops/project_slabs.h"
#include "quickbeam/project.h"

/* Projection of few slices whose rays each stay at one height: all rays of a single slice, parallel or fan beam. Sums
 * and values are images, [view][row][column]. */

/* Floats of a copy of all slices for both main axes. */
size_t qb__flat_floats(const qb_grid *grid);

typedef struct qb__flat_work {
    const qb__joseph_variant *variant;
    const qb_geometry *geometry;
    const qb_grid *grid;
    const qb__flat_rays *rays; /* [views] */
    size_t view0, view1;
    float *lines; /* sums or values: [view1 - view0][row][column] */
    float *copy;  /* qb__flat_floats(); forward only */
} qb__flat_work;

/* sums += the projection of volume[z][y][x]. */
void qb__flat_add(const qb__flat_work *work, const float *volume, qb__pool *pool);

/* Arguments for adding to the voxels at[j] <= voxel < at[j] + n[j]; at most 32 x 32 voxels of each slice. `window`
 * gives the columns of a view that see them. */
typedef struct qb__flat_columns {
    size_t c0, c1;
} qb__flat_columns;
size_t qb__flat_scratch_bytes(const qb__flat_work *work);
void qb__flat_back(const qb__flat_work *work, const size_t at[3], const size_t n[3],
                   qb__flat_columns (*window)(const void *context, size_t view), const void *context, float *volume,
                   void *scratch);

struct qb_projector {
    qb_geometry geometry; /* a copy */
    qb_grid grid;
    qb__matrix *matrices; /* [views] for the grid */
    const qb__joseph_variant *variant;
    qb__pool *pool;
    size_t side[3], bricks[3]; /* size of a brick; number of bricks */
    size_t stride;             /* floats of a column of rays in the kernels' layout */
    qb__flat_rays *flat;       /* [views], if slices are computed one by one (project_flat.c); else NULL */
    char **scratch;            /* [thread] */
    size_t scratch_bytes;
    float *layer;            /* the bricks of one layer, for each member of a batch; allocated when needed */
    size_t layers;           /* number of layers in it */
    pthread_mutex_t at_work; /* locks out a second call */
    atomic_size_t odd;       /* views of this call's projections with non-finite values */
    unsigned forks;          /* number of forks when it was created: its threads do not exist in a child */
    bool on_device;          /* computed on a device, by `device` below */
    qb__device_set devices;
    qb__device_pick pick;
    qb__slab_projector device;
};

/* qb_projector_create for the CPU, whatever env names; the id of a device kernel counts as none. part: the grid is a
 * part of a volume, which no ray need meet. */
qb_status qb__projector_on_cpu(const qb_geometry *geometry, const qb_grid *grid, bool part, const char *kernel,
                               const qb_env *env, qb_projector **projector);

/* Wait for calls of other threads. QB_BAD_ARGUMENT for views out of range, and for an env of an unknown version;
 * QB_CANCELLED. Then do all the operator's work, with arrays opened and stored, until qb__project_leave, which returns
 * `status`. */
qb_status qb__project_enter(qb_projector *projector, size_t first, size_t end, const qb_env *env);
qb_status qb__project_leave(qb_projector *projector, qb_status status);
/* For a batch of `members` volumes one behind the other, and projections likewise. The CPU takes arrays in host memory
 * only. */
qb_status qb__project_forward(qb_projector *projector, size_t members, const qb__images *volume, size_t first,
                              size_t end, const qb_env *env, const qb__images *projections);
qb_status qb__project_adjoint(qb_projector *projector, size_t members, const qb__images *projections, size_t first,
                              size_t end, bool accumulate, const qb_env *env, const qb__images *volume);

/* The problem for which the planner chooses a kernel. */
qb__joseph_problem qb__project_problem(const qb_geometry *geometry, const qb_grid *grid);

/* A projection in steps, for volumes that are not in memory as a whole. A slab is slices z0 <= z < z1, both multiples
 * of the projector's side[2] or the volume's end. Sums and values hold the views view0 <= view < view1,
 * qb__project_view_floats each: as columns of rays, or as images if the projector is flat. */

/* sums += the slab's part. Slabs come in ascending order; sums must be zero at first. */
qb_status qb__project_add(qb_projector *projector, const float *slab, size_t z0, size_t z1, size_t view0, size_t view1,
                          float *sums, const qb_env *env);
/* Convert the sums of the whole volume to projections[view - view0][row][column]. */
void qb__project_finish(qb_projector *projector, size_t view0, size_t view1, const float *sums, float *projections);
/* Convert projections[view - view0][row][column] to values for qb__project_back. */
void qb__project_spread(qb_projector *projector, size_t view0, size_t view1, const float *projections, float *values);
/* Add the transpose to the bricks first <= brick < end of qb__project_bricks(). Every voxel lies in one brick, and gets
 * view after view, so the caller may use the result of some views. */
qb_status qb__project_back(qb_projector *projector, const float *values, size_t view0, size_t view1, size_t first,
                           size_t end, float *volume, const qb_env *env);
size_t qb__project_bricks(const qb_projector *projector);
/* The voxels at[j] <= voxel < at[j] + n[j] of a brick. */
void qb__project_brick(const qb_projector *projector, size_t brick, size_t at[3], size_t n[3]);

/* The same for a batch: the distances in floats of its members' volumes, sums or values, and images. */
typedef struct qb__members {
    size_t members, volume, sums, images;
} qb__members;
qb_status qb__project_add_batch(qb_projector *projector, const qb__members *batch, const float *slab, size_t z0,
                                size_t z1, size_t view0, size_t view1, float *sums, const qb_env *env);
void qb__project_finish_batch(qb_projector *projector, const qb__members *batch, size_t view0, size_t view1,
                              const float *sums, float *projections);
void qb__project_spread_batch(qb_projector *projector, const qb__members *batch, size_t view0, size_t view1,
                              const float *projections, float *values);
qb_status qb__project_back_batch(qb_projector *projector, const qb__members *batch, const float *values, size_t view0,
                                 size_t view1, size_t first, size_t end, float *volume, const qb_env *env);
/* Number of members whose block of views and layer fit into memory together. */
size_t qb__project_members_at_once(const qb_projector *projector, size_t members, size_t views);

/* Floats of one view of sums or values. */
size_t qb__project_view_floats(const qb_projector *projector);
/* Bytes of the fans of a thread. */
size_t qb__project_fan_bytes(size_t columns);
/* Bytes of a layer of bricks and of the scratch of all threads. */
size_t qb__project_fixed_bytes(const qb_projector *projector);

/* The columns and rows c0 <= column < c1, r0 <= row < r1 of a view that see voxels at[j] <= voxel < at[j] + n[j]. */
typedef struct qb__view_window {
    size_t c0, c1, r0, r1;
} qb__view_window;
qb__view_window qb__project_window(const qb_projector *projector, size_t view, const size_t at[3], const size_t n[3]);
