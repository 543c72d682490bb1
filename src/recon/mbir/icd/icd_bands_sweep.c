/* SPDX-License-Identifier: MIT */
/* Few slices on the CPU: batches of SuperVoxels, their selection, and the cost. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/random.h"
#include "recon/mbir/icd/icd_bands.h"

enum { COLOURS = 4, SHARE = 5, RUN = 16 };

/* ---- a batch ---- */

/* Start of the band in each view: its middle is the column of the SuperVoxel's centre. A band outside the detector is
 * all margin. */
static void place(const qb__icd_slicewise *s, const qb__icd_supervoxel *v, qb__icd_slot *slot) {
    const qb__footprints *f = &s->matrix->footprints;
    const double width = (double)s->bands.width, middle = (double)(s->bands.width / 2);
    for (size_t view = 0; view < f->views; view++) {
        const double w = f->wx ? f->wx[view] * v->x + f->wy[view] * v->y + f->w0[view] : 1;
        const double plane = (f->ax[view] * v->x + f->ay[view] * v->y + f->h0[view]) / w;
        const double h = f->c0 ? f->c0[view] + f->per_radian * atan(plane) : plane;
        const double start = fmin(fmax(floor(h) - middle, -width), (double)f->columns);
        slot->start[view] = (int32_t)(start + width);
        slot->at[view] = (float)(h - (start + middle));
    }
}

/* Fan: columns relative to the band's middle. */
static void place_in_fan(const qb__icd_slicewise *s, const qb__icd_supervoxel *v, qb__icd_slot *slot) {
    const qb__footprints *f = &s->matrix->footprints;
    const size_t stride = f->stride, width = s->bands.width;
    for (size_t view = 0; view < f->views; view++) {
        const double w = f->wx[view] * v->x + f->wy[view] * v->y + f->w0[view];
        const double middle = (double)slot->start[view] - (double)width + (double)(width / 2);
        float *to = slot->fan + view;
        to[0] = (float)((f->ax[view] - middle * f->wx[view]) / w);
        to[stride] = (float)((f->ay[view] - middle * f->wy[view]) / w);
        to[2 * stride] = (float)(f->wx[view] / w);
        to[3 * stride] = (float)(f->wy[view] / w);
    }
}

/* Curved detector: tangents relative to the ray through the middle. */
static void place_around(const qb__icd_slicewise *s, const qb__icd_supervoxel *v, qb__icd_slot *slot) {
    const qb__footprints *f = &s->matrix->footprints;
    const size_t stride = f->stride;
    for (size_t view = 0; view < f->views; view++) {
        const double w = f->wx[view] * v->x + f->wy[view] * v->y + f->w0[view];
        const double middle = (f->ax[view] * v->x + f->ay[view] * v->y + f->h0[view]) / w,
                     along = w * (1 + middle * middle);
        float *to = slot->fan + view;
        to[0] = (float)((f->ax[view] - middle * f->wx[view]) / along);
        to[stride] = (float)((f->ay[view] - middle * f->wy[view]) / along);
        to[2 * stride] = (float)((f->wx[view] + middle * f->ax[view]) / along);
        to[3 * stride] = (float)((f->wy[view] + middle * f->ay[view]) / along);
    }
}

static qb__icd_band band_of(const qb__icd_slicewise *s, const qb__icd_supervoxel *v, const qb__icd_slot *slot,
                            const float *weight) {
    const size_t stride = s->matrix->footprints.stride;
    qb__icd_band band = {.x = v->x, .y = v->y, .at = slot->at, .error = slot->error, .weight = weight};
    if (slot->fan)
        band.ax = slot->fan, band.ay = band.ax + stride, band.wx = band.ay + stride, band.wy = band.wx + stride;
    return band;
}

/* Zeros after the last view, because subtract() writes there. */
static void copy_band(const qb__icd_slicewise *s, const qb__icd_slot *slot, const float *data, float *band) {
    const size_t width = s->bands.width, views = s->matrix->footprints.views;
    for (size_t view = 0; view < views; view++)
        memcpy(band + view * width, data + view * s->row + slot->start[view], width * sizeof *band);
    memset(band + views * width, 0, (s->matrix->footprints.stride - views) * width * sizeof *band);
}

/* The change of the band is added to the errors, which nobody else has changed meanwhile. */
static void leave_change(const qb__icd_slicewise *s, qb__icd_slot *slot) {
    const size_t width = s->bands.width;
    for (size_t view = 0; view < s->matrix->footprints.views; view++) {
        const float *before = s->now->error + view * s->row + slot->start[view];
        float *band = slot->error + view * width;
        for (size_t c = 0; c < width; c++) band[c] -= before[c];
    }
}

