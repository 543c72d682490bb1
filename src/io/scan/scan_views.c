/* SPDX-License-Identifier: MIT */
/* Selection of the stored views of a scan, and reading them. */
#include <string.h>

#include "base/fork.h"
#include "base/memory.h"
#include "base/share.h"
#include "base/status.h"
#include "io/scan/frame_list.h"
#include "io/scan/scan.h"
#include "io/tensor/tensor_stack.h"

/* ---- selection ---- */

/* Evenly spaced views need no list. */
static void settle(qb_scan *scan) {
    qb_scan_info *info = &scan->info;
    const size_t step = info->views > 1 ? scan->view[1] - scan->view[0] : 1;
    size_t i = 1;
    while (i < info->views && scan->view[i] == scan->view[i - 1] + step) i++;
    scan->first = scan->view[0];
    scan->step = i < info->views ? 1 : step;
    if (i >= info->views) {
        qb__free(scan->view);
        scan->view = NULL;
    }
    info->first_view = scan->first, info->view_step = scan->step, info->stored_views = scan->view;
}

qb_status qb__scan_keep(qb_scan *scan, const bool *keep) {
    qb_scan_info *info = &scan->info;
    size_t *view, count = 0;
    QB__OR_RETURN(qb__alloc(info->views, sizeof *view, &view));
    for (size_t i = 0; i < info->views; i++) {
        if (!keep[i]) continue;
        view[count] = qb__scan_stored(scan, i);
        if (scan->angles) scan->angles[count] = scan->angles[i];
        if (scan->intensity) scan->intensity[count] = scan->intensity[i];
        count++;
    }
    qb__free(scan->view);
    scan->view = view;
    info->views = count;
    settle(scan);
    return QB_OK;
}

static qb_status exclude(qb_scan *scan, const char *list) {
    qb_scan_info *info = &scan->info;
    bool *out, *keep = NULL;
    size_t left = 0;
    qb_status status;
    QB__TRY(qb__alloc(scan->stored, sizeof *out, &out));
    QB__TRY(qb__alloc(info->views, sizeof *keep, &keep));
    QB__TRY(qb__frame_list_parse(list, "--exclude", scan->stored, out));
    for (size_t i = 0; i < info->views; i++) left += keep[i] = !out[qb__scan_stored(scan, i)];
    if (left == 0)
        status = qb__fail(QB_BAD_ARGUMENT, "--exclude %s leaves none of %zu views", list, info->views);
    else
        status = qb__scan_keep(scan, keep);
out:
    QB__FREE(out, keep);
    return status;
}

qb_status qb__scan_choose_views(qb_scan *scan, const qb_scan_options *options) {
    qb_scan_info *info = &scan->info;
    size_t end;
    QB__OR_RETURN(qb_range_parse(options->views, "--views", scan->stored, &scan->first, &end, &scan->step));
    info->views = qb__ceil_div(end - scan->first, scan->step);
    info->first_view = scan->first, info->view_step = scan->step;
    return options->exclude && *options->exclude ? exclude(scan, options->exclude) : QB_OK;
}

/* Number of views from `view` on, before `end`, that are evenly spaced in the source; *step: their distance. */
static size_t even_run(const qb_scan *scan, size_t view, size_t end, size_t *step) {
    size_t n = 2;
    *step = scan->step;
    if (!scan->view) return end - view;
    if (view + 1 == end) return 1;
    *step = scan->view[view + 1] - scan->view[view];
    while (view + n < end && scan->view[view + n] == scan->view[view + n - 1] + *step) n++;
    return n;
}

qb_status qb__scan_check_holes(const qb_scan *scan) {
    const qb__frames *data = &scan->parts.data;
    qb_status status = QB_OK;
    if (scan->sinogram) return qb__source_check_holes(data->source, NULL, 0, data->source->shape[0], 1);
    for (size_t view = 0, n, step; view < scan->info.views && status == QB_OK; view += n) {
        n = even_run(scan, view, scan->info.views, &step);
        status = qb__source_check_holes(data->source, data->index, qb__scan_stored(scan, view), n, step);
    }
    return status;
}

/* ---- a geometry for all stored views ---- */

struct qb__chosen_views {
    struct qb__chosen_views *next;
    qb_geometry geometry; /* the caller's geometry with only the scan's views */
};

