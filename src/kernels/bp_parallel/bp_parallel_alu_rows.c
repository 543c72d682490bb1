/* SPDX-License-Identifier: MIT */
#include "bp_parallel_alu.h"
#include "kernels/rows_table.h"

/* The rows of the arithmetic family (section 6 of the paper that numbers the algorithms); their parameters are in the
 * order of qb__alu. */

static qb__alu alu_of(const int *values) {
    return (qb__alu){.interp = QB__INTERP_OF(values[0]),
                     .slices = values[1],
                     .half = values[2],
                     .width = values[3],
                     .difference = values[4],
                     .write64 = values[5],
                     .area = values[6],
                     .pixels = values[7],
                     .views = values[8],
                     .round = values[9],
                     .cache = values[10],
                     .blocks = values[11]};
}

static const char *unusable(const qb__device_info *device, const void *of, const int *values) {
    const qb__bp_parallel_problem *problem = of;
    const qb__alu alu = alu_of(values);
    return qb__alu_unusable(device, problem, &alu);
}

static void cost(const void *of, unsigned slices, const int *values, qb__kernel_cost *cost) {
    const qb__bp_parallel_problem *problem = of;
    const qb__alu alu = alu_of(values);
    qb__alu_cost(problem, slices, &alu, cost);
    qb__cost_scale(cost, qb__layout_waste(slices, (unsigned)alu.slices));
}

static size_t packed_bytes(const qb__bp_parallel_problem *problem, unsigned slices, const int *values) {
    return qb__layout_bytes(problem, slices, (unsigned)values[1], values[2] != 0);
}

static size_t plan_bytes(const qb__device *device, const qb__bp_parallel_problem *problem, unsigned slices,
                         const int *values) {
    (void)device, (void)slices, (void)values;
    return qb__layout_lines_bytes(problem);
}

static qb_status make_plan(qb__device *device, const qb__bp_parallel_problem *problem, unsigned slices,
                           const int *values, qb__bp_parallel_plan **plan) {
    const qb__alu alu = alu_of(values);
    return qb__alu_plan(device, problem, slices, &alu, plan);
}

static qb_status run(qb__bp_parallel_plan *plan, qb__queue *queue, const qb__memory *packed, unsigned slices,
                     qb__memory *out, size_t offset) {
    qb__alu_args args;
    qb__alu_fill(plan, packed, slices, out, offset, &args);
    const size_t groups[3] = {qb__ceil_div(plan->problem.nx, plan->area), qb__ceil_div(plan->problem.ny, plan->area),
                              qb__ceil_div(slices, plan->group)};
    const size_t items[3] = {plan->threads, 1, 1};
    return qb__kernel_launch(plan->kernel, queue, groups, items, args.list, QB__ALU_ARGS);
}

/* Parameters that can be tuned: area, pixels per thread, cached views, extra caches, groups per multiprocessor. The
 * fastest values on an H200 come first. */
#define AREA_64 P("AREA", 64, 32), P("PIXELS", 16, 8, 4)
#define AREA_32 P("AREA", 32, 64), P("PIXELS", 8, 4, 16)
#define VIEWS_8 P("VIEWS", 8, 16, 4)
#define VIEWS_16 P("VIEWS", 16, 8, 4)
#define CACHES P("CACHE", 2, 0, 1, 3)
#define ALONE P("BLOCKS", 1, 2, 3, 4)
#define IN_TWOS P("BLOCKS", 2, 1, 3, 4)
#define IN_FOURS P("BLOCKS", 4, 1, 2, 3)
#define ROUNDED P("ROUND", 1, 0, 2)
#define EXACT P("ROUND", 0)
#define ROW(name, kind, class, how, ...)                                                                               \
    {                                                                                                                  \
        HEAD(QB__BP_PARALLEL, name, kind, QB__API_CUDA | QB__API_OPENCL, class, how, 1, 32768, unusable, cost,         \
             P("INTERP", QB__INTERP_CODE(kind)), __VA_ARGS__),                                                         \
            LAYOUT_CALLS                                                                                               \
    }
#define LINEAR(suffix, class, how, ...) ROW("bp_parallel_linear." suffix, QB_INTERP_LINEAR, class, how, __VA_ARGS__)
#define NEAREST(suffix, class, how, ...) ROW("bp_parallel_nearest." suffix, QB_INTERP_NEAREST, class, how, __VA_ARGS__)
#define OVERSAMPLE(suffix, class, how, ...)                                                                            \
    ROW("bp_parallel_oversample." suffix, QB_INTERP_OVERSAMPLE, class, how, __VA_ARGS__)
