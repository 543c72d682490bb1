/* SPDX-License-Identifier: MIT */
#ifndef QB_SIMULATE_SIMULATE_H
#define QB_SIMULATE_SIMULATE_H

#include <stdbool.h>

#include "base/inputs.h"
#include "base/pool.h"
#include "geometry/phantom.h"
#include "io/publication.h"
#include "quickbeam/simulate.h"
#include "simulate/detector.h"

/* A simulation with everything decided. */
typedef struct qb__simulation {
    const char *name; /* of the phantom; the caller's */
    const qb_simulate_options *options;
    size_t views, rows, columns;
    double pixel, pixel_v, center; /* mm along columns and rows; the axis' column */
    bool from_file;                /* the geometry is a file's ... */
    bool plain;                    /* ... or a circle (or parallel) that has no faults */
    double *angles;                /* [views] radians */
    qb_geometry geometry;
    qb_grid grid;
    qb__phantom phantom;
    qb__detector detector;
    qb__pool *pool;
    qb__publication *set; /* scan, truth and geometry: together or not at all */
    size_t chunk_bytes;   /* of images held at a time, besides one */
    qb__inputs inputs;    /* the geometry's file, the angles' */
} qb__simulation;

/* Check the options against each other and fill in what was left out. Destroy also on failure. */
qb_status qb__simulation_plan(const char *phantom, const qb_simulate_options *options,
                              const qb_env *env, qb__simulation *simulation);
void qb__simulation_destroy(qb__simulation *simulation);

/* Views, detector, voxels and angles as s->geometry, which is there, has them. */
qb_status qb__simulate_adopt(qb__simulation *simulation);
/* Where views, detector and box are. */
qb_status qb__simulate_place(qb__simulation *simulation, const qb_env *env);
/* No source may enter the phantom or look away from it. */
qb_status qb__simulate_check_sources(const qb__simulation *simulation);

/* Bytes that it holds at least, besides what the process held before: one view or slice at a time. */
size_t qb__simulate_least(const qb__simulation *simulation);

/* Write options->truth and options->geometry_out. */
qb_status qb__simulate_truth(const qb__simulation *simulation, const qb_env *env);
qb_status qb__simulate_geometry(const qb__simulation *simulation);
/* The provenance as JSON; cJSON_free it. */
qb_status qb__simulate_provenance(const qb__simulation *simulation, char **text);

/* A RabbitCT data set instead of a scan. */
qb_status qb__simulate_rabbitct(const qb_simulate_options *options, const qb_env *env);

#endif
