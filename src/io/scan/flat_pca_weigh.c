/* SPDX-License-Identifier: MIT */
/* Dynamic flat fields, second part: the weight w of each mode m in a view minimises the view's total variation (Van
 * Nieuwenhove 2015). Here that is the sum of the differences |(g - log(1 + w m))_a - (...)_b| of neighbours a and b, of
 * the logarithm g of transmissions averaged over squares of pixels. It is minimised by iteratively reweighted least
 * squares with the weights 1 / |difference|. */
#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/share.h"
#include "base/status.h"
#include "io/scan/flat_series.h"
#include "quickbeam/io.h"

enum {
    SIDE = 256 /* squares along the longer side, at most */,
    STEPS = 25,
    VIEWS = 16 /* views at a time */,
    MODES = 8
};

typedef struct weighing {
    qb_scan *scan;
    size_t bin, wide, high; /* side of a square in pixels; number of squares */
    float *mode;            /* [modes][high][wide] */
    char *raw;              /* [VIEWS][row][column] */
    size_t view;            /* the first of these */
    float **line;           /* [threads][wide * high * 2 + columns] */
} weighing;

/* Add the values of a row's good pixels to the sums over squares. */
static void add_row(const weighing *w, size_t row, const float *values, const float *beam, float *sum, float *count) {
    const size_t columns = w->scan->info.columns, at = row / w->bin * w->wide;
    for (size_t c = 0; c < columns; c++) {
        if (!(beam[c] > 0) || !isfinite(values[c])) continue;
        sum[at + c / w->bin] += values[c];
        count[at + c / w->bin] += 1;
    }
}

static void beam_row(const qb_scan *scan, size_t row, float *beam) {
    const size_t columns = scan->info.columns, at = row * columns;
    for (size_t c = 0; c < columns; c++) beam[c] = scan->flat[at + c] - (scan->dark ? scan->dark[at + c] : 0);
}

static qb_status bin_modes(weighing *w) {
    const qb__drift *d = w->scan->drift;
    const size_t rows = w->scan->info.rows, columns = w->scan->info.columns, squares = w->wide * w->high;
    float *beam = NULL, *count = NULL;
    qb_status status;
    QB__TRY(qb__alloc(columns, sizeof *beam, &beam));
    QB__TRY(qb__alloc(squares, sizeof *count, &count));
    for (size_t k = 0; k < d->modes; k++) {
        float *mode = w->mode + k * squares;
        memset(count, 0, squares * sizeof *count);
        for (size_t r = 0; r < rows; r++) {
            beam_row(w->scan, r, beam);
            add_row(w, r, d->mode + k * d->pixels + r * columns, beam, mode, count);
        }
        for (size_t i = 0; i < squares; i++) mode[i] = count[i] > 0 ? mode[i] / count[i] : 0;
    }
out:
    QB__FREE(beam, count);
    return status;
}

/* Logarithms of a view's transmissions over squares; NaN if there are none. */
static void bin_view(const weighing *w, const char *raw, float *line, float *log_of, float *count) {
    const qb_scan_info *info = &w->scan->info;
    const size_t squares = w->wide * w->high, size = qb_dtype_size(info->dtype);
    float *beam = line + info->columns;
    memset(log_of, 0, squares * sizeof *log_of);
    memset(count, 0, squares * sizeof *count);
    for (size_t r = 0; r < info->rows; r++) {
        const float *dark = w->scan->dark ? w->scan->dark + r * info->columns : NULL;
        qb_convert_to_float(raw + r * info->columns * size, info->dtype, info->columns, line);
        beam_row(w->scan, r, beam);
        for (size_t c = 0; c < info->columns; c++) line[c] = (line[c] - (dark ? dark[c] : 0)) / beam[c];
        add_row(w, r, line, beam, log_of, count);
    }
    for (size_t i = 0; i < squares; i++) {
        const float mean = count[i] > 0 ? log_of[i] / count[i] : 0;
        log_of[i] = mean > 1e-4f ? logf(mean) : NAN;
    }
}

/* ---- least total variation ---- */

typedef struct fit {
    size_t modes;
    double part[MODES], left[MODES], matrix[MODES][MODES];
    double softness, sum; /* smaller differences are squared; sum of all differences */
    size_t pairs;
} fit;

static double change_at(const fit *f, const float *mode, size_t squares, size_t i) {
    double change = 1;
    for (size_t k = 0; k < f->modes; k++) change += f->part[k] * (double)mode[k * squares + i];
    return fmax(change, 0.05);
}

static void add_pair(fit *f, const float *g, const float *mode, size_t squares, size_t a, size_t b) {
    double slope[MODES];
    if (isnan(g[a]) || isnan(g[b])) return;
    const double ca = change_at(f, mode, squares, a), cb = change_at(f, mode, squares, b);
    const double r = ((double)g[a] - log(ca)) - ((double)g[b] - log(cb));
    const double weight = 1 / sqrt(r * r + f->softness * f->softness);
    for (size_t k = 0; k < f->modes; k++)
        slope[k] = (double)mode[k * squares + b] / cb - (double)mode[k * squares + a] / ca;
    for (size_t k = 0; k < f->modes; k++) {
        f->left[k] += weight * slope[k] * r;
        for (size_t j = 0; j < f->modes; j++) f->matrix[k][j] += weight * slope[k] * slope[j];
    }
    f->sum += fabs(r);
    f->pairs++;
}