static void visit(void *context, size_t task, int worker) {
    const qb__icd_slicewise *s = context;
    const qb__icd_supervoxel *v = &s->supervoxel[s->list[task]];
    const qb__icd_band_kernel *kernel = &s->variant->band;
    const uint32_t *pixels = s->pixels + v->first;
    const qb__icd_slice *image = &s->now->image;
    qb__icd_slot *slot = &s->slot[task];
    const qb__icd_band band = band_of(s, v, slot, s->weight[worker]);
    char *scratch = s->scratch[worker];
    slot->moved = (qb__icd_band_moved){0};
    place(s, v, slot);
    if (slot->fan) (s->matrix->footprints.c0 ? place_around : place_in_fan)(s, v, slot);
    if (s->pass == QB__BANDS_SUBTRACT) {
        memset(slot->error, 0, s->matrix->footprints.stride * s->bands.width * sizeof *slot->error);
        kernel->subtract(&s->problem, &s->bands, &band, image, pixels, v->count, scratch);
        return;
    }
    copy_band(s, slot, s->pass == QB__BANDS_CURVE ? s->now->weight : s->now->error,
              s->pass == QB__BANDS_CURVE ? s->weight[worker] : slot->error);
    if (s->pass == QB__BANDS_BACK) kernel->back(&s->problem, &s->bands, &band, image, pixels, v->count, scratch);
    if (s->pass == QB__BANDS_CURVE) kernel->curve(&s->problem, &s->bands, &band, image, pixels, v->count, scratch);
    if (s->pass != QB__BANDS_UPDATE) return;
    copy_band(s, slot, s->now->weight, s->weight[worker]);
    kernel->update(&s->problem, &s->bands, &band, image, pixels, v->count, s->skip, &slot->moved, scratch);
    leave_change(s, slot);
}

/* For some views, one SuperVoxel after another. */
static void add_changes(void *context, size_t task, int worker) {
    (void)worker;
    const qb__icd_slicewise *s = context;
    const size_t width = s->bands.width, end = qb__smaller((task + 1) * RUN, s->matrix->footprints.views);
    for (size_t i = 0; i < s->listed; i++)
        for (size_t view = task * RUN; view < end; view++) {
            const float *change = s->slot[i].error + view * width;
            float *to = s->now->error + view * s->row + s->slot[i].start[view];
            for (size_t c = 0; c < width; c++) to[c] += change[c];
        }
}

static void run_batch(qb__icd_slicewise *s, const size_t *list, size_t count) {
    s->list = list;
    s->listed = count;
    qb__pool_for(s->pool, count, visit, s);
    if (s->pass == QB__BANDS_UPDATE || s->pass == QB__BANDS_SUBTRACT)
        qb__pool_for(s->pool, qb__ceil_div(s->matrix->footprints.views, RUN), add_changes, s);
}

static void note(qb__icd_slicewise *s, size_t supervoxel, const qb__icd_band_moved *moved) {
    s->now->amount[supervoxel] = moved->change;
    s->moved.change += moved->change;
    s->moved.updates += moved->updates;
}

void qb__icd_slicewise_sweep(qb__icd_slicewise *s, const size_t *list, size_t count) {
    size_t some[QB__ICD_AT_ONCE];
    for (int colour = 0; colour < COLOURS; colour++) {
        size_t waiting = 0;
        for (size_t i = 0; i < count && !qb__cancelled(s->env); i++) {
            if (s->supervoxel[list[i]].colour == colour) some[waiting++] = list[i];
            if (waiting < s->batch && (i + 1 < count || !waiting)) continue;
            run_batch(s, some, waiting);
            for (size_t n = 0; s->pass == QB__BANDS_UPDATE && n < waiting; n++) note(s, some[n], &s->slot[n].moved);
            waiting = 0;
        }
    }
}

/* ---- selection ---- */

void qb__icd_slicewise_shuffle(qb__icd_slicewise *s, uint64_t number) {
    qb__random random = qb__random_stream(s->settings.seed, number);
    for (size_t i = 0; i < s->count; i++) s->order[i] = i;
    for (size_t i = s->count - 1; i > 0; i--) {
        const size_t other = qb__random_bits(&random) % (i + 1), kept = s->order[i];
        s->order[i] = s->order[other];
        s->order[other] = kept;
    }
}

/* Largest change first; equal ones in order. */
static int by_amount(const void *a, const void *b) {
    const qb__icd_ranked *l = a, *r = b;
    if (l->amount != r->amount) return l->amount > r->amount ? -1 : 1;
    return l->index < r->index ? -1 : 1;
}

static void choose_largest(qb__icd_slicewise *s, size_t count) {
    for (size_t i = 0; i < s->count; i++) s->ranked[i] = (qb__icd_ranked){s->now->amount[i], i};
    qsort(s->ranked, s->count, sizeof *s->ranked, by_amount);
    for (size_t i = 0; i < count; i++) s->order[i] = s->ranked[i].index;
}

