/* SPDX-License-Identifier: MIT */
#include "recon/convert/conversion.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "io/publish/outputs.h"
#include "ops/resample.h"

struct qb__pairing {
    qb_scan *a, *b; /* the two scans; with --half-turn, b is a */
    const qb__prepare *prepared[2];
    qb_scan *opened; /* the opened scan b, with --stitch */
    qb__phase *phase;
    qb__prepare *own;
    const qb_scan_info *info; /* description of scan a */
    bool half;
    size_t views, columns, other; /* size of the result; columns of b */
    double shift;                 /* a's column 0 is this column of the result, a whole number */
    double place, sense;          /* b's column k is column place + sense k of the result */
    qb__resampler *resampler;
    double *column;  /* [columns] column of b for each column of the result */
    double *row;     /* [columns] zeros: rows for the resampler */
    double *weight;  /* [columns] weight of b: 1 where only b measured, 0 where only a measured */
    double *partner; /* [views] position of the opposite view of b, between two of its views */
    char text[240];
    float *near; /* [2][rows][stride] two views of b around the current position */
    char *raw;
};

/* ---- lines ---- */

static size_t stride_of(const qb__pairing *p) { return qb__round_up(p->other + 2 * QB__RESAMPLE_EDGE, 16); }

/* Find the weight of b in each column, from the columns of the result at which a and b begin and end. */
static qb_status weigh(qb__pairing *p) {
    const double a0 = p->shift, a1 = p->shift + (double)p->info->columns - 1, end = (double)p->other - 1,
                 b0 = fmin(p->place, p->place + p->sense * end), b1 = fmax(p->place, p->place + p->sense * end),
                 low = fmax(a0, b0), high = fmin(a1, b1);
    const bool a_first = a0 <= b0;
    QB__OR_RETURN(qb__alloc(p->columns, sizeof *p->column, &p->column));
    QB__OR_RETURN(qb__alloc(p->columns, sizeof *p->row, &p->row));
    QB__OR_RETURN(qb__alloc(p->columns, sizeof *p->weight, &p->weight));
    for (size_t k = 0; k < p->columns; k++) {
        const double at = (double)k, part = (at - low + 0.5) / (high - low + 1);
        p->column[k] = fmin(fmax((at - p->place) * p->sense, 0), end);
        const double of_later = fmin(fmax(part, 0), 1);
        p->weight[k] = a_first ? of_later : 1 - of_later;
    }
    return QB_OK;
}

typedef struct making {
    const qb__pairing *p;
    const float *lines;
    double between; /* weight of the second of the two views of b */
    float *out;
} making;

static void make_row(void *context, size_t row, int worker) {
    const making *m = context;
    const qb__pairing *p = m->p;
    const size_t stride = stride_of(p), rows = p->info->rows;
    const float *a = m->lines + row * p->info->columns;
    float *out = m->out + row * p->columns, *first = p->near + row * stride + QB__RESAMPLE_EDGE,
          *second = p->near + (rows + row) * stride + QB__RESAMPLE_EDGE;
    (void)worker;
    if (m->between > 0)
        for (size_t k = 0; k < p->other; k++) first[k] += (float)m->between * (second[k] - first[k]);
    qb__resample_extend(first, p->other);
    const qb__resample_image image = {.cells = first, .stride = stride, .columns = p->other, .rows = 1, .row1 = 1};
    qb__resample_row(p->resampler, &image, p->column, p->row, p->columns, 0, out);
    for (size_t k = 0; k < p->columns; k++) {
        const double weight = p->weight[k];
        const ptrdiff_t at = (ptrdiff_t)k - (ptrdiff_t)p->shift;
        if (weight < 1 && at >= 0 && at < (ptrdiff_t)p->info->columns)
            out[k] = (float)(weight * (double)out[k] + (1 - weight) * (double)a[at]);
    }
}

/* Read the lines of one view of b, each with margins for the resampler. */
static qb_status read_view(qb__pairing *p, size_t view, float *near) {
    const size_t rows = p->info->rows, stride = stride_of(p);
    const qb_dtype dtype = qb_scan_describe(p->b)->dtype;
    qb__prep_counts counts = {0}; /* not reported: only the counts of the first camera are */
    const qb_status status = qb_scan_read(p->b, view, view + 1, 0, rows, p->raw);
    for (size_t r = 0; status == QB_OK && r < rows; r++)
        qb__prepare_view(p->prepared[1], view, r, 1, p->raw + r * p->other * qb_dtype_size(dtype),
                         near + r * stride + QB__RESAMPLE_EDGE, &counts);
    return status;
}

