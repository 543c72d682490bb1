/* SPDX-License-Identifier: MIT */
/* Detects columns at the ends of rows that are 0 in all views although the object continues there: they measured
 * nothing. Counts and transmissions of 0 are not air. Line integrals of 0 are air if an object ends there, but not if
 * it is cut off at the same column in all views. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "base/warning.h"
#include "io/scan/frame_list.h"
#include "io/scan/scan.h"
#include "quickbeam/io.h"

enum { VIEWS = 16, ROWS = 8, LEAST_COLUMNS = 16 };

typedef struct margins_look {
    qb_scan *scan;
    size_t columns, views, rows;
    char *raw;
    float *lines;   /* [view][row][columns] */
    size_t zero[2]; /* columns of 0 at either end, in all views */
} margins_look;

static qb_status read_lines(margins_look *l) {
    const qb_scan_info *info = &l->scan->info;
    for (size_t v = 0; v < l->views; v++) {
        for (size_t r = 0; r < l->rows; r++) {
            const size_t view = (2 * v + 1) * info->views / (2 * l->views),
                         row = (2 * r + 1) * info->rows / (2 * l->rows);
            QB__OR_RETURN(qb_scan_read(l->scan, view, view + 1, row, row + 1, l->raw));
            qb_convert_to_float(l->raw, info->dtype, l->columns, l->lines + (v * l->rows + r) * l->columns);
        }
    }
    return QB_OK;
}

static float at(const float *line, size_t columns, int side, size_t i) { return line[side ? columns - 1 - i : i]; }

static void count_zeros(margins_look *l) {
    l->zero[0] = l->zero[1] = l->columns;
    for (size_t n = 0; n < l->views * l->rows; n++)
        for (int side = 0; side < 2; side++) {
            size_t i = 0;
            while (i < l->zero[side] && at(l->lines + n * l->columns, l->columns, side, i) == 0) i++;
            l->zero[side] = i;
        }
}

/* An object's edge rises from 0 like a square root; a cut begins with a step and continues evenly. */
static bool is_cut(const margins_look *l, int side) {
    const size_t n = l->zero[side];
    size_t held = 0, cut = 0;
    for (size_t k = 0; k < l->views * l->rows; k++) {
        const float *line = l->lines + k * l->columns;
        float top = 0;
        for (size_t i = 0; i < l->columns; i++) top = fmaxf(top, line[i]); /* ignores NaN */
        if (!(top > 0)) continue;
        const float first = at(line, l->columns, side, n), second = at(line, l->columns, side, n + 1),
                    third = at(line, l->columns, side, n + 2);
        held++;
        cut += first > 0.2f * top && fabsf(second - first) < 0.25f * first && fabsf(third - second) < 0.25f * first;
    }
    return held && 4 * cut > 3 * held;
}

/* True if no beam reaches these columns or they are not read out, but there is beam next to them. */
static bool is_dark(const margins_look *l, int side) {
    const qb_scan *scan = l->scan;
    size_t bright = 0;
    for (size_t k = 0; k < l->views * l->rows; k++)
        bright += at(l->lines + k * l->columns, l->columns, side, l->zero[side]) > 0;
    if (4 * bright < 3 * l->views * l->rows) return false;
    if (scan->info.quantity == QB_TRANSMISSION || !scan->flat) return true;
    const size_t row = scan->info.rows / 2 * l->columns;
    const float flat = at(scan->flat + row, l->columns, side, 0),
                dark = scan->dark ? at(scan->dark + row, l->columns, side, 0) : 0;
    return flat > dark; /* otherwise the flats show that they are dead */
}

static qb_status leave_out(const margins_look *l, unsigned char **mask) {
    qb_scan *scan = l->scan;
    const size_t rows = scan->info.rows;
    bool *which = NULL;
    qb__finding finding = {
        .code = QB__CODE("margins-empty"), .what = "columns", .of = l->columns, .done = "not measured"};
    qb_status status;
    if (!*mask) QB__TRY(qb__alloc(rows * l->columns, 1, mask));
    QB__TRY(qb__alloc(l->columns, sizeof *which, &which));
    for (int side = 0; side < 2; side++)
        for (size_t i = 0; i < l->zero[side]; i++) which[side ? l->columns - 1 - i : i] = true;
    for (size_t p = 0; p < rows * l->columns; p++)
        if (which[p % l->columns] && !(*mask)[p]) (*mask)[p] = QB_PIXEL_STUCK;
    finding.count = qb__frame_list_words(which, l->columns, finding.which, sizeof finding.which);
    qb__scan_find(scan, &finding, QB_PROBLEM_PIXELS,
                  "columns %s hold 0 in all views, where the object goes on: they count as not measured%s",
                  finding.which, finding.code);
out:
    qb__free(which);
    return status;
}

static bool is_worth(const qb_scan *scan) {
    const size_t UNPACKED = 64 << 20;
    const qb_scan_info *info = &scan->info;
    const qb__source *source = scan->parts.data.source;
    const size_t piece = source->chunk[0] * source->chunk[1];
    if (source->computes || *scan->refused || info->columns < LEAST_COLUMNS || info->views == 0) return false;
    if (qb__scan_on_device((qb_scan *)scan)) return false;
    return piece <= 1 || VIEWS * ROWS * piece * qb__source_row_bytes(source) <= UNPACKED;
}

qb_status qb__scan_look_at_margins(qb_scan *scan, unsigned char **mask) {
    const qb_scan_info *info = &scan->info;
    margins_look l = {.scan = scan,
                      .columns = info->columns,
                      .views = qb__smaller(VIEWS, info->views),
                      .rows = qb__smaller(ROWS, info->rows)};
    qb_status status;
    if (!is_worth(scan)) return QB_OK;
    QB__TRY(qb__alloc(l.columns, qb_dtype_size(info->dtype), &l.raw));
    QB__TRY(qb__alloc(l.views * l.rows * l.columns, sizeof *l.lines, &l.lines));
    QB__TRY(read_lines(&l));
    count_zeros(&l);
    for (int side = 0; side < 2; side++) {
        const bool inside = l.zero[side] && l.zero[side] < l.columns / 2;
        if (!inside || !(info->quantity == QB_LINE_INTEGRAL ? is_cut(&l, side) : is_dark(&l, side))) l.zero[side] = 0;
    }
    if (l.zero[0] + l.zero[1]) status = leave_out(&l, mask);
out:
    QB__FREE(l.raw, l.lines);
    return status;
}
