/* SPDX-License-Identifier: MIT */
#include "bp_parallel_layout.h"

#include "kernels/macros.h"
#include "kernels/rows_table.h"

/* The standard algorithm for OpenCL devices that are CPUs (section 6.10): see bp_parallel_direct.cl. */

enum { INTERP, SLICES, BLOCK, VIEWS };

static const char *unusable(const qb__device_info *device, const void *of, const int *values) {
    const qb__bp_parallel_problem *problem = of;
    (void)values;
    if (!device->is_cpu) return "is for processors: one item a group, no local memory";
    return qb__layout_unusable(device, problem, false);
}

/* A CPU has no such units; lane instructions are for vectors of 8 slices. */
static void cost(const void *of, unsigned slices, const int *values, qb__kernel_cost *cost) {
    const qb__bp_parallel_problem *problem = of;
    const double s = values[SLICES];
    *cost = (qb__kernel_cost){.local_bytes = values[INTERP] ? 4.0 : 8.0,
                              .arithmetic = (values[INTERP] ? 1.0 : 3.0) + 12.0 / s,
                              .memory_bytes = 4.0 / (double)problem->views,
                              .launches = 1.0};
    qb__cost_scale(cost, qb__layout_waste(slices, (unsigned)values[SLICES]));
}

static size_t packed_bytes(const qb__bp_parallel_problem *problem, unsigned slices, const int *values) {
    return qb__layout_bytes(problem, slices, (unsigned)values[SLICES], false);
}

static size_t plan_bytes(const qb__device *device, const qb__bp_parallel_problem *problem, unsigned slices,
                         const int *values) {
    (void)device, (void)slices, (void)values;
    return qb__layout_lines_bytes(problem);
}

static qb_status make_plan(qb__device *device, const qb__bp_parallel_problem *problem, unsigned slices,
                           const int *values, qb__bp_parallel_plan **plan) {
    static const char *const names[] = {"INTERP", "SLICES", "BLOCK", "VIEWS"};
    qb__macros macros = {.count = 0};
    for (int i = 0; i <= VIEWS; i++) qb__macros_add(&macros, names[i], values[i]);
    qb_status status =
        qb__layout_plan(device, problem, slices, (unsigned)values[SLICES], false, QB__INTERP_OF(values[INTERP]),
                        "bp_parallel_direct.cl", "bp_parallel_direct", macros.list, plan);
    if (status) return status;
    qb__bp_parallel_plan *p = *plan;
    p->area = (size_t)values[BLOCK];
    return qb__layout_take_lines(plan);
}

static qb_status run(qb__bp_parallel_plan *plan, qb__queue *queue, const qb__memory *packed, unsigned slices,
                     qb__memory *out, size_t offset) {
    const int32_t views = (int32_t)plan->problem.views, columns = (int32_t)plan->problem.columns;
    const int32_t nx = (int32_t)plan->problem.nx, ny = (int32_t)plan->problem.ny;
    const int32_t all = (int32_t)slices;
    const uint64_t out_at = offset / sizeof(float);
    const qb__arg args[] = {QB__MEMORIES(packed, plan->lines), QB__VALUES(views, columns), QB__MEMORY(out),
                            QB__VALUES(out_at, nx, ny, all)};
    const size_t groups[3] = {qb__ceil_div(plan->problem.nx, plan->area), qb__ceil_div(plan->problem.ny, plan->area),
                              qb__ceil_div(slices, plan->group)};
    const size_t items[3] = {1, 1, 1};
    return qb__kernel_launch(plan->kernel, queue, groups, items, args, sizeof args / sizeof *args);
}

#define ROW(name, kind)                                                                                                \
    {                                                                                                                  \
        HEAD(QB__BP_PARALLEL, name, kind, QB__API_OPENCL, QB_ACCURACY_HIGH,                                            \
             "Algorithm 1 for processors (6.10): rows read from memory", 1, 32768, unusable, cost,                     \
             P("INTERP", QB__INTERP_CODE(kind)), P("SLICES", 8, 4, 2, 1), P("BLOCK", 32, 16, 8),                       \
             P("VIEWS", 16, 1, 4, 64)),                                                                                \
            LAYOUT_CALLS                                                                                               \
    }

static const qb__bp_parallel_device_variant rows[] = {
    ROW("bp_parallel_linear.direct", QB_INTERP_LINEAR),
    ROW("bp_parallel_nearest.direct", QB_INTERP_NEAREST),
    ROW("bp_parallel_oversample.direct", QB_INTERP_OVERSAMPLE),
};
const qb__bp_parallel_rows qb__bp_parallel_direct_rows = {rows, sizeof rows / sizeof *rows};
