/* SPDX-License-Identifier: MIT */
/* Trials of a cone beam on the CPU: one thread, a block in the grid's middle, a few views of the circle. */
#include <math.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/status.h"
#include "bench/trial/trial_kind.h"
#include "cpu/bp_cone/bp_cone.h"

enum {
    VIEWS = 32,   /* at most: a processor's speed is theirs, whatever the number */
    EDGE = 64,    /* voxels of the block along x and y */
    SAMPLES = 500 /* that are checked */
};

typedef struct cpu_trial {
    qb__cone_trial cone;
    qb__bp_cone_problem few; /* the views that are worked on */
    float *images;           /* [few][rows][columns] */
    qb__bp_cone_brick brick;
    float *block; /* [nz][edge][edge] */
    /* of an attempt */
    char *packed, *scratch;
} cpu_trial;

static const qb__bp_cone_variant *variant_of(const cpu_trial *t) {
    return (const qb__bp_cone_variant *)t->cone.base.row;
}

static qb__bp_cone_window whole(const cpu_trial *t) { return (qb__bp_cone_window){0, t->cone.problem.rows}; }

static size_t image(const cpu_trial *t) { return t->cone.problem.rows * t->cone.problem.columns; }

static size_t voxels(const cpu_trial *t) {
    return (t->brick.x1 - t->brick.x0) * (t->brick.y1 - t->brick.y0) * t->cone.problem.nz;
}

/* ---- the problem ---- */

/* Blocks of kernels begin at multiples of their own. */
static void middle(size_t n, size_t *from, size_t *to) {
    const size_t edge = qb__smaller(n, EDGE);
    *from = (n - edge) / 2 / EDGE * EDGE;
    *to = *from + edge;
}

static qb_status make(qb__trial *trial, const qb__trial_sizes *sizes) {
    cpu_trial *t = (cpu_trial *)trial;
    qb_status status;
    QB__TRY(qb__cone_trial_make(&t->cone, sizes));
    t->few = t->cone.problem;
    t->few.views = qb__smaller(sizes->views, VIEWS);
    t->brick = (qb__bp_cone_brick){.z1 = sizes->nz};
    middle(sizes->nx, &t->brick.x0, &t->brick.x1);
    middle(sizes->ny, &t->brick.y0, &t->brick.y1);
    QB__TRY(qb__alloc(t->few.views * image(t), sizeof *t->images, &t->images));
    QB__TRY(qb__alloc(voxels(t), sizeof *t->block, &t->block));
    qb__noise(t->images, t->few.views * image(t), 20262);
out:
    return status;
}

static void release(qb__trial *trial) {
    cpu_trial *t = (cpu_trial *)trial;
    qb__cone_trial_release(&t->cone);
    qb__free(t->images);
    qb__free(t->block);
}

/* ---- one attempt ---- */

static qb_status open_attempt(qb__trial *trial, qb__trial_result *result) {
    cpu_trial *t = (cpu_trial *)trial;
    const qb__bp_cone_variant *variant = variant_of(t);
    const size_t bytes = variant->view_bytes(&t->few, whole(t));
    qb_status status;
    result->block = t->few.views;
    result->packed_bytes = t->few.views * bytes;
    QB__TRY(qb__alloc(t->few.views, bytes, &t->packed));
    QB__TRY(qb__alloc(1, variant->scratch_bytes(&t->few), &t->scratch));
    for (size_t i = 0; i < voxels(t); i++) t->block[i] = NAN;
out:
    return status;
}

static void close_attempt(qb__trial *trial) {
    cpu_trial *t = (cpu_trial *)trial;
    qb__free(t->packed);
    qb__free(t->scratch);
    t->packed = t->scratch = NULL;
}

static qb_status pack(qb__trial *trial) {
    cpu_trial *t = (cpu_trial *)trial;
    const size_t bytes = variant_of(t)->view_bytes(&t->few, whole(t));
    for (size_t v = 0; v < t->few.views; v++)
        variant_of(t)->pack(&t->few, v, whole(t), t->images + v * image(t), t->few.columns, t->packed + v * bytes);
    return QB_OK;
}

static qb_status pass(qb__trial *trial) {
    cpu_trial *t = (cpu_trial *)trial;
    const qb__bp_cone_brick b = t->brick;
    const size_t nx = b.x1 - b.x0, ny = b.y1 - b.y0;
    const uintptr_t before = (b.y0 * nx + b.x0) * sizeof *t->block;
    variant_of(t)->run(&t->few, 0, t->few.views, t->packed, whole(t), b, (float *)((uintptr_t)t->block - before),
                       ny * nx, nx, false, t->scratch);
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
            want += qb__bp_cone_reference(&t->few, v, t->images + v * image(t), t->few.columns, b.x0 + x, b.y0 + y, z);
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
                                           .close = close_attempt,
                                           .pack = pack,
                                           .pass = pass,
                                           .error = error_of,
                                           .updates = updates};
