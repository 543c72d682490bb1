/* SPDX-License-Identifier: MIT */
/* A square image from as many views as columns. Tiles spread evenly over the image stand for all of
 * them, those whose corners miss the detector included; making tables and writing the tile count,
 * packing is measured apart. Threads share one packed sinogram and take tiles in turn. */
#include "case_bp_parallel.h"
#include "base/clock.h"
#include "base/sort.h"
#include "cpu/features.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { TRIES = 5 };

typedef struct bench {
    const qb__bp_parallel_variant *variant;
    scan scan;
    unsigned lanes;
    size_t tiles; /* each way, of those measured */
    guarded packed;
    atomic_size_t next;
} bench;

static size_t tile_begin(const bench *b, size_t i) {
    size_t all = (b->scan.problem.nx + b->variant->tile - 1) / b->variant->tile;
    return i * all / b->tiles * b->variant->tile;
}

static void *run_tiles(void *context) {
    bench *b = context;
    const qb__bp_parallel_problem *p = &b->scan.problem;
    const unsigned tile = b->variant->tile;
    guarded scratch = guarded_new(b->variant->scratch_bytes(p, b->lanes));
    guarded out = guarded_new((size_t)b->lanes * tile * tile * sizeof(float));
    for (;;) {
        size_t n = atomic_fetch_add(&b->next, 1);
        if (n >= b->tiles * b->tiles) break;
        size_t x0 = tile_begin(b, n % b->tiles), y0 = tile_begin(b, n / b->tiles);
        size_t x1 = x0 + tile < p->nx ? x0 + tile : p->nx;
        size_t y1 = y0 + tile < p->ny ? y0 + tile : p->ny;
        uintptr_t origin = (uintptr_t)out.data - (y0 * tile + x0) * sizeof(float);
        b->variant->run(p, b->packed.data, b->lanes, b->lanes, x0, x1, y0, y1, (float *)origin, (size_t)tile * tile,
                        tile, scratch.data);
    }
    guarded_free(&scratch);
    guarded_free(&out);
    return NULL;
}

static double seconds_for_tiles(bench *b, int threads) {
    pthread_t ids[256];
    atomic_store(&b->next, 0);
    double begin = qb__now();
    for (int i = 1; i < threads && i < 256; i++)
        if (pthread_create(&ids[i], NULL, run_tiles, b)) abort();
    run_tiles(b);
    for (int i = 1; i < threads && i < 256; i++) pthread_join(ids[i], NULL);
    return qb__now() - begin;
}

/* Giga-updates a second, the median of a few tries. */
static double speed(bench *b, int threads) {
    double seconds[TRIES];
    for (int i = 0; i < TRIES; i++) seconds[i] = seconds_for_tiles(b, threads);
    qb__sort(seconds, TRIES);
    double updates = 0;
    const qb__bp_parallel_problem *p = &b->scan.problem;
    for (size_t n = 0; n < b->tiles * b->tiles; n++) {
        size_t x = tile_begin(b, n % b->tiles), y = tile_begin(b, n / b->tiles);
        updates += fmin(b->variant->tile, (double)(p->nx - x)) * fmin(b->variant->tile, (double)(p->ny - y));
    }
    return 1e-9 * updates * (double)p->views * b->lanes / seconds[TRIES / 2];
}

/* Even noise: smooth data would be easier on accuracy and no different in speed. */
static scan bench_scan(size_t size, unsigned slices) {
    scan s = scan_new(size, size, size, size, slices);
    rng r = {size};
    for (size_t v = 0; v < size; v++) {
        double t = 3.141592653589793 * (double)v / (double)size, half = ((double)size - 1) / 2;
        s.ax[v] = cos(t);
        s.ay[v] = sin(t);
        s.h0[v] = half - half * (s.ax[v] + s.ay[v]);
    }
    for (size_t i = 0; i < slices * size * size; i++) s.rows[i] = (float)rng_uniform(&r, -1.0, 1.0);
    for (unsigned z = 0; z < slices; z++) s.largest[z] = 1.0f;
    return s;
}

static bench bench_new(const qb__bp_parallel_variant *variant, size_t size, int threads) {
    bench b = {.variant = variant, .lanes = variant->head.most, .tiles = threads > 1 ? 12 : 4};
    size_t tiles = (size + variant->tile - 1) / variant->tile;
    if (b.tiles > tiles) b.tiles = tiles;
    b.scan = bench_scan(size, b.lanes);
    b.packed = guarded_new(variant->view_bytes(&b.scan.problem, b.lanes) * size);
    return b;
}

static void bench_free(bench *b) {
    scan_free(&b->scan);
    guarded_free(&b->packed);
}

