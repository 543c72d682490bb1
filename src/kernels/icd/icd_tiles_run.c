/* SPDX-License-Identifier: MIT */
/* Launches of the kernels of icd_tiles.cl and icd_tiles_start.cl. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "kernels/icd/icd_state.h"
#include "kernels/icd/icd_tiles.h"

enum { THETA, CURVE, BACK }; /* modes of icd_theta */

/* ---- launches ---- */

#define LAUNCH(which, x, y, z, per, ...)                                                                               \
    qb__kernel_launch(s->kernel[which], s->queue, (const size_t[3]){(size_t)(x), (size_t)(y), (size_t)(z)},            \
                      (const size_t[3]){(per), 1, 1}, (const qb__arg[]){__VA_ARGS__},                                  \
                      sizeof((const qb__arg[]){__VA_ARGS__}) / sizeof(qb__arg))

static int32_t at_of(const qb__icd_on_device *s, size_t batch) { return (int32_t)(batch * qb__tiles_spots(&s->n)); }

static qb_status theta(qb__icd_on_device *s, size_t batch, int32_t mode, int32_t skip) {
    const qb__tiles_sizes *n = &s->n;
    const int32_t at = at_of(s, batch);
    return LAUNCH(K_THETA, n->places, n->chunks, n->groups, s->items, QB__MEMORY(s->rays), QB__MEMORY(s->shapes),
                  QB__VALUE(s->area), QB__VALUE(n->views), QB__VALUE(n->stride), QB__VALUE(n->columns),
                  QB__MEMORY(s->error), QB__MEMORY(s->root), QB__MEMORY(s->picked), QB__VALUE(at),
                  QB__MEMORY(s->corner), QB__MEMORY(s->x), QB__MEMORY(s->inside), QB__VALUE(n->nx), QB__VALUE(n->ny),
                  QB__VALUE(n->groups), QB__VALUE(n->slices), QB__VALUE(mode), QB__VALUE(skip), QB__MEMORY(s->partial));
}

static qb_status solve(qb__icd_on_device *s, size_t batch, int32_t skip) {
    const qb__tiles_sizes *n = &s->n;
    const int32_t at = at_of(s, batch), positive = s->positive;
    return LAUNCH(K_SOLVE, n->places, n->groups, 1, n->lanes, QB__MEMORY(s->x), QB__MEMORY(s->inside), QB__VALUE(n->nx),
                  QB__VALUE(n->ny), QB__VALUE(n->groups), QB__VALUE(n->slices), QB__MEMORY(s->curve),
                  QB__MEMORY(s->partial), QB__VALUE(n->chunks), QB__MEMORY(s->share), QB__VALUE(n->tiles),
                  QB__MEMORY(s->picked), QB__VALUE(at), QB__MEMORY(s->corner), QB__VALUE(s->surrogate),
                  QB__VALUE(s->b[0]), QB__VALUE(s->b[1]), QB__VALUE(s->b[2]), QB__VALUE(positive), QB__VALUE(skip),
                  QB__MEMORY(s->steps), QB__MEMORY(s->moved), QB__MEMORY(s->stats));
}

static qb_status apply(qb__icd_on_device *s, size_t batch) {
    const qb__tiles_sizes *n = &s->n;
    const int32_t at = at_of(s, batch);
    return LAUNCH(K_APPLY, n->views, n->groups, 1, s->items, QB__MEMORY(s->rays), QB__MEMORY(s->shapes),
                  QB__VALUE(s->area), QB__VALUE(n->views), QB__VALUE(n->stride), QB__VALUE(n->columns),
                  QB__MEMORY(s->picked), QB__VALUE(at), QB__VALUE(n->places), QB__MEMORY(s->corner),
                  QB__MEMORY(s->steps), QB__MEMORY(s->moved), QB__MEMORY(s->error));
}

