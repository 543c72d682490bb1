/* SPDX-License-Identifier: MIT */
/* Weak stripes in nearly all columns, as caused by flats that were measured with another beam.
 *
 *   sort     each column is sorted, so that the object becomes smooth across columns and a stripe stays in its column.
 *            Rank by rank, the deviation from a median over columns is the stripe (Vo, Atwood, Drakopoulos, Opt.
 *            Express 26 (2018) 28396, algorithm 3); its mean over the ranks is removed
 *   wavelet  the details of a wavelet transform across columns, as median over the views (Muench, Trtik, Marone,
 *            Stampanoni, Opt. Express 17 (2009) 8567, for a damping of width 0); the transform is that of Daubechies'
 *            second wavelet, averaged over all its shifts, so that all columns are treated alike
 *
 *   others   the mean over the views minus a smooth curve: rings_profile.c
 *
 * All of them take structure of the object for stripes, which can do more harm than the stripes do. A stripe is the
 * same at all ranks, structure is not. So the square of the sorted columns' result is compared with its squared
 * standard error, both as medians over the columns. If structure explains it, nothing is removed; nor if neighbouring
 * columns have nearly the same result. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/sort.h"
#include "cpu/rows/ring_loops.h"
#include "prep/rings.h"

enum {
    VIEWS = QB__RINGS_SUMS, /* means of neighbouring views: as good as all views, and sorted far faster */
    RANKS = 32,             /* number of ranks of a sorted column; each is a mean of neighbours */
    GROUPS = 8,             /* groups of ranks, for the standard error */
    LANES = QB__RING_LANES,
    USUAL_HALF = 7, /* half of the default window */
    LEVELS = 5,     /* levels of the wavelet transform, at most */
    REACH = 3 << (LEVELS - 1),
    MOST_SMALL = 301 /* columns of a window, see rings_options.c */
};
/* Squares explained by structure alone, in squared standard errors; from twice as many on, all is stripes. */
static const double EXPLAINED = 4, EXPLAINED_FEW = 12;
/* Stripes of neighbouring columns are independent, so a sixth of their squared second differences equals their squares.
 * If it is smaller, the difference is structure: below SMOOTH all, from ROUGH on none. */
static const double SMOOTH = 0.2, ROUGH = 0.4;
/* A column's stripe is limited to this multiple of their median; a larger one is an edge that does not move. */
static const double MOST = 6;

/* Means of neighbouring views, [views][n]. */
typedef struct lines {
    size_t views, n;
    float *at;
} lines;

size_t qb__rings_ranks_floats(size_t columns) {
    return RANKS * columns + qb__larger(LANES * VIEWS, 3 * (columns + 2 * REACH) + LANES * (MOST_SMALL + 1));
}

/* The row's views without the stripes found so far. */
static lines average(const qb__rings_row *row) {
    const size_t n = row->columns, group = qb__rings_summed(row->views);
    const lines l = {qb__ceil_div(row->views, group), n, row->sums};
    for (size_t v = 0; v < l.views; v++) {
        const float part = 1 / (float)(qb__smaller(row->views, (v + 1) * group) - v * group);
        float *mean = l.at + v * n;
        for (size_t c = 0; c < n; c++) mean[c] = mean[c] * part - (float)row->stripe[c];
    }
    return l;
}

/* ---- sorting ---- */

/* Columns c0.. over all views, sorted; a missing column repeats the last one. */
static void sort_columns(const lines *in, size_t c0, float (*sorted)[LANES]) {
    const size_t many = qb__smaller(LANES, in->n - c0);
    for (size_t v = 0; v < in->views; v++) {
        const float *line = in->at + v * in->n + c0;
        for (size_t l = 0; l < LANES; l++) sorted[v][l] = line[l < many ? l : many - 1];
    }
    qb__ring_loops_here()->sort(sorted, in->views);
}

