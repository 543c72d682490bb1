/* SPDX-License-Identifier: MIT */
#ifndef QB_RECON_FBP_FBP_H
#define QB_RECON_FBP_FBP_H

#include "cpu/bp_parallel/bp_parallel.h"
#include "geometry/half_fan.h"
#include "geometry/partition.h"
#include "job/job.h"
#include "job/volume_out.h"
#include "ops/filter.h"
#include "prep/prepare.h"

typedef struct qb__fbp_device qb__fbp_device; /* fbp_device.h */

/* A filtered back-projection: decided in fbp.c, streamed by fbp_stages.c, swept by fbp_sweep.c. */
typedef struct qb__fbp {
    qb_job job;
    qb_scan *scan;
    const qb_scan_info *info;
    char *command;

    /* the options, owned copies of their texts */
    qb_prep_options prep;
    qb_fbp_options options;
    qb_output_options output;

    /* decided by the plan */
    int threads;
    size_t parts;           /* devices that share a chunk; 1 on the CPU */
    qb_grid grid;           /* n[2] = slices written */
    size_t first_row, step; /* slice i comes from detector row first_row + i * step */
    double pixel;           /* mm, or 1 when unknown */
    bool sweep;             /* --center A:B:STEP: one slice, many axes */
    bool found;             /* the axis, by a finder */
    double center;          /* the column; set by qb__fbp_find_center when the option is no number */
    double sweep_step;
    size_t sweep_count;
    bool full_turn;         /* the views cover 360 degrees */
    qb__half_fan fan;       /* of a full turn about an axis to one side */
    float *share;           /* [columns] what a column counts for; NULL = 1 */
    size_t width;           /* columns of a filtered row: the detector's and those added */
    float *weights;         /* [view] angular weights, with the scale of the output */
    const qb__bp_parallel_variant *variant;
    double *ax, *ay, *h0;   /* [view] */
    float *largest;         /* [lanes] no filtered value of a slice exceeds it; NULL = unknown */
    qb__bp_parallel_problem problem;
    qb__filter *filter;
    qb__fbp_device *device; /* NULL = the CPU computes; then `variant` serves single slices */
    qb__partition partition;
    size_t cache_rows;      /* rows read ahead at once because their storage is costly to read twice */
    size_t fixed_bytes;     /* held besides the rings */
    size_t finding_bytes;   /* while the axis is looked for; 0 = it is known */
    size_t memory;          /* forecast of the peak */

    /* while running */
    qb__prepare *prepare;
    char **scratch;         /* [thread] */
    qb__prep_counts *counts; /* [thread] */
    char *cache;            /* rows cache_first .. of all views, as read */
    size_t cache_first, cache_end;
    qb__volume_out volume;
} qb__fbp;

size_t qb__fbp_chunk_slices(const qb__fbp *fbp, size_t chunk);
/* Columns from one filtered row to the next: a multiple of 64 bytes. */
size_t qb__fbp_row_stride(const qb__fbp *fbp);
/* The slice of a chunk of `slices` at which a part begins. */
size_t qb__fbp_part_first(const qb__fbp *fbp, size_t slices, size_t part);
const char *qb__fbp_kernel(const qb__fbp *fbp); /* the id of the one that computes the volume */
unsigned qb__fbp_lanes(const qb__fbp *fbp, size_t slices);
/* Bytes in flight for a chunk size and ring depth, all that run() will hold included. */
size_t qb__fbp_bytes(const void *fbp, size_t slices_per_chunk, unsigned slots);
/* The stages; returns how many. */
int qb__fbp_stages(const qb__fbp *fbp, size_t slices_per_chunk, unsigned slots, qb__stage *stages);
/* Bytes of scratch one thread needs. */
size_t qb__fbp_scratch_slices(const qb__fbp *fbp); /* at once, by a computing thread */
size_t qb__fbp_scratch(const qb__fbp *fbp, size_t slices_per_chunk);
/* Set h0 for an axis at `center`. */
qb_status qb__fbp_aim(qb__fbp *fbp, double center);
/* Reconstruct one slice from one detector row into image[ny][nx], axis as aimed. */
qb_status qb__fbp_slice(qb__fbp *fbp, size_t row, qb__pool *pool, float *image);
qb_status qb__fbp_sweep(qb__fbp *fbp, qb__pool *pool, const qb_env *env);
/* The files of a sweep spare what is read (qb__outputs_check). */
qb_status qb__fbp_sweep_spare(const qb__fbp *fbp, const qb_env *env);

#endif
