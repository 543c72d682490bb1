/* SPDX-License-Identifier: MIT */
#pragma once

#include "cpu/bp_parallel/bp_parallel.h"
#include "geometry/grid.h"
#include "geometry/parallel.h"
#include "ops/filter.h"
#include "planner/choose.h"
#include "prep/rolled_rows.h"
#include "recon/reconstruction.h"

/* State of the stage that reads raw numbers for the engine; written by fbp_read.c only. */
typedef struct qb__fbp_reader {
    qb__cut cut;       /* the current cut */
    size_t cache_rows; /* rows that are read ahead, if their storage chunks are costly to read twice */
    char *cache;       /* rows cache_first .. cache_end - 1 of all views, as stored */
    size_t cache_first, cache_end;
    /* rows above and below a chunk that are read with it, for an engine that corrects them; 0: rows are corrected
     * already */
    size_t margin;
    bool left;                         /* the engine reads the numbers in place */
    struct qb_tool_filtered *filtered; /* rows that earlier jobs have filtered; NULL: none */
    size_t parts;                      /* devices that share a chunk's slices */
} qb__fbp_reader;

/* A filtered back-projection of a parallel beam. Slices are independent: a chunk is a run of slices and needs only
 * their detector rows. fbp_plan.c, fbp_grid.c and fbp_roll.c fill the struct for any engine; afterwards only the axis
 * changes, when it is found. */
typedef struct qb__fbp {
    qb_scan *scan;
    const qb_scan_info *info;
    const qb_prep_options *prep;
    size_t near; /* rows above and below a chunk that a device may need to correct it by itself */
    const qb_fbp_options *options;
    const qb_output_options *output;
    int threads;

    qb_grid grid;           /* n[2] = slices that are written */
    qb__grid_region region; /* `grid` is that part of region.whole, to which the problem's coordinates belong */
    size_t first_row, step; /* slice i comes from detector row first_row + i * step */
    double pixel, pixel_v;  /* mm along columns and rows, or 1 when unknown */
    float *weights;         /* [view] angular weight times the scale of the output */
    float *largest;         /* [lanes] upper limit of the filtered values of a slice; NULL = unknown */
    qb__half_fan fan;       /* half acquisition: a full turn with the axis near one side */
    size_t width;           /* columns of a filtered row: those of the detector and the added ones */
    qb__bp_parallel_problem problem;
    const qb__bp_parallel_variant *variant; /* CPU kernel; single slices are always computed on the CPU */
    qb__filter *filter;

    /* the axis */
    double center;        /* column of the axis in the detector's middle row; NAN until it is found */
    bool found;           /* the axis was found by a search */
    double *ax, *ay, *h0; /* [view] column of voxel (x, y) is ax x + ay y + h0 */
    float *share;         /* [columns] weight of a column; NULL = 1 */
    qb__turn turn;        /* angles and gaps of such a turn */
    float *view_share;    /* [view][columns] weights for such a turn with gaps; `share` is NULL then; else NULL */

    /* detector roll (fbp_roll.c) */
    qb__roll roll; /* maps = 0: no roll */
    qb__rolled_rows rolled;
    qb__resampler *resampler;
    double zero;       /* the unrolled row of z = 0 */
    double *axis;      /* [view] column of the axis from a geometry file; NULL = center */
    double *angles;    /* [view] angles from a geometry file; `said` refers to them */
    qb_scan_info said; /* the scan's info, changed by the geometry file */

    qb__mask mask;
    qb__fbp_reader reader;
    char redundancy[320]; /* text of qb__fbp_redundancy */
} qb__fbp;

/* The plan of a job; NULL if the job belongs to another method. */
const qb__fbp *qb__fbp_of(const qb_job *job);

/* ---- rows of the method's table ---- */

qb_status qb__fbp_decide(const qb__task *task, void *plan, const qb_env *env, cJSON *json, qb__decision *decision);
void qb__fbp_release(void *plan);
/* fbp_read.c */
void qb__fbp_rows(const void *plan, size_t first, size_t count, size_t *row0, size_t *row1);
int qb__fbp_stages(void *plan, const qb__cut *cut, qb__stage *stages);
/* Read rows for several chunks at once, as many as fit into `left` bytes. Sets the number of rows, and returns their
 * bytes. */
size_t qb__fbp_read_ahead(qb__fbp *fbp, const qb__cut *cut, size_t left);
qb_status qb__fbp_open(void *plan, const qb__cut *cut);
void qb__fbp_close(void *plan, bool named);
/* Read and filter only rows that are not in `filtered`. */
void qb__fbp_read_less(qb__fbp *fbp, struct qb_tool_filtered *filtered);
/* fbp_grid.c: set the CPU's kernel, and set the axis that was found. Only fbp_plan.c, fbp_grid.c and fbp_roll.c write
 * the struct. */
