/* SPDX-License-Identifier: MIT */
/* Kernels of two papers, for measurement and study: the configurations of Papenhausen, Zheng and Mueller's RabbitCT
 * (bp_cone_plain.cl), and the five of the iFDK paper's Table 3 (RTK's too, the others in bp_cone_shuffle.cl). They
 * compute what the papers describe, by our rules: sums that a paper keeps in a register and adds to the volume at the
 * end start with the volume's value here, so that blocks of views do not change the bits. They run only if they are
 * named. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "papers/bp_cone_papers.h"
#include "kernels/bp_cone/bp_cone_parts.h"
#include "kernels/macros.h"
#include "kernels/rows_table.h"

enum { SHUFFLED, IMAGE, TRANSPOSED, CONSTANTS, PREFETCH, LANES, MIRROR, VIEWS };
enum { IN_MEMORY, INTERPOLATED, BY_PIXEL, THROUGH_L1 };
enum {
    SIDE = 16,
    WARP = 32,
    WARPS = 8,
    TILE = 16,
    PAD = 2,
    PITCH = 8,
    LAYERS = 512,
    LAUNCH = 32,         /* most views of a launch */
    MOST_PIXELS = 4096,  /* per side: plain single precision keeps its accuracy class up to here */
    MOST_CONSTANT = 1365 /* views whose matrices fit into OpenCL's 64 KiB */
};
static const size_t lines_bytes_most = 64u << 20;

struct qb__bp_cone_plan {
    qb__device *device;
    qb__bp_cone_problem problem;
    qb__cone_turns symmetry;
    int values[VIEWS + 1];
    int32_t pitch, height; /* size of an image with its border of zeros */
    size_t rows;           /* rows of the grid whose lines are kept at a time */
    qb__program *pack_program, *program;
    qb__kernel *pack_kernel, *kernel, *turn;
    float (*constants)[12]; /* [views + LAUNCH], arguments of CUDA kernels; else NULL */
    qb__memory *matrices, *lines;
    qb__texture *texture;
};

static bool textured(const int *values) { return values[IMAGE] == INTERPOLATED || values[IMAGE] == BY_PIXEL; }

static size_t pitch_of(const qb__bp_cone_problem *p, qb__bp_cone_most most, const int *values) {
    return qb__round_up((values[TRANSPOSED] ? most.rows : p->columns) + 2 * PAD, PITCH);
}

static size_t height_of(const qb__bp_cone_problem *p, qb__bp_cone_most most, const int *values) {
    return (values[TRANSPOSED] ? p->columns : most.rows) + 2 * PAD;
}

static qb__texture_shape shape_of(const qb__bp_cone_problem *p, qb__bp_cone_most most, const int *values) {
    return (qb__texture_shape){.width = pitch_of(p, most, values),
                               .height = height_of(p, most, values),
                               .layers = most.views,
                               .channels = 1,
                               .linear = values[IMAGE] == INTERPOLATED};
}

/* Rows of the grid whose lines are transposed, computed and transposed back together. */
static size_t rows_of_lines(const qb__bp_cone_problem *p) {
    const size_t one = p->nx * p->nz * sizeof(float);
    return qb__larger(qb__smaller(lines_bytes_most / one, p->ny), 1);
}

/* ---- what the planner asks ---- */

static const char *unusable(const qb__device_info *device, const void *of, const int *values) {
    const qb__bp_cone_problem *p = of;
    const size_t most = 65535; /* groups of a launch */
    const qb__bp_cone_most all = {1, p->rows};
    qb__cone_turns symmetry;
    if (p->views > most || p->nx > most || p->ny > most || p->nz > most)
        return "more than 65,535 voxels a side or views";
    if (p->columns > MOST_PIXELS || p->rows > MOST_PIXELS) return "more than 4,096 pixels a side";
    if (!(qb__bp_cone_nearest(p) > 0)) return "the grid reaches to the source or behind it";
    if (device->group_size < (size_t)(values[SHUFFLED] ? WARP * WARPS : SIDE * SIDE * values[LANES]))
        return "needs larger groups of items";
    if (values[CONSTANTS] && device->api == QB__API_OPENCL && p->views > MOST_CONSTANT)
        return "constant memory holds the matrices of 1,365 views";
    if (textured(values)) {
        if (!device->images) return "needs textures with linear filtering";
        if (pitch_of(p, all, values) > device->image_width || height_of(p, all, values) > device->image_height)
            return "more pixels than a texture holds";
        if (device->image_layers < LAYERS) return "needs textures of 512 layers";
    }
    return values[SHUFFLED] ? qb__cone_turns_of(p, 1, values[MIRROR], &symmetry) : NULL;
}

