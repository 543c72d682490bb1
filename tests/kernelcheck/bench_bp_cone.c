/* SPDX-License-Identifier: MIT */
/* Circular: N^2 pixels, N views, N^3 voxels of the detector's pitch over the magnification; bricks
 * spread evenly over the grid stand for all of them. Matrix: a C-arm of 1248x960 pixels around a
 * cube of 256 mm cut into L^3, sampled views of the 496; all of the cube, what misses the detector
 * counted too. All views show one image, for only the places they are read at matter to speed.
 * Packing is measured apart. Threads take bricks in turn. */
#include "case_bp_cone.h"
#include "base/clock.h"
#include "base/sort.h"
#include "cpu/features.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { TRIES = 3 };

typedef struct bench {
    const qb__bp_cone_variant *variant;
    cone_scan scan;
    qb__bp_cone_window window;
    size_t brick[3], bricks[3], every; /* bricks of the grid; each `every`th is measured */
    guarded packed;
    float *volume;
    double pack_seconds;
    text name;
    atomic_size_t next;
} bench;

static size_t measured(const bench *b) {
    size_t all = b->bricks[0] * b->bricks[1] * b->bricks[2];
    return (all + b->every - 1) / b->every;
}

static qb__bp_cone_brick brick_at(const bench *b, size_t i) {
    const qb__bp_cone_problem *p = &b->scan.problem;
    const size_t n[3] = {p->nx, p->ny, p->nz};
    size_t at[3], end[3];
    i *= b->every;
    for (int k = 0; k < 3; k++) {
        at[k] = i % b->bricks[k] * b->brick[k];
        end[k] = at[k] + b->brick[k] < n[k] ? at[k] + b->brick[k] : n[k];
        i /= b->bricks[k];
    }
    return (qb__bp_cone_brick){at[0], end[0], at[1], end[1], at[2], end[2]};
}

static void *run_bricks(void *context) {
    bench *b = context;
    const qb__bp_cone_problem *p = &b->scan.problem;
    guarded scratch = guarded_new(b->variant->scratch_bytes(p));
    for (;;) {
        size_t i = atomic_fetch_add(&b->next, 1);
        if (i >= measured(b)) break;
        b->variant->run(p, 0, p->views, b->packed.data, b->window, brick_at(b, i), b->volume, p->nx * p->ny, p->nx,
                        false, scratch.data);
    }
    guarded_free(&scratch);
    return NULL;
}

static double seconds_for_bricks(bench *b, int threads) {
    pthread_t ids[256];
    atomic_store(&b->next, 0);
    double begin = qb__now();
    for (int i = 1; i < threads && i < 256; i++)
        if (pthread_create(&ids[i], NULL, run_bricks, b)) abort();
    run_bricks(b);
    for (int i = 1; i < threads && i < 256; i++) pthread_join(ids[i], NULL);
    return qb__now() - begin;
}

static double speed(bench *b, int threads) {
    double seconds[TRIES], updates = 0;
    for (int i = 0; i < TRIES; i++) seconds[i] = seconds_for_bricks(b, threads);
    qb__sort(seconds, TRIES);
    for (size_t i = 0; i < measured(b); i++) {
        qb__bp_cone_brick k = brick_at(b, i);
        updates += (double)((k.x1 - k.x0) * (k.y1 - k.y0) * (k.z1 - k.z0));
    }
    return 1e-9 * updates * (double)b->scan.problem.views / seconds[TRIES / 2];
}

static void pack_views(bench *b) {
    const qb__bp_cone_problem *p = &b->scan.problem;
    const size_t bytes = b->variant->view_bytes(p, b->window);
    double begin = qb__now();
    for (size_t v = 0; v < p->views; v++)
        b->variant->pack(p, v, b->window, b->scan.images, p->columns, (char *)b->packed.data + v * bytes);
    b->pack_seconds = qb__now() - begin;
}

/* One image for all views: storage for one, and the problem told of all. */
static cone_scan shared_image(size_t views, size_t columns, size_t rows, size_t n) {
    cone_scan s = cone_scan_new(1, columns, rows, n, n, n);
    rng r = {n};
    cone_scan_fill(&s, &r);
    s.matrix = realloc(s.matrix, views * sizeof *s.matrix);
    s.largest = realloc(s.largest, views * sizeof *s.largest);
    if (!s.matrix || !s.largest) abort();
    for (size_t v = 1; v < views; v++) s.largest[v] = s.largest[0];
    s.problem.matrix = (const double(*)[12])s.matrix;
    s.problem.largest = s.largest;
    s.problem.views = views;
    return s;
}

static void place_circular(bench *b, size_t n) {
    const cone_setup setup = {.sod = 2.0 * (double)n,
                              .sdd = 3.0 * (double)n,
                              .pitch_u = 1.5,
                              .pitch_v = 1.5,
                              .voxel = {1, 1, 1},
                              .sweep = 6.283185307179586};
    rng r = {1};
    b->scan = shared_image(n, n, n, n);
    cone_scan_place(&b->scan, &setup, &r);
    snprintf(b->name.s, sizeof b->name.s, "%zu^2 pixels, %zu views, %zu^3 voxels", n, n, n);
}

