/* SPDX-License-Identifier: MIT */
#include "prep/dense.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/memory.h"
#include "base/share.h"
#include "base/status.h"
#include "prep/scan_rows.h"
#include "quickbeam/io.h"

enum { READ_BYTES = 32 << 20 };

struct qb__dense {
    qb__row_reader row_reader; /* must be the first member */
    qb_scan scan;              /* the job's scan */
    qb_scan *from;
    bool own; /* `from` is read through its own filter */
    qb__scan_rows rows;
    qb__two two;
    qb__two_beam beam;
    qb__dense_paths paths;
    float floor; /* smallest transmission */
    atomic_ullong clamped;
};

static qb_status read_rows(qb__row_reader *reader, size_t view0, size_t view1, size_t row0, size_t row1, void *out);

static qb_status check(const qb_scan_info *info, bool flats) {
    if (!(info->pixel_size > 0))
        return qb__fail(QB_BAD_INPUT, "%s: --hardening two: needs lengths in mm: give --pixel-size MM", info->path);
    if (info->quantity == QB_COUNTS && !flats)
        return qb__fail(QB_BAD_INPUT, "%s: --hardening two: of counts needs flat fields: give --flats FILE",
                        info->path);
    return QB_OK;
}

qb_status qb__dense_create(qb_scan *scan, bool own, const qb_prep_options *prep, qb__dense **dense) {
    qb__dense *d = NULL;
    qb_status status;
    *dense = NULL;
    if (!qb__two_wanted(prep)) return QB_OK;
    QB__TRY(qb__alloc(1, sizeof *d, &d));
    QB__TRY(qb__two_parse(prep->hardening, &d->two, &d->beam));
    QB__TRY(check(&scan->info, scan->flat != NULL));
    QB__TRY(qb__two_tabulate(&d->beam, &d->two));
    d->row_reader.read = read_rows;
    qb__scan_read_through(scan, &d->row_reader, scan->warp, &d->scan);
    d->from = scan;
    d->own = own;
    d->floor = (float)prep->transmission_floor;
    status = qb__scan_rows_create(&d->scan, own ? scan->info.dtype : qb__scan_dtype(scan), &d->rows);
out:
    if (status == QB_OK)
        *dense = d;
    else
        qb__dense_destroy(d);
    return status;
}

void qb__dense_destroy(qb__dense *d) {
    if (!d) return;
    qb__two_clear(&d->two);
    qb__scan_rows_clear(&d->rows);
    QB__FREE(d->paths.path, d->paths.scale, d);
}

qb_scan *qb__dense_scan(qb__dense *d) { return &d->scan; }

const qb__two *qb__dense_materials(const qb__dense *d) { return &d->two; }

const qb__two_beam *qb__dense_beam(const qb__dense *d) { return &d->beam; }

void qb__dense_give(qb__dense *d, const qb__dense_paths *paths) {
    QB__FREE(d->paths.path, d->paths.scale);
    d->paths = *paths;
}

uint64_t qb__dense_clamped(const qb__dense *d) { return d ? atomic_load(&d->clamped) : 0; }

void qb__dense_recount(qb__dense *d) {
    if (d) atomic_store(&d->clamped, 0);
}

static size_t threads_of(const qb__dense *d) { return qb__smaller(d->scan.parts.data.source->threads, QB__SHARE_MOST); }

static size_t raw_row(const qb__dense *d) { return d->scan.info.columns * qb_dtype_size(d->rows.dtype); }

size_t qb__dense_bytes(const qb__dense *d) {
    if (!d) return 0;
    const qb_scan_info *info = &d->scan.info;
    const size_t view = info->rows * raw_row(d);
    return qb__scan_rows_bytes(&d->rows) + qb__smaller(info->views * view, qb__larger(READ_BYTES, view)) +
           threads_of(d) * 4 * info->columns * sizeof(float);
}

/* A value takes about 5 ns on a core of 2023. */
double qb__dense_seconds(const qb__dense *d, double numbers, int threads) {
    return d ? 5e-9 * numbers / fmin(threads, (double)threads_of(d)) : 0;
}

/* ---- rows ---- */

/* Data that were read, [view][row0 <= row < row1], and their destination. */
typedef struct piece {
    qb__dense *d;
    const char *raw;
    size_t view0, row0, row1;
    float *out;
} piece;

/* Interpolate linearly between two samples; the outermost samples continue to the detector's edge. */
static size_t between(double at, size_t count, float *share) {
    const double last = (double)count - 1, x = fmin(fmax(at, 0), last);
    const size_t i = x < last ? (size_t)x : count > 1 ? count - 2 : 0;
    *share = (float)(x - (double)i);
    return i;
}

/* Path lengths in mm for a row of a view; false: all are 0. mix[paths.columns] is scratch. */
static bool lengths_of(const qb__dense_paths *p, size_t view, size_t row, size_t columns, float *mix, float *length) {
    float b;
    const double whole = (double)p->bin[1] - 1, at = p->bin[1] > 1 ? ((double)row - 0.5 * whole) / (double)p->bin[1]
                                                                   : ((double)row - (double)p->row0) / (double)p->step;
    const size_t r = between(at, p->rows, &b), wide = p->columns;
    const uint16_t *low = p->path + (view * p->rows + r) * wide, *high = p->rows > 1 ? low + wide : low;
    uint32_t any = 0;
    if (!(p->scale[view] > 0)) return false;
    for (size_t c = 0; c < wide; c++) any |= low[c] | high[c];
    if (!any) return false;
    for (size_t c = 0; c < wide; c++) mix[c] = p->scale[view] * ((float)low[c] + b * ((float)high[c] - (float)low[c]));
    for (size_t c = 0; c < columns; c++) {
        float a;
        const size_t k = between(((double)c - 0.5 * ((double)p->bin[0] - 1)) / (double)p->bin[0], wide, &a);
        length[c] = wide > 1 ? mix[k] + a * (mix[k + 1] - mix[k]) : mix[0];
    }
    return true;
}

