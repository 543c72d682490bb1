/* SPDX-License-Identifier: MIT */
#include "case_bp_cone.h"
#include "cases.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool cone_is_circular(const qb__bp_cone_variant *v) {
    return !strncmp(v->head.id, "bp_cone_circular", strlen("bp_cone_circular"));
}

/* What a trial computes: the voxels of a window of the grid, in an output that is only a little larger. */
typedef struct trial {
    const qb__bp_cone_variant *variant;
    cone_scan scan;
    qb__bp_cone_brick part;
    qb__bp_cone_window window; /* detector rows that the part's slices see */
    size_t stride_y, stride_z;
    guarded packed, scratch, out;
} trial;

static cone_scan random_shape(rng *r, bool quick) {
    const size_t most = quick ? 120 : 400;
    size_t views = cone_log_uniform(r, 1, quick ? 20 : 60);
    size_t columns = cone_log_uniform(r, 1, most), rows = cone_log_uniform(r, 1, most);
    size_t nx = cone_log_uniform(r, 1, most), ny = cone_log_uniform(r, 1, most);
    size_t nz = cone_log_uniform(r, 1, 2 * most);
    switch (rng_below(r, 10)) {
    case 0: views = 1; break;
    case 1: columns = 1; break;
    case 2: rows = 1; break;
    case 3: nx = ny = nz = 1; break;
    case 4: nx = ny = nz = columns = rows; break;
    case 5:
        views = 1 + rng_below(r, 6);
        columns = nx = ny = 2048;
        break;
    case 6:
        views = 1 + rng_below(r, 6);
        rows = nz = 2048;
        break;
    }
    return cone_scan_new(views, columns, rows, nx, ny, nz);
}

static double log_range(rng *r, double low, double high) { return exp(rng_uniform(r, log(low), log(high))); }

/* Distances for which the source stays outside the grid's ball at every angle. */
cone_setup cone_random_setup(rng *r, const qb__bp_cone_problem *p, bool circular) {
    cone_setup s = {.flip = rng_below(r, 4) == 0};
    const double pixel = rng_below(r, 3) ? 1.0 : log_range(r, 0.5, 2.0);
    double voxel = rng_below(r, 2) ? 1.0 : log_range(r, 0.3, 4.0);
    double aspect = rng_below(r, 3) ? 1.0 : log_range(r, 0.4, 2.5);
    const double nx = (double)p->nx, ny = (double)p->ny, nz = (double)p->nz;
    double half = 0.5 * hypot(nx, ny);
    bool roi = rng_below(r, 3) == 0;
    double reach = half * (roi ? 1.6 : 1.0) + (circular ? 0.0 : 0.3 * nz) + 4;
    s.sod = voxel * reach * log_range(r, 1.6, 8.0);
    double magnification = log_range(r, 1.05, 3.0);
    s.sdd = s.sod * magnification;
    s.voxel[0] = s.voxel[1] = voxel;
    s.voxel[2] = voxel * aspect;
    s.pitch_u = s.pitch_v = pixel * magnification;
    for (int i = 0; i < 3 && roi; i++)
        s.offset[i] = rng_uniform(r, -0.2, 0.2) * (i < 2 ? half * voxel : nz * s.voxel[2]);
    if (rng_below(r, 3) == 0) s.detector_u = rng_uniform(r, -0.7, 0.7) * (double)p->columns;
    if (rng_below(r, 3) == 0) s.detector_v = rng_uniform(r, -0.7, 0.7) * (double)p->rows;
    if (rng_below(r, 4) == 0) s.detector_v = 0.5 * (double)rng_below(r, p->rows);
    if (rng_below(r, 4) == 0) s.source_z = rng_uniform(r, -0.5, 0.5) * nz * s.voxel[2];
    s.from = rng_below(r, 2) ? 0.0 : rng_uniform(r, -4, 4);
    s.sweep = rng_below(r, 2) ? 6.283185307179586 : rng_uniform(r, 1, 7);
    if (circular) return s;
    if (rng_below(r, 2)) s.tilt = 0.1;
    if (rng_below(r, 2)) s.roll = rng_below(r, 3) ? 0.02 : 3.2;
    if (rng_below(r, 2)) s.wobble = 0.01;
    if (rng_below(r, 2)) s.jitter = 2;
    return s;
}

/* Chooses some of n voxels along an axis, at most `most`. */
static void random_range(rng *r, size_t n, size_t most, size_t *begin, size_t *end) {
    size_t length = rng_below(r, 2) ? qb__smaller(n, most) : 1 + rng_below(r, qb__smaller(n, most));
    *begin = rng_below(r, n - length + 1);
    *end = *begin + length;
}

