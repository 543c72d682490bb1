/* SPDX-License-Identifier: MIT */
/* Reads rows with their margins and corrects them in place (see neighbours.h). */
#include "prep/neighbours.h"

#include <string.h>

#include "base/memory.h"
#include "base/share.h"
#include "base/status.h"
#include "prep/neighbours_parts.h"
#include "quickbeam/io.h"

enum {
    READ_BYTES = 4 << 20, /* bytes that are read at a time, with the margin */
    MOST_BYTES = 64 << 20 /* largest piece of views in chunked storage; for larger ones the margin is read separately */
};

/* ---- create and destroy ---- */

static qb_status read_rows(qb__row_reader *reader, size_t view0, size_t view1, size_t row0, size_t row1, void *out);

static qb_status make_fields(qb__neighbours *d) {
    const size_t pixels = d->info->rows * d->info->columns;
    uint64_t dead;
    if (d->info->quantity != QB_COUNTS) return QB_OK;
    d->dark = d->scan->dark;
    if (!d->scan->flat) return QB_OK;
    QB__OR_RETURN(qb__alloc(pixels, sizeof *d->gain, &d->gain));
    QB__OR_RETURN(qb__alloc(pixels, sizeof *d->beam, &d->beam));
    qb__prep_gain(d->scan->flat, d->dark, pixels, d->gain, &dead);
    const float *flat = d->scan->flat, *dark = d->dark, *gain = d->gain;
    float *beam = d->beam;
    for (size_t i = 0; i < pixels; i++) {
        const float above = flat[i] - (dark ? dark[i] : 0);
        beam[i] = gain[i] > 0 ? above : 0;
    }
    return QB_OK;
}

static qb_status create(qb_scan *scan, const qb_prep_options *options, qb__neighbours **neighbours) {
    qb__neighbours *d;
    qb_status status = qb__alloc(1, sizeof *d, &d);
    if (status != QB_OK) return status;
    *neighbours = d;
    d->row_reader.read = read_rows;
    d->scan = scan;
    d->stored = scan->info;
    d->stored.dtype = qb__scan_dtype(scan);
    d->info = &d->stored;
    d->options = options;
    d->before = qb__scan_set_corrected(scan, &d->row_reader);
    QB__TRY(make_fields(d));
    QB__TRY(qb__number_noise_of(scan, &(qb__number_fields){d->dark, d->gain, d->beam}, &d->noise));
out:
    return status;
}

qb_status qb__neighbours_add(qb_scan *scan, const qb_prep_options *options, const qb__step *step,
                             qb__neighbours **neighbours) {
    const qb_scan_info *info = &scan->info;
    if (info->quantity == QB_LINE_INTEGRAL)
        return qb__fail(QB_BAD_INPUT, "%s: --%s works on counts or transmissions, not on line integrals (%s)",
                        info->path, step->name, info->quantity_from);
    QB__OR_RETURN(*neighbours ? QB_OK : create(scan, options, neighbours));
    if (step->by_views && step->by_views(options)) QB__OR_RETURN(qb__near_pairs(info, &(*neighbours)->pairs));
    (*neighbours)->step[(*neighbours)->steps++] = step;
    (*neighbours)->margin += step->margin;
    return QB_OK;
}

void qb__neighbours_destroy(qb__neighbours *d) {
    if (!d) return;
    qb__scan_set_corrected(d->scan, d->before);
    QB__FREE(d->gain, d->beam, d->pairs);
    qb__free(atomic_load(&d->kept));
    qb__free(d);
}

int qb__neighbours_changed(const qb__neighbours *d, uint64_t changed[QB__PREP_STEPS + 1]) {
    for (int s = 0; d && s < d->steps; s++) changed[s] = d->changed[s];
    if (d) changed[QB__PREP_STEPS] = d->pixels;
    return d ? d->steps : 0;
}

const char *qb__neighbours_by(const qb__neighbours *d) { return d->on_device ? "device" : "CPU"; }

void qb__neighbours_recount(qb__neighbours *d) {
    if (d && d->counted) return;
    for (int s = 0; d && s < d->steps; s++) d->changed[s] = 0;
    if (d) d->pixels = 0;
}

const qb__step *qb__neighbours_step(const qb__neighbours *d, int number) { return d->step[number]; }

/* ---- sizes ---- */

size_t qb__neighbours_bytes(const qb_scan_info *info, const qb_prep_options *options, size_t rows) {
    size_t margin = 0, steps = 0, pairs = 0;
    for (const qb__step *const *s = qb__steps; *s; s++) {
        if ((*s)->scope != QB__SCOPE_VIEW || !(*s)->wanted(info, options)) continue;
        margin += (*s)->margin;
        pairs += (*s)->by_views && (*s)->by_views(options) ? 2 : 0;
        steps++;
    }
    if (!steps) return 0;
    const size_t fields = info->quantity == QB_COUNTS && info->flats ? 2 : 0;
    const size_t all = info->views * (rows + 2 * margin) * qb__near_row_bytes(info);
    return fields * info->rows * info->columns * sizeof(float) + pairs * info->views * sizeof(uint32_t) +
           pairs * rows * qb__near_row_bytes(info) +
           qb__smaller(all, info->chunk_rows > 1 ? MOST_BYTES
                                                 : READ_BYTES + (rows + 2 * margin) * qb__near_row_bytes(info)) +
           QB__SHARE_MOST * qb__near_scratch(info, margin);
}

/* ---- on devices ---- */

size_t qb__neighbours_on_device(const qb_scan_info *info, const qb_prep_options *options, bool all_views) {
    const qb__step *only = NULL;
    for (const qb__step *const *s = qb__steps; *s; s++) {
        if ((*s)->scope != QB__SCOPE_VIEW || !(*s)->wanted(info, options)) continue;
        if (!all_views && (*s)->by_views && (*s)->by_views(options)) return 0;
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
                          .margin = d->margin,
                          .views = d->info->views,
                          .pairs = d->pairs};
    d->step[0]->define(d->options, &plan.step);
    return plan;
}

