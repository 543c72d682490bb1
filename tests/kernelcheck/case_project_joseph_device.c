/* SPDX-License-Identifier: MIT */
/* Device variants of the projection: whole scans of all kinds, forward and adjoint, on each device found, compared to
 * the double-precision oracle. Volumes in slabs and rays in blocks of views give the same bits. */
#include "base/memory.h"
#include "base/status.h"
#include "case_project_joseph_device.h"
#include "cases.h"
#include "geometry/fan.h"
#include "kernels/project_joseph/project_joseph_device.h"
#include "quickbeam/geometry.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MARGIN = 4096, CANARY = 0xc5 };

/* ---- scans ---- */

typedef struct trial {
    const qb__variant *variant;
    qb__device *device;
    qb__queue *queue;
    qb__joseph_problem problem;
    qb_geometry geometry;
    qb_grid grid;
    int values[QB__PARAMETERS_MAX];
    float *volume, *images; /* inputs of the forward projection and of the adjoint */
} trial;

static size_t log_uniform(rng *r, size_t low, size_t high) {
    return (size_t)exp(rng_uniform(r, log((double)low), log((double)high + 0.999)));
}

static void disturb(qb_geometry *g, rng *r, double turn, double shift) {
    for (size_t i = 0; i < g->views; i++)
        for (int j = 0; j < 3; j++) {
            g->view[i].u[j] += rng_uniform(r, -turn, turn);
            g->view[i].v[j] += rng_uniform(r, -turn, turn);
            g->view[i].detector[j] += rng_uniform(r, -shift, shift);
            g->view[i].source[j] +=
                g->beam == QB_BEAM_CONE ? rng_uniform(r, -shift, shift) : rng_uniform(r, -turn, turn);
        }
}

/* The source is as close as allowed: rays along all axes meet in one voxel. Few voxels, some of them flat. */
static qb_status near_scan(trial *t, rng *r, size_t views, const double *angles, size_t rows, size_t columns) {
    double half = 0;
    t->grid = (qb_grid){.n = {1 + rng_below(r, 12), 1 + rng_below(r, 12), 1 + rng_below(r, 12)}};
    for (int j = 0; j < 3; j++) t->grid.voxel[j] = exp(rng_uniform(r, log(0.25), log(1.5)));
    for (int j = 0; j < 2; j++) half = hypot(half, 0.5 * ((double)t->grid.n[j] + 1) * t->grid.voxel[j]);
    const double sod = half + rng_uniform(r, 0.1, 4) * t->grid.voxel[0], sdd = sod * rng_uniform(r, 1.1, 3),
                 wide = 4 * half * sdd / sod;
    return qb_geometry_cone(views, angles, rows, columns, wide / (double)columns, wide / (double)rows, sod, sdd,
                            rng_uniform(r, -0.2, 0.2) * wide, rng_uniform(r, -0.2, 0.2) * wide, &t->geometry);
}

/* Few slices, and rays that each stay at one height, parallel or of a fan; many columns or few. With parallel rays,
 * rows also lie between slices, outside the volume, and many in one slice. */
