/* SPDX-License-Identifier: MIT */
/* Do rows end in air? */
#include "prep/line_ends.h"

#include <math.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/sort.h"
#include "base/status.h"
#include "io/scan.h"

enum { VIEWS = QB__LINE_ENDS_VIEWS, GROUPS = QB__LINE_ENDS_GROUPS, MOST = 9, NEAR = 8 };

/* ---- one line ---- */

/* Its outermost values that were measured, from the end on; how many. */
static size_t outermost(const float *line, size_t columns, int side, size_t want, double *values) {
    size_t found = 0;
    for (size_t i = 0; i < columns / 2 && found < want; i++) {
        const double value = (double)line[side ? columns - 1 - i : i];
        if (isfinite(value)) values[found++] = value;
    }
    return found;
}

/* One faulty column, or a rim that touches the last one, moves no median. How far noise may move it shows from column to column. */
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

static void look_at(float *line, size_t columns, qb__line_end *out) {
    size_t count = 0;
    *out = (qb__line_end){0};
    for (int side = 0; side < 2; side++)
        if (!end_of(line, columns, side, &out->end[side], &out->noise[side])) return;
    for (size_t i = 0; i < columns; i++)
        if (isfinite(line[i])) line[count++] = line[i];
    qb__sort_floats(line, count);
    out->top = (double)line[count - 1 - count / 200 - (count > 16)];
    out->looked = true;
}

/* ---- reading ---- */

typedef struct look {
    qb_scan *scan;
    const qb__prepare *prepare;
    size_t row[GROUPS], rows; /* that are looked at here, ... */
    size_t first;             /* ... from this group on */
    size_t of;                /* views that all together look at, ... */
    size_t view0, views;      /* ... and those here, from this one of them on */
    size_t bytes;             /* of a row */
    size_t tall, wide;        /* rows and views looked at that are read at once, with all between them */
    char *raw;
    float *line;
} look;

/* Of fewer rows than groups each is one. */
static void choose_rows(look *l, const qb__line_ends_place *p) {
    const size_t rows = qb__ceil_div(p->row1 - p->row0, p->step), groups = qb__smaller(GROUPS, rows);
    for (size_t g = 0; g < groups; g++) {
        const size_t row = p->row0 + (2 * g + 1) * rows / (2 * groups) * p->step;
        if (row < p->held0) l->first = g + 1;
        if (row >= p->held0 && row < p->held1) l->row[l->rows++] = row;
    }
}

static size_t view_of(const look *l, size_t i) { return (2 * (l->view0 + i) + 1) * qb_scan_describe(l->scan)->views / (2 * l->of); }

static void choose_views(look *l, const qb__line_ends_place *p) {
    l->of = qb__smaller(VIEWS, qb_scan_describe(l->scan)->views);
    while (l->view0 < l->of && view_of(l, 0) < p->view0) l->view0++;
    while (l->view0 + l->views < l->of && view_of(l, l->views) < p->view1) l->views++;
}

static size_t block_bytes(const look *l) {
    return (l->row[l->tall - 1] - l->row[0] + 1) * (view_of(l, l->wide - 1) - view_of(l, 0) + 1) * l->bytes;
}

/* A piece that is unpacked holds several of them: then all at once. */
static void choose_block(look *l, size_t room) {
    const qb_scan_info *info = qb_scan_describe(l->scan);
    const qb__source *source = l->scan->parts.data.source;
    const size_t piece = source ? source->chunk[l->scan->sinogram ? 1 : 0] : 1;
    l->tall = l->wide = 1;
    if (l->rows > 1 && info->chunk_rows > l->row[1] - l->row[0]) l->tall = l->rows;
    if (l->views > 1 && piece > (view_of(l, 1) - view_of(l, 0)) * l->scan->step) l->wide = l->views;
    if (block_bytes(l) > room) l->wide = 1;
    if (block_bytes(l) > room) l->tall = 1;
}

static qb_status look_at_block(const look *l, size_t r0, size_t view0, qb__line_end *lines) {
    const size_t columns = qb_scan_describe(l->scan)->columns, row0 = l->row[r0], rows = l->row[r0 + l->tall - 1] + 1 - row0;
    const size_t first = view_of(l, view0);
    qb__prep_counts counts = {0}; /* dropped: these rows are counted when they are reconstructed */
    const qb_status status = qb_scan_read(l->scan, first, view_of(l, view0 + l->wide - 1) + 1, row0, row0 + rows, l->raw);
    for (size_t r = r0; status == QB_OK && r < r0 + l->tall; r++) {
        for (size_t v = view0; v < view0 + l->wide; v++) {
            const char *raw = l->raw + ((view_of(l, v) - first) * rows + l->row[r] - row0) * l->bytes;
            qb__prepare_row(l->prepare, view_of(l, v), l->row[r], raw, l->line, &counts);
            look_at(l->line, columns, &lines[(l->first + r) * VIEWS + l->view0 + v]);
        }
    }
    return status;
}

qb_status qb__line_ends_look(qb_scan *scan, const qb__prepare *prepare, const qb__line_ends_place *place, qb__line_end *lines) {
    const qb_scan_info *info = qb_scan_describe(scan);
    look l = {.scan = scan, .prepare = prepare, .bytes = info->columns * qb_dtype_size(info->dtype)};
    qb_status status;
    choose_rows(&l, place);
    choose_views(&l, place);
    if (l.rows == 0 || l.views == 0) return QB_OK;
    choose_block(&l, place->room);
    QB__TRY(qb__alloc(block_bytes(&l), 1, &l.raw));
    QB__TRY(qb__alloc(info->columns, sizeof *l.line, &l.line));
    for (size_t row = 0; row < l.rows; row += l.tall)
        for (size_t view = 0; view < l.views; view += l.wide) QB__TRY(look_at_block(&l, row, view, lines));
out:
    qb__free(l.raw);
    qb__free(l.line);
    return status;
}

/* ---- judging ---- */

typedef struct judging {
    const qb__line_end *lines;
    const bool *count;
    double least, top; /* of the scan: the middle of what its lines reach that hold anything */
    double values[QB__LINE_ENDS];
} judging;

static const double part = 0.1; /* of the largest value is not near air; nor does a line that reaches no more of the others hold anything */

static void find_top(judging *j) {
    size_t count = 0, full = 0;
    for (size_t i = 0; i < QB__LINE_ENDS; i++)
        if (j->lines[i].looked) j->values[count++] = j->lines[i].top;
    if (count == 0) return;
    qb__sort(j->values, count);
    const double high = j->values[count - 1 - count / 20];
    for (size_t i = 0; i < count; i++)
        if (j->values[i] > part * high) j->values[full++] = j->values[i];
    if (high > 0 && full) j->top = qb__median(j->values, full);
}

static bool holds(const judging *j, const qb__line_end *line) { return line->looked && j->top > 0 && line->top > part * j->top; }

static bool is_cut(const judging *j, const qb__line_end *line, int side) {
    const double end = line->end[side];
    return j->count[side] && holds(j, line) && end > part * fmax(line->top, j->top) && end > 5 * line->noise[side] && end > j->least;
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
