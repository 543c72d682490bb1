/* SPDX-License-Identifier: MIT */
/* Exactly circular orbits on devices: one fetch serves up to eight voxels. See bp_cone_circular.cl for the kernel and
 * bp_cone_parts.h for the condition. */
#include <math.h>

#include "base/memory.h"
#include "base/status.h"
#include "kernels/bp_cone/bp_cone_circular_sizes.h"
#include "kernels/bp_cone/bp_cone_device.h"
#include "kernels/bp_cone/bp_cone_parts.h"
#include "kernels/macros.h"
#include "kernels/rows_table.h"

enum { PAD = 2, PITCH = 8, PACK_TILE = 16, LAYERS = 512, MOST_IN_TEXTURE = 4 };

struct qb__bp_cone_plan {
    qb__device *device;
    qb__bp_cone_problem problem;
    qb__cone_turns symmetry;
    bool mirror;
    size_t turns;
    int32_t pitch, height;              /* size of an image with its border of zeros */
    size_t tile[3], items, local_bytes; /* sizes of boxes in shared memory; 0: none */
    float unit;                         /* unit of the weights in half precision */
    qb__program *pack_program, *program;
    qb__kernel *pack_kernel, *kernel;
    qb__memory *matrix, *scale;
    qb__memory *beyond;   /* values that half floats could not hold; see bp_cone_cells.cl */
    qb__texture *texture; /* images of one block; NULL: images are read from memory */
};

/* Rows beyond the mirror may be one or two more than those of a window. */
static size_t rows_most(qb__bp_cone_most most, const int *values) {
    return most.rows + (qb__circular_mirror(values) ? 2 : 0);
}

/* Images in memory are transposed. */
static size_t pitch_of(const qb__bp_cone_problem *p, qb__bp_cone_most most, const int *values) {
    const size_t split = qb__circular_copies(values) ? 2 : 0; /* the first row of a window may be odd */
    return qb__round_up((values[TEXTURED] ? p->columns : rows_most(most, values) + split) + 2 * PAD, PITCH);
}

static size_t height_of(const qb__bp_cone_problem *p, qb__bp_cone_most most, const int *values) {
    return (values[TEXTURED] ? rows_most(most, values) : p->columns) + 2 * PAD;
}

static size_t bases_of(qb__bp_cone_most most, const int *values) {
    return qb__ceil_div(most.views, qb__circular_turns(values));
}

static qb__texture_shape shape_of(const qb__bp_cone_problem *p, qb__bp_cone_most most, const int *values) {
    return (qb__texture_shape){.width = pitch_of(p, most, values),
                               .height = height_of(p, most, values),
                               .layers = bases_of(most, values),
                               .channels = (unsigned)qb__circular_voxels(values),
                               .half = true,
                               .linear = true};
}

/* ---- what the planner asks ---- */

static const char *unusable(const qb__device_info *device, const void *of, const int *values) {
    const qb__bp_cone_problem *p = of;
    const size_t most = INT32_MAX / 8;
    const qb__bp_cone_most all = {1, p->rows};
    qb__cone_turns symmetry;
    if (p->views > most || p->nx > most || p->ny > most || p->nz > most || p->columns > most || p->rows > most ||
        pitch_of(p, all, values) * height_of(p, all, values) > INT32_MAX)
        return "more pixels or voxels a side than 32-bit indices hold";
    if (!(qb__bp_cone_nearest(p) > 0)) return "the grid reaches to the source or behind it";
    if (device->group_size < qb__circular_items(values)) return "needs larger groups";
    if (qb__circular_copies(values)) {
        bool ring;
        if (qb__circular_boxes_bytes(device, p, values, &ring) + qb__circular_ahead_bytes(values) > device->local_bytes)
            return "local memory does not hold what a tile sees of a view";
        if (values[WARPS] * values[COLUMNS] % 8) return "tiles are eight voxels wide";
    }
    if (values[HALF] && !p->largest) return "half precision needs to know the largest values";
    if (values[TEXTURED]) {
        if (qb__circular_voxels(values) > MOST_IN_TEXTURE) return "textures hold four values a pixel";
        if (!device->images) return "needs textures with linear filtering";
        if (pitch_of(p, all, values) > device->image_width || height_of(p, all, values) > device->image_height)
            return "more pixels than a texture holds";
        if (device->image_layers < LAYERS) return "needs textures of 512 layers";
    }
    const char *why = qb__cone_turns_of(p, (int)qb__circular_turns(values), qb__circular_mirror(values), &symmetry);
    if (why) return why;
    if (values[BULK] && qb__circular_cell_bytes(values) < 16) return "copies in bulk are of sixteen bytes at least";
    if (values[BULK] && (device->api != QB__API_CUDA || device->arch < 90))
        return "copies in bulk need CUDA and compute capability 9.0";
    return device->is_cpu && values[STEPS] * values[COLUMNS] > (values[TEXTURED] ? 4 : 1)
               ? "for GPUs: processors would compile it for minutes"
               : NULL;
}

