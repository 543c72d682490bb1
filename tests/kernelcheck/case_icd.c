/* SPDX-License-Identifier: MIT */
/* Random voxels of random geometries are updated by the kernel, and in double in the kernel's order. */
#include "base/clock.h"
#include "base/variant.h"
#include "cpu/icd/icd.h"
#include "cases.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { L = QB__ICD_LANES };

/* Any matrix: number of taps and their places are random. */
typedef struct trial {
    const qb__icd_variant *variant;
    qb__icd_problem problem;
    size_t pixels, row; /* pixels of the padded image; floats of a view */
    uint8_t *inside;
    float *tap;     /* [pixel][taps][stride] */
    int32_t *first; /* [pixel][stride] */
    guarded error, weight, x, curve, scratch;
    bool weighted;
    uint32_t *order;
    size_t count;
} trial;

static void fetch(const qb__icd_problem *p, uint32_t pixel, const qb__icd_column *column) {
    const trial *t = p->store;
    const size_t stride = p->footprints.stride, entries = p->footprints.taps * stride;
    memcpy(column->tap, t->tap + pixel * entries, entries * sizeof(float));
    memcpy(column->first, t->first + pixel * stride, stride * sizeof(int32_t));
}

/* Zeroed, with the alignment that the kernels need. */
static void *some(size_t count, size_t size) {
    const size_t bytes = (count * size + 63) / 64 * 64 + 64;
    void *block = aligned_alloc(64, bytes);
    if (!block) abort();
    return memset(block, 0, bytes);
}

static void draw(float *out, size_t count, double low, double high, rng *r) {
    for (size_t i = 0; i < count; i++) out[i] = (float)rng_uniform(r, low, high);
}

static trial trial_new(const qb__icd_variant *variant, rng *r, bool quick) {
    trial t = {.variant = variant, .weighted = rng_below(r, 3) > 0};
    qb__icd_problem *p = &t.problem;
    qb__footprints *s = &p->footprints;
    s->views = 1 + rng_below(r, quick ? 20 : 60);
    s->stride = (s->views + 15) / 16 * 16;
    s->taps = 1 + rng_below(r, 9);
    s->columns = 1 + rng_below(r, 40);
    p->nx = 1 + rng_below(r, 7);
    p->ny = 1 + rng_below(r, 7);
    p->positive = rng_below(r, 2);
    p->prior = (qb__icd_prior){.p = rng_uniform(r, 1, 1.6),
                               .q = rng_below(r, 2) ? 2 : rng_uniform(r, 1.6, 2),
                               .t = rng_uniform(r, 0.3, 3),
                               .sigma = rng_uniform(r, 0.2, 2),
                               .nearest = rng_uniform(r, 0, 0.3),
                               .diagonal = rng_below(r, 4) ? rng_uniform(r, 0, 0.2) : 0,
                               .interslice = rng_below(r, 2) ? rng_uniform(r, 0, 0.3) : 0};
    t.pixels = (p->nx + 2) * (p->ny + 2);
    t.row = (s->columns + 2 * s->taps) * L;
    t.inside = some(t.pixels, 1);
    t.order = some(t.pixels, sizeof *t.order);
    const size_t side = 1 + rng_below(r, 2); /* voxels come in squares of 2 x 2, too, which kernels update together */
    for (size_t y = 0; y < p->ny; y += side)
        for (size_t x = 0; x < p->nx; x += side)
            for (size_t i = 0; i < side * side; i++) {
                const size_t ix = x + i % side, iy = y + i / side, pixel = (iy + 1) * (p->nx + 2) + ix + 1;
                if (ix >= p->nx || iy >= p->ny || rng_below(r, 8) == 0) continue;
                t.inside[pixel] = 1;
                t.order[t.count++] = (uint32_t)pixel;
            }
    t.tap = some(t.pixels * s->taps * s->stride, sizeof(float));
    t.first = some(t.pixels * s->stride, sizeof(int32_t));
    const bool near = rng_below(r, 3) > 0; /* footprints in a view are at most `taps` columns apart */
    for (size_t i = 0; i < t.pixels * s->stride; i++) {
        t.first[i] = (int32_t)rng_below(r, s->columns + s->taps + 1);
        if (near && i >= s->stride) {
            const size_t least = (size_t)t.first[i % s->stride], most = s->columns + s->taps;
            t.first[i] = (int32_t)(least + rng_below(r, s->taps < most - least + 1 ? s->taps : most - least + 1));
        }
        for (size_t k = 0; k < s->taps; k++) {
            const size_t column = (size_t)t.first[i] + k, view = i % s->stride;
            if (column < s->taps || column >= s->columns + s->taps || view >= s->views) continue;
            t.tap[(i / s->stride * s->taps + k) * s->stride + view] = (float)rng_uniform(r, 0, 1);
        }
    }
    const size_t data = s->views * t.row * sizeof(float), image = t.pixels * L * sizeof(float);
    t.error = guarded_new(data), t.weight = guarded_new(data);
    t.x = guarded_new(image), t.curve = guarded_new(image);
    t.scratch = guarded_new(qb__icd_scratch_bytes(s));
    draw(t.error.data, s->views * t.row, -1, 1, r);
    draw(t.weight.data, s->views * t.row, 0, 1, r);
    draw(t.x.data, t.pixels * L, 0, 1, r);
    memset(t.curve.data, 0, image);
    for (size_t i = 0; i < t.pixels * L; i++)
        if (!t.inside[i / L]) ((float *)t.x.data)[i] = 0;
    p->inside = t.inside;
    p->fetch = fetch;
    return t;
}