static qb_status collect(qb__icd_on_device *s, size_t batch, float least, qb__memory *out) {
    const qb__tiles_sizes *n = &s->n;
    const int32_t at = at_of(s, batch);
    return LAUNCH(K_COLLECT, n->places, n->groups, 1, n->lanes, QB__MEMORY(s->partial), QB__VALUE(n->chunks),
                  QB__MEMORY(s->picked), QB__VALUE(at), QB__MEMORY(s->corner), QB__MEMORY(s->inside), QB__VALUE(n->nx),
                  QB__VALUE(n->ny), QB__VALUE(least), QB__MEMORY(out));
}

static qb_status lift(qb__icd_on_device *s, size_t batch) {
    const qb__tiles_sizes *n = &s->n;
    const int32_t at = at_of(s, batch);
    return LAUNCH(K_LIFT, n->places, n->groups, 1, n->lanes, QB__MEMORY(s->x), QB__MEMORY(s->picked), QB__VALUE(at),
                  QB__MEMORY(s->corner), QB__VALUE(n->nx), QB__VALUE(n->ny), QB__MEMORY(s->steps),
                  QB__MEMORY(s->moved));
}

/* ---- neighbouring slices of other stacks ---- */

static qb_status show(qb__icd_on_device *s, size_t image) {
    qb_status status = qb__tiles_image(s, 0, 1, s->host_edges);
    if (status == QB_OK) status = qb__tiles_image(s, (size_t)s->n.slices - 1, 1, s->host_edges + image);
    return status;
}

/* Stored after the groups' images, with a margin of zeros. */
static qb_status see(qb__icd_on_device *s, size_t number, const float *image) {
    const size_t nx = (size_t)s->n.nx, ny = (size_t)s->n.ny, bytes = s->n.pixels * sizeof(float);
    float *whole = s->host_edges + 4 * nx * ny;
    for (size_t y = 0; y < ny; y++) memcpy(whole + (y + 1) * (nx + 2) + 1, image + y * nx, nx * sizeof *image);
    const qb_status status =
        qb__memory_upload(s->queue, s->x, qb__tiles_images(&s->n) * sizeof(float) + number * bytes, whole, bytes);
    return status == QB_OK ? qb__queue_finish(s->queue) : status;
}

/* Send the outermost slices to the neighbours and receive theirs; `mine` also for a stack without neighbours. */
static qb_status swap(qb__icd_on_device *s, qb_status mine) {
    const size_t image = (size_t)s->n.nx * (size_t)s->n.ny;
    float *const at = s->host_edges;
    if (!s->edges.swap) return mine;
    if (mine == QB_OK) mine = show(s, image);
    const qb__icd_swap images = {at, at + image, at + 2 * image, at + 3 * image, image * sizeof *at};
    qb_status status = s->edges.swap(s->edges.self, mine, &images);
    if (status == QB_OK && s->edges.before) status = see(s, 0, images.before);
    if (status == QB_OK && s->edges.after) status = see(s, 1, images.after);
    return status;
}

/* ---- the start ---- */

static qb_status pick(qb__icd_on_device *s, int turn, bool joined, const bool *still) {
    qb__icd_schedule_sweep(&s->schedule, s->seed, turn, (size_t)s->n.groups, joined, s->edges.first, still,
                           s->host_picked);
    return qb__memory_upload(s->queue, s->picked, 0, s->host_picked,
                             s->schedule.batches * qb__tiles_spots(&s->n) * sizeof *s->host_picked);
}