static void place_c_arm(bench *b, size_t n, size_t views) {
    const double voxel = 256 / (double)n;
    const cone_setup setup = {.sod = 785,
                              .sdd = 1200,
                              .pitch_u = 0.32,
                              .pitch_v = 0.32,
                              .voxel = {voxel, voxel, voxel},
                              .sweep = 3.490658503988659,
                              .tilt = 0.01,
                              .roll = 0.01,
                              .wobble = 0.003,
                              .jitter = 1};
    rng r = {1};
    b->scan = shared_image(views, 1248, 960, n);
    cone_scan_place(&b->scan, &setup, &r);
    snprintf(b->name.s, sizeof b->name.s, "1248x960 pixels, %zu of 496 views, %zu^3 voxels", views, n);
}

static void start(bench *b, size_t wanted_bricks) {
    const qb__bp_cone_problem *p = &b->scan.problem;
    const size_t n[3] = {p->nx, p->ny, p->nz};
    size_t all = 1;
    for (int k = 0; k < 3; k++) {
        b->brick[k] = b->variant->brick[k] ? b->variant->brick[k] : n[k];
        b->bricks[k] = (n[k] + b->brick[k] - 1) / b->brick[k];
        all *= b->bricks[k];
    }
    /* An odd stride, so that the bricks chosen do not line up. */
    b->every = all > wanted_bricks ? (all / wanted_bricks) | 1 : 1;
    b->window = (qb__bp_cone_window){0, p->rows};
    b->packed = guarded_new(b->variant->view_bytes(p, b->window) * p->views);
    b->volume = calloc(p->nx * p->ny * p->nz, sizeof(float));
    if (!b->volume) abort();
    pack_views(b);
    pack_views(b);
}

static void stop(bench *b) {
    cone_scan_free(&b->scan);
    guarded_free(&b->packed);
    free(b->volume);
}

static double error_of_one_brick(bench *b) {
    const qb__bp_cone_problem *p = &b->scan.problem;
    const qb__bp_cone_brick k = brick_at(b, measured(b) / 2);
    double error2 = 0, norm2 = 0;
    for (size_t i = 0; i < 1000; i++) {
        size_t x = k.x0 + i * 7 % (k.x1 - k.x0), y = k.y0 + i * 13 % (k.y1 - k.y0);
        size_t z = k.z0 + i * 29 % (k.z1 - k.z0);
        double want = 0, got = (double)b->volume[(z * p->ny + y) * p->nx + x];
        for (size_t v = 0; v < p->views; v++) want += qb__bp_cone_reference(p, v, b->scan.images, p->columns, x, y, z);
        error2 += (got - want) * (got - want);
        norm2 += want * want;
    }
    return sqrt(error2 / norm2);
}

static const qb__bp_cone_variant *scalar_like(const qb__bp_cone_variant *variant) {
    size_t count;
    const qb__bp_cone_variant *v = qb__bp_cone_variants(&count);
    for (size_t i = 0; i < count; i++)
        if (v[i].head.features == 0 && cone_is_circular(v + i) == cone_is_circular(variant)) return v + i;
    return variant;
}

/* Of a problem small enough for it; kept, since every variant is compared to it. */
static double scalar_speed(const qb__bp_cone_variant *variant) {
    static double known[2];
    const bool circular = cone_is_circular(variant);
    if (known[circular] == 0) {
        bench b = {.variant = scalar_like(variant)};
        circular ? place_circular(&b, 128) : place_c_arm(&b, 128, 8);
        start(&b, 8);
        known[circular] = speed(&b, 1);
        stop(&b);
    }
    return known[circular];
}

/* Arithmetic alone. Circular: 13 vector operations for two vectors of voxels and 2 for each vector
 * of blended pixels; matrix: 30 a vector, gathers not counted. */
static double ceiling(const qb__bp_cone_variant *variant) {
    int bits = variant->head.features & QB__CPU_AVX512 ? 512 : variant->head.features & QB__CPU_AVX2 ? 256 : 128;
    if (bits == 128) return NAN;
    return ceiling_fma(bits) / (cone_is_circular(variant) ? 8.5 : 30);
}

bool bp_cone_bench(const qb__variant *row, qb__device *device, size_t number, const options *o, measurement *m) {
    (void)device;
    const qb__bp_cone_variant *variant = (const qb__bp_cone_variant *)row;
    const bool circular = cone_is_circular(variant);
    size_t problems = variant->head.features == 0 || o->quick ? 1 : 2;
    if (number >= problems) return false;

    m->scalar = scalar_speed(variant);
    m->ceiling = ceiling(variant);
    bench b = {.variant = variant};
    if (circular)
        place_circular(&b, number ? 512 : 256);
    else
        place_c_arm(&b, number ? 512 : 256, number ? 8 : 16);
    start(&b, circular ? (variant->head.features ? 48 : 4) : variant->head.features ? SIZE_MAX : 16);
    m->giga_updates_per_second = speed(&b, o->threads);
    m->rel_l2 = error_of_one_brick(&b);
    m->pack_gigabytes_per_second = 1e-9 *
                                   (double)(b.scan.problem.views * b.scan.problem.rows * b.scan.problem.columns) *
                                   sizeof(float) / b.pack_seconds;
    m->problem = b.name;
    stop(&b);
    return true;
}
