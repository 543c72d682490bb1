/* SPDX-License-Identifier: MIT */
/* Means over overlapping windows of views, weighted by raised cosines: structure that moves across a column in that
 * time vanishes almost completely, because the window has no edges; a stripe stays unchanged. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/sort.h"
#include "cpu/rows/ring_loops.h"
#include "prep/rings.h"

enum { GROUND = 9, REACH = GROUND / 2, BEYOND = 8 /* columns that a loop may read beyond its last one */ };
static const double SHARED = 0.3; /* share of the spread over the columns that is added to each column's error */

size_t qb__rings_apart(size_t columns) { return columns + 2 * QB__RING_ENDS; }

size_t qb__rings_mirrored(ptrdiff_t at, size_t n) {
    const ptrdiff_t last = (ptrdiff_t)n - 1;
    if (last < 1) return 0;
    while (at < 0 || at > last) at = at < 0 ? -at : 2 * last - at;
    return (size_t)at;
}

void qb__rings_mirror(double *line, size_t n) {
    for (ptrdiff_t i = 1; i <= QB__RING_ENDS; i++) {
        line[-i] = line[qb__rings_mirrored(-i, n)];
        line[(ptrdiff_t)n - 1 + i] = line[qb__rings_mirrored((ptrdiff_t)n - 1 + i, n)];
    }
}

void qb__rings_kinks(const double *restrict in, size_t n, double *restrict out) {
    out[0] = qb__rings_kink(in, n, 0);
    for (size_t c = 1; c + 1 < n; c++) out[c] = in[c - 1] - 2 * in[c] + in[c + 1];
    out[n - 1] = qb__rings_kink(in, n, n - 1);
}

/* Columns near the ends. */
static void ground_of_ends(const double *in, size_t n, size_t first, size_t end, double *out) {
    const ptrdiff_t last = (ptrdiff_t)n - 1;
    for (size_t c = first; c < end; c += BEYOND) {
        double window[2 * BEYOND + GROUND] = {0};
        for (ptrdiff_t i = 0; i < BEYOND + GROUND; i++) {
            ptrdiff_t at = (ptrdiff_t)c + i - REACH;
            if (at < 0) at = -at;
            if (at > last) at = 2 * last - at;
            window[i] = in[at > 0 ? at : 0];
        }
        qb__ring_loops_here()->median9(window, 1, qb__smaller(BEYOND, end - c), out + c);
    }
}

/* out[c] = median of in[c - 4 .. c + 4], mirrored at the ends, for columns first <= c < end. */
void qb__rings_ground_of(const double *in, size_t n, size_t first, size_t end, double *out) {
    const size_t from = qb__larger(first, REACH), to = n > REACH + BEYOND ? qb__smaller(end, n - REACH - BEYOND) : 0;
    if (from >= to) {
        ground_of_ends(in, n, first, end, out);
        return;
    }
    ground_of_ends(in, n, first, from, out);
    qb__ring_loops_here()->median9(in + from - REACH, 1, to - from, out + from);
    ground_of_ends(in, n, to, end, out);
}

void qb__rings_ground(const double *in, size_t n, double *out) { qb__rings_ground_of(in, n, 0, n, out); }

double qb__rings_spread(const double *values, size_t n, double *scratch) {
    for (size_t c = 0; c < n; c++) scratch[c] = fabs(values[c]);
    return 1.48 * qb__middle(scratch, n);
}

void qb__rings_add_shared(double *errors, size_t n, double all) {
    const double shared = SHARED * all;
    for (size_t c = 0; c < n; c++) errors[c] = sqrt(errors[c] * errors[c] + shared * shared);
}

/* The object's mean second difference, as a median over 9 columns. */
static void measure_structure(qb__rings_row *row) {
    const size_t n = row->columns;
    row->structure[0] = row->structure[1], row->structure[n - 1] = row->structure[n - 2];
    qb__rings_ground(row->structure, n, row->measured[QB__RINGS_STRUCTURE]);
    for (size_t c = 0; c < n; c++) row->measured[QB__RINGS_STRUCTURE][c] /= (double)row->views;
}

static void measure(qb__rings_row *row) {
    static const int of[] = {QB__RINGS_KINK, QB__RINGS_HEIGHT, QB__RINGS_STEP}; /* an error follows each */
    const size_t n = row->columns, apart = qb__rings_apart(n);
    double *const *m = row->measured, *kinks = row->spare + QB__RING_ENDS;
    if (row->windows < 4) return;
    measure_structure(row);
    for (size_t w = 0; w < row->windows; w++) {
        qb__rings_kinks(row->window + w * n, n, kinks + w * apart);
        qb__rings_mirror(kinks + w * apart, n);
    }
    for (int i = 0; i < 3; i++)
        qb__ring_loops_here()->middles(kinks, apart, row->windows, (qb__ring_measure)i, n, m[of[i]], m[of[i] + 1]);
    m[QB__RINGS_STEP][0] = m[QB__RINGS_STEP_ERROR][0] = 0; /* no column is before the first one */
}