const qb_geometry *qb__scan_views_of(qb_scan *scan, const qb_geometry *given) {
    const qb_scan_info *info = &scan->info;
    struct qb__chosen_views *chosen;
    if (!given || !given->view || given->views == info->views || given->views != info->stored) return given;
    if (qb__alloc(1, sizeof *chosen, &chosen) != QB_OK) return given;
    chosen->geometry = *given;
    if (qb__alloc(info->views, sizeof *chosen->geometry.view, &chosen->geometry.view) != QB_OK) {
        qb__free(chosen);
        return given;
    }
    for (size_t i = 0; i < info->views; i++) chosen->geometry.view[i] = given->view[qb__scan_stored(scan, i)];
    chosen->geometry.views = info->views;
    chosen->next = scan->chosen;
    scan->chosen = chosen;
    return &chosen->geometry;
}

void qb__scan_forget_views(qb_scan *scan) {
    while (scan->chosen) {
        struct qb__chosen_views *chosen = scan->chosen;
        scan->chosen = chosen->next;
        QB__FREE(chosen->geometry.view, chosen);
    }
}

/* ---- reading ---- */

/* Read row by row, because sinograms are stored [view][column] but wanted [view][row][column]. */
static qb_status read_sinograms(qb_scan *scan, size_t view0, size_t view1, size_t row0, size_t row1, char *out) {
    qb__source *source = scan->parts.data.source;
    const size_t bytes = qb__source_row_bytes(source), rows = row1 - row0;
    const size_t first = qb__scan_stored(scan, view0), end = qb__scan_stored(scan, view1 - 1) + 1;
    char *lines;
    qb_status status = qb__alloc(end - first, bytes, &lines);
    for (size_t r = 0; r < rows && status == QB_OK; r++) {
        const qb__region region = {row0 + r, 1, 1, first, end};
        status = source->read(source, &region, lines);
        for (size_t v = view0; v < view1 && status == QB_OK; v++)
            memcpy(out + ((v - view0) * rows + r) * bytes, lines + (qb__scan_stored(scan, v) - first) * bytes, bytes);
    }
    qb__free(lines);
    return status;
}

static qb_status read_projections(qb_scan *scan, size_t view0, size_t view1, size_t row0, size_t row1, char *out) {
    const size_t image = (row1 - row0) * qb__source_row_bytes(scan->parts.data.source);
    qb_status status = QB_OK;
    for (size_t view = view0, n; view < view1 && status == QB_OK; view += n, out += n * image) {
        size_t step;
        n = even_run(scan, view, view1, &step);
        const qb__region region = {qb__scan_stored(scan, view), n, step, row0, row1};
        status = qb__frames_read(&scan->parts.data, &region, out);
    }
    return status;
}

qb_status qb__scan_read_stored(qb_scan *scan, size_t view0, size_t view1, size_t row0, size_t row1, void *out) {
    return scan->sinogram ? read_sinograms(scan, view0, view1, row0, row1, out)
                          : read_projections(scan, view0, view1, row0, row1, out);
}

/* A read in pieces, each of which a thread adds to the digests while it is in that thread's cache: some whole views, or
 * some rows of one. */
typedef struct hashed {
    qb_scan *scan;
    size_t view0, view1, row0, row1, first, end; /* rows read; rows that the digests gather */
    size_t views, rows, cuts;                    /* of a piece; pieces of a view */
    char *out;
} hashed;

static qb_status read_piece(void *context, size_t piece, size_t worker) {
    const hashed *h = context;
    const size_t view = h->view0 + piece / h->cuts * h->views, views = qb__smaller(h->views, h->view1 - view);
    const size_t row = h->row0 + piece % h->cuts * h->rows, end = qb__smaller(row + h->rows, h->row1);
    const size_t bytes = qb__source_row_bytes(h->scan->parts.data.source);
    const size_t first = qb__larger(row, h->first), last = qb__smaller(end, h->end);
    char *out = h->out + ((view - h->view0) * (h->row1 - h->row0) + row - h->row0) * bytes;
    (void)worker;
    const qb_status status = read_projections(h->scan, view, view + views, row, end, out);
    if (status == QB_OK && first < last)
        qb__digests_add(&h->scan->digests, view, view + views, first, last, out + (first - row) * bytes, end - row, 1);
    return status;
}

