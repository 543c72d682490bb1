/* SPDX-License-Identifier: MIT */
#ifndef QB_RECON_FBP_FBP_PLANES_H
#define QB_RECON_FBP_FBP_PLANES_H

#include "quickbeam/recon.h"

/* Planes of a parallel-beam volume, one after the other, on a device that keeps the filtered rows: for qb alone. */
typedef struct qb_tool_planes qb_tool_planes;

/* Line integrals in the host's memory. */
typedef struct qb_tool_lines {
    const float *lines; /* [slots][rows][columns] */
    size_t slots, rows, columns;
    const size_t
        *stamps; /* [slots]: one that changes says that the lines of this slot have; NULL: they stay as they are */
    size_t made; /* another number: all lines are other ones */
} qb_tool_lines;

/* A plane across one axis of the volume, 0 z, 1 y, 2 x. */
typedef struct qb_tool_plane {
    size_t axis, index, lines, points;
} qb_tool_plane;

/* QB_NO_DEVICE where env asks for none or there is none. */
QB_API qb_status qb_tool_planes_open(const qb_env *env, qb_tool_planes **planes);
QB_API void qb_tool_planes_close(qb_tool_planes *planes); /* NULL-safe */
/* out[lines][points] of the job, a qb_fbp_plan() of these lines from slice 0 on. QB_UNSUPPORTED for a job that is not so simple
 * (a detector that is not level, a mask), QB_NO_MEMORY where the device has no room: both for the CPU to do. One thread at a
 * time. */
QB_API qb_status qb_tool_planes_make(qb_tool_planes *planes, const qb_tool_lines *lines, qb_job *job,
                                     const qb_tool_plane *plane, float *out);

#endif
