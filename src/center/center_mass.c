/* SPDX-License-Identifier: MIT */
/* The sum over a view is the object's mass, which is the same for all views. Its centre of mass moves as c + x cos t +
 * y sin t, and a fit of these three unknowns gives the axis c. This global, smooth measure is exact for clean data and
 * insensitive to noise. It is biased by an uneven background, and invalid if the object leaves the detector. */
#include <math.h>

#include "base/memory.h"
#include "base/sort.h"
#include "center/center.h"

typedef struct moments {
    double *mass, *first, *edge, *sorted; /* [views] */
    double top;                           /* largest line integral of the row so far */
} moments;

/* Sums over a row, with columns counted from the middle. The mean value of the air at both ends is subtracted first. */
static void measure(const float *row, size_t columns, size_t view, moments *m) {
    size_t margin = columns / 40 + 2;
    double left = 0, right = 0, top = m->top;
    for (size_t k = 0; k < margin; k++) {
        left += (double)row[k] / (double)margin;
        right += (double)row[columns - 1 - k] / (double)margin;
    }
    double mass = 0, first = 0, background = (left + right) / 2;
    for (size_t k = 0; k < columns; k++) {
        double value = (double)row[k] - background;
        mass += value;
        first += value * ((double)k - ((double)columns - 1) / 2);
        if (value > top) top = value;
    }
    m->mass[view] = mass;
    m->first[view] = first;
    m->edge[view] = fmax(fabs(left), fabs(right));
    m->top = top;
}

static double quantile(const double *values, size_t count, double share, double *sorted) {
    for (size_t i = 0; i < count; i++) sorted[i] = values[i];
    qb__sort(sorted, count);
    return sorted[(size_t)(share * (double)(count - 1))];
}

/* Least-squares fit of y = c + x cos t + y sin t by the normal equations; returns 0 if they are singular. */
static int fit(const double *y, const double *angles, size_t n, double *constant, double *error) {
    double a[3][4] = {{0}}, yy = 0;
    for (size_t i = 0; i < n; i++) {
        double row[4] = {1, cos(angles[i]), sin(angles[i]), y[i]};
        for (int r = 0; r < 3; r++) {
            for (int c = 0; c < 4; c++) a[r][c] += row[r] * row[c];
        }
        yy += y[i] * y[i];
    }
    /* Eliminate from the last unknown upwards, so that row 0 finally contains the constant only. */
    for (int p = 2; p > 0; p--) {
        if (fabs(a[p][p]) < 1e-9 * (double)n) return 0;
        yy -= a[p][3] * a[p][3] / a[p][p];
        for (int r = 0; r < p; r++) {
            double factor = a[r][p] / a[p][p];
            for (int c = 0; c < 4; c++) a[r][c] -= factor * a[p][c];
        }
    }
    if (a[0][0] < 1e-6 * (double)n) return 0;
    *constant = a[0][3] / a[0][0];
    double residual = fmax(yy - *constant * a[0][3], 0);
    *error = sqrt(residual / (double)(n > 3 ? n - 3 : 1) / a[0][0]);
    return 1;
}

bool qb__center_cut_off(const qb__center_rows *rows) {
    const double AIR = 0.2; /* of the mean line integral */
    const size_t columns = rows->columns, margin = columns / 40 + 2;
    size_t held = 0, looked = 0;
    for (size_t r = 0; r < rows->rows; r++) {
        const float *sinogram = rows->sinograms + r * rows->views * columns;
        double mean = 0;
        for (size_t i = 0; i < rows->views * columns; i++)
            mean += (double)sinogram[i] / (double)(rows->views * columns);
        for (size_t v = 0; v < rows->views && mean > 0; v++, looked++) {
            double left = 0, right = 0;
            for (size_t k = 0; k < margin; k++) {
                left += (double)sinogram[v * columns + k] / (double)margin;
                right += (double)sinogram[(v + 1) * columns - 1 - k] / (double)margin;
            }
            held += fmax(left, right) > AIR * mean;
        }
    }
    return 2 * held > looked;
}

static qb__center_answer row_answer(const qb__center_rows *rows, const float *sinogram, moments *m) {
    const qb__center_answer unknown = {NAN, 0};
    size_t views = rows->views;
    m->top = 0;
    for (size_t v = 0; v < views; v++) measure(sinogram + v * rows->columns, rows->columns, v, m);
    double mass = quantile(m->mass, views, 0.5, m->sorted);
    if (!(mass > 0) || !(m->top > 0) || views < 4) return unknown;
    double edge = quantile(m->edge, views, 0.9, m->sorted) / m->top, spread = 0;
    for (size_t v = 0; v < views; v++) {
        spread += (m->mass[v] - mass) * (m->mass[v] - mass);
        m->first[v] /= mass;
    }
    spread = sqrt(spread / (double)views) / mass;
    double constant, error;
    if (!fit(m->first, rows->angles, views, &constant, &error)) return unknown;
    double confidence = 0.7 * (1 - qb__center_ramp(edge, 0, 0.06)) * (1 - qb__center_ramp(spread, 0, 0.06)) *
                        (1 - qb__center_ramp(error, 0, 1));
    double column = constant + ((double)rows->columns - 1) / 2;
    if (!(column >= rows->low && column <= rows->high)) return unknown;
    return (qb__center_answer){column, confidence};
}

qb_status qb__center_mass(const qb__center_rows *rows, qb__center_answer *answer) {
    *answer = (qb__center_answer){NAN, 0};
    double *block;
    qb_status status = qb__alloc(rows->views, 4 * sizeof *block, &block);
    if (status != QB_OK) return status;
    moments m = {block, block + rows->views, block + 2 * rows->views, block + 3 * rows->views, 0};
    double sum = 0, weight = 0, best = 0;
    for (size_t r = 0; r < rows->rows; r++) {
        qb__center_answer one = row_answer(rows, rows->sinograms + r * rows->views * rows->columns, &m);
        if (!(one.confidence > 0)) continue;
        sum += one.confidence * one.column;
        weight += one.confidence;
        if (one.confidence > best) best = one.confidence;
    }
    if (weight > 0) *answer = (qb__center_answer){sum / weight, best};
    qb__free(block);
    return QB_OK;
}