/* Instructions and bytes, counted for a grid padded to whole groups: SIDE x SIDE voxels of a slice, or WARP voxels
 * along z by WARPS along x. */
static void cost(const void *of, unsigned slices, const int *values, qb__kernel_cost *cost) {
    (void)slices;
    const qb__bp_cone_problem *p = of;
    const bool shuffled = values[SHUFFLED];
    const double across = (double)qb__round_up(p->nx, shuffled ? WARPS : SIDE) / (double)p->nx;
    const double other = shuffled ? (double)qb__round_up(p->nz, WARP) / (double)p->nz
                                  : (double)qb__round_up(p->ny, SIDE) / (double)p->ny;
    const double waste = across * other, fetched = values[IMAGE] == INTERPOLATED ? 1 : 4;
    *cost = (qb__kernel_cost){.arithmetic = waste * (values[IMAGE] == INTERPOLATED ? 30 : 60),
                              .texels = textured(values) ? waste * fetched : 0,
                              .local_bytes = textured(values) ? 0 : 4 * waste * fetched,
                              .l2_bytes = 8 * waste * fmax(1, (double)p->columns / (double)p->nx),
                              .memory_bytes = 8.0 / values[VIEWS] * waste,
                              .launches = (double)p->views / values[VIEWS]};
}

static size_t layer(const int *values) { return values[SHUFFLED] ? WARP : (size_t)values[LANES]; }
static bool mirrored(const int *values) { return values[SHUFFLED] && values[MIRROR]; }

static size_t packed_bytes(const qb__bp_cone_problem *p, qb__bp_cone_most most, const int *values) {
    return pitch_of(p, most, values) * height_of(p, most, values) * most.views * sizeof(float);
}

static size_t lines_bytes(const qb__bp_cone_problem *p) { return rows_of_lines(p) * p->nx * p->nz * sizeof(float); }

static size_t plan_bytes(const qb__device *device, const qb__bp_cone_problem *p, qb__bp_cone_most most,
                         const int *values) {
    const qb__texture_shape shape = shape_of(p, most, values);
    return p->views * 12 * sizeof(float) + (textured(values) ? qb__texture_bytes(device, &shape) : 0) +
           (values[SHUFFLED] ? lines_bytes(p) : 0);
}

/* ---- plan ---- */

/* Matrices for voxel indices counted from the grid's centre. */
static qb_status make_matrices(qb__bp_cone_plan *plan) {
    const qb__bp_cone_problem *p = &plan->problem;
    const double middle[] = {((double)p->nx - 1) / 2, ((double)p->ny - 1) / 2, ((double)p->nz - 1) / 2};
    float(*m)[12];
    QB__OR_RETURN(qb__alloc(p->views + LAUNCH, sizeof *m, &m));
    for (size_t v = 0; v < p->views; v++)
        for (int i = 0; i < 12; i += 4) {
            double at = p->matrix[v][i + 3];
            for (int k = 0; k < 3; k++) {
                m[v][i + k] = (float)p->matrix[v][i + k];
                at += p->matrix[v][i + k] * middle[k];
            }
            m[v][i + 3] = (float)at;
        }
    memset(m[p->views], 0, LAUNCH * sizeof *m);
    if (plan->values[CONSTANTS] && qb__device_info_of(plan->device)->api == QB__API_CUDA) {
        plan->constants = m;
        return QB_OK;
    }
    const qb_status status = qb__cone_upload(plan->device, m, p->views * sizeof *m, &plan->matrices);
    qb__free(m);
    return status;
}

/* VIEWS is used by the host only: the same programs serve any number of views per launch. */
static qb_status build(qb__bp_cone_plan *plan) {
    static const char *const names[] = {NULL, "IMAGE", "TRANSPOSED", "CONSTANTS", "PREFETCH", "LANES", "MIRROR"};
    const bool shuffled = plan->values[SHUFFLED];
    qb__macros macros = {.count = 0}, packing = {.count = 0};
    for (int i = IMAGE; i <= MIRROR; i++) qb__macros_add(&macros, names[i], plan->values[i]);
    qb__macros_add(&packing, "TRANSPOSED", plan->values[TRANSPOSED]);
    QB__OR_RETURN(qb__cone_build(plan->device, "bp_cone_pack", &packing, &plan->pack_program, &plan->pack_kernel));
    QB__OR_RETURN(qb__cone_build(plan->device, shuffled ? "bp_cone_shuffle" : "bp_cone_plain", &macros, &plan->program,
                                 &plan->kernel));
    if (shuffled) QB__OR_RETURN(qb__kernel_get(plan->program, "bp_cone_turn", &plan->turn));
    return QB_OK;
}