/* ranks[q][column] of columns c0.. */
static void make_ranks(const lines *in, size_t c0, float *out, float (*sorted)[LANES]) {
    const size_t many = qb__smaller(LANES, in->n - c0);
    sort_columns(in, c0, sorted);
    for (size_t q = 0; q < RANKS; q++) {
        const size_t first = q * in->views / RANKS, end = (q + 1) * in->views / RANKS;
        double sum[LANES] = {0};
        for (size_t k = first; k < end; k++)
            for (int l = 0; l < LANES; l++) sum[l] += (double)sorted[k][l];
        for (size_t l = 0; l < many; l++) out[q * in->n + c0 + l] = (float)(sum[l] / (double)(end - first));
    }
}

/* The median of columns c - half to c + half that exist. */
static float median_at(const float *line, size_t n, size_t half, size_t c, float *window) {
    const size_t first = c > half ? c - half : 0, held = qb__smaller(n, c + half + 1) - first;
    memcpy(window, line + first, held * sizeof *window);
    qb__sort_floats(window, held);
    return held % 2 ? window[held / 2] : 0.5f * (window[held / 2] + window[held / 2 - 1]);
}

/* line minus its median over half columns on either side that exist. */
static void less_median(size_t n, size_t half, float *line, float *scratch) {
    const qb__ring_loops *loops = qb__ring_loops_here();
    float *old = scratch, (*window)[LANES] = (float(*)[LANES])(scratch + n);
    size_t c = 0;
    memcpy(old, line, n * sizeof *line);
    if (half == USUAL_HALF) loops->less_median15(old, n - 2 * half, line + half);
    while (c < n) {
        if (half == USUAL_HALF && c == half) c = n - half;
        if (c < half || c + half + LANES > n) {
            line[c] = old[c] - median_at(old, n, half, c, window[0]);
            c++;
            continue;
        }
        for (size_t i = 0; i <= 2 * half; i++) memcpy(window[i], old + c + i - half, sizeof window[i]);
        loops->sort(window, 2 * half + 1);
        for (int l = 0; l < LANES; l++) line[c + (size_t)l] = old[c + (size_t)l] - window[half][l];
        c += LANES;
    }
}

/* The median of those values whose column is not spared. */
static double middle_of(const double *values, const bool *spared, size_t n, double *scratch) {
    size_t count = 0;
    for (size_t c = 0; c < n; c++)
        if (!spared[c]) scratch[count++] = values[c];
    return count > 0 ? qb__middle(scratch, count) : 0;
}

/* 0 to 1: independence of neighbouring columns, of the result together with the stripes already removed. */
static double unlike(const qb__rings_row *row, const double *found, double *squares, double *scratch) {
    const size_t n = row->columns;
    for (size_t c = 0; c < n; c++) squares[c] = (found[c] + row->stripe[c]) * (found[c] + row->stripe[c]);
    const double all = middle_of(squares, row->doubt, n, scratch);
    for (size_t c = 1; c + 1 < n; c++) {
        const double second =
            found[c - 1] + row->stripe[c - 1] - 2 * (found[c] + row->stripe[c]) + found[c + 1] + row->stripe[c + 1];
        squares[c] = second * second / 6;
    }
    squares[0] = squares[1], squares[n - 1] = squares[n - 2];
    const double alone = middle_of(squares, row->doubt, n, scratch);
    return all > 0 ? fmax(0, fmin(1, (alone / all - SMOOTH) / (ROUGH - SMOOTH))) : 0;
}

/* The part of the sorted columns' result that structure does not explain, 0 to 1. found[column]: their mean. Sets
 * row->doubt[column] where they may show walls of a concentric object. */
static double trust(qb__rings_row *row, const float *ranks, double *found, double *squares, double *errors) {
    const size_t n = row->columns, each = RANKS / GROUPS;
    double *scratch = errors + n;
    memset(found, 0, n * sizeof *found);
    memset(squares, 0, n * sizeof *squares);
    for (size_t g = 0; g < GROUPS; g++) {
        double *mean = errors;
        memset(mean, 0, n * sizeof *mean);
        for (size_t q = g * each; q < (g + 1) * each; q++) qb__ring_loops_here()->add(ranks + q * n, n, mean);
        for (size_t c = 0; c < n; c++) {
            mean[c] /= (double)each;
            found[c] += mean[c], squares[c] += mean[c] * mean[c];
        }
    }
    for (size_t c = 0; c < n; c++) {
        errors[c] = fmax(0, squares[c] - found[c] * found[c] / GROUPS) / (GROUPS * (GROUPS - 1));
        found[c] /= GROUPS;
        squares[c] = found[c] * found[c];
    }
    qb__rings_walls(row, found, scratch, row->doubt);
    /* medians of few columns vary */
    const double explained = n < QB__RINGS_FEW || row->concentric ? EXPLAINED_FEW : EXPLAINED;
    const double shown = middle_of(squares, row->doubt, n, scratch), error = middle_of(errors, row->doubt, n, scratch);
    /* also by all columns: those without walls may be too few to tell */
    const double whole = qb__middle(squares, n), part = fmin(shown / error, whole / qb__middle(errors, n));
    return shown > 0 && whole > 0 ? fmax(0, fmin(1, part / explained - 1)) * unlike(row, found, squares, scratch) : 0;
}

