/* SPDX-License-Identifier: MIT */
/* The views of both ends: arranging them, and comparing them. */
#include <math.h>
#include <string.h>

#include "prep/view_ends_parts.h"

/* Smooth the values in `line`; `other` has the same length. Returns the buffer with the result. */
static float *smooth(float *line, float *other, size_t bins, size_t times) {
    for (size_t i = 0; i < times; i++) {
        const float *restrict in = line;
        float *restrict out = other;
        out[0] = 0.25F * in[0] + 0.5F * in[0] + 0.25F * in[1];
        for (size_t b = 1; b + 1 < bins; b++) out[b] = 0.25F * in[b - 1] + 0.5F * in[b] + 0.25F * in[b + 1];
        out[bins - 1] = 0.25F * in[bins - 2] + 0.5F * in[bins - 1] + 0.25F * in[bins - 1];
        other = line;
        line = out;
    }
    return line;
}

static float between(const float *line, size_t bins, double at) {
    const double last = (double)bins - 1.001, low = at > 0 ? at : 0, x = low < last ? low : last;
    const size_t k = (size_t)x;
    const float part = (float)(x - (double)k);
    return (1 - part) * line[k] + part * line[k + 1];
}

/* The mirror image of a line about a column: outside it, the nearest value. */
static void mirror(const float *restrict line, size_t bins, double column, float *restrict out) {
    const double whole = floor(2 * column), last = (double)bins - 1;
    const float part = (float)(2 * column - whole);
    /* Bins from `first` on and before `end` lie between two bins of the line. */
    const size_t first = (size_t)fmin(fmax(whole + 2 - last, 0), (double)bins),
                 end = (size_t)fmin(fmax(whole + 1, (double)first), (double)bins);
    for (size_t b = 0; b < first; b++) out[b] = between(line, bins, 2 * column - (double)b);
    for (ptrdiff_t b = (ptrdiff_t)first; b < (ptrdiff_t)end; b++)
        out[b] = (1 - part) * line[(ptrdiff_t)whole - b] + part * line[(ptrdiff_t)whole - b + 1];
    for (size_t b = end; b < bins; b++) out[b] = between(line, bins, 2 * column - (double)b);
}

static void read_between(const float *restrict line, size_t bins, float part, float *restrict out) {
    for (size_t b = 0; b + 1 < bins; b++) out[b] = (1 - part) * line[b] + part * line[b + 1];
    out[bins - 1] = line[bins - 1];
}

/* Both ends are interpolated at the same fraction of a bin, so that the blur is the same in both. */
static double part_of(const qb__ends_look *l) { return l->mirrored ? l->column - floor(l->column) : 0; }

/* Choose the bins that both ends see, with the assumed axis. */
static void choose_range(qb__ends_look *l) {
    const double last = (double)l->bins - 1, part = part_of(l), across = 2 * floor(l->column) + part;
    l->from = l->mirrored ? (size_t)fmax(0, ceil(across - last)) : 0;
    l->to = l->mirrored ? (size_t)fmax(0, floor(fmin(across, last - part)) + 1) : l->bins;
}

static void about_mean(const qb__ends_look *l, float *line) {
    double mean = 0;
    for (size_t b = l->from; b < l->to; b++) mean += (double)line[b];
    mean = l->to > l->from ? mean / (double)(l->to - l->from) : 0;
    for (size_t b = 0; b < l->bins; b++) line[b] -= (float)mean;
}

static void arrange_view(qb__ends_look *l, size_t view, size_t times) {
    const double part = part_of(l), across = 2 * floor(l->column) + part;
    for (size_t i = view * l->rows; i < (view + 1) * l->rows; i++) {
        float *out = l->line + i * l->bins;
        memcpy(l->part[0], l->read + i * l->bins, l->bins * sizeof *out);
        const float *line = smooth(l->part[0], l->part[1], l->bins, times);
        if (l->mirrored && view < l->near)
            mirror(line, l->bins, 0.5 * across, out);
        else if (l->mirrored)
            read_between(line, l->bins, (float)part, out);
        else
            memcpy(out, line, l->bins * sizeof *out);
        about_mean(l, out);
    }
}

/* Arranges only the first and the last view, which are enough to find the axis. */
static void arrange_ends(qb__ends_look *l, size_t times) {
    choose_range(l);
    arrange_view(l, 0, times);
    arrange_view(l, l->near, times);
    for (size_t r = 0; r < l->rows; r++) {
        const float *a = l->line + r * l->bins, *z = l->line + (l->near * l->rows + r) * l->bins;
        float *out = l->slope + r * l->bins;
        for (size_t b = 0; b < l->bins; b++) {
            const size_t up = b + 1 < l->bins ? b + 1 : b, down = b ? b - 1 : 0;
            out[b] = 0.25F * (a[up] - a[down] + z[up] - z[down]);
        }
        about_mean(l, out);
    }
}

void qb__ends_arrange(qb__ends_look *l, size_t times) {
    arrange_ends(l, times);
    for (size_t view = 1; view < 2 * l->near; view++)
        if (view != l->near) arrange_view(l, view, times);
}

