/* SPDX-License-Identifier: MIT */
#pragma once

#include "kernels/bp_parallel/bp_parallel_device.h"
#include "kernels/filter/filter_device.h"
#include "kernels/filter/rows_largest.h"

/* A pass of slices on a device: raw numbers are filtered and packed, a block of views at a time. Half precision is
 * scaled by each slice's largest filtered value. If an upper limit of it is known (fbp_plan.c), that is used. Otherwise
 * the rows are filtered, measured, and filtered again for packing, because only a block of them is kept; if a block
 * holds all views, once is enough. */
typedef struct qb__device_pass {
    const qb__bp_parallel_device_variant *variant;
    qb__bp_parallel_plan *plan;
    qb__device_filter *filter;
    size_t views, block, number_bytes; /* block: views filtered at a time; bytes of a raw number */
    qb__device_rows rows;              /* filtered rows of a block, slice_stride apart */
    qb__memory *packed;
    qb__rows_largest *measure; /* NULL: the plan's problem has upper limits, or needs none */
    float *largest;            /* largest values for the plan's problem, if measured */
    qb__rows_faint faint;      /* rows so far that half floats would lose */
} qb__device_pass;

/* True if the variant needs the largest values and `problem` has none. */
bool qb__device_pass_measures(const qb__variant *variant, const qb__device_info *info,
                              const qb__bp_parallel_problem *problem, const int *values);
/* How often each row is filtered: counts of the filter are multiplied by it. */
unsigned qb__device_pass_rounds(const qb__device_pass *pass);

/* `raw` begins with view 0; slice s is detector row row0 + s row_step of the filter's fields. Call prepare first, which
 * is asynchronous (with several devices call it for all of them first), then pack, which waits for the measured
 * values. */
qb_status qb__device_pass_prepare(qb__device_pass *pass, qb__queue *queue, const qb__device_rows *raw, unsigned slices,
                                  size_t row0, size_t row_step);
qb_status qb__device_pass_pack(qb__device_pass *pass, qb__queue *queue, const qb__device_rows *raw, unsigned slices,
                               size_t row0, size_t row_step);
