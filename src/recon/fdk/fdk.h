/* SPDX-License-Identifier: MIT */
#ifndef QB_RECON_FDK_FDK_H
#define QB_RECON_FDK_FDK_H

#include "cpu/bp_cone/bp_cone.h"
#include "geometry/cone_weights.h"
#include "geometry/partition_cone.h"
#include "geometry/upright.h"
#include "job/job.h"
#include "job/volume_out.h"
#include "ops/filter.h"
#include "ops/resample.h"
#include "prep/prepare.h"

/* A cone-beam reconstruction after Feldkamp, Davis and Kress: decided in fdk_plan.c, streamed by
 * fdk_stages.c. The volume is cut into slabs along z, the scan into blocks of views; a chunk is one
 * block's detector rows that one slab needs. All blocks of a slab come before the next slab. */
typedef struct qb__fdk_window {
    size_t z0, z1;           /* of a slab */
    qb__bp_cone_window rows; /* filtered ones that it needs */
    qb__rows raw;            /* detector rows these are made of: others when views are resampled */
} qb__fdk_window;

typedef struct qb__fdk {
    qb_job job;
    qb_scan *scan;
    const qb_scan_info *info;
    char *command;

    qb_prep_options prep;
    qb_fdk_options options;
    qb_output_options output;

    /* decided by the plan */
    int threads;
    const qb_geometry *real;     /* the caller's */
    const qb_geometry *geometry; /* what is filtered and back-projected: that, or upright's */
    bool resampled;              /* then: */
    qb__upright upright;
    qb__resampler *resampler;
    qb_grid grid;
    qb__cone_weights weights;
    bool same_weights;           /* every view has the same pixel weights */
    size_t width;                /* of a filtered row: weights.before + geometry's columns + .after */
    double (*matrix)[12];        /* [views] on voxel indices and filtered columns */
    float *largest;              /* [views], NULL = unknown */
    qb__bp_cone_problem problem;
    const qb__bp_cone_variant *variant;
    qb__filter *filter;
    size_t slices, slabs;        /* of the thickest slab */
    size_t views, blocks;        /* of a block, but for the last */
    unsigned slots;
    qb__fdk_window *window;      /* [slabs] */
    size_t window_rows;          /* the most rows that a slab needs, ... */
    size_t raw_rows;             /* ... of the detector, ... */
    size_t view_bytes;           /* ... and the most bytes of a packed view */
    size_t fixed_bytes, memory;
    double forecast;             /* seconds */

    /* while running */
    qb__prepare *prepare;
    char **scratch;              /* [thread] */
    qb__prep_counts *counts;     /* [thread] */
    float *pixel_weights;        /* geometry's [rows][columns] when same_weights */
    qb__volume_out volume;
} qb__fdk;

qb_status qb__fdk_decide(qb__fdk *fdk, const qb_env *env);
qb_status qb__fdk_decide_chunks(qb__fdk *fdk, const qb_env *env); /* fdk_chunks.c */
size_t qb__fdk_scratch(const qb__fdk *fdk);                       /* fdk_filter.c */
/* One view's detector rows, as read -> filtered and packed, for one slab. */
void qb__fdk_filter_view(qb__fdk *fdk, const qb__fdk_window *window, size_t view, const char *raw,
                         int worker, void *out);
/* Warn of lengths that are hardly meant. */
void qb__fdk_warn_doubt(const qb_geometry *geometry, const qb_geometry_info *info, const qb_env *env);
/* Warn of a usual grid, as wide as the detector, that leaves out much of what a half-fan scan
 * covers. */
void qb__fdk_warn_narrow(const qb_geometry_info *info, const qb_fdk_options *options,
                         const qb_grid *grid, const qb_env *env);
/* Refuse a scan that lacks angles, or warn when that is allowed or negligible (fdk_check.c). */
qb_status qb__fdk_check_coverage(const qb_geometry *geometry, const qb__cone_weights *weights,
                                 bool allow, const qb_env *env);
int qb__fdk_stages(const qb__fdk *fdk, qb__stage *stages);

#endif
