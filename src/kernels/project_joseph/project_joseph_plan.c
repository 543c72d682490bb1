/* SPDX-License-Identifier: MIT */
/* Data of a plan of the projection on devices: sizes, records, programs. */
#include <string.h>

#include "base/status.h"
#include "kernels/macros.h"
#include "kernels/project_joseph/project_joseph_parts.h"

/* ---- sizes ---- */

void qb__joseph_lay_out(qb__joseph_problem *p, const int *values) { p->flat = values[TEXTURED] == FLAT; }

size_t qb__joseph_slab_bytes(const qb__joseph_problem *p, size_t slices) {
    return (p->grid->n[0] + 2 * EDGE) * (p->grid->n[1] + 2 * EDGE) * qb__joseph_line(p->flat, slices) * sizeof(float);
}

size_t qb__joseph_lines_at(const qb__joseph_problem *p, size_t y) {
    return (y + EDGE) * (p->grid->n[0] + 2 * EDGE) * qb__joseph_line(p->flat, p->grid->n[2]) * sizeof(float);
}

size_t qb__joseph_block_bytes(const qb__joseph_problem *p, size_t views) {
    return views * p->columns * qb__joseph_stride(p->flat, p->rows) * sizeof(float);
}

void qb__joseph_shape_of(const qb__joseph_problem *p, bool volume, qb__joseph_shape *shape) {
    const size_t *n = p->grid->n;
    const int32_t front = qb__joseph_front(p->flat);
    if (volume)
        *shape = (qb__joseph_shape){(int32_t)qb__joseph_line(p->flat, n[2]),
                                    front,
                                    (int32_t)n[2],
                                    (int32_t)n[0] + 2 * EDGE,
                                    (int32_t)n[1] + 2 * EDGE,
                                    EDGE};
    else
        *shape = (qb__joseph_shape){(int32_t)qb__joseph_stride(p->flat, p->rows),
                                    front,
                                    (int32_t)p->rows,
                                    (int32_t)p->columns,
                                    (int32_t)p->views,
                                    0};
}

/* Axis 0's textures hold the transposed volume. */
static qb__texture_shape shape_of(const size_t n[3], size_t slices, int axis) {
    return (qb__texture_shape){.width = qb__joseph_line(false, slices),
                               .height = n[1 - axis] + 2 * EDGE,
                               .layers = n[axis] + 2 * EDGE,
                               .channels = 1,
                               .linear = true};
}

size_t qb__joseph_plan_bytes(const qb__device *device, const qb__joseph_problem *p, qb__joseph_most most,
                             const int *values) {
    if (p->flat) return qb__joseph_flat_bytes(p, most);
    const size_t copies = qb__joseph_is_vertical(p->geometry, p->grid) ? 1 : 3;
    size_t bytes = p->views * p->columns * 16 * sizeof(float) + p->views * 65 * sizeof(float) +
                   p->views * 4 * 4 * sizeof(int32_t) +
                   copies * qb__joseph_block_bytes(p, qb__smaller(QB__JOSEPH_VIEWS, p->views));
    for (int axis = 0; values[TEXTURED] == BY_TEXTURE && axis < 2; axis++) {
        const qb__texture_shape shape = shape_of(p->grid->n, most.slices, axis);
        bytes += qb__texture_bytes(device, &shape);
    }
    return values[TEXTURED] == BY_TEXTURE ? bytes + qb__joseph_slab_bytes(p, most.slices) : bytes;
}

/* ---- plan ---- */

static qb_status upload(qb__joseph_plan *plan, qb__queue *queue, const void *from, size_t bytes, qb__memory **memory) {
    qb_status status = qb__memory_create(plan->device, bytes ? bytes : 4, memory);
    if (status == QB_OK && bytes) status = qb__memory_upload(queue, *memory, 0, from, bytes);
    return status;
}

