/* SPDX-License-Identifier: MIT */
/* Columns of rays of all kinds through one brick, forward and adjoint. */
#include "cpu/project_joseph/project_joseph.h"
#include "cases.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct trial {
    const qb__joseph_variant *variant;
    qb__joseph_brick brick;
    size_t fans, rows, r0, r1, stride;
    qb__fan *fan;
    guarded data, lines, scratch; /* voxels of the brick; sums or values; memory of the kernel */
    double amplitude;
} trial;

static double log_range(rng *r, double low, double high) { return exp(rng_uniform(r, log(low), log(high))); }

static void direction(rng *r, bool flat, double out[3]) {
    for (int j = 0; j < 3; j++) out[j] = rng_normal(r);
    if (flat) out[2] = 0;
    if (rng_below(r, 5) == 0) /* exactly along an axis */
        for (int j = 0, axis = (int)rng_below(r, flat ? 2 : 3); j < 3; j++) out[j] = j == axis;
    double norm = sqrt(out[0] * out[0] + out[1] * out[1] + out[2] * out[2]);
    for (int j = 0; j < 3; j++) out[j] /= norm;
}

/* The rays of neighbouring columns; most of them cross the brick. */
static void place_fans(trial *t, rng *r) {
    const bool vertical = rng_below(r, 2), leaning = rng_below(r, 2), cone = rng_below(r, 2);
    const double distance = cone ? log_range(r, 300, 5000) : 1;
    double middle[3], along[3], step_u[3], step_v[3] = {0, 0, 0};
    direction(r, vertical || leaning, along);
    direction(r, vertical || leaning, step_u);
    if (vertical || leaning)
        step_v[2] = rng_below(r, 2) ? 1 : -1;
    else
        direction(r, false, step_v);
    /* On a detector that leans towards the source or away from it, the spacing of the rows in the volume varies. */
    const double tip = rng_below(r, 2) ? rng_uniform(r, -0.6, 0.6) : 0;
    for (int j = 0; j < 3 && leaning && !vertical; j++) {
        const double most = log_range(r, 1e-3, 0.2);
        step_v[j] += rng_uniform(r, -most, most) + tip * along[j];
        along[j] += rng_uniform(r, -most, most);
    }
    /* Rows may be far apart, close together, or all at one height. */
    const double pitch = rng_below(r, 3) ? log_range(r, 0.6, 1.6) : log_range(r, 0.01, 40);
    const double rise = rng_below(r, 12) ? pitch : 0;
    for (int j = 0; j < 3; j++)
        middle[j] = (double)t->brick.at[j] + rng_uniform(r, 0, 1) * ((double)t->brick.n[j] + 1) - 1;
    /* Exactly at the end of what the last voxel touches, but for rounding. */
    for (int j = 0; j < 3 && rng_below(r, 4) == 0; j++)
        middle[j] = nextafter((double)(t->brick.at[j] + t->brick.n[j]), rng_below(r, 2) ? 0 : 1e9);
    for (size_t i = 0; i < t->fans; i++) {
        qb__fan *f = &t->fan[i];
        memset(f, 0, sizeof *f);
        for (int j = 0; j < 3; j++) {
            double row0 =
                ((double)i - (double)t->fans / 2) * pitch * step_u[j] - 0.5 * (double)t->rows * rise * step_v[j];
            f->origin[j] = middle[j] - distance * along[j] + (cone ? 0 : row0);
            f->along[j] = distance * along[j] + (cone ? row0 : 0);
            (cone ? f->along_step : f->origin_step)[j] = rise * step_v[j];
        }
    }
}

static trial trial_new(const qb__joseph_variant *variant, rng *r, bool quick) {
    trial t = {.variant = variant, .amplitude = log_range(r, 1e-6, 1e6)};
    const size_t most[3] = {QB__JOSEPH_SIDE, QB__JOSEPH_SIDE, QB__JOSEPH_DEPTH};
    for (int j = 0; j < 3; j++) {
        t.brick.n[j] = rng_below(r, 3) ? 1 + rng_below(r, most[j]) : most[j];
        t.brick.at[j] = rng_below(r, 3) ? rng_below(r, 90) : 0;
        if (quick && j < 2 && t.brick.n[j] > 12) t.brick.n[j] = 12;
    }
    if (rng_below(r, 8) == 0) t.brick.n[rng_below(r, 3)] = 1;
    t.fans = 1 + rng_below(r, quick ? 5 : 20);
    t.rows = rng_below(r, 5) ? 1 + rng_below(r, 200) : 1 + rng_below(r, 17);
    t.r1 = rng_below(r, 2) ? t.rows : 1 + rng_below(r, t.rows);
    t.r0 = rng_below(r, 2) ? 0 : rng_below(r, t.r1);
    t.stride = t.rows + rng_below(r, 20);
    t.fan = malloc(t.fans * sizeof *t.fan);
    if (!t.fan) abort();
    place_fans(&t, r);
    t.data = guarded_new(qb__joseph_floats(t.brick.n, &t.brick.stride) * sizeof(float));
    t.brick.data = t.data.data;
    t.lines = guarded_new(t.fans * t.stride * sizeof(float));
    t.scratch = guarded_new(variant->scratch_bytes(t.rows));
    return t;
}

