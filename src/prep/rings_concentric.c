/* SPDX-License-Identifier: MIT */
/* Objects that turn about their own axis, like a tube in the middle of the scan. Their walls stand still in the
 * sinogram, as a stripe does, so that the views cannot tell one from the other. But such an object has each edge twice,
 * at equal distances on both sides of the axis, and a stripe has no counterpart there. The object stands still if block
 * means of its columns vary no more than noise; the axis is where the mean over the views and its mirror image differ
 * least. If an object moves, as a sample in a tube does, the axis must be known: then it has walls if second
 * differences are seen twice about that axis, and not about most others. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/sort.h"
#include "prep/rings.h"

enum {
    PART = 4,    /* the axis lies neither in the first nor in the last 1 in PART columns */
    NEAR = 1,    /* columns around the mirror image of a column that may be its counterpart */
    SELF = 3,    /* a column this near to its mirror image is no counterpart of itself */
    STEPS = 4,   /* places of the axis that are tried per column */
    OBJECT = 8,  /* an object covers more than 1 in OBJECT columns */
    MOVING = 4,  /* the object stands still if fewer than 1 in MOVING of its columns change */
    OTHERS = 64, /* other places of the axis with which the given one is compared */
    APART = 6,   /* columns from it to the nearest of them */
    FEW = 64,    /* fewer columns have no room for them */
    RARE = 20,   /* at most 1 in RARE of them may show as much */
    SHAPE = 2,   /* columns on each side of a column that make its shape */
    AROUND = 7   /* columns on each side of a column that are compared with their mirror image */
};
static const double SLOW = 2;       /* most of the spread of the blocks, relative to that of noise */
static const double FLOOR = 1e-4;   /* in line integrals */
static const double COVERED = 0.05; /* a column shows the object from this part of the highest mean on */
static const double HIGH = 5;       /* least of the object, relative to what is not smooth over the columns */
static const double OTHER = 1.5;    /* mirror images about another axis are more alike by this factor */
static const double CLEAR = 4;      /* errors that a second difference must exceed to be clear */
static const double HIGHEST = 4;    /* one counts as much as so many that are just clear */
static const double TWICE = 0.15;   /* least share of them that must be seen on both sides */
static const double ALIKE = 0.4;    /* least second difference of a counterpart, relative to a stripe's height */
/* where the rest of the object moves: least correlation of a counterpart's shape, and least size of it */
static const double SHAPED = 0.77, FAINT = 0.3;
static const double LARGE = 2.5;   /* weak stripes that are larger than this multiple of their median may be walls */
static const double STRIPES = 0.3; /* what is correlated less, over all columns of a still object, is stripes */
/* where the rest of the object moves, more: few columns are walls, and stripes are alike by chance */
static const double MOVED = 0.8, MOVED_LARGE = 0.5;
static const double FAINTER = 0.12; /* the same of its columns without clear walls */
static const double MIRRORED = 0.5; /* so may those that are correlated with their mirror image by more than this */

/* True if the means of the blocks of column c vary no more than noise. */
static bool is_still(const qb__rings_row *row, double mean, size_t c) {
    const double count = (double)row->blocks;
    double square = 0;
    for (size_t b = 0; b < row->blocks; b++) {
        const double off = row->means[b * row->columns + c] - mean;
        square += off * off;
    }
    /* the mean difference of two values is 1.13 standard deviations */
    const double noise = (double)row->change[c] / 1.13 * sqrt(count / (double)row->all_views);
    return sqrt(square / count) <= SLOW * noise + FLOOR;
}

/* False if there is no object, but only stripes. smooth[n] and off[n] are scratch. */
static bool stands_still(const qb__rings_row *row, const double *mean, double *smooth, double *off) {
    const size_t n = row->columns;
    size_t covered = 0, moving = 0;
    double most = 0;
    qb__rings_ground(mean, n, smooth);
    for (size_t c = 0; c < n; c++) {
        most = fmax(most, fabs(smooth[c]));
        off[c] = fabs(mean[c] - smooth[c]);
    }
    for (size_t c = 0; c < n; c++) {
        if (row->lost[c] || fabs(smooth[c]) < COVERED * most) continue;
        covered++, moving += !is_still(row, mean[c], c);
    }
    return most > HIGH * qb__middle(off, n) && OBJECT * covered > n && MOVING * moving < covered;
}

/* Mean difference between the columns and their mirror image about `axis`. A column at the axis would always be like its
 * mirror image, so that the axis would be found at a strong stripe: there the column is compared with smooth[n]. */
