/* SPDX-License-Identifier: MIT */
#include "prep/view_steps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/select.h"
#include "base/sort.h"
#include "base/squares.h"
#include "base/warning.h"
#include "prep/line_mass.h"

enum {
    ROWS = 3,
    BINS = 128,
    FEWEST_BINS = 32,
    LEAST_VIEWS = 12,
    NOISY_VIEWS = 64, /* about this number of views gives the noise */
    ANCHORS = 16,
    FAR = 4 /* anchors, a quarter of all */
};

static const double LEAST = 0.003; /* line integrals; smaller differences are rounding */

typedef struct place {
    double angle;
    size_t view;
} place;

typedef struct steps {
    qb_scan *scan;
    const qb_scan_info *info;
    qb__prep prep; /* preparation of the scan; missing values are interpolated */
    size_t first;  /* row of its fields */
    size_t row[ROWS], rows, bins;
    size_t edge[BINS + 1]; /* first column of each bin */
    bool one_way;          /* views are in the order of their angles */
    bool fine;             /* neighbouring views are similar with this number of bins */
    place *order;          /* [views] in order */
    float *spread;         /* [columns] scratch */
    double *size, *sorted; /* [views] size of the step to the next one; scratch */
    double *far;           /* [views] difference to a distant one */
    double signal, noise;  /* rms of all lines, minus the mean of each; noise of a difference */
    double rough,
        /* of steps: squares of differences between neighbouring bins, and of the bins, which are half as large for
         * noise */
        all;
    float *line, *now, *last;
    float *change, *nothing; /* change: from the previous view to this one; nothing: zeros */
    float *anchor;           /* [ANCHORS] views, evenly over all */
    float *end[4]; /* the first view, one as far after it as the last is from it, and the same from the last view on */
    size_t lag;    /* views between two images in `end`; 0: too few views, or no turn */
    qb__view_closing closing;
    qb__view_flips flips;
    qb__view_jumps jumps;
    qb__view_lines lines;
} steps;

static int by_angle(const void *a, const void *b) {
    const double x = ((const place *)a)->angle, y = ((const place *)b)->angle;
    return (x > y) - (x < y);
}

/* Put the views in order: as measured if angles are monotonic; else by their angles within a turn. */
static void arrange(steps *s, const double *radians) {
    const double TURN = 2 * M_PI;
    const size_t n = s->info->views;
    size_t up = 0, down = 0;
    for (size_t i = 0; i + 1 < n; i++) {
        up += radians[i + 1] > radians[i];
        down += radians[i + 1] < radians[i];
    }
    s->one_way = 20 * qb__larger(up, down) > 19 * (n - 1) && fabs(radians[n - 1] - radians[0]) < 0.2 * (double)n;
    for (size_t i = 0; i < n; i++)
        s->order[i] = (place){s->one_way ? radians[i] : radians[i] - TURN * floor(radians[i] / TURN), i};
    if (!s->one_way) qsort(s->order, n, sizeof *s->order, by_angle);
}

/* Mean square noise between columns: the residual of a straight line through two neighbours. */
static double noise_of(const float *line, size_t columns, float *scratch) {
    const double GAUSS = 0.6745;
    if (columns < 8) return 0;
    for (size_t c = 1; c + 1 < columns; c++) scratch[c - 1] = fabsf(line[c - 1] - 2 * line[c] + line[c + 1]);
    const double sigma = qb__float_median(scratch, columns - 2) / GAUSS;
    return sigma * sigma / 6;
}

/* s->line, without the mean of all. */
static void mean_of_bins(const steps *s, float *restrict out) {
    const float *line = s->line;
    double mean = 0;
    if (s->info->columns == 2 * s->bins) /* faster, with the same result as below */
        for (size_t b = 0; b < s->bins; b++) out[b] = (float)(0.5 * ((double)line[2 * b] + (double)line[2 * b + 1]));
    for (size_t b = 0; b < s->bins && s->info->columns != 2 * s->bins; b++) {
        const size_t from = s->edge[b], to = s->edge[b + 1];
        double sum = 0;
        for (size_t c = from; c < to; c++) sum += (double)line[c];
        out[b] = (float)(sum / (double)(to - from));
    }
    for (size_t b = 0; b < s->bins; b++) mean += (double)out[b];
    mean /= (double)s->bins;
    for (size_t b = 0; b < s->bins; b++) out[b] -= (float)mean;
}

