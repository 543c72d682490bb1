/* SPDX-License-Identifier: MIT */
#include "prep/row_shift.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/share.h"
#include "base/sort.h"
#include "base/status.h"
#include "base/warning.h"
#include "prep/phase.h"
#include "prep/row_sample.h"

enum { VIEWS = 48, FEWEST_VIEWS = 8, FEWEST_ROWS = 8, BINS = 32 };

typedef struct shift {
    qb_scan *scan;
    const qb_scan_info *info;
    qb__prep prep; /* preparation of the scan; missing values are interpolated */
    size_t first;  /* row of its fields */
    size_t row0, rows, view[VIEWS], views;
    size_t block;  /* rows read at once */
    double *means; /* [views][rows] */
    double *pair;  /* [2][rows] scratch */
    float *bins;   /* [views][up to BINS rows][up to BINS columns] means */
    size_t n[3];   /* numbers of views, rows and columns of `bins` */
    size_t threads;
    float *line;       /* [threads][columns] */
    double *sums;      /* [block][columns of bins] */
    double last[BINS]; /* the sums of the last row with values */
    bool *whole;       /* [block] the row has values */
    char *raw;
} shift;

/* Two views, one moved against the other until they match. */
typedef struct match {
    double rows, before, after; /* the shift; rms difference of the means without and with it */
} match;

static uint64_t lost_of(const qb__prep_counts *counts) { return counts->not_finite + counts->dead + counts->saturated; }

static size_t bin_from(const shift *s, size_t b) { return b * s->info->columns / s->n[2]; }

/* Rows of a view that were read. */
typedef struct piece {
    shift *s;
    size_t view, row;
} piece;

/* The sums of row k of a piece over the bins' columns. */
static qb_status sum_row(void *context, size_t k, size_t worker) {
    const piece *p = context;
    shift *s = p->s;
    const size_t columns = s->info->columns;
    float *line = s->line + worker * columns;
    qb__prep_counts counts = {0}; /* dropped: these rows are counted when they are reconstructed */
    qb__prep_row(&s->prep, p->view, p->row + k - s->first, s->raw + k * columns * qb_dtype_size(s->info->dtype), line,
                 &counts);
    s->whole[k] = lost_of(&counts) < columns;
    for (size_t b = 0; b < s->n[2]; b++) {
        double sum = 0;
        for (size_t c = bin_from(s, b); c < bin_from(s, b + 1); c++) sum += (double)line[c];
        s->sums[k * s->n[2] + b] = sum;
    }
    return QB_OK;
}

/* Adds the sums of row r of view i to the bins; returns the row's mean. */
static double add_row(shift *s, const double *sums, size_t i, size_t r) {
    const size_t row = r * s->n[1] / s->rows;
    const size_t tall = qb__ceil_div((row + 1) * s->rows, s->n[1]) - qb__ceil_div(row * s->rows, s->n[1]);
    float *out = s->bins + (i * s->n[1] + row) * s->n[2];
    double all = 0;
    for (size_t b = 0; b < s->n[2]; b++) {
        out[b] += (float)(sums[b] / (double)((bin_from(s, b + 1) - bin_from(s, b)) * tall));
        all += sums[b];
    }
    return all / (double)s->info->columns;
}

/* A row without any value is replaced by the one before it, because air there would look like another object. */
static qb_status read_view(shift *s, size_t i) {
    const size_t view = s->view[i], bins = s->n[2];
    bool any = false; /* a row with values came before, and s->last is its sums */
    for (size_t r = 0; r < s->rows; r += s->block) {
        const size_t few = qb__smaller(s->block, s->rows - r);
        piece p = {s, view, s->row0 + r};
        qb_status status = qb_scan_read(s->scan, view, view + 1, p.row, p.row + few, s->raw);
        if (status == QB_OK) status = qb__share(s->threads, few, sum_row, &p);
        if (status != QB_OK) return status;
        for (size_t k = 0; k < few; k++) {
            const double *own = s->sums + k * bins;
            s->means[i * s->rows + r + k] = add_row(s, s->whole[k] || !any ? own : s->last, i, r + k);
            if (!s->whole[k]) continue;
            memcpy(s->last, own, bins * sizeof *own);
            any = true;
        }
    }
    return QB_OK;
}