/* Find the step that minimises the squares, into left; returns its size. Gaussian elimination with the largest pivot on
 * the diagonal. */
static double solve(fit *f) {
    double size = 0, trace = 0;
    for (size_t k = 0; k < f->modes; k++) trace += f->matrix[k][k];
    for (size_t k = 0; k < f->modes; k++) f->matrix[k][k] += 1e-9 * trace + 1e-30;
    for (size_t k = 0; k < f->modes; k++) {
        for (size_t i = k + 1; i < f->modes; i++) {
            const double part = f->matrix[i][k] / f->matrix[k][k];
            for (size_t j = k; j < f->modes; j++) f->matrix[i][j] -= part * f->matrix[k][j];
            f->left[i] -= part * f->left[k];
        }
    }
    for (size_t k = f->modes; k-- > 0;) {
        for (size_t j = k + 1; j < f->modes; j++) f->left[k] -= f->matrix[k][j] * f->left[j];
        f->left[k] /= f->matrix[k][k];
        size = fmax(size, fabs(f->left[k]));
    }
    return size;
}

static void find(const weighing *w, const float *g, fit *f) {
    const size_t squares = w->wide * w->high;
    f->softness = 1e9; /* plain least squares at first */
    for (int step = 0; step < STEPS; step++) {
        memset(f->left, 0, sizeof f->left);
        memset(f->matrix, 0, sizeof f->matrix);
        f->sum = 0, f->pairs = 0;
        for (size_t y = 0; y < w->high; y++)
            for (size_t x = 0; x < w->wide; x++) {
                const size_t i = y * w->wide + x;
                if (x + 1 < w->wide) add_pair(f, g, w->mode, squares, i, i + 1);
                if (y + 1 < w->high) add_pair(f, g, w->mode, squares, i, i + w->wide);
            }
        if (!f->pairs) return;
        if (step == 0) f->softness = fmax(0.1 * f->sum / (double)f->pairs, 1e-6);
        const double size = solve(f);
        if (!isfinite(size)) return;
        for (size_t k = 0; k < f->modes; k++) f->part[k] = fmin(fmax(f->part[k] - f->left[k], -0.5), 0.5);
        if (step > 1 && size < 1e-6) return;
    }
}

static qb_status weigh_view(void *context, size_t i, size_t worker) {
    const weighing *w = context;
    const qb_scan_info *info = &w->scan->info;
    qb__drift *d = w->scan->drift;
    const size_t squares = w->wide * w->high, bytes = info->rows * info->columns * qb_dtype_size(info->dtype);
    float *line = w->line[worker], *weight = d->weight + (w->view + i) * (d->modes + 1);
    fit f = {.modes = d->modes};
    bin_view(w, w->raw + i * bytes, line, line + 2 * info->columns, line + 2 * info->columns + squares);
    find(w, line + 2 * info->columns, &f);
    for (size_t k = 0; k < d->modes; k++) weight[k + 1] = weight[0] * (float)f.part[k];
    return QB_OK;
}

qb_status qb__flat_pca_weigh(qb_scan *scan, const qb_env *env) {
    const qb_scan_info *info = &scan->info;
    weighing w = {.scan = scan, .bin = qb__ceil_div(qb__larger(info->rows, info->columns), SIDE)};
    const size_t threads = qb__smaller(scan->parts.data.source->threads, VIEWS);
    w.wide = qb__ceil_div(info->columns, w.bin), w.high = qb__ceil_div(info->rows, w.bin);
    const size_t squares = w.wide * w.high;
    qb_status status = QB_OK;
    if (!scan->drift->modes) return QB_OK;
    QB__TRY(qb__alloc(scan->drift->modes * squares, sizeof *w.mode, &w.mode));
    QB__TRY(qb__alloc(VIEWS * info->rows * info->columns, qb_dtype_size(info->dtype), &w.raw));
    QB__TRY(qb__alloc(threads, sizeof *w.line, &w.line));
    for (size_t i = 0; i < threads; i++) QB__TRY(qb__alloc(2 * (squares + info->columns), sizeof(float), &w.line[i]));
    QB__TRY(bin_modes(&w));
    for (w.view = 0; w.view < info->views; w.view += VIEWS) {
        const size_t count = qb__smaller(VIEWS, info->views - w.view);
        QB__TRY(qb__check_cancel(env));
        qb__progress(env, "finding the beam of views", w.view, info->views);
        QB__TRY(qb_scan_read(scan, w.view, w.view + count, 0, info->rows, w.raw));
        QB__TRY(qb__share(threads, count, weigh_view, &w));
    }
out:
    for (size_t i = 0; w.line && i < threads; i++) qb__free(w.line[i]);
    QB__FREE(w.line, w.raw, w.mode);
    return status;
}
