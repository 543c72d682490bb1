/* SPDX-License-Identifier: MIT */
/* Narrow stripes in columns that the object never covers. There a line integral is 0, so that the mean over all views
 * is the stripe itself, also in the first columns of a row, and with others beside it. From both ends of the row,
 * columns count as air while they change no more from view to view and from one block of views to the next than noise
 * does, and until the mean leaves the level of the first ones for several columns. The thin wall of a tube that turns
 * about its own axis does not end at once on its inner side: a stripe does, on both sides. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/sort.h"
#include "prep/rings.h"

enum {
    FIRST = 8,     /* columns whose median is the level of air, and fewest columns of air */
    AROUND = 8,    /* columns on each side whose median is the level of a column */
    PART = 3,      /* only the first 1 in PART columns */
    REFERENCE = 5, /* first columns, whose medians are the change and the blocks of air */
    RISE = 4,      /* columns in a row that are no air */
    MARGIN = 2,    /* last columns before the object: left alone */
    SIDES = 3      /* columns on each side that must have the level */
};
static const double QUIET = 1.3;  /* most of the change between views, relative to that of the first columns */
static const double SLOW = 2;     /* most of the spread of the blocks, relative to that of noise */
static const double FLOOR = 1e-4; /* in line integrals */
static const double LEVEL = 0.1;  /* highest level of air: the beam of the flats may have been another one */
static const double ERRORS = 4.5; /* errors that a stripe exceeds */
static const double PARTS = 0.5;  /* a column so high beside a stripe belongs to it */
static const double SHOWN = 0.2;  /* most of a stripe that may be seen in the columns beside it */

typedef struct air {
    const qb__rings_row *row;
    bool right;                     /* from the right end; else from the left */
    size_t count;                   /* columns of air */
    double block[QB__RINGS_BLOCKS]; /* means of the first columns */
    double *mean, *error;           /* [columns] from the end: mean over the views, its standard error by noise */
    double *scratch;
} air;

static size_t column(const air *a, size_t i) { return a->right ? a->row->columns - 1 - i : i; }

/* Fills mean[] and error[] of column i from the end; false if it changes more than noise does. */
static bool is_quiet(air *a, double most, size_t i) {
    const qb__rings_row *row = a->row;
    const size_t c = column(a, i), blocks = row->blocks;
    const double change = (double)row->change[c];
    double sum = 0, off = 0, square = 0;
    for (size_t b = 0; b < blocks; b++) {
        const double mean = row->means[b * row->columns + c], d = mean - a->block[b];
        sum += mean, off += d, square += d * d;
    }
    const double count = (double)blocks, spread = sqrt(fmax(0, square - off * off / count) / count);
    /* the mean difference of two values is 1.13 standard deviations */
    const double noise = change / 1.13 * sqrt(count / (double)row->all_views);
    a->mean[i] = sum / count, a->error[i] = noise / sqrt(count);
    return change <= fmax(QUIET * most, FLOOR) && spread <= SLOW * noise + FLOOR;
}

/* The columns of air at that end: none, if there are too few. */
static void find_air(air *a) {
    const qb__rings_row *row = a->row;
    const size_t n = row->columns;
    double some[FIRST];
    for (size_t b = 0; b < row->blocks; b++) {
        for (size_t i = 0; i < REFERENCE; i++) some[i] = row->means[b * n + column(a, i)];
        a->block[b] = qb__middle(some, REFERENCE);
    }
    for (size_t i = 0; i < REFERENCE; i++) some[i] = (double)row->change[column(a, i)];
    const double change = qb__middle(some, REFERENCE);
    size_t quiet = 0;
    /* a small thing on the axis does not move, either */
    while (quiet < n / PART && is_quiet(a, change, quiet)) quiet++;
    a->count = 0;
    if (quiet < FIRST) return;
    memcpy(some, a->mean, sizeof some);
    const double level = qb__middle(some, FIRST);
    for (size_t i = 0; i < FIRST; i++) some[i] = fabs(a->mean[i] - level);
    const double apart = 1.48 * qb__middle(some, FIRST), most = ERRORS * (apart + a->error[0]) + FLOOR;
    if (fabs(level) > LEVEL || apart > ERRORS * a->error[0] + FLOOR) return; /* an object that stands still */
    size_t away = 0;
    while (a->count < quiet && away < RISE) away = fabs(a->mean[a->count++] - level) > most ? away + 1 : 0;
    a->count -= away;
    a->count = a->count < FIRST ? 0 : a->count;
}

