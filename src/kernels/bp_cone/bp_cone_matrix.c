/* SPDX-License-Identifier: MIT */
/* Any matrices on devices: images in memory, interpolated by instructions, or in textures with linear filtering. See
 * bp_cone_matrix.cl for the kernel. */
#include <math.h>

#include "kernels/bp_cone/bp_cone_device.h"
#include "kernels/bp_cone/bp_cone_parts.h"

#include "base/memory.h"
#include "base/status.h"
#include "kernels/macros.h"
#include "kernels/rows_table.h"

enum { TEXTURED, STEPS, PATCH, BATCH, GROUPS };
enum { ITEMS = 256, PAD = 2, PITCH = 8, LAYERS = 512 };

struct qb__bp_cone_plan {
    qb__device *device;
    qb__bp_cone_problem problem;
    qb__bp_cone_most most;
    int32_t pitch, height; /* size of an image with its border of zeros */
    int tile[3];
    qb__program *pack_program, *program;
    qb__kernel *pack_kernel, *kernel;
    qb__memory *matrix;
    qb__texture *texture; /* images of one block; NULL: images are read from memory */
};

/* Voxels of a group's tile: lines of STEPS along z, or along x. */
static void tile_of(const int *values, int tile[3]) {
    tile[0] = values[TEXTURED] ? 16 : values[STEPS];
    tile[1] = values[TEXTURED] ? 16 : 8;
    tile[2] = values[TEXTURED] ? values[STEPS] : 32;
}

/* Images in memory are transposed. */
static size_t pitch_of(const qb__bp_cone_problem *p, qb__bp_cone_most most, const int *values) {
    return qb__round_up((values[TEXTURED] ? p->columns : most.rows) + 2 * PAD, PITCH);
}

static size_t height_of(const qb__bp_cone_problem *p, qb__bp_cone_most most, const int *values) {
    return (values[TEXTURED] ? most.rows : p->columns) + 2 * PAD;
}

static qb__texture_shape shape_of(const qb__bp_cone_problem *p, qb__bp_cone_most most, const int *values) {
    return (qb__texture_shape){.width = pitch_of(p, most, values),
                               .height = height_of(p, most, values),
                               .layers = most.views,
                               .channels = 1,
                               .linear = true};
}

/* ---- what the planner asks ---- */

static const char *unusable(const qb__device_info *device, const void *of, const int *values) {
    const qb__bp_cone_problem *p = of;
    const size_t most = INT32_MAX / 8;
    const qb__bp_cone_most all = {1, p->rows};
    if (p->views > most || p->nx > most || p->ny > most || p->nz > most || p->columns > most || p->rows > most ||
        pitch_of(p, all, values) * height_of(p, all, values) > INT32_MAX)
        return "more pixels or voxels a side than 32-bit indices hold";
    if (!(qb__bp_cone_nearest(p) > 0)) return "the grid reaches to the source or behind it";
    if (device->group_size < ITEMS) return "needs groups of 256 items";
    if (!values[TEXTURED]) return NULL;
    if (!device->images) return "needs textures with linear filtering";
    if (pitch_of(p, all, values) > device->image_width || height_of(p, all, values) > device->image_height)
        return "more pixels than a texture holds";
    return device->image_layers < LAYERS ? "needs textures of 512 layers" : NULL;
}

/* Instructions of the inner loop, without limiting at the edges; the setup of a line is shared by its steps.
 * Interpolation takes about 31 instructions, but the time of 42 (H200; bench/notes/cone.md). */
static void cost(const void *of, unsigned slices, const int *values, qb__kernel_cost *cost) {
    (void)slices;
    const qb__bp_cone_problem *p = of;
    const double views = p->views < 128 ? (double)p->views : 128, shared = 20.0 / values[STEPS];
    const double fine = fmax(1, (double)p->columns / (double)p->nx);
    int tile[3];
    tile_of(values, tile);
    const double waste = (double)qb__round_up(p->nx, (size_t)tile[0]) / (double)p->nx *
                         (double)qb__round_up(p->ny, (size_t)tile[1]) / (double)p->ny *
                         (double)qb__round_up(p->nz, (size_t)tile[2]) / (double)p->nz;
    *cost = (qb__kernel_cost){.arithmetic = waste * ((values[TEXTURED] ? 15 : 42) + shared),
                              .texels = values[TEXTURED] ? waste : 0,
                              .local_bytes = values[TEXTURED] ? 0 : 16 * waste,
                              .l2_bytes = (values[TEXTURED] ? 4.5 : 6) * waste * fine, /* H200; bench/notes/cone.md */
                              .memory_bytes = 8 / views,
                              .launches = (double)p->views / views};
}

static size_t layer(const int *values) {
    int tile[3];
    tile_of(values, tile);
    return (size_t)tile[2];
}

static size_t packed_bytes(const qb__bp_cone_problem *p, qb__bp_cone_most most, const int *values) {
    return pitch_of(p, most, values) * height_of(p, most, values) * most.views * sizeof(float);
}

static size_t plan_bytes(const qb__device *device, const qb__bp_cone_problem *p, qb__bp_cone_most most,
                         const int *values) {
    const qb__texture_shape shape = shape_of(p, most, values);
    return qb__cone_matrices_bytes(p->views) + (values[TEXTURED] ? qb__texture_bytes(device, &shape) : 0);
}

/* ---- plan ---- */

