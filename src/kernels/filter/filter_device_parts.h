/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "device/device.h"
#include "kernels/macros.h"
#include "quickbeam/array.h"
#include "quickbeam/recon.h"

/* Ways to filter rows (filter_ways.c). */
typedef enum qb__filter_method {
    QB__FILTER_AUTO,
    QB__FILTER_LOCAL,  /* one kernel, with the row in local memory */
    QB__FILTER_PASSES, /* our own transform in device memory, for any length */
    QB__FILTER_CUFFT
} qb__filter_method;

enum { QB__RADICES_MAX = 8 };

/* The passes of a transform, with the last one separate, and their distribution over work items in filter_rows.cl. */
typedef struct qb__filter_plan {
    int radix[QB__RADICES_MAX], passes; /* passes before the last */
    int last;
    size_t items, group_rows; /* work items per row, rows per group */
    size_t groups;            /* number of groups that a multiprocessor should hold at once */
    size_t local_bytes;       /* local memory of a group, in bytes */
} qb__filter_plan;

/* Chooses the radices for `half`, which must be a power of two (at least 2) times 1, 3, 5 or 15; ops/fft.c chooses no
 * other lengths. Returns false for any other length. */
bool qb__filter_radices(size_t half, qb__filter_plan *plan);
/* Makes the whole plan for a device. Returns NULL, or the reason why rows do not fit into local memory. */
const char *qb__filter_plan_make(size_t half, const qb__device_info *device, qb__filter_plan *plan);

/* A row filter in the form for devices. A row is continued to 2 half samples, `left` of them before it, and transformed
 * as `half` complex numbers; ops/filter.c explains the coefficients. Filled by qb__filter_describe(); the arrays belong
 * to the filter. */
typedef struct qb__filter_spectrum {
    size_t columns, half, left;
    qb_pad pad;
    bool identity;                  /* no transform is done, and the arrays are NULL */
    const float *turn, *low, *high; /* [half + 1]; the coefficient of frequency k <= half/2 is at 2k */
} qb__filter_spectrum;

typedef struct qb__device_filter qb__device_filter; /* declared in filter_device.h, defined below */
typedef struct qb__filter_long qb__filter_long;     /* filter_long.c */

enum { QB__FILTER_FOUND_WORDS = 8 }; /* counts of clamped, not finite, dead, saturated values, 64 bits each */

/* Defines RAW of prepare_rows.clh, the type of the numbers that a kernel reads. */
void qb__define_raw(qb__macros *macros, qb_dtype dtype);

struct qb__device_filter {
    qb__device *device;
    qb__filter_spectrum spectrum; /* copied without its arrays */
    size_t views, rows;
    size_t number_bytes; /* bytes of a raw number */
    float bound;         /* smallest transmission, or largest line integral */
    char method[256];

    qb__memory *weights, *air, *dark, *gain; /* air, dark, gain may be NULL: 1, 0, 1 */
    /* [modes][rows][measured] and [views][modes + 1], for flats that change over the views; else NULL */
    qb__memory *mode, *drift;
    qb__memory *courses;            /* [rows][course_room] entries of prep/courses.h; or NULL */
    qb__memory *share, *view_share; /* [measured] or [rows][measured]; [views][measured]; or NULL */
    bool share_rows;
    size_t measured, before; /* number of columns of a raw row, and the column at which they begin */
    qb__memory *roots, *coefficients, *counts;
    size_t bytes;

    qb__filter_plan plan;
    qb__program *program; /* filter_rows.cl or prepare_rows.cl */
    qb__kernel *kernel;
    size_t items; /* work items of a group */
    size_t local_bytes;
    size_t group_rows;
    qb__filter_long *passes; /* set if rows are filtered in device memory */
};

/* Positions of the rows, in elements, as the kernels need them. */
typedef struct qb__row_block {
    uint64_t raw_first, raw_view, raw_slice, out_first, out_view, out_slice;
    uint32_t rows, slices, view0, row0, row_step;
} qb__row_block;

/* ---- filter_ways.c ---- */

/* Chooses how rows are filtered: sets filter->plan, ->passes and ->method; *local: rows stay in local memory. */
qb_status qb__filter_take_way(qb__device_filter *filter, qb__filter_method method, bool *local);
/* Sets the plan for local memory and returns NULL, or returns why rows do not fit into it. */
const char *qb__filter_not_local(const qb__filter_spectrum *spectrum, const qb__device_info *info,
                                 qb__filter_method method, qb__filter_plan *plan);

/* ---- filter_launch.c ---- */

/* Converts raw rows to line integrals in `out`, with or without weights (prepare_rows.cl). */
qb_status qb__filter_prepare(qb__device_filter *filter, qb__queue *queue, const qb__memory *raw, qb__memory *out,
                             const qb__row_block *block, bool weighted);
/* Converts raw rows to filtered rows in `out`, in local memory (filter_rows.cl). */
qb_status qb__filter_local(qb__device_filter *filter, qb__queue *queue, const qb__memory *raw, qb__memory *out,
                           const qb__row_block *block);

/* Transforms in device memory. `cufft`: with cuFFT; QB_NO_DEVICE if it is missing. */
qb_status qb__filter_long_create(qb__device_filter *filter, bool cufft, qb__filter_long **passes);
size_t qb__filter_long_forecast(const qb__filter_spectrum *spectrum);
void qb__filter_long_destroy(qb__filter_long *passes); /* NULL-safe */
/* As qb__device_filter_run, for all rows of `block`. */
qb_status qb__filter_long_run(qb__filter_long *passes, qb__device_filter *filter, qb__queue *queue,
                              const qb__memory *raw, qb__memory *out, const qb__row_block *block);
