/* SPDX-License-Identifier: MIT */
#include "bp_parallel_layout.h"

#include "kernels/macros.h"
#include "kernels/rows_table.h"

#include <string.h>

/* Back-projection with textures (sections 5.1 to 5.7 of "Back-projection on parallel hardware", the paper that numbers
 * the algorithms): see bp_parallel_texture.cl. Linear filtering has 8-bit weights, hence the accuracy class; nearest is
 * exact. */

/* The parameters of every row, in order. */
enum { INTERP, SLICES, HALF, ZORDER, PIXELS, TOGETHER, REDUCE, CONSTANTS, BLOCKS };

enum { AREA = 16, THREADS = 256, CHUNK_LINEAR = 240, CHUNK_NEAREST = 120 };
enum { GLOBAL_CONSTANTS, CONSTANT_CONSTANTS, SHARED_CONSTANTS };

static const char *unusable(const qb__device_info *device, const void *of, const int *values) {
    const qb__bp_parallel_problem *problem = of;
    const char *why = qb__layout_unusable(device, problem, values[HALF]);
    if (!why) why = qb__layout_no_texture(device, problem);
    if (why) return why;
    if (device->group_size < THREADS) return "needs groups of 256 items";
    if (values[TOGETHER] > 1 && values[REDUCE] && !device->subgroups)
        return "needs shuffles between the items of a subgroup";
    if (QB__INTERP_OF(values[INTERP]) == QB_INTERP_LINEAR && values[CONSTANTS] != SHARED_CONSTANTS &&
        !qb__layout_float_coordinates(problem))
        return "coordinates beyond single precision: CONSTANTS=2 holds them";
    /* They would be kept in memory, for which NVRTC 13.0 generates wrong code for 9.0 (nearest, CONSTANTS=1). */
    if (device->api == QB__API_CUDA && values[BLOCKS] >= 6 && values[PIXELS] * values[SLICES] >= 16)
        return "16 sums do not fit the registers that BLOCKS=6 leaves an item";
    return NULL;
}

/* Views of a launch, limited by constant memory. */
static size_t chunk_of(size_t views, const int *values) {
    if (values[CONSTANTS] != CONSTANT_CONSTANTS) return views ? views : 1;
    return values[INTERP] ? CHUNK_NEAREST : CHUNK_LINEAR;
}

/* Cost of a view's constants for an item, in texels of the same time: loads from global memory also pass through the
 * texture unit; the first cache of constant memory holds half of a launch's lines, and four views at once, each with
 * its own line, cause misses. Shared memory is independent. */
static double constants_cost(const int *values) {
    const bool nearest = QB__INTERP_OF(values[INTERP]) == QB_INTERP_NEAREST;
    if (values[CONSTANTS] == GLOBAL_CONSTANTS) return nearest ? 0.42 : 0.27;
    if (values[CONSTANTS] == SHARED_CONSTANTS) return 0.0;
    return (nearest ? 1.2 : 0.9) * (values[TOGETHER] > 1 ? 2.2 : 1.0);
}

/* Fetches of 16 bytes run at a quarter of the rate, for nearest at half of it; a row of 16 pixels fetches 8 bytes per
 * pixel from too many places. If the pixels of a thread share the cost of a view, they share this too. */
static void cost(const void *of, unsigned slices, const int *values, qb__kernel_cost *cost) {
    const qb__bp_parallel_problem *problem = of;
    const bool nearest = QB__INTERP_OF(values[INTERP]) == QB_INTERP_NEAREST, whole = !values[HALF];
    const double s = values[SLICES], pixels = values[PIXELS], views = (double)problem->views;
    const bool wide = s == 4 && whole, eight_bytes = s == (whole ? 2 : 4);
    double fetch = wide ? (nearest ? 2.0 : 4.0) : 1.0;
    if (eight_bytes && !nearest && !values[ZORDER]) fetch = 1.35;
    /* A fetch that is slow for its width leaves time for the constants. */
    const double entering = 1.0 + constants_cost(values) / pixels;
    const double launches = (double)qb__ceil_div(problem->views, chunk_of(problem->views, values));
    *cost = (qb__kernel_cost){
        .texels = (fetch > entering ? fetch : entering) / s,
        .arithmetic = ((nearest ? 8.0 : 3.0) + (nearest ? 8.0 : 4.0) / pixels) / s + 1.0,
        .local_bytes = values[CONSTANTS] == SHARED_CONSTANTS ? 0.5 / (pixels * s) : 0.0,
        .memory_bytes = 8.0 * launches / views, /* later launches read and add to the result */
        .launches = launches,
    };
    qb__cost_scale(cost, qb__layout_waste(slices, (unsigned)values[SLICES]));
}

static size_t packed_bytes(const qb__bp_parallel_problem *problem, unsigned slices, const int *values) {
    return qb__layout_bytes(problem, slices, (unsigned)values[SLICES], values[HALF]);
}

typedef struct float_line {
    float a, b, c, unused;
} float_line;

