/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "cpu/icd/icd.h"

/* The trapezoid is the convolution of two boxes, half +- flat wide, integrated twice piece by piece: independent of the
 * kernels' formulas. */
static double below(double t, double half, double flat) {
    const double wide = half + flat, narrow = half - flat;
    if (t <= -half) return 0;
    if (t >= half) return 1;
    if (t < -flat) return (t + half) * (t + half) / (2 * wide * narrow);
    if (t <= flat) return (t + half - narrow / 2) / wide;
    return 1 - (half - t) * (half - t) / (2 * wide * narrow);
}

/* A footprint: its centre; its movement for one voxel along x and along y; its area. */
typedef struct footprint {
    double h, a, b, area;
} footprint;

static footprint footprint_of(const qb__footprints *s, size_t view, double ix, double iy) {
    const double h = s->ax[view] * ix + s->ay[view] * iy + s->h0[view];
    if (!s->wx) return (footprint){h, s->ax[view], s->ay[view], (double)s->area};
    const double w = s->wx[view] * ix + s->wy[view] * iy + s->w0[view];
    const double a = (s->ax[view] * w - h * s->wx[view]) / (w * w), b = (s->ay[view] * w - h * s->wy[view]) / (w * w);
    if (!(s->per_radian > 0)) return (footprint){h / w, a, b, (double)s->area * hypot(a, b)};
    const double steep = s->per_radian / (1 + h / w * (h / w));
    return (footprint){s->c0[view] + s->per_radian * atan(h / w), a * steep, b * steep,
                       (double)s->area * steep * hypot(a, b)};
}

double qb__footprint_reference(const qb__footprints *s, size_t view, double ix, double iy, double column) {
    const footprint is = footprint_of(s, view, ix, iy);
    const double a = fabs(is.a), b = fabs(is.b);
    const double half = (a + b) / 2, flat = fabs(a - b) / 2;
    const double t = column - is.h;
    if (column < 0 || column >= (double)s->columns) return 0;
    return is.area * (below(t + 0.5, half, flat) - below(t - 0.5, half, flat));
}

double qb__icd_surrogate_reference(const qb__icd_prior *o, double d) {
    const double u = fmax(fabs(d) / o->sigma, 1e-3), r = pow(u / o->t, o->q - o->p);
    return pow(u, o->q - 2) * (o->q + o->p * r) / ((1 + r) * (1 + r)) /
           (o->p * o->sigma * o->sigma * pow(o->t, o->q - o->p));
}

static double far(const qb__icd_prior *o, double u) {
    const double r = pow(u / o->t, o->q - o->p);
    return pow(u, o->p) / o->p * r / (1 + r);
}

static double rho_reference(const qb__icd_prior *o, double d) {
    const double u = fabs(d) / o->sigma, least = 1e-3;
    const double bent = qb__icd_surrogate_reference(o, 0) * o->sigma * o->sigma;
    if (u < least) return 0.5 * bent * u * u;
    return far(o, u) - far(o, least) + 0.5 * bent * least * least;
}

/* ---- Algorithm 1 ---- */

/* Visits the entries of a voxel's column, view by view, with one call each. */
typedef void visit(const qb__icd_oracle *o, size_t at, double entry, double *sums);

static void visit_column(const qb__icd_oracle *o, size_t slice, uint32_t pixel, visit *each, double *sums) {
    const qb__footprints *s = &o->problem->footprints;
    const size_t row = o->problem->nx + 2;
    const double ix = (double)(pixel % row) - 1, iy = (double)(pixel / row) - 1;
    if (!o->exact) o->problem->fetch(o->problem, pixel, &o->column);
    for (size_t view = 0; view < s->views; view++) {
        const long first =
            (o->exact ? (long)floor(footprint_of(s, view, ix, iy).h) : (long)o->column.first[view]) - (long)s->taps;
        const long count = o->exact ? 2 * (long)s->taps + 2 : (long)s->taps;
        for (long k = 0; k < count; k++) {
            const long column = first + k;
            if (column < 0 || column >= (long)s->columns) continue;
            const double entry = o->exact ? qb__footprint_reference(s, view, ix, iy, (double)column)
                                          : (double)o->column.tap[(size_t)k * s->stride + view];
            each(o, (view * o->slices + slice) * s->columns + (size_t)column, entry, sums);
        }
    }
}

