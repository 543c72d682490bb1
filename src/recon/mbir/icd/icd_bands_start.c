/* SPDX-License-Identifier: MIT */
/* Start of few slices on the CPU: measured line integrals, their weights, and a first image. */
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "recon/mbir/icd/icd_bands.h"

typedef struct starting {
    qb__icd_slicewise *s;
    size_t slice;
    const qb__icd_given *given;
    char **scratch;              /* [thread] of the filter */
    atomic_size_t bad, positive; /* 1 + a bad value's index; number of positive weights */
} starting;

static const float *line_of(const starting *t, const float *lines, size_t view) {
    return lines + (view * t->s->slices + t->slice) * t->s->matrix->footprints.columns;
}

static float *row_of(const qb__icd_slicewise *s, float *rows, size_t view) {
    return rows + view * s->row + s->bands.width;
}

static void filter_view(void *context, size_t view, int worker) {
    const starting *t = context;
    const qb__icd_slicewise *s = t->s;
    const size_t columns = s->matrix->footprints.columns;
    float *row = row_of(s, s->single[t->slice].error, view);
    const float more = qb__icd_start_row(t->given, view * s->slices + t->slice, t->slice, columns, row);
    qb__filter_rows(t->given->filter, row, 1, columns,
                    more * (float)(t->given->theta[view] / (double)s->matrix->footprints.area), t->scratch[worker]);
}

static qb_status sweep_all(qb__icd_slicewise *s, qb__icd_pass pass) {
    s->pass = pass;
    s->env = s->matrix->env;
    qb__icd_slicewise_shuffle(s, 0);
    qb__icd_slicewise_sweep(s, s->order, s->count);
    return qb__check_cancel(s->env);
}

static qb_status back_project(starting *t) {
    qb__icd_slicewise *s = t->s;
    const size_t threads = (size_t)qb__pool_threads(s->pool);
    float *x = s->now->image.x;
    qb_status status;
    QB__TRY(qb__alloc(threads, sizeof *t->scratch, &t->scratch));
    for (size_t i = 0; i < threads; i++) QB__TRY(qb__alloc(qb__filter_scratch(t->given->filter), 1, &t->scratch[i]));
    qb__pool_for(s->pool, s->matrix->footprints.views, filter_view, t);
    QB__TRY(sweep_all(s, QB__BANDS_BACK));
    for (size_t i = 0; s->settings.positive && i < s->pixel_count; i++)
        if (!(x[s->pixels[i]] > 0)) x[s->pixels[i]] = 0;
out:
    for (size_t i = 0; t->scratch && i < threads; i++) qb__free(t->scratch[i]);
    qb__free(t->scratch);
    t->scratch = NULL;
    return status;
}

/* A slice of given images, limited from below by `least`. */
static void fill(const starting *t, const float *images, float least, float *image) {
    const qb__icd_slicewise *s = t->s;
    const size_t nx = s->problem.nx, across = nx + 2;
    const float *from = images + t->slice * nx * s->problem.ny;
    for (size_t i = 0; i < s->pixel_count; i++) {
        const size_t pixel = s->pixels[i];
        const float value = from[(pixel / across - 1) * nx + pixel % across - 1];
        image[pixel] = value < least ? least : value;
    }
}

/* Without data only the pull decides, and no update visits the voxel. */
static void settle_unseen(const qb__icd_slicewise *s) {
    const qb__icd_slice *image = &s->now->image;
    for (size_t i = 0; image->toward && i < s->pixel_count; i++) {
        const uint32_t pixel = s->pixels[i];
        const float toward = image->toward[pixel];
        if (!(image->curve[pixel] > 0)) image->x[pixel] = toward < 0 && s->settings.positive ? 0 : toward;
    }
}

/* Line integrals, and their weights. */
static void load_view(void *context, size_t view, int worker) {
    (void)worker;
    starting *t = context;
    const qb__icd_slicewise *s = t->s;
    const size_t columns = s->matrix->footprints.columns;
    const float scale = (float)(1 / (s->settings.sigma_y * s->settings.sigma_y));
    const float *line = line_of(t, t->given->lines, view);
    const float *given = t->given->weights ? line_of(t, t->given->weights, view) : NULL;
    float *error = row_of(s, s->now->error, view), *weight = row_of(s, s->now->weight, view);
    size_t positive = 0;
    for (size_t c = 0; c < columns; c++) {
        const float w = given ? given[c] : qb__icd_weigh(s->settings.weighting, line[c]);
        size_t none = 0;
        if (isinf(line[c]) || !(w >= 0) || !isfinite(w))
            atomic_compare_exchange_strong(&t->bad, &none, (size_t)(line + c - t->given->lines) + 1);
        error[c] = isnan(line[c]) ? 0 : line[c];
        weight[c] = w * scale;
        positive += w > 0;
    }
    atomic_fetch_add(&t->positive, positive);
}

/* From here on errors are multiplied by their weights, so that a step reads only one of both. Values in the margins are
 * cleared. */
static void weigh_view(void *context, size_t view, int worker) {
    (void)worker;
    const qb__icd_slicewise *s = context;
    float *error = s->now->error + view * s->row;
    const float *weight = s->now->weight + view * s->row;
    for (size_t c = 0; c < s->row; c++) error[c] *= weight[c];
}

static qb_status begin_image(starting *t) {
    qb__icd_slicewise *s = t->s;
    memset(s->now->error, 0, s->matrix->footprints.views * s->row * sizeof(float));
    memset(s->now->image.x, 0, (s->problem.nx + 2) * (s->problem.ny + 2) * sizeof(float));
    for (size_t i = 0; i < s->count; i++) s->now->amount[i] = 0;
    if (s->now->image.toward) fill(t, t->given->toward, -INFINITY, s->now->image.toward);
    if (t->given->filter && !t->given->images) return back_project(t);
    if (t->given->images) fill(t, t->given->images, s->settings.positive ? 0 : -INFINITY, s->now->image.x);
    for (size_t i = 0; !t->given->images && i < s->pixel_count; i++)
        s->now->image.x[s->pixels[i]] = (float)t->given->constant;
    return QB_OK;
}

qb_status qb__icd_slicewise_start(void *self, const qb__icd_given *given) {
    qb__icd_slicewise *s = self;
    starting t = {.s = s, .given = given};
    const size_t views = s->matrix->footprints.views;
    qb_status status;
    for (t.slice = 0; t.slice < s->slices; t.slice++) {
        s->now = &s->single[t.slice];
        QB__TRY(begin_image(&t));
        qb__pool_for(s->pool, views, load_view, &t);
    }
    QB__TRY(qb__icd_check(given->lines, given->weights, atomic_load(&t.bad), atomic_load(&t.positive) > 0, s->slices,
                          s->matrix->footprints.columns));
    for (size_t i = 0; i < s->slices; i++) {
        s->now = &s->single[i];
        QB__TRY(sweep_all(s, QB__BANDS_CURVE));
        settle_unseen(s);
        QB__TRY(sweep_all(s, QB__BANDS_SUBTRACT));
        qb__pool_for(s->pool, views, weigh_view, s);
    }
out:
    return status;
}