qb_status qb__pairing_views_of(qb__pairing *p, size_t first, size_t end, const float *lines, qb__pool *pool,
                               float *out) {
    const size_t rows = p->info->rows, views = p->half ? p->info->views : p->views;
    for (size_t v = first; v < end; v++) {
        const double at = p->partner ? p->partner[v] : (double)v;
        const size_t view = (size_t)at;
        making m = {p, lines + (v - first) * rows * p->info->columns, at - (double)view,
                    out + (v - first) * rows * p->columns};
        if (m.between < 1e-6) m.between = 0;
        QB__OR_RETURN(read_view(p, view % views, p->near));
        if (m.between > 0) QB__OR_RETURN(read_view(p, (view + 1) % views, p->near + rows * stride_of(p)));
        qb__pool_for(pool, rows, make_row, &m);
    }
    return QB_OK;
}

/* ---- half a turn later ---- */

/* Find the views of the first half turn, and the positions of their opposite views. */
static qb_status find_partners(qb__pairing *p) {
    const double *t = p->info->angles, turn = 2 * M_PI, degrees = 180 / M_PI;
    const size_t n = p->info->views;
    const double sense = n > 1 && t[n - 1] < t[0] ? -1 : 1, step = n > 1 ? fabs(t[n - 1] - t[0]) / (double)(n - 1) : 0;
    size_t at = 0;
    QB__OR_RETURN(qb__alloc(n, sizeof *p->partner, &p->partner));
    for (size_t i = 1; i < n; i++)
        if (!(sense * (t[i] - t[i - 1]) > 0))
            return qb__fail(QB_BAD_INPUT, "--half-turn: angles go on in one sense, and view %zu goes back", i);
    if (!(fabs(t[n - 1] - t[0]) + 1.5 * step > turn))
        return qb__fail(QB_BAD_INPUT,
                        "--half-turn: %zu views cover %.4g degrees, and a whole turn is needed; leave it out", n,
                        n > 1 ? (fabs(t[n - 1] - t[0]) + step) * degrees : 0);
    for (p->views = 0; p->views < n && sense * (t[p->views] - t[0]) < M_PI - 1e-3 * step; p->views++) {
        const double wanted = sense * (t[p->views] - t[0]) + M_PI;
        while (at + 1 < n && sense * (t[at + 1] - t[0]) <= wanted + 1e-6 * step) at++;
        const double here = sense * (t[at] - t[0]), next = at + 1 < n ? sense * (t[at + 1] - t[0]) : turn;
        p->partner[p->views] =
            (double)at + (next > here ? fmin(fmax((wanted - here) / (next - here), 0), 0.999999) : 0);
    }
    return QB_OK;
}

static qb_status begin_half(qb__pairing *p, double axis) {
    const double last = (double)p->info->columns - 1;
    if (p->info->beam == QB_BEAM_CONE)
        return qb__fail(QB_BAD_INPUT, "--half-turn: opposite rays of a cone beam are not the same; qb fdk weighs them");
    if (!p->info->angles) return qb__scan_lacks_angles(p->info);
    if (isnan(axis))
        return qb__fail(QB_BAD_ARGUMENT, "--half-turn needs the axis: give --center COLUMN (qb center finds it)");
    const qb_status status = find_partners(p);
    const double more = fmax(0, floor(last - 2 * axis)), after = fmax(0, floor(2 * axis - last));
    p->half = true;
    p->b = p->a;
    p->prepared[1] = p->prepared[0];
    p->other = p->info->columns;
    p->shift = more;
    p->columns = (size_t)(more + after) + p->info->columns;
    p->sense = -1, p->place = 2 * axis + more;
    snprintf(p->text, sizeof p->text,
             "%zu views of a whole turn about column %.6g become %zu of half a turn: both sides share %.6g columns",
             p->info->views, axis, p->views, 2 * fmin(axis, last - axis) + 1);
    return status;
}

/* ---- two cameras ---- */

static qb_status check_alike(const qb__pairing *p, const char *path) {
    const qb_scan_info *a = p->info, *b = qb_scan_describe(p->b);
    if (a->image || a->shifts)
        return qb__fail(
            QB_BAD_ARGUMENT,
            "--stitch cannot be given with --rotate, --flip, --crop, --bin or --shifts: convert both scans first");
    if (a->views != b->views || a->rows != b->rows)
        return qb__fail(QB_BAD_INPUT,
                        "--stitch %s has %zu views of %zu rows, the other %zu of %zu: give the same views and rows",
                        path, b->views, b->rows, a->views, a->rows);
    for (size_t i = 0; a->angles && b->angles && i < a->views; i++)
        if (fabs(remainder(a->angles[i] - b->angles[i], 2 * M_PI)) > 1e-3)
            return qb__fail(QB_BAD_INPUT, "--stitch %s: view %zu is at %.4f degrees, the other's at %.4f", path, i,
                            b->angles[i] * 180 / M_PI, a->angles[i] * 180 / M_PI);
    if (a->pixel_size > 0 && b->pixel_size > 0 && fabs(a->pixel_size / b->pixel_size - 1) > 1e-3)
        return qb__fail(QB_BAD_INPUT, "--stitch %s has pixels of %g mm, the other of %g mm", path, b->pixel_size,
                        a->pixel_size);
    return QB_OK;
}