static trial trial_new(const qb__bp_cone_variant *variant, rng *r, bool quick) {
    trial t = {.variant = variant, .scan = random_shape(r, quick)};
    const qb__bp_cone_problem *p = &t.scan.problem;
    const cone_setup setup = cone_random_setup(r, p, cone_is_circular(variant));
    cone_scan_place(&t.scan, &setup, r);
    cone_scan_fill(&t.scan, r);
    qb__bp_cone_brick *b = &t.part;
    random_range(r, p->nx, 100, &b->x0, &b->x1);
    random_range(r, p->ny, 40, &b->y0, &b->y1);
    random_range(r, p->nz, 300, &b->z0, &b->z1);
    t.window = qb__bp_cone_rows(p, b->z0, b->z1);
    if (rng_below(r, 2)) t.window = (qb__bp_cone_window){0, p->rows};
    t.stride_y = b->x1 - b->x0 + rng_below(r, 5);
    t.stride_z = t.stride_y * (b->y1 - b->y0 + rng_below(r, 2)) + rng_below(r, 7);
    t.out = guarded_new((b->z1 - b->z0) * t.stride_z * sizeof(float));
    t.packed = guarded_new(variant->view_bytes(p, t.window) * p->views);
    t.scratch = guarded_new(variant->scratch_bytes(p));
    return t;
}

static void trial_free(trial *t) {
    guarded_free(&t->out);
    guarded_free(&t->packed);
    guarded_free(&t->scratch);
    cone_scan_free(&t->scan);
}

/* Views first <= v < end, in random order. */
static void pack(const trial *t, qb__bp_cone_window window, size_t first, size_t end, void *to) {
    const qb__bp_cone_problem *p = &t->scan.problem;
    const size_t bytes = t->variant->view_bytes(p, window);
    for (size_t v = end; v-- > first;)
        t->variant->pack(p, v, window, cone_image(&t->scan, v) + window.r0 * p->columns, p->columns,
                         (char *)to + (v - first) * bytes);
}

/* The same in parts, the last part first. */
static void pack_in_parts(const trial *t, qb__bp_cone_window window, size_t parts, void *to) {
    const qb__bp_cone_problem *p = &t->scan.problem;
    const size_t bytes = t->variant->view_bytes(p, window);
    for (size_t v = 0; v < p->views; v++)
        for (size_t part = parts; part-- > 0;)
            t->variant->pack_part(p, v, window, cone_image(&t->scan, v) + window.r0 * p->columns, p->columns,
                                  (char *)to + v * bytes, part, parts);
}

static void run(const trial *t, const void *packed, qb__bp_cone_window window, size_t first, size_t end,
                qb__bp_cone_brick b, float *out) {
    uintptr_t origin =
        (uintptr_t)out - (t->part.z0 * t->stride_z + t->part.y0 * t->stride_y + t->part.x0) * sizeof(float);
    t->variant->run(&t->scan.problem, first, end, packed, window, b, (float *)origin, t->stride_z, t->stride_y,
                    first > 0, t->scratch.data);
}

static float *voxel(const trial *t, float *out, size_t x, size_t y, size_t z) {
    return out + (z - t->part.z0) * t->stride_z + (y - t->part.y0) * t->stride_y + (x - t->part.x0);
}

static bool gaps_untouched(const trial *t) {
    const float *out = t->out.data;
    for (size_t i = 0; i < t->out.bytes / sizeof *out; i++) {
        size_t y = i % t->stride_z / t->stride_y, x = i % t->stride_z % t->stride_y;
        if (y < t->part.y1 - t->part.y0 && x < t->part.x1 - t->part.x0) continue;
        uint32_t bits;
        memcpy(&bits, out + i, sizeof bits);
        if (bits != 0xffffffffu) return false;
    }
    return true;
}

static bool all_finite(const trial *t) {
    for (size_t z = t->part.z0; z < t->part.z1; z++)
        for (size_t y = t->part.y0; y < t->part.y1; y++)
            for (size_t x = t->part.x0; x < t->part.x1; x++)
                if (!isfinite(*voxel(t, t->out.data, x, y, z))) return false;
    return true;
}

static double value_at(const void *context, size_t x, size_t y, size_t z) {
    const trial *t = context;
    return (double)*voxel(t, t->out.data, x, y, z);
}

