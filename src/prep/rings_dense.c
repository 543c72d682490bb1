/* SPDX-License-Identifier: MIT */
/* Weak stripes in nearly all columns, as flats leave them that were measured with another beam.
 *
 *   sort     each column is sorted, so that the object becomes smooth across columns and a stripe stays where it is. Rank by
 *            rank, what a median over columns takes away belongs to the stripe (Vo, Atwood, Drakopoulos, Opt. Express 26
 *            (2018) 28396, algorithm 3); its mean over the ranks is the stripe
 *   wavelet  the details of a wavelet transform across columns, their median over the views (Muench, Trtik, Marone,
 *            Stampanoni, Opt. Express 17 (2009) 8567, for a damping of width 0); the transform is that of Daubechies' second
 *            wavelet, the mean over all its shifts, so that no column is treated otherwise than its neighbour
 *
 *   others  the mean over the views less a smooth curve: rings_profile.c
 *
 * All take structure of the object for stripes, which can do more harm than the stripes do. A stripe is the same at all
 * ranks, structure is not. So the square of what the sorted columns show is compared with its squared standard error, both as
 * medians over the columns. Where structure explains it nothing is taken off, nor where neighbouring columns show nearly the same. */
#include <math.h>
#include <string.h>

#include "base/sort.h"
#include "prep/air.h"
#include "prep/rings.h"

enum {
    RANKS = 32,   /* of a sorted column, each a mean of neighbours */
    GROUPS = 8,   /* of ranks, for the standard error */
    ABREAST = 16, /* columns that are gathered together */
    LEVELS = 5,   /* of the wavelet transform, at most */
    REACH = 3 << (LEVELS - 1)
};
/* The squares that structure alone explains, in squared standard errors; from twice as many on all is stripes. */
static const double EXPLAINED = 4;
/* Stripes of neighbouring columns have nothing in common, so a sixth of their squared second differences is as large as their squares.
 * What it is less than that is structure: below SMOOTH all, from ROUGH on none. */
static const double SMOOTH = 0.2, ROUGH = 0.4;
/* A column's stripe is at most so many times their median; what is more is an edge that stands still. */
static const double MOST = 6;

static size_t larger(size_t a, size_t b) { return a > b ? a : b; }

size_t qb__rings_ranks_floats(size_t views, size_t columns) {
    return RANKS * columns + larger((ABREAST + 1) * views, 3 * (columns + 2 * REACH) + 1024);
}

/* ---- sorting ---- */

/* ranks[q][column] of columns c0.. */
static void sort_columns(const qb__rings_row *row, size_t ranks, size_t c0, size_t count, float *out, float *scratch) {
    float *spare = scratch + ABREAST * row->views;
    for (size_t v = 0; v < row->views; v++)
        for (size_t i = 0; i < count; i++) scratch[i * row->views + v] = row->lines[v * row->columns + c0 + i];
    for (size_t i = 0; i < count; i++) {
        float *column = scratch + i * row->views;
        qb__sort_floats_with(column, row->views, spare);
        for (size_t q = 0; q < ranks; q++) {
            const size_t first = q * row->views / ranks, end = (q + 1) * row->views / ranks;
            double sum = 0;
            for (size_t k = first; k < end; k++) sum += (double)column[k];
            out[q * row->columns + c0 + i] = (float)(sum / (double)(end - first) - row->stripe[c0 + i]);
        }
    }
}

static void put_in(float *window, size_t count, float value) {
    size_t i = count;
    for (; i > 0 && window[i - 1] > value; i--) window[i] = window[i - 1];
    window[i] = value;
}

static void take_out(float *window, size_t count, float value) {
    size_t i = 0;
    while (i + 1 < count && window[i] != value) i++;
    memmove(window + i, window + i + 1, (count - i - 1) * sizeof *window);
}

/* line less its median over half columns to either side, as far as there are some. */
static void less_median(size_t n, size_t half, float *line, float *scratch) {
    float *window = scratch, *old = scratch + 2 * half + 2;
    size_t held = 0;
    memcpy(old, line, n * sizeof *line);
    for (size_t c = 0; c < n + half; c++) {
        if (c < n) put_in(window, held++, old[c]);
        if (c > 2 * half) take_out(window, held--, old[c - 2 * half - 1]);
        if (c < half) continue;
        float middle = window[held / 2];
        if (held % 2 == 0) middle = 0.5f * (middle + window[held / 2 - 1]);
        line[c - half] = old[c - half] - middle;
    }
}

