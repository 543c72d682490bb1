/* SPDX-License-Identifier: MIT */
#include "bp_parallel_alu.h"

#include "base/memory.h"

#include <math.h>
#include <string.h>

/* Back-projection by arithmetic on rows cached in shared memory (section 6 of the paper that
 * numbers the algorithms): bp_parallel_alu.cl. */

/* Threads that cache a view. */
static size_t team(const qb__alu *alu) {
    return alu->area == 32 ? 16 : 32;
}

static size_t threads(const qb__alu *alu) {
    return (size_t)(alu->area * alu->area / alu->pixels);
}

/* Samples of a view that an area may touch: its extent, the one above and the one below that
 * rounding may reach, and where it begins within a column. */
static size_t bins(const qb__bp_parallel_problem *problem, const qb__alu *alu) {
    const double over = alu->interp == QB__INTERP_OVERSAMPLE ? QB__OVERSAMPLE : 1;
    double most = 0.0;
    for (size_t v = 0; v < problem->views; v++)
        most = fmax(most, fabs(problem->ax[v]) + fabs(problem->ay[v]));
    double extent = ceil(over * most * (alu->area - 1)) + 4.0;
    if (!(extent < 1e6)) return 1000000;
    return qb__ceil_div((size_t)extent, team(alu)) * team(alu);
}

static size_t element_bytes(const qb__alu *alu) {
    return (alu->half ? 2u : 4u) * (alu->difference ? 2u : 1u);
}

/* Of one group, upper bound. */
static double local_bytes(const qb__bp_parallel_problem *problem, const qb__alu *alu) {
    const size_t coordinate = alu->interp ? 8 : 4;
    double bytes =
        (double)bins(problem, alu) * alu->views * alu->slices * (double)element_bytes(alu);
    if (alu->cache == 2) bytes += 256.0 * (double)(8 + 3 * coordinate);
    if (alu->cache == 3) bytes += (double)alu->views * (alu->area + 1) * (double)coordinate;
    if (alu->cache < 2) bytes += (double)alu->views * 3 * (double)coordinate;
    if (alu->texture_share) bytes += 64.0 * (double)(8 + 3 * coordinate) + 16;
    return bytes;
}

const char *qb__alu_unusable(const qb__device_info *device, const qb__bp_parallel_problem *problem,
                             const qb__alu *alu) {
    /* What a group may have without asking for more at the launch. */
    const size_t plain = 48 << 10;
    const size_t room =
        device->api == QB__API_CUDA && device->local_bytes > plain ? plain : device->local_bytes;
    const char *why = qb__layout_unusable(device, problem, alu->half != 0);
    if (why) return why;
    if (threads(alu) < 4 * (size_t)alu->area) return "16 pixels a thread need AREA=64";
    if (threads(alu) > device->group_size) return "needs larger groups of items";
    if (alu->half == 2 && !device->half_arithmetic) return "needs arithmetic on half precision";
    if (alu->width > alu->slices || (alu->width && alu->width == alu->slices && alu->slices > 1))
        return "fewer slices than a part of the cache";
    /* Sums live in registers, of which a multiprocessor has 65,536 and an item 255. */
    if (device->api == QB__API_CUDA &&
        (size_t)(alu->pixels * alu->slices + 24) * threads(alu) * (size_t)alu->blocks > 65536)
        return "more sums than registers";
    if (local_bytes(problem, alu) > (double)room) return "rows too wide for shared memory";
    return NULL;
}

/* ---- the model: counted from the machine code for sm_90, then fitted where a count does not show
 * what it costs (conversions, bank conflicts); docs/performance-paper.md says how well it holds
 * ----
 */

/* Lane instructions of one pixel and view: its place in the cache. */
static double coordinate_cost(const qb__alu *alu) {
    static const double linear[] = {10.0, 6.0, 7.0}; /* by ROUND */
    if (alu->interp) return 4.6;
    return linear[alu->round] - (alu->difference ? 2.0 : 0.0) + (alu->half == 2 ? 2.0 : 0.0);
}

/* And of each slice there: interpolation, sum, and what half precision converts. */
static double slice_cost(const qb__alu *alu) {
    static const double linear[] = {3.0, 7.0, 2.7}, nearest[] = {1.0, 2.6, 1.65}; /* by HALF */
    if (alu->interp) return nearest[alu->half];
    return alu->difference ? 2.0 : linear[alu->half];
}

