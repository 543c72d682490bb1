/* SPDX-License-Identifier: MIT */
#include "case_bp_parallel.h"
#include "cases.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a trial computes: a window of whole tiles of the image, so that wide images stay fast. */
typedef struct trial {
    const qb__bp_parallel_variant *variant;
    scan scan;
    unsigned lanes, slices;
    size_t x0, x1, y0, y1;     /* the window */
    size_t stride_y, stride_z; /* of the output, which is wider than the window */
    guarded packed, scratch, out;
} trial;

static size_t log_uniform(rng *r, size_t low, size_t high) {
    return (size_t)exp(rng_uniform(r, log((double)low), log((double)high + 0.999)));
}

/* Chooses views, columns and pixels: every legal shape, and extreme ones often. */
static scan random_shape(rng *r, unsigned slices, bool quick) {
    size_t most = quick ? 300 : 2048;
    size_t views = log_uniform(r, 1, quick ? 150 : 500), columns = log_uniform(r, 1, most);
    size_t nx = log_uniform(r, 1, most), ny = log_uniform(r, 1, most);
    switch (rng_below(r, 10)) {
    case 0: views = 1; break;
    case 1: columns = 1; break;
    case 2: nx = ny = 1; break;
    case 3: nx = ny = columns; break;
    case 4:
        views = 1 + rng_below(r, 20);
        columns = nx = ny = 16384;
        break;
    }
    while (views > 1 && views * columns * slices > 20u << 20) views /= 2;
    return scan_new(views, columns, nx, ny, slices);
}

/* One tile or two in a row, anywhere in the image. */
static void random_window(rng *r, size_t size, unsigned tile, size_t *begin, size_t *end) {
    size_t tiles = (size + tile - 1) / tile, first = rng_below(r, tiles);
    size_t n = 1 + rng_below(r, 2);
    *begin = first * tile;
    *end = (first + n) * tile < size ? (first + n) * tile : size;
}

static trial trial_new(const qb__bp_parallel_variant *variant, rng *r, bool quick) {
    trial t = {.variant = variant};
    unsigned groups = variant->head.most / variant->head.step;
    t.lanes = variant->head.step * (1 + (unsigned)rng_below(r, groups));
    t.slices = rng_below(r, 2) ? t.lanes : 1 + (unsigned)rng_below(r, t.lanes);
    t.scan = random_shape(r, t.slices, quick);
    scan_aim(r, &t.scan);
    scan_fill(&t.scan, r);

    random_window(r, t.scan.problem.nx, variant->tile, &t.x0, &t.x1);
    random_window(r, t.scan.problem.ny, variant->tile, &t.y0, &t.y1);
    t.stride_y = t.x1 - t.x0 + rng_below(r, 5);
    t.stride_z = t.stride_y * (t.y1 - t.y0 + rng_below(r, 2)) + rng_below(r, 7);
    t.out = guarded_new(t.slices * t.stride_z * sizeof(float));
    t.packed = guarded_new(variant->view_bytes(&t.scan.problem, t.lanes) * t.scan.problem.views);
    t.scratch = guarded_new(variant->scratch_bytes(&t.scan.problem, t.lanes));
    return t;
}

static void trial_free(trial *t) {
    guarded_free(&t->out);
    guarded_free(&t->packed);
    guarded_free(&t->scratch);
    scan_free(&t->scan);
}

/* Slices first .. first + slices - 1, with the views in random order. */
static void pack(const trial *t, unsigned lanes, unsigned first, unsigned slices, void *packed) {
    qb__bp_parallel_problem p = t->scan.problem;
    p.largest += first;
    const size_t bytes = t->variant->view_bytes(&p, lanes);
    for (size_t v = p.views; v-- > 0;)
        t->variant->pack(&p, v, lanes, slices, scan_row(&t->scan, first, v), p.views * p.columns,
                         (char *)packed + v * bytes);
}

