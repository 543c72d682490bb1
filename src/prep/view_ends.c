/* SPDX-License-Identifier: MIT */
#include "prep/view_ends.h"

#include <math.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/warning.h"
#include "prep/view_ends_parts.h"

enum { MOST_BINS = 192, LEAST_BINS = 24, LEAST_VIEWS = 12 };

/* Find the stated number of steps from the last view to the first one. The angles of the views at the ends must rise,
 * or fall, evenly; otherwise NAN. */
static double stated_steps(const qb__view_ends_of *asked, size_t views, qb__ends_look *l) {
    const double OFF = 0.1, MOST = 0.1; /* OFF: part of a step; MOST: part of all views */
    const double *t = asked->radians, span = t[views - 1] - t[0], step = span / (double)(views - 1);
    const double turns = rint(fabs(span) / M_PI);
    for (size_t i = 0; i + 1 < l->near; i++) {
        if (!(fabs(t[i + 1] - t[i] - step) < OFF * fabs(step))) return NAN;
        if (!(fabs(t[views - 1 - i] - t[views - 2 - i] - step) < OFF * fabs(step))) return NAN;
    }
    l->mirrored = fmod(turns, 2) > 0.5;
    l->step = fabs(step);
    if (turns < 1 || (l->mirrored && !asked->parallel)) return NAN;
    const double steps = (turns * M_PI - fabs(span)) / l->step;
    return fabs(steps) < MOST * (double)views ? steps : NAN;
}

static qb_status read_views(qb__ends_look *l) {
    const size_t n = l->info->views;
    qb__prep_counts counts = {0}; /* dropped: these rows are counted when they are reconstructed */
    for (size_t i = 0; i < 2 * l->near; i++) {
        const size_t view = i < l->near ? i : n - 1 - (i - l->near);
        for (size_t r = 0; r < l->rows; r++) {
            float *out = l->read + (i * l->rows + r) * l->bins;
            const char *raw;
            QB__OR_RETURN(qb__view_lines_read(&l->lines, view, r, &raw));
            qb__prep_row(&l->prep, view, l->row[r] - l->first, raw, l->wide, &counts);
            for (size_t b = 0; b < l->bins; b++) {
                double sum = 0;
                for (size_t c = b * l->bin; c < (b + 1) * l->bin; c++) sum += (double)l->wide[c];
                out[b] = (float)(sum / (double)l->bin);
            }
        }
    }
    return QB_OK;
}

/* True if views change. A centred round object shows nothing. */
static bool views_change(const qb__ends_look *l) {
    const double LEAST = 1e-4; /* line integrals; smaller differences are rounding */
    const size_t size = l->rows * l->bins;
    double square = 0;
    for (size_t side = 0; side < 2; side++) {
        const float *a = l->read + side * l->near * size, *b = a + size;
        for (size_t i = 0; i < size; i++) square += (double)((a[i] - b[i]) * (a[i] - b[i]));
    }
    return square > 2 * LEAST * LEAST * (double)size;
}

enum { WIDTHS = 5, COUNTS = 5 };

/* The result on which the best of several estimates agree; a single one may look certain by chance. */
static qb__ends_gap agree(qb__ends_gap *all, size_t count) {
    enum { BEST = 5, FEWEST = 3 };
    qb__ends_gap out = {.error = INFINITY};
    size_t n = 0;
    for (; n < BEST && n < count; n++) {
        size_t best = n;
        for (size_t i = n + 1; i < count; i++)
            if (all[i].error < all[best].error) best = i;
        if (isinf(all[best].error)) break;
        const qb__ends_gap swapped = all[n];
        all[n] = all[best], all[best] = swapped;
    }
    if (n < FEWEST) return out;
    out.error = all[n / 2].error;
    out.steps = all[0].steps;
    for (size_t i = 1; i < n; i++) out.steps += all[i].steps;
    out.steps /= (double)n;
    for (size_t i = 0; i < n; i++) out.error = fmax(out.error, fabs(all[i].steps - out.steps));
    return out;
}

/* Measure the views with different smoothing, and keep the smoothing with which changes continue as evenly as noise and
 * detail allow. */