static size_t line_bytes(const int *values) {
    return QB__INTERP_OF(values[INTERP]) == QB_INTERP_LINEAR ? sizeof(float_line) : sizeof(qb__fixed_line);
}

/* As constants() stores them. */
static size_t constants_bytes(const qb__device *device, const qb__bp_parallel_problem *problem, const int *values) {
    const size_t chunk = chunk_of(problem->views, values);
    const size_t fixed = qb__layout_lines_bytes(problem);
    if (values[CONSTANTS] == SHARED_CONSTANTS) return fixed;
    if (values[CONSTANTS] == GLOBAL_CONSTANTS) return fixed / sizeof(qb__fixed_line) * line_bytes(values);
    return qb__device_info_of(device)->api == QB__API_OPENCL
               ? qb__ceil_div(problem->views, chunk) * chunk * line_bytes(values)
               : 0; /* they are passed with the launches */
}

static size_t plan_bytes(const qb__device *device, const qb__bp_parallel_problem *problem, unsigned slices,
                         const int *values) {
    return constants_bytes(device, problem, values) +
           qb__layout_texture_bytes(device, problem, slices, (unsigned)values[SLICES], values[HALF]);
}

/* Convert the lines to the form of the kernel without a shared cache. */
static qb_status lines_for(qb__bp_parallel_plan *plan, const qb__fixed_line *fixed, size_t count) {
    const qb__bp_parallel_problem *p = &plan->problem;
    const bool linear = plan->interp == QB_INTERP_LINEAR;
    plan->line_bytes = line_bytes(plan->values);
    qb_status status = qb__alloc(count + QB__LINES_PADDING, plan->line_bytes, &plan->host_lines);
    if (status) return status;
    if (!linear) {
        memcpy(plan->host_lines, fixed, count * sizeof *fixed);
        return QB_OK;
    }
    float_line *to = plan->host_lines;
    for (size_t v = 0; v < p->views; v++) {
        double middle = p->h0[v] + p->ax[v] * ((double)p->nx - 1) / 2 + p->ay[v] * ((double)p->ny - 1) / 2;
        to[v] = (float_line){(float)p->ax[v], (float)p->ay[v], (float)(middle + 0.5), 0.0f};
    }
    return QB_OK;
}

/* OpenCL's constant memory: a small buffer for the views of each launch. */
static qb_status upload_chunks(qb__bp_parallel_plan *plan) {
    size_t chunks = qb__ceil_div(plan->problem.views, plan->chunk);
    qb_status status = qb__alloc(chunks, sizeof *plan->chunks, &plan->chunks);
    for (size_t i = 0; i < chunks && !status; i++)
        status = qb__layout_upload(plan->device, (char *)plan->host_lines + i * plan->chunk * plan->line_bytes,
                                   plan->chunk * plan->line_bytes, &plan->chunks[i]);
    return status;
}

static qb_status constants(qb__bp_parallel_plan *plan) {
    qb__fixed_line *fixed;
    size_t count;
    qb_status status = qb__layout_lines(&plan->problem, plan->interp, AREA, &fixed, &count);
    if (status) return status;
    const int where = plan->values[CONSTANTS];
    if (where == SHARED_CONSTANTS) {
        status = qb__layout_upload(plan->device, fixed, count * sizeof *fixed, &plan->lines);
    } else {
        /* Whole chunks fit after the last view's. */
        status = lines_for(plan, fixed, count);
        if (!status && where == GLOBAL_CONSTANTS)
            status = qb__layout_upload(plan->device, plan->host_lines, count * plan->line_bytes, &plan->lines);
        if (!status && where == CONSTANT_CONSTANTS && qb__device_info_of(plan->device)->api == QB__API_OPENCL)
            status = upload_chunks(plan);
    }
    qb__free(fixed);
    return status;
}

static qb_status make_plan(qb__device *device, const qb__bp_parallel_problem *problem, unsigned slices,
                           const int *values, qb__bp_parallel_plan **plan) {
    static const char *const names[] = {"INTERP",   "SLICES", "HALF",      "ZORDER", "PIXELS",
                                        "TOGETHER", "REDUCE", "CONSTANTS", "BLOCKS"};
    qb__macros macros = {.count = 0};
    for (int i = 0; i <= BLOCKS; i++) qb__macros_add(&macros, names[i], values[i]);
    qb_status status =
        qb__layout_plan(device, problem, slices, (unsigned)values[SLICES], values[HALF], QB__INTERP_OF(values[INTERP]),
                        "bp_parallel_texture.cl", "bp_parallel_texture", macros.list, plan);
    if (status) return status;
    qb__bp_parallel_plan *p = *plan;
    memcpy(p->values, values, (BLOCKS + 1) * sizeof *values);
    p->area = AREA;
    p->height = values[TOGETHER] > 1 ? AREA : (size_t)(AREA * values[PIXELS]);
    p->chunk = chunk_of(problem->views, values);
    status = constants(p);
    if (!status) status = qb__layout_reserve_texture(p);
    if (!status) return QB_OK;
    qb__layout_destroy(p);
    *plan = NULL;
    return status;
}