/* The rows of a view, as `bins` means each, without the mean of a row, because the beam may flicker. noise: adds that
 * of the rows, or NULL. */
static qb_status read_view(steps *s, size_t view, double *noise) {
    const size_t columns = s->info->columns;
    qb__prep_counts counts = {0}; /* dropped: these rows are counted when they are reconstructed */
    for (size_t r = 0; r < s->rows; r++) {
        float *out = s->now + r * s->bins;
        const char *raw;
        QB__OR_RETURN(qb__view_lines_read(&s->lines, view, r, &raw));
        qb__prep_row(&s->prep, view, s->row[r] - s->first, raw, s->line, &counts);
        if (noise) *noise += noise_of(s->line, columns, s->spread);
        mean_of_bins(s, out);
    }
    return QB_OK;
}

static double difference(const float *a, const float *b, size_t count) {
    return sqrt(qb__squares_between(a, b, count) / (double)count);
}

/* The change from the previous view to this one. */
static double step_of(steps *s, size_t count) {
    const double square = qb__squares_between(s->now, s->last, count);
    s->all += square;
    for (size_t k = 0; k < count; k++) s->change[k] = s->now[k] - s->last[k];
    for (size_t row = 0; row < count; row += s->bins)
        s->rough += qb__squares_between(s->change + row + 1, s->change + row, s->bins - 1);
    return sqrt(square / (double)count);
}

/* Decide whether to compare the first and the last view, and how many views lie between two views that are as far
 * apart. */
static qb_status choose_ends(steps *s, bool circle) {
    const size_t n = s->info->views;
    const double span = fabs(s->order[n - 1].angle - s->order[0].angle), step = span / (double)(n - 1);
    s->closing = (qb__view_closing){.gap = 2 * M_PI - span, .step = step};
    if (!circle || !s->one_way || !(s->closing.gap > 0.5 * step)) return QB_OK;
    const double lag = s->closing.gap / step;
    if (lag < 0.5 * (double)n) s->lag = (size_t)lround(lag);
    qb_status status = QB_OK;
    for (int k = 0; k < 4 && status == QB_OK; k++) status = qb__alloc(s->rows * s->bins, sizeof **s->end, &s->end[k]);
    return status;
}

static void compare_ends(steps *s, qb__view_steps *found) {
    enum { NEAR = 3 };
    const double NOISE = 3;
    const size_t n = s->info->views, count = s->rows * s->bins;
    qb__view_closing *c = &s->closing;
    if (!s->end[0]) return;
    c->across = difference(s->end[0], s->end[3], count);
    for (size_t i = 0; i < NEAR; i++) c->most = fmax(c->most, fmax(s->size[i], s->size[n - 2 - i]));
    if (s->lag) {
        double both = 0;
        for (size_t k = 0; k < count; k++)
            both += ((double)s->end[1][k] - (double)s->end[0][k]) * ((double)s->end[3][k] - (double)s->end[2][k]);
        c->alike[0] = difference(s->end[0], s->end[1], count);
        c->alike[1] = difference(s->end[2], s->end[3], count);
        const double size = c->alike[0] * c->alike[1] * (double)count;
        c->sense = size > 0 ? both / size : 0;
    }
    c->floor = fmax(LEAST, NOISE * s->noise);
    c->signal = s->signal;
    found->closes = qb__view_closing_judge(c);
    found->gap = c->gap;
}

