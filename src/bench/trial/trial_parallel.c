/* SPDX-License-Identifier: MIT */
/* Trials of a parallel beam on devices. */
#include <math.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/status.h"
#include "bench/trial/trial_kind.h"
#include "cpu/bp_parallel/bp_parallel.h"
#include "geometry/parallel.h"
#include "kernels/bp_parallel/bp_parallel_device.h"

enum {
    NOISE_VIEWS = 64, /* number of different views: view v shows noise v % 64, so that large problems start fast */
    SAMPLES = 96,     /* pixels checked in each of up to three slices */
};

typedef struct parallel_trial {
    qb__trial base;
    qb__bp_parallel_problem problem;
    double *coefficients;
    float *largest;
    float *noise; /* [NOISE_VIEWS][slices][columns]; base.rows: the same */
    /* used during an attempt */
    qb__bp_parallel_plan *plan;
} parallel_trial;

static const qb__bp_parallel_device_variant *variant_of(const parallel_trial *t) {
    return qb__bp_parallel_on_device(t->base.row);
}

/* ---- the problem ---- */

static size_t noise_views(const parallel_trial *t) {
    return t->problem.views < NOISE_VIEWS ? t->problem.views : NOISE_VIEWS;
}

static qb_status make_noise(parallel_trial *t) {
    size_t count = noise_views(t) * t->base.all * t->problem.columns;
    QB__OR_RETURN(qb__alloc(count, sizeof(float), &t->noise));
    QB__OR_RETURN(qb__alloc(t->base.all, sizeof(float), &t->largest));
    qb__noise(t->noise, count, 20260);
    for (unsigned s = 0; s < t->base.all; s++) t->largest[s] = 1.0f;
    t->problem.largest = t->largest;
    QB__OR_RETURN(qb__memory_create(t->base.device, count * sizeof(float), &t->base.rows));
    QB__OR_RETURN(qb__memory_upload(t->base.queue, t->base.rows, 0, t->noise, count * sizeof(float)));
    return qb__queue_finish(t->base.queue);
}

static qb_status make(qb__trial *trial, const qb__trial_sizes *sizes) {
    parallel_trial *t = (parallel_trial *)trial;
    t->base.all = (unsigned)sizes->nz;
    t->problem =
        (qb__bp_parallel_problem){.views = sizes->views, .columns = sizes->columns, .nx = sizes->nx, .ny = sizes->ny};
    QB__OR_RETURN(qb__half_turn(&t->problem, &t->coefficients));
    QB__OR_RETURN(make_noise(t));
    return qb__memory_create(trial->device, sizes->nx * sizes->ny * t->base.all * sizeof(float), &trial->out);
}

static void release(qb__trial *trial) {
    parallel_trial *t = (parallel_trial *)trial;
    QB__FREE(t->coefficients, t->largest, t->noise);
}

/* ---- one attempt ---- */

static qb_status open_attempt(qb__trial *trial, qb__trial_result *result) {
    parallel_trial *t = (parallel_trial *)trial;
    const qb__bp_parallel_device_variant *variant = variant_of(t);
    const unsigned padded = qb__variant_padded(trial->row, trial->slices);
    result->block = t->problem.views;
    result->packed_bytes = variant->packed_bytes(&t->problem, padded, trial->values);
    return variant->plan(trial->device, &t->problem, trial->slices, trial->values, &t->plan);
}

static void close_attempt(qb__trial *trial) {
    parallel_trial *t = (parallel_trial *)trial;
    variant_of(t)->destroy(t->plan);
    t->plan = NULL;
}

static qb_status pack(qb__trial *trial) {
    parallel_trial *t = (parallel_trial *)trial;
    size_t columns = t->problem.columns, block = noise_views(t);
    for (size_t v = 0; v < t->problem.views; v += block) {
        size_t end = v + block < t->problem.views ? v + block : t->problem.views;
        QB__OR_RETURN(variant_of(t)->pack(t->plan, trial->queue, trial->rows, 0, trial->all * columns, columns, v, end,
                                          trial->slices, trial->packed));
    }
    return QB_OK;
}

static qb_status pass(qb__trial *trial) {
    parallel_trial *t = (parallel_trial *)trial;
    return variant_of(t)->run(t->plan, trial->queue, trial->packed, trial->slices, trial->out, 0);
}

static qb_status slice_rows(void *context, unsigned slice, float *rows) {
    const parallel_trial *t = context;
    size_t columns = t->problem.columns;
    for (size_t v = 0; v < t->problem.views; v++) {
        const float *from = t->noise + (v % noise_views(t) * t->base.all + slice) * columns;
        for (size_t c = 0; c < columns; c++) rows[v * columns + c] = from[c];
    }
    return QB_OK;
}

static qb_status error_of(qb__trial *trial, double *rel_l2) {
    parallel_trial *t = (parallel_trial *)trial;
    return qb__parallel_error(trial->queue, trial->out, &t->problem, trial->row->interp, trial->slices, slice_rows, t,
                              rel_l2);
}

const qb__trial_kind qb__trial_parallel = {.operation = QB__BP_PARALLEL,
                                           .on_device = true,
                                           .bytes = sizeof(parallel_trial),
                                           .problem = offsetof(parallel_trial, problem),
                                           .make = make,
                                           .release = release,
                                           .open = open_attempt,
                                           .close = close_attempt,
                                           .pack = pack,
                                           .pass = pass,
                                           .error = error_of};

/* ---- against the oracle ---- */

qb_status qb__parallel_error(qb__queue *queue, const qb__memory *out, const qb__bp_parallel_problem *of,
                             qb_interp interp, unsigned count, qb__slice_rows *rows_of, void *context, double *rel_l2) {
    const size_t nx = of->nx, ny = of->ny, columns = of->columns;
    float *rows = NULL, *image = NULL;
    double error = 0, norm = 0;
    qb_status status;
    QB__TRY(qb__alloc(of->views * columns, sizeof *rows, &rows));
    QB__TRY(qb__alloc(nx * ny, sizeof *image, &image));
    for (unsigned i = 0; i < 3 && i < count; i++) {
        unsigned slice = i == 0 ? 0 : i == 1 ? count - 1 : count / 2;
        QB__TRY(rows_of(context, slice, rows));
        QB__TRY(qb__memory_download(queue, out, nx * ny * slice * sizeof *image, image, nx * ny * sizeof *image));
        QB__TRY(qb__queue_finish(queue));
        for (size_t n = 0; n < SAMPLES; n++) {
            size_t x = n * (nx - 1) / (SAMPLES - 1);
            size_t y = (n * 37 + 11 + i) % SAMPLES * (ny - 1) / (SAMPLES - 1);
            double want = qb__bp_parallel_reference(of, interp, rows, columns, x, y);
            double d = (double)image[y * nx + x] - want;
            error += d * d;
            norm += want * want;
        }
    }
    *rel_l2 = sqrt(error / norm);
out:
    QB__FREE(rows, image);
    return status;
}
