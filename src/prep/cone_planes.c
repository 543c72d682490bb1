/* SPDX-License-Identifier: MIT */
#include "prep/cone_place.h"

#include <math.h>

/* Lengths are in mm, from the point where the ray perpendicular to the axis meets the detector. On a level detector a
 * line has the height z (1 + lean u). The point (x, y) of a rotated detector has the position (x cos - y sin, x sin + y
 * cos) on a level one. A positive rotation, right-handed about the ray, goes from rows to columns. */
typedef struct line_of {
    double lean, cos, sin;
} line_of;

static line_of line_at(const qb__cone_planes *h, const qb__plane_pair *p, int k, const qb__plane_place *place) {
    return (line_of){.lean = (k ? 1 : -1) * tan(p->half) / h->sdd, .cos = cos(place->turn), .sin = -sin(place->turn)};
}

/* Scratch of a thread. */
typedef struct summing {
    double *weight[2], *across[2]; /* [n[0]] of a pair's views */
    double *sum[2];                /* [n[1]] */
} summing;

static summing summing_of(const qb__cone_planes *h, int worker) {
    const size_t wide = h->n[0];
    double *at = h->scratch + (size_t)worker * qb__cone_planes_scratch(h);
    return (summing){{at, at + wide}, {at + 2 * wide, at + 3 * wide}, {at + 4 * wide, at + 4 * wide + h->n[1]}};
}

/* Weights of the integrals along rays, for each column. A small rotation hardly changes them. */
static void weigh(const qb__cone_planes *h, const qb__plane_pair *p, const summing *s) {
    for (int k = 0; k < 2; k++)
        for (size_t c = 0; c < h->n[0]; c++) {
            const double u = ((double)c - h->column) * h->pixel[0], side = (k ? 1 : -1) * sin(p->half),
                         n = cos(p->half);
            const double depth = h->sdd * n + u * side, x = (u * n - h->sdd * side) / depth;
            s->across[k][c] = 1 + x * x;
            s->weight[k][c] = h->sdd * h->sdd / (depth * depth);
        }
}

/* Interpolation between two rows reduces noise: at the fraction t the variance is t^2 + (1 - t)^2 of that in a row. At
 * this t it equals the mean over all t, which holds for a line that crosses many rows. */
#define PLACE 0.2113

/* Limits the range to rows whose lines lie on the image. */
static void rows_on(const qb__cone_planes *h, const qb__plane_pair *p, const qb__plane_place *place, size_t *low,
                    size_t *high) {
    const double STEEP = 0.2;
    for (int i = 0; i < 4; i++) {
        const line_of l = line_at(h, p, i / 2, place);
        const double x = ((i % 2 ? (double)h->n[0] - 1 : 0) - h->column) * h->pixel[0], at = h->row + place->shift;
        double row[2];
        for (int end = 0; end < 2; end++) {
            const double y = ((end ? (double)h->n[1] - 1 : 0) - at) * h->pixel[1];
            const double slope = 1 + l.lean * (x * l.cos - y * l.sin);
            if (!(slope > STEEP)) *high = 0; /* such rays are nearly parallel to the line of the sources */
            row[end] = at + (x * l.sin + y * l.cos) / slope / h->pixel[1];
        }
        *low = (size_t)fmax((double)*low, ceil(row[0]));
        *high = (size_t)fmin((double)*high, fmax(floor(row[1]), 0));
    }
}

bool qb__cone_planes_rows(qb__cone_planes *h, qb__plane_place from, qb__plane_place most, size_t least) {
    h->low = 0, h->high = h->n[1] - 1;
    for (size_t p = 0; p < h->pairs; p++)
        for (int i = 0; i < 4; i++) {
            const qb__plane_place place = {from.shift + (i % 2 ? most.shift : -most.shift),
                                           from.turn + (i / 2 ? most.turn : -most.turn)};
            rows_on(h, &h->pair[p], &place, &h->low, &h->high);
        }
    return h->high >= h->low + least;
}

static void sum_lines(const qb__cone_planes *h, size_t image, const line_of *l, const double *weight,
                      const double *across, double shift, double *sum) {
    const float *from = h->image + image * h->n[0] * h->n[1];
    const size_t wide = h->n[0];
    const double depth = h->sdd / h->pixel[1], last = (double)h->n[1] - 1.001;
    for (size_t r = h->low; r < h->high; r++) {
        const double rise = (double)r + PLACE - h->row - shift, z = rise * h->pixel[1],
                     tan2 = rise / depth * (rise / depth), down = 1 / ((l->cos + z * l->lean * l->sin) * h->pixel[1]),
                     step = (z * l->lean * l->cos - l->sin) * h->pixel[0] * down,
                     first = h->row + shift + z * down - step * h->column;
        double all = 0;
        for (size_t c = 0; c < wide; c++) {
            const double at = first + step * (double)c, y = at < 0 ? 0 : at < last ? at : last;
            const int i = (int)y;
            const float *value = from + (size_t)i * wide + c;
            const float part = (float)(y - i), line = value[0] + part * (value[wide] - value[0]);
            all += (double)line * weight[c] / sqrt(across[c] + tan2);
        }
        sum[r] = all;
    }
}

/* Mean square deviation from the best straight line. */
static double spread_of(const double *y, size_t low, size_t high) {
    double n = 0, x = 0, sum = 0, xx = 0, xy = 0, yy = 0;
    for (size_t r = low; r < high; r++) {
        const double at = (double)r;
        n++, x += at, sum += y[r], xx += at * at, xy += at * y[r], yy += y[r] * y[r];
    }
    const double sxx = xx - x * x / n, sxy = xy - x * sum / n, syy = yy - sum * sum / n;
    return (syy - sxy * sxy / sxx) / n;
}

/* How much the sums of two views differ, without a straight line, because the beam may flicker. */
static double difference(const qb__cone_planes *h, const qb__plane_pair *p, const summing *s,
                         const qb__plane_place *place) {
    const double ROUNDING = 1e-5, LEAST = 1e-30;
    for (int k = 0; k < 2; k++) {
        const line_of l = line_at(h, p, k, place);
        sum_lines(h, k ? p->b : p->a, &l, s->weight[k], s->across[k], place->shift, s->sum[k]);
    }
    const double all = spread_of(s->sum[0], h->low, h->high);
    for (size_t r = h->low; r < h->high; r++) s->sum[0][r] -= s->sum[1][r];
    return fmax(spread_of(s->sum[0], h->low, h->high), 0) + ROUNDING * all + LEAST;
}

typedef struct differing {
    const qb__cone_planes *h;
    const qb__plane_place *places;
    size_t count;
    double *each;
} differing;

static void differ(void *context, size_t pair, int worker) {
    const differing *d = context;
    const qb__plane_pair *p = &d->h->pair[pair];
    const summing s = summing_of(d->h, worker);
    weigh(d->h, p, &s);
    for (size_t k = 0; k < d->count; k++) d->each[pair * d->count + k] = log(difference(d->h, p, &s, &d->places[k]));
}

void qb__cone_planes_differ(qb__cone_planes *h, const qb__plane_place *places, size_t count, double *each,
                            double *mean) {
    differing d = {h, places, count, each};
    if (h->pool)
        qb__pool_for(h->pool, h->pairs, differ, &d);
    else
        for (size_t p = 0; p < h->pairs; p++) differ(&d, p, 0);
    for (size_t k = 0; k < count; k++) {
        mean[k] = 0;
        for (size_t p = 0; p < h->pairs; p++) mean[k] += each[p * count + k] / (double)h->pairs;
    }
}