/* For angles in any order, check whether consecutively measured views are more similar than neighbours by angle. */
static qb_status judge_order_of_file(steps *s, qb__view_steps *found) {
    enum { PLACES = 16 };
    const double LESS = 0.6, NOISE = 3, LEAST_TURN = 0.5; /* radians; smaller steps are those of several turns */
    const size_t n = s->info->views, count = s->rows * s->bins;
    double size[PLACES], turned[PLACES];
    if (s->one_way) return QB_OK;
    for (size_t i = 0; i < n; i++) s->sorted[s->order[i].view] = s->order[i].angle;
    for (size_t p = 0; p < PLACES; p++) {
        const size_t view = p * (n - 2) / (PLACES - 1);
        const double step = fabs(s->sorted[view + 1] - s->sorted[view]);
        turned[p] = fmin(step, 2 * M_PI - step);
        qb_status status = read_view(s, view, NULL);
        memcpy(s->last, s->now, count * sizeof *s->now);
        if (status == QB_OK) status = read_view(s, view + 1, NULL);
        if (status != QB_OK) return status;
        size[p] = difference(s->now, s->last, count);
    }
    memcpy(s->sorted, s->size, (n - 1) * sizeof *s->sorted);
    const double near = qb__median(s->sorted, n - 1), file = qb__median(size, PLACES);
    if (qb__median(turned, PLACES) > LEAST_TURN && file < LESS * near && near > fmax(NOISE * s->noise, LEAST))
        found->apart = near / fmax(file, 1e-30);
    return QB_OK;
}

static qb_status measure(steps *s) {
    const size_t n = s->info->views, count = s->rows * s->bins, apart = qb__ceil_div(n, NOISY_VIEWS);
    for (size_t i = 0, anchors = 0; i < n; i++) {
        QB__OR_RETURN(read_view(s, s->order[i].view, i % apart ? NULL : &s->noise));
        s->signal += qb__squares_between(s->now, s->nothing, count);
        if (i) s->size[i - 1] = step_of(s, count);
        if (s->one_way) qb__view_flips_add(&s->flips, s->now);
        qb__view_jumps_add(&s->jumps, i, s->now);
        if (i * ANCHORS >= anchors * n) memcpy(s->anchor + anchors++ * count, s->now, count * sizeof *s->now);
        s->far[i] = anchors > FAR ? difference(s->now, s->anchor + (anchors - 1 - FAR) * count, count) : 0;
        for (size_t k = 0; k < 4 && s->end[0]; k++) {
            const size_t at[4] = {0, s->lag, n - 1 - s->lag, n - 1};
            if (i == at[k]) memcpy(s->end[k], s->now, count * sizeof *s->now);
        }
        memcpy(s->last, s->now, count * sizeof *s->now);
    }
    s->signal = sqrt(s->signal / (double)(n * count));
    s->noise =
        sqrt(2 * s->noise / (double)(qb__ceil_div(n, apart) * s->rows) * (double)s->bins / (double)s->info->columns);
    return QB_OK;
}

/* Choose bins so wide that a ray at the rim moves by at most a bin from view to view. Then neighbours are similar,
 * unless the angles belong to other views. */
static void choose_bins(steps *s) {
    const double RIM = 2; /* bins over both sides of the axis */
    const size_t n = s->info->views;
    size_t count = 0;
    for (size_t i = 0; i + 1 < n; i++) { /* views of another turn may have the same angle */
        const double step = fabs(s->order[i + 1].angle - s->order[i].angle);
        if (step > 1e-7) s->sorted[count++] = step;
    }
    const double usual = count ? qb__median(s->sorted, count) : 0, fine = usual > 0 ? RIM / usual : BINS;
    s->bins = qb__smaller(s->info->columns, (size_t)fmin(fmax(fine, FEWEST_BINS), BINS));
    s->fine = fine >= FEWEST_BINS;
    for (size_t b = 0; b <= s->bins; b++) s->edge[b] = b * s->info->columns / s->bins;
}