/* Loads the data and converts them to lanes, in blocks of views. */
static qb_status load(qb__icd_on_device *s, const float *lines, qb__device_filter *filter, int32_t rule, float scale) {
    const qb__tiles_sizes *n = &s->n;
    const size_t view_floats = (size_t)n->slices * (size_t)n->columns;
    const size_t most = qb__tiles_staging(n) / (view_floats * sizeof(float)), block = filter ? most / 2 : most;
    const qb__device_rows to = {s->staging, 0, view_floats, (size_t)n->columns};
    qb_status status = QB_OK;
    for (size_t v = 0; status == QB_OK && v < (size_t)n->views; v += block) {
        const size_t views = qb__smaller(block, (size_t)n->views - v);
        const int32_t view0 = (int32_t)v;
        QB__TRY(qb__icd_upload_views(s->queue, lines + v * view_floats, v, views, filter, &to));
        QB__TRY(LAUNCH(K_LOAD, qb__ceil_div((size_t)n->columns, 32), views, n->groups, 256, QB__MEMORY(s->staging),
                       QB__VALUE(view0), QB__VALUE(n->views), QB__VALUE(n->slices), QB__VALUE(n->columns),
                       QB__VALUE(n->groups), QB__VALUE(rule), QB__VALUE(scale), QB__MEMORY(s->error),
                       QB__MEMORY(s->root)));
    }
out:
    return status;
}

static qb_status clear(qb__icd_on_device *s) {
    QB__OR_RETURN(qb__memory_fill(s->queue, s->error, 0, 0, qb__tiles_data(&s->n) * sizeof(float)));
    if (s->weighted) QB__OR_RETURN(qb__memory_fill(s->queue, s->root, 0, 0, qb__tiles_data(&s->n) * 2));
    return QB_OK;
}

qb_status qb__tiles_back(qb__icd_on_device *s, const float *lines, qb__device_filter *filter) {
    QB__OR_RETURN(clear(s));
    QB__OR_RETURN(qb__memory_fill(s->queue, s->x, 0, 0, qb__tiles_images(&s->n) * sizeof(float)));
    QB__OR_RETURN(pick(s, 0, false, NULL));
    QB__OR_RETURN(load(s, lines, filter, 0, 1));
    for (size_t b = 0; b < s->schedule.batches; b++) {
        QB__OR_RETURN(theta(s, b, BACK, 0));
        QB__OR_RETURN(collect(s, b, s->positive ? 0 : -INFINITY, s->x));
    }
    return qb__queue_finish(s->queue);
}

qb_status qb__tiles_fill(qb__icd_on_device *s, float value) {
    const qb__tiles_sizes *n = &s->n;
    const int32_t pixels = (int32_t)n->pixels;
    qb_status status = LAUNCH(K_FILL, n->pixels, n->groups, 1, n->lanes, QB__MEMORY(s->x), QB__MEMORY(s->inside),
                              QB__VALUE(pixels), QB__VALUE(n->groups), QB__VALUE(n->slices), QB__VALUE(value));
    return status == QB_OK ? qb__queue_finish(s->queue) : status;
}

/* Coupling of the voxels of a tile, which only affects the size of steps: some views tell it well enough. The mean
 * weights use the staging area. */
static qb_status share(qb__icd_on_device *s) {
    enum { VIEWS = 120 };
    const qb__tiles_sizes *n = &s->n;
    const int32_t apart = (int32_t)qb__larger(1, (size_t)n->views / VIEWS);
    if (s->weighted)
        QB__OR_RETURN(LAUNCH(K_MEAN, qb__ceil_div((size_t)n->columns, 128), n->views, n->groups, 128,
                             QB__MEMORY(s->root), QB__VALUE(n->views), QB__VALUE(n->columns), QB__MEMORY(s->staging)));
    return LAUNCH(K_SHARE, n->tiles, n->groups, 1, s->items, QB__MEMORY(s->rays), QB__MEMORY(s->shapes),
                  QB__VALUE(s->area), QB__VALUE(n->views), QB__VALUE(n->stride), QB__VALUE(n->columns),
                  QB__MEMORY(s->corner), QB__VALUE(n->tiles), QB__VALUE(apart), QB__MEMORY(s->staging),
                  QB__MEMORY(s->share));
}