static size_t layer(const int *values) {
    size_t tile[3];
    qb__circular_tile(values, tile);
    return tile[2];
}

static size_t packed_bytes(const qb__bp_cone_problem *p, qb__bp_cone_most most, const int *values) {
    return pitch_of(p, most, values) * height_of(p, most, values) * bases_of(most, values) *
           qb__circular_cell_bytes(values);
}

static size_t plan_bytes(const qb__device *device, const qb__bp_cone_problem *p, qb__bp_cone_most most,
                         const int *values) {
    const qb__texture_shape shape = shape_of(p, most, values);
    return qb__cone_matrices_bytes(p->views) + (p->views / qb__circular_turns(values) + 1) * sizeof(float) +
           (values[TEXTURED] ? qb__texture_bytes(device, &shape) : 0);
}

/* ---- plan ---- */

/* Index of the first voxel of a line along z. */
static int first_slice(const qb__bp_cone_plan *plan) {
    const int twice = plan->symmetry.twice_z, last = (int)plan->problem.nz - 1;
    if (!plan->mirror) return plan->symmetry.falling ? last : 0;
    return plan->symmetry.falling ? twice / 2 : (twice + 1) / 2;
}

static int way(const qb__bp_cone_plan *plan) { return plan->symmetry.falling ? -1 : 1; }

/* Upload matrices for x, y and the height above the first slice. */
static qb_status upload_matrices(qb__bp_cone_plan *plan) {
    const size_t views = plan->problem.views;
    double(*matrix)[12];
    QB__OR_RETURN(qb__alloc(views, sizeof *matrix, &matrix));
    for (size_t v = 0; v < views; v++)
        for (int i = 0; i < 12; i += 4) {
            const double *m = plan->problem.matrix[v] + i;
            matrix[v][i] = m[0], matrix[v][i + 1] = m[1];
            matrix[v][i + 2] = way(plan) * m[2];
            matrix[v][i + 3] = m[3] + first_slice(plan) * m[2];
        }
    const qb_status status = qb__cone_matrices_upload(plan->device, (const double(*)[12])matrix, views, &plan->matrix);
    qb__free(matrix);
    return status;
}

/* Upload the factor of a base view's half floats: a power of two that keeps the largest below 2^15. */
static qb_status upload_scale(qb__bp_cone_plan *plan, bool halves) {
    enum { TOP = 15 };
    const qb__bp_cone_problem *p = &plan->problem;
    const size_t bases = p->views / plan->turns;
    float *scale;
    QB__OR_RETURN(qb__alloc(bases, sizeof *scale, &scale));
    for (size_t b = 0; b < bases; b++) {
        float most = 0;
        int exponent;
        for (size_t t = 0; halves && t < plan->turns; t++) most = fmaxf(most, p->largest[b + t * bases]);
        frexpf(most, &exponent);
        scale[b] = most > 0 && most < INFINITY ? ldexpf(1, (int)fmax(exponent - TOP, -100)) : 1;
    }
    const qb_status status = qb__cone_upload(plan->device, scale, bases * sizeof *scale, &plan->scale);
    qb__free(scale);
    return status;
}

static qb_status build(qb__bp_cone_plan *plan, const int *values, bool ring) {
    static const char *const names[] = {"TEXTURED", "HALF",   "PACKING", "STEPS", "COLUMNS", "PATCH",
                                        "GROUPS",   "STAGES", "WARPS",   "AHEAD", "BULK"};
    const qb__circular_box box = qb__circular_box_of(&plan->problem, plan->tile);
    qb__macros macros = {.count = 0}, packing = {.count = 0};
    for (int i = 0; i <= BULK; i++) qb__macros_add(&macros, names[i], values[i]);
    if (qb__circular_copies(values))
        qb__macros_add(&macros, "BOX", (int)box.columns), qb__macros_add(&macros, "ROWS", (int)box.rows),
            qb__macros_add(&macros, "RING", ring ? (int)(plan->local_bytes / qb__circular_cell_bytes(values)) : 0);
    qb__macros_add(&packing, "TRANSPOSED", !values[TEXTURED]);
    qb__macros_add(&packing, "HALF", values[HALF]);
    qb__macros_add(&packing, "PACKING", values[PACKING]);
    qb__macros_add(&packing, "SPLIT", qb__circular_copies(values));
    QB__OR_RETURN(qb__cone_build(plan->device, "bp_cone_cells", &packing, &plan->pack_program, &plan->pack_kernel));
    return qb__cone_build(plan->device, qb__circular_copies(values) ? "bp_cone_circular_local" : "bp_cone_circular",
                          &macros, &plan->program, &plan->kernel);
}

