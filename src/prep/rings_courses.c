/* SPDX-License-Identifier: MIT */
/* Stripes one column wide whose height changes over the views. The measure is the height of a stripe in each block of
 * views, from second differences of second differences over the columns. A change of it is a step up and down (a partial
 * stripe: the box of blocks that explains most) or a trend (a drifting one). Structure changes, too, but in neighbouring
 * columns alike: a stripe changes several times as much as the columns around. Then its own shape is looked at: the
 * change must be found equally on the left, on the right and in the middle, and not farther out. An edge that moves by
 * less than a column looks like that in some columns, but then others of its row change without having the shape. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "cpu/rows/ring_loops.h"
#include "prep/rings.h"

enum {
    BLOCKS = QB__RINGS_BLOCKS,
    SWEEPS = 4,
    SHORTEST = 4,       /* blocks of a box, and outside it */
    VIEWS = 6 * BLOCKS, /* fewest averaged views */
    NEAR = 3,
    FAR = 10,     /* distance of the columns that a column is compared with */
    OWN = 2,      /* a stripe changes the heights of so many columns on each side */
    EDGE = 4,     /* columns at both ends that are left alone */
    ODD_PART = 40 /* a row with more changes that are no stripes in 1 of ODD_PART columns has none */
};
static const double TIMES = 4.2;   /* least change, relative to the columns around */
static const double LEAST = 1e-3;  /* a change of the columns around is at least this, in line integrals */
static const double ALIKE = 0.82;  /* least of the change in the three distances, relative to the height */
static const double PASSING = 0.6; /* height beside a box, relative to its own */
static const double MOST = 1;      /* highest stripe: beyond it too little light is left */
static const double SIDE = 0.5;    /* most of the change in second differences farther out */

/* The change in a column that explains most, in units in which the noise of all changes is alike. */
typedef struct change {
    double size;
    size_t first, end; /* blocks of the box */
    bool trend;        /* else a box */
} change;

typedef struct search {
    qb__rings_row *row;
    size_t n;
    change *of;      /* [n] */
    double *around;  /* [n] largest change of the columns around */
    double *height;  /* [n] scratch */
    bool *is_stripe; /* [n] */
} search;

/* Weights of blocks: the mean inside a box less that outside, or the slope per block. */
static void weigh(const change *c, double *weights) {
    const double inside = (double)(c->end - c->first), outside = BLOCKS - inside;
    double squares = 0;
    for (size_t b = 0; b < BLOCKS; b++) {
        const double t = (double)b - 0.5 * (BLOCKS - 1);
        weights[b] = c->trend ? t : b >= c->first && b < c->end ? 1 / inside : -1 / outside;
        squares += t * t;
    }
    for (size_t b = 0; c->trend && b < BLOCKS; b++) weights[b] /= squares;
}

static double height_in(const double *mean, size_t c) {
    return (mean[c - 2] - 4 * mean[c - 1] + 6 * mean[c] - 4 * mean[c + 1] + mean[c + 2]) / 6;
}

/* In one averaged view. */
static double height_of(const qb__rings_row *row, size_t view, size_t c) {
    const float *at = row->lines + view * row->columns + c;
    return (6 * (double)at[0] - 4 * ((double)at[-1] + (double)at[1]) + (double)at[-2] + (double)at[2]) / 6;
}

/* Columns at the ends have no change. */
static void measure(const search *s) {
    double *size = s->row->work + 2 * s->n, *box = size + s->n;
    memset(s->of, 0, s->n * sizeof *s->of);
    qb__ring_loops_here()->changes(s->row->means + OWN, s->n, SHORTEST, s->n - 2 * OWN, size, box);
    for (size_t c = OWN; c < s->n - OWN; c++) {
        const bool trend = box[c - OWN] < 0;
        const size_t ends = trend ? 0 : (size_t)box[c - OWN];
        s->of[c] = (change){size[c - OWN], ends / 32, ends % 32, trend};
    }
}