qb_status qb__tiles_begin(qb__icd_on_device *s, const float *lines, int rule, const float *weights, float scale) {
    enum { GIVEN = 4 };
    for (int i = 0; i < 3; i++) s->b[i] = (float)(s->neighbours[i] * (double)(weights ? scale : 1));
    QB__OR_RETURN(clear(s));
    QB__OR_RETURN(pick(s, 0, false, NULL));
    QB__OR_RETURN(load(s, lines, NULL, weights ? 0 : rule, 1));
    if (weights) QB__OR_RETURN(load(s, weights, NULL, GIVEN, scale));
    QB__OR_RETURN(share(s));
    for (size_t b = 0; b < s->schedule.batches; b++) {
        QB__OR_RETURN(theta(s, b, CURVE, 0));
        QB__OR_RETURN(collect(s, b, 0, s->curve));
    }
    for (size_t b = 0; b < s->schedule.batches; b++) {
        QB__OR_RETURN(lift(s, b));
        QB__OR_RETURN(apply(s, b));
    }
    QB__OR_RETURN(qb__queue_finish(s->queue));
    return swap(s, QB_OK);
}

/* ---- sweeps ---- */

static void add_up(const qb__icd_on_device *s, const bool *still, qb__icd_swept *turned) {
    const size_t tiles = (size_t)s->n.tiles;
    for (size_t g = 0; g < (size_t)s->n.groups; g++) {
        turned[g] = (qb__icd_swept){0};
        for (size_t i = 0; i < tiles && !still[g]; i++) {
            const float *of = s->host_stats[g * tiles + i];
            turned[g].change += (double)of[0];
            turned[g].size += (double)of[1];
            turned[g].updates += (double)of[2];
        }
    }
}

/* Even slices take the first half of the tiles' order while odd slices take the second half, then the reverse. So each
 * sees the complete first half of the other, except for the last tile of an odd number, which belongs to odd slices. */
static bool in_the_middle(const qb__icd_on_device *s, size_t batch) {
    const size_t half = s->schedule.batches / 2;
    return s->edges.swap && (batch == half || (s->schedule.batches % 2 && batch == half + 1));
}

qb_status qb__tiles_sweep(qb__icd_on_device *s, int number, bool skip, const bool *still, qb__icd_swept *turned) {
    const size_t stats = (size_t)s->n.groups * (size_t)s->n.tiles * sizeof *s->host_stats;
    QB__OR_RETURN(pick(s, number, s->joined, still));
    for (size_t b = 0; b < s->schedule.batches; b++) {
        if (in_the_middle(s, b)) QB__OR_RETURN(swap(s, QB_OK));
        QB__OR_RETURN(theta(s, b, THETA, skip));
        QB__OR_RETURN(solve(s, b, skip));
        QB__OR_RETURN(apply(s, b));
    }
    QB__OR_RETURN(qb__memory_download(s->queue, s->stats, 0, s->host_stats, stats));
    QB__OR_RETURN(qb__queue_finish(s->queue));
    add_up(s, still, turned);
    return swap(s, QB_OK);
}

/* Sums of `each` numbers per group. */
static qb_status fetch_sums(qb__icd_on_device *s, size_t each, double factor, double *cost) {
    const size_t groups = (size_t)s->n.groups;
    QB__OR_RETURN(qb__memory_download(s->queue, s->sums, 0, s->host_sums, groups * each * sizeof(float)));
    QB__OR_RETURN(qb__queue_finish(s->queue));
    for (size_t g = 0; g < groups; g++)
        for (size_t i = 0; i < each; i++) cost[g] += factor * (double)s->host_sums[g * each + i];
    return QB_OK;
}

