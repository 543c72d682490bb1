/* SPDX-License-Identifier: MIT */
/* Rows of the ideal image are interpolated between the stored rows around the positions of their pixels. These rows are
 * read for a few views at a time. Pixels without a value are first filled from their neighbours; a result whose nearest
 * pixel has no value has none. */
#include "prep/warp.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/array.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/share.h"
#include "base/status.h"
#include "ops/resample.h"
#include "prep/scan_rows.h"
#include "quickbeam/io.h"

/* The amount read at a time should stay in the cache; it is at most MOST_BYTES for views that are stored together. */
enum { READ_BYTES = 8 << 20, MOST_BYTES = 32 << 20, LINES = 8 };

struct qb__warp {
    qb__row_reader row_reader; /* must be the first member */
    qb_scan scan;              /* the job's scan */
    qb__scan_rows rows;
    qb__places places;
    qb__resampler *resampler;
    float *field; /* [field0 <= row < field1][column] corrects stored numbers; NULL: none */
    size_t field0, field1, margin;
};

static qb_status read_rows(qb__row_reader *reader, size_t view0, size_t view1, size_t row0, size_t row1, void *out) {
    qb__warp *w = (qb__warp *)reader;
    return qb__warp_read(w, w->scan.corrected, view0, view1, row0, row1, out);
}

const char *qb__warp_text(const qb_scan *scan) {
    if (!scan->distortion.factors) return scan->info.turns ? "shifts and turns of views" : "shifts of views";
    if (!scan->info.shifts) return "distortion";
    return scan->info.turns ? "distortion, shifts and turns of views" : "distortion and shifts of views";
}

qb_status qb__warp_create(qb_scan *scan, const qb_env *env, qb__warp **warp) {
    qb__warp *w = NULL;
    qb_status status;
    *warp = NULL;
    if (!qb__warp_wanted(scan)) return QB_OK;
    if (scan->info.quantity == QB_COUNTS && !scan->flat)
        return qb__fail(QB_BAD_INPUT, "%s: --shifts and --distortion need flat fields: resampled counts leave rings",
                        scan->info.path);
    QB__TRY(qb__alloc(1, sizeof *w, &w));
    w->row_reader.read = read_rows;
    qb__scan_read_through(scan, &w->row_reader, w, &w->scan);
    w->places = qb__places_of(&scan->info, &scan->image, &scan->distortion);
    QB__TRY(qb__scan_rows_create(&w->scan, qb__scan_dtype(scan), &w->rows));
    QB__TRY(qb__resampler_create(&w->resampler));
    qb__info(env, "images are resampled behind the flat field, on the CPU: %s", qb__warp_text(scan));
out:
    if (status == QB_OK)
        *warp = w;
    else
        qb__warp_destroy(w);
    return status;
}

void qb__warp_destroy(qb__warp *w) {
    if (!w) return;
    qb__scan_rows_clear(&w->rows);
    qb__resampler_destroy(w->resampler);
    QB__FREE(w->field, w);
}

qb_scan *qb__warp_scan(qb__warp *w) { return &w->scan; }

static size_t threads_of(const qb__warp *w) { return qb__smaller(w->scan.parts.data.source->threads, QB__SHARE_MOST); }

static size_t raw_row(const qb__warp *w) { return w->scan.info.columns * qb_dtype_size(w->rows.dtype); }

static size_t stride_of(const qb__warp *w) { return qb__round_up(w->scan.info.columns + 2 * QB__RESAMPLE_EDGE, 16); }

/* A core of 2023 needs about 25 ns per number. */
double qb__warp_seconds(const qb__warp *w, double numbers, int threads) {
    return 25e-9 * numbers / fmin(threads, (double)threads_of(w));
}

size_t qb__warp_bytes(const qb__warp *w) {
    const qb_scan_info *info = &w->scan.info;
    const size_t each = raw_row(w) + stride_of(w) * sizeof(float) + info->columns, view = info->rows * each;
    return qb__scan_rows_bytes(&w->rows) + qb__smaller(info->views * view, qb__larger(2 * MOST_BYTES, view)) +
           threads_of(w) * info->columns * (2 * LINES * sizeof(double) + sizeof(float));
}

/* Positions in the stored image of the first pixels of one row of a view. */
static void places_of(const qb__warp *w, size_t view, size_t line, size_t columns, double *column, double *row) {
    const qb_scan_info *info = &w->scan.info;
    qb__places_line(&w->places, info->shifts ? info->shifts + 2 * view : NULL, info->turns ? info->turns + view : NULL,
                    line, columns, column, row);
}

void qb__warp_margin(qb__warp *w, size_t margin) { w->margin = margin; }