static void trial_free(trial *t) {
    free(t->inside), free(t->order), free(t->tap), free(t->first);
    guarded_free(&t->error), guarded_free(&t->weight), guarded_free(&t->x);
    guarded_free(&t->curve), guarded_free(&t->scratch);
}

/* All lanes in double, in the same order: of each voxel even slices before odd ones, which are neighbours. */
static void follow(const trial *t, double *error, double *x) {
    const qb__footprints *s = &t->problem.footprints;
    const qb__icd_column column = {some(s->stride, sizeof(int32_t)), some(s->stride * s->taps, sizeof(float))};
    double *weight = some(s->views * L * s->columns, sizeof *weight);
    for (size_t i = 0; i < s->views * L * s->columns; i++) {
        const size_t view = i / s->columns / L, lane = i / s->columns % L;
        const size_t at = view * t->row + (i % s->columns + s->taps) * L + lane;
        error[i] = (double)((float *)t->error.data)[at];
        weight[i] = t->weighted ? (double)((float *)t->weight.data)[at] : 1;
    }
    for (size_t i = 0; i < L * t->pixels; i++) x[i] = (double)((float *)t->x.data)[i % t->pixels * L + i / t->pixels];
    const qb__icd_oracle oracle = {
        .problem = &t->problem, .column = column, .slices = L, .weight = weight, .error = error, .x = x};
    for (size_t i = 0; i < t->count * L; i++)
        qb__icd_reference_update(&oracle, i % L * 2 % L + i % L * 2 / L, t->order[i / L]);
    free(column.first), free(column.tap), free(weight);
}

static bool agree(const float *got, size_t stride, const double *want, size_t count, double norm, const char *what,
                  outcome *o) {
    const double bound = qb__accuracy_bound(QB_ACCURACY_HIGH);
    double worst = 0;
    for (size_t i = 0; i < count; i++) {
        const double error = fabs((double)got[i * stride] - want[i]) / norm;
        if (!(error <= worst)) worst = error;
    }
    if (!(worst / bound <= o->share_of_bound)) o->share_of_bound = worst / bound;
    if (worst < bound) return true;
    snprintf(o->why.s, sizeof o->why.s, "%s is off by %.2e", what, worst);
    return false;
}

static bool check(const qb__variant *row, qb__device *device, uint64_t seed, const options *asked, outcome *o) {
    (void)device;
    rng r = {seed};
    trial t = trial_new((const qb__icd_variant *)row, &r, asked->quick);
    const qb__footprints *s = &t.problem.footprints;
    const size_t data = s->views * L * s->columns;
    double *error = some(data, sizeof *error), *x = some(L * t.pixels, sizeof *x);
    const float *weight = t.weighted ? t.weight.data : NULL;
    qb__icd_group group = {.error = t.error.data, .weight = weight, .x = t.x.data, .curve = t.curve.data};
    qb__icd_moved moved = {0};
    bool ok = true;
    t.problem.store = &t;
    if (t.problem.prior.interslice > 0) group.woven = true, group.before = group.x - 1, group.after = group.x + 1;
    for (size_t l = 0; l + 1 < L; l++) group.after_b[l] = group.before_b[l + 1] = (float)t.problem.prior.interslice;
    follow(&t, error, x);
    t.variant->curve(&t.problem, weight, t.order, t.count, t.curve.data, t.scratch.data);
    t.variant->update(&t.problem, &group, t.order, t.count, false, &moved, t.scratch.data);
    if (moved.updates != t.count << group.woven)
        ok = false, snprintf(o->why.s, sizeof o->why.s, "voxels were left out");
    for (size_t l = 0; ok && l < L; l++) {
        ok = agree((float *)t.x.data + l, L, x + l * t.pixels, t.pixels, 1, "x", o);
        for (size_t v = 0; ok && v < s->views; v++)
            ok = agree((float *)t.error.data + v * t.row + s->taps * L + l, L, error + (v * L + l) * s->columns,
                       s->columns, 1 + (double)t.count, "y - A x", o);
    }
    if (ok && !(guarded_intact(&t.error) && guarded_intact(&t.weight) && guarded_intact(&t.x) &&
                guarded_intact(&t.curve) && guarded_intact(&t.scratch)))
        ok = false, snprintf(o->why.s, sizeof o->why.s, "something was written outside");
    free(error), free(x);
    trial_free(&t);
    return ok;
}