/* The median of columns of air first <= i < end. */
static double median(const air *a, size_t first, size_t end) {
    memcpy(a->scratch, a->mean + first, (end - first) * sizeof *a->scratch);
    return qb__middle(a->scratch, end - first);
}

/* The height of a stripe in column i of air, or 0. */
static double stripe(const air *a, double spread, size_t i) {
    const size_t first = i - qb__smaller(i, AROUND), end = qb__smaller(a->count, i + AROUND + 1);
    const double level = median(a, first, end), height = a->mean[i] - level;
    const double error = hypot(spread, a->error[i]), most = SHOWN * fabs(height) + 2 * error;
    if (fabs(height) < ERRORS * error + FLOOR) return 0;
    const size_t before = qb__smaller(i, SIDES), after = qb__smaller(a->count - 1 - i, SIDES);
    if (before == SIDES && fabs(median(a, i - before, i) - level) > most) return 0;
    return after > 0 && fabs(median(a, i + 1, i + 1 + after) - level) > most ? 0 : height;
}

/* Drops stripes beside columns that are as high but no stripes: they would take a part of a wider one. */
static void drop_parts(const air *a, double level, double *height) {
    for (bool any = true; any;) {
        any = false;
        for (size_t i = 0; i < a->count; i++) {
            if (height[i] == 0) continue;
            for (size_t k = i > 0 ? i - 1 : 1; k <= i + 1 && k < a->count; k += 2) {
                if (height[k] != 0 || fabs(a->mean[k] - level) < PARTS * fabs(height[i])) continue;
                height[i] = 0, any = true;
                break;
            }
        }
    }
}

/* Height from which on most columns would show a stripe for sure (rings_spikes.c). */
static double usual_limit(const qb__rings_row *row) {
    const double SURE_ERRORS = 4.5, SURE_STRUCTURE = 0.2;
    double *values = row->work;
    memcpy(values, row->measured[QB__RINGS_HEIGHT_ERROR], row->columns * sizeof *values);
    const double error = qb__middle(values, row->columns);
    memcpy(values, row->measured[QB__RINGS_STRUCTURE], row->columns * sizeof *values);
    return fmax(SURE_ERRORS * error, SURE_STRUCTURE * qb__middle(values, row->columns));
}

void qb__rings_air(qb__rings_row *row) {
    const size_t n = row->columns;
    if (n < PART * FIRST || row->windows < 4) return;
    const double sure = usual_limit(row);
    for (int side = 0; side < 2; side++) {
        air a = {.row = row, .right = side, .mean = row->work, .error = row->work + n, .scratch = row->work + 2 * n};
        double *off = row->work + 3 * n;
        find_air(&a);
        if (a.count == 0) continue;
        const double level = median(&a, 0, a.count);
        for (size_t i = 0; i < a.count; i++) off[i] = fabs(a.mean[i] - level);
        const double spread = 1.48 * qb__middle(off, a.count);
        double *height = off;
        for (size_t i = 0; i < a.count; i++)
            height[i] = i + MARGIN >= a.count || row->lost[column(&a, i)] ? 0 : stripe(&a, spread, i);
        drop_parts(&a, level, height);
        for (size_t i = 0; i < a.count; i++) {
            if (height[i] == 0) continue;
            row->stripe[column(&a, i)] = height[i];
            row->sure += fabs(height[i]) > sure;
            row->kinds |= QB__RINGS_NARROW;
        }
    }
}
