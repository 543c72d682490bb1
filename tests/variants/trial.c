/* SPDX-License-Identifier: MIT */
#include "trial.h"

#include "base/random.h"
#include "base/status.h"
#include "cpu/bp_parallel/bp_parallel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double uniform(qb__random *r, double low, double high) {
    return low + (high - low) * qb__random_unit(r);
}

static size_t below(qb__random *r, size_t n) {
    return (size_t)(qb__random_bits(r) % n);
}

static double normal(qb__random *r) {
    double u = qb__random_unit(r), v = qb__random_unit(r);
    return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}

static void *need(size_t count, size_t size) {
    void *p = calloc(count ? count : 1, size);
    if (!p) abort();
    return p;
}

static trial allocate(size_t views, size_t columns, size_t nx, size_t ny, unsigned slices) {
    trial t = {.slices = slices};
    t.ax = need(views, sizeof *t.ax), t.ay = need(views, sizeof *t.ay);
    t.h0 = need(views, sizeof *t.h0);
    t.rows = need(slices * views * columns, sizeof *t.rows);
    t.largest = need(slices, sizeof *t.largest);
    t.problem = (qb__bp_parallel_problem){.views = views,
                                          .columns = columns,
                                          .nx = nx,
                                          .ny = ny,
                                          .ax = t.ax,
                                          .ay = t.ay,
                                          .h0 = t.h0,
                                          .largest = t.largest};
    return t;
}

/* White noise; large sets repeat a block of it with shifts, which is as good and made faster. */
static void fill(trial *t, qb__random *r, double spread) {
    enum { BLOCK = 1 << 20 };
    const size_t n = t->problem.views * t->problem.columns;
    const size_t block = n * t->slices < BLOCK ? n * t->slices : BLOCK;
    float *noise = need(block, sizeof *noise);
    for (size_t i = 0; i < block; i++) noise[i] = (float)normal(r);
    for (unsigned z = 0; z < t->slices; z++) {
        const float amplitude = (float)exp(uniform(r, -spread, spread));
        float *row = t->rows + z * n;
        size_t at = below(r, block);
        for (size_t i = 0; i < n; i++) {
            row[i] = amplitude * noise[at];
            if (++at == block) at = below(r, 64) % block;
            t->largest[z] = fmaxf(t->largest[z], fabsf(row[i]));
        }
    }
    free(noise);
}

static void view_at(trial *t, size_t v, double angle, double pitch, double middle, double x,
                    double y) {
    t->ax[v] = pitch * cos(angle), t->ay[v] = pitch * sin(angle);
    t->h0[v] = middle - t->ax[v] * x - t->ay[v] * y;
}

trial trial_ordinary(size_t views, size_t columns, unsigned slices, uint64_t seed) {
    qb__random r = qb__random_stream(seed, 0);
    trial t = allocate(views, columns, columns, columns, slices);
    const double middle = ((double)columns - 1) / 2;
    for (size_t v = 0; v < views; v++)
        view_at(&t, v, 3.141592653589793 * (double)v / (double)views, 1.0, middle, middle, middle);
    fill(&t, &r, 0.0);
    return t;
}

void trial_free(trial *t) {
    free(t->ax), free(t->ay), free(t->h0), free(t->rows), free(t->largest);
}

/* ---- one run ---- */

enum { CANARY_FLOATS = 64, LARGE = 16 << 20 };

static size_t plane_of(const trial *t) {
    return t->problem.nx * t->problem.ny;
}

/* Slices that are looked at: all, or the first and the last. */
static unsigned seen_slices(const trial *t) {
    return plane_of(t) * t->slices > LARGE && t->slices > 2 ? 2 : t->slices;
}

qb_status trial_upload(const trial *t, qb__device *device, trial_device *on) {
    const size_t row_bytes = t->slices * t->problem.views * t->problem.columns * sizeof(float);
    *on = (trial_device){.trial = t, .device = device};
    on->host = malloc((seen_slices(t) * plane_of(t) + CANARY_FLOATS) * sizeof(float));
    qb_status status = on->host ? qb__queue_create(device, &on->queue) : QB_NO_MEMORY;
    if (!status) status = qb__memory_create(device, row_bytes, &on->rows);
    if (!status)
        status = qb__memory_create(device, (plane_of(t) * t->slices + CANARY_FLOATS) * 4, &on->out);
    if (!status) status = qb__event_create(device, &on->begin);
    if (!status) status = qb__event_create(device, &on->end);
    if (!status) status = qb__memory_upload(on->queue, on->rows, 0, t->rows, row_bytes);
    if (!status) status = qb__queue_finish(on->queue);
    if (status) trial_device_free(on);
    return status;
}

void trial_device_free(trial_device *on) {
    qb__event_destroy(on->begin), qb__event_destroy(on->end);
    qb__queue_destroy(on->queue);
    qb__memory_destroy(on->rows), qb__memory_destroy(on->out);
    free(on->host);
    *on = (trial_device){0};
}

/* Two blocks of views, the second first. */
static qb_status pack(trial_device *on, const qb__bp_parallel_device_variant *variant,
                      qb__bp_parallel_plan *plan, qb__memory *packed) {
    const qb__bp_parallel_problem *p = &on->trial->problem;
    const size_t middle = p->views / 2, slice = p->views * p->columns;
    const unsigned slices = on->trial->slices;
    qb_status status = variant->pack(plan, on->queue, on->rows, middle * p->columns * 4, p->columns,
                                     slice, middle, p->views, slices, packed);
    if (!status && middle)
        status = variant->pack(plan, on->queue, on->rows, 0, p->columns, slice, 0, middle, slices,
                               packed);
    return status;
}