static void destroy(qb__bp_cone_plan *plan) {
    if (!plan) return;
    qb__texture_destroy(plan->texture);
    QB__MEMORY_DESTROY(plan->matrices, plan->lines);
    qb__program_release(plan->program);
    qb__program_release(plan->pack_program);
    QB__FREE(plan->constants, plan);
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
                               .pitch = (int32_t)pitch_of(problem, most, values),
                               .height = (int32_t)height_of(problem, most, values),
                               .rows = rows_of_lines(problem)};
    memcpy(plan->values, values, sizeof plan->values);
    const char *why = values[SHUFFLED] ? qb__cone_turns_of(problem, 1, values[MIRROR], &plan->symmetry) : NULL;
    QB__TRY(why ? qb__fail(QB_UNSUPPORTED, "%s", why) : QB_OK);
    QB__TRY(build(plan));
    QB__TRY(make_matrices(plan));
    if (values[SHUFFLED]) QB__TRY(qb__memory_create(device, lines_bytes(problem), &plan->lines));
    if (textured(values)) QB__TRY(qb__texture_create(device, &shape, &plan->texture));
    *out = plan;
out:
    if (status != QB_OK) destroy(plan);
    return status;
}

/* ---- work ---- */

static qb_status pack(qb__bp_cone_plan *plan, qb__queue *queue, const qb__memory *rows, size_t offset,
                      size_t view_stride, size_t row_stride, size_t view0, size_t view1, qb__bp_cone_window window,
                      qb__memory *packed) {
    const qb__cone_images images = {rows,   offset,       view_stride, row_stride, plan->problem.columns,
                                    window, view1 - view0};
    qb_status status = qb__cone_pack(plan->pack_kernel, queue, &images, plan->pitch, plan->height, packed);
    return status == QB_OK && plan->texture ? qb__texture_load(queue, plan->texture, packed, 0) : status;
}

/* Arguments of every launch about the scan and its views: views from `first` on, images from `image` on. */
enum { SCAN_ARGS = 10 };
typedef struct scan_args {
    int32_t first, views, image, columns, r0, r1;
} scan_args;

static void tell_scan(const qb__bp_cone_plan *plan, const scan_args *s, const qb__memory *packed, qb__arg *args) {
    const qb__arg all[SCAN_ARGS] = {
        plan->texture ? QB__TEXTURE(plan->texture) : QB__MEMORY(packed),
        plan->constants ? (qb__arg){QB__ARG_VALUE, plan->constants + s->first, LAUNCH * sizeof *plan->constants}
                        : QB__MEMORY(plan->matrices),
        QB__VALUES(s->first, s->views, s->image, s->columns, s->r0, s->r1, plan->pitch, plan->height)};
    memcpy(args, all, sizeof all);
}

/* One run: slices z0 to z1 of the grid, at `out_at` of `out`. */
typedef struct pass {
    const qb__memory *packed;
    qb__memory *out;
    uint64_t out_at;
    size_t z0, z1;
} pass;

static qb_status launch_plain(qb__bp_cone_plan *plan, qb__queue *queue, const pass *a, const scan_args *scan,
                              bool more) {
    const qb__bp_cone_problem *p = &plan->problem;
    const int32_t nx = (int32_t)p->nx, ny = (int32_t)p->ny, nz = (int32_t)p->nz, z0 = (int32_t)a->z0;
    const int32_t z1 = (int32_t)a->z1, add = more;
    const size_t lanes = (size_t)plan->values[LANES];
    qb__arg args[SCAN_ARGS + 8] = {{0}};
    const qb__arg rest[] = {QB__MEMORY(a->out), QB__VALUES(a->out_at, nx, ny, nz, z0, z1, add)};
    tell_scan(plan, scan, a->packed, args);
    memcpy(args + SCAN_ARGS, rest, sizeof rest);
    /* An item of RTK's kernel owns one voxel, one of RabbitCT's a line of every fourth voxel. */
    const size_t groups[3] = {qb__ceil_div(p->nx, SIDE), qb__ceil_div(p->ny, SIDE), lanes > 1 ? 1 : a->z1 - a->z0};
    const size_t items[3] = {SIDE * SIDE * lanes, 1, 1};
    return qb__kernel_launch(plan->kernel, queue, groups, items, args, sizeof args / sizeof *args);
}

