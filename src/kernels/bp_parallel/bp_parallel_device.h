/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/variant.h"
#include "device/device.h"
#include "geometry/bp_problem.h"
#include "kernels/filter/filter_device.h"
#include "kernels/filter/rows_largest.h"

/* Interface of all device variants of parallel-beam back-projection (formula in geometry/bp_problem.h). A variant has
 * its own layout for the sinograms of a pass of slices; pack() makes it on the device from rows, run() computes the
 * whole slab from it.
 *
 * Accuracy: each API has its accuracy class for white noise. The coordinate h keeps the class up to 16,384 columns, so
 * it is an integer base, computed in double per tile and view, plus a small fraction. */

#define QB__PACKED_MOST (SIZE_MAX / 2)

typedef struct qb__bp_parallel_plan qb__bp_parallel_plan; /* defined by the variant */

typedef struct qb__bp_parallel_device_variant {
    qb__variant head; /* unusable() and cost() take a qb__bp_parallel_problem */

    /* Device bytes of a packed pass of `slices` (a multiple of head.step); about QB__PACKED_MOST if they are more, so
     * that other sizes can be added without overflow. */
    size_t (*packed_bytes)(const qb__bp_parallel_problem *problem, unsigned slices, const int *values);
    /* Upper limit of the device bytes of a plan for such passes: its tables and its texture. */
    size_t (*plan_bytes)(const qb__device *device, const qb__bp_parallel_problem *problem, unsigned slices,
                         const int *values);
    /* Compile, and upload tables of the geometry. The problem's arrays must outlive the plan; `largest` is that of the
     * current pass, is read by pack(), and may change between passes. `slices`: of the largest pass. */
    qb_status (*plan)(qb__device *device, const qb__bp_parallel_problem *problem, unsigned slices, const int *values,
                      qb__bp_parallel_plan **plan);
    /* rows: float32 device memory; the row of view view0 + i and slice s begins at offset + 4 * (i * view_stride + s *
     * slice_stride) bytes, so that blocks of views are filtered and packed one after the other. Fills the views view0
     * <= v < view1 of `packed`; missing slices become zeros. */
    qb_status (*pack)(qb__bp_parallel_plan *plan, qb__queue *queue, const qb__memory *rows, size_t offset,
                      size_t view_stride, size_t slice_stride, size_t view0, size_t view1, unsigned slices,
                      qb__memory *packed);
    /* Overwrites out[(z * ny + y) * nx + x], z < slices, float32, at `offset` bytes. */
    qb_status (*run)(qb__bp_parallel_plan *plan, qb__queue *queue, const qb__memory *packed, unsigned slices,
                     qb__memory *out, size_t offset);
    void (*destroy)(qb__bp_parallel_plan *plan); /* NULL-safe */
} qb__bp_parallel_device_variant;

static inline const qb__bp_parallel_device_variant *qb__bp_parallel_on_device(const qb__variant *head) {
    return (const qb__bp_parallel_device_variant *)head;
}

/* All variants; their number in *count. Collected in bp_parallel_families.c from the files of the families (texture,
 * alu, tensor). */
const qb__bp_parallel_device_variant *const *qb__bp_parallel_device_variants(size_t *count);

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
