/* SPDX-License-Identifier: MIT */
#pragma once

#include <signal.h>

#include "quickbeam/recon.h"

/* A plane of a volume in any direction, for the command qb only. Vectors are z, y, x, in voxels of the job's grid. */
typedef struct qb_tool_plane {
    double at[3], down[3], right[3]; /* the first point; the step to the next line; the step to the next point */
    size_t lines, points;
    const volatile sig_atomic_t *gone; /* stop once it is 1; NULL: never */
} qb_tool_plane;

/* An earlier job has checked the same numbers of the scan: this job does not check them again, and warns of nothing. */
QB_API void qb_tool_job_is_checked(qb_job *job);

/* Compute out[lines][points]: the plane of the cone-beam volume that qb_fdk_plan() makes with the same arguments. It is
 * computed on the CPU; region, kernel and mask of the options are ignored. The whole plane must lie in front of every
 * source. The scan is not checked. */
QB_API qb_status qb_tool_fdk_plane(qb_scan *scan, const qb_geometry *geometry, const qb_prep_options *prep,
                                   const qb_fdk_options *options, const qb_tool_plane *plane, const qb_env *env,
                                   float *out);
