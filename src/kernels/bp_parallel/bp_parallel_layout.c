/* SPDX-License-Identifier: MIT */
#include "bp_parallel_layout.h"

#include "cpu/bp_parallel/bp_parallel_line.h"

#include <math.h>
#include <stdio.h>

void qb__cost_scale(qb__kernel_cost *cost, double factor) {
    double *const units[] = {&cost->texels,       &cost->local_bytes, &cost->arithmetic,
                             &cost->tensor_flops, &cost->l2_bytes,    &cost->memory_bytes};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) *units[i] *= factor;
}

/* ---- the lines of the views ---- */

static size_t padded_views(const qb__bp_parallel_problem *problem) {
    return qb__ceil_div(problem->views, QB__LINES_PADDING) * QB__LINES_PADDING;
}

size_t qb__layout_lines_bytes(const qb__bp_parallel_problem *problem) {
    return padded_views(problem) * sizeof(qb__fixed_line);
}

qb_status qb__layout_lines(const qb__bp_parallel_problem *problem, qb_interp interp, size_t area,
                           qb__fixed_line **lines, size_t *count) {
    size_t padded = padded_views(problem);
    qb_status status = qb__alloc(padded, sizeof **lines, lines);
    if (status) return status;
    const int64_t samples = interp == QB_INTERP_OVERSAMPLE ? QB__OVERSAMPLE : 1;
    const int64_t half = interp == QB_INTERP_LINEAR ? 0 : INT64_C(1) << 31;
    const int64_t far_side = (int64_t)area - 1;
    for (size_t v = 0; v < problem->views; v++) {
        qb__bp_line line = qb__bp_line_of(problem, v);
        qb__fixed_line *to = *lines + v;
        *to = (qb__fixed_line){line.a * samples, line.b * samples, line.c * samples + half, 0};
        if (to->a < 0) to->low += to->a * far_side;
        if (to->b < 0) to->low += to->b * far_side;
    }
    *count = padded;
    return QB_OK;
}

qb_status qb__layout_take_lines(qb__bp_parallel_plan **plan) {
    qb__bp_parallel_plan *p = *plan;
    qb__fixed_line *lines;
    size_t count;
    qb_status status = qb__layout_lines(&p->problem, p->interp, p->area, &lines, &count);
    if (!status) {
        status = qb__layout_upload(p->device, lines, count * sizeof *lines, &p->lines);
        qb__free(lines);
    }
    if (!status) return QB_OK;
    qb__layout_destroy(p);
    *plan = NULL;
    return status;
}

qb_status qb__layout_upload(qb__device *device, const void *host, size_t bytes, qb__memory **memory) {
    qb__queue *queue = NULL;
    qb_status status = qb__memory_create(device, bytes, memory);
    if (status) return status;
    status = qb__queue_create(device, &queue);
    if (!status) status = qb__memory_upload(queue, *memory, 0, host, bytes);
    if (!status) status = qb__queue_finish(queue);
    qb__queue_destroy(queue);
    if (!status) return QB_OK;
    qb__memory_destroy(*memory);
    *memory = NULL;
    return status;
}

/* ---- reasons against a variant ---- */

const char *qb__layout_unusable(const qb__device_info *device, const qb__bp_parallel_problem *problem, bool half) {
    const char *far = qb__bp_line_unfit(problem);
    (void)device;
    if (far) return far;
    if (problem->columns > INT32_MAX / 8 || problem->views > INT32_MAX / 8)
        return "more columns or views than 32-bit indices hold";
    if (half && !problem->largest) return "half precision needs the largest values";
    return NULL;
}

const char *qb__layout_no_texture(const qb__device_info *device, const qb__bp_parallel_problem *problem) {
    if (!device->images) return "needs textures with linear filtering";
    if (problem->columns > device->image_width) return "more columns than a texture holds";
    if (problem->views > device->image_height) return "more views than a texture holds";
    return NULL;
}

/* Rounding errors of the terms of a view's sum: half a unit in the last place of each. */
bool qb__layout_float_coordinates(const qb__bp_parallel_problem *problem) {
    double x = ((double)problem->nx - 1) / 2, y = ((double)problem->ny - 1) / 2;
    for (size_t v = 0; v < problem->views; v++) {
        double ax = problem->ax[v] * x, ay = problem->ay[v] * y;
        double middle = problem->h0[v] + ax + ay;
        if (!(fabs(ax) + fabs(ay) + fabs(middle) < 24000.0)) return false;
    }
    return true;
}

