/* SPDX-License-Identifier: MIT */
#include "bench/rabbitct_engine.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/pool.h"
#include "base/status.h"
#include "bench/rabbitct_check.h"
#include "cpu/bp_cone/bp_cone.h"
#include "io/plain/rabbitct.h"
#include "planner/choose.h"

enum { GROUP = QB__RABBITCT_GROUP, MOST_PARTS = 64 };

struct qb__rabbitct_engine {
    qb__bp_cone_problem problem; /* problem with the views of one group */
    const qb__bp_cone_variant *variant;
    double matrix[GROUP][12];
    float largest[GROUP];
    double voxel, origin;
    size_t view_bytes, scratch_bytes;
    size_t seen;    /* number of views so far */
    size_t waiting; /* packed but not added */
    size_t bricks[3];
    qb__pool *pool;
    char *packed, *scratch;
    const qb__rabbitct_input *incoming; /* source of pack_task */
    size_t parts;                       /* parts of a view while it is packed */
    float largest_of_part[GROUP * MOST_PARTS];
    float *volume;
    /* computes; NULL = the CPU, with all of the above; a device uses only problem and matrix */
    qb__rabbitct_device *device;
};

static qb__bp_cone_window whole(const qb__rabbitct_engine *e) { return (qb__bp_cone_window){0, e->problem.rows}; }

/* Choose a kernel. Matrices may be any, and only bp_cone_matrix accepts all. */
static qb_status choose(const qb__rabbitct_setup *setup, const qb__bp_cone_problem *problem,
                        const qb__bp_cone_variant **chosen) {
    qb__choice choice;
    qb_status status = qb__choose(&(qb__question){.operation = QB__BP_CONE,
                                                  .problem = problem,
                                                  .slices = 1,
                                                  .accuracy = setup->accuracy,
                                                  .id = setup->kernel,
                                                  .family = "bp_cone_matrix."},
                                  &choice);
    *chosen = (const qb__bp_cone_variant *)choice.variant;
    return status;
}

static size_t brick_extent(const qb__rabbitct_engine *e, int axis) {
    size_t extent = e->variant->brick[axis];
    return extent ? extent : e->problem.nx;
}

static qb_status allocate(qb__rabbitct_engine *e, int threads) {
    QB__OR_RETURN(qb__pool_create(threads, &e->pool));
    e->view_bytes = e->variant->view_bytes(&e->problem, whole(e));
    e->scratch_bytes = e->variant->scratch_bytes(&e->problem);
    qb_status status = qb__alloc(GROUP, e->view_bytes, &e->packed);
    if (status == QB_OK) status = qb__alloc((size_t)qb__pool_threads(e->pool), e->scratch_bytes, &e->scratch);
    /* Touch the pages now, not in the first timed call. */
    if (status == QB_OK) memset(e->packed, 0, GROUP * e->view_bytes);
    return status;
}

qb_status qb__rabbitct_engine_create(const qb__rabbitct_setup *setup, qb__rabbitct_engine **engine) {
    const size_t n = setup->size;
    qb__rabbitct_engine *e;
    *engine = NULL;
    if (n == 0 || setup->columns == 0 || setup->rows == 0 || !(setup->voxel > 0))
        return qb__fail(QB_BAD_ARGUMENT, "%zu^3 voxels of %g mm, %zu x %zu pixels: none may be zero", n, setup->voxel,
                        setup->columns, setup->rows);
    qb_status status = qb__alloc(1, sizeof *e, &e);
    if (status != QB_OK) return status;
    e->problem = (qb__bp_cone_problem){.views = GROUP,
                                       .columns = setup->columns,
                                       .rows = setup->rows,
                                       .nx = n,
                                       .ny = n,
                                       .nz = n,
                                       .matrix = (const double(*)[12])e->matrix,
                                       .largest = e->largest};
    e->voxel = setup->voxel, e->origin = setup->origin;
    if (setup->device) {
        status = qb__rabbitct_device_create(setup, &e->device);
        if (status == QB_OK)
            *engine = e;
        else
            qb__rabbitct_engine_destroy(e);
        return status;
    }
    status = choose(setup, &e->problem, &e->variant);
    if (status == QB_OK) status = allocate(e, setup->threads);
    if (status != QB_OK) {
        qb__rabbitct_engine_destroy(e);
        return status;
    }
    for (int i = 0; i < 3; i++) e->bricks[i] = (n + brick_extent(e, i) - 1) / brick_extent(e, i);
    *engine = e;
    return QB_OK;
}

void qb__rabbitct_engine_destroy(qb__rabbitct_engine *e) {
    if (!e) return;
    qb__rabbitct_device_destroy(e->device);
    qb__pool_destroy(e->pool);
    QB__FREE(e->packed, e->scratch, e);
}

static float largest_of(const float *image, size_t from, size_t to) {
    float largest[16] = {0};
    for (; from + 16 <= to; from += 16)
        for (int k = 0; k < 16; k++) {
            float a = fabsf(image[from + (size_t)k]);
            largest[k] = a > largest[k] ? a : largest[k];
        }
    for (; from < to; from++) largest[0] = fmaxf(largest[0], fabsf(image[from]));
    for (int k = 1; k < 16; k++) largest[0] = fmaxf(largest[0], largest[k]);
    return largest[0];
}