static void add_thetas(const qb__icd_oracle *o, size_t at, double entry, double *theta) {
    theta[0] -= o->weight[at] * entry * o->error[at];
    theta[1] += o->weight[at] * entry * entry;
}

static void take_step(const qb__icd_oracle *o, size_t at, double entry, double *step) { o->error[at] -= entry * *step; }

typedef struct neighbour {
    double b, x;
} neighbour;

/* Find the existing neighbours; the first `half` numbers contain one of each pair. */
static int neighbours_of(const qb__icd_oracle *o, size_t slice, uint32_t pixel, bool half, neighbour *out) {
    const qb__icd_problem *p = o->problem;
    const size_t row = p->nx + 2, image = row * (p->ny + 2);
    const double *x = o->x + slice * image;
    int count = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++) {
            const size_t other = pixel + (size_t)(dy + 1) * row + (size_t)(dx + 1) - row - 1;
            const bool later = dy > 0 || (dy == 0 && dx > 0), earlier = dy < 0 || (dy == 0 && dx < 0);
            if (!(later || (earlier && !half)) || !p->inside[other]) continue;
            out[count++] = (neighbour){dx && dy ? p->prior.diagonal : p->prior.nearest, x[other]};
        }
    if (slice + 1 < o->slices) out[count++] = (neighbour){p->prior.interslice, x[pixel + image]};
    if (slice > 0 && !half) out[count++] = (neighbour){p->prior.interslice, *(x + pixel - image)};
    return count;
}

double qb__icd_reference_update(const qb__icd_oracle *o, size_t slice, uint32_t pixel) {
    const qb__icd_problem *p = o->problem;
    double *x = o->x + slice * (p->nx + 2) * (p->ny + 2) + pixel, theta[2] = {0, 0};
    neighbour near[10];
    visit_column(o, slice, pixel, add_thetas, theta);
    if (!(theta[1] > 0)) return 0;
    const int count = neighbours_of(o, slice, pixel, false, near);
    for (int i = 0; i < count; i++) {
        const double d = *x - near[i].x, bent = near[i].b * qb__icd_surrogate_reference(&p->prior, d);
        theta[0] += bent * d;
        theta[1] += bent;
    }
    double next = *x - theta[0] / theta[1];
    if (p->positive) next = fmax(next, 0);
    double step = next - *x;
    *x = next;
    visit_column(o, slice, pixel, take_step, &step);
    return fabs(step);
}

void qb__icd_reference_subtract(const qb__icd_oracle *o) {
    const size_t image = (o->problem->nx + 2) * (o->problem->ny + 2);
    for (size_t i = 0; i < o->slices * image; i++)
        if (o->problem->inside[i % image] && o->x[i] != 0)
            visit_column(o, i / image, (uint32_t)(i % image), take_step, &o->x[i]);
}

double qb__icd_reference_cost(const qb__icd_oracle *o) {
    const qb__icd_problem *p = o->problem;
    const size_t image = (p->nx + 2) * (p->ny + 2);
    const size_t data = p->footprints.views * o->slices * p->footprints.columns;
    neighbour near[10];
    double cost = 0;
    for (size_t i = 0; i < data; i++) cost += 0.5 * o->weight[i] * o->error[i] * o->error[i];
    for (size_t i = 0; i < o->slices * image; i++) {
        if (!p->inside[i % image]) continue;
        const int count = neighbours_of(o, i / image, (uint32_t)(i % image), true, near);
        for (int n = 0; n < count; n++) cost += near[n].b * rho_reference(&p->prior, o->x[i] - near[n].x);
    }
    return cost;
}