static qb_status timed(trial_device *on, double *seconds) {
    double took = 0;
    qb_status status = qb__event_record(on->end, on->queue);
    if (!status) status = qb__event_wait(on->end);
    if (!status) status = qb__event_seconds(on->begin, on->end, &took);
    if (!status && !(took >= *seconds)) *seconds = took;
    return status;
}

static qb_status measure(trial_device *on, const qb__bp_parallel_device_variant *variant,
                         qb__bp_parallel_plan *plan, qb__memory *packed, int repeats,
                         trial_result *result) {
    qb_status status = qb__memory_fill(on->queue, packed, 0, 0xff, qb__memory_bytes(packed));
    if (!status) status = qb__memory_fill(on->queue, on->out, 0, 0xff, qb__memory_bytes(on->out));
    for (int i = 0; i < (repeats > 1 ? 2 : 1) && !status; i++) {
        status = qb__event_record(on->begin, on->queue);
        if (!status) status = pack(on, variant, plan, packed);
        if (!status) status = timed(on, &result->pack_seconds);
    }
    for (int i = 0; i < repeats && !status; i++) {
        status = qb__event_record(on->begin, on->queue);
        if (!status) status = variant->run(plan, on->queue, packed, on->trial->slices, on->out, 0);
        if (!status) status = timed(on, &result->seconds);
    }
    return status;
}

static qb_status download(trial_device *on) {
    const trial *t = on->trial;
    const size_t plane = plane_of(t), seen = seen_slices(t), voxels = plane * t->slices;
    const size_t last = (t->slices - seen + 1) * plane; /* where the second of those seen begins */
    qb_status status = qb__memory_download(on->queue, on->out, 0, on->host, plane * 4);
    if (!status)
        status = qb__memory_download(on->queue, on->out, last * 4, on->host + plane,
                                     (voxels - last + CANARY_FLOATS) * 4);
    if (!status) status = qb__queue_finish(on->queue);
    return status;
}

static qb_status compare(const trial *t, const qb__bp_parallel_device_variant *variant,
                         const float *out, size_t samples, trial_result *result) {
    const qb__bp_parallel_problem *p = &t->problem;
    const size_t plane = plane_of(t), voxels = plane * seen_slices(t), row = p->views * p->columns;
    qb__random r = qb__random_stream(7, samples);
    double error2 = 0, norm2 = 0, worst = 0;
    size_t seen = 0;
    for (size_t i = 0; i < voxels; i++) {
        uint32_t word;
        memcpy(&word, out + i, sizeof word);
        result->bits = qb__mix64(result->bits ^ word);
    }
    for (size_t i = 0; i < voxels; i++)
        if (!isfinite(out[i])) return qb__fail(QB_INTERNAL, "voxel %zu was not written", i);
    for (size_t i = 0; i < CANARY_FLOATS; i++)
        if (!isnan(out[voxels + i])) return qb__fail(QB_INTERNAL, "wrote past the last voxel");
    if (samples > voxels) samples = voxels;
    for (size_t i = 0; i < samples; i++) {
        const size_t at = samples == voxels ? i : below(&r, voxels),
                     z = at < plane ? 0 : at / plane + t->slices - seen_slices(t);
        const double unit = t->largest[z];
        if (!(unit > 0)) continue;
        const double want = qb__bp_parallel_reference(p, variant->head.interp, t->rows + z * row,
                                                      p->columns, at % p->nx, at % plane / p->nx) /
                            unit;
        const double error = fabs(out[at] / unit - want);
        error2 += error * error, norm2 += want * want, seen += want != 0;
        worst = fmax(worst, error);
    }
    /* The bound is about noise: of few voxels all may lie near a zero crossing. */
    const double few = seen < 100 ? (double)(p->views < 9 ? p->views : 9) : 0.0;
    const double rms = sqrt(norm2 / (double)(seen ? seen : 1));
    const double least = few ? 0.3 * sqrt(few) * 0.25 : 0.0;
    result->rel_l2 = error2 > 0 ? sqrt(error2 / (double)(seen ? seen : 1)) / fmax(rms, least) : 0.0;
    result->worst = worst > 0 ? worst / fmax(rms, least) : 0.0;
    return QB_OK;
}

qb_status trial_run(trial_device *on, const qb__bp_parallel_device_variant *variant,
                    const int *values, int repeats, size_t samples, trial_result *result) {
    const trial *t = on->trial;
    const unsigned step = variant->head.step;
    const unsigned padded = (t->slices + step - 1) / step * step;
    qb__bp_parallel_plan *plan = NULL;
    qb__memory *packed = NULL;
    *result = (trial_result){NAN, NAN, NAN, NAN, 0};
    qb_status status = variant->plan(on->device, &t->problem, padded, values, &plan);
    if (!status)
        status = qb__memory_create(on->device, variant->packed_bytes(&t->problem, padded, values),
                                   &packed);
    if (!status) status = measure(on, variant, plan, packed, repeats, result);
    if (!status && samples) {
        status = download(on);
        if (!status) status = compare(t, variant, on->host, samples, result);
    }
    (void)qb__queue_finish(on->queue);
    variant->destroy(plan);
    qb__memory_destroy(packed);
    return status;
}