static void destroy(qb__bp_cone_plan *plan) {
    if (!plan) return;
    qb__texture_destroy(plan->texture);
    QB__MEMORY_DESTROY(plan->matrix, plan->scale, plan->beyond);
    qb__program_release(plan->program);
    qb__program_release(plan->pack_program);
    qb__free(plan);
}

static qb_status make_plan(qb__device *device, const qb__bp_cone_problem *problem, qb__bp_cone_most most,
                           const int *values, qb__bp_cone_plan **out) {
    const qb__texture_shape shape = shape_of(problem, most, values);
    qb__bp_cone_plan *plan;
    bool ring;
    *out = NULL;
    qb_status status = qb__alloc(1, sizeof *plan, &plan);
    if (status != QB_OK) return status;
    *plan = (qb__bp_cone_plan){.device = device,
                               .problem = *problem,
                               .mirror = qb__circular_mirror(values),
                               .turns = qb__circular_turns(values),
                               .pitch = (int32_t)pitch_of(problem, most, values),
                               .height = (int32_t)height_of(problem, most, values)};
    const char *why =
        qb__cone_turns_of(problem, (int)qb__circular_turns(values), qb__circular_mirror(values), &plan->symmetry);
    qb__circular_tile(values, plan->tile);
    plan->items = qb__circular_items(values);
    plan->local_bytes = qb__circular_boxes_bytes(qb__device_info_of(device), problem, values, &ring);
    plan->unit =
        (float)(qb__bp_cone_nearest(problem) * qb__bp_cone_nearest(problem) / (double)qb__circular_turns(values));
    QB__TRY(why ? qb__fail(QB_UNSUPPORTED, "%s", why) : QB_OK);
    QB__TRY(build(plan, values, ring));
    QB__TRY(upload_matrices(plan));
    QB__TRY(upload_scale(plan, values[HALF]));
    QB__TRY(qb__cone_upload(device, &(int32_t){0}, sizeof(int32_t), &plan->beyond));
    if (values[TEXTURED]) QB__TRY(qb__texture_create(device, &shape, &plan->texture));
    *out = plan;
out:
    if (status != QB_OK) destroy(plan);
    return status;
}

/* ---- work ---- */

typedef struct range {
    int from, to;
} range;

static void widen(range *r, int from, int to) {
    if (from >= to) return;
    if (r->from >= r->to) *r = (range){from, to};
    if (from < r->from) r->from = from;
    if (to > r->to) r->to = to;
}

static int larger(int a, int b) { return a > b ? a : b; }

/* Rows of a window that are packed: with a mirror, those on the side where rows rise, and their mirror images. */
static range rows_of(const qb__bp_cone_plan *plan, const qb__bp_cone_side side[2]) {
    const int twice = plan->symmetry.twice_row,
              from = twice / 2 - 1; /* coordinates may be slightly below the mirror because of rounding */
    range r = {0};
    for (int i = 0; i < 2; i++) {
        const int r0 = (int)side[i].window.r0, r1 = (int)side[i].window.r1;
        if (!plan->mirror) widen(&r, r0, r1);
        if (!plan->mirror || r0 == r1) continue;
        widen(&r, larger(r0, from), r1);
        widen(&r, larger(twice - r1 + 1, from), twice - r0 + 1);
    }
    return r;
}

/* Range of the heights of the slices. */
static range heights_of(const qb__bp_cone_plan *plan, const qb__bp_cone_side side[2]) {
    const int first = first_slice(plan), step = way(plan), twice = plan->symmetry.twice_z;
    range r = {0};
    for (int i = 0; i < 2; i++) {
        const int a = (int)side[i].z0, b = (int)side[i].z1 - 1;
        if (a > b) continue;
        const int k0 = step * ((step > 0 ? a : b) - first), k1 = step * ((step > 0 ? b : a) - first) + 1;
        widen(&r, larger(k0, 0), k1);
        if (!plan->mirror) continue;
        const int m0 = step * ((step > 0 ? twice - b : twice - a) - first);
        const int m1 = step * ((step > 0 ? twice - a : twice - b) - first) + 1;
        widen(&r, larger(m0, 0), m1);
    }
    return r;
}