qb_status qb__tiles_cost(qb__icd_on_device *s, double *cost) {
    const qb__tiles_sizes *n = &s->n;
    for (int32_t g = 0; g < n->groups; g++) cost[g] = 0;
    QB__OR_RETURN(LAUNCH(K_MISFIT, n->views, n->groups, 1, s->items, QB__MEMORY(s->error), QB__MEMORY(s->root),
                         QB__VALUE(n->views), QB__VALUE(n->columns), QB__MEMORY(s->sums)));
    QB__OR_RETURN(fetch_sums(s, (size_t)n->views, 0.5, cost));
    QB__OR_RETURN(LAUNCH(K_ROUGH, n->tiles, n->groups, 1, n->lanes, QB__MEMORY(s->x), QB__MEMORY(s->inside),
                         QB__VALUE(n->nx), QB__VALUE(n->ny), QB__VALUE(n->groups), QB__VALUE(n->slices),
                         QB__MEMORY(s->corner), QB__VALUE(s->surrogate), QB__VALUE(s->b[0]), QB__VALUE(s->b[1]),
                         QB__VALUE(s->b[2]), QB__MEMORY(s->sums)));
    return fetch_sums(s, (size_t)n->tiles, 1, cost);
}

/* Position of a slice. */
static void find_slice(const qb__icd_on_device *s, size_t slice, int32_t *group, int32_t *lane) {
    const size_t groups = (size_t)s->n.groups;
    *group = (int32_t)(s->joined ? slice % groups : slice / s->n.lanes);
    *lane = (int32_t)(s->joined ? slice / groups : slice % s->n.lanes);
}

qb_status qb__tiles_put(qb__icd_on_device *s, bool toward, const float *images) {
    const qb__tiles_sizes *n = &s->n;
    const size_t image = (size_t)n->nx * (size_t)n->ny;
    const float least = s->positive ? 0 : -INFINITY;
    if (toward) return qb__fail(QB_INTERNAL, "tiles are not pulled toward an image");
    qb_status status = qb__tiles_fill(s, 0);
    for (size_t slice = 0; slice < (size_t)n->slices && status == QB_OK; slice++) {
        int32_t group, lane;
        find_slice(s, slice, &group, &lane);
        QB__TRY(qb__memory_upload(s->queue, s->staging, 0, images + slice * image, image * sizeof *images));
        QB__TRY(LAUNCH(K_PUT, qb__ceil_div((size_t)n->nx, 128), n->ny, 1, 128, QB__MEMORY(s->staging),
                       QB__MEMORY(s->inside), QB__VALUE(n->nx), QB__VALUE(n->ny), QB__VALUE(group), QB__VALUE(lane),
                       QB__VALUE(least), QB__MEMORY(s->x)));
    }
out:
    return status == QB_OK ? qb__queue_finish(s->queue) : status;
}

qb_status qb__tiles_image(qb__icd_on_device *s, size_t slice, float scale, float *out) {
    const qb__tiles_sizes *n = &s->n;
    int32_t group, lane;
    find_slice(s, slice, &group, &lane);
    QB__OR_RETURN(LAUNCH(K_IMAGE, qb__ceil_div((size_t)n->nx, 128), n->ny, 1, 128, QB__MEMORY(s->x), QB__VALUE(n->nx),
                         QB__VALUE(n->ny), QB__VALUE(group), QB__VALUE(lane), QB__VALUE(scale),
                         QB__MEMORY(s->staging)));
    QB__OR_RETURN(qb__memory_download(s->queue, s->staging, 0, out, (size_t)n->nx * (size_t)n->ny * sizeof(float)));
    return qb__queue_finish(s->queue);
}

qb_status qb__tiles_state(qb__icd_on_device *s, bool into, qb__icd_piece piece, void *self) {
    const qb__icd_state_part parts[] = {{s->error, qb__tiles_data(&s->n) * sizeof(float)},
                                        {s->x, qb__tiles_images(&s->n) * sizeof(float)}};
    const qb_status status = qb__icd_pass_state(s->queue, parts, 2, QB__TILES_STAGING / 4, into, piece, self);
    return into ? swap(s, status) : status;
}
