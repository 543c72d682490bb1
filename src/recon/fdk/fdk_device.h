/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/memory.h"
#include "kernels/bp_cone/bp_cone_device.h"
#include "kernels/filter/cone_rows.h"
#include "kernels/filter/filter_device.h"
#include "planner/device_pick.h"
#include "recon/device_arrays.h"
#include "recon/fdk/fdk_cpu.h"

/* A device as an engine of FDK. Raw numbers are uploaded, filtered and back-projected (all blocks of views are added to
 * a slab), and the slab is downloaded, in stages with a queue each, so that all work at once on consecutive blocks. If
 * the device has no kernel for the preparation, or no memory, or if it is forecast to be faster, the CPU filters into
 * page-locked memory, and filtered rows are uploaded: every cut of a job in the same way. */
typedef struct qb__fdk_gpu qb__fdk_gpu;

/* Allocator of device memory. */
typedef struct qb__fdk_ring {
    const qb__fdk_gpu *gpu;
    size_t bytes;
} qb__fdk_ring;

/* The device's filter. If tables cannot weight the rows, they are made before they are filtered, some views at a time:
 * raw numbers become line integrals, and these become weighted rows. */
typedef struct qb__fdk_made {
    qb__queue *queue;
    qb__device_filter *filter; /* filters rows that were made, or raw values; NULL: the CPU filters */
    size_t first_row;          /* first detector row that is prepared */
    size_t views;
    qb__device_filter *prepare;
    qb__cone_rows *rows;
    qb__memory *lines, *weighted;
} qb__fdk_made;

struct qb__fdk_gpu {
    const qb__fdk *fdk;
    /* problem of the plan, with upper limits of the values if known; half floats are scaled by them */
    qb__bp_cone_problem problem;
    float *largest;
    bool ranks;               /* other ranks make other slabs */
    qb__cut_space neighbours; /* cuts with slabs without mirrored slices */
    qb__device_pick pick;
    qb__down way_down;
    const char *cpu_filter; /* why the CPU filters; NULL: the device does */
    double there, here;     /* forecast seconds if the device filters, and if the CPU does; 0: not compared */
    qb__fdk_ring raw, blocks, slabs;
    qb__locked_ring up_from, down;
    /* while running */
    qb__fdk *reading;         /* the same as fdk, writable: the engine may take over reading */
    qb__device_arrays arrays; /* arrays used in place */
    const qb__running *run;
    qb__fdk_filter filter; /* if the CPU filters */
    qb__fdk_made made;     /* rows that are resampled or weighted before the device filters them */
    qb__queue *up, *compute, *out;
    qb__bp_cone_plan *plan;
    qb__memory *packed;
    qb__convert *convert; /* converts slices before the download; NULL: floats are downloaded */
    qb__device_sum *sum;  /* sum over columns of ranks; NULL: one column */
};

static inline const qb__bp_cone_device_variant *qb__fdk_gpu_variant(const qb__fdk_gpu *gpu) {
    return qb__bp_cone_on_device(gpu->pick.choice.variant);
}
/* Number of ranges of the turn from which it takes views together. */
static inline size_t qb__fdk_gpu_turns(const qb__fdk_gpu *gpu) {
    return qb__bp_cone_turns(qb__fdk_gpu_variant(gpu), gpu->pick.choice.values);
}
/* The largest block and window of a cut; bytes of such a block's rows, filtered and raw, and of a slab. */
qb__bp_cone_most qb__fdk_gpu_most(const qb__fdk_gpu *gpu, const qb__cut *cut);
size_t qb__fdk_gpu_block(const qb__fdk_gpu *gpu, const qb__cut *cut);
size_t qb__fdk_gpu_raw(const qb__fdk_gpu *gpu, const qb__cut *cut);
size_t qb__fdk_gpu_ahead(const qb__fdk_gpu *gpu, const qb__cut *cut); /* raw blocks on the device */
static inline size_t qb__fdk_gpu_blocks(const qb__cut *cut) {
    return qb__fdk_kept(cut) ? cut->blocks : cut->slots;
} /* filtered blocks on the device */
size_t qb__fdk_gpu_slab(const qb__fdk_gpu *gpu, const qb__cut *cut);
/* Columns of ranks, which sum their slabs; largest number of slices of a slab that are downloaded. */
static inline int qb__fdk_gpu_columns(const qb__cut *cut) { return cut->grid ? cut->grid->columns : 1; }
static inline size_t qb__fdk_gpu_down(const qb__cut *cut) {
    return qb__larger(qb__ceil_div(cut->slices, (size_t)qb__fdk_gpu_columns(cut)), 1);
}
static inline unsigned qb__fdk_gpu_rings(const qb__cut *cut) { return cut->slabs > 1 ? cut->slots : 1; }

/* ---- order of slabs (fdk_schedule.c) ---- */