/* A smaller part, with another window of rows and in two blocks of views: the same bits. */
static bool same_bits(const trial *t, rng *r) {
    const qb__bp_cone_problem *p = &t->scan.problem;
    qb__bp_cone_brick b = t->part;
    b.x0 += rng_below(r, b.x1 - b.x0), b.y0 += rng_below(r, b.y1 - b.y0);
    b.z0 += rng_below(r, b.z1 - b.z0);
    b.x1 = b.x0 + 1 + rng_below(r, b.x1 - b.x0), b.y1 = b.y0 + 1 + rng_below(r, b.y1 - b.y0);
    b.z1 = b.z0 + 1 + rng_below(r, b.z1 - b.z0);
    const size_t middle = rng_below(r, p->views);
    const qb__bp_cone_window window = qb__bp_cone_rows(p, b.z0, b.z1);
    guarded packed = guarded_new(t->variant->view_bytes(p, window) * p->views);
    guarded out = guarded_new(t->out.bytes);
    if (t->variant->pack_part)
        pack_in_parts(t, window, 1 + middle % 7, packed.data);
    else
        pack(t, window, 0, p->views, packed.data);
    const char *second = (char *)packed.data + middle * t->variant->view_bytes(p, window);
    if (middle > 0) run(t, packed.data, window, 0, middle, b, out.data);
    run(t, second, window, middle, p->views, b, out.data);
    bool same = guarded_intact(&packed) && guarded_intact(&out) && guarded_intact(&t->scratch);
    for (size_t z = b.z0; z < b.z1 && same; z++)
        for (size_t y = b.y0; y < b.y1 && same; y++)
            same = !memcmp(voxel(t, out.data, b.x0, y, z), voxel(t, t->out.data, b.x0, y, z),
                           (b.x1 - b.x0) * sizeof(float));
    guarded_free(&packed);
    guarded_free(&out);
    return same;
}

static bool verdict(trial *t, rng *r, bool quick, outcome *o) {
    pack(t, t->window, 0, t->scan.problem.views, t->packed.data);
    if (!guarded_intact(&t->packed)) return snprintf(o->why.s, sizeof o->why.s, "pack wrote outside its block"), false;
    run(t, t->packed.data, t->window, 0, t->scan.problem.views, t->part, t->out.data);
    const char *broken = !guarded_intact(&t->packed)    ? "run changed the packed images' margin"
                         : !guarded_intact(&t->scratch) ? "run wrote outside its scratch"
                         : !guarded_intact(&t->out)     ? "run wrote outside the volume"
                         : !gaps_untouched(t)           ? "run wrote between the rows"
                         : !all_finite(t)               ? "a voxel was left out"
                                                        : NULL;
    if (broken) return snprintf(o->why.s, sizeof o->why.s, "%s", broken), false;
    if (!cone_accurate(&t->scan, t->variant->head.accuracy, &t->part, value_at, t, r, quick, o)) return false;
    if (!same_bits(t, r)) return snprintf(o->why.s, sizeof o->why.s, "another cut gave other bits"), false;
    return true;
}

/* A detector that is tilted very little, once, changes what the circular kernel takes as constant. */
static bool refuses_tilt(const trial *t, rng *r, outcome *o) {
    const qb__bp_cone_problem *p = &t->scan.problem;
    double *m = t->scan.matrix[rng_below(r, p->views)];
    const int row = rng_below(r, 2) ? 0 : 8;
    const double before = m[row + 2];
    m[row + 2] += 1e-5 * m[11];
    const bool taken = p->nz > 1 && !qb__variant_refuses(&t->variant->head, p);
    m[row + 2] = before;
    if (taken) snprintf(o->why.s, sizeof o->why.s, "a tilted view was accepted");
    return !taken;
}

static bool check(const qb__variant *row, qb__device *device, uint64_t seed, const options *asked, outcome *o) {
    (void)device;
    rng r = {seed};
    trial t = trial_new((const qb__bp_cone_variant *)row, &r, asked->quick);
    const bool circular = cone_is_circular(t.variant);
    bool ok = !qb__variant_refuses(&t.variant->head, &t.scan.problem);
    if (!ok) snprintf(o->why.s, sizeof o->why.s, "a legal problem was refused");
    ok = ok && verdict(&t, &r, asked->quick, o);
    ok = ok && (!circular || refuses_tilt(&t, &r, o));
    if (!ok) {
        const qb__bp_cone_problem *p = &t.scan.problem;
        const size_t n = strlen(o->why.s);
        snprintf(o->why.s + n, sizeof o->why.s - n,
                 " (%zu views, %zux%zu pixels, %zux%zux%zu voxels, part %zu:%zu,%zu:%zu,%zu:%zu, "
                 "rows %zu:%zu, w > %.3f)",
                 p->views, p->columns, p->rows, p->nx, p->ny, p->nz, t.part.x0, t.part.x1, t.part.y0, t.part.y1,
                 t.part.z0, t.part.z1, t.window.r0, t.window.r1, qb__bp_cone_nearest(p));
    }
    trial_free(&t);
    return ok;
}

const kernel_case bp_cone_case = {check, bp_cone_bench};