static void judge_order(steps *s, qb__view_steps *found) {
    const double UNLIKE = 0.85, NOISE = 3, WHITE = 0.7;
    const size_t n = s->info->views, first = (FAR * n + ANCHORS - 1) / ANCHORS + 1;
    memcpy(s->sorted, s->size, (n - 1) * sizeof *s->sorted);
    const double near = qb__median(s->sorted, n - 1);
    memcpy(s->sorted, s->far + first, (n - first) * sizeof *s->sorted);
    const double far = qb__median(s->sorted, n - first);
    const bool noise = s->rough > WHITE * 2 * s->all;
    if (s->fine && !noise && near > UNLIKE * far && far > fmax(NOISE * s->noise, LEAST)) found->unlike = near / far;
}

/* Judge the steps. A single bad view makes two large steps, which are not a jump. */
static void judge(steps *s, qb__view_steps *found) {
    enum { NEAR = 3 };
    const double PART = 0.02, ALIKE = 0.6, SMALL = 0.1;
    const size_t n = s->info->views;
    for (size_t i = 2; i + 3 < n; i++) {
        const double wide = fabs(s->order[i + 1].angle - s->order[i].angle);
        const double larger = qb__view_jumps_at(&s->jumps, i, fmax(SMALL * LEAST, PART * s->signal), s->noise);
        bool alike = true;
        for (size_t k = i > NEAR ? i - NEAR : 0; k <= i + NEAR && k + 1 < n; k++)
            alike &= fabs(s->order[k + 1].angle - s->order[k].angle) > ALIKE * wide;
        if (larger == 0 || !alike) continue;
        if (!found->jumps++) found->view = qb__scan_stored(s->scan, s->order[i].view), found->larger = larger;
    }
}

/* Judge the angles. If views that are stated to be far apart are as similar as neighbours, the list is truncated, or
 * its numbers have wrapped at 255. */
static void judge_angles(steps *s, qb__view_steps *found) {
    const double TURN = 2 * M_PI, FAR_STEP = 0.1, TIMES = 10, LIKE = 1.5, LESS = 3, NOISE = 3;
    const size_t n = s->info->views, first = (FAR * n + ANCHORS - 1) / ANCHORS + 1;
    if (!s->one_way) return;
    memcpy(s->sorted, s->size, (n - 1) * sizeof *s->sorted);
    const double near = qb__median(s->sorted, n - 1);
    memcpy(s->sorted, s->far + first, (n - first) * sizeof *s->sorted);
    const double far = qb__median(s->sorted, n - first);
    for (size_t i = 0; i + 1 < n; i++) s->sorted[i] = fabs(s->order[i + 1].angle - s->order[i].angle);
    const double step = qb__median(s->sorted, n - 1);
    if (!(far > fmax(LESS * near, fmax(NOISE * s->noise, LEAST)))) return;
    for (size_t i = 0; i + 1 < n; i++) {
        const double jump = s->order[i + 1].angle - s->order[i].angle, turned = fabs(jump - TURN * rint(jump / TURN));
        if (turned < fmax(FAR_STEP, TIMES * step) || s->size[i] > LIKE * near) continue;
        found->held = qb__scan_stored(s->scan, s->order[i].view);
        found->turn[0] = s->order[i].angle, found->turn[1] = s->order[i + 1].angle;
        return;
    }
}