static void flat_scan(trial *t, rng *r, bool slow) {
    const size_t most = slow ? 60 : 200;
    const bool fan = rng_below(r, 2);
    const size_t views = log_uniform(r, 1, slow ? 40 : 80), columns = log_uniform(r, 1, most);
    const size_t rows = fan ? 1 : log_uniform(r, 1, 20);
    const double pixel = exp(rng_uniform(r, log(0.4), log(2.5)));
    double angles[80];
    for (size_t i = 0; i < views; i++)
        angles[i] = rng_below(r, 3) ? rng_uniform(r, -7, 7) : 0.78539816339744831 * (double)rng_below(r, 9);
    t->grid = (qb_grid){.n = {log_uniform(r, 1, most), log_uniform(r, 1, most), 1 + rng_below(r, 8)}};
    if (rng_below(r, 2)) t->grid.n[2] = 1;
    t->grid.voxel[0] = exp(rng_uniform(r, log(0.4), log(1.5)));
    t->grid.voxel[1] = t->grid.voxel[0] * (rng_below(r, 2) ? 1 : rng_uniform(r, 0.7, 1.4));
    t->grid.voxel[2] = rng_below(r, 2) ? pixel : exp(rng_uniform(r, log(0.4), log(3)));
    for (int j = 0; j < 3; j++) t->grid.offset[j] = rng_below(r, 2) ? rng_uniform(r, -3, 3) : 0;
    const double half = 0.5 * hypot(t->grid.voxel[0] * (double)t->grid.n[0], t->grid.voxel[1] * (double)t->grid.n[1]);
    const double sod = half + rng_uniform(r, 5, 4 * half + 20);
    qb_status status = fan ? qb_geometry_cone(views, angles, 1, columns, pixel, pixel, sod,
                                              sod * rng_uniform(r, 1.1, 3), rng_uniform(r, -20, 20), 0, &t->geometry)
                           : qb_geometry_parallel(views, angles, rows, columns, pixel,
                                                  0.5 * (double)(columns - 1) + rng_uniform(r, -5, 5), &t->geometry);
    if (status != QB_OK) abort();
    t->problem = (qb__joseph_problem){.views = views,
                                      .rows = rows,
                                      .columns = columns,
                                      .planes = qb__larger(t->grid.n[0], t->grid.n[1]),
                                      .geometry = &t->geometry,
                                      .grid = &t->grid};
}

/* The detector is flat, curved or leaning; some rays run along z; pixels are large or small; angles are random, or
 * those where the main axis of the rays changes. */
static void random_scan(trial *t, rng *r, bool slow) {
    const size_t most = slow ? 40 : 110;
    const bool cone = rng_below(r, 3) > 0;
    const unsigned kind = (unsigned)rng_below(r, 6);
    const size_t views = log_uniform(r, 1, slow ? 40 : 80), rows = log_uniform(r, 1, most);
    const size_t columns = log_uniform(r, 1, most);
    const double size = (double)most, pixel = exp(rng_uniform(r, log(0.3), log(2.5)));
    double angles[80];
    for (size_t i = 0; i < views; i++)
        angles[i] = rng_below(r, 3) ? rng_uniform(r, -7, 7) : 0.78539816339744831 * (double)rng_below(r, 9);
    t->grid = (qb_grid){.n = {log_uniform(r, 1, most), log_uniform(r, 1, most), log_uniform(r, 1, 2 * most)}};
    if (rng_below(r, 8) == 0) t->grid.n[rng_below(r, 2)] = 1000, t->grid.n[2] = 1 + rng_below(r, 3);
    for (int j = 0; j < 3; j++)
        t->grid.voxel[j] = exp(rng_uniform(r, log(0.25), log(1.5))), t->grid.offset[j] = rng_uniform(r, -3, 3);
    qb_status status = kind == 3 && cone ? near_scan(t, r, views, angles, rows, columns)
                       : cone ? qb_geometry_cone(views, angles, rows, columns, pixel, pixel * rng_uniform(r, 0.6, 1.7),
                                                 rng_uniform(r, 4, 40) * size + 900, 45 * size + 900,
                                                 rng_uniform(r, -20, 20), rng_uniform(r, -20, 20), &t->geometry)
                              : qb_geometry_parallel(views, angles, rows, columns, pixel,
                                                     0.5 * (double)(columns - 1) + rng_uniform(r, -5, 5), &t->geometry);
    if (status != QB_OK) abort();
    if (kind == 0) disturb(&t->geometry, r, 0.1 * pixel, 3);
    if (kind == 3 && rng_below(r, 2)) disturb(&t->geometry, r, 0.1 * t->grid.voxel[0], 0.05);
    if (kind == 1 && cone) t->geometry.radius = 60 * size;
    for (size_t i = 0; i < views && kind == 2 && !cone; i++)
        t->geometry.view[i] = (qb_view){{rng_uniform(r, -1, 1), rng_uniform(r, -1, 1), 1},
                                        {-0.5 * pixel * (double)columns, -0.5 * pixel * (double)rows, 0},
                                        {pixel, 0, 0},
                                        {0, pixel, 0}};
    t->problem = (qb__joseph_problem){.views = views,
                                      .rows = rows,
                                      .columns = columns,
                                      .planes = qb__larger(t->grid.n[0], t->grid.n[1]),
                                      .geometry = &t->geometry,
                                      .grid = &t->grid};
}

