/* SPDX-License-Identifier: MIT */
#include "prep/view_ends.h"

#include <math.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/warning.h"
#include "io/scan/scan.h"
#include "prep/opposite_look.h"
#include "prep/row_sample.h"

static const double DEGREES = 57.295779513082321;

static void choose_rows(qb__opposite_look *l, size_t row0, size_t row1) {
    const size_t tall = row1 - row0;
    l->levels = tall >= 2 * QB__OPPOSITE_PLACES * l->bin && tall >= QB__OPPOSITE_PLACES * QB__OPPOSITE_LEVELS
                    ? QB__OPPOSITE_LEVELS
                    : 1;
    l->places = qb__smaller(QB__OPPOSITE_PLACES, tall);
    for (size_t p = 0; p < l->places; p++) {
        const size_t row = row0 + (2 * p + 1) * tall / (2 * l->places);
        for (size_t i = 0; i < l->levels; i++) l->row[l->rows++] = l->levels > 1 ? row + i * l->bin - l->bin : row;
    }
}

/* Means of bins, smoothed so that a movement by a bin causes a proportional change. */
static void bin_line(const qb__opposite_look *l, float *out) {
    enum { TIMES = 3 };
    for (size_t b = 0; b < l->bins; b++) {
        double sum = 0;
        for (size_t c = 0; c < l->bin; c++) sum += (double)l->line[b * l->bin + c];
        out[b] = (float)(sum / (double)l->bin);
    }
    for (int i = 0; i < TIMES; i++) {
        float left = out[0];
        for (size_t b = 0; b < l->bins; b++) {
            const float here = out[b];
            out[b] = 0.25F * left + 0.5F * here + 0.25F * out[b + 1 < l->bins ? b + 1 : b];
            left = here;
        }
    }
}

/* If the views cover a turn, subtract what does not move, such as a faulty column. */
static void take_off_still(qb__opposite_look *l) {
    const size_t size = l->rows * l->bins;
    for (size_t k = 0; k < size && l->around; k++) {
        double sum = 0;
        for (size_t i = 0; i < l->count; i++)
            for (int s = 0; s < 2; s++) sum += (double)l->lines[l->pairs[i].view[s] * size + k];
        for (size_t v = 0; v < l->views; v++) l->lines[v * size + k] -= (float)(sum / (double)(2 * l->count));
    }
}

/* If images are stored in chunks of several rows, all rows in between are read too, if they fit. */
static qb_status read_lines(qb__opposite_look *l, size_t room) {
    const size_t columns = l->info->columns, line = columns * qb_dtype_size(l->info->dtype), row0 = l->row[0];
    const size_t tall = l->row[l->rows - 1] + 1 - row0;
    const bool together = l->info->chunk_rows > 1 && tall * line <= room;
    qb__prep_counts counts = {0}; /* dropped: these rows are counted when they are reconstructed */
    QB__OR_RETURN(qb__alloc(l->views * l->rows, l->bins * sizeof *l->lines, &l->lines));
    QB__OR_RETURN(qb__alloc(columns, sizeof *l->line, &l->line));
    QB__OR_RETURN(qb__alloc(together ? tall : 1, line, &l->raw));
    for (size_t v = 0; v < l->views; v++) {
        const size_t view = l->view[v];
        if (together) QB__OR_RETURN(qb_scan_read(l->scan, view, view + 1, row0, row0 + tall, l->raw));
        for (size_t r = 0; r < l->rows; r++) {
            const size_t row = l->row[r];
            if (!together) QB__OR_RETURN(qb_scan_read(l->scan, view, view + 1, row, row + 1, l->raw));
            qb__prep_row(&l->steps, view, row - l->first, l->raw + (together ? (row - row0) * line : 0), l->line,
                         &counts);
            bin_line(l, l->lines + (v * l->rows + r) * l->bins);
        }
    }
    take_off_still(l);
    return QB_OK;
}

/* Converts a column of bins to a column of the detector. */
static double column_of(const qb__opposite_look *l, double column) { return (column + 0.5) * (double)l->bin - 0.5; }

