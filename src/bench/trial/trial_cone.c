/* SPDX-License-Identifier: MIT */
/* Trials of a cone beam on devices. */
#include <math.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/status.h"
#include "bench/trial/trial_kind.h"
#include "kernels/bp_cone/bp_cone_device.h"

enum {
    NOISE = 13,   /* number of different images; few, so that large problems start fast */
    BLOCK = 128,  /* views at a time: image i of every block shows noise i % NOISE */
    SLICES = 8,   /* slices that are checked */
    SAMPLES = 125 /* voxels that are checked in each slice */
};

typedef struct device_trial {
    qb__cone_trial cone;
    float *noise; /* [NOISE][rows][columns]; base.rows: [block] of them */
    /* used during an attempt */
    qb__bp_cone_plan *plan;
    size_t turns;
} device_trial;

static const qb__bp_cone_device_variant *variant_of(const device_trial *t) {
    return qb__bp_cone_on_device(t->cone.base.row);
}

/* ---- the problem ---- */

static size_t image(const device_trial *t) { return t->cone.problem.rows * t->cone.problem.columns; }
static size_t slice(const device_trial *t) { return t->cone.problem.nx * t->cone.problem.ny; }
static size_t block(const device_trial *t) { return qb__smaller(BLOCK, t->cone.problem.views); }

/* Position of a view within its block, which consists of `turns` ranges of views. */
static size_t place_in_block(const device_trial *t, size_t view, size_t turns) {
    const size_t apart = t->cone.problem.views / turns, range = block(t) / turns;
    return view / apart * range + view % apart % range;
}

static const float *image_of(const device_trial *t, size_t place) { return t->noise + place % NOISE * image(t); }

static qb_status make_noise(device_trial *t) {
    const size_t bytes = image(t) * sizeof(float);
    QB__OR_RETURN(qb__alloc(NOISE, bytes, &t->noise));
    qb__noise(t->noise, NOISE * image(t), 20261);
    QB__OR_RETURN(qb__memory_create(t->cone.base.device, block(t) * bytes, &t->cone.base.rows));
    for (size_t i = 0; i < block(t); i++)
        QB__OR_RETURN(qb__memory_upload(t->cone.base.queue, t->cone.base.rows, i * bytes, image_of(t, i), bytes));
    return qb__queue_finish(t->cone.base.queue);
}

static qb_status make(qb__trial *trial, const qb__trial_sizes *sizes) {
    device_trial *t = (device_trial *)trial;
    size_t bytes;
    QB__OR_RETURN(qb__cone_trial_make(&t->cone, sizes));
    QB__OR_RETURN(make_noise(t));
    QB__OR_RETURN(qb__mul(slice(t), sizes->nz, sizeof(float), &bytes) ? QB_OK
                                                                      : qb__fail(QB_NO_MEMORY, "too many voxels"));
    return qb__memory_create(trial->device, bytes, &trial->out);
}

static void release(qb__trial *trial) {
    device_trial *t = (device_trial *)trial;
    qb__cone_trial_release(&t->cone);
    qb__free(t->noise);
}

/* ---- one attempt ---- */

static qb_status open_attempt(qb__trial *trial, qb__trial_result *result) {
    device_trial *t = (device_trial *)trial;
    const qb__bp_cone_device_variant *variant = variant_of(t);
    const qb__bp_cone_most most = {block(t), t->cone.problem.rows};
    t->turns = qb__bp_cone_turns(variant, trial->values);
    result->block = block(t);
    result->packed_bytes = variant->packed_bytes(&t->cone.problem, most, trial->values);
    return variant->plan(trial->device, &t->cone.problem, most, trial->values, &t->plan);
}

static void close_attempt(qb__trial *trial) {
    device_trial *t = (device_trial *)trial;
    variant_of(t)->destroy(t->plan);
    t->plan = NULL;
}

static qb_status pack(qb__trial *trial) {
    device_trial *t = (device_trial *)trial;
    const qb__bp_cone_problem *p = &t->cone.problem;
    return variant_of(t)->pack(t->plan, trial->queue, t->cone.base.rows, 0, image(t), p->columns, 0,
                               block(t) / t->turns, (qb__bp_cone_window){0, p->rows}, trial->packed);
}

static qb_status pass(qb__trial *trial) {
    device_trial *t = (device_trial *)trial;
    const qb__bp_cone_problem *p = &t->cone.problem;
    const size_t range = block(t) / t->turns, views = p->views / t->turns;
    for (size_t v = 0; v < views; v += range) {
        const size_t end = qb__smaller(v + range, views);
        QB__OR_RETURN(variant_of(t)->run(t->plan, trial->queue, trial->packed, v, end, (qb__bp_cone_window){0, p->rows},
                                         0, p->nz, trial->out, 0, v > 0));
    }
    return QB_OK;
}

static qb_status error_of(qb__trial *trial, double *rel_l2) {
    const device_trial *t = (device_trial *)trial;
    const qb__bp_cone_problem *p = &t->cone.problem;
    double error = 0, norm = 0;
    float *one;
    qb_status status = qb__alloc(slice(t), sizeof *one, &one);
    for (size_t i = 0; status == QB_OK && i < SLICES; i++) {
        const size_t z = i * (p->nz - 1) / (SLICES - 1);
        status = qb__memory_download(trial->queue, trial->out, z * slice(t) * sizeof *one, one, slice(t) * sizeof *one);
        if (status == QB_OK) status = qb__queue_finish(trial->queue);
        for (size_t n = 0; status == QB_OK && n < SAMPLES; n++) {
            const size_t x = (n * 7919 + i) % p->nx, y = (n * 104729 + 31 * i) % p->ny;
            double want = 0;
            for (size_t v = 0; v < p->views; v++)
                want += qb__bp_cone_reference(p, v, image_of(t, place_in_block(t, v, t->turns)), p->columns, x, y, z);
            const double d = (double)one[y * p->nx + x] - want;
            error += d * d;
            norm += want * want;
        }
    }
    qb__free(one);
    *rel_l2 = sqrt(error / norm);
    return status;
}

const qb__trial_kind qb__trial_cone = {.operation = QB__BP_CONE,
                                       .on_device = true,
                                       .bytes = sizeof(device_trial),
                                       .problem = offsetof(device_trial, cone.problem),
                                       .make = make,
                                       .release = release,
                                       .open = open_attempt,
                                       .close = close_attempt,
                                       .pack = pack,
                                       .pass = pass,
                                       .error = error_of};