/* 0 to 1: how little neighbouring columns have in common, of what is found and of the stripes that are taken off already. */
static double unlike(const qb__rings_row *row, const double *found, double *squares) {
    const size_t n = row->columns;
    for (size_t c = 0; c < n; c++) squares[c] = (found[c] + row->stripe[c]) * (found[c] + row->stripe[c]);
    const double all = qb__median(squares, n);
    for (size_t c = 1; c + 1 < n; c++) {
        const double second =
            found[c - 1] + row->stripe[c - 1] - 2 * (found[c] + row->stripe[c]) + found[c + 1] + row->stripe[c + 1];
        squares[c - 1] = second * second / 6;
    }
    const double alone = qb__median(squares, n - 2);
    return all > 0 ? fmax(0, fmin(1, (alone / all - SMOOTH) / (ROUGH - SMOOTH))) : 0;
}

/* The part of what the sorted columns show that structure does not explain, 0 to 1. found[column]: their mean. */
static double trust(const qb__rings_row *row, const float *ranks, double *found, double *squares, double *errors) {
    const size_t n = row->columns;
    for (size_t c = 0; c < n; c++) {
        double sum = 0, square = 0;
        for (size_t g = 0; g < GROUPS; g++) {
            double mean = 0;
            for (size_t q = 0; q < RANKS / GROUPS; q++) mean += (double)ranks[(g * (RANKS / GROUPS) + q) * n + c];
            mean /= RANKS / GROUPS;
            sum += mean;
            square += mean * mean;
        }
        found[c] = sum / GROUPS;
        squares[c] = found[c] * found[c];
        errors[c] = fmax(0, square - sum * sum / GROUPS) / (GROUPS * (GROUPS - 1));
    }
    const double shown = qb__median(squares, n), error = qb__median(errors, n);
    return shown > 0 ? unlike(row, found, squares) * fmax(0, fmin(1, shown / (EXPLAINED * error) - 1)) : 0;
}

/* ---- wavelets ---- */

/* One level's approximation: halves of the frequencies, by the autocorrelation of Daubechies' second scaling function.
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

/* line less its approximation: the details of all levels. */
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

static void medians_of_details(qb__rings_row *row, float *scratch, double *found) {
    const size_t n = row->columns;
    int levels = 2; /* up to 511 columns, and one more whenever there are twice as many */
    while (levels < LEVELS && n >> (levels + 7)) levels++;
    for (size_t v = 0; v < row->views; v++) {
        float *line = row->lines + v * n;
        for (size_t c = 0; c < n; c++) line[c] -= (float)row->stripe[c];
        details(n, levels, line, scratch);
    }
    for (size_t c = 0; c < n; c++) {
        for (size_t v = 0; v < row->views; v++) scratch[v] = row->lines[v * n + c];
        found[c] = (double)qb__air_median(scratch, row->views);
    }
}

void qb__rings_dense(const qb__rings_how *how, qb__rings_row *row) {
    const size_t n = row->columns;
    float *ranks = row->ranks, *scratch = ranks + RANKS * n;
    double *found = row->work, *squares = found + n, *errors = squares + n;
    if (row->views < RANKS || n < how->small) return;
    for (size_t c = 0; c < n; c += ABREAST)
        sort_columns(row, RANKS, c, n - c < ABREAST ? n - c : ABREAST, ranks, scratch);
    for (size_t q = 0; q < RANKS; q++) less_median(n, how->small / 2, ranks + q * n, scratch);
    const double part = trust(row, ranks, found, squares, errors);
    if (part <= 0) return;
    row->kinds |= QB__RINGS_SORT;
    for (size_t c = 0; c < n; c++) squares[c] = fabs(found[c]);
    const double most = MOST * qb__median(squares, n);
    if (how->parts & QB__RINGS_WAVELET) medians_of_details(row, scratch, found);
    if (how->parts & QB__RINGS_PROFILE) qb__rings_profile(how, row, squares, found);
    for (size_t c = 0; c < n; c++) row->stripe[c] += part * fmax(-most, fmin(most, found[c]));
}