/* Rms of a[r] - b[r + move] about its mean, because the beam may flicker. */
static double difference(const double *a, const double *b, size_t rows, double move) {
    const size_t whole = (size_t)fabs(move);
    const double part = fabs(move) - (double)whole;
    const double *still = move < 0 ? b : a, *moved = move < 0 ? a : b;
    const size_t n = rows - whole - 1;
    double sum = 0, square = 0;
    for (size_t r = 0; r < n; r++) {
        const double d = still[r] - (1 - part) * moved[r + whole] - part * moved[r + whole + 1];
        sum += d, square += d * d;
    }
    return sqrt(fmax(square / (double)n - sum / (double)n * (sum / (double)n), 0));
}

/* The mean of views i to i + few - 1. */
static void mean_of(const shift *s, size_t i, size_t few, double *out) {
    for (size_t r = 0; r < s->rows; r++) {
        out[r] = 0;
        for (size_t k = i; k < i + few; k++) out[r] += s->means[k * s->rows + r] / (double)few;
    }
}

/* The means of the few views up to `i` and of the few from `j` on; returns the rms difference of the two. */
static double pair_of(const shift *s, size_t i, size_t j) {
    const size_t few = qb__larger(1, s->views / 12), before = qb__smaller(few, i + 1);
    mean_of(s, i + 1 - before, before, s->pair);
    mean_of(s, j, qb__smaller(few, s->views - j), s->pair + s->rows);
    return difference(s->pair, s->pair + s->rows, s->rows, 0);
}

/* Moves the second of these means against the first until they match. */
static match match_of(const shift *s, size_t i, size_t j) {
    const double STEP = 0.5;
    const int most = (int)(s->rows / 3);
    match m = {.before = pair_of(s, i, j)};
    m.after = m.before;
    for (int k = -2 * most; k <= 2 * most; k++) {
        const double after = difference(s->pair, s->pair + s->rows, s->rows, STEP * k);
        if (after < m.after) m.after = after, m.rows = STEP * k;
    }
    return m;
}

/* Variation of the means from row to row: if everything matches, nothing is known. 0: only rounding, for an object that
 * is the same in all rows. */
static double variation(const shift *s) {
    const double ROUNDING = 1e-4; /* relative rounding error of the means */
    double least = INFINITY, size = 0;
    for (size_t i = 0; i < s->views; i++) {
        double sum = 0, square = 0;
        for (size_t r = 0; r < s->rows; r++) {
            const double m = s->means[i * s->rows + r];
            sum += m, square += m * m;
        }
        size += square / (double)(s->rows * s->views);
        least = fmin(least, square / (double)s->rows - sum / (double)s->rows * (sum / (double)s->rows));
    }
    return least > ROUNDING * ROUNDING * size ? sqrt(least) : 0;
}

/* The shift between the two neighbouring views that differ most. */
static void judge_slip(const shift *s, const double *before, size_t at, qb__row_shift *found) {
    const double FAR = 1, MATCH = 0.35, TIMES = 3, SMALL = 0.1;
    const size_t n = s->views - 1;
    const match most = match_of(s, at, at + 1);
    double moved[VIEWS] = {0};
    if (!(most.after < MATCH * most.before)) return;
    for (size_t i = 0; i < n; i++)
        if (before[i] >= SMALL * most.before) moved[i] = fabs(match_of(s, i, i + 1).rows); /* others hardly differ */
    if (fabs(most.rows) >= fmax(FAR, TIMES * qb__median(moved, n)) &&
        fabs(most.rows) < (double)(s->rows / 3)) /* the end of the range is not a match */
        *found = (qb__row_shift){.rows = most.rows, .before = s->view[at], .from = s->view[at + 1]};
}