static qb_status run_plain(qb__bp_cone_plan *plan, qb__queue *queue, const pass *a, scan_args scan, bool more) {
    const int32_t first = scan.first, end = first + scan.views, step = plan->values[VIEWS];
    qb_status status = QB_OK;
    for (int32_t v = first; v < end && status == QB_OK; v += step) {
        scan.first = v, scan.image = v - first, scan.views = end - v < step ? end - v : step;
        status = launch_plain(plan, queue, a, &scan, more || v > first);
    }
    return status;
}

/* Slices middle + h and, mirrored, twice_z - that, for heights h0 <= h < h1: all slices to be computed. */
typedef struct heights {
    int32_t middle, h0, h1;
} heights;

static int32_t least(int32_t a, int32_t b) { return a < b ? a : b; }
static int32_t most_of(int32_t a, int32_t b) { return a > b ? a : b; }

static heights heights_of(const qb__bp_cone_plan *plan, int32_t z0, int32_t z1) {
    const int32_t twice = plan->symmetry.twice_z;
    if (!plan->values[MIRROR]) return (heights){0, z0, z1};
    const int32_t middle = twice >= 0 ? (twice + 1) / 2 : -(-twice / 2);
    const int32_t up0 = most_of(z0 - middle, 0), up1 = z1 - middle;
    const int32_t down0 = most_of(twice - z1 + 1 - middle, 0), down1 = twice - z0 + 1 - middle;
    if (up0 >= up1) return (heights){middle, down0, down1};
    if (down0 >= down1) return (heights){middle, up0, up1};
    return (heights){middle, least(up0, down0), most_of(up1, down1)};
}

static qb_status turn(qb__bp_cone_plan *plan, qb__queue *queue, const pass *a, size_t y0, size_t rows, bool back) {
    const qb__bp_cone_problem *p = &plan->problem;
    const int32_t nx = (int32_t)p->nx, ny = (int32_t)p->ny, from = (int32_t)y0, slices = (int32_t)(a->z1 - a->z0);
    const int32_t way = back;
    const qb__arg args[] = {QB__MEMORY(a->out), QB__VALUE(a->out_at), QB__MEMORY(plan->lines),
                            QB__VALUES(nx, ny, from, slices, way)};
    const size_t groups[3] = {qb__ceil_div(p->nx, TILE), qb__ceil_div(a->z1 - a->z0, TILE), rows};
    const size_t items[3] = {TILE * TILE, 1, 1};
    return qb__kernel_launch(plan->turn, queue, groups, items, args, sizeof args / sizeof *args);
}

static qb_status launch_shuffle(qb__bp_cone_plan *plan, qb__queue *queue, const pass *a, const scan_args *scan,
                                size_t row0, size_t rows, bool more) {
    const qb__bp_cone_problem *p = &plan->problem;
    const int32_t nx = (int32_t)p->nx, ny = (int32_t)p->ny, nz = (int32_t)p->nz, y0 = (int32_t)row0;
    const int32_t z0 = (int32_t)a->z0, z1 = (int32_t)a->z1, add = more;
    const heights h = heights_of(plan, z0, z1);
    qb__arg args[SCAN_ARGS + 13] = {{0}};
    const qb__arg rest[] = {QB__MEMORY(plan->lines), QB__VALUES(nx, ny, nz, y0, z0, z1, h.h0, h.h1, h.middle,
                                                                plan->symmetry.twice_z, plan->symmetry.twice_row, add)};
    tell_scan(plan, scan, a->packed, args);
    memcpy(args + SCAN_ARGS, rest, sizeof rest);
    const size_t groups[3] = {qb__ceil_div((size_t)(h.h1 - h.h0), WARP), qb__ceil_div(p->nx, WARPS), rows};
    const size_t items[3] = {WARP * WARPS, 1, 1};
    return qb__kernel_launch(plan->kernel, queue, groups, items, args, sizeof args / sizeof *args);
}