/* True if most pairs on their own show at least half of the angle. */
static bool pairs_agree(const qb__opposite_look *l, size_t first, size_t end, double turn) {
    const double MOST = 0.75, HALF = 0.5;
    size_t agree = 0;
    for (size_t i = first; i < end; i++) agree += qb__opposite_turn_of(l, i) / turn > HALF;
    return (double)agree >= MOST * (double)(end - first);
}

/* Judge the angle between opposite views, from all pairs, and from the first, middle and last third of them. */
static void judge_turn(const qb__opposite_look *l, qb__opposites *found) {
    enum { FEWEST = 9, WINDOWS = 4 };
    const double SURE = 7, LEAST = 0.4, RIM = 0.1; /* errors; steps; bins that the rim moves */
    const double least = fmax(LEAST * l->step, 2 * RIM / (double)l->bins);
    const size_t n = l->count;
    double most = SURE;
    if (n < FEWEST) return;
    for (size_t i = 0; i < WINDOWS; i++) {
        const size_t first = i ? (i - 1) * n / 3 : 0, end = i ? i * n / 3 : n;
        const qb__opposite_fit f = qb__opposite_fit_pairs(l, first, end);
        const double turn = f.x[QB__OPPOSITE_TURN], sure = fabs(turn) / fmax(f.error[QB__OPPOSITE_TURN], 1e-9);
        if (!(sure > most) || !(fabs(turn) > least) || !pairs_agree(l, first, end, turn)) continue;
        most = sure;
        found->turn = turn, found->step = l->step;
    }
}

static void judge_lean(const qb__opposite_look *l, const qb__opposite_fit *f, double column, qb__opposites *found) {
    const double SURE = 7, LEAST = 0.15, PART = 0.5; /* errors; degrees; columns or rows, over the image */
    /* if the detector is rotated to the right, the axis leans to the left */
    const double lean = -f->x[QB__OPPOSITE_LEAN];
    const double tall = (double)(l->row[l->rows - 1] - l->row[0]), wide = fmax(tall, (double)l->info->columns);
    if (!(fabs(lean) > SURE * f->error[QB__OPPOSITE_LEAN]) || !(fabs(lean) * DEGREES > LEAST)) return;
    if (!(fabs(lean) * wide > PART)) return;
    found->lean = lean * DEGREES;
    for (int i = 0; i < 2; i++) {
        found->row[i] = l->row[i ? l->rows - 1 : 0];
        found->at[i] = qb__column_whole(l->info, column_of(l, column) + tan(lean) * (i ? 0.5 : -0.5) * tall);
    }
}

/* Judge the column: find another one about which views agree while they do not agree about the stated one. */
static void judge_axis(const qb__opposite_look *l, const qb__opposite_fit *stated, const qb__opposite_fit *f,
                       double off, double column, qb__opposites *found) {
    const double BETTER = 3, GOOD = 0.1, SURE = 7, LEAST = 1, PART = 0.4; /* LEAST: columns; PART: of a bin */
    const bool good = f->before < fmax(2 * f->next, GOOD * f->far);
    if (!good || !(stated->before * f->far > BETTER * f->before * stated->far)) return;
    if (off * (double)l->bin > fmax(LEAST, PART * (double)l->bin) && off > SURE * f->error[QB__OPPOSITE_SHIFT])
        found->column = column_of(l, column);
}

/* Residual of a fit relative to the squares of views a quarter turn apart; implausibly large angles explain nothing. */
static double left_of(const qb__opposite_look *l, const qb__opposite_fit *f) {
    const double RIM = 1, LEAN = 0.15; /* bins; radians */
    const bool true_one =
        fabs(f->x[QB__OPPOSITE_TURN]) * (double)l->bins < 2 * RIM && fabs(f->x[QB__OPPOSITE_LEAN]) < LEAN;
    const double MUCH = 4; /* times `far`; if views cover a turn, what does not move was subtracted */
    const double still = !l->around && f->cross > MUCH * f->far ? f->cross - f->far : 0;
    return fmax((true_one ? f->after : f->before) - still, 0) / f->far;
}

