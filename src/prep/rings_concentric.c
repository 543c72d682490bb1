/* SPDX-License-Identifier: MIT */
/* Objects that turn about their own axis, like a tube in the middle of the scan. Their walls stand still in the
 * sinogram, as a stripe does, so that the views cannot tell one from the other. But such an object has each edge twice,
 * at equal distances on both sides of the axis, and a stripe has no counterpart there. The object stands still if block
 * means of its columns vary no more than noise; the axis is where the mean over the views and its mirror image differ
 * least. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/sort.h"
#include "prep/rings.h"

enum {
    PART = 4,   /* the axis lies neither in the first nor in the last 1 in PART columns */
    NEAR = 1,   /* columns around the mirror image of a column that may be its counterpart */
    SELF = 3,   /* a column this near to its mirror image is no counterpart of itself */
    STEPS = 4,  /* places of the axis that are tried per column */
    OBJECT = 8, /* an object covers more than 1 in OBJECT columns */
    MOVING = 4  /* the object stands still if fewer than 1 in MOVING of its columns change */
};
static const double SLOW = 2;       /* most of the spread of the blocks, relative to that of noise */
static const double FLOOR = 1e-4;   /* in line integrals */
static const double COVERED = 0.05; /* a column shows the object from this part of the highest mean on */
static const double HIGH = 5;       /* least of the object, relative to what is not smooth over the columns */
static const double MIRRORED = 0.3; /* least correlation of an object's structure with its mirror image */
static const double ALIKE = 0.4;    /* least second difference of a counterpart, relative to a stripe's height */

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

static double find_axis(const double *mean, const double *smooth, size_t n) {
    double axis = 0, least = INFINITY;
    for (size_t i = n * STEPS / PART; i <= n * STEPS - n * STEPS / PART; i++) {
        const double at = (double)i / STEPS, off = unlike(mean, smooth, n, at);
        if (off < least) least = off, axis = at;
    }
    return axis;
}

void qb__rings_concentric(qb__rings_row *row) {
    const size_t n = row->columns;
    double *mean = row->work, *low = row->opposite, *high = row->opposite + n;
    const double *kink = row->measured[QB__RINGS_KINK];
    row->concentric = false;
    if (row->windows < 4 || n < 4 * PART) return;
    memset(mean, 0, n * sizeof *mean);
    for (size_t b = 0; b < row->blocks; b++)
        for (size_t c = 0; c < n; c++) mean[c] += row->means[b * n + c] / (double)row->blocks;
    if (!stands_still(row, mean, mean + n, mean + 2 * n)) return;
    row->concentric = true;
    const double axis = row->axis = find_axis(mean, mean + n, n);
    for (size_t c = 0; c < n; c++) {
        const double at = 2 * axis - (double)c;
        low[c] = high[c] = 0;
        if (fabs(at - (double)c) < SELF) continue;
        for (double k = floor(at) - NEAR; k <= ceil(at) + NEAR; k++) {
            if (k < 0 || k > (double)(n - 1)) continue;
            low[c] = fmin(low[c], kink[(size_t)k]), high[c] = fmax(high[c], kink[(size_t)k]);
        }
    }
}

bool qb__rings_is_mirrored(const qb__rings_row *row, const double *found) {
    const size_t n = row->columns;
    double both = 0, here = 0, there = 0;
    if (!row->concentric) return false;
    for (size_t c = 0; (double)c < row->axis; c++) {
        const double at = 2 * row->axis - (double)c;
        if (at > (double)(n - 1)) continue;
        const size_t k = qb__smaller((size_t)at, n - 2);
        const double mirrored = found[k] + (at - (double)k) * (found[k + 1] - found[k]);
        both += found[c] * mirrored, here += found[c] * found[c], there += mirrored * mirrored;
    }
    return !(both < MIRRORED * sqrt(here * there));
}

bool qb__rings_has_counterpart(const qb__rings_row *row, size_t c, double height) {
    const double shown = height > 0 ? -row->opposite[c] : row->opposite[row->columns + c];
    return row->concentric && shown > ALIKE * fabs(height);
}