qb_status qb__scan_read_hashed(qb_scan *scan, size_t view0, size_t view1, size_t row0, size_t row1, size_t first,
                               size_t end, void *out) {
    const qb__source *source = scan->parts.data.source;
    const size_t bytes = qb__source_row_bytes(source), rows = row1 - row0;
    if (scan->sinogram || !source->direct) {
        const qb_status status = qb__scan_read_stored(scan, view0, view1, row0, row1, out);
        if (status == QB_OK)
            qb__digests_add(&scan->digests, view0, view1, first, end, (char *)out + (first - row0) * bytes, rows,
                            source->threads);
        return status;
    }
    hashed h = {scan, view0, view1, row0, row1, first, end, .out = out};
    h.rows = qb__smaller(rows, qb__larger(1, QB__PIECE_LEAST / bytes));
    h.cuts = qb__ceil_div(rows, h.rows);
    h.views = qb__larger(1, QB__PIECE_LEAST / (rows * bytes));
    return qb__share(source->threads, qb__ceil_div(view1 - view0, h.views) * h.cuts, read_piece, &h);
}

qb_status qb__scan_read_past(qb_scan *scan, size_t view0, size_t view1, size_t row0, size_t row1, void *out) {
    return qb__scan_read_hashed(scan, view0, view1, row0, row1, row0, row1, out);
}

/* In views that were read, out[views][row1 - row0][column], masked pixels become NaN, or the type's maximum for
 * integers. */
static void blank_pixels(const qb_scan *scan, size_t views, size_t row0, size_t row1, void *out) {
    /* The lowest bytes of each are NaN of a float and the largest number of an integer. */
    static const uint64_t none[] = {[QB_U8] = 0xff,    [QB_I8] = 0x7f,        [QB_U16] = 0xffff,
                                    [QB_I16] = 0x7fff, [QB_U32] = 0xffffffff, [QB_I32] = 0x7fffffff,
                                    [QB_F16] = 0x7e00, [QB_F32] = 0x7fc00000, [QB_F64] = 0x7ff8000000000000};
    const size_t pixels = (row1 - row0) * scan->info.columns, size = qb_dtype_size(scan->info.dtype);
    const unsigned char *unmeasured = scan->unmeasured + row0 * scan->info.columns;
    for (size_t i = 0; i < pixels; i++)
        for (size_t v = 0; unmeasured[i] && v < views; v++)
            memcpy((char *)out + (v * pixels + i) * size, &none[scan->info.dtype], size);
}

qb_status qb_scan_read(qb_scan *scan, size_t view0, size_t view1, size_t row0, size_t row1, void *out) {
    QB__NEED(scan);
    QB__NEED(out);
    QB__CALL();
    const qb_scan_info *info = &scan->info;
    if (view0 > view1 || view1 > info->views || row0 > row1 || row1 > info->rows)
        return qb__fail(QB_BAD_ARGUMENT, "%s: views %zu:%zu, rows %zu:%zu of %zu x %zu", info->path, view0, view1, row0,
                        row1, info->views, info->rows);
    if (view0 == view1 || row0 == row1) return QB_OK;
    qb__row_reader *reader = scan->filtered ? scan->filtered : scan->corrected;
    const qb_status status = reader ? reader->read(reader, view0, view1, row0, row1, out)
                                    : qb__scan_read_past(scan, view0, view1, row0, row1, out);
    if (status == QB_OK && scan->blank) blank_pixels(scan, view1 - view0, row0, row1, out);
    return status;
}

/* ---- copies for a job ---- */

void qb__scan_read_through(const qb_scan *scan, qb__row_reader *reader, struct qb__warp *warp, qb_scan *copy) {
    *copy = *scan;
    copy->digests = NULL;
    copy->filtered = reader;
    copy->warp = warp;
    copy->info.dtype = QB_F32;
}

void qb__scan_unwarped(const qb_scan *scan, qb__digest *digests, qb_scan *copy) {
    *copy = *scan;
    copy->digests = digests;
    copy->filtered = NULL;
    copy->warp = NULL;
    copy->distortion.factors = 0;
    copy->info.shifts = copy->info.turns = NULL;
    copy->info.dtype = qb__scan_dtype(scan);
}

void qb__scan_read_as(const qb_scan *scan, qb_scan *copy) {
    copy->corrected = scan->corrected;
    copy->digests = scan->digests;
}

qb__row_reader *qb__scan_set_corrected(qb_scan *scan, qb__row_reader *reader) {
    qb__row_reader *before = scan->corrected;
    scan->corrected = reader;
    return before;
}

qb__tensor_device *qb__scan_on_device(qb_scan *scan) { return qb__tensor_device_of(scan->parts.data.source); }
