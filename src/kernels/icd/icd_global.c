/* SPDX-License-Identifier: MIT */
/* Algorithm 3 of Wang et al. (PPoPP 2017): the host part of icd_global.cl and icd_global_build.cl. */
#include <math.h>

#include "base/status.h"
#include "kernels/icd/icd_buffers.h"

enum { SIDE, BATCH, SHARE, LEAST, PARTS, ITEMS, CHUNK, BYTES, READ_ONLY, PAIR, NEARBY, DYNAMIC };
enum { REGISTERS = 32, MADE = 64, EACH = 128 };

/* ---- sizes ---- */

static size_t views_of(size_t views, const int *values) {
    return values[CHUNK] ? qb__round_up(views, (size_t)values[CHUNK]) : views;
}

/* Movement, over some views, of the footprint of a voxel at a corner of a SuperVoxel, in columns of its buffer. */
static double drift_of(const qb__footprints *f, double last, int corner, size_t first, size_t end) {
    double low = INFINITY, high = -INFINITY;
    for (size_t v = first; v < end; v++) {
        const double x = corner & 1 ? last : 0, y = corner & 2 ? last : 0;
        const double from = fmin(0, f->ax[v] * last) + fmin(0, f->ay[v] * last);
        const double at = f->ax[v] * x + f->ay[v] * y - from;
        low = fmin(low, at);
        high = fmax(high, at);
    }
    return high - low;
}

/* Largest number of rows of a chunk's rectangle: the movement is convex over a SuperVoxel, so the corners have the
 * largest; starts of buffers and footprints are rounded. */
static size_t rows_of(const qb__icd_problem *p, size_t width, const int *values) {
    const size_t chunk = (size_t)values[CHUNK], views = p->footprints.views;
    double most = 0;
    if (!chunk) return p->footprints.taps;
    for (size_t v = 0; v < views; v += chunk)
        for (int corner = 0; corner < 4; corner++)
            most = fmax(most, drift_of(&p->footprints, values[SIDE] - 1, corner, v, qb__smaller(v + chunk, views)));
    return qb__smaller(width, (size_t)ceil(most) + 2 + p->footprints.taps);
}

/* Groups of a SuperVoxel: limited by its voxels, and for small images by their sides, so that the effect of groups on
 * each other stays small. */
static size_t parts_of(const qb__icd_problem *p, const int *values) {
    const size_t side = (size_t)values[SIDE], least = qb__smaller(p->nx, p->ny);
    const size_t most = qb__smaller(qb__smaller(side, p->nx) * qb__smaller(side, p->ny) / 16, least / 4);
    return qb__smaller((size_t)values[PARTS], qb__larger(1, most));
}

static qb__buffers_sizes sizes_of(const qb__icd_ask *ask, const int *values) {
    qb__buffers_sizes n = qb__buffers_sizes_of(ask, (size_t)values[SIDE]);
    n.items = (size_t)values[ITEMS];
    n.parts = parts_of(ask->problem, values);
    n.buffer = views_of((size_t)n.views, values) * n.width;
    return n;
}

static qb__supervoxels_how how_of(const qb__icd_ask *ask, const int *values) {
    return (qb__supervoxels_how){(size_t)values[SIDE], ask->slices, values[BATCH], values[SHARE], values[LEAST]};
}

typedef struct room {
    size_t matrix, scales, starts, weights, next, part;
} room;

static room room_of(const qb__buffers_sizes *n, const qb__icd_problem *p, size_t supervoxels, size_t places,
                    const int *values) {
    const size_t slots = supervoxels * (size_t)(values[SIDE] * values[SIDE]),
                 views = views_of((size_t)n->views, values);
    const size_t spots = (size_t)n->slices * places, chunks = values[CHUNK] ? views / (size_t)values[CHUNK] : views;
    return (room){.matrix = slots * views * rows_of(p, n->width, values) * (values[BYTES] ? 1 : sizeof(float)),
                  .scales = slots * sizeof(float),
                  .starts = slots * chunks * sizeof(int32_t),
                  .weights = spots * n->buffer * sizeof(float),
                  .next = spots * sizeof(int32_t),
                  .part = spots * n->parts * 4 * sizeof(float)};
}