static void judge(qb__opposite_look *l, double stated, bool known, qb__opposites *found) {
    const double SEEN = 0.25, TIMES = 6, OVERLAP = 0.5, EDGE = 0.2, RIM = 0.06;
    const double UNLIKE = l->around ? 0.15 : 0.4; /* extrapolated values are less certain */
    double column = stated;
    const qb__opposite_fit first = qb__opposite_fit_at(l, column);
    if (!(first.next < SEEN * first.far)) return; /* noise, or an object that is the same from all sides */
    qb__opposite_fit f = qb__opposite_settle(l, &column);
    if (left_of(l, &f) > UNLIKE) {
        double other = qb__opposite_search(l, known ? EDGE : RIM);
        const qb__opposite_fit g = qb__opposite_settle(l, &other);
        /* with a small overlap any two views agree */
        if (left_of(l, &g) < left_of(l, &f) && (!known || g.far > OVERLAP * first.far)) f = g, column = other;
        if (left_of(l, &f) > UNLIKE) {
            if (left_of(l, &f) * f.far > TIMES * f.next) found->unlike = sqrt(left_of(l, &f));
            return;
        }
    }
    if (known) judge_axis(l, &first, &f, fabs(column - stated), column, found);
    judge_lean(l, &f, column, found);
    if (l->around) judge_turn(l, found);
}

qb_status qb__opposites_find(qb_scan *scan, const qb__prepare *prepare, const qb__opposites_asked *asked,
                             qb__opposites *found) {
    enum { LEAST_VIEWS = 12, LEAST_COLUMNS = 32, VIEWS_OF_PAIR = 6 };
    qb__opposite_look *l;
    const qb_scan_info *info = qb_scan_describe(scan);
    *found = (qb__opposites){.column = NAN};
    if (info->views < LEAST_VIEWS || info->columns < LEAST_COLUMNS || asked->row1 <= asked->row0) return QB_OK;
    qb_status status = qb__alloc(1, sizeof *l, &l);
    if (status != QB_OK) return status;
    *l = (qb__opposite_look){.scan = scan, .info = info, .radians = asked->radians};
    l->bin = qb__ceil_div(info->columns, QB__OPPOSITE_BINS);
    l->bins = info->columns / l->bin;
    choose_rows(l, asked->row0, asked->row1);
    const size_t cheap = qb__views_affordable(scan, l->rows);
    QB__TRY(qb__opposite_pairs(l, qb__larger(2, cheap / VIEWS_OF_PAIR)));
    if (l->count == 0) goto out;
    l->steps = *qb__prepare_steps(prepare);
    l->first = qb__prepare_first_row(prepare);
    l->steps.keep_lost = false;
    QB__TRY(qb__alloc(l->count * l->places * QB__OPPOSITE_PARTS, sizeof *l->part, &l->part));
    QB__TRY(read_lines(l, asked->room));
    const bool known = !isnan(asked->column);
    const double column = known ? asked->column : 0.5 * ((double)info->columns - 1);
    judge(l, (column + 0.5) / (double)l->bin - 0.5, known, found);
out:
    QB__FREE(l->order, l->lines, l->line, l->raw, l->part, l);
    return status;
}

void qb__opposites_warn(const qb__opposites *found, bool told, const qb_env *env) {
    if (found->unlike > 0 && !told)
        qb__warn(env,
                 "views half a turn apart by their angles are not mirror images: they differ %.2g times as much as "
                 "views a quarter turn apart; check --angles and the axis" QB__CODE("opposite-views"),
                 found->unlike);
    else if (found->turn != 0 && !told)
        qb__warn(env,
                 "opposite views show angles between them that differ from the stated ones by %.2g degrees (%.2g "
                 "steps): views are missing, or --angles is wrong" QB__CODE("angle-steps"),
                 fabs(found->turn) * DEGREES, fabs(found->turn) / found->step);
    if (found->lean != 0)
        qb__warn(env,
                 "by opposite views the axis leans by about %.2g degrees: column %.2f in row %zu, %.2f in row %zu; qb "
                 "center measures it for --tilt" QB__CODE("axis-leans"),
                 found->lean, found->at[0], found->row[0], found->at[1], found->row[1]);
}
