/* SPDX-License-Identifier: MIT */
#include "bench/device_trial.h"

#include <math.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/sort.h"
#include "base/status.h"
#include "cpu/bp_parallel/bp_parallel.h"
#include "geometry/parallel.h"
#include "planner/choose.h"

enum {
    NOISE_VIEWS =
        64,       /* distinct ones: view v shows noise v % 64, so that large problems start fast */
    SAMPLES = 96, /* pixels checked in each of up to three slices */
    REPEAT_MAX = 64,
};

struct qb__device_trial {
    qb__device *device;
    qb__queue *queue;
    qb__event *from, *to;
    qb__bp_parallel_problem problem;
    double *coefficients;
    float *largest;
    unsigned slices;
    float *noise;     /* [NOISE_VIEWS][slices][columns] */
    qb__memory *rows; /* the same on the device */
    qb__memory *out;  /* [slices][ny][nx] */
};

static size_t noise_views(const qb__device_trial *t) {
    return t->problem.views < NOISE_VIEWS ? t->problem.views : NOISE_VIEWS;
}

static qb_status make_noise(qb__device_trial *t) {
    size_t count = noise_views(t) * t->slices * t->problem.columns;
    qb_status status;
    QB__TRY(qb__alloc(count, sizeof(float), &t->noise));
    QB__TRY(qb__alloc(t->slices, sizeof(float), &t->largest));
    qb__noise(t->noise, count, 20260);
    for (unsigned s = 0; s < t->slices; s++) t->largest[s] = 1.0f;
    t->problem.largest = t->largest;
    QB__TRY(qb__memory_create(t->device, count * sizeof(float), &t->rows));
    QB__TRY(qb__memory_upload(t->queue, t->rows, 0, t->noise, count * sizeof(float)));
    QB__TRY(qb__queue_finish(t->queue));
out:
    return status;
}

qb_status qb__device_trial_create(qb__device *device, size_t views, size_t columns, size_t nx,
                                  size_t ny, unsigned slices, qb__device_trial **trial) {
    *trial = NULL;
    qb__device_trial *t;
    qb_status status = qb__alloc(1, sizeof *t, &t);
    if (status != QB_OK) return status;
    t->device = device;
    t->slices = slices;
    t->problem = (qb__bp_parallel_problem){.views = views, .columns = columns, .nx = nx, .ny = ny};
    QB__TRY(qb__half_turn(&t->problem, &t->coefficients));
    QB__TRY(qb__queue_create(device, &t->queue));
    QB__TRY(qb__event_create(device, &t->from));
    QB__TRY(qb__event_create(device, &t->to));
    QB__TRY(make_noise(t));
    QB__TRY(qb__memory_create(device, nx * ny * slices * sizeof(float), &t->out));
out:
    if (status != QB_OK) {
        qb__device_trial_destroy(t);
        return status;
    }
    *trial = t;
    return QB_OK;
}

void qb__device_trial_destroy(qb__device_trial *t) {
    if (!t) return;
    qb__memory_destroy(t->rows);
    qb__memory_destroy(t->out);
    qb__event_destroy(t->from);
    qb__event_destroy(t->to);
    qb__queue_destroy(t->queue);
    qb__free(t->coefficients);
    qb__free(t->largest);
    qb__free(t->noise);
    qb__free(t);
}

const qb__bp_parallel_problem *qb__device_trial_problem(const qb__device_trial *t) {
    return &t->problem;
}

/* ---- one run ---- */

typedef struct attempt {
    qb__device_trial *t;
    const qb__bp_parallel_device_variant *variant;
    unsigned slices; /* of a pass: those asked for, or the variant's most */
    qb__bp_parallel_plan *plan;
    qb__memory *packed;
} attempt;

static qb_status pack_all(attempt *a) {
    qb__device_trial *t = a->t;
    size_t columns = t->problem.columns, block = noise_views(t);
    for (size_t v = 0; v < t->problem.views; v += block) {
        size_t end = v + block < t->problem.views ? v + block : t->problem.views;
        qb_status status = a->variant->pack(a->plan, t->queue, t->rows, 0, t->slices * columns,
                                            columns, v, end, a->slices, a->packed);
        if (status != QB_OK) return status;
    }
    return QB_OK;
}