void qb__warp_correct(qb__warp *w, size_t row0, size_t row1, float *field) {
    qb__free(w->field);
    w->field = field, w->field0 = row0, w->field1 = row1;
}

/* Corrects transmissions, or line integrals, of a stored row. Returns the number of pixels without a value. */
static size_t correct(const qb__warp *w, size_t row, size_t lost, float *line) {
    const size_t columns = w->scan.info.columns;
    if (!w->field || row < w->field0 || row >= w->field1) return lost;
    const float *field = w->field + (row - w->field0) * columns;
    lost = 0;
    for (size_t c = 0; c < columns; c++) {
        if (w->scan.info.quantity == QB_LINE_INTEGRAL)
            line[c] -= field[c];
        else
            line[c] = field[c] > 0 ? line[c] * field[c] : NAN;
        lost += isnan(line[c]) != 0;
    }
    return lost;
}

/* ---- views being read ---- */

typedef struct piece {
    qb__warp *w;
    char *raw;           /* [view][row0 <= row < row1] */
    float *cells;        /* transmissions, in lines of `stride` floats */
    unsigned char *lost; /* [row][column] 1: the pixel has no value */
    size_t view0, views; /* views that are read */
    size_t row0, row1;   /* rows that are read */
    size_t first, end;   /* rows that are computed */
    float *out;          /* [view][first <= row < end] */
    atomic_bool holes;   /* a pixel that was read has no value */
    double *places;      /* [thread][LINES][2][column] positions of the group of rows that follows */
    size_t *placed;      /* [thread] group of rows that has them, + 1 */
    float *changes;      /* [thread][column] scratch */
} piece;

static size_t rows_read(const piece *p) { return p->row1 - p->row0; }

static qb_status load_lines(void *context, size_t task, size_t worker) {
    piece *p = context;
    const qb__warp *w = p->w;
    const size_t columns = w->scan.info.columns, stride = stride_of(w), view = task / rows_read(p),
                 row = p->row0 + task % rows_read(p);
    float *line = p->cells + task * stride + QB__RESAMPLE_EDGE;
    const qb__phase_row how = qb__scan_row(&w->rows, p->view0 + view, row, p->changes + worker * columns);
    const size_t lost = correct(w, row, qb__phase_transmissions(&how, p->raw + task * raw_row(w), line), line);
    for (size_t c = 0; c < columns; c++) p->lost[task * columns + c] = (unsigned char)(isnan(line[c]) != 0);
    if (lost) atomic_store(&p->holes, true);
    if (lost && !qb__phase_fill(line, columns)) memset(line, 0, columns * sizeof *line);
    qb__resample_extend(line, columns);
    return QB_OK;
}

/* Convert to numbers of the job's quantity. A pixel whose nearest stored pixel has no value gets none. */
static void give(const piece *p, size_t view, size_t row, const double *column, const double *at_row, float *change,
                 float *out) {
    const qb__warp *w = p->w;
    const size_t columns = w->scan.info.columns;
    const qb__phase_row how = qb__scan_row(&w->rows, p->view0 + view, row, change);
    const double low = (double)p->row0, high = (double)p->row1 - 1, last = (double)columns - 1;
    for (size_t c = 0; how.change && c < columns; c++) out[c] *= how.change[c];
    for (size_t c = 0; how.flat && c < columns; c++) out[c] *= how.dark ? how.flat[c] - how.dark[c] : how.flat[c];
    for (size_t c = 0; how.dark && c < columns; c++) out[c] += how.dark[c];
    for (size_t c = 0; p->holes && c < columns; c++) {
        const size_t r = (size_t)(floor(fmin(fmax(at_row[c], low), high) + 0.5) - low),
                     k = (size_t)floor(fmin(fmax(column[c], 0), last) + 0.5);
        if (p->lost[(view * rows_read(p) + r) * columns + k]) out[c] = NAN;
    }
}

/* Makes a few rows of one view. Positions are the same in all views unless these move. */
static qb_status make_lines(void *context, size_t task, size_t worker) {
    const piece *p = context;
    const qb__warp *w = p->w;
    const qb_scan_info *info = &w->scan.info;
    const size_t made = p->end - p->first, columns = info->columns, view = task % p->views, group = task / p->views;
    const size_t first = group * LINES, end = qb__smaller(first + LINES, made);
    const qb__resample_image image = {.cells = p->cells + view * rows_read(p) * stride_of(w) + QB__RESAMPLE_EDGE,
                                      .stride = stride_of(w),
                                      .columns = columns,
                                      .rows = info->rows,
                                      .row0 = p->row0,
                                      .row1 = p->row1};
    const bool known = !info->shifts && p->placed[worker] == group + 1;
    for (size_t i = first; i < end; i++) {
        double *column = p->places + (worker * LINES + i - first) * 2 * columns, *row = column + columns;
        float *out = p->out + (view * made + i) * columns;
        if (!known) places_of(w, p->view0 + view, p->first + i, columns, column, row);
        qb__resample_row(w->resampler, &image, column, row, columns, NAN, out);
        give(p, view, p->first + i, column, row, p->changes + worker * columns, out);
    }
    p->placed[worker] = group + 1;
    return QB_OK;
}

