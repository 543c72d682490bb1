/* SPDX-License-Identifier: MIT */
#pragma once

#include "io/tensor/tensor_device.h"
#include "kernels/project_joseph/project_joseph_device.h"
#include "planner/device_pick.h"

/* Choose the device of a non-empty set, and the kernel, for engines and operators. Sets the problem's layout for that
 * kernel. The set, the problem, its geometry and its grid are borrowed and must not move. kernel: --kernel, NULL =
 * choose within accuracy class high. QB_UNSUPPORTED or, for a named device, QB_BAD_ARGUMENT with the reason. */
qb_status qb__project_pick(qb__device_set *set, qb__joseph_problem *problem, const char *kernel, const qb_env *env,
                           qb__device_pick *pick);

/* Images of floats: dense in host memory, or an array on the device that projects, which is used in place. */
typedef struct qb__images {
    const float *from;        /* input */
    float *to;                /* output; may be the same as the input */
    qb__tensor_device *array; /* NULL = host memory */
} qb__images;

/* Projections of whole volumes on a device, in slabs and blocks of views as large as memory allows, which does not
 * change the bits. One call at a time. */
typedef struct qb__slab_projector {
    qb__joseph_problem problem;
    const qb__device_pick *pick; /* borrowed */
    qb__joseph_most most;
    qb__queue *queue;
    qb__joseph_plan *plan;
    qb__memory *slab, *rays, *plain; /* plain: buffer between the two layouts */
    size_t members;                  /* number of batch members that these can hold */
    size_t odd;                      /* images of the last call's projections with non-finite values */
} qb__slab_projector;

/* A division of the work: bytes of the device, and seconds of both directions with transfers. */
typedef struct qb__slab_cut {
    qb__joseph_most most;
    size_t bytes;
    double seconds;
} qb__slab_cut;

/* The fastest division within `cap` bytes; QB_NO_MEMORY, with the amount needed, if even one slice and a block of views
 * do not fit. */
qb_status qb__slab_projector_cut(const qb__joseph_problem *problem, const qb__device_pick *pick, size_t cap,
                                 const qb_env *env, qb__slab_cut *cut);
/* The pick, and the problem's geometry and grid, must stay valid. If less memory is free, the parts become smaller;
 * QB_NO_MEMORY if a slice and a view do not fit. Release with close, also after a failure. */
qb_status qb__slab_projector_open(const qb__joseph_problem *problem, const qb__device_pick *pick, qb__joseph_most most,
                                  const qb_env *env, qb__slab_projector *p);
void qb__slab_projector_close(qb__slab_projector *p);
/* Allocate for `members` of a batch, at least one, or for as many as env's limit and the device allow: the number is
 * p->members. */
qb_status qb__slab_projector_room(qb__slab_projector *p, size_t members, const qb_env *env);

/* As qb_projector_forward and qb_projector_adjoint, for `members` volumes one behind the other: together if each is one
 * slab, as many as fit. */
qb_status qb__slab_projector_forward(qb__slab_projector *p, size_t members, const qb__images *volume, size_t first,
                                     size_t end, const qb_env *env, const qb__images *projections);
qb_status qb__slab_projector_adjoint(qb__slab_projector *p, size_t members, const qb__images *projections, size_t first,
                                     size_t end, bool accumulate, const qb_env *env, const qb__images *volume);
