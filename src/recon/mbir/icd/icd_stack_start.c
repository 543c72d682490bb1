/* SPDX-License-Identifier: MIT */
/* Start of a stack on the CPU: measured line integrals, their weights, and a first image. */
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "recon/mbir/icd/icd_stack_lanes.h"

typedef struct starting {
    qb__icd_lanes *s;
    const qb__icd_given *given;
    char **scratch;              /* [thread] of the filter, after a row */
    atomic_size_t bad, positive; /* 1 + a bad value's index; number of positive weights */
    bool back_projected;         /* so the curvature without weights is there, too */
} starting;

static void filter_view(void *context, size_t view, int worker) {
    const starting *t = context;
    const qb__icd_lanes *s = t->s;
    const size_t columns = s->matrix->footprints.columns;
    float *row = (float *)(void *)t->scratch[worker];
    for (size_t slice = 0; slice < s->slices; slice++) {
        const float more = qb__icd_start_row(t->given, view * s->slices + slice, slice, columns, row);
        qb__filter_rows(t->given->filter, row, 1, columns,
                        more * (float)(t->given->theta[view] / (double)s->matrix->footprints.area),
                        row + qb__round_up(columns, 16));
        float *to = qb__icd_lanes_at(s, s->group[qb__icd_group_of(s, slice)].error, view) + qb__icd_lane_of(s, slice);
        for (size_t c = 0; c < columns; c++) to[c * L] = row[c];
    }
}

static void back_tile(void *context, size_t task, int worker) {
    const starting *t = context;
    const qb__icd_lanes *s = t->s;
    const qb__icd_group *g = &s->group[task % s->groups];
    const uint32_t *pixels = s->pixels + s->tile[task / s->groups];
    const size_t count = s->tile[task / s->groups + 1] - s->tile[task / s->groups];
    if (qb__cancelled(s->matrix->env)) return;
    s->variant->back(&s->problem, g->error, pixels, count, g->x, g->weight ? NULL : (float *)g->curve,
                     s->scratch[worker]);
    for (size_t i = 0; s->settings.positive && i < count; i++)
        for (size_t l = 0; l < L; l++) {
            float *x = g->x + (size_t)pixels[i] * L + l;
            *x = *x > 0 ? *x : 0;
        }
}

/* Where all weights of a group are 1, there are none: the bits must not depend on which slices share a slab. */
static void choose_weights(void *context, size_t group, int worker) {
    (void)worker;
    const starting *t = context;
    qb__icd_lanes *s = t->s;
    const size_t views = s->matrix->footprints.views, columns = s->matrix->footprints.columns;
    float *weight = s->group[group].error + views * s->row;
    s->group[group].weight = NULL;
    for (size_t slice = 0; slice < s->slices; slice++) {
        if (qb__icd_group_of(s, slice) != group) continue;
        for (size_t view = 0; view < views; view++) {
            const size_t first = (view * s->slices + slice) * columns;
            const float *lines = t->given->lines + first, *given = t->given->weights;
            for (size_t c = 0; c < columns; c++)
                if ((given ? given[first + c] : qb__icd_weigh(QB__WEIGH_MEASURED, lines[c])) != 1)
                    s->group[group].weight = weight;
        }
    }
}

static void note_bad(starting *t, size_t index) {
    size_t none = 0;
    atomic_compare_exchange_strong(&t->bad, &none, index + 1);
}

/* Line integrals in lanes, and their weights. */
static void load_view(void *context, size_t view, int worker) {
    (void)worker;
    starting *t = context;
    qb__icd_lanes *s = t->s;
    const size_t columns = s->matrix->footprints.columns;
    const float scale =
        s->settings.weighting == QB__WEIGH_MEASURED ? 1 : (float)(1 / (s->settings.sigma_y * s->settings.sigma_y));
    size_t positive = 0;
    for (size_t slice = 0; slice < s->slices; slice++) {
        const size_t first = (view * s->slices + slice) * columns;
        const qb__icd_group *g = &s->group[qb__icd_group_of(s, slice)];
        float *error = qb__icd_lanes_at(s, g->error, view) + qb__icd_lane_of(s, slice);
        float *weight = g->weight ? qb__icd_lanes_at(s, (float *)g->weight, view) + qb__icd_lane_of(s, slice) : NULL;
        for (size_t c = 0; c < columns; c++) {
            const float y = t->given->lines[first + c];
            const float w = t->given->weights ? t->given->weights[first + c] : qb__icd_weigh(s->settings.weighting, y);
            if (isinf(y) || !(w >= 0) || !isfinite(w)) note_bad(t, first + c);
            error[c * L] = isnan(y) ? 0 : y;
            positive += w > 0;
            if (weight) weight[c * L] = w * scale;
        }
    }
    atomic_fetch_add(&t->positive, positive);
}

