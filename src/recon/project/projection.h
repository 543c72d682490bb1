/* SPDX-License-Identifier: MIT */
#ifndef QB_RECON_PROJECT_PROJECTION_H
#define QB_RECON_PROJECT_PROJECTION_H

#include "io/digest.h"
#include "io/source.h"
#include "ops/project.h"
#include "recon/reconstruction.h"
#include "simulate/simulate.h"

/* A forward projection from disk to disk. Views are made in blocks; for each, the volume passes by in
 * slabs, or stays in memory where it fits. A chunk is a slab for a block; all slabs of a block come
 * before the next block. Decided by projection_plan.c, only read afterwards. */
typedef struct qb__projection {
    const char *volume;
    qb__source *source;
    const qb_project_options *options;
    const qb_output_options *output;
    qb_geometry_options place; /* own */
    bool in_mm;
    qb_simulate_options asked; /* the scan, as qb__simulate_place wants it; borrowed texts */
    qb__simulation scan;       /* views, pixels, angles, geometry */
    qb_grid grid;
    qb_projector *projector;
    /* While running (projection_read.c): */
    qb__cut cut;
    void *raw; /* slices as they are stored */
    qb__digest digest;
    bool left; /* the engine takes the voxels where they are */
} qb__projection;

/* What a caller gives beside the options: a place for the volume's file, or an array in memory. */
typedef struct qb__projection_given {
    const qb_geometry_options *place;
    const qb_tensor *volume;
    const qb_grid *grid; /* NULL: the usual one of the geometry, in the volume's shape */
    const qb_geometry *geometry;
} qb__projection_given;
/* Volume, grid and geometry from memory (projection_array.c). */
qb_status qb__projection_take(qb__projection *p, const qb__projection_given *given);
qb_status qb__projection_request(const qb__request *request, const qb_env *env, qb_job **job);

/* Of a view. */
static inline size_t qb__projection_pixels(const qb__projection *p) { return p->scan.rows * p->scan.columns; }

/* Planes that rays cross: along the axis that has the most of them. */
double qb__projection_samples(const qb__projection *p);

/* What a chunk is. */
typedef struct qb__projection_piece {
    size_t z0, z1, view0, view1;
    bool first, last; /* slab of its block */
} qb__projection_piece;
qb__projection_piece qb__projection_piece_of(const qb__projection *p, size_t chunk);

/* The stage that projects, without who does it: `self`, its run and what it is forecast to take. */
qb__stage qb__projection_stage(const qb__projection *p, const qb__cut *cut);

/* Bytes of the buffer that takes slices from the file. */
size_t qb__projection_raw_bytes(const qb__projection *p, const qb__cut *cut);

/* ---- rows of the method's table ---- */

/* Refused where the volume's values look like Hounsfield units and are not said to be something else. */
qb_status qb__projection_look(const qb__projection *p, const qb_env *env);
qb_status qb__projection_decide(const qb__task *task, void *plan, const qb_env *env, cJSON *json,
                                qb__decision *decision);
void qb__projection_describe(const void *plan, const qb__cut *cut, cJSON *json);
void qb__projection_release(void *plan);
/* projection_read.c */
int qb__projection_stages(void *plan, const qb__cut *cut, qb__stage *stages);
qb_status qb__projection_open(void *plan, const qb__cut *cut);
void qb__projection_close(void *plan);
/* Are the volume's numbers attenuations as they are, in float32? */
bool qb__projection_plain(const qb__projection *p);
void qb__projection_delegate_reading(qb__projection *p, bool left); /* to the engine, which has opened */

extern const qb__engine qb__projection_cpu, qb__projection_device;

#endif