static qb_status pack_sides(qb__bp_cone_plan *plan, qb__queue *queue, const qb__memory *rows, size_t row_stride,
                            size_t view0, size_t view1, const qb__bp_cone_side side[2], qb__memory *packed) {
    const uint64_t rows_at = side[0].offset / sizeof(float), stride = side[0].view_stride;
    const uint64_t more_at = side[1].offset / sizeof(float), more_stride = side[1].view_stride;
    const range kept = rows_of(plan, side);
    const int32_t row = (int32_t)row_stride, columns = (int32_t)plan->problem.columns;
    const int32_t bases = (int32_t)(view1 - view0), base0 = (int32_t)view0;
    const int32_t w0 = (int32_t)side[0].window.r0, w1 = (int32_t)side[0].window.r1;
    const int32_t v0 = (int32_t)side[1].window.r0, v1 = (int32_t)side[1].window.r1, twice = plan->symmetry.twice_row;
    const qb__arg args[] = {
        QB__MEMORY(rows),
        QB__VALUES(rows_at, stride, row, bases, columns, w0, w1, more_at, more_stride, v0, v1, twice),
        QB__VALUES(kept.from, kept.to),
        QB__MEMORY(plan->scale),
        QB__VALUE(base0),
        QB__MEMORIES(plan->beyond, packed),
        QB__VALUES(plan->pitch, plan->height)};
    const size_t groups[3] = {qb__ceil_div((size_t)plan->pitch, PACK_TILE),
                              qb__ceil_div((size_t)plan->height, PACK_TILE), view1 - view0};
    const size_t items[3] = {PACK_TILE * PACK_TILE, 1, 1};
    qb_status status = qb__kernel_launch(plan->pack_kernel, queue, groups, items, args, sizeof args / sizeof *args);
    if (status != QB_OK || !plan->texture) return status;
    return qb__texture_load(queue, plan->texture, packed, 0);
}

static qb_status run_sides(qb__bp_cone_plan *plan, qb__queue *queue, const qb__memory *packed, size_t view0,
                           size_t view1, const qb__bp_cone_side side[2], qb__memory *out, size_t offset, bool more) {
    const qb__bp_cone_problem *p = &plan->problem;
    const range kept = rows_of(plan, side), heights = heights_of(plan, side);
    const bool both = side[1].z0 < side[1].z1;
    const int32_t base0 = (int32_t)view0, bases = (int32_t)(view1 - view0), columns = (int32_t)p->columns;
    const int32_t apart = (int32_t)(p->views / plan->turns), from = (int32_t)side[0].z0;
    const int32_t gap0 = (int32_t)side[0].z1, gap1 = both ? (int32_t)side[1].z0 : gap0,
                  to = both ? (int32_t)side[1].z1 : gap0;
    const int32_t nx = (int32_t)p->nx, ny = (int32_t)p->ny, add = more;
    const int32_t first = first_slice(plan), step = way(plan), twice = plan->symmetry.twice_z;
    const int32_t back = plan->symmetry.back;
    const uint64_t out_at = offset / sizeof(float);
    const qb__arg args[] = {plan->texture ? QB__TEXTURE(plan->texture) : QB__MEMORY(packed),
                            QB__MEMORIES(plan->matrix, plan->scale),
                            QB__VALUES(base0, bases, apart, columns, kept.from, kept.to, plan->pitch, plan->height),
                            QB__MEMORY(out),
                            QB__VALUES(out_at, nx, ny, from, to, gap0, gap1, first, step, twice, back, heights.from),
                            QB__VALUES(heights.to, add, plan->unit),
                            QB__LOCAL(plan->local_bytes)};
    const size_t x = plan->turns == 4 ? qb__ceil_div(p->nx, 2) : p->nx;
    const size_t y = plan->turns > 1 ? qb__ceil_div(p->ny, 2) : p->ny, z = plan->tile[2];
    const size_t groups[3] = {qb__ceil_div(x, plan->tile[0]), qb__ceil_div(y, plan->tile[1]),
                              qb__ceil_div((size_t)heights.to, z) - (size_t)heights.from / z};
    const size_t items[3] = {plan->items, 1, 1};
    const size_t count = sizeof args / sizeof *args - (plan->local_bytes ? 0 : 2);
    return qb__kernel_launch(plan->kernel, queue, groups, items, args, count);
}

static qb_status pack(qb__bp_cone_plan *plan, qb__queue *queue, const qb__memory *rows, size_t offset,
                      size_t view_stride, size_t row_stride, size_t view0, size_t view1, qb__bp_cone_window window,
                      qb__memory *packed) {
    const qb__bp_cone_side side[2] = {{.window = window, .offset = offset, .view_stride = view_stride}};
    return pack_sides(plan, queue, rows, row_stride, view0, view1, side, packed);
}

