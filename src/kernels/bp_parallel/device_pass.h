/* SPDX-License-Identifier: MIT */
#ifndef QB_KERNELS_BP_PARALLEL_DEVICE_PASS_H
#define QB_KERNELS_BP_PARALLEL_DEVICE_PASS_H

#include "kernels/bp_parallel/bp_parallel_device.h"
#include "kernels/filter/filter_device.h"
#include "kernels/filter/rows_largest.h"

/* What the devices do with a pass of slices: raw numbers through the filter into the packed
 * sinogram, a block of views at a time. Half precision is scaled by each slice's largest filtered
 * value. Where a bound on it is known (fbp_plan.c), that serves, at no cost. Where none is, the
 * rows are filtered, measured, and filtered again to be packed, since a block of them is all that
 * is kept; when a block holds all views, once is enough. */
typedef struct qb__device_pass {
    const qb__bp_parallel_device_variant *variant;
    qb__bp_parallel_plan *plan;
    qb__device_filter *filter;
    size_t views, block, number_bytes; /* block: views filtered at a time; bytes of a raw number */
    qb__device_rows rows;              /* for a block; slice_stride apart */
    qb__memory *packed;
    qb__rows_largest *measure; /* NULL: the plan's problem has bounds, or needs none */
    float *largest;            /* what the plan's problem refers to, when measured */
    qb__rows_faint faint;      /* rows that halves would lose, so far */
} qb__device_pass;

/* Whether the variant cannot do without the largest values; `problem` has none. */
bool qb__device_pass_measures(const qb__variant *variant, const qb__device_info *info,
                              const qb__bp_parallel_problem *problem, const int *values);
/* How often each row is filtered: what the filter counts, it counts so often. */
unsigned qb__device_pass_rounds(const qb__device_pass *pass);

/* `raw` begins with view 0; slice s is detector row row0 + s row_step of the filter's fields. First
 * prepare, which is asynchronous and for several devices goes before pack, which waits for what was
 * measured. */
qb_status qb__device_pass_prepare(qb__device_pass *pass, qb__queue *queue, const qb__device_rows *raw, unsigned slices,
                                  size_t row0, size_t row_step);
qb_status qb__device_pass_pack(qb__device_pass *pass, qb__queue *queue, const qb__device_rows *raw, unsigned slices,
                               size_t row0, size_t row_step);

#endif
