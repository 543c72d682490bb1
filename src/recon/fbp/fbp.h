/* SPDX-License-Identifier: MIT */
#ifndef QB_RECON_FBP_FBP_H
#define QB_RECON_FBP_FBP_H

#include "cpu/bp_parallel/bp_parallel.h"
#include "geometry/half_fan.h"
#include "ops/filter.h"
#include "planner/choose.h"
#include "prep/rolled_rows.h"
#include "recon/reconstruction.h"

/* Raw numbers on their way to the engine (fbp_read.c); only that file writes them. */
typedef struct qb__fbp_reader {
    qb__cut cut;       /* the one that is streamed */
    size_t cache_rows; /* rows read ahead at once because their storage is costly to read twice */
    char *cache;       /* rows cache_first .. of all views, as read */
    size_t cache_first, cache_end;
    bool left; /* the engine takes the numbers where they are */
} qb__fbp_reader;

/* A filtered back-projection of a parallel beam. Slices are independent: a chunk is a run of them and
 * needs just their detector rows. Decided by fbp_plan.c, for any engine, and only read
 * afterwards, but for the axis that fbp_axis.c finds. */
typedef struct qb__fbp {
    qb_scan *scan;
    const qb_scan_info *info;
    const qb_prep_options *prep;
    const qb_fbp_options *options;
    const qb_output_options *output;
    int threads;

    qb_grid grid;           /* n[2] = slices written */
    size_t first_row, step; /* slice i comes from detector row first_row + i * step */
    double pixel, pixel_v;  /* mm along columns and rows, or 1 when unknown */
    bool sweep;             /* --center A:B:STEP: one slice, many axes */
    double sweep_step;
    size_t sweep_count;
    float *weights;   /* [view] angular weights, with the scale of the output */
    float *largest;   /* [lanes] no filtered value of a slice exceeds it; NULL = unknown */
    qb__half_fan fan; /* of a full turn about an axis to one side */
    size_t width;     /* columns of a filtered row: the detector's and those added */
    qb__bp_parallel_problem problem;
    const qb__bp_parallel_variant *variant; /* of the CPU: single slices are always its work */
    qb__filter *filter;

    /* the axis */
    double center;        /* its column, in the detector's middle row; NAN until it is found */
    bool found;           /* by a finder */
    double *ax, *ay, *h0; /* [view] */
    float *share;         /* [columns] what a column counts for; NULL = 1 */
    qb__turn turn;        /* the views, of a full turn with gaps about an axis to one side: then ... */
    float *view_share;    /* ... [view][columns] instead, and share is 1; else NULL */

    /* a detector that is not level (fbp_roll.c) */
    qb__roll roll; /* maps = 0: it is */
    qb__rolled_rows rolled;
    qb__resampler *resampler;
    double zero;       /* the (level) row of z = 0 */
    double *axis;      /* [view] of a geometry file: the axis' own column; NULL = center */
    double *angles;    /* [view] of a geometry file; in `said` */
    qb_scan_info said; /* the scan's, with what the file says */

    qb__mask mask;
    qb__fbp_reader reader;
} qb__fbp;

/* ---- rows of the method's table ---- */

qb_status qb__fbp_decide(const qb__task *task, void *plan, const qb_env *env, cJSON *json, qb__decision *decision);
void qb__fbp_describe(const void *plan, const qb__cut *cut, cJSON *json);
void qb__fbp_release(void *plan);
/* fbp_read.c */
void qb__fbp_rows(const void *plan, size_t first, size_t count, size_t *row0, size_t *row1);
int qb__fbp_stages(void *plan, const qb__cut *cut, qb__stage *stages);
size_t qb__fbp_spend(void *plan, const qb__cut *cut, size_t left);
qb_status qb__fbp_open(void *plan, const qb__cut *cut);
void qb__fbp_close(void *plan);
void qb__fbp_delegate_reading(qb__fbp *fbp, bool left); /* to the engine, which has opened */
/* fbp_plan.c, which with fbp_grid.c and fbp_roll.c alone writes the struct: the CPU's kernel, the axis found. */
void qb__fbp_take_kernel(qb__fbp *fbp, const qb__variant *variant);
void qb__fbp_take_axis(qb__fbp *fbp, double column);
/* fbp_axis.c */
qb_status qb__fbp_begin(void *plan, const qb_env *env, cJSON *report, bool *anew);
/* fbp_sweep.c */
qb_status qb__fbp_sweep(void *plan, const qb__running *run);
qb_status qb__fbp_sweep_protect_inputs(const void *plan, const qb__inputs *inputs, const qb_env *env);

