/* SPDX-License-Identifier: MIT */
#ifndef QB_OPS_PROJECT_H
#define QB_OPS_PROJECT_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/pool.h"
#include "cpu/project_joseph/project_joseph.h"
#include "geometry/matrix.h"
#include "ops/project_flat.h"
#include "ops/project_slabs.h"
#include "quickbeam/project.h"

struct qb_projector {
    qb_geometry geometry; /* own */
    qb_grid grid;
    qb__matrix *matrices; /* [views] on the grid */
    const qb__joseph_variant *variant;
    qb__pool *pool;
    size_t side[3], bricks[3]; /* how the volume is cut */
    size_t stride;             /* floats of a column of rays, as kernels want them */
    qb__flat_rays *flat;       /* [views], where slices are done one by one (project_flat.h); else NULL */
    char **scratch;            /* [thread] */
    size_t scratch_bytes;
    float *layer;            /* the bricks of one layer, of each member of a batch; made when needed */
    size_t layers;           /* so many */
    pthread_mutex_t at_work; /* one call at a time */
    atomic_size_t odd;       /* views of the projections of this call with numbers that are not finite */
    unsigned forks;          /* when it was made: in a child its threads are gone */
    bool on_device;          /* computed on a device, through `device` below */
    qb__device_set devices;
    qb__device_pick pick;
    qb__slab_projector device;
};

/* qb_projector_create for this CPU, whatever env names; a device's kernel stands for none. */
qb_status qb__projector_on_cpu(const qb_geometry *geometry, const qb_grid *grid, const char *kernel, const qb_env *env,
                               qb_projector **projector);

/* Waits for calls of other threads. QB_BAD_ARGUMENT for views that there are not, and for an env of no version;
 * QB_CANCELLED. Then all of an operator's work, its arrays opened and stored as well, until qb__project_leave, which gives
 * back `status`. */
qb_status qb__project_enter(qb_projector *projector, size_t first, size_t end, const qb_env *env);
qb_status qb__project_leave(qb_projector *projector, qb_status status);
/* Of a batch of `members` volumes, one behind the other, as their projections are. The CPU takes arrays in the host's memory only. */
qb_status qb__project_forward(qb_projector *projector, size_t members, const qb__images *volume, size_t first,
                              size_t end, const qb_env *env, const qb__images *projections);
qb_status qb__project_adjoint(qb_projector *projector, size_t members, const qb__images *projections, size_t first,
                              size_t end, bool accumulate, const qb_env *env, const qb__images *volume);

/* The problem that the planner chooses a kernel for. */
qb__joseph_problem qb__project_problem(const qb_geometry *geometry, const qb_grid *grid);

/* A projection in steps, for volumes that are not in memory as a whole. A slab is slices z0 <= z <
 * z1, where both are a multiple of the projector's side[2] or the volume's end. Sums and values
 * hold the views view0 <= view < view1, qb__project_view_floats each: a column of rays together, or images where the
 * projector is flat. */

/* sums += the slab's part. Slabs come in ascending order; sums begin as zero. */
qb_status qb__project_add(qb_projector *projector, const float *slab, size_t z0, size_t z1, size_t view0, size_t view1,
                          float *sums, const qb_env *env);
/* Sums, the whole volume added -> projections[view - view0][row][column]. */
void qb__project_finish(qb_projector *projector, size_t view0, size_t view1, const float *sums, float *projections);
/* projections[view - view0][row][column] -> values for qb__project_back. */
void qb__project_spread(qb_projector *projector, size_t view0, size_t view1, const float *projections, float *values);
/* The whole volume += the transpose, in the bricks first <= brick < end of qb__project_bricks(): every voxel lies in one,
 * and takes view after view, so that others may go on with what some views have made. */
qb_status qb__project_back(qb_projector *projector, const float *values, size_t view0, size_t view1, size_t first,
                           size_t end, float *volume, const qb_env *env);
size_t qb__project_bricks(const qb_projector *projector);
/* The voxels at[j] <= voxel < at[j] + n[j] of one. */
void qb__project_brick(const qb_projector *projector, size_t brick, size_t at[3], size_t n[3]);

/* The same of a batch: its members' volumes, sums or values, and images are so many floats apart. */
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
/* Members of which a block of views, and a layer, have room together. */
size_t qb__project_members_at_once(const qb_projector *projector, size_t members, size_t views);

/* Floats of one view of sums or values. */
size_t qb__project_view_floats(const qb_projector *projector);
/* Bytes of the fans that a thread works on. */
size_t qb__project_fan_bytes(size_t columns);
/* Bytes of a layer of bricks and all threads' scratch. */
size_t qb__project_fixed_bytes(const qb_projector *projector);

/* The columns and rows c0 <= column < c1, r0 <= row < r1 of a view that see anything of voxels
 * at[j] <= voxel < at[j] + n[j]. */
typedef struct qb__window {
    size_t c0, c1, r0, r1;
} qb__window;
qb__window qb__project_window(const qb_projector *projector, size_t view, const size_t at[3], const size_t n[3]);

#endif
