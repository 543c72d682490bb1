/* SPDX-License-Identifier: MIT */
/* Single slices, SuperVoxel by SuperVoxel: kernel launches. */
#include <math.h>

#include "base/memory.h"
#include "base/status.h"
#include "kernels/icd/icd_buffers.h"
#include "kernels/icd/icd_state.h"

enum { GIVEN = 4, ITEMS = 128, RETURNED = 256 };

#define LAUNCH QB__BUFFERS_LAUNCH
#define BEAM QB__BUFFERS_BEAM

/* ---- the start ---- */

/* Loads the data, in blocks of views. */
static qb_status load(qb__icd_on_device *s, const float *lines, qb__device_filter *filter, int32_t rule, float scale) {
    const qb__buffers_sizes *n = &s->n;
    const size_t view_floats = (size_t)n->slices * (size_t)n->columns;
    const size_t most = qb__buffers_staging(n) / (view_floats * sizeof(float)), block = filter ? most / 2 : most;
    const qb__device_rows to = {s->staging, 0, view_floats, (size_t)n->columns};
    qb_status status = QB_OK;
    for (size_t v = 0; status == QB_OK && v < (size_t)n->views; v += block) {
        const size_t views = qb__smaller(block, (size_t)n->views - v);
        const int32_t view0 = (int32_t)v;
        QB__TRY(qb__icd_upload_views(s->queue, lines + v * view_floats, v, views, filter, &to));
        QB__TRY(LAUNCH(B_LOAD, qb__ceil_div((size_t)n->columns, ITEMS), views, n->slices, ITEMS, QB__MEMORY(s->staging),
                       QB__VALUE(view0), QB__VALUE(n->views), QB__VALUE(n->slices), QB__VALUE(n->columns),
                       QB__VALUE(rule), QB__VALUE(scale), QB__MEMORY(s->error), QB__MEMORY(s->root)));
    }
out:
    return status;
}

static qb_status clear(qb__icd_on_device *s) {
    QB__OR_RETURN(qb__memory_fill(s->queue, s->error, 0, 0, qb__buffers_data(&s->n) * sizeof(float)));
    return qb__memory_fill(s->queue, s->root, 0, 0, qb__buffers_data(&s->n) * 2);
}

static qb_status gather(qb__icd_on_device *s, int32_t squares, float least, qb__memory *out) {
    const qb__buffers_sizes *n = &s->n;
    enum { FEW = 64 };
    return LAUNCH(B_GATHER, qb__ceil_div((size_t)n->nx, FEW), n->ny, n->slices, FEW, BEAM, QB__MEMORY(s->error),
                  QB__MEMORY(s->root), QB__MEMORY(s->inside), QB__VALUE(n->nx), QB__VALUE(n->ny), QB__VALUE(squares),
                  QB__VALUE(least), QB__MEMORY(out));
}

/* Start of buffers of a fan; asynchronous. */
qb_status qb__buffers_place(qb__icd_on_device *s, const qb__icd_problem *p) {
    const qb__buffers_sizes *n = &s->n;
    if (!qb__icd_fan(&p->footprints)) return QB_OK;
    return LAUNCH(B_PLACE, qb__ceil_div((size_t)n->views, ITEMS), s->list.count, 1, ITEMS, BEAM, QB__MEMORY(s->corner));
}

qb_status qb__buffers_back(qb__icd_on_device *s, const float *lines, qb__device_filter *filter) {
    QB__OR_RETURN(clear(s));
    QB__OR_RETURN(qb__memory_fill(s->queue, s->x, 0, 0, qb__buffers_images(&s->n) * sizeof(float)));
    QB__OR_RETURN(load(s, lines, filter, 0, 1));
    QB__OR_RETURN(gather(s, 0, s->positive ? 0 : -INFINITY, s->x));
    return qb__queue_finish(s->queue);
}

qb_status qb__buffers_fill(qb__icd_on_device *s, float value) {
    const int32_t pixels = (int32_t)s->n.pixels;
    qb_status status = LAUNCH(B_FILL, qb__ceil_div(s->n.pixels, ITEMS), s->n.slices, 1, ITEMS, QB__MEMORY(s->x),
                              QB__MEMORY(s->inside), QB__VALUE(pixels), QB__VALUE(value));
    return status == QB_OK ? qb__queue_finish(s->queue) : status;
}

