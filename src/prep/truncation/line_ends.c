/* SPDX-License-Identifier: MIT */
/* Checks whether rows end in air. */
#include "prep/truncation/line_ends.h"

#include <math.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/select.h"
#include "base/sort.h"
#include "base/status.h"
#include "io/scan/axes_look.h"
#include "io/scan/scan.h"
#include "prep/spikes.h"

enum { VIEWS = QB__SAMPLE_VIEWS, GROUPS = QB__SAMPLE_GROUPS, MOST = 9, NEAR = 8 };

/* ---- one line ---- */

/* Take the outermost measured values, from the end on; returns their number. */
static size_t outermost(const float *line, size_t columns, int side, size_t want, double *values) {
    size_t found = 0;
    for (size_t i = 0; i < columns / 2 && found < want; i++) {
        const double value = (double)line[side ? columns - 1 - i : i];
        if (isfinite(value)) values[found++] = value;
    }
    return found;
}

/* Level of one end, as a median, which one faulty column, or an edge that touches the last column, does not change. Its
 * uncertainty is estimated from the differences between columns. */
static bool end_of(const float *line, size_t columns, int side, double *end, double *noise) {
    double values[NEAR * MOST], steps[NEAR * MOST];
    const size_t few = 3 + columns / 512 * 2 > MOST ? MOST : 3 + columns / 512 * 2;
    const size_t found = outermost(line, columns, side, NEAR * few, values);
    if (found < few + 1) return false;
    for (size_t i = 0; i + 1 < found; i++) steps[i] = fabs(values[i + 1] - values[i]);
    const double sigma = qb__median(steps, found - 1) / (0.6745 * sqrt(2));
    *noise = 1.2533 * sigma / sqrt((double)few);
    *end = qb__median(values, few);
    return true;
}

void qb__line_end_of(const float *line, size_t columns, float *scratch, qb__line_end *out, qb__line_mass *mass) {
    size_t count = 0;
    *out = (qb__line_end){0};
    for (int side = 0; side < 2; side++)
        if (!end_of(line, columns, side, &out->end[side], &out->noise[side])) return;
    for (size_t i = 0; i < columns; i++)
        if (isfinite(line[i])) scratch[count++] = line[i];
    out->top = (double)qb__float_at(scratch, count, count - 1 - count / 200 - (count > 16));
    out->looked = true;
    qb__line_mass_of(line, columns, out->end, out->noise, out->top, mass);
}

/* ---- reading ---- */

typedef struct looking {
    const qb_scan *scan;
    qb__prep steps; /* those of the scan, without filling missing values */
    size_t columns, row0;
    float *line, *scratch;
    qb__lines_look *lines;
    float *image;        /* [VIEWS][columns] of the middle group */
    size_t middle, seen; /* number of the middle group, and how many of its lines have been read */
} looking;

/* Count numbers in the file that are not measurements. */
static uint32_t count_beyond(const looking *l, const char *raw, const qb__prep_counts *counts) {
    uint64_t odd = 0;
    qb_convert_to_float(raw, l->steps.dtype, l->columns, l->scratch);
    for (size_t i = 0; i < l->columns; i++) odd += !isfinite(l->scratch[i]);
    return counts->not_finite > odd ? (uint32_t)(counts->not_finite - odd) : 0;
}

static void look_at_one(void *self, size_t number, size_t view, size_t row, const char *raw) {
    looking *l = self;
    qb__line_levels *levels = &l->lines->levels[number];
    qb__prep_counts counts = {0}; /* dropped: these rows are counted when they are reconstructed */
    qb__prep_row(&l->steps, view, row - l->row0, raw, l->line, &counts);
    if (number / VIEWS == l->middle) memcpy(l->image + l->seen++ * l->columns, l->line, l->columns * sizeof *l->line);
    qb__line_levels_of(l->line, l->columns, l->steps.quantity, l->scratch, levels);
    levels->view = (uint32_t)qb__scan_stored(l->scan, view), levels->row = (uint32_t)row;
    levels->at = (uint32_t)view;
    levels->beyond = count_beyond(l, raw, &counts);
    if (l->steps.quantity == QB_COUNTS && l->scan->dark)
        qb__line_levels_below(l->scratch, l->scan->dark + row * l->columns, l->line, l->columns, l->scan->dark_noise,
                              levels);
    l->lines->mass[number] = (qb__line_mass){.view = view, .row = row};
    if (l->steps.quantity == QB_COUNTS)
        qb__line_levels_cut(l->scratch, l->scan->flat ? l->scan->flat + row * l->columns : NULL, l->columns,
                            qb__dtype_top(l->steps.dtype), levels);
    qb__line_end_of(l->line, l->columns, l->scratch, &l->lines->end[number], &l->lines->mass[number]);
}

static qb_status begin_without_flats(const qb_scan_info *info, float **air, qb__prep *steps) {
    const float BRIGHTER = 1e7f; /* larger than any count, but within the range of transmissions */
    const qb_status status = qb__alloc(info->views, sizeof **air, air);
    for (size_t i = 0; status == QB_OK && i < info->views; i++) (*air)[i] = BRIGHTER;
    *steps = (qb__prep){
        .quantity = info->quantity, .dtype = info->dtype, .columns = info->columns, .air = *air, .floor = 1e-30f};
    qb__prep_begin(steps, NULL);
    return status;
}

