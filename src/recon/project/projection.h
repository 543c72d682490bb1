/* SPDX-License-Identifier: MIT */
#ifndef QB_RECON_PROJECT_PROJECTION_H
#define QB_RECON_PROJECT_PROJECTION_H

#include "io/source.h"
#include "job/job.h"
#include "ops/project.h"
#include "simulate/simulate.h"

/* A forward projection from disk to disk: decided in project_plan.c, done in project.c. Views are
 * made in blocks; for each, the volume passes by in slabs, or stays in memory where it fits. */
typedef struct qb__projection {
    qb_job job;
    char *volume, *command;
    qb__source *source;
    qb_project_options options;
    qb_geometry_options place;
    qb_output_options output;

    /* decided by the plan */
    bool given; /* volume, grid and geometry are the caller's, and stand already */
    bool in_mm;
    qb_simulate_options asked; /* the scan, as qb__simulate_place wants it; borrowed texts */
    qb__simulation scan;       /* views, pixels, angles, geometry */
    qb_grid grid;
    qb_projector *projector;
    size_t slab, slabs;   /* slices of one, how many */
    size_t views, blocks; /* views of a block, how many */
    size_t fixed_bytes, memory;

    /* while running */
    float *slices, *sums, *images;
    void *raw; /* slices as they are stored, images as they are written */
    qb_writer *writer;
} qb__projection;

qb_status qb__projection_decide(qb__projection *projection, const qb_env *env);
qb_dtype qb__projection_dtype(const qb__projection *projection);
/* A job of copied options, to be decided. Destroy it also on failure. */
qb_status qb__projection_create(const qb_project_options *options, const qb_output_options *output,
                                const char *command, qb__projection **projection);
/* Decided, or destroyed. */
qb_status qb__projection_settle(qb__projection *projection, const qb_env *env, qb_job **job);
/* Bytes of the buffer that takes slices from the file and converted views to it. */
size_t qb__projection_raw_bytes(const qb__projection *projection);

#endif
