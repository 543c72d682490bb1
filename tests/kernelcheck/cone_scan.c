/* SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "case_bp_cone.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void *need(void *memory) {
    if (memory) return memory;
    fprintf(stderr, "kernelcheck: out of memory\n");
    exit(2);
}

cone_scan cone_scan_new(size_t views, size_t columns, size_t rows, size_t nx, size_t ny, size_t nz) {
    cone_scan s;
    s.alike = 1;
    s.matrix = need(calloc(views, sizeof *s.matrix));
    s.largest = need(calloc(views, sizeof *s.largest));
    s.images = need(malloc(views * rows * columns * sizeof *s.images));
    s.problem = (qb__bp_cone_problem){.views = views,
                                      .columns = columns,
                                      .rows = rows,
                                      .nx = nx,
                                      .ny = ny,
                                      .nz = nz,
                                      .matrix = (const double(*)[12])s.matrix,
                                      .largest = s.largest};
    return s;
}

void cone_scan_free(cone_scan *s) {
    free(s->matrix);
    free(s->largest);
    free(s->images);
}

const float *cone_image(const cone_scan *s, size_t view) {
    return s->images + view * s->problem.rows * s->problem.columns;
}

size_t cone_log_uniform(rng *r, size_t low, size_t high) {
    return (size_t)exp(rng_uniform(r, log((double)low), log((double)high + 0.999)));
}

void cone_scan_fill(cone_scan *s, rng *r) {
    const size_t pixels = s->problem.rows * s->problem.columns;
    const double amplitude = exp(rng_uniform(r, -12.0, 12.0));
    for (size_t v = 0; v < s->problem.views; v++) {
        float *image = s->images + v * pixels;
        s->largest[v] = 0;
        for (size_t i = 0; i < pixels; i++) {
            image[i] = (float)(amplitude * rng_normal(r));
            s->largest[v] = fmaxf(s->largest[v], fabsf(image[i]));
        }
    }
}

static double dot(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static void cross(const double a[3], const double b[3], double out[3]) {
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

/* Rotates a and b in their common plane. */
static void turn(double a[3], double b[3], double angle) {
    const double c = cos(angle), s = sin(angle);
    for (int i = 0; i < 3; i++) {
        double old = a[i];
        a[i] = c * old + s * b[i];
        b[i] = c * b[i] - s * old;
    }
}

/* The detector's dual vectors du, dv (du.u = 1, du.v = 0) convert the point where a ray meets the plane through
 * `detector` into pixels. The matrix is scaled so that w = 1 in the plane through the axis. */
static void matrix_of(const double source[3], const double detector[3], const double u[3], const double v[3], double cu,
                      double cv, double sod, double world[12]) {
    double n[3], du[3], dv[3], back[3];
    cross(u, v, n);
    cross(v, n, du);
    cross(n, u, dv);
    double n2 = dot(n, n);
    for (int i = 0; i < 3; i++) du[i] /= n2, dv[i] /= n2, back[i] = detector[i] - source[i];
    double d = dot(back, n), scale = 1 / (sod * sqrt(n2));
    if (d < 0) scale = -scale;
    const double shift_u = cu - dot(back, du), shift_v = cv - dot(back, dv);
    for (int i = 0; i < 3; i++) {
        world[i] = scale * (du[i] * d + n[i] * shift_u);
        world[4 + i] = scale * (dv[i] * d + n[i] * shift_v);
        world[8 + i] = scale * n[i];
    }
    for (int i = 0; i < 12; i += 4) world[i + 3] = -dot(world + i, source);
}

static void view_matrix(const qb__bp_cone_problem *p, const cone_setup *s, double angle, rng *r, double out[12]) {
    double e[3] = {cos(angle), sin(angle), 0}, away[3] = {-sin(angle), cos(angle), 0};
    double up[3] = {0, 0, s->flip ? -1.0 : 1.0};
    double sod = s->sod * (1 + s->wobble * rng_uniform(r, -1, 1));
    double sdd = s->sdd * (1 + s->wobble * rng_uniform(r, -1, 1));
    double source[3], detector[3], u[3], v[3];
    for (int i = 0; i < 3; i++) source[i] = -sod * away[i], detector[i] = (sdd - sod) * away[i];
    source[2] += s->source_z, detector[2] += s->source_z;
    if (s->tilt != 0) turn(up, away, s->tilt * rng_uniform(r, -1, 1));
    if (s->roll != 0) turn(e, up, s->roll * rng_uniform(r, -1, 1));
    for (int i = 0; i < 3; i++) u[i] = s->pitch_u * e[i], v[i] = s->pitch_v * up[i];
    double cu = ((double)p->columns - 1) / 2 - s->detector_u + s->jitter * rng_normal(r);
    double cv = ((double)p->rows - 1) / 2 - s->detector_v + s->jitter * rng_normal(r);
    double world[12];
    matrix_of(source, detector, u, v, cu, cv, s->sod, world);
    const double n[3] = {(double)p->nx, (double)p->ny, (double)p->nz};
    for (int row = 0; row < 12; row += 4) {
        out[row + 3] = world[row + 3];
        for (int i = 0; i < 3; i++) {
            out[row + i] = world[row + i] * s->voxel[i];
            out[row + 3] += world[row + i] * (s->offset[i] - s->voxel[i] * (n[i] - 1) / 2);
        }
    }
}