static qb_status upload_records(qb__joseph_plan *plan) {
    const qb__joseph_records *r = &plan->records;
    qb__queue *queue = NULL;
    qb_status status;
    QB__TRY(qb__queue_create(plan->device, &queue));
    if (r->fans) QB__TRY(upload(plan, queue, r->fans, plan->views * plan->columns * 16 * sizeof(float), &plan->fans));
    if (r->views) {
        QB__TRY(upload(plan, queue, r->views, plan->views * 64 * sizeof(float), &plan->view_records));
        QB__TRY(upload(plan, queue, r->axes, plan->views * sizeof *r->axes, &plan->axes));
    } else {
        QB__TRY(upload(plan, queue, r->runs, r->first_run[0][r->blocks] * sizeof *r->runs, &plan->runs));
    }
    QB__TRY(qb__queue_finish(queue));
out:
    qb__queue_destroy(queue);
    return status;
}

static qb_status build_layout(qb__joseph_plan *plan) {
    qb__macros macros = {.count = 0};
    qb__macros_add(&macros, "FRONT", qb__joseph_front(plan->flat != NULL));
    QB__OR_RETURN(qb__program_build(plan->device, "project_joseph_layout.cl", macros.list, &plan->layout));
    QB__OR_RETURN(qb__kernel_get(plan->layout, "project_joseph_pack", &plan->pack));
    QB__OR_RETURN(qb__kernel_get(plan->layout, "project_joseph_unpack", &plan->unpack));
    QB__OR_RETURN(qb__kernel_get(plan->layout, "project_joseph_columns", &plan->columns_kernel));
    QB__OR_RETURN(qb__kernel_get(plan->layout, "project_joseph_images", &plan->images));
    return qb__kernel_get(plan->layout, "project_joseph_turn", &plan->turn);
}

bool qb__joseph_is_wide(const qb__joseph_problem *p, size_t slices) {
    return qb__joseph_slab_bytes(p, slices) / sizeof(float) > UINT32_MAX;
}

static qb_status build_forward(qb__joseph_plan *plan) {
    static const char *const names[] = {"TEXTURED", "RAYS", "COLUMNS", "VIEWS", "CHUNK", "GROUPS"};
    qb__macros macros = {.count = 0};
    qb__macros_add(&macros, "VERTICAL", plan->vertical);
    if (plan->wide) qb__macros_add(&macros, "WIDE", 1);
    for (int i = 0; i <= GROUPS; i++)
        qb__macros_add(&macros, names[i], i == RAYS && !plan->vertical ? 1 : plan->values[i]);
    QB__OR_RETURN(qb__program_build(plan->device, "project_joseph_forward.cl", macros.list, &plan->forward));
    return qb__kernel_get(plan->forward, "project_joseph_forward", &plan->forward_kernel);
}

/* What is left above whole tiles takes as few steps as it needs. A single step is added to the tile below, since a
 * column costs as much as a step before its first voxel. */
static qb__joseph_tiles tiles_of(size_t slices, const int *values) {
    enum { TALLEST = 5 };
    const size_t steps = (size_t)values[STEPS], whole = slices / (32 * steps);
    const size_t rest = qb__ceil_div(slices - whole * 32 * steps, 32);
    if (rest == 0 || rest == steps) return (qb__joseph_tiles){SIZE_MAX, 0};
    if (rest == 1 && whole > 0 && steps < TALLEST) return (qb__joseph_tiles){(whole - 1) * 32 * steps, steps + 1};
    return (qb__joseph_tiles){whole * 32 * steps, rest};
}

/* True if a group's local memory holds what its tile reads, plus 12 KiB for other data. */
static bool keeps_rows(const qb__joseph_plan *plan) {
    const size_t rows = plan->records.window * plan->records.staged * sizeof(float);
    return rows > 0 && rows + 12 * 1024 <= qb__device_info_of(plan->device)->local_bytes;
}

