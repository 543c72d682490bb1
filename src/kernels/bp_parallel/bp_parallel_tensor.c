/* SPDX-License-Identifier: MIT */
#include "bp_parallel_tensor_sizes.h"

#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/status.h"
#include "kernels/macros.h"
#include "kernels/rows_table.h"

/* Rows of the tensor family; see bp_parallel_linear_tensor.cu for the method. Data are scaled by a power of two per
 * slice, so that the largest value is below 2^14, and the sums are scaled back. */

enum {
    PACK_ITEMS = 256,
    PACK_COLUMNS = 64,
    PACK_VIEWS_MAX = 32768, /* most views of a launch */
    PACK_GROUPS = 8,        /* most groups of a launch; the kernel's GROUPS */
};

/* Arguments of a launch, with the same layout as in the kernels. */
typedef struct run_job {
    uint64_t out_offset;
    uint32_t views, columns, nx, ny, slices, packed_views;
} run_job;

typedef struct pack_job {
    uint64_t view_stride, slice_stride, offset, scales_at;
    uint32_t view0, packed_views, columns, slices, group, unused;
    float scale[PACK_GROUPS][QB__TENSOR_SLICES];
} pack_job;

typedef struct tensor_plan {
    qb__bp_parallel_problem problem;
    qb__tensor_sizes sizes;
    uint32_t views; /* number of views, including padding views */
    size_t groups, threads;
    qb__program *program, *pack_program;
    qb__kernel *kernel, *pack;
    qb__memory *list, *table, *shapes;
} tensor_plan;

static void destroy(qb__bp_parallel_plan *opaque) {
    tensor_plan *plan = (tensor_plan *)opaque;
    if (!plan) return;
    QB__MEMORY_DESTROY(plan->list, plan->table, plan->shapes);
    qb__program_release(plan->program);
    qb__program_release(plan->pack_program);
    qb__free(plan);
}

/* Upload the sorted views and the table of distances. */
static qb_status upload_views(tensor_plan *plan, qb__device *device) {
    const qb__tensor_sizes *s = &plan->sizes;
    uint8_t shapes[QB__TENSOR_SHAPES][QB__TENSOR_STRIP];
    size_t count = qb__tensor_views_max(plan->problem.views, (unsigned)s->views), words;
    qb__tensor_view *list = NULL;
    uint32_t *table = NULL;
    qb_status status = qb__alloc(count, sizeof *list, &list);
    if (status) goto out;
    qb__tensor_views_make(&plan->problem, s->bins, (unsigned)s->views, list, &count);
    plan->views = (uint32_t)count;
    words = qb__tensor_table_words(count, s->bins, s->planes == 2);
    status = qb__alloc(words, sizeof *table, &table);
    if (status) goto out;
    qb__tensor_table_make(list, count, s->bins, s->planes == 2, table);
    qb__tensor_shapes(shapes);
    status = qb__layout_upload(device, list, count * sizeof *list, &plan->list);
    if (!status) status = qb__layout_upload(device, table, words * sizeof *table, &plan->table);
    if (!status) status = qb__layout_upload(device, shapes, sizeof shapes, &plan->shapes);
out:
    QB__FREE(list, table);
    return status;
}

/* Memory of upload_views() if each shape had padding views. */
static size_t plan_bytes(const qb__device *device, const qb__bp_parallel_problem *problem, unsigned slices,
                         const int *values) {
    qb__tensor_sizes s;
    (void)slices;
    if (!qb__tensor_choose(qb__device_info_of(device), problem, values, &s)) return 0;
    const size_t count = qb__tensor_views_max(problem->views, (unsigned)s.views);
    return count * sizeof(qb__tensor_view) + QB__TENSOR_SHAPES * QB__TENSOR_STRIP +
           qb__tensor_table_words(count, s.bins, s.planes == 2) * sizeof(uint32_t);
}