static size_t voxels(const trial *t) { return t->grid.n[0] * t->grid.n[1] * t->grid.n[2]; }
static size_t pixels(const trial *t) { return t->problem.views * t->problem.rows * t->problem.columns; }

static float *noise(rng *r, size_t count) {
    float *values = malloc(count * sizeof *values);
    if (!values) abort();
    for (size_t i = 0; i < count; i++) values[i] = (float)rng_uniform(r, -1, 1);
    return values;
}

/* ---- the oracle ---- */

typedef struct both {
    const trial *t;
    double line, value; /* the sum along a ray; the value that the adjoint spreads */
    double *lines, *back;
    size_t taps; /* of this ray */
    /* Square of the noise to which errors are compared. If all rays only graze the volume, all weights are small; then
     * noise with half the usual weights is taken, because weights are rounded relative to a voxel. */
    double lines_noise, back_noise;
} both;

static void add_tap(void *context, size_t voxel, double weight) {
    both *b = context;
    b->line += weight * (double)b->t->volume[voxel];
    b->back[voxel] += weight * b->value;
    b->taps++;
}

static void reference(both *b) {
    const trial *t = b->t;
    const qb__joseph_problem *p = &t->problem;
    for (size_t i = 0; i < pixels(t); i++) {
        const size_t row = i / p->columns % p->rows;
        const qb__fan fan = qb__fan_of(&t->geometry, &t->grid, i / p->columns / p->rows, i % p->columns);
        const double length = qb__fan_length(&fan, t->grid.voxel, (double)row);
        b->line = 0, b->value = length * (double)t->images[i], b->taps = 0;
        qb__joseph_reference(&fan, row, t->grid.n, add_tap, b);
        b->lines[i] = length * b->line;
        b->lines_noise += 0.05 * (double)b->taps * length * length / 3; /* voxels of -1..1 */
        b->back_noise += 0.05 * (double)b->taps * b->value * b->value;
    }
}

/* ---- results of a device, in slabs of `slices` and blocks of `views` ---- */

typedef struct pass {
    size_t slices, views;
    float *lines, *back;
    bool touched;
} pass;

/* Memory between margins that must not change. */
static qb_status guard(trial *t, size_t bytes, uint8_t fill, qb__memory **memory) {
    qb_status status;
    QB__TRY(qb__memory_create(t->device, bytes + MARGIN, memory));
    QB__TRY(qb__memory_fill(t->queue, *memory, 0, fill, bytes));
    QB__TRY(qb__memory_fill(t->queue, *memory, bytes, CANARY, MARGIN));
out:
    return status;
}

static qb_status check_guard(trial *t, const qb__memory *memory, size_t bytes, bool *touched) {
    unsigned char margin[MARGIN];
    qb_status status;
    QB__TRY(qb__memory_download(t->queue, memory, bytes, margin, MARGIN));
    QB__TRY(qb__queue_finish(t->queue));
    for (size_t i = 0; i < MARGIN; i++) *touched |= margin[i] != CANARY;
out:
    return status;
}

typedef struct memories {
    qb__joseph_plan *plan;
    qb__memory *slab, *rays, *plain, *images;
    size_t slab_bytes, rays_bytes;
} memories;