/* Launch views view0 .. ; it adds to the result of earlier launches. */
static qb_status launch(qb__bp_parallel_plan *plan, qb__queue *queue, const qb__texture *texture, size_t view0,
                        const qb__memory *packed, unsigned slices, qb__memory *out, uint64_t out_at) {
    const size_t left = plan->problem.views - view0;
    const int32_t first = (int32_t)view0, views = (int32_t)(left < plan->chunk ? left : plan->chunk);
    const int32_t nx = (int32_t)plan->problem.nx, ny = (int32_t)plan->problem.ny;
    const int32_t all = (int32_t)slices;
    const uint64_t undo_at = qb__layout_undo_at(plan, slices);
    qb__arg lines = {QB__ARG_MEMORY, plan->lines, 0};
    if (plan->chunks)
        lines.value = plan->chunks[view0 / plan->chunk];
    else if (!plan->lines)
        lines = (qb__arg){QB__ARG_VALUE, (char *)plan->host_lines + view0 * plan->line_bytes,
                          plan->chunk * plan->line_bytes};
    const qb__arg args[] = {QB__TEXTURE(texture), lines,           QB__VALUES(first, views),       QB__MEMORY(packed),
                            QB__VALUE(undo_at),   QB__MEMORY(out), QB__VALUES(out_at, nx, ny, all)};
    const size_t groups[3] = {qb__ceil_div(plan->problem.nx, plan->area), qb__ceil_div(plan->problem.ny, plan->height),
                              qb__ceil_div(slices, plan->group)};
    const size_t items[3] = {THREADS, 1, 1};
    return qb__kernel_launch(plan->kernel, queue, groups, items, args, sizeof args / sizeof *args);
}

static qb_status run(qb__bp_parallel_plan *plan, qb__queue *queue, const qb__memory *packed, unsigned slices,
                     qb__memory *out, size_t offset) {
    qb__texture *texture;
    qb_status status = qb__layout_texture(plan, queue, packed, slices, &texture);
    for (size_t v = 0; v < plan->problem.views && !status; v += plan->chunk)
        status = launch(plan, queue, texture, v, packed, slices, out, offset / sizeof(float));
    return status;
}

#define ROW(name, kind, class, how, ...)                                                                               \
    {                                                                                                                  \
        HEAD(QB__BP_PARALLEL, name, kind, QB__API_CUDA | QB__API_OPENCL, class, how, 1, 2048, unusable, cost,          \
             P("INTERP", QB__INTERP_CODE(kind)), __VA_ARGS__, P("BLOCKS", 4, 1, 2, 6)),                                \
            LAYOUT_CALLS                                                                                               \
    }

/* The three mappings, each for float and half-precision texels. */
#define WHOLE P("SLICES", 2, 1, 4), P("HALF", 0)
#define HALVES P("SLICES", 4, 2, 1), P("HALF", 1)
#define PLAIN P("ZORDER", 0), P("PIXELS", 1), P("TOGETHER", 1), P("REDUCE", 0), P("CONSTANTS", 2, 0, 1)
#define ZORDERED P("ZORDER", 1), P("PIXELS", 4, 1, 2), P("TOGETHER", 1), P("REDUCE", 0), P("CONSTANTS", 2, 0, 1)
#define FOUR_VIEWS P("ZORDER", 1), P("PIXELS", 4), P("TOGETHER", 4), P("REDUCE", 0, 1), P("CONSTANTS", 2, 0, 1)
#define ROWS(name, kind, whole, half)                                                                                  \
    ROW(name ".texture", kind, whole, "Algorithm 1: texture engine", WHOLE, PLAIN),                                    \
        ROW(name ".texture_half", kind, half, "Algorithm 1 on 4 interleaved slices in half precision (5.2, 5.3)",      \
            HALVES, PLAIN),                                                                                            \
        ROW(name ".texture_zorder", kind, whole, "Algorithm 2: Z-order in squares of 4x4 pixels", WHOLE, ZORDERED),    \
        ROW(name ".texture_zorder_half", kind, half, "Algorithm 2 in half precision", HALVES, ZORDERED),               \
        ROW(name ".texture_four_views", kind, whole, "Algorithms 3 to 5: four views at once, sums reduced", WHOLE,     \
            FOUR_VIEWS),                                                                                               \
        ROW(name ".texture_four_views_half", kind, half, "Algorithms 3 to 5 in half precision", HALVES, FOUR_VIEWS)

static const qb__bp_parallel_device_variant rows[] = {
    ROWS("bp_parallel_linear", QB_INTERP_LINEAR, QB_ACCURACY_FAST, QB_ACCURACY_FAST),
    ROWS("bp_parallel_nearest", QB_INTERP_NEAREST, QB_ACCURACY_HIGH, QB_ACCURACY_NORMAL),
};
const qb__bp_parallel_rows qb__bp_parallel_texture_rows = {rows, sizeof rows / sizeof *rows};
