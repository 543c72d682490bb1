/* SPDX-License-Identifier: MIT */
#include "bp_parallel_alu.h"

#include "base/memory.h"
#include "kernels/macros.h"

#include <math.h>
#include <string.h>

/* Back-projection by arithmetic on rows cached in shared memory (section 6 of the paper that numbers the algorithms):
 * see bp_parallel_alu.cl. */

size_t qb__alu_team(const qb__alu *alu) { return alu->area == 32 ? 16 : 32; }

size_t qb__alu_threads(const qb__alu *alu) { return (size_t)(alu->area * alu->area / alu->pixels); }

/* The range of columns that an area needs, with one more above and below for rounding, and for its position within a
 * column. */
size_t qb__alu_bins(const qb__bp_parallel_problem *problem, const qb__alu *alu) {
    const double over = alu->interp == QB_INTERP_OVERSAMPLE ? QB__OVERSAMPLE : 1;
    double most = 0.0;
    for (size_t v = 0; v < problem->views; v++) most = fmax(most, fabs(problem->ax[v]) + fabs(problem->ay[v]));
    double extent = ceil(over * most * (alu->area - 1)) + 4.0;
    if (!(extent < 1e6)) return 1000000;
    return qb__ceil_div((size_t)extent, qb__alu_team(alu)) * qb__alu_team(alu);
}

size_t qb__alu_element_bytes(const qb__alu *alu) { return (alu->half ? 2u : 4u) * (alu->difference ? 2u : 1u); }

double qb__alu_local_bytes(const qb__bp_parallel_problem *problem, const qb__alu *alu) {
    const size_t coordinate = alu->interp != QB_INTERP_LINEAR ? 8 : 4;
    double bytes = (double)qb__alu_bins(problem, alu) * alu->views * alu->slices * (double)qb__alu_element_bytes(alu);
    if (alu->cache == 2) bytes += 256.0 * (double)(8 + 3 * coordinate);
    if (alu->cache == 3) bytes += (double)alu->views * (alu->area + 1) * (double)coordinate;
    if (alu->cache < 2) bytes += (double)alu->views * 3 * (double)coordinate;
    if (alu->texture_share) bytes += 64.0 * (double)(8 + 3 * coordinate) + 16;
    return bytes;
}

const char *qb__alu_unusable(const qb__device_info *device, const qb__bp_parallel_problem *problem,
                             const qb__alu *alu) {
    /* Shared memory that a group can have without a request at the launch. */
    const size_t plain = 48 << 10;
    const size_t room = device->api == QB__API_CUDA && device->local_bytes > plain ? plain : device->local_bytes;
    const char *why = qb__layout_unusable(device, problem, alu->half != 0);
    if (why) return why;
    if (qb__alu_threads(alu) < 4 * (size_t)alu->area) return "16 pixels a thread need AREA=64";
    if (qb__alu_threads(alu) > device->group_size) return "needs larger groups of items";
    if (alu->half == 2 && !device->half_arithmetic) return "needs arithmetic on half precision";
    if (alu->width > alu->slices || (alu->width && alu->width == alu->slices && alu->slices > 1))
        return "fewer slices than a part of the cache";
    /* Sums are in registers; a multiprocessor has 65,536, and an item at most 255. */
    if (device->api == QB__API_CUDA &&
        (size_t)(alu->pixels * alu->slices + 24) * qb__alu_threads(alu) * (size_t)alu->blocks > 65536)
        return "more sums than registers";
    if (qb__alu_local_bytes(problem, alu) > (double)room) return "rows too wide for shared memory";
    return NULL;
}

qb_status qb__alu_plan(qb__device *device, const qb__bp_parallel_problem *problem, unsigned slices, const qb__alu *alu,
                       qb__bp_parallel_plan **plan) {
    const struct {
        const char *name;
        int value;
    } all[] = {{"INTERP", QB__INTERP_CODE(alu->interp)},
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
               {"BINS", (int)qb__alu_bins(problem, alu)},
               {"TEXTURE_SHARE", alu->texture_share},
               {"BALANCE", alu->balance},
               {"UNROLLED", !qb__device_info_of(device)->is_cpu}};
    qb__macros macros = {.count = 0};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) qb__macros_add(&macros, all[i].name, all[i].value);
    qb_status status = qb__layout_plan(device, problem, slices, (unsigned)alu->slices, alu->half != 0, alu->interp,
                                       "bp_parallel_alu.cl", "bp_parallel_alu", macros.list, plan);
    if (status) return status;
    qb__bp_parallel_plan *p = *plan;
    p->area = p->height = (size_t)alu->area;
    p->threads = qb__alu_threads(alu);
    return qb__layout_take_lines(plan);
}

void qb__alu_fill(const qb__bp_parallel_plan *plan, const qb__memory *packed, unsigned slices, qb__memory *out,
                  size_t offset, qb__alu_args *args) {
    *args = (qb__alu_args){.views = (int32_t)plan->problem.views,
                           .columns = (int32_t)plan->problem.columns,
                           .nx = (int32_t)plan->problem.nx,
                           .ny = (int32_t)plan->problem.ny,
                           .slices = (int32_t)slices,
                           .undo_at = qb__layout_undo_at(plan, slices),
                           .out_at = offset / sizeof(float)};
    const qb__arg list[QB__ALU_ARGS] = {QB__MEMORIES(packed, plan->lines),
                                        QB__VALUES(args->views, args->columns),
                                        QB__MEMORY(packed),
                                        QB__VALUE(args->undo_at),
                                        QB__MEMORY(out),
                                        QB__VALUES(args->out_at, args->nx, args->ny, args->slices)};
    memcpy(args->list, list, sizeof list);
}
