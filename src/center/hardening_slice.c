/* SPDX-License-Identifier: MIT */
/* Computes the path length of each ray in an object of one material, from a small slice in double precision. */
#include "center/hardening_slice.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"

enum { BINS = 256 };

typedef struct slice {
    const qb__hardening_row *row;
    size_t side; /* side of the slice, in columns */
    double middle;
    double *filtered; /* [view][column] */
    double *values;   /* [side][side] */
    double threshold;
} slice;

/* Ramp filter of Ramachandran and Lakshminarayanan (1971), computed in space by its definition. */
static void filter_view(void *context, size_t view, int worker) {
    slice *s = context;
    const size_t n = s->row->columns;
    const double *line = s->row->lines + view * n;
    (void)worker;
    for (size_t c = 0; c < n; c++) {
        double sum = 0.25 * line[c];
        for (size_t d = 1; d < n; d += 2) {
            const double h = -1 / (M_PI * M_PI * (double)(d * d));
            sum += h * ((c >= d ? line[c - d] : 0) + (c + d < n ? line[c + d] : 0));
        }
        s->filtered[view * n + c] = sum;
    }
}

static double at(const double *line, size_t n, double column) {
    if (!(column >= 0) || column > (double)n - 1) return 0;
    const size_t i = column >= (double)n - 1 ? n - 2 : (size_t)column;
    const double share = column - (double)i;
    return line[i] + share * (line[i + 1] - line[i]);
}

static void back_project(void *context, size_t y, int worker) {
    slice *s = context;
    const qb__hardening_row *row = s->row;
    double *out = s->values + y * s->side;
    (void)worker;
    memset(out, 0, s->side * sizeof *out);
    for (size_t v = 0; v < row->views; v++) {
        const double c = cos(row->angles[v]), d = sin(row->angles[v]);
        const double first = row->axis - s->middle * c + ((double)y - s->middle) * d;
        const double *line = s->filtered + v * row->columns;
        for (size_t x = 0; x < s->side; x++) out[x] += at(line, row->columns, first + (double)x * c);
    }
}

/* The threshold that divides the histogram into two classes of the least variance within them. */
static double otsu(const slice *s) {
    double low = INFINITY, high = -INFINITY, count[BINS] = {0}, all = 0, sum = 0, below = 0, weighed = 0, best = -1;
    size_t where = 0;
    for (size_t i = 0; i < s->side * s->side; i++) low = fmin(low, s->values[i]), high = fmax(high, s->values[i]);
    if (!(high > low)) return INFINITY;
    for (size_t i = 0; i < s->side * s->side; i++) count[(size_t)((BINS - 1) * (s->values[i] - low) / (high - low))]++;
    for (size_t b = 0; b < BINS; b++) all += count[b], sum += (double)b * count[b];
    for (size_t b = 0; b + 1 < BINS; b++) {
        below += count[b], weighed += (double)b * count[b];
        const double above = all - below;
        if (below == 0 || above == 0) continue;
        const double apart = weighed / below - (sum - weighed) / above, variance = below * above * apart * apart;
        if (variance > best) best = variance, where = b;
    }
    return low + ((double)where + 0.5) * (high - low) / (BINS - 1);
}

/* 0 outside the object, 1 inside, and a value between at its edge, so that path lengths change continuously. */
static double share_of(const slice *s, double x, double y) {
    if (!(x >= 0) || !(y >= 0) || x > (double)s->side - 1 || y > (double)s->side - 1) return 0;
    const size_t i = x >= (double)s->side - 1 ? s->side - 2 : (size_t)x;
    const size_t j = y >= (double)s->side - 1 ? s->side - 2 : (size_t)y;
    const double a = x - (double)i, b = y - (double)j;
    const double *v = s->values + j * s->side + i;
    const double value = (1 - b) * ((1 - a) * v[0] + a * v[1]) + b * ((1 - a) * v[s->side] + a * v[s->side + 1]);
    return fmin(fmax(value / s->threshold - 0.5, 0), 1);
}

static void project(void *context, size_t view, int worker) {
    slice *s = context;
    const qb__hardening_row *row = s->row;
    const double c = cos(row->angles[view]), d = sin(row->angles[view]), reach = s->middle * M_SQRT2;
    (void)worker;
    for (size_t k = 0; k < row->columns; k++) {
        const double place = (double)k - row->axis;
        double length = 0;
        for (double t = -reach; t <= reach; t += 0.5)
            length += 0.5 * share_of(s, s->middle + place * c - t * d, s->middle + place * d + t * c);
        row->lengths[view * row->columns + k] = length;
    }
}

qb_status qb__hardening_lengths(qb__hardening_row *row, qb__pool *pool) {
    const double reach = fmin(row->axis, (double)row->columns - 1 - row->axis);
    slice s = {.row = row, .side = (size_t)(2 * reach) + 1};
    qb_status status;
    if (s.side < 16) return qb__fail(QB_BAD_INPUT, "the axis lies at the detector's edge");
    s.middle = 0.5 * ((double)s.side - 1);
    QB__TRY(qb__alloc(row->views * row->columns, sizeof(double), &s.filtered));
    QB__TRY(qb__alloc(s.side * s.side, sizeof(double), &s.values));
    qb__pool_for(pool, row->views, filter_view, &s);
    qb__pool_for(pool, s.side, back_project, &s);
    s.threshold = otsu(&s);
    qb__pool_for(pool, row->views, project, &s);
out:
    QB__FREE(s.filtered, s.values);
    return status;
}