/* `out` holds the window; run() expects the address of voxel (0, 0, 0). */
static void run_tile(const trial *t, const void *packed, unsigned lanes, unsigned first, unsigned slices, size_t x0,
                     size_t x1, size_t y0, size_t y1, float *out) {
    qb__bp_parallel_problem p = t->scan.problem;
    p.largest += first;
    uintptr_t origin = (uintptr_t)out - (t->y0 * t->stride_y + t->x0) * sizeof(float);
    t->variant->run(&p, packed, lanes, slices, x0, x1, y0, y1, (float *)origin, t->stride_z, t->stride_y,
                    t->scratch.data);
}

static void run_window(const trial *t) {
    const unsigned tile = t->variant->tile;
    for (size_t y = t->y0; y < t->y1; y += tile)
        for (size_t x = t->x0; x < t->x1; x += tile)
            run_tile(t, t->packed.data, t->lanes, 0, t->slices, x, qb__smaller(x + tile, t->x1), y,
                     qb__smaller(y + tile, t->y1), t->out.data);
}

static float *voxel(const trial *t, float *out, unsigned z, size_t x, size_t y) {
    return out + z * t->stride_z + (y - t->y0) * t->stride_y + (x - t->x0);
}

/* The gaps between rows and slices of the output must still hold poison. */
static bool gaps_untouched(const trial *t) {
    const float *out = t->out.data;
    for (size_t i = 0; i < t->out.bytes / sizeof *out; i++) {
        size_t y = i % t->stride_z / t->stride_y, x = i % t->stride_z % t->stride_y;
        if (y < t->y1 - t->y0 && x < t->x1 - t->x0) continue;
        uint32_t bits;
        memcpy(&bits, out + i, sizeof bits);
        if (bits != 0xffffffffu) return false;
    }
    return true;
}

static bool all_finite(const trial *t) {
    for (unsigned z = 0; z < t->slices; z++)
        for (size_t y = t->y0; y < t->y1; y++)
            for (size_t x = t->x0; x < t->x1; x++)
                if (!isfinite(*voxel(t, t->out.data, z, x, y))) return false;
    return true;
}

/* Error of sampled voxels compared to the oracle, divided by the amplitude of the slice. */
static bool accurate(const trial *t, rng *r, bool quick, outcome *o) {
    const scan *s = &t->scan;
    const size_t budget = quick ? 500000 : 4000000;
    const size_t pixels = (t->x1 - t->x0) * (t->y1 - t->y0);
    size_t samples = qb__smaller(2 * pixels * t->slices, budget / s->problem.views + 1);
    /* The weights are the same in all slices, so their errors are, too. */
    errors e = {.distinct = scan_independent(s, t->x1 - t->x0, t->y1 - t->y0), .views = s->problem.views};
    for (size_t i = 0; i < samples; i++) {
        size_t x = t->x0 + rng_below(r, t->x1 - t->x0), y = t->y0 + rng_below(r, t->y1 - t->y0);
        unsigned z = (unsigned)rng_below(r, t->slices);
        double unit = (double)s->largest[z];
        errors_add(&e, *voxel(t, t->out.data, z, x, y) / unit,
                   scan_reference(s, t->variant->head.interp, z, x, y) / unit);
    }
    return errors_within(&e, t->variant->head.accuracy, o);
}

/* Some slices of a part of one tile, packed and computed separately, one slice also by its own functions: the same bits
 * as before. */