qb_status qb__buffers_put(qb__icd_on_device *s, bool toward, const float *images) {
    const qb__buffers_sizes *n = &s->n;
    const size_t image = (size_t)n->nx * (size_t)n->ny;
    const float least = s->positive && !toward ? 0 : -INFINITY;
    qb__memory *to = toward ? s->toward : s->x;
    qb_status status = qb__memory_fill(s->queue, to, 0, 0, qb__buffers_images(n) * sizeof(float));
    for (int32_t slice = 0; slice < n->slices && status == QB_OK; slice++) {
        QB__TRY(qb__memory_upload(s->queue, s->staging, 0, images + (size_t)slice * image, image * sizeof *images));
        QB__TRY(LAUNCH(B_PUT, qb__ceil_div((size_t)n->nx, ITEMS), n->ny, 1, ITEMS, QB__MEMORY(s->staging),
                       QB__MEMORY(s->inside), QB__VALUE(n->nx), QB__VALUE(n->ny), QB__VALUE(slice), QB__VALUE(least),
                       QB__MEMORY(to)));
    }
out:
    return status == QB_OK ? qb__queue_finish(s->queue) : status;
}

static qb_status settle(qb__icd_on_device *s) {
    const int32_t pixels = (int32_t)s->n.pixels;
    const float least = s->positive ? 0 : -INFINITY;
    if (!(s->neighbours[2] > 0)) return QB_OK;
    return LAUNCH(B_SETTLE, qb__ceil_div(s->n.pixels, ITEMS), s->n.slices, 1, ITEMS, QB__MEMORY(s->curve),
                  QB__MEMORY(s->toward), QB__MEMORY(s->inside), QB__VALUE(pixels), QB__VALUE(least), QB__MEMORY(s->x));
}

qb_status qb__buffers_begin(qb__icd_on_device *s, const float *lines, int rule, const float *weights, float scale) {
    const qb__buffers_sizes *n = &s->n;
    s->summed = false;
    for (int i = 0; i < 3; i++) s->b[i] = (float)(s->neighbours[i] * (double)(weights ? scale : 1));
    for (size_t i = 0; i < (size_t)n->slices * s->list.count; i++) s->list.amount[i] = 0;
    qb__supervoxels_begin(&s->list);
    QB__OR_RETURN(clear(s));
    QB__OR_RETURN(load(s, lines, NULL, weights ? 0 : rule, 1));
    if (weights) QB__OR_RETURN(load(s, weights, NULL, GIVEN, scale));
    QB__OR_RETURN(gather(s, 1, 0, s->curve));
    QB__OR_RETURN(settle(s));
    QB__OR_RETURN(LAUNCH(B_SUBTRACT, qb__ceil_div((size_t)n->columns, ITEMS), n->views, n->slices, ITEMS, BEAM,
                         QB__MEMORY(s->x), QB__VALUE(n->nx), QB__VALUE(n->ny), QB__MEMORY(s->error)));
    return qb__queue_finish(s->queue);
}

/* ---- sweeps ---- */

static qb_status run_batch(qb__icd_on_device *s, size_t batch, int32_t skip) {
    const qb__buffers_sizes *n = &s->n;
    const int32_t at = (int32_t)s->list.batch_at[batch], places = s->list.batch_places[batch];
    const size_t all = s->list.slices * s->list.count;
    QB__OR_RETURN(s->update(s, at, places, skip, batch < s->list.second ? 0 : (int32_t)all));
    return LAUNCH(B_RETURN, n->views, n->slices, 1, RETURNED, BEAM, QB__MEMORY(s->picked), QB__VALUE(at),
                  QB__VALUE(places), QB__MEMORY(s->corner), QB__MEMORY(s->moved), QB__MEMORY(s->left),
                  QB__MEMORY(s->error), QB__LOCAL(qb__round_up((size_t)places, 32) * sizeof(int32_t)));
}

static void add_up(qb__icd_on_device *s, qb__icd_swept *turned) {
    const size_t all = s->list.slices * s->list.count;
    for (size_t g = 0; g < s->list.slices; g++) turned[g] = (qb__icd_swept){0};
    for (size_t i = 0; i < 2 * all; i++) {
        const float *of = s->host_stats[i];
        qb__icd_swept *sum = &turned[i % all / s->list.count];
        if (!s->list.visited[i]) continue;
        s->list.amount[i % all] = (double)of[0];
        sum->change += (double)of[0];
        sum->size += (double)of[1];
        sum->updates += (double)of[2];
    }
}

