/* SPDX-License-Identifier: MIT */
#include "bp_parallel_alu.h"

#include "base/memory.h"
#include "kernels/rows_table.h"

/* Texture unit and arithmetic in parallel (section 7.1): of every eight areas, TEXTURE_SHARE use the texture unit. The
 * method of an area is fixed; BALANCE=1 makes each multiprocessor run both kinds in that proportion. */

enum { INTERP, SLICES, DIFFERENCE, AREA, PIXELS, VIEWS, CACHE, BLOCKS, TEXTURE_SHARE, BALANCE };

/* Number of areas taken of either kind, then one counter per multiprocessor. */
enum { COUNTERS = 2 + 4096 };

static qb__alu alu_of(const int *values) {
    return (qb__alu){.interp = QB__INTERP_OF(values[INTERP]),
                     .slices = values[SLICES],
                     .difference = values[DIFFERENCE],
                     .area = values[AREA],
                     .pixels = values[PIXELS],
                     .views = values[VIEWS],
                     .round = 1,
                     .cache = values[CACHE],
                     .blocks = values[BLOCKS],
                     .texture_share = values[TEXTURE_SHARE],
                     .balance = values[BALANCE]};
}

static const char *unusable(const qb__device_info *device, const void *of, const int *values) {
    const qb__bp_parallel_problem *problem = of;
    const qb__alu alu = alu_of(values);
    const char *why = qb__layout_no_texture(device, problem);
    if (!why) why = qb__alu_unusable(device, problem, &alu);
    if (!why && alu.balance && device->api != QB__API_CUDA)
        why = "needs the number of the multiprocessor that a group runs on";
    return why;
}

/* Cost of either method by its share. If each multiprocessor runs both, texels use the path of shared memory (16 bytes
 * per texel) and both need instructions; if areas are assigned by number, most multiprocessors have one kind at a time
 * and the methods alternate. Both together cost the arithmetic 15 % more instructions. */
static void cost(const void *of, unsigned slices, const int *values, qb__kernel_cost *cost) {
    const qb__bp_parallel_problem *problem = of;
    const qb__alu alu = alu_of(values);
    const double texture = alu.texture_share / 8.0, s = alu.slices, rest = 1.0 - texture;
    qb__alu_cost(problem, slices, &alu, cost);
    cost->texels = texture / s;
    cost->local_bytes *= rest;
    cost->l2_bytes *= rest;
    cost->arithmetic *= 1.15 * rest;
    cost->groups.wait *= alu.balance ? rest : 1.0;
    if (alu.balance) {
        cost->local_bytes += 16.0 * cost->texels;
        cost->arithmetic += texture * (1.0 + 5.0 / s);
    } else {
        cost->texture_apart = 0.7;
    }
    qb__cost_scale(cost, qb__layout_waste(slices, (unsigned)alu.slices));
}

static size_t packed_bytes(const qb__bp_parallel_problem *problem, unsigned slices, const int *values) {
    return qb__layout_bytes(problem, slices, (unsigned)values[SLICES], false);
}

static size_t plan_bytes(const qb__device *device, const qb__bp_parallel_problem *problem, unsigned slices,
                         const int *values) {
    return qb__layout_lines_bytes(problem) + COUNTERS * sizeof(int32_t) +
           qb__layout_texture_bytes(device, problem, slices, (unsigned)values[SLICES], false);
}

static qb_status make_plan(qb__device *device, const qb__bp_parallel_problem *problem, unsigned slices,
                           const int *values, qb__bp_parallel_plan **plan) {
    const qb__alu alu = alu_of(values);
    qb_status status = qb__alu_plan(device, problem, slices, &alu, plan);
    if (status) return status;
    status = qb__memory_create(device, COUNTERS * sizeof(int32_t), &(*plan)->counters);
    if (!status) status = qb__layout_reserve_texture(*plan);
    if (!status) return QB_OK;
    qb__layout_destroy(*plan);
    *plan = NULL;
    return status;
}

static qb_status run(qb__bp_parallel_plan *plan, qb__queue *queue, const qb__memory *packed, unsigned slices,
                     qb__memory *out, size_t offset) {
    qb__alu_args args;
    qb__texture *texture;
    qb_status status = qb__layout_texture(plan, queue, packed, slices, &texture);
    if (!status) status = qb__memory_fill(queue, plan->counters, 0, 0, qb__memory_bytes(plan->counters));
    if (status) return status;
    qb__alu_fill(plan, packed, slices, out, offset, &args);
    const int32_t across = (int32_t)qb__ceil_div(plan->problem.nx, plan->area);
    const int32_t down = (int32_t)qb__ceil_div(plan->problem.ny, plan->area);
    const int32_t plane = (across * down + 7) / 8 * 8; /* rounded as in the kernel */
    const int32_t areas = plane * (int32_t)qb__ceil_div(slices, plan->group);
    const qb__arg more[] = {QB__TEXTURE(texture), QB__MEMORY(plan->counters), QB__VALUES(across, down, areas)};
    for (int i = 0; i < 5; i++) args.list[QB__ALU_ARGS + i] = more[i];
    const size_t groups[3] = {(size_t)areas, 1, 1}, items[3] = {plan->threads, 1, 1};
    return qb__kernel_launch(plan->kernel, queue, groups, items, args.list, QB__ALU_ARGS + 5);
}

#define ROW(name, kind, class, difference, share)                                                                      \
    {                                                                                                                  \
        HEAD(QB__BP_PARALLEL, name, kind, QB__API_CUDA | QB__API_OPENCL, class,                                        \
             "Hybrid: texture engine and arithmetic (7.1)", 1, 2048, unusable, cost,                                   \
             P("INTERP", QB__INTERP_CODE(kind)), P("SLICES", 2, 1), difference, P("AREA", 64, 32),                     \
             P("PIXELS", 16, 8, 4), P("VIEWS", 16, 8), P("CACHE", 2, 1), P("BLOCKS", 4, 1, 2, 3), share,               \
             P("BALANCE", 1, 0)),                                                                                      \
            LAYOUT_CALLS                                                                                               \
    }

#define DIFFERENCES P("DIFFERENCE", 1, 0, 2)
#define PLAIN P("DIFFERENCE", 0)
#define A_QUARTER P("TEXTURE_SHARE", 2, 1, 3, 4, 5)
#define AN_EIGHTH P("TEXTURE_SHARE", 1, 2, 3, 4, 5)
static const qb__bp_parallel_device_variant rows[] = {
    ROW("bp_parallel_linear.hybrid", QB_INTERP_LINEAR, QB_ACCURACY_FAST, DIFFERENCES, A_QUARTER),
    ROW("bp_parallel_nearest.hybrid", QB_INTERP_NEAREST, QB_ACCURACY_HIGH, PLAIN, AN_EIGHTH),
};
const qb__bp_parallel_rows qb__bp_parallel_hybrid_rows = {rows, sizeof rows / sizeof *rows};