static bool same_bits(trial *t, rng *r) {
    const qb__bp_parallel_variant *usual = t->variant;
    const unsigned first = (unsigned)rng_below(r, t->slices), one = usual->one && rng_below(r, 2);
    const unsigned slices = one ? 1 : 1 + (unsigned)rng_below(r, t->slices - first);
    const qb__bp_parallel_variant *v = t->variant = one ? usual->one : usual;
    unsigned lanes = (slices + v->head.step - 1) / v->head.step * v->head.step;
    lanes += v->head.step * (unsigned)rng_below(r, (v->head.most - lanes) / v->head.step + 1);
    size_t tiles_x = (t->x1 - t->x0 - 1) / v->tile + 1, tiles_y = (t->y1 - t->y0 - 1) / v->tile + 1;
    size_t x0 = t->x0 + v->tile * rng_below(r, tiles_x), y0 = t->y0 + v->tile * rng_below(r, tiles_y);
    if (usual->head.most > 1) {
        x0 += rng_below(r, qb__smaller(v->tile, t->x1 - x0));
        y0 += rng_below(r, qb__smaller(v->tile, t->y1 - y0));
    }
    const uint64_t line = rng_below(r, 4); /* planes across the slices are one pixel wide */
    size_t x1 = x0 + 1 + (line == 0 ? 0 : rng_below(r, qb__smaller(v->tile, t->x1 - x0)));
    size_t y1 = y0 + 1 + (line == 1 ? 0 : rng_below(r, qb__smaller(v->tile, t->y1 - y0)));

    guarded packed = guarded_new(v->view_bytes(&t->scan.problem, lanes) * t->scan.problem.views);
    guarded out = guarded_new(t->out.bytes);
    guarded_free(&t->scratch);
    t->scratch = guarded_new(v->scratch_bytes(&t->scan.problem, lanes));
    pack(t, lanes, first, slices, packed.data);
    run_tile(t, packed.data, lanes, first, slices, x0, x1, y0, y1, out.data);
    bool same = guarded_intact(&packed) && guarded_intact(&out) && guarded_intact(&t->scratch);
    for (unsigned z = 0; z < slices && same; z++)
        for (size_t y = y0; y < y1 && same; y++)
            same = !memcmp(voxel(t, out.data, z, x0, y), voxel(t, t->out.data, first + z, x0, y),
                           (x1 - x0) * sizeof(float));
    guarded_free(&packed);
    guarded_free(&out);
    t->variant = usual;
    return same;
}

static bool failed(outcome *o, const char *why) {
    snprintf(o->why.s, sizeof o->why.s, "%s", why);
    return false;
}

static bool verdict(trial *t, rng *r, bool quick, outcome *o) {
    pack(t, t->lanes, 0, t->slices, t->packed.data);
    if (!guarded_intact(&t->packed)) return failed(o, "pack wrote outside its block");
    run_window(t);
    const char *broken = !guarded_intact(&t->packed)    ? "run changed the packed sinogram's margin"
                         : !guarded_intact(&t->scratch) ? "run wrote outside its scratch"
                         : !guarded_intact(&t->out)     ? "run wrote outside the volume"
                         : !gaps_untouched(t)           ? "run wrote between the rows"
                         : !all_finite(t)               ? "a voxel was left out"
                                                        : NULL;
    if (broken) return failed(o, broken);
    if (!accurate(t, r, quick, o)) return false;
    if (!same_bits(t, r)) return failed(o, "another cut gave other bits");
    return true;
}

static bool check(const qb__variant *row, qb__device *device, uint64_t seed, const options *asked, outcome *o) {
    (void)device;
    rng r = {seed};
    trial t = trial_new((const qb__bp_parallel_variant *)row, &r, asked->quick);
    bool ok = qb__variant_refuses(&t.variant->head, &t.scan.problem) || verdict(&t, &r, asked->quick, o);
    if (!ok) {
        const qb__bp_parallel_problem *p = &t.scan.problem;
        size_t n = strlen(o->why.s);
        snprintf(o->why.s + n, sizeof o->why.s - n,
                 " (%zu views, %zu columns, %zux%zu pixels, window %zu:%zu,%zu:%zu, %u of %u lanes)", p->views,
                 p->columns, p->nx, p->ny, t.x0, t.x1, t.y0, t.y1, t.slices, t.lanes);
    }
    trial_free(&t);
    return ok;
}

const kernel_case bp_parallel_case = {check, bp_parallel_bench};