static qb_status elapsed(attempt *a, qb_status (*work)(attempt *), double *seconds) {
    qb__device_trial *t = a->t;
    qb_status status;
    QB__TRY(qb__event_record(t->from, t->queue));
    QB__TRY(work(a));
    QB__TRY(qb__event_record(t->to, t->queue));
    QB__TRY(qb__queue_finish(t->queue));
    QB__TRY(qb__event_seconds(t->from, t->to, seconds));
out:
    return status;
}

static qb_status run_pass(attempt *a) {
    return a->variant->run(a->plan, a->t->queue, a->packed, a->slices, a->t->out, 0);
}

static qb_status slice_rows(void *context, unsigned slice, float *rows) {
    const qb__device_trial *t = context;
    size_t columns = t->problem.columns;
    for (size_t v = 0; v < t->problem.views; v++) {
        const float *from = t->noise + (v % noise_views(t) * t->slices + slice) * columns;
        for (size_t c = 0; c < columns; c++) rows[v * columns + c] = from[c];
    }
    return QB_OK;
}

qb_status qb__device_error(qb__queue *queue, const qb__memory *out,
                           const qb__bp_parallel_problem *problem, qb_interp interp,
                           unsigned slices, qb__slice_rows *rows_of, void *context,
                           double *rel_l2) {
    const size_t nx = problem->nx, ny = problem->ny, columns = problem->columns;
    float *rows = NULL, *image = NULL;
    double error = 0, norm = 0;
    qb_status status;
    QB__TRY(qb__alloc(problem->views * columns, sizeof *rows, &rows));
    QB__TRY(qb__alloc(nx * ny, sizeof *image, &image));
    for (unsigned i = 0; i < 3 && i < slices; i++) {
        unsigned slice = i == 0 ? 0 : i == 1 ? slices - 1 : slices / 2;
        QB__TRY(rows_of(context, slice, rows));
        QB__TRY(qb__memory_download(queue, out, nx * ny * slice * sizeof *image, image,
                                    nx * ny * sizeof *image));
        QB__TRY(qb__queue_finish(queue));
        for (size_t n = 0; n < SAMPLES; n++) {
            size_t x = n * (nx - 1) / (SAMPLES - 1);
            size_t y = (n * 37 + 11 + i) % SAMPLES * (ny - 1) / (SAMPLES - 1);
            double want = qb__bp_parallel_reference(problem, interp, rows, columns, x, y);
            double d = (double)image[y * nx + x] - want;
            error += d * d;
            norm += want * want;
        }
    }
    *rel_l2 = sqrt(error / norm);
out:
    qb__free(rows);
    qb__free(image);
    return status;
}

qb_status qb__device_trial_run(qb__device_trial *t, const qb__bp_parallel_device_variant *variant,
                               const int *values, unsigned slices, int repeat,
                               qb__device_result *result) {
    attempt a = {.t = t, .variant = variant, .slices = slices};
    double seconds[REPEAT_MAX];
    size_t pixels = t->problem.nx * t->problem.ny;
    qb_status status;
    if (variant->head.most && slices > variant->head.most) a.slices = variant->head.most;
    if (repeat > REPEAT_MAX) repeat = REPEAT_MAX;
    unsigned padded = qb__variant_padded(&variant->head, a.slices);
    *result =
        (qb__device_result){.packed_bytes = variant->packed_bytes(&t->problem, padded, values)};
    QB__TRY(variant->plan(t->device, &t->problem, a.slices, values, &a.plan));
    QB__TRY(qb__memory_create(t->device, result->packed_bytes, &a.packed));
    QB__TRY(qb__memory_fill(t->queue, a.packed, 0, 0xff, result->packed_bytes));
    QB__TRY(qb__memory_fill(t->queue, t->out, 0, 0xff, pixels * t->slices * sizeof(float)));
    QB__TRY(elapsed(&a, pack_all, &result->pack_seconds)); /* warms up: compiling, first touch */
    QB__TRY(elapsed(&a, run_pass, &seconds[0]));
    QB__TRY(qb__device_error(t->queue, t->out, &t->problem, variant->head.interp, a.slices,
                             slice_rows, t, &result->rel_l2));
    QB__TRY(elapsed(&a, pack_all, &result->pack_seconds));
    for (int i = 0; i < repeat; i++) QB__TRY(elapsed(&a, run_pass, &seconds[i]));
    result->seconds = qb__median(seconds, (size_t)repeat);
    result->fastest = seconds[0]; /* sorted by now */
    result->giga_updates =
        (double)pixels * a.slices * (double)t->problem.views / result->seconds * 1e-9;
out:
    variant->destroy(a.plan);
    qb__memory_destroy(a.packed);
    return status;
}