/* The largest change of columns `from` to `to`, without the largest one and those that it changes. */
static double second_largest(const search *s, size_t from, size_t to) {
    size_t at = from;
    double most = 0;
    for (size_t c = from; c <= to; c++)
        if (s->of[c].size > s->of[at].size) at = c;
    for (size_t c = from; c <= to; c++)
        if (c + OWN < at || c > at + OWN) most = fmax(most, s->of[c].size);
    return most;
}

static double largest_around(const search *s, size_t c) {
    const size_t first = OWN, last = s->n - 1 - OWN;
    double most = LEAST;
    if (c >= first + NEAR) most = fmax(most, second_largest(s, c - qb__smaller(c - first, FAR), c - NEAR));
    if (c + NEAR <= last) most = fmax(most, second_largest(s, c + NEAR, qb__smaller(last, c + FAR)));
    return most;
}

/* Sets *height to that of the change at c if it has the shape of a stripe. */
static bool has_shape(const search *s, size_t c, double *height) {
    double weights[BLOCKS], mean[7] = {0}, kink[5];
    weigh(&s->of[c], weights);
    for (size_t b = 0; b < BLOCKS; b++)
        for (size_t i = 0; i < 7; i++) mean[i] += weights[b] * s->row->means[b * s->n + c - 3 + i];
    for (size_t i = 0; i < 5; i++) kink[i] = mean[i] - 2 * mean[i + 1] + mean[i + 2];
    *height = (kink[1] - 2 * kink[2] + kink[3]) / 6;
    const double sign = *height < 0 ? -1 : 1, size = fabs(*height);
    const double shown = fmin(-0.5 * sign * kink[2], fmin(sign * kink[1], sign * kink[3]));
    const double most = s->of[c].trend ? 2 * MOST / BLOCKS : MOST;
    return shown > ALIKE * size && size < most && fmax(fabs(kink[0]), fabs(kink[4])) < SIDE * size;
}

/* True if something as high is seen in columns beside it at other times: a detail of the object that turns there. It is
 * outside the box, or, if it is what ends the box, inside it with the other sign. */
static bool passes(const search *s, size_t c, double height) {
    const change *box = &s->of[c];
    double most = 0;
    for (size_t b = 0; b < BLOCKS && !box->trend; b++) {
        const double *mean = s->row->means + b * s->n;
        const double sign = (height < 0) == (b >= box->first && b < box->end) ? 1 : -1;
        for (size_t i = OWN; i <= EDGE; i++) {
            if (c >= i + OWN) most = fmax(most, sign * height_in(mean, c - i));
            if (c + i + OWN < s->n) most = fmax(most, sign * height_in(mean, c + i));
        }
    }
    return most > PASSING * fabs(height);
}

/* Finds the columns that are stripes; returns false if there are none. */
static bool look(search *s) {
    const size_t n = s->n;
    size_t stripes = 0, odd = 0;
    memset(s->is_stripe, 0, n * sizeof *s->is_stripe);
    measure(s);
    for (size_t c = EDGE; c < n - EDGE; c++) {
        s->around[c] = largest_around(s, c);
        s->is_stripe[c] = s->of[c].size > TIMES * s->around[c] && !s->row->lost[c] && has_shape(s, c, &s->height[c]) &&
                          !passes(s, c, s->height[c]);
        stripes += s->is_stripe[c];
    }
    for (size_t c = EDGE; c < n - EDGE; c++) {
        bool near = false;
        for (size_t k = c - OWN; k <= c + OWN; k++) near = near || s->is_stripe[k];
        odd += !near && s->of[c].size > TIMES * s->around[c];
    }
    return stripes > 0 && odd * ODD_PART <= stripes * ODD_PART + n;
}

