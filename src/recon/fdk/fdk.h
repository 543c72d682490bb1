/* SPDX-License-Identifier: MIT */
#pragma once

#include "cpu/bp_cone/bp_cone_circle.h"
#include "geometry/cone_weights.h"
#include "geometry/grid.h"
#include "geometry/runs.h"
#include "geometry/virtual_detector.h"
#include "ops/filter.h"
#include "ops/resample.h"
#include "planner/choose.h"
#include "recon/plane.h"
#include "recon/reconstruction.h"

/* ---- the way through the slabs, by the number in a cut (fdk_schedule.c) ---- */

/* True if slabs hold pairs of mirrored slices. Slices are then counted in the order of geometry/runs.h, and all counts
 * are even. */
static inline bool qb__fdk_paired(const qb__cut *cut) { return cut->schedule % 2 == 1; }
/* Number of ordinary slabs that the first slab replaces. The filtered rows that any slab needs are read with the first
 * slab and stay with the engine. 0: each slab reads its own rows. */
static inline size_t qb__fdk_lead(const qb__cut *cut) { return cut->schedule / 2; }
static inline bool qb__fdk_kept(const qb__cut *cut) { return qb__fdk_lead(cut) > 0; }
static inline unsigned qb__fdk_schedule(bool paired, size_t lead) { return (unsigned)(paired + 2 * lead); }

/* A cone-beam reconstruction after Feldkamp, Davis and Kress. The volume is divided into slabs along z, the scan into
 * blocks of views. A chunk is the detector rows of one block that one slab needs. All blocks of a slab come before the
 * next slab. */
typedef struct qb__fdk_window {
    /* range of slices: for a slab in the order of its cut, for a part of a slab in the volume */
    size_t z0, z1;
    qb__bp_cone_window rows; /* filtered rows that it needs */
    /* detector rows from which `rows` are made; they differ from `rows` if views are resampled */
    qb__rows raw;
} qb__fdk_window;

/* The plan, filled in by fdk_plan.c. Engines only read it; the reading stage writes `came`. */
typedef struct qb__fdk {
    const qb__task *task;
    qb_scan *scan;
    const qb_scan_info *info;
    const qb_fdk_options *options;
    const qb_prep_options *prep;
    const qb_geometry *real; /* geometry of the caller */
    /* geometry of the rays that are filtered and back-projected: `real`, or that of the virtual detector */
    const qb_geometry *geometry;
    bool resampled; /* views are resampled onto virtual_detector */
    qb__virtual_detector virtual_detector;
    qb__resampler *resampler;
    qb_grid grid;
    const qb_tool_plane *plane; /* plane that is made instead of the volume; NULL: the volume is made */
    qb__grid_region region;     /* `grid` is that part of region.whole, to which matrices and `problem` belong */
    size_t middle;              /* index of its middle slice in the whole volume, as --slices counts */
    qb__mask mask;
    qb__cone_weights weights;
    bool circular;        /* the views of `geometry` differ only by a rotation */
    bool same_weights;    /* every view has the same pixel weights */
    size_t width;         /* columns of a filtered row: weights.before + columns of `geometry` + weights.after */
    double (*matrix)[12]; /* [views] projection matrices from voxel indices to filtered columns and rows */
    qb__bp_cone_problem problem;
    qb__cone_circle circle;             /* circle of `problem` */
    const qb__bp_cone_variant *variant; /* the CPU's kernel */
    qb__filter *filter;
    /* The following fields belong to the current cut (fdk_read.c): */
    qb__cut cut;
    qb__reach *reach; /* [nz] reach of each slice, computed on request; NAN until then */
    /* [slices] true if a slice was hardly measured; set by qb__fdk_find_lost(); NULL: no such slice */
    bool *lost;
    qb__fdk_window *window; /* [slabs] rows that a slab needs: for a mirrored pair, those of both parts together */
    qb__fdk_window *half;   /* [slabs][2] rows of each part of a mirrored pair */
    qb__fdk_window *all;    /* [rows of ranks][slabs] rows that each row of ranks needs; NULL without ranks */
    qb__fdk_window *run;    /* [slabs][rows of ranks] disjoint windows that hold all of `all`; NULL without ranks */
    size_t *runs;           /* [slabs] number of windows in `run` */
    size_t *edge;           /* start of each slab of a row of ranks */
    size_t turns;           /* number of ranges of views in a block, of equal length and equally far apart */
    qb__fdk_window keep;    /* rows that any slab needs, if rows are kept */
    /* if rows are kept: [blocks] 1 + number of the slab with which a block came, 0 = not yet (while running) */
    size_t *came;
    size_t slab_rows;           /* the most filtered rows that a slab needs */
    size_t window_rows;         /* the most rows that are filtered at a time */
    size_t raw_rows;            /* the most detector rows of one window */
    size_t read_rows;           /* the most detector rows that are read for a slab */
    size_t rows_read;           /* detector rows read for all slabs; overlaps count twice */
    double rows, filtered_rows; /* sums over all slabs: rows that are back-projected, and filtered */
    double stored_rows;         /* sum of the rows that are read; storage chunks are unpacked as a whole */
    bool pairable;              /* the mirror of a circle is the volume's middle, between two slices */
    bool paired;                /* ranks on devices share slices in the order of geometry/runs.h */
    bool left;                  /* the engine uses the scan's values in place */
    /* each rank filters the rows that its own slabs need, as devices do; ranks exchange no filtered views */
    bool alone;
} qb__fdk;

