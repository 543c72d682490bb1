/* SPDX-License-Identifier: MIT */
/* Trials of a cone beam on the CPU. The threads of a pool compute the whole problem; one thread computes a block in the
 * middle of the grid with a few views of the circle. */
#include <math.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/status.h"
#include "bench/trial/trial_kind.h"
#include "cpu/bp_cone/bp_cone.h"

enum {
    VIEWS = 32,   /* largest number of views of one thread; the speed per view does not depend on it */
    EDGE = 64,    /* voxels of the block along x and y */
    IMAGES = 4,   /* number of different images: view v shows image v % IMAGES */
    SAMPLES = 500 /* number of voxels that are checked */
};

typedef struct cpu_trial {
    qb__cone_trial cone;
    qb__bp_cone_problem few; /* the problem with the views that are used */
    float *images;           /* [IMAGES][rows][columns] */
    qb__bp_cone_brick brick;
    float *block; /* values of the brick */
    /* used during an attempt */
    size_t tasks[3]; /* bricks of the kernel along x, y and z */
} cpu_trial;

static const qb__bp_cone_variant *variant_of(const cpu_trial *t) {
    return (const qb__bp_cone_variant *)t->cone.base.row;
}

static qb__bp_cone_window whole(const cpu_trial *t) { return (qb__bp_cone_window){0, t->cone.problem.rows}; }

static size_t image(const cpu_trial *t) { return t->cone.problem.rows * t->cone.problem.columns; }

static const float *image_of(const cpu_trial *t, size_t view) { return t->images + view % IMAGES * image(t); }

static size_t voxels(const cpu_trial *t) {
    return (t->brick.x1 - t->brick.x0) * (t->brick.y1 - t->brick.y0) * t->cone.problem.nz;
}

/* ---- the problem ---- */

/* Bricks of kernels begin at multiples of their size, so the block does, too. */
static void middle(size_t n, size_t *from, size_t *to) {
    const size_t edge = qb__smaller(n, EDGE);
    *from = (n - edge) / 2 / EDGE * EDGE;
    *to = *from + edge;
}

static qb_status make(qb__trial *trial, const qb__trial_sizes *sizes) {
    cpu_trial *t = (cpu_trial *)trial;
    QB__OR_RETURN(qb__cone_trial_make(&t->cone, sizes));
    t->few = t->cone.problem;
    t->brick = (qb__bp_cone_brick){.x1 = sizes->nx, .y1 = sizes->ny, .z1 = sizes->nz};
    if (!trial->pool) {
        t->few.views = qb__smaller(sizes->views, VIEWS);
        middle(sizes->nx, &t->brick.x0, &t->brick.x1);
        middle(sizes->ny, &t->brick.y0, &t->brick.y1);
    }
    QB__OR_RETURN(qb__alloc(IMAGES * image(t), sizeof *t->images, &t->images));
    QB__OR_RETURN(qb__alloc(voxels(t), sizeof *t->block, &t->block));
    qb__noise(t->images, IMAGES * image(t), 20262);
    return QB_OK;
}

static void release(qb__trial *trial) {
    cpu_trial *t = (cpu_trial *)trial;
    qb__cone_trial_release(&t->cone);
    QB__FREE(t->images, t->block);
}

/* ---- one attempt ---- */

/* Voxels of a task along an axis. */
static size_t side(const cpu_trial *t, int axis, size_t all) {
    const size_t wanted = variant_of(t)->brick[axis];
    return wanted ? wanted : all;
}

static qb_status open_attempt(qb__trial *trial, qb__trial_result *result) {
    cpu_trial *t = (cpu_trial *)trial;
    const qb__bp_cone_variant *variant = variant_of(t);
    const size_t n[3] = {t->brick.x1 - t->brick.x0, t->brick.y1 - t->brick.y0, t->brick.z1};
    for (int i = 0; i < 3; i++) t->tasks[i] = qb__ceil_div(n[i], side(t, i, n[i]));
    trial->scratch_bytes = variant->scratch_bytes(&t->few);
    result->block = t->few.views;
    result->packed_bytes = t->few.views * variant->view_bytes(&t->few, whole(t));
    for (size_t i = 0; i < voxels(t); i++) t->block[i] = NAN;
    return QB_OK;
}

static void pack_view(void *context, size_t view, int worker) {
    const cpu_trial *t = context;
    (void)worker;
    variant_of(t)->pack(&t->few, view, whole(t), image_of(t, view), t->few.columns,
                        t->cone.base.views_packed + view * variant_of(t)->view_bytes(&t->few, whole(t)));
}

static qb_status pack(qb__trial *trial) {
    qb__trial_each(trial, ((const cpu_trial *)trial)->few.views, pack_view);
    return QB_OK;
}

static void add_brick(void *context, size_t task, int worker) {
    const cpu_trial *t = context;
    const qb__bp_cone_brick all = t->brick;
    const size_t nx = all.x1 - all.x0, ny = all.y1 - all.y0, before = (all.y0 * nx + all.x0) * sizeof *t->block;
    const size_t begin[3] = {all.x0, all.y0, all.z0}, end[3] = {all.x1, all.y1, all.z1};
    size_t from[3], to[3];
    for (int i = 0; i < 3; i++) {
        const size_t edge = side(t, i, end[i] - begin[i]);
        from[i] = begin[i] + task % t->tasks[i] * edge;
        to[i] = qb__smaller(from[i] + edge, end[i]);
        task /= t->tasks[i];
    }
    const qb__bp_cone_brick b = {from[0], to[0], from[1], to[1], from[2], to[2]};
    variant_of(t)->run(&t->few, 0, t->few.views, t->cone.base.views_packed, whole(t), b,
                       (float *)((uintptr_t)t->block - before), ny * nx, nx, false,
                       t->cone.base.scratch + (size_t)worker * t->cone.base.scratch_bytes);
}

static qb_status pass(qb__trial *trial) {
    const size_t *n = ((const cpu_trial *)trial)->tasks;
    qb__trial_each(trial, n[0] * n[1] * n[2], add_brick);
    return QB_OK;
}

static qb_status error_of(qb__trial *trial, double *rel_l2) {
    const cpu_trial *t = (cpu_trial *)trial;
    const qb__bp_cone_brick b = t->brick;
    const size_t nx = b.x1 - b.x0, ny = b.y1 - b.y0;
    double error = 0, norm = 0;
    for (size_t n = 0; n < SAMPLES; n++) {
        const size_t x = n * 7919 % nx, y = n * 104729 % ny, z = n * 1299709 % t->few.nz;
        double want = 0;
        for (size_t v = 0; v < t->few.views; v++)
            want += qb__bp_cone_reference(&t->few, v, image_of(t, v), t->few.columns, b.x0 + x, b.y0 + y, z);
        const double d = (double)t->block[(z * ny + y) * nx + x] - want;
        error += d * d;
        norm += want * want;
    }
    *rel_l2 = sqrt(error / norm);
    return QB_OK;
}

static double updates(const qb__trial *trial) {
    const cpu_trial *t = (const cpu_trial *)trial;
    return (double)voxels(t) * (double)t->few.views;
}

const qb__trial_kind qb__trial_cone_cpu = {.operation = QB__BP_CONE,
                                           .bytes = sizeof(cpu_trial),
                                           .problem = offsetof(cpu_trial, cone.problem),
                                           .make = make,
                                           .release = release,
                                           .open = open_attempt,
                                           .pack = pack,
                                           .pass = pass,
                                           .error = error_of,
                                           .updates = updates};
