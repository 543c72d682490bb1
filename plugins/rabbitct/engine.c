/* SPDX-License-Identifier: MIT */
#include "engine.h"

#include "base/pool.h"
#include "cpu/bp_cone.h"
#include "cpu/features.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { GROUP = 16 };

struct qb_rabbitct {
    qb__bp_cone_problem problem; /* of the views of one group */
    const qb__bp_cone_variant *variant;
    double matrix[GROUP][12];
    float largest[GROUP];
    float voxel, origin;
    size_t view_bytes, scratch_bytes;
    size_t waiting; /* packed, not yet added */
    size_t bricks[3];
    qb__pool *pool;
    char *packed, *scratch;
    const qb_rabbitct_view *incoming; /* what pack_task reads */
    float *volume;
};

static qb__bp_cone_window whole(const qb_rabbitct *e) {
    return (qb__bp_cone_window){0, e->problem.rows};
}

/* Voxel indices instead of millimetres, rows instead of columns. */
static void to_indices(const qb_rabbitct *e, const double *world, double out[12]) {
    const double voxel = (double)e->voxel, origin = (double)e->origin;
    for (int row = 0; row < 3; row++) {
        const double *m = world + row;
        for (int i = 0; i < 3; i++) out[4 * row + i] = m[3 * i] * voxel;
        out[4 * row + 3] = m[9] + origin * (m[0] + m[3] + m[6]);
    }
}

static const qb__bp_cone_variant *choose(const qb__bp_cone_problem *problem) {
    size_t count;
    const qb__bp_cone_variant *v = qb__bp_cone_variants(&count);
    const uint32_t features = qb__cpu_features();
    for (size_t i = 0; i < count; i++) {
        /* Any matrices may come; only these kernels take them all. */
        if (strncmp(v[i].id, "bp_cone_matrix.", strlen("bp_cone_matrix."))) continue;
        if ((features & v[i].features) == v[i].features && v[i].applicable(problem)) return v + i;
    }
    return NULL;
}

static size_t brick_extent(const qb_rabbitct *e, int axis) {
    size_t extent = e->variant->brick[axis];
    return extent ? extent : e->problem.nx;
}

static bool allocate(qb_rabbitct *e) {
    const char *wanted = getenv("RABBITCT_THREADS");
    int threads = wanted ? atoi(wanted) : 0;
    if (qb__pool_create(threads > 0 ? threads : 0, &e->pool) != QB_OK) return false;
    e->view_bytes = e->variant->view_bytes(&e->problem, whole(e));
    e->scratch_bytes = e->variant->scratch_bytes(&e->problem);
    if (e->view_bytes == 0 || e->view_bytes > SIZE_MAX / GROUP) return false;
    e->packed = aligned_alloc(64, GROUP * e->view_bytes);
    e->scratch = aligned_alloc(64, (size_t)qb__pool_threads(e->pool) * e->scratch_bytes);
    if (!e->packed || !e->scratch) return false;
    /* Pages are made now, not in the first timed call. */
    memset(e->packed, 0, GROUP * e->view_bytes);
    return true;
}

qb_rabbitct *qb_rabbitct_create(size_t size, size_t columns, size_t rows, float voxel,
                                float origin) {
    if (size == 0 || columns == 0 || rows == 0 || !(voxel > 0)) return NULL;
    qb_rabbitct *e = calloc(1, sizeof *e);
    if (!e) return NULL;
    e->problem = (qb__bp_cone_problem){.views = GROUP,
                                       .columns = columns,
                                       .rows = rows,
                                       .nx = size,
                                       .ny = size,
                                       .nz = size,
                                       .matrix = (const double(*)[12])e->matrix,
                                       .largest = e->largest};
    e->voxel = voxel, e->origin = origin;
    e->variant = choose(&e->problem);
    if (!e->variant || !allocate(e)) {
        qb_rabbitct_destroy(e);
        return NULL;
    }
    for (int i = 0; i < 3; i++) e->bricks[i] = (size + brick_extent(e, i) - 1) / brick_extent(e, i);
    return e;
}

void qb_rabbitct_destroy(qb_rabbitct *e) {
    if (!e) return;
    qb__pool_destroy(e->pool);
    free(e->packed);
    free(e->scratch);
    free(e);
}

static float largest_of(const float *image, size_t pixels) {
    float largest[16] = {0};
    size_t i = 0;
    for (; i + 16 <= pixels; i += 16)
        for (int k = 0; k < 16; k++) {
            float a = fabsf(image[i + (size_t)k]);
            largest[k] = a > largest[k] ? a : largest[k];
        }
    for (; i < pixels; i++) largest[0] = fmaxf(largest[0], fabsf(image[i]));
    for (int k = 1; k < 16; k++) largest[0] = fmaxf(largest[0], largest[k]);
    return largest[0];
}

static void pack_task(void *context, size_t task, int worker) {
    (void)worker;
    qb_rabbitct *e = context;
    const size_t slot = e->waiting + task;
    const float *image = e->incoming[task].image;
    e->largest[slot] = largest_of(image, e->problem.rows * e->problem.columns);
    e->variant->pack(&e->problem, slot, whole(e), image, e->problem.columns,
                     e->packed + slot * e->view_bytes);
}

static void brick_task(void *context, size_t task, int worker) {
    qb_rabbitct *e = context;
    size_t at[3], end[3];
    for (int i = 0; i < 3; i++) {
        at[i] = task % e->bricks[i] * brick_extent(e, i);
        end[i] = at[i] + brick_extent(e, i);
        if (end[i] > e->problem.nx) end[i] = e->problem.nx;
        task /= e->bricks[i];
    }
    const qb__bp_cone_brick brick = {at[0], end[0], at[1], end[1], at[2], end[2]};
    const size_t n = e->problem.nx;
    e->variant->run(&e->problem, 0, e->waiting, e->packed, whole(e), brick, e->volume, n * n, n,
                    true, e->scratch + (size_t)worker * e->scratch_bytes);
}

void qb_rabbitct_flush(qb_rabbitct *e, float *volume) {
    if (e->waiting == 0) return;
    e->volume = volume;
    qb__pool_for(e->pool, e->bricks[0] * e->bricks[1] * e->bricks[2], brick_task, e);
    e->waiting = 0;
}

static bool legal(const qb_rabbitct *e, size_t slot) {
    qb__bp_cone_problem one = e->problem;
    one.views = 1;
    one.matrix += slot;
    return qb__bp_cone_nearest(&one) > 0;
}

bool qb_rabbitct_add(qb_rabbitct *e, const qb_rabbitct_view *views, size_t count, float *volume) {
    while (count > 0) {
        size_t n = 0;
        bool good = true;
        while (n < count && e->waiting + n < GROUP && good) {
            to_indices(e, views[n].matrix, e->matrix[e->waiting + n]);
            good = legal(e, e->waiting + n);
            n += good;
        }
        e->incoming = views;
        if (n > 0) qb__pool_for(e->pool, n, pack_task, e);
        e->waiting += n;
        if (!good) return false;
        if (e->waiting == GROUP) qb_rabbitct_flush(e, volume);
        views += n;
        count -= n;
    }
    return true;
}

const char *qb_rabbitct_kernel(const qb_rabbitct *e) {
    return e->variant->id;
}