void qb__neighbours_count(qb__neighbours *d, uint64_t changed, uint64_t pixels, bool all) {
    d->counted |= all;
    d->on_device = true;
    atomic_fetch_add_explicit(&d->changed[0], changed, memory_order_relaxed);
    atomic_fetch_add_explicit(&d->pixels, pixels, memory_order_relaxed);
}

/* ---- reading ---- */

static qb_status make_scratch(qb__neighbours *d, size_t threads, char ***scratch) {
    qb_status status = qb__alloc(threads, sizeof **scratch, scratch);
    if (status == QB_OK) (*scratch)[0] = atomic_exchange(&d->kept, NULL);
    for (size_t i = 0; i < threads && status == QB_OK; i++)
        if (!(*scratch)[i]) status = qb__alloc(qb__near_scratch(d->info, d->margin), 1, &(*scratch)[i]);
    return status;
}

/* Keep the scratch of one thread: checks read single rows, and allocating fresh memory takes as long as correcting a
 * row. */
static void free_scratch(qb__neighbours *d, char **scratch, size_t threads) {
    if (scratch) scratch[0] = atomic_exchange(&d->kept, scratch[0]);
    for (size_t i = 0; scratch && i < threads; i++) qb__free(scratch[i]);
    qb__free(scratch);
}

/* Reads rows and their margins in one piece. */
static qb_status read_together(qb__near_views *b, size_t views, char *around) {
    const qb__neighbours *d = b->neighbours;
    const size_t bytes = qb__near_row_bytes(d->info), rows = b->row1 - b->row0;
    b->apart = (b->above + rows + b->below) * bytes;
    b->top = around;
    b->bottom = around + (b->above + rows) * bytes;
    const qb_status status = qb__scan_read_hashed(d->scan, b->view0, b->view0 + views, b->row0 - b->above,
                                                  b->row1 + b->below, b->row0, b->row1, around);
    for (size_t v = 0; v < views && status == QB_OK; v++)
        memcpy(b->out + v * rows * bytes, around + v * b->apart + b->above * bytes, rows * bytes);
    return status;
}

/* Reads rows directly to their destination, and the margins separately: the rows above for all views, then the rows
 * below. */
static qb_status read_apart(qb__near_views *b, size_t views, char *around) {
    const qb__neighbours *d = b->neighbours;
    const size_t margin = qb__larger(b->above, b->below), bytes = qb__near_row_bytes(d->info), end = b->view0 + views;
    qb_status status = qb__scan_read_past(d->scan, b->view0, end, b->row0, b->row1, b->out);
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

/* Number of threads that have enough work: checks read single rows, and starting a thread takes as long as correcting
 * thousands of pixels. */
static size_t threads_for(const qb__neighbours *d, size_t views, size_t rows) {
    enum { WORTH = 1 << 17 /* pixels */ };
    const size_t all = qb__smaller(d->scan->parts.data.source->threads, QB__SHARE_MOST),
                 busy = views * rows * d->info->columns / WORTH;
    return qb__larger(1, qb__smaller(qb__smaller(all, views), busy));
}

static qb_status read_by_views(qb__neighbours *d, size_t view0, size_t view1, size_t row0, size_t row1, void *out) {
    const size_t threads = threads_for(d, row1 - row0, view1 - view0);
    QB__OR_RETURN(qb__scan_read_past(d->scan, view0, view1, row0, row1, out));
    atomic_fetch_add_explicit(&d->pixels, (view1 - view0) * (row1 - row0) * d->info->columns, memory_order_relaxed);
    return qb__near_correct_views(d, view0, view1, row0, row1, threads, out);
}

static qb_status read_rows(qb__row_reader *reader, size_t view0, size_t view1, size_t row0, size_t row1, void *out) {
    qb__neighbours *d = (qb__neighbours *)reader;
    const size_t bytes = qb__near_row_bytes(d->info), rows = row1 - row0, threads = threads_for(d, view1 - view0, rows);
    qb__near_views b = {.neighbours = d,
                        .row0 = row0,
                        .row1 = row1,
                        .above = qb__smaller(d->margin, row0),
                        .below = qb__smaller(d->margin, d->info->rows - row1)};
    const size_t piece = qb__scan_views_together(d->scan), view_bytes = (rows + b.above + b.below) * bytes;
    const bool together = piece * view_bytes <= MOST_BYTES, whole = b.above + b.below == 0;
    const size_t each = whole || !together
                            ? view1 - view0
                            : qb__smaller(view1 - view0, qb__round_up(READ_BYTES / view_bytes + 1, piece));
    char *around = NULL;
    qb_status status;
    if (d->pairs) return read_by_views(d, view0, view1, row0, row1, out);
    if (!whole) QB__TRY(qb__alloc(each, together ? view_bytes : 2 * qb__larger(b.above, b.below) * bytes, &around));
    QB__TRY(make_scratch(d, threads, &b.scratch));
    for (size_t view = view0; view < view1; view += each) {
        const size_t views = qb__smaller(each, view1 - view);
        b.view0 = view;
        b.out = (char *)out + (view - view0) * rows * bytes;
        QB__TRY(whole || !together ? read_apart(&b, views, around) : read_together(&b, views, around));
        QB__TRY(qb__share(threads, views, qb__near_correct, &b));
        atomic_fetch_add_explicit(&d->pixels, views * rows * d->info->columns, memory_order_relaxed);
    }
out:
    free_scratch(d, b.scratch, threads);
    qb__free(around);
    return status;
}