/* The view from which on the heights differ most from those before, of low <= v <= high; by those from `from` to `to`. */
static size_t find_step(const qb__rings_row *row, size_t column, size_t from, size_t low, size_t high, size_t to) {
    double before = 0, all = 0, most = -1;
    size_t best = low;
    for (size_t pass = 0; pass < 2; pass++)
        for (size_t v = from; v < to; v++) {
            const double height = height_of(row, v, column);
            if (pass == 0) {
                all += height;
                continue;
            }
            const double a = (double)(v - from), b = (double)(to - v);
            if (v >= low && v <= high && v > from) {
                const double explained = before * before / a + (all - before) * (all - before) / b;
                if (explained > most) most = explained, best = v;
            }
            before += height;
        }
    return best;
}

static size_t block_begin(const qb__rings_row *row, size_t block) { return block * row->views / BLOCKS; }

/* Looks for the averaged views at which the box of column c begins and ends. */
static void find_ends(const search *s, size_t c, size_t *first, size_t *end) {
    enum { AROUND = 3 }; /* blocks on each side of a step */
    const qb__rings_row *row = s->row;
    const size_t a = s->of[c].first, e = s->of[c].end;
    *first = block_begin(row, a), *end = block_begin(row, e);
    if (a > 0)
        *first = find_step(row, c, block_begin(row, a - qb__smaller(a, AROUND)), block_begin(row, a - 1),
                           block_begin(row, a + 1), block_begin(row, a + AROUND));
    if (e < BLOCKS)
        *end = find_step(row, c, block_begin(row, e - AROUND), block_begin(row, e - 1), block_begin(row, e + 1),
                         block_begin(row, qb__smaller(e + AROUND, BLOCKS)));
}

/* Mean height of column c in averaged views first <= v < end less that in the others. */
static double box_height(const qb__rings_row *row, size_t c, size_t first, size_t end) {
    double in = 0, out = 0;
    for (size_t v = 0; v < row->views; v++) *(v >= first && v < end ? &in : &out) += height_of(row, v, c);
    const double inside = (double)(end - first), outside = (double)row->views - inside;
    return in / inside - out / outside;
}

/* Adds the course of column c to the row's, and subtracts it from the averaged views. */
static void add(const search *s, size_t c) {
    qb__rings_row *row = s->row;
    const size_t group = row->together, all = row->all_views;
    size_t first = 0, end = row->views;
    qb__course course = {.column = (float)c, .end = (float)all};
    if (s->of[c].trend) {
        const double slope = s->height[c] * BLOCKS / (double)all; /* per view of the scan */
        course.start = (float)(-0.5 * slope * (double)(all - 1)), course.slope = (float)slope;
    } else {
        find_ends(s, c, &first, &end);
        course.first = (float)(first * group), course.end = (float)qb__smaller(end * group, all);
        course.start = (float)box_height(row, c, first, end);
    }
    row->course[row->courses++] = course;
    for (size_t v = first; v < end; v++) {
        const double middle = 0.5 * (double)(v * group + qb__smaller((v + 1) * group, all) - 1) - (double)course.first;
        const double value = (double)course.start + (double)course.slope * middle;
        row->lines[v * s->n + c] -= (float)value;
        row->squares += value * value / (double)row->views;
        row->largest = fmax(row->largest, fabs(value));
    }
}

bool qb__rings_courses(const qb__rings_how *how, qb__rings_row *row) {
    const unsigned kept = QB__RINGS_MOVES | QB__RINGS_SOFT;
    const size_t n = row->columns;
    search s = {row, n, (change *)row->spare, row->work, row->work + n, row->doubt};
    row->courses = 0, row->squares = row->largest = 0;
    if (!(how->parts & QB__RINGS_COURSES) || (how->parts & kept) || row->views < VIEWS || n < 2 * (FAR + EDGE))
        return false;
    qb__rings_block_means(row);
    for (int i = 0; i < SWEEPS && row->courses < qb__courses_room(n) && look(&s); i++) {
        for (size_t c = EDGE; c < n - EDGE && row->courses < qb__courses_room(n); c++) {
            bool highest = s.is_stripe[c];
            for (size_t k = c - OWN; highest && k <= c + OWN; k++) highest = s.of[c].size >= s.of[k].size;
            if (highest) add(&s, c);
        }
        qb__rings_block_means(row);
    }
    return row->courses > 0;
}