static qb_status build(tensor_plan *plan, qb__device *device, const int *values) {
    const qb__tensor_sizes *s = &plan->sizes;
    qb__macros macros = {.count = 0}, pack = {.count = 0};
    qb__macros_add(&macros, "BINS", s->bins);
    qb__macros_add(&macros, "ROWS", s->rows);
    qb__macros_add(&macros, "VIEWS", s->views);
    qb__macros_add(&macros, "STAGES", s->stages);
    qb__macros_add(&macros, "SPLIT", values[QB__TENSOR_SPLIT]);
    qb__macros_add(&macros, "PAIRS_UNROLLED", values[QB__TENSOR_UNROLL]);
    qb__macros_add(&pack, "PAD", s->rows);
    qb__macros_add(&pack, "SPLIT", values[QB__TENSOR_SPLIT]);
    qb_status status = qb__program_build(device, "bp_parallel_linear_tensor.cu", macros.list, &plan->program);
    if (!status) status = qb__kernel_get(plan->program, "bp_parallel_linear_tensor", &plan->kernel);
    if (!status)
        status = qb__program_build(device, "bp_parallel_linear_tensor_pack.cu", pack.list, &plan->pack_program);
    if (!status) status = qb__kernel_get(plan->pack_program, "bp_parallel_linear_tensor_pack", &plan->pack);
    return status;
}

static qb_status make_plan(qb__device *device, const qb__bp_parallel_problem *problem, unsigned slices,
                           const int *values, qb__bp_parallel_plan **out) {
    const qb__device_info *info = qb__device_info_of(device);
    tensor_plan *plan;
    (void)slices;
    *out = NULL;
    const char *why = qb__tensor_unusable(info, problem, values);
    if (why) return qb__fail(QB_UNSUPPORTED, "the tensor kernel on %s %s", info->spec, why);
    qb_status status = qb__alloc(1, sizeof *plan, &plan);
    if (status) return status;
    plan->problem = *problem;
    qb__tensor_choose(info, problem, values, &plan->sizes);
    plan->groups = info->multiprocessors;
    /* As THREADS in the kernel. */
    plan->threads = 32 * (QB__TENSOR_WARPS + (info->arch == 90 && info->arch_specific ? 4 : 1));
    status = build(plan, device, values);
    if (!status) status = upload_views(plan, device);
    if (status) {
        destroy((qb__bp_parallel_plan *)plan);
        return status;
    }
    *out = (qb__bp_parallel_plan *)plan;
    return QB_OK;
}

/* A power of two that brings the largest value to between 2^13 and 2^14. */
static float scale_of(float largest) {
    int exponent;
    if (!(largest > 0 && isfinite(largest))) return 1;
    frexpf(largest, &exponent);
    return ldexpf(1, exponent < -106 ? 120 : 14 - exponent); /* the inverse must not be subnormal */
}

static size_t plan_group_bytes(const tensor_plan *plan) {
    const qb__tensor_sizes *s = &plan->sizes;
    return plan->problem.views * (size_t)s->planes * (plan->problem.columns + 2 * (size_t)s->rows) *
           QB__TENSOR_ROW_BYTES;
}

/* Sets the scales of the slices from the job's first group on. */
static void set_scales(pack_job *job, const float *largest, size_t slices) {
    size_t slice = (size_t)job->group * QB__TENSOR_SLICES;
    for (size_t g = 0; g < PACK_GROUPS; g++)
        for (size_t s = 0; s < QB__TENSOR_SLICES; s++, slice++)
            job->scale[g][s] = slice < slices ? scale_of(largest[slice]) : 1;
}