double qb__ends_without_shift(const qb__ends_look *l, float *out) {
    double product = 0, square = 0;
    for (size_t r = 0; r < l->rows; r++)
        for (size_t c = l->from; c < l->to; c++) {
            const size_t at = r * l->bins + c;
            product += (double)out[at] * (double)l->slope[at];
            square += (double)l->slope[at] * (double)l->slope[at];
        }
    const double shift = square > 0 ? product / square : 0;
    for (size_t r = 0; r < l->rows; r++)
        for (size_t c = l->from; c < l->to; c++) out[r * l->bins + c] -= (float)shift * l->slope[r * l->bins + c];
    return shift;
}

/* View i minus view k, without the effect of a shift along the row. Returns the shift, in bins. */
static double differ(const qb__ends_look *l, size_t i, size_t k, float *out) {
    const size_t size = l->rows * l->bins;
    const float *a = l->line + i * size, *b = l->line + k * size;
    for (size_t at = 0; at < size; at++) out[at] = a[at] - b[at];
    return qb__ends_without_shift(l, out);
}

/* Mean of the products of two such differences; sure (may be NULL): divided by its error, from parts of the rows. */
static double product_of(const qb__ends_look *l, const float *a, const float *b, double *sure) {
    enum { PARTS = QB__ENDS_PARTS };
    const size_t wide = l->to - l->from;
    double sum = 0, square = 0;
    for (size_t r = 0; r < l->rows; r++)
        for (size_t p = 0; p < PARTS; p++) {
            double part = 0;
            for (size_t c = l->from + p * wide / PARTS; c < l->from + (p + 1) * wide / PARTS; c++)
                part += (double)a[r * l->bins + c] * (double)b[r * l->bins + c];
            sum += part, square += part * part;
        }
    if (sure) *sure = square > 0 ? sum / sqrt(square) : 0;
    return sum / (double)(l->rows * wide);
}

static double square_of(const qb__ends_look *l, size_t i, size_t k) {
    differ(l, i, k, l->part[0]);
    return product_of(l, l->part[0], l->part[0], NULL);
}

/* Product of the differences of two pairs of views. */
static double pair_of(const qb__ends_look *l, size_t i, size_t k, size_t m, size_t n, double *sure) {
    differ(l, i, k, l->part[0]);
    differ(l, m, n, l->part[1]);
    return product_of(l, l->part[0], l->part[1], sure);
}

void qb__ends_take_measure(const qb__ends_look *l, qb__ends_measure *m) {
    const size_t z = l->near; /* the last view; those before it follow */
    double sure[2];
    m->moved_ends = fabs(differ(l, 0, z, l->part[0]));
    m->moved_step = 0.5 * (fabs(differ(l, 1, 0, l->part[0])) + fabs(differ(l, z, z + 1, l->part[0])));
    m->ends = square_of(l, 0, z);
    m->step[0] = square_of(l, 1, 0), m->step[1] = square_of(l, z, z + 1);
    m->two = 0.5 * (square_of(l, 2, 0) + square_of(l, z, z + 2));
    m->more = 0.5 * (square_of(l, 1, z) + square_of(l, 0, z + 1));
    m->forward = 0.5 * (pair_of(l, 0, z, 2, 1, &sure[0]) + pair_of(l, 0, z, z + 1, z + 2, &sure[1]));
    m->sure = (sure[0] + sure[1]) / sqrt(2);
    m->usual = 0.5 * (pair_of(l, 1, 0, 3, 2, NULL) + pair_of(l, z, z + 1, z + 2, z + 3, NULL));
}

double qb__ends_evenness(const qb__ends_measure *m) {
    /* line integrals; smaller differences are rounding */
    const double LEAST = 1e-4, step = 0.5 * (m->step[0] + m->step[1]);
    return step > LEAST * LEAST ? m->two / step : 0;
}

void qb__ends_find_axis(qb__ends_look *l, size_t times) {
    enum { SETTLE = 6 };
    const double EDGE = 0.3, MOST = 1;
    if (isnan(l->column)) {
        double best = INFINITY, at = 0.5 * ((double)l->bins - 1);
        for (size_t m = (size_t)(2 * EDGE * (double)l->bins); m < (size_t)(2 * (1 - EDGE) * (double)l->bins); m++) {
            l->column = 0.5 * (double)m;
            arrange_ends(l, times);
            const double apart = square_of(l, 0, l->near);
            if (apart < best) best = apart, at = l->column;
        }
        l->column = at;
    }
    for (int i = 0; i < SETTLE; i++) {
        arrange_ends(l, times);
        const double shift = fmin(fmax(differ(l, 0, l->near, l->part[0]), -MOST), MOST);
        const double column = l->column + 0.5 * shift;
        if (!(column > EDGE * (double)l->bins && column < (1 - EDGE) * (double)l->bins)) return;
        l->column = column;
        if (fabs(shift) < 0.02) return;
    }
}