static double voxels_of(const qb__icd_slicewise *s, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) sum += (double)s->supervoxel[s->order[i]].count;
    return sum;
}

/* Number of voxels in the SuperVoxels of a sweep. */
static double turn_slice(qb__icd_slicewise *s, int number) {
    const size_t some = number ? qb__ceil_div(s->count, SHARE) : s->count;
    double voxels = 0;
    if (number) {
        choose_largest(s, some);
        voxels += voxels_of(s, some);
        qb__icd_slicewise_sweep(s, s->order, some);
    }
    qb__icd_slicewise_shuffle(s, (uint64_t)number);
    voxels += voxels_of(s, some);
    qb__icd_slicewise_sweep(s, s->order, some);
    return voxels;
}

static double size_of(const qb__icd_slicewise *s) {
    double sum = 0;
    for (size_t i = 0; i < s->pixel_count; i++) sum += fabs((double)s->now->image.x[s->pixels[i]]);
    return sum;
}

/* The change is that of the visited voxels, relative to the same number of voxels with mean value. */
static qb_status turn(void *self, int number, bool skip, const bool *still, const qb_env *env, qb__icd_swept *turned) {
    qb__icd_slicewise *s = self;
    s->skip = skip;
    s->env = env;
    s->pass = QB__BANDS_UPDATE;
    for (size_t i = 0; i < s->slices; i++) {
        turned[i] = (qb__icd_swept){0};
        if (still[i]) continue;
        s->now = &s->single[i];
        s->moved = (qb__icd_band_moved){0};
        const double share = turn_slice(s, number) / (double)s->pixel_count;
        turned[i] =
            (qb__icd_swept){.change = s->moved.change, .size = size_of(s) * share, .updates = (double)s->moved.updates};
    }
    return qb__check_cancel(env); /* a sweep may have skipped SuperVoxels, and must not be kept as a complete one */
}

/* ---- cost ---- */

static void cost_part(void *context, size_t task, int worker) {
    (void)worker;
    const qb__icd_slicewise *s = context;
    const size_t views = s->matrix->footprints.views;
    double sum = 0;
    if (task >= views) {
        const qb__icd_supervoxel *v = &s->supervoxel[task - views];
        s->cost[task] = s->variant->band.prior(&s->problem, &s->now->image, s->pixels + v->first, v->count);
        return;
    }
    const float *error = s->now->error + task * s->row, *weight = s->now->weight + task * s->row;
    for (size_t c = 0; c < s->row; c++)
        if (weight[c] > 0) sum += 0.5 * (double)error[c] * (double)error[c] / (double)weight[c];
    s->cost[task] = sum;
}

static qb_status cost_of(void *self, double *cost) {
    qb__icd_slicewise *s = self;
    const size_t parts = s->matrix->footprints.views + s->count;
    for (size_t i = 0; i < s->slices; i++) {
        s->now = &s->single[i];
        qb__pool_for(s->pool, parts, cost_part, s);
        cost[i] = 0;
        for (size_t part = 0; part < parts; part++) cost[i] += s->cost[part];
    }
    return QB_OK;
}

static qb_status image(void *self, size_t slice, float scale, float *out) {
    const qb__icd_slicewise *s = self;
    const size_t nx = s->problem.nx;
    const float *x = s->single[slice].image.x + nx + 3;
    for (size_t iy = 0; iy < s->problem.ny; iy++)
        for (size_t ix = 0; ix < nx; ix++) out[iy * nx + ix] = scale * x[iy * (nx + 2) + ix];
    return QB_OK;
}

/* In memory order. */
static qb_status state(void *self, bool into, qb__icd_piece piece, void *to) {
    const qb__icd_slicewise *s = self;
    const size_t data = s->matrix->footprints.views * s->row, voxels = (s->problem.nx + 2) * (s->problem.ny + 2);
    qb_status status = QB_OK;
    (void)into;
    for (size_t i = 0; i < s->slices && status == QB_OK; i++) {
        const qb__icd_single *one = &s->single[i];
        status = piece(to, one->error, data * sizeof(float));
        if (status == QB_OK) status = piece(to, one->image.x, voxels * sizeof(float));
        if (status == QB_OK) status = piece(to, one->amount, s->count * sizeof(double));
    }
    return status;
}

const qb__icd_worker qb__icd_slicewise_on_cpu = {.start = qb__icd_slicewise_start,
                                                 .turn = turn,
                                                 .cost = cost_of,
                                                 .image = image,
                                                 .state = state,
                                                 .destroy = qb__icd_slicewise_destroy};