/* ---- where things lie (fbp_read.c) ---- */

size_t qb__fbp_chunk_slices(const qb__fbp *fbp, size_t chunk);
size_t qb__fbp_chunk_row(const qb__fbp *fbp, size_t chunk); /* detector row of its first slice */
size_t qb__fbp_raw_row(const qb__fbp *fbp);                 /* bytes */
/* Columns from one filtered row to the next: a multiple of 64 bytes. */
size_t qb__fbp_row_stride(const qb__fbp *fbp);
/* The slice of a chunk of `slices` at which one of `parts` shares begins. */
size_t qb__fbp_part_first(size_t slices, size_t parts, size_t part);
/* Rows that are read for `slices` at most, and those read for the ones from row first_row on. */
size_t qb__fbp_raw_rows(const qb__fbp *fbp, size_t slices);
void qb__fbp_window(const qb__fbp *fbp, size_t first_row, size_t slices, size_t *first, size_t *end);
/* Where row s of a view lies among a chunk's raw numbers (of a level detector). */
size_t qb__fbp_raw_offset(const qb__fbp *fbp, size_t slices, size_t parts, size_t view, size_t s);

/* ---- a detector that is not level (fbp_roll.c) ---- */

/* Take --geometry or --tilt: angles, the axis, pixels, how rows lie. */
qb_status qb__fbp_decide_roll(qb__fbp *fbp, const qb_env *env);
/* Not for an axis to one side that wanders. */
qb_status qb__fbp_check_steady(const qb__fbp *fbp);
/* Slices that are partly beyond the turned detector are told, how rows are made goes into the plan. */
void qb__fbp_report_roll(const qb__fbp *fbp, const qb_env *env, cJSON *json);
void qb__fbp_release_roll(qb__fbp *fbp);

/* ---- the axis (fbp_axis.c) ---- */

/* Set h0 and shares for an axis at `center`. */
qb_status qb__fbp_aim(qb__fbp *fbp, double center);
/* [columns] shares of a view; NULL = 1. */
const float *qb__fbp_share_of(const qb__fbp *fbp, size_t view);
/* "" where rows are as they were measured. */
void qb__fbp_describe_turn(const qb__fbp *fbp, char *text, size_t size);

/* ---- single slices on the CPU (fbp_slice.c) ---- */

/* One slice from one detector row into image[ny][nx], axis as aimed. */
qb_status qb__fbp_slice(const qb__fbp *fbp, const qb__running *run, size_t row, float *image);
/* Bytes it takes besides the image. */
size_t qb__fbp_slice_bytes(const qb__fbp *fbp);
/* The range of integers, where no option says it: from the middle slice. */
qb_status qb__fbp_range(void *plan, const qb__running *run, double *low, double *high);
/* What the search for the axis and for the range hold before the first chunk. */
qb_status qb__fbp_before(void *plan, size_t held, size_t cap, const qb_env *env, size_t *bytes);

/* What is asked of the planner, for the CPU; a device adds itself. */
qb__question qb__fbp_question(const qb__fbp *fbp);

extern const qb__engine qb__fbp_cpu, qb__fbp_device,
    qb__fbp_cpu_single; /* the last: slices one by one, in the least room */

#endif