size_t qb__global_bytes(const qb__icd_ask *ask, const int *values) {
    const qb__buffers_sizes n = sizes_of(ask, values);
    const qb__supervoxels_how how = how_of(ask, values);
    const room r = room_of(&n, ask->problem, qb__supervoxels_most(ask->problem, how.side),
                           qb__supervoxels_places(ask->problem, &how), values);
    return qb__buffers_room(&n, ask, &how) + r.matrix + r.scales + r.starts + r.weights + r.next + r.part;
}

/* ---- what the planner asks ---- */

const char *qb__global_unusable(const qb__device_info *device, const void *of, const int *values) {
    const qb__icd_size *p = of;
    const char *refuses = qb__buffers_refuses(device, p);
    if (refuses) return refuses;
    if (p->repeatable)
        return "which group comes first is left to chance, and with it the last bits: leave --kernel or "
               "--deterministic out";
    if (p->pulled) return "voxels that are pulled toward an image";
    if (p->fan) return "a fan beam: rows of its chunks follow from rays that are parallel";
    /* PoCL 5.0 fails with more, with 1 and with 16 threads; 3.1 and 6.0 do not. */
    if (device->is_cpu && (values[NEARBY] || values[PARTS] > 1))
        return "for processors one group, and no local memory, is as good";
    return device->group_size < (size_t)values[ITEMS] ? "needs larger groups of items" : NULL;
}

/* Per entry and slice: the matrix is read twice, error and weight once, and the error is updated in memory. */
void qb__global_cost(const void *of, unsigned slices, const int *values, qb__kernel_cost *cost) {
    const double entry = values[BYTES] ? 1 : 4;
    (void)of, (void)slices;
    *cost = (qb__kernel_cost){
        .arithmetic = 60, .l2_bytes = 2 * (2 * entry + 8 + 32), .memory_bytes = 3 * entry, .launches = 600};
}

/* ---- launching ---- */

static qb_status update(qb__icd_on_device *s, int32_t at, int32_t places, int32_t skip, int32_t stats_at) {
    const qb__buffers_sizes *n = &s->n;
    const int32_t count = (int32_t)s->list.count, positive = s->positive;
    QB__OR_RETURN(QB__BUFFERS_LAUNCH(B_BUILD, qb__ceil_div(n->buffer, EACH), places, n->slices, EACH, QB__BUFFERS_BEAM,
                                     QB__MEMORY(s->error), QB__MEMORY(s->root), QB__MEMORY(s->picked), QB__VALUE(at),
                                     QB__VALUE(places), QB__MEMORY(s->corner), QB__MEMORY(s->left),
                                     QB__MEMORY(s->weights), QB__MEMORY(s->next), QB__MEMORY(s->moved)));
    QB__OR_RETURN(QB__BUFFERS_LAUNCH(
        B_UPDATE, (size_t)places * n->parts, n->slices, 1, n->items, QB__MEMORY(s->matrix), QB__MEMORY(s->scales),
        QB__MEMORY(s->starts), QB__MEMORY(s->picked), QB__VALUE(at), QB__MEMORY(s->corner), QB__MEMORY(s->x),
        QB__MEMORY(s->inside), QB__MEMORY(s->curve), QB__VALUE(n->nx), QB__VALUE(n->ny), QB__VALUE(s->surrogate),
        QB__VALUE(s->b[0]), QB__VALUE(s->b[1]), QB__VALUE(positive), QB__VALUE(skip), QB__MEMORY(s->left),
        QB__MEMORY(s->weights), QB__MEMORY(s->next), QB__MEMORY(s->moved), QB__MEMORY(s->part)));
    return QB__BUFFERS_LAUNCH(B_GAIN, qb__ceil_div((size_t)places, MADE), n->slices, 1, MADE, QB__MEMORY(s->picked),
                              QB__VALUE(at), QB__VALUE(places), QB__VALUE(count), QB__MEMORY(s->part),
                              QB__MEMORY(s->stats), QB__VALUE(stats_at));
}

