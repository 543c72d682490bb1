/* SPDX-License-Identifier: MIT */
#pragma once

#include "io/digest.h"
#include "io/plain/source.h"
#include "ops/project.h"
#include "recon/reconstruction.h"
#include "simulate/simulate.h"

/* A forward projection from disk to disk. Views are made in blocks. For each block the volume is read slab by slab, or
 * stays in memory if it fits. A chunk is one slab for one block; all slabs of a block come before the next block.
 * Filled by projection_plan.c, only read afterwards. */
typedef struct qb__projection {
    const char *volume;
    qb__source *source;
    const qb_project_options *options;
    const qb_output_options *output;
    qb_geometry_options place; /* a copy */
    bool in_mm;
    qb_simulate_options asked; /* options of the scan for qb__simulate_place; texts are borrowed */
    qb__simulation scan;       /* views, pixels, angles, geometry */
    qb_grid grid;
    qb_projector *projector;
    /* While running (projection_read.c): */
    qb__cut cut;
    void *raw; /* slices as stored in the file */
    qb__digest digest;
    size_t missing; /* voxels that are NaN or infinite */
    bool left;      /* the engine reads the voxels in place */
} qb__projection;

/* Input of a caller besides the options: the geometry of the volume's file, or an array in memory. */
typedef struct qb__projection_given {
    const qb_geometry_options *place;
    const qb_tensor *volume;
    const qb_grid *grid; /* NULL: the default grid of the geometry, in the volume's shape */
    const qb_geometry *geometry;
} qb__projection_given;
/* Take volume, grid and geometry from memory (projection_array.c). */
qb_status qb__projection_take(qb__projection *p, const qb__projection_given *given);
qb_status qb__projection_request(const qb__request *request, const qb_env *env, qb_job **job);

/* Pixels of a view. */
static inline size_t qb__projection_pixels(const qb__projection *p) { return p->scan.rows * p->scan.columns; }

/* Largest number of voxel planes that a ray crosses along its axis. */
double qb__projection_samples(const qb__projection *p);

/* The slab and the block of a chunk. */
typedef struct qb__projection_piece {
    size_t z0, z1, view0, view1;
    bool first, last; /* first, last slab of its block */
} qb__projection_piece;
qb__projection_piece qb__projection_piece_of(const qb__projection *p, size_t chunk);

/* Fill in the stage that projects, except what the engine sets: `self`, run and forecast. */
qb__stage qb__projection_stage(const qb__projection *p, const qb__cut *cut);

/* Bytes of the buffer for slices from the file. */
size_t qb__projection_raw_bytes(const qb__projection *p, const qb__cut *cut);

/* ---- rows of the method's table ---- */

/* Refuse a volume whose values look like Hounsfield units, unless the options or the file say so. */
qb_status qb__projection_look(const qb__projection *p, const qb_env *env);
/* Warn if rays pass outside the first or last slice and the object continues there. */
qb_status qb__projection_ends(const qb__projection *p, const qb_env *env);
qb_status qb__projection_decide(const qb__task *task, void *plan, const qb_env *env, cJSON *json,
                                qb__decision *decision);
void qb__projection_release(void *plan);
/* projection_read.c */
int qb__projection_stages(void *plan, const qb__cut *cut, qb__stage *stages);
/* Warn of voxels without a number, which the stage has counted. */
void qb__projection_tell_missing(const qb__projection *p, cJSON *report, const qb_env *env);
qb_status qb__projection_open(void *plan, const qb__cut *cut);
void qb__projection_close(void *plan, bool named);
/* True if the volume's values are attenuations in float32 that need no conversion. */
bool qb__projection_plain(const qb__projection *p);
void qb__projection_delegate_reading(qb__projection *p, bool left); /* left: the opened engine reads in place */

extern const qb__engine qb__projection_cpu, qb__projection_device;
