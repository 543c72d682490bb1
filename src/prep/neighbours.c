/* SPDX-License-Identifier: MIT */
/* The door to rows (neighbours.h). Views are corrected in place, where they were read to, in bands of a few rows that stay in the
 * second-level cache; rows of a band that the next one looks at are kept as they were. */
#include "prep/neighbours.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/half.h"
#include "base/memory.h"
#include "base/share.h"
#include "base/status.h"
#include "prep/number_noise.h"
#include "quickbeam/io.h"

enum {
    BAND = 16, /* rows, or the margin if that is more */
    EDGE = QB__NEAR_COLUMNS,
    READ_BYTES = 4 << 20, /* read at a time, with the margin */
    MOST_BYTES = 64 << 20 /* where storage comes in pieces of many views: beyond it the margin is read by itself */
};

struct qb__neighbours {
    qb__scan_door door; /* first */
    qb__scan_door *before;
    qb_scan *scan;
    qb_scan_info stored; /* the scan's, with the type of what is stored */
    const qb_scan_info *info;
    const qb_prep_options *options;
    const qb__step *step[QB__PREP_STEPS];
    int steps;
    size_t margin;      /* of all steps together */
    float *gain, *beam; /* [row][column] of the detector: 1 / (flat - dark), and flat - dark; NULL: 1 */
    const float *dark;  /* likewise; the scan's */
    qb__number_noise noise;
    _Atomic uint64_t changed[QB__PREP_STEPS], pixels;
};

/* ---- life ---- */

static qb_status door_read(qb__scan_door *door, size_t view0, size_t view1, size_t row0, size_t row1, void *out);

static qb_status make_fields(qb__neighbours *d) {
    const size_t pixels = d->info->rows * d->info->columns;
    uint64_t dead;
    qb_status status = QB_OK;
    if (d->info->quantity != QB_COUNTS) return QB_OK;
    d->dark = d->scan->dark;
    if (!d->scan->flat) return QB_OK;
    QB__TRY(qb__alloc(pixels, sizeof *d->gain, &d->gain));
    QB__TRY(qb__alloc(pixels, sizeof *d->beam, &d->beam));
    qb__prep_gain(d->scan->flat, d->dark, pixels, d->gain, &dead);
    for (size_t i = 0; i < pixels; i++) d->beam[i] = d->gain[i] > 0 ? d->scan->flat[i] - (d->dark ? d->dark[i] : 0) : 0;
out:
    return status;
}

static qb_status create(qb_scan *scan, const qb_prep_options *options, qb__neighbours **door) {
    qb__neighbours *d;
    qb_status status = qb__alloc(1, sizeof *d, &d);
    if (status != QB_OK) return status;
    *door = d;
    d->door.read = door_read;
    d->before = scan->door;
    d->scan = scan;
    d->stored = scan->info;
    d->stored.dtype = qb__scan_dtype(scan);
    d->info = &d->stored;
    d->options = options;
    scan->door = &d->door;
    QB__TRY(make_fields(d));
    QB__TRY(qb__number_noise_of(scan, &(qb__number_fields){d->dark, d->gain, d->beam}, &d->noise));
out:
    return status;
}

qb_status qb__neighbours_add(qb_scan *scan, const qb_prep_options *options, const qb__step *step,
                             qb__neighbours **door) {
    const qb_scan_info *info = &scan->info;
    if (info->quantity == QB_LINE_INTEGRAL)
        return qb__fail(QB_BAD_INPUT, "%s: --%s works on counts or transmissions, not on line integrals (%s)",
                        info->path, step->name, info->quantity_from);
    qb_status status = *door ? QB_OK : create(scan, options, door);
    if (status != QB_OK) return status;
    (*door)->step[(*door)->steps++] = step;
    (*door)->margin += step->margin;
    return QB_OK;
}

void qb__neighbours_destroy(qb__neighbours *d) {
    if (!d) return;
    d->scan->door = d->before;
    qb__free(d->gain);
    qb__free(d->beam);
    qb__free(d);
}

int qb__neighbours_changed(const qb__neighbours *d, uint64_t changed[QB__PREP_STEPS + 1]) {
    for (int s = 0; d && s < d->steps; s++) changed[s] = d->changed[s];
    if (d) changed[QB__PREP_STEPS] = d->pixels;
    return d ? d->steps : 0;
}

void qb__neighbours_recount(qb__neighbours *d) {
    for (int s = 0; d && s < d->steps; s++) d->changed[s] = 0;
    if (d) d->pixels = 0;
}

