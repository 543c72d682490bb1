/* SPDX-License-Identifier: MIT */
/* Corrects views in place, in bands of a few rows that stay in the second-level cache. Rows of a band that the next
 * band needs are kept unchanged. */
#include <math.h>
#include <string.h>

#include "base/half.h"
#include "base/memory.h"
#include "cpu/features.h"
#include "cpu/rows/lines.h"
#include "prep/neighbours_parts.h"

enum { BAND = 16 /* rows of a band; the margin if that is larger */, EDGE = QB__NEAR_COLUMNS };

typedef qb__near_views block;

static size_t band_of(size_t margin) { return qb__larger(BAND, margin); }
static size_t stride_of(const qb_scan_info *info) { return qb__round_up(info->columns + 2 * EDGE, 16); }

/* Scratch of a thread: two bands of floats, and the original rows that the previous band has changed. */
static size_t scratch_floats(const qb_scan_info *info, size_t margin) {
    return 2 * (band_of(margin) + 2 * margin) * stride_of(info);
}

size_t qb__near_scratch(const qb_scan_info *info, size_t margin) {
    return scratch_floats(info, margin) * sizeof(float) + 2 * margin * qb__near_row_bytes(info);
}

/* ---- numbers ---- */

/* Rounds to the nearest number of an integer type. */
static double nearest(float value, double least, double most) { return fmin(fmax(rint((double)value), least), most); }

/* Stores a value as a number of the scan's type. */
static void put(qb_dtype dtype, float value, void *raw, size_t at) {
    switch (dtype) {
    case QB_U8: ((uint8_t *)raw)[at] = (uint8_t)nearest(value, 0, UINT8_MAX); break;
    case QB_I8: ((int8_t *)raw)[at] = (int8_t)nearest(value, INT8_MIN, INT8_MAX); break;
    case QB_U16: ((uint16_t *)raw)[at] = (uint16_t)nearest(value, 0, UINT16_MAX); break;
    case QB_I16: ((int16_t *)raw)[at] = (int16_t)nearest(value, INT16_MIN, INT16_MAX); break;
    case QB_U32: ((uint32_t *)raw)[at] = (uint32_t)nearest(value, 0, UINT32_MAX); break;
    case QB_I32: ((int32_t *)raw)[at] = (int32_t)nearest(value, INT32_MIN, INT32_MAX); break;
    case QB_F16: qb__float_to_half(&value, 1, (uint16_t *)raw + at); break;
    case QB_F32: ((float *)raw)[at] = value; break;
    case QB_F64: ((double *)raw)[at] = (double)value; break;
    }
}

void qb__near_transmissions(const qb__neighbours *d, const void *raw, size_t row, float *out) {
    const size_t columns = d->info->columns, at = row * columns;
    const float *dark = d->dark ? d->dark + at : NULL, *gain = d->gain ? d->gain + at : NULL;
    qb_convert_to_float(raw, d->info->dtype, columns, out);
    if (dark || gain) qb__lines_choose(qb__cpu_features())->scaled(out, dark, gain, columns, out);
}

uint64_t qb__near_settle(const qb__neighbours *d, const float *was, size_t row, float *cells, void *raw) {
    const size_t columns = d->info->columns, at = row * columns;
    const qb_dtype dtype = d->info->dtype;
    uint64_t changed = 0;
    for (size_t c = 0; c < columns; c++) {
        double number;
        if (cells[c] == was[c] || isnan(was[c])) continue;
        const float dark = d->dark ? d->dark[at + c] : 0, beam = d->beam ? d->beam[at + c] : 1;
        const float gain = d->gain ? d->gain[at + c] : 1, scaled = cells[c] * beam;
        put(dtype, scaled + dark, &number, 0);
        if (raw) memcpy((char *)raw + c * qb_dtype_size(dtype), &number, qb_dtype_size(dtype));
        qb_convert_to_float(&number, dtype, 1, &cells[c]);
        cells[c] = (cells[c] - dark) * gain;
        changed++;
    }
    return changed;
}

/* ---- a view ---- */

/* A band of a view during correction. */
typedef struct band {
    const block *b;
    size_t view, row0, row1; /* view of the block; rows to hand out */
    float *cells, *next;     /* rows from row0 - margin on, some of which may lie outside the detector */
    const char *kept;        /* original rows above row0 that the previous band has changed; NULL: none */
} band;

static char *row_out(const block *b, size_t view, size_t row) {
    return b->out + (view * (b->row1 - b->row0) + row - b->row0) * qb__near_row_bytes(b->neighbours->info);
}

static const char *row_in(const band *w, size_t row) {
    const block *b = w->b;
    const size_t bytes = qb__near_row_bytes(b->neighbours->info);
    if (row < b->row0) return b->top + w->view * b->apart + (row + b->above - b->row0) * bytes;
    if (row >= b->row1) return b->bottom + w->view * b->apart + (row - b->row1) * bytes;
    return row < w->row0 && w->kept ? w->kept + (row + b->neighbours->margin - w->row0) * bytes
                                    : row_out(b, w->view, row);
}

static float *line_of(const band *w, float *cells, ptrdiff_t row) {
    const qb__neighbours *d = w->b->neighbours;
    return cells + (size_t)(row + (ptrdiff_t)d->margin - (ptrdiff_t)w->row0) * stride_of(d->info) + EDGE;
}