/* Gigabytes of plain rows a second, one thread, into memory that has been touched. */
static double pack_speed(bench *b) {
    const qb__bp_parallel_problem *p = &b->scan.problem;
    const size_t bytes = b->variant->view_bytes(p, b->lanes);
    double begin = qb__now();
    for (size_t v = 0; v < p->views; v++)
        b->variant->pack(p, v, b->lanes, b->lanes, scan_row(&b->scan, 0, v), p->views * p->columns,
                         (char *)b->packed.data + v * bytes);
    double gigabytes = 1e-9 * (double)(p->views * p->columns * b->lanes * sizeof(float));
    return gigabytes / (qb__now() - begin);
}

static double error_of_one_tile(bench *b) {
    const qb__bp_parallel_problem *p = &b->scan.problem;
    const unsigned tile = b->variant->tile;
    const size_t at = tile_begin(b, b->tiles / 2);
    guarded scratch = guarded_new(b->variant->scratch_bytes(p, b->lanes));
    guarded out = guarded_new((size_t)b->lanes * tile * tile * sizeof(float));
    uintptr_t origin = (uintptr_t)out.data - (at * tile + at) * sizeof(float);
    size_t end = at + tile < p->nx ? at + tile : p->nx;
    b->variant->run(p, b->packed.data, b->lanes, b->lanes, at, end, at, end, (float *)origin, (size_t)tile * tile, tile,
                    scratch.data);
    double error2 = 0, norm2 = 0;
    for (unsigned i = 0; i < 2000; i++) {
        unsigned z = i % b->lanes;
        size_t x = i * 7 % (end - at), y = i * 13 % (end - at);
        double want = scan_reference(&b->scan, b->variant->head.interp, z, at + x, at + y);
        double got = ((float *)out.data)[z * tile * tile + y * tile + x];
        error2 += (got - want) * (got - want);
        norm2 += want * want;
    }
    guarded_free(&scratch);
    guarded_free(&out);
    return sqrt(error2 / norm2);
}

static const qb__bp_parallel_variant *scalar_of(qb_interp interp) {
    size_t count;
    const qb__bp_parallel_variant *v = qb__bp_parallel_variants(&count);
    for (size_t i = 0; i < count; i++)
        if (v[i].head.interp == interp && v[i].head.features == 0) return v + i;
    return NULL;
}

/* Of a problem small enough for it; kept, since every variant is compared to it. */
double bp_parallel_scalar_speed(qb_interp interp) {
    static double known[QB_INTERP_OVERSAMPLE + 1];
    const qb__bp_parallel_variant *scalar = scalar_of(interp);
    if (known[interp] == 0 && scalar) {
        bench b = bench_new(scalar, 256, 1);
        pack_speed(&b);
        known[interp] = speed(&b, 1);
        bench_free(&b);
    }
    return known[interp];
}

/* Two loads and two multiply-adds an update in linear interpolation, one load and one addition in
 * nearest; halves come twice as many to a vector. */
static double ceiling(const qb__bp_parallel_variant *variant) {
    int bits = variant->head.features & QB__CPU_AVX512 ? 512 : variant->head.features & QB__CPU_AVX2 ? 256 : 128;
    if (bits == 128) return NAN;
    double lanes = fmin(ceiling_fma(bits), ceiling_load(bits));
    if (variant->head.features & QB__CPU_AVX512FP16) lanes *= 2;
    return variant->head.interp == QB_INTERP_LINEAR ? lanes / 2 : lanes;
}

bool bp_parallel_bench(const qb__variant *row, qb__device *device, size_t number, const options *o, measurement *m) {
    (void)device;
    static const size_t sizes[] = {512, 1024, 2048};
    const qb__bp_parallel_variant *variant = (const qb__bp_parallel_variant *)row;
    /* The scalar variant would take minutes for what tells nothing new. */
    size_t problems = variant->head.features == 0 || o->quick || o->size ? 1 : 3;
    if (number >= problems) return false;
    const size_t size = o->size ? o->size : sizes[number];

    m->scalar = bp_parallel_scalar_speed(variant->head.interp);
    m->ceiling = ceiling(variant);
    bench b = bench_new(variant, size, o->threads);
    pack_speed(&b);
    m->pack_gigabytes_per_second = pack_speed(&b);
    m->rel_l2 = error_of_one_tile(&b);
    m->giga_updates_per_second = speed(&b, o->threads);
    snprintf(m->problem.s, sizeof m->problem.s, "%zux%zu pixels, %zu views, %u slice%s", size, size, size, b.lanes,
             b.lanes == 1 ? "" : "s");
    bench_free(&b);
    return true;
}