static void measure_best(qb__ends_look *l, qb__ends_measure *best, qb__ends_gap *gap) {
    static const double widths[WIDTHS] = {0.5, 1, 2, 4, 8}; /* in units of the movement of the rim in one step */
    static const size_t counts[COUNTS] = {2, 3, 4, 6, 8};
    const double rim = 0.5 * l->step * (double)l->bins, most = (double)(l->bins * l->bins) / 300, column = l->column;
    qb__ends_gap gaps[WIDTHS * COUNTS];
    size_t found = 0, last = 0;
    *best = (qb__ends_measure){0};
    for (size_t i = 0; i < WIDTHS; i++) {
        const size_t times = (size_t)fmax(fmin(2 * widths[i] * rim * widths[i] * rim, most), 2);
        qb__ends_measure m;
        if (times == last) continue;
        last = times;
        l->column = column;
        if (l->mirrored) qb__ends_find_axis(l, times);
        qb__ends_arrange(l, times);
        if (l->to < l->from + l->bins / 2) continue;
        qb__ends_take_measure(l, &m);
        if (qb__ends_evenness(&m) > qb__ends_evenness(best)) *best = m;
        for (size_t k = 0; k < COUNTS && 2 * counts[k] <= l->near; k++) gaps[found++] = qb__ends_take_gap(l, counts[k]);
    }
    *gap = agree(gaps, found);
}

/* A single object mostly moves along the row, which is removed from the differences. If neighbouring views move: the
 * ratio of the ends' difference to such a step; else NAN. In half a turn the axis decides it. */
static double share_of_step(const qb__ends_measure *m, bool mirrored) {
    const double LEAST = 0.1; /* bins */
    return mirrored || !(m->moved_step > LEAST) ? NAN : m->moved_ends / m->moved_step;
}

/* True if the last view is the first one again. */
static bool is_same(const qb__ends_measure *m, const qb__ends_gap *gap) {
    const double EVEN = 2, LESS = 0.2, LESS_BOTH = 0.4, USUAL = 0.15, NONE = 0.03, SURE = 6, SURE_BOTH = 5, NEAR = 0.35;
    const double step = 0.5 * (m->step[0] + m->step[1]), sure = gap->steps < NEAR ? (1 - gap->steps) / gap->error : 0;
    if (sure > SURE) return true;
    const double less = sure > SURE_BOTH ? LESS_BOTH : LESS;
    if (!(qb__ends_evenness(m) > EVEN) || !(m->ends < less * fmin(m->step[0], m->step[1]))) return false;
    if (!(m->more * m->more < step * m->two)) return false;
    return m->usual > USUAL * step || m->ends < NONE * fmin(m->step[0], m->step[1]);
}

/* True if one more step, like those before and after it, leads from the last view to the first. */
static bool is_next(const qb__ends_measure *m, const qb__ends_gap *gap) {
    const double EVEN = 2.2, LEAST_SIZE = 0.5, MOST_SIZE = 1.7, MORE = 1.2, LEAST_WAY = 0.5, MOST_WAY = 1.8,
                 USUAL = 0.3, SURE = 1.2, SURE_GAP = 6, NEAR = 0.35;
    const double step = 0.5 * (m->step[0] + m->step[1]);
    if (gap->steps > SURE_GAP * gap->error && fabs(gap->steps - 1) < NEAR) return true;
    if (!(qb__ends_evenness(m) > EVEN) || !(m->more * m->more > MORE * step * m->two)) return false;
    if (!(m->ends > LEAST_SIZE * step) || !(m->ends < MOST_SIZE * step)) return false;
    if (!(m->usual > USUAL * step) || !(m->sure > SURE)) return false;
    return m->forward > LEAST_WAY * m->usual && m->forward < MOST_WAY * m->usual;
}

static void judge(const qb__ends_measure *m, const qb__ends_gap *gap, double stated, int seam, double leans,
                  const qb__view_ends_of *asked, const qb__ends_look *l, qb__view_ends *found) {
    const double DEGREE = 57.29577951308232, HALF = 0.5, BETWEEN = 0.2;
    const double *t = asked->radians, n = (double)l->info->views, span = t[l->info->views - 1] - t[0];
    const double share = share_of_step(m, l->mirrored);
    found->steps = seam;
    if (!seam && stated == 1 && is_same(m, gap) && !(share > HALF) && !(leans > BETWEEN)) found->steps = -1;
    if (!seam && stated == 0 && is_next(m, gap) && !(share < HALF) && !(leans < BETWEEN)) found->steps = 1;
    if (!found->steps) return;
    found->mirrored = l->mirrored, found->stated = stated;
    const double range = copysign(rint(fabs(span) / M_PI) * M_PI, span);
    found->from = t[0] * DEGREE;
    found->to = found->from + range * (found->steps < 0 ? n / (n - 1) : 1) * DEGREE;
}