qb_status qb__view_steps_find(qb_scan *scan, const qb__prepare *prepare, const double *radians, bool circle,
                              size_t row0, size_t row1, qb__view_steps *found) {
    steps s = {.scan = scan, .info = qb_scan_describe(scan)};
    const size_t n = s.info->views, columns = s.info->columns;
    qb_status status;
    *found = (qb__view_steps){0};
    qb__scan_rows_seen(scan, &row0, &row1);
    s.rows = row1 > row0 ? qb__smaller(ROWS, row1 - row0) : 0;
    if (n < LEAST_VIEWS || s.rows == 0 || qb__views_affordable(scan, s.rows) < n) return QB_OK;
    for (size_t r = 0; r < s.rows; r++) s.row[r] = row0 + (2 * r + 1) * (row1 - row0) / (2 * s.rows);
    s.prep = *qb__prepare_steps(prepare);
    s.prep.keep_lost = false;
    s.first = qb__prepare_first_row(prepare);
    QB__TRY(qb__alloc(n, sizeof *s.order, &s.order));
    QB__TRY(qb__alloc(n, sizeof *s.size, &s.size));
    QB__TRY(qb__alloc(n, sizeof *s.sorted, &s.sorted));
    QB__TRY(qb__alloc(columns, sizeof *s.line, &s.line));
    QB__TRY(qb__alloc(n, sizeof *s.far, &s.far));
    QB__TRY(qb__alloc(columns, sizeof *s.spread, &s.spread));
    arrange(&s, radians);
    choose_bins(&s);
    QB__TRY(qb__alloc(s.rows * s.bins, sizeof *s.now, &s.now));
    QB__TRY(qb__alloc(s.rows * s.bins, sizeof *s.change, &s.change));
    QB__TRY(qb__alloc(s.rows * s.bins, sizeof *s.nothing, &s.nothing));
    QB__TRY(qb__alloc(ANCHORS * s.rows * s.bins, sizeof *s.anchor, &s.anchor));
    QB__TRY(qb__alloc(s.rows * s.bins, sizeof *s.last, &s.last));
    QB__TRY(qb__view_lines_create(scan, s.row, s.rows, &s.lines));
    QB__TRY(qb__view_jumps_begin(&s.jumps, n, s.rows, s.bins));
    QB__TRY(choose_ends(&s, circle));
    QB__TRY(qb__view_flips_create(s.rows, s.bins, &s.flips));
    QB__TRY(measure(&s));
    judge(&s, found);
    judge_order(&s, found);
    found->flipped = qb__view_flips_judge(&s.flips, s.noise);
    judge_angles(&s, found);
    compare_ends(&s, found);
    QB__TRY(judge_order_of_file(&s, found));
out:
    qb__view_flips_clear(&s.flips);
    QB__FREE(s.order, s.size, s.sorted, s.far, s.spread, s.anchor);
    for (int k = 0; k < 4; k++) qb__free(s.end[k]);
    qb__view_jumps_end(&s.jumps);
    QB__FREE(s.line, s.now, s.change, s.nothing, s.last);
    qb__view_lines_destroy(&s.lines);
    return status;
}

bool qb__view_steps_misfit(const qb__view_steps *found) {
    return found->flipped > 0 || found->unlike > 0 || found->apart > 0 || found->turn[0] != found->turn[1];
}

void qb__view_steps_warn(const qb__view_steps *found, const qb_env *env) {
    if (found->flipped > 0)
        qb__warn(
            env,
            "every second view is mirrored left to right: each is %.2g times more like the mirror image of the next "
            "one than like that; mirror these views back" QB__CODE("views-mirrored"),
            found->flipped);
    else if (found->unlike > 0)
        qb__warn(env,
                 "neighbouring views differ as much as distant ones (%.2g times): the angles belong to other views; "
                 "check --angles and the order of the files" QB__CODE("angles-misfit"),
                 found->unlike);
    else if (found->apart > 0)
        qb__warn(env,
                 "views next to each other by angle differ %.2g times as much as those one after the other in the "
                 "file: check --angles and their unit" QB__CODE("angles-misfit"),
                 found->apart);
    const double DEGREE = 57.29577951308232;
    if (found->turn[0] != found->turn[1])
        qb__warn(env,
                 "from view %zu to the next the stated angle jumps from %.4g to %.4g degrees, but the image does not: "
                 "the list is wrong from there on; check --angles" QB__CODE("angle-jump"),
                 found->held, DEGREE * found->turn[0], DEGREE * found->turn[1]);
    if (found->jumps)
        qb__warn(env,
                 "from view %zu to the next the image changes %.2g times as much as nearby (%zu such jumps): views are "
                 "missing or exchanged, or the object moved; check --angles" QB__CODE("views-jump"),
                 found->view, found->larger, found->jumps);
}