static qb_status begin_stitch(qb__pairing *p, const qb_prep_options *prep, const qb_convert_options *o,
                              const qb_env *env) {
    const char *text = o->overlap ? o->overlap : "auto";
    double overlap;
    char *end;
    qb_status status;
    QB__TRY(qb_scan_open(o->stitch, NULL, env, &p->opened));
    QB__TRY(qb__scan_usable(p->opened));
    const qb__output output = {.path = o->output, .images = p->info->views, .projections = true};
    if (o->output) QB__TRY(qb__outputs_check(&output, 1, &p->opened->inputs, env));
    QB__TRY(qb__phase_create(p->opened, NULL, prep, env, &p->phase));
    p->b = qb__phase_scan(p->phase, p->opened);
    p->other = qb_scan_describe(p->b)->columns, p->views = p->info->views;
    QB__TRY(check_alike(p, o->stitch));
    QB__TRY(qb__prepare_create(p->b, prep, &(qb__prepared){.row1 = p->info->rows, .step = 1}, env, &p->own));
    p->prepared[1] = p->own;
    overlap = qb__strtod(text, &end);
    if (strcmp(text, "auto") == 0)
        QB__TRY(qb__overlap_find(p->a, p->prepared[0], p->b, p->prepared[1], &overlap));
    else if (end == text || *end || !(overlap >= 1 && overlap <= (double)qb__smaller(p->other, p->info->columns))) {
        status = qb__fail(QB_BAD_ARGUMENT, "--overlap %s: give auto or columns that both see, 1 to %zu", text,
                          qb__smaller(p->other, p->info->columns));
        goto out;
    }
    p->sense = 1, p->place = (double)p->info->columns - overlap;
    p->columns = (size_t)floor(p->place + (double)p->other - 1 + 1e-9) + 1;
    snprintf(p->text, sizeof p->text, "%zu and %zu columns become %zu: both see %.2f columns (--overlap %s)",
             p->info->columns, p->other, p->columns, overlap, text);
out:
    return status;
}

/* ---- life ---- */

qb_status qb__pairing_create(qb_scan *scan, const qb__prepare *prepare, const qb_prep_options *prep,
                             const qb_convert_options *o, double axis, const qb_env *env, qb__pairing **pairing) {
    const bool stitch = o->stitch && *o->stitch;
    qb__pairing *p;
    *pairing = NULL;
    if (o->overlap && !stitch) return qb__fail(QB_BAD_ARGUMENT, "--overlap %s is of --stitch alone", o->overlap);
    if (stitch && o->half_turn)
        return qb__fail(QB_BAD_ARGUMENT,
                        "--stitch cannot be given with --half-turn: do one, then the other of what it wrote");
    if (!stitch && !o->half_turn) return QB_OK;
    qb_status status = qb__alloc(1, sizeof *p, &p);
    if (status != QB_OK) return status;
    p->a = scan, p->info = qb_scan_describe(scan), p->prepared[0] = prepare;
    QB__TRY(stitch ? begin_stitch(p, prep, o, env) : begin_half(p, axis));
    QB__TRY(weigh(p));
    QB__TRY(qb__resampler_create(&p->resampler));
    QB__TRY(qb__alloc(2 * p->info->rows, stride_of(p) * sizeof *p->near, &p->near));
    QB__TRY(qb__alloc(p->info->rows * p->other, qb_dtype_size(qb_scan_describe(p->b)->dtype), &p->raw));
    qb__info(env, "%s", p->text);
out:
    if (status == QB_OK)
        *pairing = p;
    else
        qb__pairing_destroy(p);
    return status;
}

void qb__pairing_destroy(qb__pairing *p) {
    if (!p) return;
    qb__prepare_destroy(p->own);
    qb__phase_destroy(p->phase);
    qb_scan_close(p->opened);
    qb__resampler_destroy(p->resampler);
    QB__FREE(p->column, p->row, p->weight, p->partner, p->near, p->raw, p);
}

size_t qb__pairing_views(const qb__pairing *p) { return p->views; }
size_t qb__pairing_columns(const qb__pairing *p) { return p->columns; }
double qb__pairing_shift(const qb__pairing *p) { return p->shift; }
const char *qb__pairing_text(const qb__pairing *p) { return p->text; }
const qb__inputs *qb__pairing_inputs(const qb__pairing *p) { return p->opened ? &p->opened->inputs : NULL; }