/* Line integrals of a whole volume are written to the images directly, those of slabs are not: the same bits. */
static qb_status forwards(trial *t, const pass *p, memories *m) {
    const size_t slice = t->grid.n[0] * t->grid.n[1], image = t->problem.rows * t->problem.columns;
    const bool direct = p->slices >= t->grid.n[2] && qb__joseph_is_direct(m->plan);
    qb_status status = QB_OK;
    for (size_t v0 = 0; v0 < t->problem.views; v0 += p->views) {
        const size_t v1 = qb__smaller(v0 + p->views, t->problem.views);
        for (size_t z0 = 0; z0 < t->grid.n[2]; z0 += p->slices) {
            const size_t z1 = qb__smaller(z0 + p->slices, t->grid.n[2]);
            QB__TRY(
                qb__memory_upload(t->queue, m->plain, 8, t->volume + z0 * slice, (z1 - z0) * slice * sizeof(float)));
            QB__TRY(qb__joseph_to_lines(m->plan, t->queue, m->plain, 8, p->slices, z0, z1, m->slab));
            if (!direct) QB__TRY(qb__joseph_forward(m->plan, t->queue, m->slab, z0, z1, v0, v1, m->rays));
        }
        QB__TRY(direct ? qb__joseph_forward_images(m->plan, t->queue, m->slab, v0, v1, m->images, 4)
                       : qb__joseph_images(m->plan, t->queue, m->rays, v1 - v0, m->images, 4));
        QB__TRY(qb__memory_download(t->queue, m->images, 4, p->lines + v0 * image, (v1 - v0) * image * sizeof(float)));
        QB__TRY(qb__queue_finish(t->queue));
    }
out:
    return status;
}

/* The whole volume in runs of lines; slabs as they are. */
static qb_status back(trial *t, const pass *p, memories *m, size_t v0, size_t v1, size_t z0, size_t z1) {
    const size_t lines = t->grid.n[1], run = (1 + v0 / QB__JOSEPH_VIEWS) * qb__joseph_lines_grain(t->values);
    qb_status status = QB_OK;
    if (p->slices < t->grid.n[2])
        return qb__joseph_adjoint(m->plan, t->queue, m->rays, v0, v1, m->slab, z0, z1, v0 > 0);
    for (size_t y = 0; y < lines; y += run)
        QB__TRY(qb__joseph_adjoint_lines(m->plan, t->queue, m->rays, v0, v1, m->slab, y, qb__smaller(y + run, lines),
                                         v0 > 0));
out:
    return status;
}

static qb_status backwards(trial *t, const pass *p, memories *m) {
    const size_t slice = t->grid.n[0] * t->grid.n[1], image = t->problem.rows * t->problem.columns;
    qb_status status = QB_OK;
    for (size_t z0 = 0; z0 < t->grid.n[2]; z0 += p->slices) {
        const size_t z1 = qb__smaller(z0 + p->slices, t->grid.n[2]);
        for (size_t v0 = 0; v0 < t->problem.views; v0 += p->views) {
            const size_t v1 = qb__smaller(v0 + p->views, t->problem.views);
            QB__TRY(
                qb__memory_upload(t->queue, m->images, 4, t->images + v0 * image, (v1 - v0) * image * sizeof(float)));
            QB__TRY(qb__joseph_columns(m->plan, t->queue, m->images, 4, v1 - v0, m->rays));
            QB__TRY(back(t, p, m, v0, v1, z0, z1));
        }
        QB__TRY(qb__joseph_from_lines(m->plan, t->queue, m->slab, z0, z1, 1, m->plain, 8));
        QB__TRY(qb__memory_download(t->queue, m->plain, 8, p->back + z0 * slice, (z1 - z0) * slice * sizeof(float)));
        QB__TRY(qb__queue_finish(t->queue));
    }
out:
    return status;
}

