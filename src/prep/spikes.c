/* SPDX-License-Identifier: MIT */
#include "prep/spikes.h"

#include <math.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/scan/scan.h"
#include "quickbeam/io.h"

enum {
    NEIGHBOURS = 4,
    ROWS = NEIGHBOURS + 1,
    LINES = 48 /* lines compared in plain data */,
    PACKED = 12 /* lines compared in compressed data, which is slower to read */
};

typedef struct comparing {
    qb_scan *scan;
    char *raw;        /* [ROWS][columns]: the line itself is the first */
    float *line;      /* [ROWS][columns], line integrals except for a constant */
    size_t rows;      /* existing rows */
    size_t same_view; /* rows of the same view; they come first */
} comparing;

static void integrals(const comparing *c, size_t row, const char *raw, float *out) {
    const qb_scan *scan = c->scan;
    const size_t columns = scan->info.columns;
    const bool counts = scan->info.quantity == QB_COUNTS;
    const float *dark = counts && scan->dark ? scan->dark + row * columns : NULL,
                *flat = counts && scan->flat ? scan->flat + row * columns : NULL;
    qb_convert_to_float(raw, scan->info.dtype, columns, out);
    for (size_t i = 0; i < columns && scan->info.quantity != QB_LINE_INTEGRAL; i++) {
        const float none = dark ? dark[i] : 0;
        out[i] = -logf(fmaxf((out[i] - none) / (flat ? flat[i] - none : 1), 1e-30f));
    }
}

static qb_status add_row(comparing *c, size_t view, size_t row) {
    const size_t columns = c->scan->info.columns;
    char *raw = c->raw + c->rows * columns * qb_dtype_size(c->scan->info.dtype);
    const qb_status status = qb_scan_read(c->scan, view, view + 1, row, row + 1, raw);
    if (status == QB_OK) integrals(c, row, raw, c->line + c->rows++ * columns);
    return status;
}

static qb_status read_around(comparing *c, size_t view, size_t row) {
    const qb_scan_info *info = &c->scan->info;
    c->rows = 0;
    QB__OR_RETURN(add_row(c, view, row));
    if (row > 0) QB__OR_RETURN(add_row(c, view, row - 1));
    if (row + 1 < info->rows) QB__OR_RETURN(add_row(c, view, row + 1));
    c->same_view = c->rows;
    if (view > 0) QB__OR_RETURN(add_row(c, view - 1, row));
    if (view + 1 < info->views) QB__OR_RETURN(add_row(c, view + 1, row));
    return QB_OK;
}

/* A zinger is one pixel or two: at its position the views and rows around are darker, by at least half of its height in
 * its own row. One row may contain the second pixel, but not the only row next to an outer one, because a gap in an
 * object continues there. */
static bool is_alone(const comparing *c, int kind, uint32_t column) {
    const size_t columns = c->scan->info.columns, last = column + (size_t)kind;
    const float own = fmaxf(c->line[column], c->line[last]), near = fminf(c->line[column - 1], c->line[last + 1]);
    bool second = kind > 0 || c->same_view < 3;
    for (size_t r = 1; r < c->rows; r++) {
        float least = INFINITY;
        for (size_t i = column - 1; i <= last + 1; i++) least = fminf(least, c->line[r * columns + i]);
        if (least - own > 0.5f * (near - own)) continue;
        if (second || r >= c->same_view || c->rows == c->same_view) return false;
        second = true;
    }
    return c->rows > 1;
}

static void keep_alone(const comparing *c, const qb__line_levels *group, qb__line_levels *line, int kind,
                       size_t *looked, size_t *kept) {
    qb__spikes *spikes = &line->spikes[kind];
    const uint32_t many = qb__spikes_kept(spikes);
    uint32_t left = 0;
    for (uint32_t s = 0; s < many; s++) {
        const bool column = qb__line_levels_is_column(group, QB__SAMPLE_VIEWS, kind, spikes->column[s]),
                   alone = column || is_alone(c, kind, spikes->column[s]);
        *looked += !column;
        *kept += alone && !column;
        if (alone) spikes->column[left++] = spikes->column[s];
    }
    spikes->count = left == many ? spikes->count : left;
}

static size_t most_lines(const qb_scan *scan) {
    const qb__source *source = scan->parts.data.source;
    return source && source->chunk[0] * source->chunk[1] * source->chunk[2] > 1 ? PACKED : LINES;
}

/* Faulty columns are not single pixels: they stay, to be counted elsewhere. */
static bool has_single(const qb__line_levels *group, const qb__spikes *spikes, int kind) {
    for (uint32_t s = 0; s < qb__spikes_kept(spikes); s++)
        if (!qb__line_levels_is_column(group, QB__SAMPLE_VIEWS, kind, spikes->column[s])) return true;
    return false;
}

/* The compared lines come first; in the others spikes are kept if they are kept in most of the compared ones. */
static qb_status compare(comparing *c, const qb__line_levels *before, int kind, qb__line_levels *levels) {
    size_t lines = 0, looked = 0, kept = 0;
    const size_t most = most_lines(c->scan);
    for (size_t i = 0; i < QB__SAMPLE_LINES; i++) {
        const qb__line_levels *group = before + i / QB__SAMPLE_VIEWS * QB__SAMPLE_VIEWS;
        if (!has_single(group, &before[i].spikes[kind], kind)) continue;
        if (lines++ < most) {
            QB__OR_RETURN(read_around(c, levels[i].at, levels[i].row));
            keep_alone(c, group, &levels[i], kind, &looked, &kept);
        } else if (2 * kept < looked) {
            levels[i].spikes[kind].count = 0;
        }
    }
    return QB_OK;
}

qb_status qb__spikes_confirm(qb_scan *scan, qb__line_levels *levels) {
    const size_t columns = scan->info.columns;
    comparing c = {.scan = scan};
    qb__line_levels *before = NULL;
    bool any = false;
    qb_status status = QB_OK;
    for (size_t i = 0; i < QB__SAMPLE_LINES; i++) any |= levels[i].spikes[0].count + levels[i].spikes[1].count > 0;
    if (!any) return QB_OK;
    QB__TRY(qb__alloc(QB__SAMPLE_LINES, sizeof *before, &before));
    QB__TRY(qb__alloc(ROWS * columns, qb_dtype_size(scan->info.dtype), &c.raw));
    QB__TRY(qb__alloc(ROWS * columns, sizeof *c.line, &c.line));
    for (size_t i = 0; i < QB__SAMPLE_LINES; i++) before[i] = levels[i];
    for (int kind = 0; kind < 2 && status == QB_OK; kind++) status = compare(&c, before, kind, levels);
out:
    QB__FREE(before, c.raw, c.line);
    return status;
}