/* Some rows of the grid: transpose them to lines, add all views, and transpose them back. */
static qb_status run_rows(qb__bp_cone_plan *plan, qb__queue *queue, const pass *a, scan_args scan, size_t y0,
                          size_t rows, bool more) {
    const int32_t first = scan.first, end = first + scan.views, step = plan->values[VIEWS];
    qb_status status = more ? turn(plan, queue, a, y0, rows, false) : QB_OK;
    for (int32_t v = first; v < end && status == QB_OK; v += step) {
        scan.first = v, scan.image = v - first, scan.views = end - v < step ? end - v : step;
        status = launch_shuffle(plan, queue, a, &scan, y0, rows, more || v > first);
    }
    return status == QB_OK ? turn(plan, queue, a, y0, rows, true) : status;
}

static qb_status run(qb__bp_cone_plan *plan, qb__queue *queue, const qb__memory *packed, size_t view0, size_t view1,
                     qb__bp_cone_window window, size_t z0, size_t z1, qb__memory *out, size_t offset, bool more) {
    const pass a = {packed, out, offset / sizeof(float), z0, z1};
    const scan_args scan = {.first = (int32_t)view0,
                            .views = (int32_t)(view1 - view0),
                            .columns = (int32_t)plan->problem.columns,
                            .r0 = (int32_t)window.r0,
                            .r1 = (int32_t)window.r1};
    if (!plan->values[SHUFFLED]) return run_plain(plan, queue, &a, scan, more);
    qb_status status = QB_OK;
    for (size_t y = 0; y < plan->problem.ny && status == QB_OK; y += plan->rows)
        status = run_rows(plan, queue, &a, scan, y, qb__smaller(plan->rows, plan->problem.ny - y), more);
    return status;
}

#define ROW(name, class, how, image, turned, constants, prefetch, lanes, ...)                                          \
    {                                                                                                                  \
        HEAD(QB__BP_CONE, name, QB_INTERP_LINEAR, QB__API_CUDA | QB__API_OPENCL, class, how, 0, 0, unusable, cost,     \
             P("SHUFFLED", !lanes), P("IMAGE", image), P("TRANSPOSED", turned), P("CONSTANTS", constants),             \
             P("PREFETCH", prefetch), P("LANES", lanes), __VA_ARGS__),                                                 \
            .head.named_only = true, .layer = layer, .mirrored = mirrored, .packed_bytes = packed_bytes,               \
            .plan_bytes = plan_bytes, .plan = make_plan, .pack = pack, .run = run, .destroy = destroy                  \
    }
#define PLAIN(name, class, how, image, constants, prefetch, lanes, ...)                                                \
    ROW("bp_cone_matrix." name, class, how, image, 0, constants, prefetch, lanes, P("MIRROR", 0),                      \
        P("VIEWS", __VA_ARGS__))
#define SHFL(name, how, image, turned)                                                                                 \
    ROW("bp_cone_circular." name, QB_ACCURACY_NORMAL, "iFDK paper: u and 1/w by shuffles, z fastest, " how, image,     \
        turned, 1, 1, 0, P("MIRROR", 1, 0), P("VIEWS", 32))

static const qb__bp_cone_device_variant rows[] = {
    PLAIN("naive", QB_ACCURACY_NORMAL, "RabbitCT paper: image and matrix in memory", IN_MEMORY, 0, 0, 4, 1),
    PLAIN("naive-texture", QB_ACCURACY_FAST, "RabbitCT paper: the image in a texture", INTERPOLATED, 0, 0, 4, 1),
    PLAIN("naive-constant", QB_ACCURACY_FAST, "RabbitCT paper: and the matrix in constant memory", INTERPOLATED, 1, 0,
          4, 1),
    PLAIN("naive-views", QB_ACCURACY_FAST, "RabbitCT paper: and several views a launch, voxels prefetched",
          INTERPOLATED, 1, 1, 4, 4, 1, 2, 8, 16, 32),
    PLAIN("rtk-32", QB_ACCURACY_NORMAL, "iFDK paper: RTK's kernel, blended in single precision", BY_PIXEL, 1, 1, 1, 32),
    SHFL("bp-tex", "images in textures", BY_PIXEL, 0),
    SHFL("tex-tran", "transposed images in textures", BY_PIXEL, 1),
    SHFL("bp-l1", "images through L1", THROUGH_L1, 0),
    SHFL("l1-tran", "transposed images through L1", THROUGH_L1, 1),
};

const qb__bp_cone_family qb__bp_cone_papers_rows = {rows, sizeof rows / sizeof *rows};