static qb_status run(qb__bp_cone_plan *plan, qb__queue *queue, const qb__memory *packed, size_t view0, size_t view1,
                     qb__bp_cone_window window, size_t z0, size_t z1, qb__memory *out, size_t offset, bool more) {
    const qb__bp_cone_side side[2] = {{.z0 = z0, .z1 = z1, .window = window}};
    return run_sides(plan, queue, packed, view0, view1, side, out, offset, more);
}

static qb_status beyond(qb__bp_cone_plan *plan, qb__queue *queue, float *largest) {
    qb_status status = qb__memory_download(queue, plan->beyond, 0, largest, sizeof *largest);
    return status == QB_OK ? qb__queue_finish(queue) : status;
}

#define ROW(name, class, how, ...)                                                                                     \
    {                                                                                                                  \
        HEAD(QB__BP_CONE, name, QB_INTERP_LINEAR, QB__API_CUDA | QB__API_OPENCL, class, how, 0, 0, unusable,           \
             qb__circular_cost, __VA_ARGS__),                                                                          \
            .layer = layer, .turns = qb__circular_turns, .mirrored = qb__circular_mirror,                              \
            .packed_bytes = packed_bytes, .plan_bytes = plan_bytes, .plan = make_plan, .pack = pack, .run = run,       \
            .pack_sides = pack_sides, .run_sides = run_sides, .beyond = beyond, .destroy = destroy                     \
    }

static const qb__bp_cone_device_variant rows[] = {
    ROW("bp_cone_circular.texture", QB_ACCURACY_FAST,
        "circular: the texture engine interpolates turned views and mirrored rows together, in "
        "half precision",
        P("TEXTURED", 1), P("HALF", 1), P("PACKING", 40, 21, 20, 11, 10), P("STEPS", 4, 8, 16), P("COLUMNS", 1),
        P("PATCH", 8, 16, 4), P("GROUPS", 4, 3, 2), P("STAGES", 0), P("WARPS", 8), P("AHEAD", 0), P("BULK", 0)),
    ROW("bp_cone_circular.half", QB_ACCURACY_NORMAL,
        "circular: turned views and mirrored rows read and blended together, in half precision", P("TEXTURED", 0),
        P("HALF", 1), P("PACKING", 41, 40, 21, 20, 11, 10), P("STEPS", 1, 2, 4), P("COLUMNS", 2, 1, 4), P("PATCH", 8),
        P("GROUPS", 4, 3, 2, 1), P("STAGES", 0), P("WARPS", 8), P("AHEAD", 0), P("BULK", 0)),
    ROW("bp_cone_circular.float", QB_ACCURACY_HIGH,
        "circular: turned views and mirrored rows read and blended together", P("TEXTURED", 0), P("HALF", 0),
        P("PACKING", 40, 21, 41, 20, 11, 10), P("STEPS", 2, 1, 4), P("COLUMNS", 4, 2, 1), P("PATCH", 8),
        P("GROUPS", 2, 3, 4, 1), P("STAGES", 0), P("WARPS", 8), P("AHEAD", 0), P("BULK", 0)),
    ROW("bp_cone_circular.half-local", QB_ACCURACY_NORMAL,
        "circular: what a tile sees copied to local memory; turned views and mirrored rows "
        "together, in half precision",
        P("TEXTURED", 0), P("HALF", 1), P("PACKING", 41, 21, 11), P("STEPS", 1, 2, 4), P("COLUMNS", 4, 8, 2, 1),
        P("PATCH", 8), P("GROUPS", 2, 1, 3), P("STAGES", 4, 3, 2, 6, 8), P("WARPS", 12, 8, 16), P("AHEAD", 2, 1),
        P("BULK", 1, 0)),
    ROW("bp_cone_circular.float-local", QB_ACCURACY_HIGH,
        "circular: what a tile sees copied to local memory; turned views and mirrored rows "
        "together",
        P("TEXTURED", 0), P("HALF", 0), P("PACKING", 40, 21, 41, 20), P("STEPS", 2, 1, 4), P("COLUMNS", 8, 4, 2, 1),
        P("PATCH", 8), P("GROUPS", 1, 2, 3), P("STAGES", 4, 3, 2, 6, 8), P("WARPS", 12, 8, 16), P("AHEAD", 2, 1),
        P("BULK", 1, 0)),
};

const qb__bp_cone_family qb__bp_cone_circular_rows = {rows, sizeof rows / sizeof *rows};