const qb__step *qb__neighbours_step(const qb__neighbours *d, int number) { return d->step[number]; }

/* ---- sizes ---- */

static size_t band_of(size_t margin) { return qb__larger(BAND, margin); }
static size_t stride_of(const qb_scan_info *info) { return qb__round_up(info->columns + 2 * EDGE, 16); }
static size_t raw_row(const qb_scan_info *info) { return info->columns * qb_dtype_size(info->dtype); }

/* A thread's: two bands of floats, and rows that a band before this one has changed. */
static size_t scratch_floats(const qb_scan_info *info, size_t margin) {
    return 2 * (band_of(margin) + 2 * margin) * stride_of(info);
}
static size_t scratch_bytes(const qb_scan_info *info, size_t margin) {
    return scratch_floats(info, margin) * sizeof(float) + 2 * margin * raw_row(info);
}

size_t qb__neighbours_bytes(const qb_scan_info *info, const qb_prep_options *options, size_t rows) {
    size_t margin = 0, steps = 0;
    for (const qb__step *const *s = qb__steps; *s; s++) {
        if ((*s)->scope != QB__SCOPE_VIEW || !(*s)->wanted(info, options)) continue;
        margin += (*s)->margin;
        steps++;
    }
    if (!steps) return 0;
    const size_t fields = info->quantity == QB_COUNTS && info->flats ? 2 : 0;
    const size_t all = info->views * (rows + 2 * margin) * raw_row(info);
    return fields * info->rows * info->columns * sizeof(float) +
           qb__smaller(all, info->chunk_rows > 1 ? MOST_BYTES : READ_BYTES + (rows + 2 * margin) * raw_row(info)) +
           QB__SHARE_MOST * scratch_bytes(info, margin);
}

/* ---- on devices ---- */

size_t qb__neighbours_on_device(const qb_scan_info *info, const qb_prep_options *options) {
    const qb__step *only = NULL;
    for (const qb__step *const *s = qb__steps; *s; s++) {
        if ((*s)->scope != QB__SCOPE_VIEW || !(*s)->wanted(info, options)) continue;
        if (only || !(*s)->define || info->quantity == QB_LINE_INTEGRAL) return 0;
        only = *s;
    }
    return only ? only->margin : 0;
}

qb__near_plan qb__neighbours_plan(const qb__neighbours *d) {
    qb__near_plan plan = {.dtype = d->info->dtype,
                          .rows = d->info->rows,
                          .columns = d->info->columns,
                          .dark = d->dark,
                          .gain = d->gain,
                          .beam = d->beam,
                          .base = (float)d->noise.base,
                          .slope = (float)d->noise.slope,
                          .margin = d->margin};
    d->step[0]->define(d->options, &plan.step);
    return plan;
}

void qb__neighbours_count(qb__neighbours *d, uint64_t changed, uint64_t pixels) {
    atomic_fetch_add_explicit(&d->changed[0], changed, memory_order_relaxed);
    atomic_fetch_add_explicit(&d->pixels, pixels, memory_order_relaxed);
}

/* ---- numbers ---- */

/* The nearest number of an integer type. */
static double nearest(float value, double least, double most) { return fmin(fmax(rint((double)value), least), most); }

/* A value as a number of the scan's type. */
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

/* Numbers of a row -> transmissions. */
static void transmissions(const qb__neighbours *d, const void *raw, size_t row, float *out) {
    const size_t columns = d->info->columns, at = row * columns;
    const float *dark = d->dark ? d->dark + at : NULL, *gain = d->gain ? d->gain + at : NULL;
    qb_convert_to_float(raw, d->info->dtype, columns, out);
    for (size_t c = 0; dark && c < columns; c++) out[c] -= dark[c];
    for (size_t c = 0; gain && c < columns; c++) out[c] *= gain[c];
}

/* Transmissions that a step has changed become numbers, and what these come to again: the next step sees what is handed out.
 * raw: the row, NULL: it is only looked at. */