static void judge(const shift *s, bool parallel, qb__row_shift *found) {
    const double FAR = 1, MATCH = 0.175, TIMES = 3, PART = 0.03;
    double before[VIEWS] = {0}, sorted[VIEWS];
    const size_t n = s->views - 1;
    const double varies = variation(s);
    size_t at = 0;
    if (varies == 0) return;
    for (size_t i = 0; i < n; i++) {
        before[i] = pair_of(s, i, i + 1);
        if (before[i] > before[at]) at = i;
    }
    memcpy(sorted, before, sizeof sorted);
    const double least = fmax(TIMES * qb__median(sorted, n), PART * varies);
    if (before[at] > least) judge_slip(s, before, at, found);
    if (found->rows != 0 || !parallel || !(pair_of(s, 0, n) > least)) return;
    const match slow = match_of(s, 0, n);
    if (slow.after < MATCH * slow.before && fabs(slow.rows) >= FAR)
        *found = (qb__row_shift){.rows = slow.rows, .before = s->view[0], .from = s->view[n], .slowly = true};
}

static void judge_order(const shift *s, qb__row_shift *found) {
    static const char *const names[] = {"[view]", "[row]", "[column]"};
    static const qb__axis right[] = {QB__AXIS_VIEW, QB__AXIS_ROW, QB__AXIS_COLUMN},
                          rows_first[] = {QB__AXIS_ROW, QB__AXIS_VIEW, QB__AXIS_COLUMN};
    qb__axis axes[3];
    bool sure;
    if (!qb__axes_order_other(s->bins, s->n, axes, &sure)) return;
    const bool sinogram = s->scan->sinogram;
    const qb__axis stored[3] = {axes[sinogram], axes[!sinogram], axes[2]};
    const char *remedy = "store [view][row][column] (numpy transpose)";
    if (memcmp(stored, right, sizeof right) == 0) remedy = "leave --as sinogram out";
    if (memcmp(stored, rows_first, sizeof right) == 0) remedy = "give --as sinogram";
    if (sure)
        snprintf(found->order, sizeof found->order, "look like %s%s%s: %s", names[stored[0]], names[stored[1]],
                 names[stored[2]], remedy);
    else
        snprintf(found->order, sizeof found->order, "are in another order of axes: store [view][row][column]");
}

/* Variance over the views of the means along one axis of the images (1: of rows, 2: of columns), relative to that of
 * bins if all were noise. */
static double variance_of(const shift *s, int axis) {
    const size_t lines = s->n[axis], across = s->n[3 - axis], step = axis == 1 ? s->n[2] : 1;
    const size_t next = axis == 1 ? 1 : s->n[2];
    double all = 0;
    for (size_t k = 0; k < lines; k++) {
        double sum = 0, square = 0;
        for (size_t v = 0; v < s->n[0]; v++) {
            const float *bin = s->bins + v * s->n[1] * s->n[2] + k * step;
            double mean = 0;
            for (size_t i = 0; i < across; i++) mean += (double)bin[i * next] / (double)across;
            sum += mean, square += mean * mean;
        }
        const double n = (double)s->n[0];
        all += square / n - sum / n * (sum / n);
    }
    return all / (double)lines * (double)across;
}

/* With the axis along the rows' direction v the means of rows stay nearly constant, and those of columns change. */
static void judge_turned(const shift *s, qb__row_shift *found) {
    /* LEAST: relative to the mean square of the bins, because a round object shows nothing */
    const double TIMES = 4, LEAST = 1e-5;
    double square = 0;
    for (size_t i = 0; i < s->n[0] * s->n[1] * s->n[2]; i++) square += (double)s->bins[i] * (double)s->bins[i];
    square /= (double)(s->n[0] * s->n[1] * s->n[2]);
    const double rows = variance_of(s, 1);
    if (rows > LEAST * square * (double)s->n[2] && rows > TIMES * variance_of(s, 2))
        snprintf(found->order, sizeof found->order,
                 "look like [view][column][row]: store [view][row][column] (numpy swapaxes)");
}