static double unlike(const double *mean, const double *smooth, size_t n, double axis) {
    double sum = 0;
    size_t count = 0;
    for (size_t c = 0; (double)c < axis; c++) {
        const double at = 2 * axis - (double)c;
        if (at > (double)(n - 1)) continue;
        const size_t k = qb__smaller((size_t)at, n - 2);
        const bool self = at - (double)c < SELF;
        const double mirrored = self ? smooth[c] : mean[k] + (at - (double)k) * (mean[k + 1] - mean[k]);
        sum += fabs(mean[c] - mirrored);
        count++;
    }
    return count > 0 ? sum / (double)count : INFINITY;
}

/* The axis of an object that stands still: `given`, unless the object is about another one. */
static double find_axis(const double *mean, const double *smooth, size_t n, double given) {
    double axis = 0, least = INFINITY;
    for (size_t i = n * STEPS / PART; i <= n * STEPS - n * STEPS / PART; i++) {
        const double at = (double)i / STEPS, off = unlike(mean, smooth, n, at);
        if (off < least) least = off, axis = at;
    }
    return given > 0 && unlike(mean, smooth, n, given) < OTHER * least + FLOOR ? given : axis;
}

/* Least and largest second difference near the mirror image of each column. */
static void look_beyond(const qb__rings_row *row, double axis, double *low, double *high) {
    const double *kink = row->measured[QB__RINGS_KINK];
    for (size_t c = 0; c < row->columns; c++) {
        const double at = 2 * axis - (double)c;
        low[c] = high[c] = 0;
        if (fabs(at - (double)c) < SELF) continue;
        for (double k = floor(at) - NEAR; k <= ceil(at) + NEAR; k++) {
            if (k < 0 || k > (double)(row->columns - 1)) continue;
            low[c] = fmin(low[c], kink[(size_t)k]), high[c] = fmax(high[c], kink[(size_t)k]);
        }
    }
}

/* The share of the clear second differences that are seen on the other side of an axis, too. weight[n]: their sizes, 0
 * elsewhere. */
static double seen_twice(qb__rings_row *row, double axis, const double *weight) {
    const double *kink = row->measured[QB__RINGS_KINK];
    double *low = row->opposite, *high = row->opposite + row->columns, all = 0, twice = 0;
    look_beyond(row, axis, low, high);
    for (size_t c = 0; c < row->columns; c++) {
        const double shown = kink[c] < 0 ? -low[c] : high[c];
        all += weight[c];
        if (shown > ALIKE * fabs(kink[c])) twice += weight[c];
    }
    return all > 0 ? twice / all : 0;
}

/* True if clear second differences have counterparts about that axis and not about others: a tube around an object that
 * moves, or layers of it. weight[n] and scratch[n]. */
static bool has_walls(qb__rings_row *row, double axis, double *weight, double *scratch) {
    const size_t n = row->columns;
    const double *kink = row->measured[QB__RINGS_KINK], *error = row->measured[QB__RINGS_KINK_ERROR];
    memcpy(scratch, error, n * sizeof *scratch);
    double usual = qb__middle(scratch, n);
    for (size_t c = 0; c < n; c++) scratch[c] = fabs(kink[c]);
    usual = fmax(usual, qb__middle(scratch, n)); /* there may be stripes in all columns */
    for (size_t c = 0; c < n; c++) {
        const double clear = CLEAR * fmax(usual, error[c]) + FLOOR, size = fabs(kink[c]);
        weight[c] = size > clear ? fmin(size, HIGHEST * clear) : 0;
    }
    const double here = n < FEW ? 0 : seen_twice(row, axis, weight);
    if (here < TWICE) return false;
    int elsewhere = 0;
    for (int i = 0; i < OTHERS; i++) {
        const double off = APART + (double)(i / 2) / OTHERS * 2 * ((double)n / 4 - APART);
        elsewhere += seen_twice(row, axis + (i % 2 ? off : -off), weight) >= here;
    }
    return elsewhere <= OTHERS / RARE;
}

void qb__rings_concentric(const qb__rings_how *how, qb__rings_row *row) {
    const size_t n = row->columns;
    double *mean = row->work;
    row->concentric = false;
    if (row->windows < 4 || n < 4 * PART) return;
    memset(mean, 0, n * sizeof *mean);
    for (size_t b = 0; b < row->blocks; b++)
        for (size_t c = 0; c < n; c++) mean[c] += row->means[b * n + c] / (double)row->blocks;
    row->concentric = stands_still(row, mean, mean + n, mean + 2 * n);
    row->still = row->concentric;
    row->axis = row->concentric ? find_axis(mean, mean + n, n, how->axis) : how->axis;
    if (!row->concentric) row->concentric = how->axis > 0 && has_walls(row, how->axis, mean + n, mean + 2 * n);
    if (!row->concentric) return;
    look_beyond(row, row->axis, row->opposite, row->opposite + n);
}