/* The kernel for tiles of `steps` steps. */
static qb_status build_back(qb__joseph_plan *plan, size_t steps, qb__program **program, qb__kernel **kernel) {
    qb__macros macros = {.count = 0};
    qb__macros_add(&macros, "LINES", plan->values[LINES]);
    qb__macros_add(&macros, "STEPS", (long long)steps);
    qb__macros_add(&macros, "GROUPS", plan->values[BACK_GROUPS]);
    qb__macros_add(&macros, "REACH", (long long)plan->records.reach);
    qb__macros_add(&macros, "CAP", (long long)plan->records.cap);
    if (keeps_rows(plan)) {
        qb__macros_add(&macros, "WINDOW", (long long)plan->records.window);
        qb__macros_add(&macros, "STAGED", (long long)plan->records.staged);
    }
    const qb_status status = qb__program_build(plan->device, "project_joseph_back.cl", macros.list, program);
    return status == QB_OK ? qb__kernel_get(*program, "project_joseph_back", kernel) : status;
}

static qb_status build_adjoint(qb__joseph_plan *plan) {
    const bool gathers = plan->records.views != NULL;
    qb__macros scaling = {.count = 0};
    qb__macros_add(&scaling, "VERTICAL", !gathers);
    QB__OR_RETURN(qb__program_build(plan->device, "project_joseph_scale.cl", scaling.list, &plan->scale));
    QB__OR_RETURN(qb__kernel_get(plan->scale, "project_joseph_scale", &plan->scale_kernel));
    if (gathers) {
        QB__OR_RETURN(qb__program_build(plan->device, "project_joseph_gather.cl", NULL, &plan->back));
        return qb__kernel_get(plan->back, "project_joseph_gather", &plan->back_kernel);
    }
    if (plan->tiles.last > 0)
        QB__OR_RETURN(build_back(plan, (size_t)plan->values[STEPS], &plan->back, &plan->back_kernel));
    if (plan->tiles.last_steps)
        QB__OR_RETURN(build_back(plan, plan->tiles.last_steps, &plan->back_last, &plan->last_kernel));
    return QB_OK;
}

static qb_status make_textures(qb__joseph_plan *plan, const qb__joseph_problem *p) {
    if (plan->values[TEXTURED] != BY_TEXTURE) return QB_OK;
    for (int axis = 0; axis < 2; axis++) {
        const qb__texture_shape shape = shape_of(plan->n, plan->most.slices, axis);
        QB__OR_RETURN(qb__texture_create(plan->device, &shape, &plan->texture[axis]));
    }
    return qb__memory_create(plan->device, qb__joseph_slab_bytes(p, plan->most.slices), &plan->turned);
}

/* The copies of rays that some view needs, if the adjoint gathers. */
static void count_copies(qb__joseph_plan *plan) {
    int all = 0;
    for (size_t v = 0; plan->records.axes && v < plan->views; v++) all |= plan->records.axes[v];
    for (int axis = 0; axis < 3; axis++) plan->copy[axis] = all >> axis & 1 ? plan->copies++ : -1;
    if (!plan->records.axes) plan->copies = 1;
}

static qb_status records_of(const qb__joseph_problem *p, const int *values, qb__joseph_records *records) {
    const size_t steps = qb__larger((size_t)values[STEPS], tiles_of(p->grid->n[2], values).last_steps);
    const qb__joseph_tile tile = {(size_t)values[LINES], PLANES, 32 * steps};
    return qb__joseph_records_make(p, &tile, records);
}

qb_status qb__joseph_plan_possible(const qb__joseph_problem *p, const int *values) {
    qb__joseph_records records;
    if (!(p->geometry->radius > 0) || values[TEXTURED] == FLAT) return QB_OK;
    qb_status status = records_of(p, values, &records);
    if (status == QB_OK) qb__joseph_records_destroy(&records);
    return status;
}

/* All programs except those that change layouts. */
static qb_status fill(qb__joseph_plan *plan, const qb__joseph_problem *p, const int *values) {
    plan->tiles = tiles_of(p->grid->n[2], values);
    QB__OR_RETURN(records_of(p, values, &plan->records));
    plan->vertical = plan->records.fans != NULL;
    plan->wide = qb__joseph_is_wide(p, plan->most.slices);
    count_copies(plan);
    QB__OR_RETURN(upload_records(plan));
    QB__OR_RETURN(build_forward(plan));
    QB__OR_RETURN(build_adjoint(plan));
    QB__OR_RETURN(qb__memory_create(
        plan->device, (size_t)plan->copies * qb__joseph_block_bytes(p, qb__smaller(QB__JOSEPH_VIEWS, p->views)),
        &plan->scaled));
    return make_textures(plan, p);
}