qb_status qb__line_ends_look(qb_scan *scan, const qb__prepare *prepare, const qb__row_sample *where,
                             qb__lines_look *lines) {
    const qb_scan_info *info = qb_scan_describe(scan);
    looking l = {.scan = scan, .columns = info->columns, .lines = lines};
    float *air = NULL;
    qb_status status = QB_OK;
    l.middle = qb__smaller(GROUPS, qb__ceil_div(where->row1 - where->row0, where->step)) / 2;
    if (prepare)
        l.steps = *qb__prepare_steps(prepare), l.row0 = qb__prepare_first_row(prepare);
    else
        status = begin_without_flats(info, &air, &l.steps);
    l.steps.keep_lost = true;
    lines->most = (double)l.steps.most;
    if (status == QB_OK) status = qb__alloc(l.columns, sizeof *l.line, &l.line);
    if (status == QB_OK) status = qb__alloc(l.columns, sizeof *l.scratch, &l.scratch);
    if (status == QB_OK) status = qb__alloc(VIEWS * l.columns, sizeof *l.image, &l.image);
    if (status == QB_OK) status = qb__row_sample_read(scan, where, look_at_one, &l);
    if (status == QB_OK) lines->transposed = qb__looks_transposed(l.image, l.seen, l.columns);
    if (status == QB_OK) status = qb__spikes_confirm(scan, lines->levels);
    QB__FREE(l.line, l.scratch, l.image, air);
    return status;
}

/* ---- judging ---- */

typedef struct judging {
    const qb__line_end *lines;
    const bool *count;
    /* least: smallest value of an object; top: the median of the maxima of all lines that are not empty */
    double least, top;
    double values[QB__SAMPLE_LINES];
} judging;

/* Values above this part of the largest one are not near air. A line is empty if its maximum is below this part of the
 * other lines' maxima. */
static const double part = 0.1;

static void find_top(judging *j) {
    size_t count = 0, full = 0;
    for (size_t i = 0; i < QB__SAMPLE_LINES; i++)
        if (j->lines[i].looked) j->values[count++] = j->lines[i].top;
    if (count == 0) return;
    qb__sort(j->values, count);
    const double high = j->values[count - 1 - count / 20];
    for (size_t i = 0; i < count; i++)
        if (j->values[i] > part * high) j->values[full++] = j->values[i];
    if (high > 0 && full) j->top = qb__median(j->values, full);
}

static bool holds(const judging *j, const qb__line_end *line) {
    return line->looked && j->top > 0 && line->top > part * j->top;
}

static bool is_cut(const judging *j, const qb__line_end *line, int side) {
    const double end = line->end[side];
    return j->count[side] && holds(j, line) && end > part * fmax(line->top, j->top) && end > 5 * line->noise[side] &&
           end > j->least;
}

static void judge_side(judging *j, int side, qb__line_ends_cut *cut, bool *row_cut) {
    size_t all = 0;
    cut->lines = 0;
    for (size_t g = 0; g < GROUPS; g++) {
        size_t held = 0, here = 0;
        for (size_t v = 0; v < VIEWS; v++) {
            const qb__line_end *line = &j->lines[g * VIEWS + v];
            held += holds(j, line);
            if (!is_cut(j, line, side)) continue;
            j->values[all + here++] = line->end[side] / fmax(line->top, j->top);
        }
        cut->lines += held;
        all += here;
        row_cut[g] |= here > 1 && 8 * here > held;
    }
    cut->share[side] = cut->lines ? (double)all / (double)cut->lines : 0;
    cut->level[side] = all ? qb__median(j->values, all) : 0;
}

void qb__line_ends_judge(const qb__line_end *lines, const bool count[2], double least, qb__line_ends_cut *cut) {
    judging j = {.lines = lines, .count = count, .least = least};
    bool row_cut[GROUPS] = {false};
    size_t rows = 0, rows_cut = 0;
    *cut = (qb__line_ends_cut){.lines = 0};
    find_top(&j);
    for (int side = 0; side < 2; side++) judge_side(&j, side, cut, row_cut);
    for (size_t g = 0; g < GROUPS; g++) {
        bool full = false;
        for (size_t v = 0; v < VIEWS; v++) full |= holds(&j, &lines[g * VIEWS + v]);
        rows += full;
        rows_cut += row_cut[g];
    }
    cut->much = 4 * rows_cut > rows;
}

bool qb__column_end_held(const qb__lines_look *lines, double top) {
    size_t full = 0, all = 0;
    for (size_t n = 0; n < QB__SAMPLE_LINES; n++) {
        const qb__line_levels *l = &lines->levels[n];
        all += l->looked;
        full += l->looked && l->high > 0.1 * top && l->high > 5 * l->noise && l->high > qb__least_object;
    }
    return all && 8 * full > all;
}

const char *qb__column_ends_words(unsigned held) {
    return held == 3 ? "at both ends" : held == 1 ? "at row 0" : "at the last row";
}
