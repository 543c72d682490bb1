/* SPDX-License-Identifier: MIT */
#include "case_bp_parallel.h"

#include <math.h>
#include <stdlib.h>

static void *need(void *memory) {
    if (memory) return memory;
    fprintf(stderr, "kernelcheck: out of memory\n");
    exit(2);
}

scan scan_new(size_t views, size_t columns, size_t nx, size_t ny, unsigned slices) {
    scan s = {.slices = slices};
    s.ax = need(calloc(views, sizeof *s.ax));
    s.ay = need(calloc(views, sizeof *s.ay));
    s.h0 = need(calloc(views, sizeof *s.h0));
    s.rows = need(malloc(slices * views * columns * sizeof *s.rows));
    s.largest = need(calloc(slices, sizeof *s.largest));
    s.problem = (qb__bp_parallel_problem){.views = views,
                                          .columns = columns,
                                          .nx = nx,
                                          .ny = ny,
                                          .ax = s.ax,
                                          .ay = s.ay,
                                          .h0 = s.h0,
                                          .largest = s.largest};
    return s;
}

void scan_fill(scan *s, rng *r) {
    size_t n = s->problem.views * s->problem.columns;
    for (unsigned z = 0; z < s->slices; z++) {
        double amplitude = exp(rng_uniform(r, -12.0, 12.0));
        float *row = s->rows + z * n;
        s->largest[z] = 0;
        for (size_t i = 0; i < n; i++) {
            row[i] = (float)(amplitude * rng_normal(r));
            s->largest[z] = fmaxf(s->largest[z], fabsf(row[i]));
        }
    }
}

void scan_free(scan *s) {
    free(s->ax);
    free(s->ay);
    free(s->h0);
    free(s->rows);
    free(s->largest);
}

const float *scan_row(const scan *s, unsigned slice, size_t view) {
    return s->rows + (slice * s->problem.views + view) * s->problem.columns;
}

double scan_reference(const scan *s, qb_interp interp, unsigned slice, size_t x, size_t y) {
    return qb__bp_parallel_reference(&s->problem, interp, scan_row(s, slice, 0), s->problem.columns, x, y);
}

void scan_aim(rng *r, scan *s) {
    const double pi = 3.141592653589793;
    const qb__bp_parallel_problem *p = &s->problem;
    const size_t kind = rng_below(r, 4), views = p->views;
    double pitch = rng_below(r, 3) ? exp(rng_uniform(r, log(0.2), log(4.0))) : 1.0;
    double shift = rng_below(r, 3) ? 0.0 : rng_uniform(r, 0.0, 3.0);
    double lateral = rng_below(r, 4) ? 0.0 : rng_uniform(r, -1.2, 1.2) * (double)p->columns;
    double roi_x = rng_below(r, 3) ? 0.0 : rng_uniform(r, -0.5, 0.5) * (double)p->nx;
    double roi_y = rng_below(r, 3) ? 0.0 : rng_uniform(r, -0.5, 0.5) * (double)p->ny;
    for (size_t v = 0; v < views; v++) {
        double even = pi * (double)v / (double)views, t = even;
        if (kind == 1) t = even + rng_uniform(r, 0.0, pi / (double)views);
        if (kind == 2) t = rng_uniform(r, -7.0, 7.0);
        double c = cos(t), d = sin(t);
        if (kind == 3) { /* exactly along the axes, where coordinates lie on columns or half way between two */
            c = (double)((v + 1) % 2 * (1 - v % 4));
            d = (double)(v % 2 * (2 - v % 4));
        }
        s->ax[v] = pitch * c;
        s->ay[v] = pitch * d;
        s->h0[v] = ((double)p->columns - 1) / 2 + lateral + shift * rng_normal(r) -
                   s->ax[v] * (((double)p->nx - 1) / 2 + roi_x) - s->ay[v] * (((double)p->ny - 1) / 2 + roi_y);
    }
}

/* The mean square error of n pixels is that of V views, each with rounding errors of c columns. It scatters like that
 * of V^2 / sum(1 / c) independent errors. A view along an axis has one column for all pixels of a line. */
size_t scan_independent(const scan *s, size_t nx, size_t ny) {
    const size_t views = s->problem.views;
    double shared = 0;
    for (size_t v = 0; v < views; v++)
        shared += 1 / ((s->ax[v] != 0 ? (double)nx : 1) * (s->ay[v] != 0 ? (double)ny : 1));
    return (size_t)fmax(1, fmin((double)views * (double)views / shared, (double)nx * (double)ny));
}

void errors_add(errors *e, double got, double want) {
    double error = fabs(got - want);
    e->error2 += error * error;
    e->norm2 += want * want;
    e->samples++;
    e->seen += want != 0;
    if (!(error <= e->worst)) e->worst = error;
}

bool errors_within(const errors *e, qb_accuracy accuracy, outcome *o) {
    if (e->error2 == 0) return true;
    /* Voxels that no view reaches show nothing. The bound holds for many voxels of noise. A few voxels may all lie near
     * a zero crossing or beyond the detector's edge, where the values are small but the errors of the weights are not;
     * then the error scatters. */
    const double reached = (double)e->distinct * (double)e->seen / (double)e->samples;
    const double n = fmax(1.0, fmin((double)e->seen, reached));
    double rms = sqrt(e->norm2 / fmax(1.0, (double)e->seen)), slack = 1.0;
    if (n < 1000) {
        rms = fmax(rms, 0.3 * sqrt((double)e->views));
        slack = 1 + 3 / sqrt(2 * n);
    }
    const double bound = slack * qb__accuracy_bound(accuracy);
    double relative = sqrt(e->error2 / fmax(1.0, (double)e->seen)) / rms;
    o->share_of_bound = fmax(relative, e->worst / rms / 20) / bound;
    if (relative < bound && e->worst < 20 * bound * rms) return true;
    snprintf(o->why.s, sizeof o->why.s, "relative L2 error %.2e, largest %.2e of rms, class %.0e", relative,
             e->worst / rms, qb__accuracy_bound(accuracy));
    return false;
}