/* Without data only the pull decides, and no update visits the voxel. */
static void settle_unseen(const qb__icd_lanes *s, const qb__icd_group *g, const uint32_t *pixels, size_t count) {
    for (size_t i = 0; i < count * L; i++) {
        const size_t at = (size_t)pixels[i / L] * L + i % L;
        const float toward = g->after[at];
        if (!(g->curve[at] > 0)) g->x[at] = toward < 0 && s->settings.positive ? 0 : toward;
    }
}

static void curve_tile(void *context, size_t task, int worker) {
    const starting *t = context;
    const qb__icd_lanes *s = t->s;
    const qb__icd_group *g = &s->group[task % s->groups];
    const size_t tile = task / s->groups, first = s->tile[tile], count = s->tile[tile + 1] - first;
    if (qb__cancelled(s->matrix->env)) return;
    if (g->weight || !t->back_projected)
        s->variant->curve(&s->problem, g->weight, s->pixels + first, count, (float *)g->curve, s->scratch[worker]);
    if (s->settings.pull > 0) settle_unseen(s, g, s->pixels + first, count);
}

static void subtract_group(void *context, size_t group, int worker) {
    const qb__icd_lanes *s = context;
    const qb__icd_group *g = &s->group[group];
    for (size_t i = 0; i < s->tiles && !qb__cancelled(s->matrix->env); i++)
        s->variant->subtract(&s->problem, g->x, s->pixels + s->tile[i], s->tile[i + 1] - s->tile[i], g->error,
                             s->scratch[worker]);
}

static qb_status back_project(qb__icd_lanes *s, starting *t) {
    const size_t threads = (size_t)qb__pool_threads(s->pool), columns = s->matrix->footprints.columns;
    const size_t bytes = qb__round_up(columns, 16) * sizeof(float) + qb__filter_scratch(t->given->filter);
    qb_status status;
    QB__TRY(qb__alloc(threads, sizeof *t->scratch, &t->scratch));
    for (size_t i = 0; i < threads; i++) QB__TRY(qb__alloc(bytes, 1, &t->scratch[i]));
    qb__pool_for(s->pool, s->matrix->footprints.views, filter_view, t);
    qb__pool_for(s->pool, s->tiles * s->groups, back_tile, t);
out:
    for (size_t i = 0; t->scratch && i < threads; i++) qb__free(t->scratch[i]);
    qb__free(t->scratch);
    return status;
}

static void fill_constant(qb__icd_lanes *s, float value) {
    for (size_t slice = 0; slice < s->slices; slice++)
        for (size_t i = 0; i < s->count; i++)
            s->group[qb__icd_group_of(s, slice)].x[(size_t)s->pixels[i] * L + qb__icd_lane_of(s, slice)] = value;
}

/* A slice of `from`, image by image, into its lane; limited from below by `least`. */
static void fill_slice(const qb__icd_lanes *s, const float *from, size_t slice, float least, float *image) {
    const size_t nx = s->problem.nx, across = nx + 2, lane = qb__icd_lane_of(s, slice);
    from += slice * nx * s->problem.ny;
    for (size_t i = 0; i < s->count; i++) {
        const size_t pixel = s->pixels[i];
        const float value = from[(pixel / across - 1) * nx + pixel % across - 1];
        image[pixel * L + lane] = value < least ? least : value;
    }
}

static void fill_images(void *context, size_t slice, int worker) {
    (void)worker;
    const starting *t = context;
    const qb__icd_lanes *s = t->s;
    const qb__icd_group *g = &s->group[qb__icd_group_of(s, slice)];
    if (t->given->images) fill_slice(s, t->given->images, slice, s->settings.positive ? 0 : -INFINITY, g->x);
    if (s->settings.pull > 0) fill_slice(s, t->given->toward, slice, -INFINITY, (float *)g->after);
}

qb_status qb__icd_lanes_start(void *self, const qb__icd_given *given) {
    qb__icd_lanes *s = self;
    starting t = {.s = s, .given = given};
    memset(s->block, 0, s->groups * qb__icd_group_floats(s->matrix, &s->settings) * sizeof(float));
    if (s->settings.weighting == QB__WEIGH_MEASURED) qb__pool_for(s->pool, s->groups, choose_weights, &t);
    if (given->filter && !given->images) {
        qb_status status = back_project(s, &t);
        if (status != QB_OK) return status;
        t.back_projected = true;
    } else if (!given->images) {
        fill_constant(s, (float)given->constant);
    }
    qb__pool_for(s->pool, s->slices, fill_images, &t);
    qb__pool_for(s->pool, s->matrix->footprints.views, load_view, &t);
    double some = (double)atomic_load(&t.positive);
    qb_status status = qb__icd_halo_sum(s->settings.halo, qb__check_cancel(s->matrix->env), &some, 1);
    if (status == QB_OK)
        status = qb__icd_check(given->lines, given->weights, atomic_load(&t.bad), some > 0, s->slices,
                               s->matrix->footprints.columns);
    if (status != QB_OK) return status;
    qb__pool_for(s->pool, s->tiles * s->groups, curve_tile, &t);
    qb__pool_for(s->pool, s->groups, subtract_group, s);
    return qb__icd_lanes_swap(s, qb__check_cancel(s->matrix->env));
}