/* ---- packing ---- */

size_t qb__layout_bytes(const qb__bp_parallel_problem *problem, unsigned slices, unsigned group, bool half) {
    return qb__pack_bytes(problem, slices, group, half);
}

uint64_t qb__layout_undo_at(const qb__bp_parallel_plan *plan, unsigned slices) {
    return qb__pack_undo_at(&plan->problem, slices, plan->group, plan->half);
}

qb_status qb__layout_pack(qb__bp_parallel_plan *plan, qb__queue *queue, const qb__memory *rows, size_t offset,
                          size_t view_stride, size_t slice_stride, size_t view0, size_t view1, unsigned slices,
                          qb__memory *packed) {
    return qb__pack_run(&plan->pack, queue, &plan->problem, rows, offset, view_stride, slice_stride, view0, view1,
                        slices, packed);
}

/* ---- textures ---- */

static qb__texture_shape texture_shape(const qb__bp_parallel_problem *problem, unsigned group, bool half,
                                       qb_interp interp, size_t groups) {
    return (qb__texture_shape){.width = problem->columns,
                               .height = problem->views,
                               .layers = groups,
                               .channels = group,
                               .half = half,
                               .linear = interp == QB_INTERP_LINEAR};
}

size_t qb__layout_texture_bytes(const qb__device *device, const qb__bp_parallel_problem *problem, unsigned slices,
                                unsigned group, bool half) {
    const qb__texture_shape shape = texture_shape(problem, group, half, QB_INTERP_LINEAR, qb__ceil_div(slices, group));
    return qb__texture_bytes(device, &shape);
}

/* Textures are made one at a time: a shorter last pass waits for those before it, and reuses their memory. */
static qb_status texture_of(qb__bp_parallel_plan *plan, qb__queue *queue, size_t groups) {
    if (plan->texture && plan->texture_groups == groups) return QB_OK;
    qb_status status = plan->texture ? qb__queue_finish(queue) : QB_OK;
    if (status) return status;
    qb__texture_destroy(plan->texture);
    const qb__texture_shape shape = texture_shape(&plan->problem, plan->group, plan->half, plan->interp, groups);
    plan->texture_groups = groups;
    return qb__texture_create(plan->device, &shape, &plan->texture);
}

qb_status qb__layout_reserve_texture(qb__bp_parallel_plan *plan) {
    return texture_of(plan, NULL, qb__ceil_div(plan->slices, plan->group));
}

qb_status qb__layout_texture(qb__bp_parallel_plan *plan, qb__queue *queue, const qb__memory *packed, unsigned slices,
                             qb__texture **texture) {
    qb_status status = texture_of(plan, queue, qb__ceil_div(slices, plan->group));
    *texture = plan->texture;
    return status ? status : qb__texture_load(queue, *texture, packed, 0);
}

/* ---- the plan ---- */

static qb_status build(qb__bp_parallel_plan *plan, const char *source, const char *entry, const char *const *macros) {
    qb_status status = qb__pack_create(plan->device, plan->group, plan->half, &plan->pack);
    if (!status) status = qb__program_build(plan->device, source, macros, &plan->program);
    if (!status) status = qb__kernel_get(plan->program, entry, &plan->kernel);
    return status;
}

qb_status qb__layout_plan(qb__device *device, const qb__bp_parallel_problem *problem, unsigned slices, unsigned group,
                          bool half, qb_interp interp, const char *source, const char *entry, const char *const *macros,
                          qb__bp_parallel_plan **plan) {
    qb_status status = qb__alloc(1, sizeof **plan, plan);
    if (status) return status;
    **plan = (qb__bp_parallel_plan){
        .device = device, .problem = *problem, .slices = slices, .group = group, .half = half, .interp = interp};
    status = build(*plan, source, entry, macros);
    if (!status) return QB_OK;
    qb__layout_destroy(*plan);
    *plan = NULL;
    return status;
}

void qb__layout_destroy(qb__bp_parallel_plan *plan) {
    if (!plan) return;
    qb__texture_destroy(plan->texture);
    if (plan->chunks)
        for (size_t i = 0; i * plan->chunk < plan->problem.views; i++) qb__memory_destroy(plan->chunks[i]);
    QB__FREE(plan->chunks, plan->host_lines);
    QB__MEMORY_DESTROY(plan->lines, plan->counters);
    qb__program_release(plan->program);
    qb__pack_destroy(&plan->pack);
    qb__free(plan);
}
