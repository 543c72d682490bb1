/* SPDX-License-Identifier: MIT */
#pragma once

#include "recon/plane.h"

/* Makes planes of a parallel-beam volume, one after another, from filtered rows that are kept in a device's or the
 * host's memory. Only qb uses it. */
typedef struct qb_tool_planes qb_tool_planes;

/* Line integrals in the host's memory. */
typedef struct qb_tool_lines {
    const float *lines; /* [slots][rows][columns] */
    size_t slots, rows, columns;
    /* [slots]: a changed number says that the line integrals of this slot have changed; NULL: they never change */
    const size_t *stamps;
    size_t made; /* a changed number says that all line integrals have changed */
} qb_tool_lines;

/* The plane is perpendicular to this axis of the volume: 0 = z, 1 = y, 2 = x. */
QB_API qb_tool_plane qb_tool_plane_across(size_t axis, size_t index, const size_t shape[2]);

/* Open on the CPU if env asks for it or there is no device; else on a device. */
QB_API qb_status qb_tool_planes_open(const qb_env *env, qb_tool_planes **planes);
QB_API bool qb_tool_planes_on_device(const qb_tool_planes *planes);
QB_API void qb_tool_planes_close(qb_tool_planes *planes); /* NULL-safe */
/* Memory to which a device writes planes faster than to other memory; NULL: there is none. */
QB_API float *qb_tool_planes_room(qb_tool_planes *planes, size_t bytes);
QB_API void qb_tool_planes_leave(qb_tool_planes *planes, float *room);
/* Compute out[lines][points] of the volume of `job`, a qb_fbp_plan() of these lines from slice 0 on. QB_UNSUPPORTED for
 * a job with a mask, or with views that are rotated individually; QB_NO_MEMORY if memory is short. For one thread at a
 * time. */
QB_API qb_status qb_tool_planes_make(qb_tool_planes *planes, const qb_tool_lines *lines, qb_job *job,
                                     const qb_tool_plane *plane, float *out);