static qb_status run_pass(trial *t, pass *p) {
    const qb__joseph_most most = {p->slices, p->views};
    const size_t slice = t->grid.n[0] * t->grid.n[1], image = t->problem.rows * t->problem.columns;
    memories m = {.slab_bytes = qb__joseph_slab_bytes(&t->problem, p->slices),
                  .rays_bytes = qb__joseph_block_bytes(&t->problem, p->views)};
    qb_status status;
    QB__TRY(qb__joseph_plan_create(t->device, &t->problem, most, t->values, &m.plan));
    QB__TRY(guard(t, m.slab_bytes, 0, &m.slab));
    QB__TRY(guard(t, m.rays_bytes, 0, &m.rays));
    QB__TRY(qb__memory_create(t->device, 8 + p->slices * slice * sizeof(float), &m.plain));
    QB__TRY(qb__memory_create(t->device, 4 + p->views * image * sizeof(float), &m.images));
    QB__TRY(forwards(t, p, &m));
    QB__TRY(qb__memory_fill(t->queue, m.slab, 0, 0, m.slab_bytes));
    QB__TRY(backwards(t, p, &m));
    QB__TRY(check_guard(t, m.slab, m.slab_bytes, &p->touched));
    QB__TRY(check_guard(t, m.rays, m.rays_bytes, &p->touched));
out:
    qb__joseph_plan_destroy(m.plan);
    qb__memory_destroy(m.slab);
    qb__memory_destroy(m.rays);
    qb__memory_destroy(m.plain);
    qb__memory_destroy(m.images);
    return status;
}

/* ---- comparison ---- */

static bool near(const float *got, const double *want, size_t count, double noise, qb_accuracy class, const char *what,
                 outcome *o) {
    const double bound = qb__accuracy_bound(class);
    double error = 0, norm = 0, largest = 0, seen = 0;
    for (size_t i = 0; i < count; i++) {
        const double d = fabs((double)got[i] - want[i]);
        if (!(d >= 0 && d < INFINITY))
            return snprintf(o->why.s, sizeof o->why.s, "%s: number %zu is %g", what, i, (double)got[i]), false;
        error += d * d, norm += want[i] * want[i], largest = fmax(largest, d), seen += want[i] != 0;
    }
    if (norm == 0) return error == 0;
    norm = fmax(norm, noise);
    const double relative = sqrt(error / norm), peak = largest / sqrt(norm / seen);
    o->share_of_bound = fmax(o->share_of_bound, fmax(relative / bound, peak / (20 * bound)));
    /* On noise, a texture's 8-bit weights leave an error of 5e-3 on average, but 9e-3 if rays cross planes at the same
     * fractions, as a few rays may. */
    const double scatter = 1 + 10 / sqrt(seen);
    if ((seen < 100 || relative <= bound * scatter) && peak <= 20 * bound) return true;
    snprintf(o->why.s, sizeof o->why.s, "%s: relative error %.3g, largest %.3g of the mean", what, relative, peak);
    return false;
}

static float *floats(size_t count) {
    float *values = malloc(count * sizeof *values);
    if (!values) abort();
    memset(values, 0xff, count * sizeof *values);
    return values;
}

static bool same(const pass *a, const pass *b, const trial *t, outcome *o) {
    const char *which = memcmp(a->lines, b->lines, pixels(t) * sizeof(float)) ? "forwards"
                        : memcmp(a->back, b->back, voxels(t) * sizeof(float)) ? "back"
                                                                              : NULL;
    if (which)
        snprintf(o->why.s, sizeof o->why.s, "%s, slabs of %zu and blocks of %zu gave other bits", which, b->slices,
                 b->views);
    return !which;
}