/* ---- reading ---- */

/* Finds the stored rows that are needed for rows of these views. If views only move, all pixels of a row need the same
 * ones. */
static qb_status find_rows(piece *p, size_t views) {
    const qb_scan_info *info = &p->w->scan.info;
    const size_t columns = info->turns || p->w->scan.distortion.factors ? info->columns : 1;
    const double last = (double)info->rows - 1;
    double low = (double)p->first, high = (double)p->end - 1, *column = NULL, *row = NULL;
    qb_status status;
    QB__TRY(qb__alloc(info->columns, sizeof *column, &column));
    QB__TRY(qb__alloc(info->columns, sizeof *row, &row));
    for (size_t v = 0; v < (info->shifts ? views : 1); v++)
        for (int edge = 0; edge < 2; edge++) {
            places_of(p->w, p->view0 + v, edge ? p->end - 1 : p->first, columns, column, row);
            for (size_t c = 0; c < columns; c++) low = fmin(low, row[c]), high = fmax(high, row[c]);
        }
    p->row0 = (size_t)fmax(0, floor(fmin(low, last)) - QB__RESAMPLE_MARGIN);
    p->row1 = (size_t)fmin(last, ceil(fmax(high, 0)) + QB__RESAMPLE_MARGIN) + 1;
out:
    QB__FREE(column, row);
    return status;
}

qb_status qb__warp_rows(qb__warp *w, size_t *row0, size_t *row1) {
    piece p = {.w = w,
               .first = *row0 > w->margin ? *row0 - w->margin : 0,
               .end = qb__smaller(w->scan.info.rows, *row1 + w->margin)};
    const qb_status status = find_rows(&p, w->scan.info.views);
    *row0 = p.row0, *row1 = p.row1;
    return status;
}

static qb_status read_views(const piece *p, qb__row_reader *reader, size_t views) {
    qb_scan *scan = &p->w->scan;
    const size_t end = p->view0 + views;
    if (reader) return reader->read(reader, p->view0, end, p->row0, p->row1, p->raw);
    return qb__scan_read_hashed(scan, p->view0, end, p->row0, p->row1, p->first, p->end, p->raw);
}

qb_status qb__warp_read(qb__warp *w, qb__row_reader *reader, size_t view0, size_t view1, size_t row0, size_t row1,
                        void *out) {
    const size_t columns = w->scan.info.columns, stride = stride_of(w);
    piece p = {.w = w, .view0 = view0, .first = row0, .end = row1};
    qb_status status;
    QB__TRY(find_rows(&p, view1 - view0));
    const size_t line = raw_row(w) + stride * sizeof(float) + columns, view = rows_read(&p) * line,
                 whole = qb__round_up(qb__larger(1, READ_BYTES / view), qb__scan_views_together(&w->scan)),
                 each = qb__smaller(view1 - view0, qb__smaller(whole, qb__larger(1, MOST_BYTES / view)));
    QB__TRY(qb__alloc(each * rows_read(&p), raw_row(w), &p.raw));
    QB__TRY(qb__alloc(each * rows_read(&p), stride * sizeof *p.cells, &p.cells));
    QB__TRY(qb__alloc(each * rows_read(&p), columns, &p.lost));
    QB__TRY(qb__alloc(threads_of(w) * LINES * columns, 2 * sizeof *p.places, &p.places));
    QB__TRY(qb__alloc(threads_of(w), sizeof *p.placed, &p.placed));
    QB__TRY(qb__alloc(threads_of(w), columns * sizeof *p.changes, &p.changes));
    for (p.view0 = view0; p.view0 < view1; p.view0 += each) {
        const size_t views = p.views = qb__smaller(each, view1 - p.view0);
        p.holes = false;
        p.out = (float *)out + (p.view0 - view0) * (row1 - row0) * columns;
        QB__TRY(read_views(&p, reader, views));
        QB__TRY(qb__share(threads_of(w), views * rows_read(&p), load_lines, &p));
        QB__TRY(qb__share(threads_of(w), views * qb__ceil_div(row1 - row0, LINES), make_lines, &p));
    }
out:
    QB__FREE(p.raw, p.cells, p.lost, p.places, p.placed, p.changes);
    return status;
}