/* HALF, WIDTH, DIFFERENCE, WRITE64 */
#define FORM(half, width, difference, write64)                                                                         \
    P("HALF", half), P("WIDTH", width), P("DIFFERENCE", difference), P("WRITE64", write64)

static const qb__bp_parallel_device_variant rows[] = {
    LINEAR("alu", QB_ACCURACY_HIGH, "Algorithm 6: shared-memory cache", P("SLICES", 2, 1, 4), FORM(0, 0, 0, 0), AREA_64,
           VIEWS_8, ROUNDED, CACHES, IN_FOURS),
    LINEAR("alu_write64", QB_ACCURACY_HIGH, "Algorithm 7: 64-bit writes into the cache", P("SLICES", 1),
           FORM(0, 0, 0, 1), AREA_64, VIEWS_16, ROUNDED, CACHES, IN_FOURS),
    LINEAR("alu_split", QB_ACCURACY_HIGH, "Algorithm 8: vectors of 4 slices split into two caches", P("SLICES", 4),
           FORM(0, 2, 0, 0), AREA_64, VIEWS_8, ROUNDED, CACHES, IN_TWOS),
    LINEAR("alu_difference", QB_ACCURACY_HIGH, "Algorithm 9: value and difference cached", P("SLICES", 1, 2, 4),
           P("HALF", 0), P("WIDTH", 0), P("DIFFERENCE", 1, 2), P("WRITE64", 0), AREA_64, VIEWS_16, ROUNDED, CACHES,
           IN_FOURS),
    LINEAR("alu_half", QB_ACCURACY_NORMAL, "Algorithm 6 with a half-precision cache (6.7)", P("SLICES", 4, 8, 2, 1),
           FORM(1, 0, 0, 0), AREA_64, VIEWS_8, ROUNDED, CACHES, IN_TWOS),
    LINEAR("alu_half_sums", QB_ACCURACY_NORMAL, "Algorithm 6 with half-precision cache and arithmetic (6.7)",
           P("SLICES", 8, 4, 2), FORM(2, 0, 0, 0), AREA_32, P("VIEWS", 8, 4), ROUNDED, CACHES, ALONE),
    NEAREST("alu", QB_ACCURACY_HIGH, "Algorithm 6: shared-memory cache", P("SLICES", 2, 4, 1), FORM(0, 0, 0, 0),
            AREA_64, VIEWS_16, EXACT, CACHES, IN_FOURS),
    NEAREST("alu_write64", QB_ACCURACY_HIGH, "Algorithm 7: 64-bit writes into the cache", P("SLICES", 1),
            FORM(0, 0, 0, 1), AREA_64, VIEWS_16, EXACT, CACHES, IN_FOURS),
    NEAREST("alu_split", QB_ACCURACY_HIGH, "Algorithm 8: vectors of 4 slices split into two caches", P("SLICES", 4),
            FORM(0, 2, 0, 0), AREA_64, VIEWS_8, EXACT, CACHES, IN_TWOS),
    NEAREST("alu_half", QB_ACCURACY_NORMAL, "Algorithm 6 with a half-precision cache (6.7)", P("SLICES", 4, 8, 2, 1),
            FORM(1, 0, 0, 0), AREA_64, VIEWS_8, EXACT, CACHES, IN_TWOS),
    NEAREST("alu_half_sums", QB_ACCURACY_NORMAL, "Algorithm 6 with half-precision cache and sums (6.7)",
            P("SLICES", 8, 4, 2), FORM(2, 0, 0, 0), AREA_32, P("VIEWS", 8, 4), EXACT, CACHES, IN_FOURS),
    OVERSAMPLE("alu", QB_ACCURACY_HIGH, "Oversampling (7.2)", P("SLICES", 2, 1, 4), FORM(0, 0, 0, 0), AREA_32,
               P("VIEWS", 8, 4), EXACT, CACHES, ALONE),
    OVERSAMPLE("alu_write64", QB_ACCURACY_HIGH, "Oversampling (7.2), 64-bit writes", P("SLICES", 1), FORM(0, 0, 0, 1),
               AREA_32, P("VIEWS", 8, 4), EXACT, CACHES, ALONE),
    OVERSAMPLE("alu_split", QB_ACCURACY_HIGH, "Oversampling (7.2), each slice a cache of its own", P("SLICES", 4, 2),
               P("HALF", 0), P("WIDTH", 1, 2), P("DIFFERENCE", 0), P("WRITE64", 0), AREA_64, P("VIEWS", 4, 8), EXACT,
               CACHES, IN_TWOS),
};
const qb__bp_parallel_rows qb__bp_parallel_alu_rows = {rows, sizeof rows / sizeof *rows};