/* ---- wavelets ---- */

/* One level's approximation (half of the frequencies), by the autocorrelation of Daubechies' second scaling function.
 * in[-3 step .. n + 3 step - 1] is mirrored at the ends. */
static void approximate(float *in, size_t n, size_t step, float *out) {
    const size_t reach = 3 * step;
    for (size_t k = 0; k < reach; k++) {
        size_t mirror = k < n ? k : n - 1;
        *(in - k - 1) = in[mirror];
        in[n + k] = in[n - 1 - mirror];
    }
    const float *far_left = in - reach, *left = in - step;
    for (size_t c = 0; c < n; c++)
        out[c] = 0.5f * in[c] + 0.28125f * (left[c] + in[c + step]) - 0.03125f * (far_left[c] + in[c + reach]);
}

/* line minus its approximation: the details of all levels. */
static void details(size_t n, int levels, float *line, float *scratch) {
    float *in = scratch + REACH, *out = in + n + 2 * REACH;
    memcpy(in, line, n * sizeof *line);
    for (int level = 0; level < levels; level++) {
        approximate(in, n, (size_t)1 << level, out);
        float *swapped = in;
        in = out, out = swapped;
    }
    for (size_t c = 0; c < n; c++) line[c] -= in[c];
}

static void medians_of_details(const lines *in, float *scratch, double *found) {
    const size_t n = in->n;
    int levels = 2; /* levels for up to 511 columns; each doubling of the columns adds a level */
    while (levels < LEVELS && n >> (levels + 7)) levels++;
    for (size_t v = 0; v < in->views; v++) details(n, levels, in->at + v * n, scratch);
    float(*sorted)[LANES] = (float(*)[LANES])scratch;
    const size_t upper = in->views / 2, lower = (in->views - 1) / 2;
    for (size_t c = 0; c < n; c += LANES) {
        sort_columns(in, c, sorted);
        for (size_t l = 0; l < LANES && c + l < n; l++)
            found[c + l] = (double)(upper == lower ? sorted[upper][l] : 0.5f * (sorted[lower][l] + sorted[upper][l]));
    }
}

void qb__rings_dense(const qb__rings_how *how, qb__rings_row *row) {
    const size_t n = row->columns;
    float *ranks = row->ranks, *scratch = ranks + RANKS * n;
    double *found = row->work, *squares = found + n, *errors = squares + n;
    if (row->views < RANKS || n < how->small) return;
    const lines in = average(row);
    for (size_t c = 0; c < n; c += LANES) make_ranks(&in, c, ranks, (float(*)[LANES])scratch);
    for (size_t q = 0; q < RANKS; q++) less_median(n, how->small / 2, ranks + q * n, scratch);
    const double part = trust(row, ranks, found, squares, errors);
    if (part <= 0) return;
    row->kinds |= QB__RINGS_SORT;
    for (size_t c = 0; c < n; c++) squares[c] = fabs(found[c]);
    const double most = MOST * qb__middle(squares, n);
    if (how->parts & QB__RINGS_WAVELET) medians_of_details(&in, scratch, found);
    if (how->parts & QB__RINGS_PROFILE) qb__rings_profile(how, row, squares, found);
    for (size_t c = 0; c < n; c++)
        if (!row->doubt[c]) row->stripe[c] += part * fmax(-most, fmin(most, found[c]));
}