qb_status qb__view_ends_find(qb_scan *scan, const qb__prepare *prepare, const qb__view_ends_of *asked,
                             qb__view_ends *found) {
    qb__ends_look l = {.scan = scan, .info = qb_scan_describe(scan)};
    const size_t columns = l.info->columns, tall = asked->row1 > asked->row0 ? asked->row1 - asked->row0 : 0;
    const double MOST_STEP = 0.08, WHOLE = 0.25, AWAY = 0.6; /* radians: larger ones lead to another image; steps */
    qb_status status = QB_OK;
    *found = (qb__view_ends){0};
    if (l.info->views < LEAST_VIEWS || columns < LEAST_BINS || !tall) return QB_OK;
    l.near = qb__smaller(QB__ENDS_NEAR, l.info->views / 3);
    double stated = stated_steps(asked, l.info->views, &l);
    if (isnan(stated) || l.step > MOST_STEP) return QB_OK;
    if (fabs(stated) < WHOLE || fabs(stated - 1) < WHOLE) stated = rint(stated);
    if (stated != 1 && fabs(stated - 1) < AWAY) return QB_OK;
    l.bin = qb__ceil_div(columns, MOST_BINS), l.bins = columns / l.bin;
    l.column = (asked->column + 0.5) / (double)l.bin - 0.5;
    l.rows = qb__smaller(QB__ENDS_ROWS, tall);
    for (size_t r = 0; r < l.rows; r++) l.row[r] = asked->row0 + (2 * r + 1) * tall / (2 * l.rows);
    l.prep = *qb__prepare_steps(prepare);
    l.prep.keep_lost = false;
    l.first = qb__prepare_first_row(prepare);
    const size_t size = l.rows * l.bins;
    QB__TRY(qb__alloc(2 * l.near * size, sizeof *l.read, &l.read));
    QB__TRY(qb__alloc(2 * l.near * size, sizeof *l.line, &l.line));
    QB__TRY(qb__alloc(columns, sizeof *l.wide, &l.wide));
    QB__TRY(qb__alloc(size, sizeof *l.slope, &l.slope));
    for (int i = 0; i < QB__ENDS_SCRATCH; i++) QB__TRY(qb__alloc(size, sizeof **l.part, &l.part[i]));
    QB__TRY(qb__view_lines_create(scan, l.row, l.rows, &l.lines));
    QB__TRY(read_views(&l));
    if (!views_change(&l)) goto out;
    qb__ends_measure m = {0};
    qb__ends_gap gap = {0};
    /* If one step is stated, the opposite case is that the end point was counted. */
    double leans;
    const int shown = qb__ends_seam(&l, stated == 1 ? 0 : stated, &leans),
              seam = (shown > 0) == (stated == 1) ? 0 : shown;
    if (!seam && (stated == 0 || stated == 1)) measure_best(&l, &m, &gap);
    judge(&m, &gap, stated, seam, leans, asked, &l, found);
out:
    QB__FREE(l.read, l.line, l.wide, l.slope);
    for (int i = 0; i < QB__ENDS_SCRATCH; i++) qb__free(l.part[i]);
    qb__view_lines_destroy(&l.lines);
    return status;
}

void qb__view_ends_warn(const qb__view_ends *found, const qb_env *env) {
    if (found->steps < 0)
        qb__warn(env,
                 "the last view is the first one%s, but is stated a step before it: the end point was counted; "
                 "--angles %.8g:%.8g fits" QB__CODE("angle-span"),
                 found->mirrored ? " mirrored" : "", found->from, found->to);
    else if (found->steps > 0 && found->stated != 0)
        qb__warn(env,
                 "the last view is a step before the first one%s, but is stated to be %.3g steps %s it: --angles "
                 "%.8g:%.8g fits" QB__CODE("angle-span"),
                 found->mirrored ? " mirrored" : "", fabs(found->stated), found->stated > 0 ? "before" : "behind",
                 found->from, found->to);
    else if (found->steps > 0)
        qb__warn(env,
                 "the last view is stated to be the first one%s, but is a step before it: the end point was not "
                 "reached; --angles %.8g:%.8g fits" QB__CODE("angle-span"),
                 found->mirrored ? " mirrored" : "", found->from, found->to);
}