/* Part task % parts of incoming view task / parts. */
static void largest_task(void *context, size_t task, int worker) {
    (void)worker;
    qb__rabbitct_engine *e = context;
    const size_t part = task % e->parts, pixels = e->problem.rows * e->problem.columns;
    e->largest_of_part[task] =
        largest_of(e->incoming[task / e->parts].image, pixels * part / e->parts, pixels * (part + 1) / e->parts);
}

static void pack_task(void *context, size_t task, int worker) {
    (void)worker;
    qb__rabbitct_engine *e = context;
    const size_t slot = e->waiting + task / e->parts;
    e->variant->pack_part(&e->problem, slot, whole(e), e->incoming[task / e->parts].image, e->problem.columns,
                          e->packed + slot * e->view_bytes, task % e->parts, e->parts);
}

/* A single view is divided into parts for all threads. */
static void pack_views(qb__rabbitct_engine *e, size_t views) {
    const size_t threads = (size_t)qb__pool_threads(e->pool), parts = (threads + views - 1) / views;
    e->parts = parts < MOST_PARTS ? parts : MOST_PARTS;
    qb__pool_for(e->pool, views * e->parts, largest_task, e);
    for (size_t i = 0; i < views; i++) {
        e->largest[e->waiting + i] = 0;
        for (size_t k = 0; k < e->parts; k++)
            e->largest[e->waiting + i] = fmaxf(e->largest[e->waiting + i], e->largest_of_part[i * e->parts + k]);
    }
    qb__pool_for(e->pool, views * e->parts, pack_task, e);
}

static void brick_task(void *context, size_t task, int worker) {
    qb__rabbitct_engine *e = context;
    size_t at[3], end[3];
    for (int i = 0; i < 3; i++) {
        at[i] = task % e->bricks[i] * brick_extent(e, i);
        end[i] = at[i] + brick_extent(e, i);
        if (end[i] > e->problem.nx) end[i] = e->problem.nx;
        task /= e->bricks[i];
    }
    const qb__bp_cone_brick brick = {at[0], end[0], at[1], end[1], at[2], end[2]};
    const size_t n = e->problem.nx;
    e->variant->run(&e->problem, 0, e->waiting, e->packed, whole(e), brick, e->volume, n * n, n, true,
                    e->scratch + (size_t)worker * e->scratch_bytes);
}

qb_status qb__rabbitct_engine_begin(qb__rabbitct_engine *e) {
    e->waiting = e->seen = 0;
    return e->device ? qb__rabbitct_device_begin(e->device) : QB_OK;
}

static void add_waiting(qb__rabbitct_engine *e, float *volume) {
    if (e->waiting == 0) return;
    e->volume = volume;
    qb__pool_for(e->pool, e->bricks[0] * e->bricks[1] * e->bricks[2], brick_task, e);
    e->waiting = 0;
}

qb_status qb__rabbitct_engine_flush(qb__rabbitct_engine *e, float *volume) {
    if (e->device) return qb__rabbitct_device_flush(e->device, volume);
    add_waiting(e, volume);
    return QB_OK;
}

static qb_status check(const qb__rabbitct_engine *e, size_t slot, size_t view) {
    qb__bp_cone_problem one = e->problem;
    one.views = 1;
    one.matrix += slot;
    const double w = qb__bp_cone_nearest(&one);
    if (w > 0) return QB_OK;
    return qb__fail(QB_BAD_INPUT,
                    "view %zu: the cube's nearest corner has w = %g, not positive: the source "
                    "lies in or behind the cube",
                    view, w);
}

static qb_status add_on_device(qb__rabbitct_engine *e, const qb__rabbitct_input *views, size_t count) {
    qb_status status = QB_OK;
    for (size_t i = 0; i < count && status == QB_OK; i++) {
        qb__rabbitct_to_indices(views[i].matrix, e->voxel, e->origin, e->matrix[0]);
        status = check(e, 0, e->seen);
        if (status == QB_OK) status = qb__rabbitct_device_add(e->device, e->matrix[0], views[i].image);
        e->seen += status == QB_OK;
    }
    return status;
}

qb_status qb__rabbitct_engine_add(qb__rabbitct_engine *e, const qb__rabbitct_input *views, size_t count,
                                  float *volume) {
    if (e->device) return add_on_device(e, views, count);
    while (count > 0) {
        size_t n = 0;
        qb_status status = QB_OK;
        while (n < count && e->waiting + n < GROUP && status == QB_OK) {
            qb__rabbitct_to_indices(views[n].matrix, e->voxel, e->origin, e->matrix[e->waiting + n]);
            status = check(e, e->waiting + n, e->seen + n);
            n += status == QB_OK;
        }
        e->incoming = views;
        if (n > 0) pack_views(e, n);
        e->waiting += n;
        e->seen += n;
        if (status != QB_OK) return status;
        if (e->waiting == GROUP) add_waiting(e, volume);
        views += n;
        count -= n;
    }
    return QB_OK;
}

const qb__variant *qb__rabbitct_engine_kernel(const qb__rabbitct_engine *e) {
    return e->device ? qb__rabbitct_device_kernel(e->device) : &e->variant->head;
}

const char *qb__rabbitct_engine_device(const qb__rabbitct_engine *e) {
    return e->device ? qb__rabbitct_device_name(e->device) : NULL;
}

int qb__rabbitct_engine_threads(const qb__rabbitct_engine *e) {
    return e->device ? qb__rabbitct_device_threads(e->device) : qb__pool_threads(e->pool);
}