/* ---- creating ---- */

static qb_status build(qb__icd_on_device *s, const qb__icd_ask *ask, const int *values) {
    qb__macros macros = {.count = 0};
    qb__buffers_shape(s, ask, &macros);
    QB__OR_RETURN(qb__buffers_build(s, QB__BUFFERS_START, &macros));
    qb__macros_add(&macros, "CHUNK", values[CHUNK]);
    qb__macros_add(&macros, "VIEWS", (long long)views_of((size_t)s->n.views, values));
    qb__macros_add(&macros, "ROWS_MOST", (long long)rows_of(ask->problem, s->n.width, values));
    QB__OR_RETURN(qb__buffers_build(s, QB__BUFFERS_RETURN, &macros));
    qb__macros_add(&macros, "BYTES", values[BYTES]);
    QB__OR_RETURN(qb__buffers_build(s, QB__BUFFERS_BUILD, &macros));
    qb__macros_add(&macros, "PARTS", (long long)s->n.parts);
    qb__macros_add(&macros, "ITEMS", values[ITEMS]);
    qb__macros_add(&macros, "READ_ONLY", values[READ_ONLY]);
    qb__macros_add(&macros, "PAIR", values[PAIR]);
    qb__macros_add(&macros, "NEARBY", values[NEARBY]);
    qb__macros_add(&macros, "DYNAMIC", values[DYNAMIC]);
    if (values[NEARBY]) qb__macros_add(&macros, "QB_REGISTERS", REGISTERS);
    return qb__buffers_build(s, QB__BUFFERS_GLOBAL, &macros);
}

static qb_status take_memory(qb__icd_on_device *s, const qb__icd_ask *ask, const int *values) {
    const room r = room_of(&s->n, ask->problem, s->list.count, s->list.places, values);
    struct {
        qb__memory **memory;
        size_t bytes;
    } const wanted[] = {{&s->matrix, r.matrix},   {&s->scales, r.scales}, {&s->starts, r.starts},
                        {&s->weights, r.weights}, {&s->next, r.next},     {&s->part, r.part}};
    qb_status status = QB_OK;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted && status == QB_OK; i++)
        status = qb__memory_create(s->device, wanted[i].bytes, wanted[i].memory);
    return status;
}

static qb_status make_matrix(qb__icd_on_device *s) {
    const qb__buffers_sizes *n = &s->n;
    qb_status status =
        QB__BUFFERS_LAUNCH(B_MATRIX, s->list.side * s->list.side, s->list.count, 1, MADE, QB__BUFFERS_BEAM,
                           QB__MEMORY(s->corner), QB__MEMORY(s->matrix), QB__MEMORY(s->scales), QB__MEMORY(s->starts));
    return status == QB_OK ? qb__queue_finish(s->queue) : status;
}

qb_status qb__global_create(qb__device *device, const qb__icd_ask *ask, const int *values, qb__icd_on_device **out) {
    const qb__buffers_sizes n = sizes_of(ask, values);
    const qb__supervoxels_how how = how_of(ask, values);
    qb__icd_on_device *s;
    qb_status status = qb__buffers_new(device, ask, &n, &how, &s);
    *out = NULL;
    if (status != QB_OK) return status;
    s->update = update;
    QB__TRY(build(s, ask, values));
    QB__TRY(take_memory(s, ask, values));
    QB__TRY(make_matrix(s));
    *out = s;
    s = NULL;
out:
    qb__buffers_destroy(s);
    return status;
}