/* A chunk. Its views form `turns` ranges: view0 <= v < view1, and the same numbers plus multiples of views / turns. A
 * device packs these views together. */
typedef struct qb__fdk_piece {
    size_t z0, z1, view0, view1, turns;
    const qb__fdk_window *need;
    bool first; /* this is the first block of its slab */
} qb__fdk_piece;
qb__fdk_piece qb__fdk_piece_of(const qb__fdk *fdk, size_t chunk);
static inline size_t qb__fdk_piece_views(const qb__fdk_piece *p) { return (p->view1 - p->view0) * p->turns; }
/* The i-th view of the piece. */
static inline size_t qb__fdk_piece_view(const qb__fdk *fdk, const qb__fdk_piece *p, size_t i) {
    const size_t range = p->view1 - p->view0;
    return p->view0 + i % range + i / range * (fdk->problem.views / p->turns);
}
/* The views of a chunk that this rank reads and filters: all, unless ranks share them. */
qb__fdk_piece qb__fdk_share_of(const qb__fdk *fdk, size_t chunk);
/* The runs of rows that this rank reads and filters for a chunk: its own window or the two parts of it; or rows that
 * any row of ranks needs; or, if rows are kept, those that come with the first slab. Returns their number. The runs are
 * read one after the other, each as [view][row]. qb__fdk_raw_offset: byte at which run `number` begins. */
size_t qb__fdk_runs(const qb__fdk *fdk, size_t chunk, const qb__fdk_window **run);
size_t qb__fdk_raw_offset(const qb__fdk *fdk, const qb__fdk_window *run, size_t number, size_t views);
/* Number of views of a chunk that one rank of a column filters. */
size_t qb__fdk_share_views(const qb__fdk *fdk, const qb__fdk_piece *piece, int row);
/* Filtered rows of a chunk that the ranks of a row of the grid need; without a grid, those of this rank. */
const qb__fdk_window *qb__fdk_window_of(const qb__fdk *fdk, size_t chunk, int row);
int qb__fdk_ranks(const qb__fdk *fdk);      /* ranks in a column of the grid */
size_t qb__fdk_raw_row(const qb__fdk *fdk); /* bytes of a detector row as stored */

/* Question to the planner for this job; and the error if the user named a kernel that the CPU does not have. */
qb__question qb__fdk_question(const qb__fdk *fdk);
qb_status qb__fdk_kernel_of_cpu(const qb__fdk *fdk);

/* ---- rows of the method's table ---- */