static qb_status build(qb__bp_cone_plan *plan, const int *values) {
    static const char *const names[] = {"TEXTURED", "STEPS", "PATCH", "BATCH", "GROUPS"};
    qb__macros macros = {.count = 0}, packing = {.count = 0};
    for (int i = 0; i <= GROUPS; i++) qb__macros_add(&macros, names[i], values[i]);
    qb__macros_add(&packing, "TRANSPOSED", !values[TEXTURED]);
    QB__OR_RETURN(qb__cone_build(plan->device, "bp_cone_pack", &packing, &plan->pack_program, &plan->pack_kernel));
    return qb__cone_build(plan->device, "bp_cone_matrix", &macros, &plan->program, &plan->kernel);
}

static void destroy(qb__bp_cone_plan *plan) {
    if (!plan) return;
    qb__texture_destroy(plan->texture);
    qb__memory_destroy(plan->matrix);
    qb__program_release(plan->program);
    qb__program_release(plan->pack_program);
    qb__free(plan);
}

static qb_status make_plan(qb__device *device, const qb__bp_cone_problem *problem, qb__bp_cone_most most,
                           const int *values, qb__bp_cone_plan **out) {
    const qb__texture_shape shape = shape_of(problem, most, values);
    qb__bp_cone_plan *plan;
    *out = NULL;
    qb_status status = qb__alloc(1, sizeof *plan, &plan);
    if (status != QB_OK) return status;
    *plan = (qb__bp_cone_plan){.device = device,
                               .problem = *problem,
                               .most = most,
                               .pitch = (int32_t)pitch_of(problem, most, values),
                               .height = (int32_t)height_of(problem, most, values)};
    tile_of(values, plan->tile);
    QB__TRY(build(plan, values));
    QB__TRY(qb__cone_matrices_upload(device, problem->matrix, problem->views, &plan->matrix));
    if (values[TEXTURED]) QB__TRY(qb__texture_create(device, &shape, &plan->texture));
    *out = plan;
out:
    if (status != QB_OK) destroy(plan);
    return status;
}

/* ---- work ---- */

static qb_status set_matrices(qb__bp_cone_plan *plan, qb__queue *queue, size_t views, const double (*matrix)[12]) {
    return qb__cone_matrices_replace(queue, matrix, views, plan->matrix);
}

static qb_status pack(qb__bp_cone_plan *plan, qb__queue *queue, const qb__memory *rows, size_t offset,
                      size_t view_stride, size_t row_stride, size_t view0, size_t view1, qb__bp_cone_window window,
                      qb__memory *packed) {
    const qb__cone_images images = {rows,   offset,       view_stride, row_stride, plan->problem.columns,
                                    window, view1 - view0};
    qb_status status = qb__cone_pack(plan->pack_kernel, queue, &images, plan->pitch, plan->height, packed);
    if (status != QB_OK || !plan->texture) return status;
    return qb__texture_load(queue, plan->texture, packed, 0);
}

static qb_status run(qb__bp_cone_plan *plan, qb__queue *queue, const qb__memory *packed, size_t view0, size_t view1,
                     qb__bp_cone_window window, size_t z0, size_t z1, qb__memory *out, size_t offset, bool more) {
    const qb__bp_cone_problem *p = &plan->problem;
    const int32_t first = (int32_t)view0, views = (int32_t)(view1 - view0), columns = (int32_t)p->columns;
    const int32_t r0 = (int32_t)window.r0, r1 = (int32_t)window.r1, from = (int32_t)z0, to = (int32_t)z1;
    const int32_t nx = (int32_t)p->nx, ny = (int32_t)p->ny, add = more;
    const uint64_t out_at = offset / sizeof(float);
    const size_t x = (size_t)plan->tile[0], y = (size_t)plan->tile[1], z = (size_t)plan->tile[2];
    const qb__arg args[] = {plan->texture ? QB__TEXTURE(plan->texture) : QB__MEMORY(packed), QB__MEMORY(plan->matrix),
                            QB__VALUES(first, views, columns, r0, r1, plan->pitch, plan->height), QB__MEMORY(out),
                            QB__VALUES(out_at, nx, ny, from, to, add)};
    const size_t groups[3] = {qb__ceil_div(p->nx, x), qb__ceil_div(p->ny, y), qb__ceil_div(z1, z) - z0 / z};
    const size_t items[3] = {ITEMS, 1, 1};
    return qb__kernel_launch(plan->kernel, queue, groups, items, args, sizeof args / sizeof *args);
}

#define ROW(name, class, how, ...)                                                                                     \
    {                                                                                                                  \
        HEAD(QB__BP_CONE, name, QB_INTERP_LINEAR, QB__API_CUDA | QB__API_OPENCL, class, how, 0, 0, unusable, cost,     \
             __VA_ARGS__, P("BATCH", 32, 16, 64), P("GROUPS", 4, 3, 2)),                                               \
            .layer = layer, .packed_bytes = packed_bytes, .plan_bytes = plan_bytes, .plan = make_plan,                 \
            .set_matrices = set_matrices, .pack = pack, .run = run, .destroy = destroy                                 \
    }

static const qb__bp_cone_device_variant rows[] = {
    ROW("bp_cone_matrix.texture", QB_ACCURACY_FAST, "any matrices: the texture engine interpolates", P("TEXTURED", 1),
        P("STEPS", 16, 8, 4), P("PATCH", 16, 8, 4)),
    ROW("bp_cone_matrix.alu", QB_ACCURACY_HIGH, "any matrices: four pixels read, transposed, and blended",
        P("TEXTURED", 0), P("STEPS", 16, 8, 4), P("PATCH", 16)),
};

const qb__bp_cone_family qb__bp_cone_matrix_rows = {rows, sizeof rows / sizeof *rows};