static void trial_free(trial *t) {
    free(t->fan);
    guarded_free(&t->data);
    guarded_free(&t->lines);
    guarded_free(&t->scratch);
}

static float *voxel(const trial *t, size_t x, size_t y, size_t z) {
    const qb__joseph_brick *b = &t->brick;
    return b->data + ((y + 1) * (b->n[0] + 2) + x + 1) * b->stride + z + 1;
}

static void fill_brick(const trial *t, rng *r) {
    memset(t->data.data, 0, t->data.bytes);
    for (size_t y = 0; y < t->brick.n[1]; y++)
        for (size_t x = 0; x < t->brick.n[0]; x++)
            for (size_t z = 0; z < t->brick.n[2]; z++) *voxel(t, x, y, z) = (float)(t->amplitude * rng_normal(r));
}

/* Rows outside r0..r1 stay NaN. */
static void fill_lines(const trial *t, rng *r) {
    for (size_t i = 0; i < t->fans; i++)
        for (size_t row = t->r0; row < t->r1; row++)
            ((float *)t->lines.data)[i * t->stride + row] = (float)(t->amplitude * rng_normal(r));
}

/* The oracle's taps, in a volume that ends where the brick ends. */
typedef struct tally {
    const trial *t;
    size_t n[3];
    double sum, value;
    size_t taps;
    double *volume; /* of the brick; NULL = forward */
} tally;

static void add_tap(void *context, size_t index, double weight) {
    tally *a = context;
    const qb__joseph_brick *b = &a->t->brick;
    const size_t at[3] = {index % a->n[0], index / a->n[0] % a->n[1], index / a->n[0] / a->n[1]};
    for (int j = 0; j < 3; j++)
        if (at[j] < b->at[j]) return;
    a->taps++;
    const size_t x = at[0] - b->at[0], y = at[1] - b->at[1], z = at[2] - b->at[2];
    if (a->volume)
        a->volume[(z * b->n[1] + y) * b->n[0] + x] += weight * a->value;
    else
        a->sum += weight * (double)*voxel(a->t, x, y, z);
}

static tally tally_of(const trial *t, double *volume) {
    tally a = {.t = t, .volume = volume};
    for (int j = 0; j < 3; j++) a.n[j] = t->brick.at[j] + t->brick.n[j];
    return a;
}

typedef struct errors {
    double square, norm, worst;
    double before; /* square of the number that was already there */
    size_t taps;   /* of all rays */
    size_t count;
} errors;

static void compare(errors *e, double got, double want, double before) {
    const double error = fabs(got - want - before);
    e->square += error * error;
    e->norm += want * want;
    e->before += before * before;
    if (!(error <= e->worst)) e->worst = error;
    e->count += want != 0;
}

/* Adding to a number that is there rounds, too. If all rays only graze the brick, all weights are small; then the error
 * is compared to noise with half the usual weights. */
static bool within(const errors *e, double amplitude, const char *what, outcome *o) {
    const double bound = qb__accuracy_bound(QB_ACCURACY_HIGH), n = (double)e->count + 1e-9;
    const double noise = 0.05 * (double)e->taps * amplitude * amplitude;
    const double norm = fmax(e->norm, noise) + 1e-2 * e->before;
    const double relative = sqrt(e->square / (norm + 1e-300)), rms = sqrt(norm / n) + 1e-150;
    const double share = fmax(relative / bound, e->worst / rms / (20 * bound));
    if (!(share <= o->share_of_bound)) o->share_of_bound = share;
    if (share < 1) return true;
    snprintf(o->why.s, sizeof o->why.s, "%s: relative L2 error %.2e, largest %.2e of rms", what, relative,
             e->worst / rms);
    return false;
}

static bool intact(const trial *t, outcome *o) {
    bool good = guarded_intact(&t->data) && guarded_intact(&t->lines) && guarded_intact(&t->scratch);
    for (size_t i = 0; i < t->fans * t->stride; i++) {
        uint32_t bits;
        const size_t row = i % t->stride;
        if (row >= t->r0 && row < t->r1) continue;
        memcpy(&bits, (float *)t->lines.data + i, sizeof bits);
        good = good && bits == 0xffffffffu;
    }
    if (!good) snprintf(o->why.s, sizeof o->why.s, "something was written outside");
    return good;
}