/* Mirrors an index at the ends: row or column -1 is 1, and so on. */
static size_t mirrored(ptrdiff_t i, size_t count) {
    const ptrdiff_t n = (ptrdiff_t)count, period = n > 1 ? 2 * (n - 1) : 1;
    const ptrdiff_t at = ((i % period) + period) % period;
    return (size_t)(at < n ? at : period - at);
}

void qb__near_mirror(const qb_scan_info *info, float *row) {
    const ptrdiff_t columns = (ptrdiff_t)info->columns;
    for (ptrdiff_t e = 1; e <= EDGE; e++) {
        row[-e] = row[mirrored(-e, info->columns)];
        row[columns - 1 + e] = row[mirrored(columns - 1 + e, info->columns)];
    }
}

/* A row beyond the detector. Bright structure that ends in the detector's first or last row has bright neighbours beyond
 * it: it goes on in the mirror image `other`, or along `edge`, the row at the end. There a pixel counts as at most 1.25
 * times as bright as the darker of its neighbours, so that zingers have no copies beyond the detector. */
static void go_on(const float *edge, const float *other, size_t columns, float *out) {
    for (ptrdiff_t c = 1 - EDGE; c < (ptrdiff_t)columns + EDGE - 1; c++) {
        const float most = 1.25f * (edge[c - 1] < edge[c + 1] ? edge[c - 1] : edge[c + 1]);
        const float along = edge[c] > most ? most : edge[c];
        out[c] = along > other[c] ? along : other[c];
    }
}

/* Fills the surroundings of the rows: columns at both ends of each row, and up to `margin` rows beyond the first and
 * last row of the detector. */
static void surround(const band *w, float *cells, size_t margin) {
    const qb_scan_info *info = w->b->neighbours->info;
    const ptrdiff_t rows = (ptrdiff_t)info->rows, from = (ptrdiff_t)w->row0 - (ptrdiff_t)margin;
    const ptrdiff_t to = (ptrdiff_t)(w->row1 + margin);
    for (ptrdiff_t r = from > 0 ? from : 0; r < to && r < rows; r++) qb__near_mirror(info, line_of(w, cells, r));
    for (ptrdiff_t r = from; r < to; r++)
        if (r < 0 || r >= rows)
            go_on(line_of(w, cells, r < 0 ? 0 : rows - 1), line_of(w, cells, (ptrdiff_t)mirrored(r, info->rows)),
                  info->columns, line_of(w, cells, r));
}

/* Runs step `number` for the rows to return and `margin` more rows that the next steps need. */
static void run_step(band *w, int number, size_t margin) {
    qb__neighbours *d = w->b->neighbours;
    const size_t columns = d->info->columns, first = w->row0 > margin ? w->row0 - margin : 0;
    const size_t end = qb__smaller(w->row1 + margin, d->info->rows);
    float *cells = w->cells;
    surround(w, cells, margin + d->step[number]->margin);
    const qb__near near = {.cells = line_of(w, cells, (ptrdiff_t)first),
                           .stride = stride_of(d->info),
                           .rows = end - first,
                           .columns = columns,
                           .alone = d->info->rows == 1,
                           .gain = d->gain ? d->gain + first * columns : NULL,
                           .dark = d->dark ? d->dark + first * columns : NULL,
                           .noise = {(float)d->noise.base, (float)d->noise.slope},
                           .options = d->options};
    if (!d->step[number]->near(&near, line_of(w, w->next, (ptrdiff_t)first))) return;
    uint64_t changed = 0;
    for (size_t r = first; r < end; r++) {
        const bool mine = r >= w->row0 && r < w->row1;
        const uint64_t more = qb__near_settle(d, line_of(w, cells, (ptrdiff_t)r), r, line_of(w, w->next, (ptrdiff_t)r),
                                              mine ? row_out(w->b, w->view, r) : NULL);
        changed += mine ? more : 0;
    }
    atomic_fetch_add_explicit(&d->changed[number], changed, memory_order_relaxed);
    w->cells = w->next;
    w->next = cells;
}

static void correct_band(band *w, char *keep) {
    qb__neighbours *d = w->b->neighbours;
    const size_t margin = d->margin, first = w->row0 > margin ? w->row0 - margin : 0;
    const size_t end = qb__smaller(w->row1 + margin, d->info->rows);
    for (size_t r = first; r < end; r++) qb__near_transmissions(d, row_in(w, r), r, line_of(w, w->cells, (ptrdiff_t)r));
    if (w->row1 < w->b->row1)
        memcpy(keep, row_out(w->b, w->view, w->row1 - margin), margin * qb__near_row_bytes(d->info));
    for (int s = 0, ahead = (int)margin; s < d->steps; s++) run_step(w, s, (size_t)(ahead -= (int)d->step[s]->margin));
}

qb_status qb__near_correct(void *context, size_t view, size_t worker) {
    const block *b = context;
    const size_t margin = b->neighbours->margin, floats = scratch_floats(b->neighbours->info, margin);
    float *cells = (float *)b->scratch[worker];
    char *keep = b->scratch[worker] + floats * sizeof(float);
    const char *kept = NULL;
    for (size_t row = b->row0; row < b->row1; row += band_of(margin)) {
        band w = {.b = b,
                  .view = view,
                  .row0 = row,
                  .row1 = qb__smaller(row + band_of(margin), b->row1),
                  .cells = cells,
                  .next = cells + floats / 2,
                  .kept = kept};
        char *into = keep + (kept == keep ? margin * qb__near_row_bytes(b->neighbours->info) : 0);
        correct_band(&w, into);
        kept = into;
    }
    return QB_OK;
}