/* Second difference at a place between two columns. */
static double kink_at(const qb__rings_row *row, double at) {
    const size_t last = row->columns - 1, k = qb__smaller((size_t)fmax(0, at), last - 1);
    const double *kink = row->measured[QB__RINGS_KINK], part = at - (double)k;
    return at < 0 || at > (double)last ? 0 : kink[k] + part * (kink[k + 1] - kink[k]);
}

/* Correlation of the second differences around `here` with those around `there`, in the opposite order. */
static double alike(const qb__rings_row *row, double here, double there) {
    double both = 0, a = 0, b = 0;
    for (int i = -SHAPE; i <= SHAPE; i++) {
        const double left = kink_at(row, here + i), right = kink_at(row, there - i);
        both += left * right, a += left * left, b += right * right;
    }
    return a > 0 && b > FAINT * FAINT * a ? both / sqrt(a * b) : 0;
}

bool qb__rings_has_counterpart(const qb__rings_row *row, size_t c, double height) {
    const double shown = height > 0 ? -row->opposite[c] : row->opposite[row->columns + c];
    if (!row->concentric || shown <= ALIKE * fabs(height)) return false;
    if (row->still) return true;
    const double at = 2 * row->axis - (double)c;
    for (double k = floor(at) - NEAR; k <= ceil(at) + NEAR; k++) {
        const double part = fmax(-0.5, fmin(0.5, k - at));
        if (alike(row, (double)c, k - part) > SHAPED || alike(row, (double)c + part, k) > SHAPED) return true;
    }
    return false;
}

/* Correlation of columns around c with their mirror image. */
static double mirrored_around(const double *found, size_t n, double axis, size_t c) {
    double both = 0, here = 0, there = 0;
    for (size_t i = c - qb__smaller(c, AROUND); i < n && i <= c + AROUND; i++) {
        const double at = 2 * axis - (double)i;
        if (!(at >= 0 && at <= (double)(n - 1)) || fabs(at - (double)i) < SELF) continue;
        const size_t k = qb__smaller((size_t)at, n - 2);
        const double mirrored = found[k] + (at - (double)k) * (found[k + 1] - found[k]);
        both += found[i] * mirrored, here += found[i] * found[i], there += mirrored * mirrored;
    }
    return here > 0 && there > 0 ? both / sqrt(here * there) : 0;
}

/* Correlation of the columns that are not left out with their mirror image. */
static double mirrored(const double *found, size_t n, double axis, const bool *left_out) {
    double both = 0, here = 0, there = 0;
    for (size_t c = 0; (double)c < axis; c++) {
        const double at = 2 * axis - (double)c;
        if (at > (double)(n - 1) || (left_out && left_out[c])) continue;
        const size_t k = qb__smaller((size_t)at, n - 2);
        const double image = found[k] + (at - (double)k) * (found[k + 1] - found[k]);
        both += found[c] * image, here += found[c] * found[c], there += image * image;
    }
    return here > 0 && there > 0 ? both / sqrt(here * there) : 0;
}

void qb__rings_walls(const qb__rings_row *row, const double *found, double *scratch, bool *walls) {
    const size_t n = row->columns;
    memset(walls, 0, n * sizeof *walls);
    if (!row->concentric || (row->still && mirrored(found, n, row->axis, NULL) < STRIPES)) return;
    for (size_t c = 0; c < n; c++) scratch[c] = fabs(found[c]);
    const double large = LARGE * qb__middle(scratch, n);
    for (size_t c = 0; c < n; c++) {
        const double at = 2 * row->axis - (double)c, sign = found[c] < 0 ? -1 : 1, size = fabs(found[c]);
        double shown = 0;
        const bool self = fabs(at - (double)c) < SELF;
        for (double k = fmax(0, floor(at) - NEAR); !self && k <= fmin((double)(n - 1), ceil(at) + NEAR); k++)
            shown = fmax(shown, sign * found[(size_t)k]);
        const double around = mirrored_around(found, n, row->axis, c);
        const bool large_twice = size > large && shown > fmax(large, ALIKE * size);
        walls[c] = row->still ? large_twice || around > MIRRORED : around > (large_twice ? MOVED_LARGE : MOVED);
    }
    /* fainter walls hide among the other columns */
    if (row->still && mirrored(found, n, row->axis, walls) > FAINTER) memset(walls, 1, n * sizeof *walls);
}