void cone_scan_place(cone_scan *s, const cone_setup *setup, rng *r) {
    for (size_t v = 0; v < s->problem.views; v++) {
        double angle = setup->from + setup->sweep * (double)v / (double)s->problem.views;
        view_matrix(&s->problem, setup, angle, r, s->matrix[v]);
    }
}

/* Square of the value that white noise of the same strength would give in this voxel. */
static double expected2(const cone_scan *s, size_t x, size_t y, size_t z) {
    double sum = 0;
    const double at[4] = {(double)x, (double)y, (double)z, 1};
    for (size_t v = 0; v < s->problem.views; v++) {
        const double *m = s->problem.matrix[v] + 8;
        double w = m[0] * at[0] + m[1] * at[1] + m[2] * at[2] + m[3];
        double strength = (double)s->largest[v] / 4;
        sum += 0.44 * strength * strength / (w * w * w * w);
    }
    return sum;
}

static double reference(const cone_scan *s, size_t x, size_t y, size_t z) {
    double sum = 0;
    for (size_t v = 0; v < s->problem.views; v++)
        sum += qb__bp_cone_reference(&s->problem, v, cone_image(s, v), s->problem.columns, x, y, z);
    return sum;
}

bool cone_accurate(const cone_scan *s, qb_accuracy accuracy, const qb__bp_cone_brick *b, cone_value *value,
                   const void *context, rng *r, bool quick, outcome *o) {
    const size_t budget = quick ? 200000 : 1000000;
    size_t voxels = (b->x1 - b->x0) * (b->y1 - b->y0) * (b->z1 - b->z0);
    size_t samples = qb__smaller(2 * voxels, budget / s->problem.views);
    double error2 = 0, norm2 = 0, noise2 = 0, worst = 0;
    for (size_t i = 0; i < samples; i++) {
        size_t x = b->x0 + rng_below(r, b->x1 - b->x0), y = b->y0 + rng_below(r, b->y1 - b->y0);
        size_t z = b->z0 + rng_below(r, b->z1 - b->z0);
        double want = reference(s, x, y, z), got = value(context, x, y, z);
        double expected = expected2(s, x, y, z);
        error2 += (got - want) * (got - want);
        norm2 += want * want;
        noise2 += expected;
        worst = fmax(worst, fabs(got - want) / sqrt(expected));
    }
    /* A few samples may all lie near a zero crossing or the border. Then the error is compared to that of noise. */
    if (samples < 1000 || norm2 < 0.1 * noise2) norm2 = noise2;
    /* The bound holds for many voxels from many pixels of noise. A few voxels scatter, and so do their errors. */
    const double pixels = (double)(s->problem.views * s->problem.rows * s->problem.columns);
    const double distinct = fmin((double)qb__smaller(samples, voxels), pixels) / (double)s->alike;
    const double slack = distinct < 1000 ? 1 + 10 / sqrt(2 * distinct) : 1;
    /* A texture's 8-bit weights have the same error for all voxels of a slice that lie at the same fraction between two
     * rows. */
    const double rows = accuracy == QB_ACCURACY_FAST && b->z1 - b->z0 < 4 ? 1.5 : 1;
    const double bound = rows * slack * qb__accuracy_bound(accuracy), relative = sqrt(error2 / norm2);
    o->share_of_bound = fmax(relative / bound, worst / (20 * bound));
    if (!(relative < bound)) {
        snprintf(o->why.s, sizeof o->why.s, "relative L2 error %.2e, bound %.0e", relative, bound);
        return false;
    }
    if (!(worst <= 20 * bound)) {
        snprintf(o->why.s, sizeof o->why.s, "largest error %.2e of rms, bound %.0e", worst, 20 * bound);
        return false;
    }
    return true;
}