/* The slice of the paper: 512^2 voxels, 720 views of 1024 columns, 4 entries in each; a tile of 256 voxels. */
static double speed(const qb__icd_variant *variant) {
    enum { VIEWS = 720, COLUMNS = 1024, N = 16, TRIES = 3 };
    static double ax[VIEWS], ay[VIEWS], h0[VIEWS];
    static float half[VIEWS], flat[VIEWS], rise[VIEWS], curvature[VIEWS];
    rng r = {1};
    trial t = {.variant = variant, .pixels = (N + 2) * (N + 2), .row = (COLUMNS + 8) * L};
    qb__footprints *s = &t.problem.footprints;
    for (int v = 0; v < VIEWS; v++) {
        const double a = 2 * cos(M_PI * v / VIEWS), b = 2 * sin(M_PI * v / VIEWS);
        const double longer = fmax(fabs(a), fabs(b)), shorter = fmin(fabs(a), fabs(b));
        ax[v] = a, ay[v] = b, h0[v] = 511 - 100 * a + 50 * b;
        half[v] = (float)((longer + shorter) / 2), flat[v] = (float)((longer - shorter) / 2);
        rise[v] = (float)(1 / longer), curvature[v] = shorter > 1e-6 ? (float)(1 / (2 * longer * shorter)) : 0;
    }
    *s = (qb__footprints){VIEWS, VIEWS,     COLUMNS, 4,    ax,   ay,   h0, half, flat,
                          rise,  curvature, 1,       NULL, NULL, NULL, 0,  NULL, 0};
    t.problem.nx = t.problem.ny = N;
    t.problem.prior = (qb__icd_prior){1.2, 2, 1, 1, 0.15, 0.1, 0, 0, 0};
    t.inside = some(t.pixels, 1);
    t.order = some(t.pixels, sizeof *t.order);
    for (size_t i = 0; i < N * N; i++) {
        const size_t pixel = (i / N + 1) * (N + 2) + i % N + 1;
        t.inside[pixel] = 1;
        t.order[t.count++] = (uint32_t)pixel;
    }
    t.problem.inside = t.inside;
    t.tap = some(t.pixels * 4 * VIEWS, sizeof(float));
    t.first = some(t.pixels * VIEWS, sizeof(int32_t));
    for (size_t i = 0; i < t.count; i++) {
        const size_t at = t.order[i];
        const qb__icd_column column = {t.first + at * VIEWS, t.tap + at * 4 * VIEWS};
        variant->footprint(s, (double)(at % (N + 2)), (double)(at / (N + 2)), &column);
    }
    t.error = guarded_new(VIEWS * t.row * sizeof(float)), t.weight = guarded_new(VIEWS * t.row * sizeof(float));
    t.x = guarded_new(t.pixels * L * sizeof(float)), t.curve = guarded_new(t.pixels * L * sizeof(float));
    t.scratch = guarded_new(qb__icd_scratch_bytes(s));
    draw(t.error.data, VIEWS * t.row, -1, 1, &r);
    draw(t.weight.data, VIEWS * t.row, 0.1, 1, &r);
    memset(t.x.data, 0, t.x.bytes);
    t.problem.fetch = fetch;
    t.problem.store = &t;
    const qb__icd_group group = {.error = t.error.data, .weight = t.weight.data, .x = t.x.data, .curve = t.curve.data};
    variant->curve(&t.problem, t.weight.data, t.order, t.count, t.curve.data, t.scratch.data);
    double best = INFINITY;
    for (int i = 0; i < TRIES; i++) {
        qb__icd_moved moved = {0};
        const double begin = qb__now();
        variant->update(&t.problem, &group, t.order, t.count, false, &moved, t.scratch.data);
        best = fmin(best, qb__now() - begin);
    }
    trial_free(&t);
    return 1e-9 * (double)t.count * VIEWS * 4 * L / best;
}

/* The last row of the table needs no feature. */
static const qb__icd_variant *scalar_variant(void) {
    size_t count;
    const qb__icd_variant *rows = qb__icd_variants(&count);
    return &rows[count - 1];
}

static bool bench(const qb__variant *row, qb__device *device, size_t number, const options *o, measurement *m) {
    (void)device, (void)o;
    static double scalar;
    if (number > 0) return false;
    if (scalar == 0) scalar = speed(scalar_variant());
    m->giga_updates_per_second = speed((const qb__icd_variant *)row);
    m->scalar = scalar;
    m->ceiling = m->pack_gigabytes_per_second = m->rel_l2 = NAN;
    snprintf(m->problem.s, sizeof m->problem.s, "16 slices of a tile, 720 views, 4 entries of 1024 columns");
    return true;
}

const kernel_case icd_case = {check, bench};