qb_status qb__joseph_plan_create(qb__device *device, const qb__joseph_problem *p, qb__joseph_most most,
                                 const int *values, qb__joseph_plan **out) {
    qb__joseph_plan *plan;
    *out = NULL;
    if (p->flat != (values[TEXTURED] == FLAT)) return qb__fail(QB_INTERNAL, "arrays that lie otherwise");
    qb_status status = qb__alloc(1, sizeof *plan, &plan);
    if (status != QB_OK) return status;
    *plan = (qb__joseph_plan){.device = device,
                              .views = p->views,
                              .rows = p->rows,
                              .columns = p->columns,
                              .cone = p->geometry->beam == QB_BEAM_CONE,
                              .most = most,
                              .members = 1,
                              .room = 1,
                              .odd_at = -1};
    memcpy(plan->values, values, PARAMETERS * sizeof *values);
    memcpy(plan->n, p->grid->n, sizeof plan->n);
    for (int j = 0; j < 3; j++) plan->voxel[j] = (float)p->grid->voxel[j];
    QB__TRY(values[TEXTURED] == FLAT ? qb__joseph_flat_create(device, p, most, values[FLAT_STEPS], &plan->flat)
                                     : fill(plan, p, values));
    QB__TRY(build_layout(plan));
    QB__TRY(qb__memory_create(device, sizeof(int32_t), &plan->odd));
    plan->watched = 1;
    *out = plan;
out:
    if (status != QB_OK) qb__joseph_plan_destroy(plan);
    return status;
}

bool qb__joseph_batches(const int *values) { return values[TEXTURED] == BLENDED; }

size_t qb__joseph_member_bytes(const qb__joseph_problem *p) {
    return (qb__joseph_is_vertical(p->geometry, p->grid) ? 1 : 3) *
           qb__joseph_block_bytes(p, qb__smaller(QB__JOSEPH_VIEWS, p->views));
}

/* A launch has at most 65535 groups along the last index, which counts views or tiles of members; the forward kernel
 * counts the floats of all slabs in 32 bits, if it does so for one. */
size_t qb__joseph_members_most(const qb__joseph_problem *p) {
    const size_t groups = 65535 / qb__larger(p->views, qb__larger(p->rows, p->grid->n[2]));
    const size_t floats = UINT32_MAX / (qb__joseph_slab_bytes(p, p->grid->n[2]) / sizeof(float));
    return qb__larger(1, qb__smaller(groups, floats));
}

qb_status qb__joseph_plan_batch(qb__joseph_plan *plan, size_t members) {
    const size_t block = qb__smaller(QB__JOSEPH_VIEWS, plan->views) * plan->columns *
                         qb__joseph_stride(plan->flat, plan->rows) * sizeof(float);
    qb__memory *more = NULL;
    if (members > 1 && !qb__joseph_batches(plan->values))
        return qb__fail(QB_INTERNAL, "a batch of slices one by one, or by texture");
    if (members > plan->room) {
        QB__OR_RETURN(qb__memory_create(plan->device, members * (size_t)plan->copies * block, &more));
        qb__memory_destroy(plan->scaled);
        plan->scaled = more;
        plan->room = members;
    }
    plan->members = members;
    return QB_OK;
}

void qb__joseph_plan_destroy(qb__joseph_plan *plan) {
    if (!plan) return;
    qb__joseph_flat_destroy(plan->flat);
    qb__joseph_records_destroy(&plan->records);
    qb__texture_destroy(plan->texture[0]);
    qb__texture_destroy(plan->texture[1]);
    qb__memory *const memory[] = {plan->fans,   plan->view_records, plan->runs, plan->axes,
                                  plan->scaled, plan->turned,       plan->odd};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) qb__memory_destroy(memory[i]);
    qb__program *const program[] = {plan->layout, plan->forward, plan->scale, plan->back, plan->back_last};
    for (size_t i = 0; i < sizeof program / sizeof *program; i++) qb__program_release(program[i]);
    qb__free(plan);
}
