/* SPDX-License-Identifier: MIT */
#ifndef QB_OPS_PROJECT_SLABS_H
#define QB_OPS_PROJECT_SLABS_H

#include "io/tensor/tensor_device.h"
#include "ops/project_device.h"

/* Images of floats: dense in the host's memory, or an array in that of the device that projects, which is used where it is. */
typedef struct qb__images {
    const float *from;        /* input */
    float *to;                /* output; may be the same as the input */
    qb__tensor_device *array; /* NULL = the host's */
} qb__images;

/* Projections of whole volumes on a device: slabs and blocks of views as large as there is room for, which changes no bit.
 * One call at a time. */
typedef struct qb__slab_projector {
    qb__joseph_problem problem;
    const qb__device_pick *pick; /* borrowed */
    qb__joseph_most most;
    qb__queue *queue;
    qb__joseph_plan *plan;
    qb__memory *slab, *rays, *plain; /* plain: what passes between the orders */
    size_t members;                  /* of a batch, that these have room for */
    size_t odd;                      /* images of the last call's projections with numbers that are not finite */
} qb__slab_projector;

/* How it is cut: bytes of the device, and seconds that both directions take, transfers counted. */
typedef struct qb__slab_cut {
    qb__joseph_most most;
    size_t bytes;
    double seconds;
} qb__slab_cut;

/* The fastest cut of at most `cap` bytes; QB_NO_MEMORY, with how many are needed, where even a slice and a block of
 * views have no room. */
qb_status qb__slab_projector_cut(const qb__joseph_problem *problem, const qb__device_pick *pick, size_t cap,
                                 const qb_env *env, qb__slab_cut *cut);
/* The pick, and the problem's geometry and grid must stay. Where there is less room than that, it is cut smaller;
 * QB_NO_MEMORY when there is none for a slice and a view. Release with close, also on failure. */
qb_status qb__slab_projector_open(const qb__joseph_problem *problem, const qb__device_pick *pick, qb__joseph_most most,
                                  const qb_env *env, qb__slab_projector *p);
void qb__slab_projector_close(qb__slab_projector *p);
/* Room for `members` of a batch, at least one, or for as many as env's cap and the device allow: p->members says how many. */
qb_status qb__slab_projector_room(qb__slab_projector *p, size_t members, const qb_env *env);

/* As qb_projector_forward and qb_projector_adjoint, of `members` volumes one behind the other: together where each is one slab, as
 * many as there is room for. */
qb_status qb__slab_projector_forward(qb__slab_projector *p, size_t members, const qb__images *volume, size_t first,
                                     size_t end, const qb_env *env, const qb__images *projections);
qb_status qb__slab_projector_adjoint(qb__slab_projector *p, size_t members, const qb__images *projections, size_t first,
                                     size_t end, bool accumulate, const qb_env *env, const qb__images *volume);

#endif