static bool verdict(trial *t, rng *r, outcome *o) {
    pass whole = {.slices = t->grid.n[2], .views = t->problem.views}, part = {.slices = 1, .views = 1};
    part.slices = 1 + rng_below(r, t->grid.n[2]);
    part.views = QB__JOSEPH_VIEWS * (1 + rng_below(r, 2));
    whole.lines = floats(pixels(t)), whole.back = floats(voxels(t));
    part.lines = floats(pixels(t)), part.back = floats(voxels(t));
    both want = {.t = t, .lines = calloc(pixels(t), sizeof(double)), .back = calloc(voxels(t), sizeof(double))};
    bool ok = false;
    if (!want.lines || !want.back) abort();
    qb_status status = run_pass(t, &whole);
    if (status == QB_OK) status = run_pass(t, &part);
    if (status == QB_UNSUPPORTED && t->geometry.radius > 0) {
        ok = true; /* that a curved detector has too many pixels is known only when all its records are made */
    } else if (status != QB_OK) {
        snprintf(o->why.s, sizeof o->why.s, "%.200s", qb_detail());
    } else if (whole.touched || part.touched) {
        snprintf(o->why.s, sizeof o->why.s, "wrote outside its memory");
    } else {
        reference(&want);
        ok = near(whole.lines, want.lines, pixels(t), want.lines_noise, t->variant->accuracy, "forwards", o) &&
             near(whole.back, want.back, voxels(t), want.back_noise, QB_ACCURACY_HIGH, "back", o) &&
             same(&whole, &part, t, o);
    }
    free(whole.lines), free(whole.back), free(part.lines), free(part.back), free(want.lines), free(want.back);
    return ok;
}

static void add_problem(const trial *t, outcome *o) {
    const qb__joseph_problem *p = &t->problem;
    size_t n = strlen(o->why.s);
    n += (size_t)snprintf(o->why.s + n, sizeof o->why.s - n, " (%s, %zu views, %zux%zu pixels, %zux%zux%zu voxels",
                          qb_beam_name(t->geometry.beam), p->views, p->columns, p->rows, t->grid.n[0], t->grid.n[1],
                          t->grid.n[2]);
    for (int i = 0; i < qb__parameter_count(t->variant) && n < sizeof o->why.s; i++)
        n += (size_t)snprintf(o->why.s + n, sizeof o->why.s - n, ", %s=%d", t->variant->parameters[i].name,
                              t->values[i]);
}

/* A set of parameters that the device takes, apart from reasons against the problem: processors take few. */
static void choose_values(trial *t, rng *r, const qb__device_info *info) {
    const size_t combinations = qb__parameter_combinations(t->variant), from = rng_below(r, combinations);
    for (size_t i = 0; i < combinations; i++) {
        qb__parameter_combination(t->variant, (from + i) % combinations, t->values);
        qb__joseph_lay_out(&t->problem, t->values);
        if (!t->variant->unusable(info, &t->problem, t->values)) return;
    }
}

static bool check(const qb__variant *row, qb__device *device, uint64_t seed, const options *asked, outcome *o) {
    const qb__device_info *info = qb__device_info_of(device);
    rng r = {seed};
    const bool slow = info->is_cpu;
    trial t = {.variant = row, .device = device};
    if (strstr(row->id, ".flat"))
        flat_scan(&t, &r, slow || asked->quick);
    else
        random_scan(&t, &r, slow || asked->quick);
    choose_values(&t, &r, info);
    t.volume = noise(&r, voxels(&t)), t.images = noise(&r, pixels(&t));
    bool ok = true;
    if (!t.variant->unusable(info, &t.problem, t.values) && qb_geometry_check_grid(&t.geometry, &t.grid) == QB_OK) {
        ok = qb__queue_create(t.device, &t.queue) == QB_OK;
        if (!ok) snprintf(o->why.s, sizeof o->why.s, "%.200s", qb_detail());
        ok = ok && verdict(&t, &r, o);
    }
    if (!ok) add_problem(&t, o);
    qb__queue_destroy(t.queue);
    qb_geometry_destroy(&t.geometry);
    free(t.volume), free(t.images);
    return ok;
}

static bool bench(const qb__variant *row, qb__device *device, size_t number, const options *o, measurement *m) {
    return project_joseph_device_bench(row, device, number, o, m);
}

const kernel_case project_joseph_device_case = {check, bench};