/* Write numbers of the job's quantity to `out`; returns how many were raised to the floor. */
static unsigned correct(const qb__dense *d, const qb__phase_row *how, const float *length, const float *transmission,
                        float *out) {
    unsigned clamped = 0;
    const bool lines = d->scan.info.quantity == QB_LINE_INTEGRAL;
    for (size_t c = 0; c < how->columns; c++) {
        const float t = transmission[c];
        if (isnan(t)) {
            out[c] = NAN;
        } else if (lines) {
            if (length[c] > 0) out[c] = qb__two_line(&d->two, t, length[c]);
        } else if (t < d->floor || length[c] > 0) {
            const float p = -logf(fmaxf(t, d->floor)), line = length[c] > 0 ? qb__two_line(&d->two, p, length[c]) : p,
                        beam = (how->flat ? how->flat[c] - (how->dark ? how->dark[c] : 0) : 1) *
                               (how->change ? how->change[c] : 1);
            out[c] = expf(-line) * beam + (how->dark ? how->dark[c] : 0);
            clamped += t < d->floor;
        }
    }
    return clamped;
}

static qb_status make_row(void *context, size_t task, size_t worker) {
    const piece *w = context;
    qb__dense *d = w->d;
    const size_t columns = d->scan.info.columns, rows = w->row1 - w->row0, view = w->view0 + task / rows,
                 row = w->row0 + task % rows;
    const char *raw = w->raw + task * raw_row(d);
    float *out = w->out + task * columns, *scratch;
    (void)worker;
    QB__OR_RETURN(qb__alloc(3 * columns + d->paths.columns, sizeof *scratch, &scratch));
    float *length = scratch, *transmission = scratch + columns, *change = scratch + 2 * columns;
    const qb__phase_row how = qb__scan_row(&d->rows, view, row, change);
    qb__phase_transmissions(&how, raw, transmission);
    qb_convert_to_float(raw, d->rows.dtype, columns, out);
    if (!d->paths.path || !lengths_of(&d->paths, view, row, columns, scratch + 3 * columns, length))
        memset(length, 0, columns * sizeof *length);
    atomic_fetch_add(&d->clamped, correct(d, &how, length, transmission, out));
    qb__free(scratch);
    return QB_OK;
}

/* ---- reading ---- */

/* Corrections with neighbours, and digests, belong to the job's own scan. */
static qb_status read_views(qb__dense *d, size_t view0, size_t view1, size_t row0, size_t row1, void *raw) {
    qb_scan *scan = &d->scan;
    if (d->own) {
        qb__scan_read_as(scan, d->from);
        return qb_scan_read(d->from, view0, view1, row0, row1, raw);
    }
    return scan->corrected ? scan->corrected->read(scan->corrected, view0, view1, row0, row1, raw)
                           : qb__scan_read_past(scan, view0, view1, row0, row1, raw);
}

static qb_status read_rows(qb__row_reader *reader, size_t view0, size_t view1, size_t row0, size_t row1, void *out) {
    qb__dense *d = (qb__dense *)reader;
    const size_t rows = row1 - row0, view_bytes = rows * raw_row(d),
                 each = qb__smaller(view1 - view0, qb__larger(1, READ_BYTES / view_bytes));
    piece w = {.d = d, .row0 = row0, .row1 = row1};
    char *raw;
    qb_status status;
    QB__TRY(qb__alloc(each, view_bytes, &raw));
    for (size_t view = view0; view < view1; view += each) {
        const size_t end = qb__smaller(view + each, view1);
        w.raw = raw, w.view0 = view;
        w.out = (float *)out + (view - view0) * rows * d->scan.info.columns;
        QB__TRY(read_views(d, view, end, row0, row1, raw));
        QB__TRY(qb__share(threads_of(d), (end - view) * rows, make_row, &w));
    }
out:
    qb__free(raw);
    return status;
}

qb_status qb__dense_lines(qb__dense *d, size_t view, size_t row0, size_t row1, float *out) {
    const size_t columns = d->scan.info.columns, rows = row1 - row0;
    char *raw = NULL;
    float *change = NULL;
    qb_status status;
    QB__TRY(qb__alloc(rows, raw_row(d), &raw));
    QB__TRY(qb__alloc(columns, sizeof *change, &change));
    QB__TRY(read_views(d, view, view + 1, row0, row1, raw));
    for (size_t r = 0; r < rows; r++) {
        const qb__phase_row how = qb__scan_row(&d->rows, view, row0 + r, change);
        float *line = out + r * columns;
        qb__phase_transmissions(&how, raw + r * raw_row(d), line);
        for (size_t c = 0; d->scan.info.quantity != QB_LINE_INTEGRAL && c < columns; c++)
            line[c] = line[c] > 0 ? -logf(line[c]) : NAN;
    }
out:
    QB__FREE(raw, change);
    return status;
}