void qb__rings_block_means(qb__rings_row *row) {
    const size_t n = row->columns, blocks = row->blocks;
    memset(row->means, 0, blocks * n * sizeof *row->means);
    for (size_t b = 0; b < blocks; b++) {
        double *mean = row->means + b * n;
        const size_t first = b * row->views / blocks, end = (b + 1) * row->views / blocks;
        for (size_t v = first; v < end; v++) qb__ring_loops_here()->add(row->lines + v * n, n, mean);
        for (size_t c = 0; c < n; c++) mean[c] /= (double)(end - first);
    }
}

/* Adds columns first <= c < end of an averaged view to the windows that contain it, and its weights to sum[]. */
static void add_to_windows(qb__rings_row *row, size_t view, size_t first, size_t end, double *sum) {
    const size_t n = row->columns;
    const double half = (double)(row->views - 1) / (double)(row->windows + 1);
    const size_t near = (size_t)((double)view / half);
    for (size_t w = near > 2 ? near - 2 : 0; w < row->windows && w <= near + 1; w++) {
        const double far = fabs((double)view - half * (double)(w + 1)) / half;
        if (far >= 1) continue;
        const double weight = 0.5 + 0.5 * cos(M_PI * far);
        sum[w] += weight;
        qb__ring_loops_here()->add_weighted(row->lines + view * n + first, end - first, weight,
                                            row->window + w * n + first);
    }
}

size_t qb__rings_summed(size_t views) { return qb__ceil_div(views, QB__RINGS_SUMS); }

/* Adds columns first <= c < end of an averaged view to its sum. */
static void add_to_sums(qb__rings_row *row, size_t view, size_t first, size_t end) {
    const size_t n = row->columns, group = qb__rings_summed(row->views);
    const float *line = row->lines + view * n;
    float *sum = row->sums + view / group * n;
    if (view % group == 0)
        memcpy(sum + first, line + first, (end - first) * sizeof *sum);
    else
        for (size_t c = first; c < end; c++) sum[c] += line[c];
}

static void clear(double *lines, size_t count, size_t n, size_t first, size_t end) {
    for (size_t i = 0; i < count; i++) memset(lines + i * n + first, 0, (end - first) * sizeof *lines);
}

/* Makes all sums over the views of columns first <= c < end. Each view is in the first-level cache for all of them. */
static void sum_views(qb__rings_row *row, size_t first, size_t end) {
    const qb__ring_loops *loops = qb__ring_loops_here();
    const size_t n = row->columns, left = first > 0 ? first - 1 : 0, right = qb__smaller(n, end + 1);
    double sum[QB__RINGS_WINDOWS] = {0};
    clear(row->means, row->blocks, n, first, end);
    clear(row->window, row->windows, n, first, end);
    clear(row->structure, 1, n, first, end);
    for (size_t b = 0; b < row->blocks; b++) {
        double *mean = row->means + b * n;
        const size_t view0 = b * row->views / row->blocks, view1 = (b + 1) * row->views / row->blocks;
        for (size_t v = view0; v < view1; v++) {
            const float *line = row->lines + v * n;
            loops->add(line + first, end - first, mean + first);
            loops->add_kinks(line + left, right - left, row->structure + left);
            add_to_sums(row, v, first, end);
            if (row->windows > 0) add_to_windows(row, v, first, end, sum);
        }
        for (size_t c = first; c < end; c++) mean[c] /= (double)(view1 - view0);
    }
    for (size_t w = 0; w < row->windows; w++)
        for (size_t c = first; c < end; c++) row->window[w * n + c] /= sum[w];
}

void qb__rings_windows(qb__rings_row *row) {
    sum_views(row, 0, row->columns);
    measure(row);
}

/* Only the lost columns have changed, and the second differences of the columns beside them. */
void qb__rings_windows_bridge(qb__rings_row *row) {
    const size_t n = row->columns;
    qb__rings_bridge(row);
    for (size_t c = 0, end; c < n; c = end) {
        for (end = c; end < n && row->lost[end];) end++;
        if (end == c) {
            end++;
            continue;
        }
        const size_t first = c > 0 ? c - 1 : 0;
        end = qb__smaller(n, end + 1);
        sum_views(row, first, end);
    }
    measure(row);
}