static uint64_t settle(const qb__neighbours *d, const float *was, size_t row, float *cells, void *raw) {
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

/* Views view0 <= view < view1, rows row0 <= row < row1 of which are in `out`; those above and below may lie elsewhere. */
typedef struct block {
    qb__neighbours *door;
    size_t view0, row0, row1;
    size_t above, below; /* rows there */
    char *out;
    const char *top, *bottom; /* of the first view; ... */
    size_t apart;             /* ... bytes between views of both */
    char **scratch;
} block;

/* A band of a view in work. */
typedef struct band {
    const block *b;
    size_t view, row0, row1; /* view of the block; rows to hand out */
    float *cells, *next;     /* from row `row0 - margin` on, which the detector may not have */
    const char *kept;        /* rows above row0 that have been changed; NULL: none have */
} band;

static char *row_out(const block *b, size_t view, size_t row) {
    return b->out + (view * (b->row1 - b->row0) + row - b->row0) * raw_row(b->door->info);
}

static const char *row_in(const band *w, size_t row) {
    const block *b = w->b;
    const size_t bytes = raw_row(b->door->info);
    if (row < b->row0) return b->top + w->view * b->apart + (row + b->above - b->row0) * bytes;
    if (row >= b->row1) return b->bottom + w->view * b->apart + (row - b->row1) * bytes;
    return row < w->row0 && w->kept ? w->kept + (row + b->door->margin - w->row0) * bytes : row_out(b, w->view, row);
}

static float *line_of(const band *w, float *cells, ptrdiff_t row) {
    const qb__neighbours *d = w->b->door;
    return cells + (size_t)(row + (ptrdiff_t)d->margin - (ptrdiff_t)w->row0) * stride_of(d->info) + EDGE;
}

/* Row or column -1 is 1, and so on. */
static size_t mirrored(ptrdiff_t i, size_t count) {
    const ptrdiff_t n = (ptrdiff_t)count, period = n > 1 ? 2 * (n - 1) : 1;
    const ptrdiff_t at = ((i % period) + period) % period;
    return (size_t)(at < n ? at : period - at);
}

/* What stands around rows of the detector: columns at both ends of each, and up to `margin` rows beyond its first and last. */
static void surround(const band *w, float *cells, size_t margin) {
    const qb_scan_info *info = w->b->door->info;
    const ptrdiff_t columns = (ptrdiff_t)info->columns, rows = (ptrdiff_t)info->rows;
    const ptrdiff_t from = (ptrdiff_t)w->row0 - (ptrdiff_t)margin, to = (ptrdiff_t)(w->row1 + margin);
    for (ptrdiff_t r = from > 0 ? from : 0; r < to && r < rows; r++) {
        float *line = line_of(w, cells, r);
        for (ptrdiff_t e = 1; e <= EDGE; e++) {
            line[-e] = line[mirrored(-e, info->columns)];
            line[columns - 1 + e] = line[mirrored(columns - 1 + e, info->columns)];
        }
    }
    for (ptrdiff_t r = from; r < to; r++)
        if (r < 0 || r >= rows)
            memcpy(line_of(w, cells, r) - EDGE, line_of(w, cells, (ptrdiff_t)mirrored(r, info->rows)) - EDGE,
                   (size_t)(columns + 2 * EDGE) * sizeof(float));
}

/* Rows that step `number` makes: those to hand out, and `margin` more that the next ones look at. */
static void run_step(band *w, int number, size_t margin) {
    qb__neighbours *d = w->b->door;
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
    if (d->step[number]->near(&near, line_of(w, w->next, (ptrdiff_t)first))) {
        uint64_t changed = 0;
        for (size_t r = first; r < end; r++) {
            const bool mine = r >= w->row0 && r < w->row1;
            const uint64_t more = settle(d, line_of(w, cells, (ptrdiff_t)r), r, line_of(w, w->next, (ptrdiff_t)r),
                                         mine ? row_out(w->b, w->view, r) : NULL);
            changed += mine ? more : 0;
        }
        atomic_fetch_add_explicit(&d->changed[number], changed, memory_order_relaxed);
    }
    w->cells = w->next;
    w->next = cells;
}

static void correct_band(band *w, char *keep) {
    qb__neighbours *d = w->b->door;
    const size_t margin = d->margin, first = w->row0 > margin ? w->row0 - margin : 0;
    const size_t end = qb__smaller(w->row1 + margin, d->info->rows);
    for (size_t r = first; r < end; r++) transmissions(d, row_in(w, r), r, line_of(w, w->cells, (ptrdiff_t)r));
    if (w->row1 < w->b->row1) memcpy(keep, row_out(w->b, w->view, w->row1 - margin), margin * raw_row(d->info));
    for (int s = 0, ahead = (int)margin; s < d->steps; s++) run_step(w, s, (size_t)(ahead -= (int)d->step[s]->margin));
}

static qb_status correct_view(void *context, size_t view, size_t worker) {
    const block *b = context;
    const size_t margin = b->door->margin, floats = scratch_floats(b->door->info, margin);
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
        char *into = keep + (kept == keep ? margin * raw_row(b->door->info) : 0);
        correct_band(&w, into);
        kept = into;
    }
    return QB_OK;
}

