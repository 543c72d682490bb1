/* SPDX-License-Identifier: MIT */
/* Benchmarks whole projections as the library does them, with packing and transposing: a circular cone beam and one
 * with a tilted detector, forward and adjoint. An update is a ray crossing a plane of voxels. N^2 pixels, some views of
 * N, N^3 voxels. */
#include "cpu/features.h"
#include "kernelcheck.h"
#include "base/clock.h"
#include "ops/project.h"

#include <math.h>
#include <stdlib.h>

enum { TRIES = 3 };

typedef struct bench {
    qb_projector *projector;
    qb_geometry geometry;
    qb_grid grid;
    float *volume, *lines;
    double samples; /* planes times rays */
} bench;

static void tilt(qb_geometry *g) {
    for (size_t i = 0; i < g->views; i++) {
        qb_view *v = &g->view[i];
        for (int j = 0; j < 3; j++) {
            double u = v->u[j];
            v->u[j] += 0.03 * v->v[j];
            v->v[j] -= 0.03 * u;
        }
    }
}

/* Number of planes that rays cross within the volume, estimated from a part of the rays. */
static double count_samples(const bench *b) {
    enum { EVERY = 11 };
    const qb_geometry *g = &b->geometry;
    double count = 0;
    for (size_t i = 0; i < g->views * g->columns * g->rows; i += EVERY) {
        const double row = (double)(i % g->rows);
        const qb__fan f = qb__fan_of(g, &b->grid, i / g->rows / g->columns, i / g->rows % g->columns);
        const int axis = qb__fan_axis(&f, row);
        for (size_t k = 0; k < b->grid.n[axis]; k++) {
            bool inside = true;
            const double t = ((double)k - f.origin[axis]) / (f.along[axis] + row * f.along_step[axis]);
            for (int j = 0; j < 3; j++) {
                double at = f.origin[j] + t * (f.along[j] + row * f.along_step[j]);
                inside = inside && (j == axis || (at > -1 && at < (double)b->grid.n[j]));
            }
            count += inside ? EVERY : 0;
        }
    }
    return count;
}

static bench bench_new(const char *kernel, size_t n, size_t views, bool tilted, int threads) {
    bench b = {.grid = {{n, n, n}, {1, 1, 1}, {0, 0, 0}}};
    double *angles = malloc(views * sizeof *angles), size = (double)n;
    if (!angles) abort();
    for (size_t i = 0; i < views; i++) angles[i] = 6.283185307179586 * (double)i / (double)views;
    if (qb_geometry_cone(views, angles, n, n, 1.5, 1.5, 2 * size, 3 * size, 0, 0, &b.geometry)) abort();
    free(angles);
    if (tilted) tilt(&b.geometry);
    if (qb_projector_create(&b.geometry, &b.grid, kernel, &(qb_env){.threads = threads}, &b.projector)) abort();
    b.volume = malloc(n * n * n * sizeof *b.volume);
    b.lines = calloc(views * n * n, sizeof *b.lines);
    if (!b.volume || !b.lines) abort();
    rng r = {n};
    for (size_t i = 0; i < n * n * n; i++) b.volume[i] = (float)rng_uniform(&r, -1, 1);
    b.samples = count_samples(&b);
    return b;
}

static void bench_free(bench *b) {
    qb_projector_destroy(b->projector);
    qb_geometry_destroy(&b->geometry);
    free(b->volume);
    free(b->lines);
}

static double speed(bench *b, bool adjoint) {
    double best = INFINITY;
    for (int i = 0; i < TRIES; i++) {
        double begin = qb__now();
        if (adjoint ? qb_projector_adjoint(b->projector, b->lines, 0, b->geometry.views, false, NULL, b->volume)
                    : qb_projector_forward(b->projector, b->volume, 0, b->geometry.views, NULL, b->lines))
            abort();
        best = fmin(best, qb__now() - begin);
    }
    return 1e-9 * b->samples / best;
}

typedef struct sum {
    const float *volume;
    double value;
} sum;

static void add_tap(void *context, size_t index, double weight) {
    sum *s = context;
    s->value += weight * (double)s->volume[index];
}

static double error_of_some_rays(const bench *b) {
    const qb_geometry *g = &b->geometry;
    double error2 = 0, norm2 = 0;
    for (size_t i = 0; i < g->views * g->rows * g->columns; i += 9973) {
        const size_t row = i / g->columns % g->rows;
        const qb__fan f = qb__fan_of(g, &b->grid, i / g->columns / g->rows, i % g->columns);
        sum s = {.volume = b->volume};
        qb__joseph_reference(&f, row, b->grid.n, add_tap, &s);
        const double want = s.value * qb__fan_length(&f, b->grid.voxel, (double)row);
        error2 += (want - (double)b->lines[i]) * (want - (double)b->lines[i]);
        norm2 += want * want;
    }
    return sqrt(error2 / norm2);
}

/* Problems by number: circular forward, its adjoint, tilted forward, its adjoint. */
static double scalar_speed(size_t number) {
    static double known[4];
    if (known[number] == 0) {
        bench b = bench_new("project_joseph.scalar", 128, 4, number > 1, 1);
        known[number] = speed(&b, number % 2);
        bench_free(&b);
    }
    return known[number];
}

bool project_joseph_bench(const qb__variant *row, qb__device *device, size_t number, const options *o, measurement *m);

bool project_joseph_bench(const qb__variant *row, qb__device *device, size_t number, const options *o, measurement *m) {
    (void)device;
    static const char *const names[4] = {"forward, circular", "adjoint, circular", "forward, tilted",
                                         "adjoint, tilted"};
    const qb__joseph_variant *v = (const qb__joseph_variant *)row;
    if (number >= 4) return false;
    const size_t n = o->size ? o->size : o->quick || v->head.features == 0 ? 128 : 256;
    const size_t views = v->head.features == 0 ? 4 : 16;
    bench b = bench_new(v->head.id, n, views, number > 1, o->threads);
    m->scalar = scalar_speed(number);
    m->ceiling = NAN;
    m->pack_gigabytes_per_second = NAN;
    m->rel_l2 = NAN;
    if (number % 2 == 0) {
        m->giga_updates_per_second = speed(&b, false);
        m->rel_l2 = error_of_some_rays(&b);
    } else {
        (void)speed(&b, false); /* makes the line integrals for the adjoint */
        m->giga_updates_per_second = speed(&b, true);
    }
    snprintf(m->problem.s, sizeof m->problem.s, "%s, %zu^2 pixels, %zu views, %zu^3", names[number], n, views, n);
    bench_free(&b);
    return true;
}