void qb__fbp_take_kernel(qb__fbp *fbp, const qb__variant *variant);
void qb__fbp_take_axis(qb__fbp *fbp, double column);
/* Text for the plan about rays that are measured twice; "" if there are none. Lives as long as the plan. */
const char *qb__fbp_redundancy(qb__fbp *fbp);
/* fbp_axis.c */
qb_status qb__fbp_begin(void *plan, const qb_env *env, cJSON *report, bool *anew);
/* fbp_transpose.c */
qb_status qb__fbp_transpose(void *plan, const qb__transposing *t);

/* ---- positions (fbp_read.c) ---- */

size_t qb__fbp_chunk_slices(const qb__fbp *fbp, size_t chunk);
size_t qb__fbp_chunk_row(const qb__fbp *fbp, size_t chunk); /* detector row of its first slice */
size_t qb__fbp_raw_row(const qb__fbp *fbp);                 /* bytes of a detector row as stored */
/* Floats from one filtered row to the next: a multiple of 64 bytes. */
size_t qb__fbp_row_stride(const qb__fbp *fbp);
/* First slice of part `part` of a chunk with `slices` that is divided into `parts`. */
size_t qb__fbp_part_first(size_t slices, size_t parts, size_t part);
/* The rows that are read for a chunk: its own and the reader's margin, limited to the detector. */
void qb__fbp_read_window(const qb__fbp *fbp, size_t chunk, size_t *first, size_t *end);
/* How the opened engine takes the numbers: `left`, in place; with `margin` rows above and below for its own corrections
 * (0: none); in the order of `parts` devices that share a chunk's slices. Call it after the reader was opened. */
void qb__fbp_read_for(qb__fbp *fbp, bool left, size_t margin, size_t parts);
/* Largest number of rows that are read for `slices` slices; the rows that are read for the slices from row first_row
 * on. */
size_t qb__fbp_raw_rows(const qb__fbp *fbp, size_t slices);
void qb__fbp_window(const qb__fbp *fbp, size_t first_row, size_t slices, size_t *first, size_t *end);
/* Offset of row s of a view in a chunk's raw numbers, without roll. */
size_t qb__fbp_raw_offset(const qb__fbp *fbp, size_t slices, size_t parts, size_t view, size_t s);

/* ---- detector roll (fbp_roll.c) ---- */

/* Take angles, axis, pixels and detector roll from --geometry or --tilt. */
qb_status qb__fbp_decide_roll(qb__fbp *fbp, const qb_env *env);
/* Refuse an axis near one side whose column changes from view to view. */
qb_status qb__fbp_check_steady(const qb__fbp *fbp);
/* Warn of slices that lie partly beyond the rolled detector, and describe the resampling in the plan. */
void qb__fbp_report_roll(const qb__fbp *fbp, const qb_env *env, cJSON *json);
void qb__fbp_release_roll(qb__fbp *fbp);

/* ---- the axis (fbp_axis.c) ---- */

/* Set h0 and shares for an axis at `center`. */
qb_status qb__fbp_aim(qb__fbp *fbp, double center);
/* [columns] weights of a view; NULL = 1. */
const float *qb__fbp_share_of(const qb__fbp *fbp, size_t view);
/* Text about the weights of a full turn with the axis near one side; "" if there are none. */
void qb__fbp_describe_turn(const qb__fbp *fbp, char *text, size_t size);

/* ---- filtered rows of earlier jobs (fbp_filtered.c) ---- */

/* The text of qb_tool_filtered_use(). */
void qb__filtered_name(struct qb_tool_filtered *filtered, const char *rows);
/* Keep the chunks of this job, unless they are kept or do not fit: packed rows of `bytes` each, the last of `last`. */
void qb__filtered_begin(struct qb_tool_filtered *filtered, const qb__fbp *fbp, const qb__cut *cut, size_t bytes,
                        size_t last);
/* The packed rows of a chunk, which the job fills unless *ready; NULL: none are kept. `filtered` may be NULL. */
void *qb__filtered_rows(const struct qb_tool_filtered *filtered, size_t chunk, bool *ready);
/* The job has filtered so many views of a chunk. */
void qb__filtered_add(struct qb_tool_filtered *filtered, size_t chunk, size_t views);

/* ---- single slices on the CPU (fbp_slice.c) ---- */

/* Convert a column to the number that users see: of the whole unbinned detector, in its middle row. */
double qb__fbp_column(const qb__fbp *fbp, double column);
/* The range of integers from the middle slice, if no option gives it. */
qb_status qb__fbp_range(void *plan, const qb__running *run, double *low, double *high);
size_t qb__fbp_range_bytes(const void *plan); /* bytes that qb__fbp_range() needs */

/* The question to the planner for the CPU; a device engine adds its device. */
qb__question qb__fbp_question(const qb__fbp *fbp);

extern const qb__engine qb__fbp_cpu, qb__fbp_device,
    qb__fbp_cpu_single; /* cpu_single: slices one by one, with the least memory */

/* Decide the volume's part of the plan: pixel size, grid, rows, output (fbp_grid.c). */
qb_status qb__fbp_decide_grid(qb__fbp *fbp, const qb_env *env, qb__decision *decision);