/* ---- reading ---- */

static qb_status make_scratch(const qb__neighbours *d, size_t threads, char ***scratch) {
    qb_status status = qb__alloc(threads, sizeof **scratch, scratch);
    for (size_t i = 0; i < threads && status == QB_OK; i++)
        status = qb__alloc(scratch_bytes(d->info, d->margin), 1, &(*scratch)[i]);
    return status;
}

static void free_scratch(char **scratch, size_t threads) {
    for (size_t i = 0; scratch && i < threads; i++) qb__free(scratch[i]);
    qb__free(scratch);
}

/* Rows with their margins in one piece. */
static qb_status read_together(block *b, size_t views, char *around) {
    const qb__neighbours *d = b->door;
    const size_t bytes = raw_row(d->info), rows = b->row1 - b->row0;
    b->apart = (b->above + rows + b->below) * bytes;
    b->top = around;
    b->bottom = around + (b->above + rows) * bytes;
    const qb_status status =
        qb__scan_read_stored(d->scan, b->view0, b->view0 + views, b->row0 - b->above, b->row1 + b->below, around);
    for (size_t v = 0; v < views && status == QB_OK; v++)
        memcpy(b->out + v * rows * bytes, around + v * b->apart + b->above * bytes, rows * bytes);
    return status;
}

/* Rows where they belong, margins beside them: those above of all views, then those below. */
static qb_status read_apart(block *b, size_t views, char *around) {
    const qb__neighbours *d = b->door;
    const size_t margin = qb__larger(b->above, b->below), bytes = raw_row(d->info), end = b->view0 + views;
    qb_status status = qb__scan_read_stored(d->scan, b->view0, end, b->row0, b->row1, b->out);
    b->apart = margin * bytes;
    b->top = around;
    b->bottom = around + views * b->apart;
    for (size_t v = 0; v < views; v++) {
        char *top = around + v * b->apart, *bottom = top + views * b->apart;
        const size_t view = b->view0 + v;
        if (b->above && status == QB_OK)
            status = qb__scan_read_stored(d->scan, view, view + 1, b->row0 - b->above, b->row0, top);
        if (b->below && status == QB_OK)
            status = qb__scan_read_stored(d->scan, view, view + 1, b->row1, b->row1 + b->below, bottom);
    }
    return status;
}

/* Views of a piece of storage. */
static size_t views_of_piece(const qb__neighbours *d) {
    const qb__source *source = d->scan->parts.data.source;
    return qb__larger(1, qb__ceil_div(source->chunk[d->scan->sinogram ? 1 : 0], d->scan->step));
}

static qb_status door_read(qb__scan_door *door, size_t view0, size_t view1, size_t row0, size_t row1, void *out) {
    qb__neighbours *d = (qb__neighbours *)door;
    const size_t bytes = raw_row(d->info), rows = row1 - row0,
                 threads = qb__smaller(d->scan->parts.data.source->threads, QB__SHARE_MOST);
    block b = {.door = d,
               .row0 = row0,
               .row1 = row1,
               .above = qb__smaller(d->margin, row0),
               .below = qb__smaller(d->margin, d->info->rows - row1)};
    const size_t piece = views_of_piece(d), view_bytes = (rows + b.above + b.below) * bytes;
    const bool together = piece * view_bytes <= MOST_BYTES, whole = b.above + b.below == 0;
    const size_t each = whole || !together
                            ? view1 - view0
                            : qb__smaller(view1 - view0, qb__round_up(READ_BYTES / view_bytes + 1, piece));
    char *around = NULL;
    qb_status status;
    if (!whole) QB__TRY(qb__alloc(each, together ? view_bytes : 2 * qb__larger(b.above, b.below) * bytes, &around));
    QB__TRY(make_scratch(d, threads, &b.scratch));
    for (size_t view = view0; view < view1; view += each) {
        const size_t views = qb__smaller(each, view1 - view);
        b.view0 = view;
        b.out = (char *)out + (view - view0) * rows * bytes;
        QB__TRY(whole || !together ? read_apart(&b, views, around) : read_together(&b, views, around));
        qb__scan_digest(d->scan, view, view + views, row0, row1, b.out);
        QB__TRY(qb__share(threads, views, correct_view, &b));
        atomic_fetch_add_explicit(&d->pixels, views * rows * d->info->columns, memory_order_relaxed);
    }
out:
    free_scratch(b.scratch, threads);
    qb__free(around);
    return status;
}