qb_status qb__fdk_decide(const qb__task *task, void *plan, const qb_env *env, cJSON *json, qb__decision *decision);
void qb__fdk_release(void *plan);
/* fdk_read.c */
void qb__fdk_rows(const void *plan, size_t first, size_t count, size_t *row0, size_t *row1);
int qb__fdk_stages(void *plan, const qb__cut *cut, qb__stage *stages);
qb_status qb__fdk_open(void *plan, const qb__cut *cut);
qb_status qb__fdk_range(void *plan, const qb__running *run, double *low, double *high);
/* Windows of detector rows of a cut's slabs. Every engine calls it first when slabs are cut anew; the views of its cuts
 * are bundles of `turns`, one from each range. */
void qb__fdk_slabs(qb__fdk *fdk, const qb__cut *cut, const size_t *edge, size_t turns);
qb_status qb__fdk_transpose(void *plan, const qb__transposing *t); /* fdk_transpose.c */
void qb__fdk_delegate_reading(qb__fdk *fdk, bool left);            /* from now on the engine reads the scan */
/* Windows of a slab of the current cut that are back-projected: two if mirrored slabs are paired. Returns their
 * number. */
size_t qb__fdk_needs(const qb__fdk *fdk, size_t chunk, const qb__fdk_window **need);
/* Room for the windows of all ranks. */
qb_status qb__fdk_windows(qb__fdk *fdk, const qb_env *env);
/* Find slices that see only detector rows without a measured value: fdk->lost; NULL if none. Needs the matrices. */
qb_status qb__fdk_find_lost(qb__fdk *fdk);

/* ---- fdk_check.c ---- */

/* Warn of lengths that are probably a mistake. */
void qb__fdk_warn_doubt(const qb_geometry *geometry, const qb_geometry_info *info, const qb_env *env);
/* Warn if the default grid, which is as wide as the detector, leaves out much of what a half-fan scan covers. */
void qb__fdk_warn_narrow(const qb_geometry_info *info, const qb_fdk_options *options, const qb_grid *grid,
                         const qb_env *env);
/* The geometry's numbers, for the provenance. */
qb_status qb__fdk_describe_geometry(const qb__fdk *fdk, cJSON *plan);
/* Report that --grid auto has put several ranks in rows, if columns would be faster. */
void qb__fdk_report_rows(const qb__fdk *fdk, const qb_env *env);
/* Report how much of the volume is not seen by all views, and rays that are far off the plane of the circle. */
void qb__fdk_report_outside(const qb__fdk *fdk, const qb_geometry_info *info, const qb_env *env, cJSON *plan);
/* Refuse a source path that FDK does not support; warn if the user forces it. */
qb_status qb__fdk_check_path(const qb_geometry *geometry, const qb_geometry_info *info, bool force, const qb_env *env);
/* Refuse a scan that lacks angles, or warn when that is allowed or negligible. */
qb_status qb__fdk_check_coverage(const qb_geometry *geometry, const qb__cone_weights *weights, bool allow,
                                 const qb_env *env);

/* ---- a plane in any direction (fdk_plane.c) ---- */

/* Turn a matrix on the volume's voxels into one on the plane's points. */
void qb__fdk_turn_matrix(const qb_tool_plane *plane, double matrix[12]);
/* Input of qb_tool_fdk_plane() to the frame. The geometry must be the first member, because the frame reads it
 * there. */
typedef struct qb__fdk_given {
    qb_geometry geometry;
    const qb_tool_plane *plane;
} qb__fdk_given;
qb_status qb__fdk_decide_plane(const qb__task *task, void *plan, const qb_env *env, cJSON *json,
                               qb__decision *decision);

extern const qb__engine qb__fdk_cpu, qb__fdk_device;

/* Like qb_fdk_plan(), for use inside another job with the same views. The outer job checks the scan and prints all
 * messages. */
qb_status qb__fdk_plan_within(qb_scan *scan, const qb_geometry *geometry, const qb_prep_options *prep,
                              const qb_fdk_options *options, const qb_output_options *output, const qb_env *env,
                              qb_job **job);
