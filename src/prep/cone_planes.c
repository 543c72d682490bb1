/* SPDX-License-Identifier: MIT */
#include "prep/cone_planes.h"

#include <math.h>

/* The lines of a pair on its two images: with the middle column at row r (from the row of the principal ray), column c is at r slope[c]. */
static void choose_lines(const qb__cone_planes *h, const qb__plane_pair *p) {
    for (int k = 0; k < 2; k++)
        for (size_t c = 0; c < h->n[0]; c++) {
            const double u = ((double)c - h->column) * h->pixel[0], s = (k ? 1 : -1) * sin(p->half), n = cos(p->half);
            const double depth = h->sdd * n + u * s, x = (u * n - h->sdd * s) / depth;
            h->slope[k][c] = depth / (h->sdd * n);
            h->across[k][c] = 1 + x * x;
            h->weight[k][c] = h->sdd * h->sdd / (depth * depth);
        }
}

/* Rows whose lines are on the image, at a shift. */
static void rows_on(const qb__cone_planes *h, double shift, size_t *low, size_t *high) {
    const double last = (double)h->n[1] - 1, STEEP = 0.2;
    for (int k = 0; k < 2; k++)
        for (size_t c = 0; c < h->n[0]; c += h->n[0] - 1) {
            const double slope = h->slope[k][c], at = h->row + shift;
            if (!(slope > STEEP)) *high = 0; /* such rays are nearly along the line of the sources */
            *low = (size_t)fmax((double)*low, ceil(at + (0 - at) / slope));
            *high = (size_t)fmin((double)*high, fmax(floor(at + (last - at) / slope), 0));
        }
}

bool qb__cone_planes_rows(qb__cone_planes *h, double most, size_t least) {
    h->low = 0, h->high = h->n[1] - 1;
    for (size_t p = 0; p < h->pairs; p++) {
        choose_lines(h, &h->pair[p]);
        rows_on(h, -most, &h->low, &h->high);
        rows_on(h, most, &h->low, &h->high);
    }
    return h->high >= h->low + least;
}

/* Between two rows noise is less than in a row. At this place between them it is as on the average of a line that crosses many. */
#define PLACE 0.2113

static void sum_lines(const qb__cone_planes *h, size_t image, int k, double shift, double *sum) {
    const float *from = h->image + image * h->n[0] * h->n[1];
    const size_t wide = h->n[0];
    const double at = h->row + shift, depth = h->sdd / h->pixel[1];
    for (size_t r = h->low; r < h->high; r++) {
        const double rise = (double)r + PLACE - at, tan2 = rise / depth * (rise / depth);
        double all = 0;
        for (size_t c = 0; c < wide; c++) {
            const double y = fmin(fmax(at + rise * h->slope[k][c], 0), (double)h->n[1] - 1.001);
            const size_t i = (size_t)y;
            const float *value = from + i * wide + c;
            const float part = (float)(y - (double)i), line = value[0] + part * (value[wide] - value[0]);
            all += (double)line * h->weight[k][c] / sqrt(h->across[k][c] + tan2);
        }
        sum[r] = all;
    }
}

/* Mean square about a straight line. */
static double spread_of(const double *y, size_t low, size_t high) {
    double n = 0, x = 0, sum = 0, xx = 0, xy = 0, yy = 0;
    for (size_t r = low; r < high; r++) {
        const double at = (double)r;
        n++, x += at, sum += y[r], xx += at * at, xy += at * y[r], yy += y[r] * y[r];
    }
    const double sxx = xx - x * x / n, sxy = xy - x * sum / n, syy = yy - sum * sum / n;
    return (syy - sxy * sxy / sxx) / n;
}

/* How much the sums of two views differ from one another, less a straight line: the beam may flicker. */
static double difference(const qb__cone_planes *h, const qb__plane_pair *p, double shift) {
    const double ROUNDING = 1e-5, LEAST = 1e-30;
    sum_lines(h, p->a, 0, shift, h->sum[0]);
    sum_lines(h, p->b, 1, shift, h->sum[1]);
    const double all = spread_of(h->sum[0], h->low, h->high);
    for (size_t r = h->low; r < h->high; r++) h->sum[0][r] -= h->sum[1][r];
    return fmax(spread_of(h->sum[0], h->low, h->high), 0) + ROUNDING * all + LEAST;
}

void qb__cone_planes_differ(qb__cone_planes *h, const double *shifts, size_t count, double *each, double *mean) {
    for (size_t k = 0; k < count; k++) mean[k] = 0;
    for (size_t p = 0; p < h->pairs; p++) {
        choose_lines(h, &h->pair[p]);
        for (size_t k = 0; k < count; k++) {
            each[p * count + k] = log(difference(h, &h->pair[p], shifts[k]));
            mean[k] += each[p * count + k] / (double)h->pairs;
        }
    }
}
