/* SPDX-License-Identifier: MIT */
/* Faults of a whole view: movements, phase-contrast edges, scatter, and distortion. */
#include <math.h>
#include <string.h>

#include "geometry/vector.h"
#include "simulate/faults.h"

bool qb__faults_of_views(const qb__detector_faults *f) {
    return f->amount[QB__FAULT_PHASE] > 0 || f->amount[QB__FAULT_SMOOTH] > 0 || f->amount[QB__FAULT_DISTORTION] > 0;
}

/* Move the detector so that pixel (c, r) sees the place middle + R^-1 ((c, r) - shift - middle) of the image that was
 * not moved (io/scan/places.h). R rotates the x axis (columns) towards the y axis (rows); r counts |v| / |u|
 * columns. */
void qb__faults_move(const qb__detector_faults *f, size_t view, qb_view *at) {
    if (!f->shift) return;
    const double *s = f->shift[view], turn = s[2] * M_PI / 180, cosine = cos(turn), sine = sin(turn);
    const double aspect = qb__norm(at->v) / qb__norm(at->u);
    const double middle[2] = {((double)f->columns - 1) / 2, ((double)f->rows - 1) / 2};
    const double x = -s[0] - middle[0], y = -s[1] - middle[1]; /* of pixel (0, 0), from the middle */
    for (int k = 0; k < 3; k++) {
        const double u = cosine * at->u[k] - sine / aspect * at->v[k], v = sine * aspect * at->u[k] + cosine * at->v[k];
        at->detector[k] += middle[0] * at->u[k] + middle[1] * at->v[k] + x * u + y * v;
        at->u[k] = u, at->v[k] = v;
    }
}

/* The inverse of --paganin's generalised filter with a length of L pixels: t - (L / 2 pi)^2 Laplacian t. */
static void add_fringes(const qb__detector_faults *f, double *view, double *before) {
    const size_t rows = f->rows, columns = f->columns;
    const double length = f->amount[QB__FAULT_PHASE] / (2 * M_PI), share = length * length;
    memcpy(before, view, rows * columns * sizeof *view);
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < columns; c++) {
            const double *at = before + r * columns + c;
            const double left = c > 0 ? at[-1] : *at, right = c + 1 < columns ? at[1] : *at,
                         up = r > 0 ? *(at - columns) : *at, down = r + 1 < rows ? at[columns] : *at;
            view[r * columns + c] -= share * (left + right + up + down - 4 * *at);
        }
}

/* Gaussian mean of count numbers, `step` apart, into out. The first and the last number are continued. */
static void blur(const double *line, size_t count, size_t step, double sigma, double *out) {
    const ptrdiff_t reach = (ptrdiff_t)ceil(5 * sigma), last = (ptrdiff_t)count - 1;
    for (ptrdiff_t i = 0; i <= last; i++) {
        double sum = 0, weights = 0;
        for (ptrdiff_t k = -reach; k <= reach; k++) {
            const ptrdiff_t at = i + k < 0 ? 0 : i + k > last ? last : i + k;
            const double weight = exp(-0.5 * (double)(k * k) / (sigma * sigma));
            sum += weight * line[(size_t)at * step], weights += weight;
        }
        out[i] = sum / weights;
    }
}

/* A share of what the object takes from the beam arrives as scatter, spread by a Gaussian with a sigma of an eighth of
 * the columns. */
static void spread(const qb__detector_faults *f, double *view, double *scratch) {
    const double sigma = (double)f->columns / 8, share = f->amount[QB__FAULT_SMOOTH];
    double *column = scratch + f->rows * f->columns;
    for (size_t r = 0; r < f->rows; r++) blur(view + r * f->columns, f->columns, 1, sigma, scratch + r * f->columns);
    for (size_t c = 0; c < f->columns; c++) {
        if (f->rows > 1)
            blur(scratch + c, f->rows, f->columns, sigma, column);
        else
            *column = scratch[c];
        for (size_t r = 0; r < f->rows; r++) view[r * f->columns + c] += share * (1 - column[r]);
    }
}

/* Weights of four numbers for a position t after the second (Catmull-Rom). */
static void weigh(double t, double w[4]) {
    w[0] = t * (-0.5 + t * (1 - 0.5 * t));
    w[1] = 1 + t * t * (1.5 * t - 2.5);
    w[2] = t * (0.5 + t * (2 - 1.5 * t));
    w[3] = t * t * (0.5 * t - 0.5);
}

static double between(const double *image, size_t rows, size_t columns, double row, double column) {
    const double r0 = floor(row), c0 = floor(column);
    double u[4], v[4], sum = 0;
    weigh(column - c0, u), weigh(row - r0, v);
    for (int i = 0; i < 4; i++) {
        const double r = fmin(fmax(r0 + i - 1, 0), (double)rows - 1);
        for (int j = 0; j < 4; j++) {
            const double c = fmin(fmax(c0 + j - 1, 0), (double)columns - 1);
            sum += v[i] * u[j] * image[(size_t)r * columns + (size_t)c];
        }
    }
    return sum;
}

/* Radial distortion: a point at distance r from the centre is seen at r (1 + K (r / R)^2), with R the distance of the
 * corners. The inverse: r for a point seen at s. */
static double ideal_radius(double k, double far, double s) {
    double r = s;
    for (int i = 0; i < 20; i++) {
        const double bent = k * r * r / (far * far);
        r -= (r * (1 + bent) - s) / (1 + 3 * bent);
    }
    return r;
}

static void distort(const qb__detector_faults *f, double *view, double *ideal) {
    const double x0 = ((double)f->columns - 1) / 2, y0 = ((double)f->rows - 1) / 2, far = hypot(x0, y0);
    memcpy(ideal, view, f->rows * f->columns * sizeof *view);
    for (size_t i = 0; i < f->rows * f->columns; i++) {
        const double x = (double)(i % f->columns) - x0, y = (double)(i / f->columns) - y0, s = hypot(x, y);
        const double part = s > 0 ? ideal_radius(f->amount[QB__FAULT_DISTORTION], far, s) / s : 1;
        view[i] = between(ideal, f->rows, f->columns, y0 + part * y, x0 + part * x);
    }
}

void qb__faults_apply_view(const qb__detector_faults *f, double *view, double *scratch) {
    if (f->amount[QB__FAULT_PHASE] > 0) add_fringes(f, view, scratch);
    if (f->amount[QB__FAULT_SMOOTH] > 0) spread(f, view, scratch);
    if (f->amount[QB__FAULT_DISTORTION] > 0) distort(f, view, scratch);
}