/* Download the parts of the cost. */
static qb_status sum_up(qb__icd_on_device *s) {
    const qb__buffers_sizes *n = &s->n;
    const int32_t behind = n->slices * n->views;
    QB__OR_RETURN(LAUNCH(B_MISFIT, n->views, n->slices, 1, ITEMS, QB__MEMORY(s->error), QB__MEMORY(s->root),
                         QB__VALUE(n->views), QB__VALUE(n->columns), QB__MEMORY(s->sums)));
    QB__OR_RETURN(LAUNCH(B_ROUGH, n->ny, n->slices, 1, ITEMS, QB__MEMORY(s->x), QB__MEMORY(s->inside), QB__VALUE(n->nx),
                         QB__VALUE(n->ny), QB__VALUE(s->surrogate), QB__VALUE(s->b[0]), QB__VALUE(s->b[1]),
                         QB__MEMORY(s->toward), QB__VALUE(s->b[2]), QB__MEMORY(s->sums), QB__VALUE(behind)));
    return qb__memory_download(s->queue, s->sums, 0, s->host_sums, qb__buffers_sums(n));
}

static void costs_of(const qb__icd_on_device *s, double *cost) {
    const size_t views = (size_t)s->n.views, ny = (size_t)s->n.ny, slices = (size_t)s->n.slices;
    for (size_t g = 0; g < slices; g++) {
        cost[g] = 0;
        for (size_t i = 0; i < views; i++) cost[g] += 0.5 * (double)s->host_sums[g * views + i];
        for (size_t i = 0; i < ny; i++) cost[g] += (double)s->host_sums[slices * views + g * ny + i];
    }
}

/* Wait for the device once for everything, including the parts of the cost. */
qb_status qb__buffers_sweep(qb__icd_on_device *s, int number, bool skip, const bool *still, qb__icd_swept *turned) {
    const size_t stats = 2 * s->list.slices * s->list.count * sizeof *s->host_stats;
    qb__supervoxels_sweep(&s->list, s->seed, number, still);
    if (s->list.used)
        QB__OR_RETURN(qb__memory_upload(s->queue, s->picked, 0, s->list.picked, s->list.used * sizeof(int32_t)));
    for (size_t b = 0; b < s->list.batches; b++) QB__OR_RETURN(run_batch(s, b, skip));
    QB__OR_RETURN(qb__memory_download(s->queue, s->stats, 0, s->host_stats, stats));
    QB__OR_RETURN(sum_up(s));
    QB__OR_RETURN(qb__queue_finish(s->queue));
    s->summed = true;
    add_up(s, turned);
    costs_of(s, s->costs);
    qb__supervoxels_ease(&s->list, s->costs);
    return QB_OK;
}

/* ---- results ---- */

qb_status qb__buffers_cost(qb__icd_on_device *s, double *cost) {
    if (!s->summed) {
        QB__OR_RETURN(sum_up(s));
        QB__OR_RETURN(qb__queue_finish(s->queue));
        s->summed = true;
    }
    costs_of(s, cost);
    return QB_OK;
}

qb_status qb__buffers_image(qb__icd_on_device *s, size_t slice, float scale, float *out) {
    const qb__buffers_sizes *n = &s->n;
    const int32_t which = (int32_t)slice;
    QB__OR_RETURN(LAUNCH(B_IMAGE, qb__ceil_div((size_t)n->nx, ITEMS), n->ny, 1, ITEMS, QB__MEMORY(s->x),
                         QB__VALUE(n->nx), QB__VALUE(n->ny), QB__VALUE(which), QB__VALUE(scale),
                         QB__MEMORY(s->staging)));
    QB__OR_RETURN(qb__memory_download(s->queue, s->staging, 0, out, (size_t)n->nx * (size_t)n->ny * sizeof(float)));
    return qb__queue_finish(s->queue);
}

qb_status qb__buffers_state(qb__icd_on_device *s, bool into, qb__icd_piece piece, void *self) {
    const qb__icd_state_part parts[] = {{s->error, qb__buffers_data(&s->n) * sizeof(float)},
                                        {s->x, qb__buffers_images(&s->n) * sizeof(float)}};
    qb_status status = qb__icd_pass_state(s->queue, parts, 2, QB__BUFFERS_STAGING / 4, into, piece, self);
    qb__supervoxels *list = &s->list;
    if (into) s->summed = false;
    if (status == QB_OK) status = piece(self, list->amount, list->slices * list->count * sizeof *list->amount);
    if (status == QB_OK) status = piece(self, list->fewer, list->slices * sizeof *list->fewer);
    if (status == QB_OK) status = piece(self, list->cost, list->slices * sizeof *list->cost);
    for (size_t i = 0; into && i < list->slices; i++)
        list->fewer[i] = qb__larger(1, qb__smaller(list->fewer[i], list->places));
    return status;
}