/* Number of views of a block. */
static inline size_t qb__fdk_gpu_views(const qb__fdk_gpu *gpu, const qb__cut *cut) {
    return cut->views * gpu->fdk->turns;
}
/* Slices of a slab's part on this rank that are downloaded at a time; number of such pieces, the same on all ranks. */
size_t qb__fdk_gpu_piece_slices(const qb__fdk_gpu *gpu, const qb__cut *cut);
size_t qb__fdk_gpu_pieces(const qb__fdk_gpu *gpu, const qb__cut *cut);
/* Bytes of a piece during the download; number of their buffers. */
size_t qb__fdk_gpu_piece(const qb__fdk_gpu *gpu, const qb__cut *cut);
unsigned qb__fdk_gpu_ring(const qb__fdk_gpu *gpu, const qb__cut *cut);
/* Set the weights of chunks in the forecasts of the stages from the upload on: kept rows come with the first slab, and
 * a thicker first slab takes longer than later ones. */
void qb__fdk_gpu_weigh(const qb__fdk_gpu *gpu, const qb__cut *cut, qb__stage *stages);
/* The entry `slabs` of the engine's table. `chunks` may be NULL. */
void qb__fdk_gpu_slabs(void *state, qb__cut *cut, size_t *edge, qb__chunks *chunks);

/* ---- projections in the device's memory (fdk_device_arrays.c) ---- */

/* The array of projections on the device; NULL: it is elsewhere, or the CPU filters. */
qb__tensor_device *qb__fdk_gpu_has(const qb__fdk_gpu *gpu);
/* Copy a chunk's raw rows into a slot; asynchronous. */
qb_status qb__fdk_gpu_take(const qb__fdk_gpu *gpu, size_t chunk, qb__memory *raw);

/* ---- the device's filter (fdk_device_filter.c) ---- */

/* Why the CPU must filter; NULL: the device can. */
const char *qb__fdk_gpu_unfit(const qb__fdk *fdk, const qb__device_info *info);
/* True if rows are made before they are filtered, because tables cannot weight them. */
bool qb__fdk_gpu_makes_rows(const qb__fdk *fdk);
/* Parameters for converting raw numbers to line integrals; weights are still to be filled in. */
void qb__fdk_gpu_prep(const qb__fdk_gpu *gpu, qb__device_prep *prep);
/* Device bytes of the filter; host bytes while it is opened. */
size_t qb__fdk_gpu_filter_bytes(const qb__fdk_gpu *gpu, const qb__cut *cut);
size_t qb__fdk_gpu_filter_tables(const qb__fdk *fdk);
qb_status qb__fdk_gpu_filter_open(qb__fdk_gpu *gpu);
void qb__fdk_gpu_filter_close(qb__fdk_gpu *gpu);
/* Filter a block's raw rows on the filtering queue. Asynchronous. */
qb_status qb__fdk_gpu_filter_run(const qb__fdk_gpu *gpu, size_t chunk, qb__memory *raw, qb__memory *out);
/* Add the counts of corrected values. Waits for the queue. */
qb_status qb__fdk_gpu_filter_count(const qb__fdk_gpu *gpu, qb__prep_counts *counts);

/* ---- making rows (fdk_device_rows.c) ---- */

size_t qb__fdk_gpu_rows_bytes(const qb__fdk_gpu *gpu, const qb__cut *cut);
size_t qb__fdk_gpu_rows_tables(const qb__fdk *fdk);
qb_status qb__fdk_gpu_rows_open(qb__fdk_gpu *gpu);
void qb__fdk_gpu_rows_close(qb__fdk_gpu *gpu);
/* A run of a block: raw rows at offset `from` bytes, filtered ones at `to` bytes of `out`. */
qb_status qb__fdk_gpu_rows_run(const qb__fdk_gpu *gpu, const qb__fdk_piece *p, const qb__fdk_window *run,
                               qb__memory *raw, size_t from, qb__memory *out, size_t to);

/* ---- forecast, and choice of the filter (fdk_device_forecast.c) ---- */

/* Number of slabs of a cut that are computed while the rows of all slabs are read, rounded. */
size_t qb__fdk_gpu_lead(const qb__fdk_gpu *gpu, const qb__cut *cut);
/* Set gpu->cpu_filter, the same on all ranks. space: cuts of the offered job. */
qb_status qb__fdk_gpu_who_filters(qb__fdk_gpu *gpu, qb__cut_space space, qb__comm *comm);

/* ---- rows of the engine's table (fdk_device_plan.c; times in fdk_device_forecast.c) ---- */

qb_status qb__fdk_gpu_decide(const qb__task *task, void *plan, const qb_env *env, qb__offer *offer);
qb__room qb__fdk_gpu_memory(void *state, const qb__cut *cut);
double qb__fdk_gpu_seconds(void *state, const qb__cut *cut);
void qb__fdk_gpu_facts(void *state, const qb__cut *cut, qb__job_facts *facts);
/* Seconds before the first chunk. qb__fdk_gpu_forecast sets the forecasts of the engine's stages over all chunks. */
double qb__fdk_gpu_start(const qb__fdk_gpu *gpu);
void qb__fdk_gpu_forecast(const qb__fdk_gpu *gpu, const qb__cut *cut, qb__stage *stages, int count);