static bool check_forward(trial *t, rng *r, outcome *o) {
    fill_brick(t, r);
    fill_lines(t, r);
    const size_t bytes = t->lines.bytes, half = t->fans / 2;
    float *before = malloc(bytes), *whole = malloc(bytes), *volume = malloc(t->data.bytes);
    if (!before || !whole || !volume) abort();
    memcpy(before, t->lines.data, bytes);
    memcpy(volume, t->data.data, t->data.bytes);
    t->variant->forward(&t->brick, t->fan, t->fans, t->r0, t->r1, t->lines.data, t->stride, t->scratch.data);
    errors e = {0};
    for (size_t i = 0; i < t->fans; i++) {
        for (size_t row = t->r0; row < t->r1; row++) {
            tally a = tally_of(t, NULL);
            qb__joseph_reference(&t->fan[i], row, a.n, add_tap, &a);
            const size_t at = i * t->stride + row;
            e.taps += a.taps;
            compare(&e, (double)((float *)t->lines.data)[at], a.sum, (double)before[at]);
        }
    }
    bool ok = intact(t, o) && within(&e, t->amplitude, "forward", o);
    /* Columns in two calls: the same bits. */
    memcpy(whole, t->lines.data, bytes);
    memcpy(t->lines.data, before, bytes);
    float *lines = t->lines.data;
    t->variant->forward(&t->brick, t->fan, half, t->r0, t->r1, lines, t->stride, t->scratch.data);
    t->variant->forward(&t->brick, t->fan + half, t->fans - half, t->r0, t->r1, lines + half * t->stride, t->stride,
                        t->scratch.data);
    if (ok && (memcmp(whole, t->lines.data, bytes) || memcmp(volume, t->data.data, t->data.bytes))) {
        snprintf(o->why.s, sizeof o->why.s, "another cut gave other bits");
        ok = false;
    }
    free(before), free(whole), free(volume);
    return ok;
}

static bool check_adjoint(trial *t, rng *r, outcome *o) {
    fill_brick(t, r);
    fill_lines(t, r);
    const size_t *n = t->brick.n;
    double *volume = calloc(n[0] * n[1] * n[2], sizeof *volume);
    errors e = {0};
    float *before = malloc(t->data.bytes), *values = malloc(t->lines.bytes);
    if (!volume || !before || !values) abort();
    memcpy(before, t->data.data, t->data.bytes);
    memcpy(values, t->lines.data, t->lines.bytes);
    t->variant->adjoint(&t->brick, t->fan, t->fans, t->r0, t->r1, t->lines.data, t->stride, t->scratch.data);
    for (size_t i = 0; i < t->fans; i++) {
        for (size_t row = t->r0; row < t->r1; row++) {
            tally a = tally_of(t, volume);
            a.value = (double)values[i * t->stride + row];
            qb__joseph_reference(&t->fan[i], row, a.n, add_tap, &a);
            e.taps += a.taps;
        }
    }
    for (size_t i = 0; i < n[0] * n[1] * n[2]; i++) {
        float *at = voxel(t, i % n[0], i / n[0] % n[1], i / n[0] / n[1]);
        compare(&e, (double)*at, volume[i], (double)before[at - (float *)t->data.data]);
    }
    bool ok = intact(t, o) && within(&e, t->amplitude, "adjoint", o);
    if (ok && memcmp(values, t->lines.data, t->lines.bytes)) {
        snprintf(o->why.s, sizeof o->why.s, "adjoint changed its input");
        ok = false;
    }
    free(volume), free(before), free(values);
    return ok;
}

static bool check(const qb__variant *row, qb__device *device, uint64_t seed, const options *asked, outcome *o) {
    (void)device;
    rng r = {seed};
    trial t = trial_new((const qb__joseph_variant *)row, &r, asked->quick);
    bool ok = check_forward(&t, &r, o) && check_adjoint(&t, &r, o);
    if (!ok) {
        const size_t n = strlen(o->why.s);
        snprintf(o->why.s + n, sizeof o->why.s - n, " (%zux%zux%zu voxels, %zu columns, rows %zu:%zu)", t.brick.n[0],
                 t.brick.n[1], t.brick.n[2], t.fans, t.r0, t.r1);
    }
    trial_free(&t);
    return ok;
}

bool project_joseph_bench(const qb__variant *row, qb__device *device, size_t number, const options *o, measurement *m);
const kernel_case project_joseph_case = {check, project_joseph_bench};