void qb__alu_cost(const qb__bp_parallel_problem *problem, const qb__alu *alu,
                  qb__kernel_cost *cost) {
    const bool over = alu->interp == QB__INTERP_OVERSAMPLE;
    const int width = alu->width ? alu->width : alu->slices;
    const double s = alu->slices, area = (double)alu->area * alu->area;
    const double samples = (double)bins(problem, alu), element = (double)element_bytes(alu);
    const double reads = alu->interp || alu->difference ? 1.0 : 2.0;
    /* Oversampled neighbours lie four apart and meet in banks. */
    const double conflicts = !over ? 1.0 : width == 1 ? 1.6 : 2.0;
    /* Per view and area: filling the cache; per view and thread: the first coordinate. */
    const double fill = samples * (over ? 25.0 : 6.0) / area;
    const double per_thread = (alu->interp ? 10.0 : 4.0) / alu->pixels;
    *cost = (qb__kernel_cost){
        .local_bytes = reads * element * conflicts + samples * element / area +
                       (alu->interp ? 1.0 : 0.5) / alu->pixels / s,
        .arithmetic =
            (coordinate_cost(alu) + reads * s / width + per_thread + fill) / s + slice_cost(alu),
        .l2_bytes = samples / (over ? QB__OVERSAMPLE : 1) * (alu->half ? 2.0 : 4.0) / area,
        .memory_bytes = 4.0 / (double)problem->views,
    };
}

qb_status qb__alu_plan(qb__device *device, const qb__bp_parallel_problem *problem, unsigned slices,
                       const qb__alu *alu, qb__bp_parallel_plan **plan) {
    const struct {
        const char *name;
        int value;
    } all[] = {{"INTERP", alu->interp},
               {"SLICES", alu->slices},
               {"HALF", alu->half},
               {"WIDTH", alu->width},
               {"DIFFERENCE", alu->difference},
               {"WRITE64", alu->write64},
               {"AREA", alu->area},
               {"PIXELS", alu->pixels},
               {"VIEWS", alu->views},
               {"ROUND", alu->round},
               {"CACHE", alu->cache},
               {"BLOCKS", alu->blocks},
               {"BINS", (int)bins(problem, alu)},
               {"TEXTURE_SHARE", alu->texture_share},
               {"BALANCE", alu->balance},
               {"UNROLLED", !qb__device_info_of(device)->is_cpu}};
    qb__macros macros = {.count = 0};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        qb__macros_add(&macros, all[i].name, all[i].value);
    qb_status status = qb__layout_plan(device, problem, slices, (unsigned)alu->slices,
                                       alu->half != 0, (qb__interp)alu->interp,
                                       "bp_parallel_alu.cl", "bp_parallel_alu", macros.list, plan);
    if (status) return status;
    qb__bp_parallel_plan *p = *plan;
    qb__fixed_line *lines;
    size_t count;
    p->area = p->height = (size_t)alu->area;
    p->threads = threads(alu);
    status = qb__layout_lines(problem, p->interp, p->area, &lines, &count);
    if (!status) {
        status = qb__layout_upload(device, lines, count * sizeof *lines, &p->lines);
        qb__free(lines);
    }
    if (!status) return QB_OK;
    qb__layout_destroy(p);
    *plan = NULL;
    return status;
}

void qb__alu_fill(const qb__bp_parallel_plan *plan, const qb__memory *packed, unsigned slices,
                  qb__memory *out, size_t offset, qb__alu_args *args) {
    *args = (qb__alu_args){.views = (int32_t)plan->problem.views,
                           .columns = (int32_t)plan->problem.columns,
                           .nx = (int32_t)plan->problem.nx,
                           .ny = (int32_t)plan->problem.ny,
                           .slices = (int32_t)slices,
                           .undo_at = qb__layout_undo_at(plan, slices),
                           .out_at = offset / sizeof(float)};
    const qb__arg list[QB__ALU_ARGS] = {
        QB__MEMORY(packed),       QB__MEMORY(plan->lines), QB__VALUE(args->views),
        QB__VALUE(args->columns), QB__MEMORY(packed),      QB__VALUE(args->undo_at),
        QB__MEMORY(out),          QB__VALUE(args->out_at), QB__VALUE(args->nx),
        QB__VALUE(args->ny),      QB__VALUE(args->slices)};
    memcpy(args->list, list, sizeof list);
}