static qb_status pack(qb__bp_parallel_plan *opaque, qb__queue *queue, const qb__memory *rows, size_t offset,
                      size_t view_stride, size_t slice_stride, size_t view0, size_t view1, unsigned slices,
                      qb__memory *packed) {
    const tensor_plan *plan = (const tensor_plan *)opaque;
    const size_t groups = qb__ceil_div(slices, QB__TENSOR_SLICES);
    const size_t rows_max = (size_t)plan->sizes.rows;
    /* As SHIFT in the kernel. */
    const size_t shift = (PACK_COLUMNS - rows_max % PACK_COLUMNS) % PACK_COLUMNS;
    const size_t across = qb__ceil_div(plan->problem.columns + 2 * rows_max + shift, PACK_COLUMNS);
    const size_t items[3] = {PACK_ITEMS, 1, 1};
    pack_job job = {.view_stride = view_stride,
                    .slice_stride = slice_stride,
                    .scales_at = groups * plan_group_bytes(plan),
                    .packed_views = (uint32_t)plan->problem.views,
                    .columns = (uint32_t)plan->problem.columns,
                    .slices = slices};
    const qb__arg args[] = {QB__MEMORIES(rows, packed), QB__VALUE(job)};
    qb_status status = QB_OK;
    for (size_t g = 0; g < groups && !status; g += PACK_GROUPS) {
        const size_t some = groups - g < PACK_GROUPS ? groups - g : PACK_GROUPS;
        job.group = (uint32_t)g;
        set_scales(&job, plan->problem.largest, slices);
        for (size_t v = view0; v < view1 && !status; v += PACK_VIEWS_MAX) {
            const size_t count = view1 - v < PACK_VIEWS_MAX ? view1 - v : PACK_VIEWS_MAX;
            const size_t grid[3] = {across, count, some};
            job.view0 = (uint32_t)v;
            job.offset = offset / sizeof(float) + (v - view0) * view_stride;
            status = qb__kernel_launch(plan->pack, queue, grid, items, args, 3);
        }
    }
    return status;
}

static qb_status run(qb__bp_parallel_plan *opaque, qb__queue *queue, const qb__memory *packed, unsigned slices,
                     qb__memory *out, size_t offset) {
    const tensor_plan *plan = (const tensor_plan *)opaque;
    const qb__bp_parallel_problem *problem = &plan->problem;
    const run_job job = {.out_offset = offset / sizeof(float),
                         .views = plan->views,
                         .columns = (uint32_t)problem->columns,
                         .nx = (uint32_t)problem->nx,
                         .ny = (uint32_t)problem->ny,
                         .slices = slices,
                         .packed_views = (uint32_t)problem->views};
    const qb__arg args[] = {QB__MEMORIES(packed, plan->list, plan->table, plan->shapes, out), QB__VALUE(job),
                            QB__LOCAL(plan->sizes.dynamic_bytes)};
    const size_t grid[3] = {plan->groups, 1, 1}, items[3] = {plan->threads, 1, 1};
    return qb__kernel_launch(plan->kernel, queue, grid, items, args, sizeof args / sizeof *args);
}

#define ROW(name, class, text, ...)                                                                                    \
    {                                                                                                                  \
        HEAD(QB__BP_PARALLEL, name, QB_INTERP_LINEAR, QB__API_CUDA, class, text, QB__TENSOR_SLICES, 0,                 \
             qb__tensor_unusable, qb__tensor_cost, __VA_ARGS__),                                                       \
            .packed_bytes = qb__tensor_packed_bytes, .plan_bytes = plan_bytes, .plan = make_plan, .pack = pack,        \
            .run = run, .destroy = destroy                                                                             \
    }

static const qb__bp_parallel_device_variant rows[] = {
    ROW("bp_parallel_linear.tensor", QB_ACCURACY_NORMAL, "Tensor cores: interpolation as a matrix product, half data",
        P("SPLIT", 0), P("VIEWS", 8, 4, 16), P("STAGES", 4, 2, 3, 8), P("PAIRS_UNROLLED", 4, 2, 1)),
    ROW("bp_parallel_linear.tensor_split", QB_ACCURACY_HIGH, "Tensor cores: three products of high and low halves",
        P("SPLIT", 1), P("VIEWS", 4, 8), P("STAGES", 4, 2, 3), P("PAIRS_UNROLLED", 1, 2)),
};
const qb__bp_parallel_rows qb__bp_parallel_tensor_rows = {rows, sizeof rows / sizeof *rows};