static bool worth(shift *s, size_t room) {
    enum { BLOCK = 4 << 20, LARGE = 16 << 20 /* each block starts threads anew */ };
    const size_t most = qb__larger(BLOCK, qb__smaller(LARGE, room / 2));
    const size_t line = s->info->columns * qb_dtype_size(s->info->dtype);
    const size_t affordable = qb__views_affordable(s->scan, s->rows), all = s->info->views;
    s->views = qb__smaller(qb__smaller(VIEWS, all), affordable < all ? affordable / 2 : all);
    if (s->rows < FEWEST_ROWS || s->views < FEWEST_VIEWS) return false;
    s->block = qb__smaller(s->rows, qb__larger(qb__larger(1, s->info->chunk_rows), most / line));
    s->threads = qb__smaller(qb__larger(1, s->scan->parts.data.source ? s->scan->parts.data.source->threads : 1),
                             QB__SHARE_MOST);
    s->n[0] = s->views, s->n[1] = qb__smaller(BINS, s->rows), s->n[2] = qb__smaller(BINS, s->info->columns);
    for (size_t i = 0; i < s->views; i++) s->view[i] = i * (all - 1) / (s->views - 1);
    return s->block * line + s->views * s->rows * sizeof(double) < room;
}

qb_status qb__row_shift_find(qb_scan *scan, const qb__prepare *prepare, size_t row0, size_t row1, qb__row_beam beam,
                             size_t room, qb__row_shift *found) {
    const bool parallel = beam == QB__ROW_PARALLEL;
    qb_scan stored;
    /* The images as they were measured: on the CPU, filtering them would take longer than the look. */
    if (qb__phase_by_cpu(scan)) {
        qb__scan_unwarped(scan, scan->digests, &stored);
        scan = &stored;
    }
    qb__scan_rows_seen(scan, &row0, &row1);
    shift s = {.scan = scan, .info = qb_scan_describe(scan), .row0 = row0, .rows = row1 > row0 ? row1 - row0 : 0};
    qb_status status;
    *found = (qb__row_shift){0};
    if (!worth(&s, room)) return QB_OK;
    s.prep = *qb__prepare_steps(prepare);
    qb__prep_reads(&s.prep, s.info->dtype);
    s.prep.keep_lost = false;
    s.first = qb__prepare_first_row(prepare);
    QB__TRY(qb__alloc(s.views * s.rows, sizeof *s.means, &s.means));
    QB__TRY(qb__alloc(s.n[0] * s.n[1] * s.n[2], sizeof *s.bins, &s.bins));
    QB__TRY(qb__alloc(2 * s.rows, sizeof *s.pair, &s.pair));
    QB__TRY(qb__alloc(s.threads * s.info->columns, sizeof *s.line, &s.line));
    QB__TRY(qb__alloc(s.block * s.n[2], sizeof *s.sums, &s.sums));
    QB__TRY(qb__alloc(s.block, sizeof *s.whole, &s.whole));
    QB__TRY(qb__alloc(s.block, s.info->columns * qb_dtype_size(s.info->dtype), &s.raw));
    for (size_t i = 0; i < s.views; i++) QB__TRY(read_view(&s, i));
    if (parallel) judge_order(&s, found);
    if (!*found->order && beam != QB__ROW_MOVES) judge(&s, parallel, found);
    if (beam == QB__ROW_CIRCLE && found->rows == 0) judge_turned(&s, found);
    if (!*found->order) QB__TRY(qb__row_interlace_find(scan, prepare, row0, s.rows, &found->interlaced));
    found->before = qb__scan_stored(scan, found->before);
    found->from = qb__scan_stored(scan, found->from);
out:
    QB__FREE(s.means, s.pair, s.bins, s.line, s.sums, s.whole, s.raw);
    return status;
}

void qb__row_shift_warn(const qb__row_shift *found, const qb_env *env) {
    if (*found->order) qb__warn(env, "the data %s" QB__CODE("axes-order"), found->order);
    if (found->interlaced != 0)
        qb__warn(env,
                 "odd rows belong to the view %s that of the even rows: images are interlaced; take their two halves "
                 "apart" QB__CODE("rows-interlaced"),
                 found->interlaced < 0 ? "before" : "behind");
    if (found->rows != 0)
        qb__warn(env,
                 "between views %zu and %zu the image moves %sby %.3g rows along the axis: the object %s; use --views "
                 "of one part" QB__CODE("rows-shift"),
                 found->before, found->from, found->slowly ? "slowly " : "", fabs(found->rows),
                 found->slowly ? "drifted" : "slipped");
}
