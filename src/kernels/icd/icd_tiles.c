/* SPDX-License-Identifier: MIT */
/* Many slices at once, tile by tile: the host part of icd_tiles.cl. */
#include "kernels/icd/icd_tiles.h"

#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/status.h"
#include "kernels/macros.h"

enum { PER, WIDE, HIGH, WARPS, VALUES };
enum { LANES = 32, CHUNKS = 4, MOST_COLUMNS = 64 };

/* ---- sizes ---- */

/* Slices per item: not so many that half of a group's lanes are empty. */
static int per_of(const qb__icd_ask *ask, const int *values) {
    const size_t least = ask->joined && ask->all > 1 ? 2 : 1;
    int per = values[PER];
    while (per > 1 && (size_t)(LANES * per / 2) * least >= ask->all) per /= 2;
    return per;
}

size_t qb__tiles_lanes(const qb__icd_ask *ask, const int *values) { return (size_t)(LANES * per_of(ask, values)); }

static qb__tiles_sizes sizes_of(const qb__icd_ask *ask, const int *values) {
    const qb__icd_problem *p = ask->problem;
    qb__tiles_sizes n = {.views = (int32_t)p->footprints.views,
                         .stride = (int32_t)p->footprints.stride,
                         .columns = (int32_t)p->footprints.columns,
                         .nx = (int32_t)p->nx,
                         .ny = (int32_t)p->ny,
                         .slices = (int32_t)ask->slices,
                         .lanes = qb__tiles_lanes(ask, values),
                         .span = qb__icd_span(&p->footprints, (size_t)values[WIDE], (size_t)values[HIGH]),
                         .voxels = (size_t)(values[WIDE] * values[HIGH]),
                         .pixels = (p->nx + 2) * (p->ny + 2)};
    n.row = n.columns + 2 * (int32_t)n.span;
    n.groups = (int32_t)qb__icd_device_groups(ask, n.lanes);
    /* The views of a sweep in as many parts as keep a device busy, for any division of the job. */
    const size_t all = qb__ceil_div(ask->all, n.lanes);
    n.chunks = (int32_t)(all > 2 ? CHUNKS : 3 * CHUNKS / all);
    while (n.chunks > 1 && n.chunks * 2 * values[WARPS] > n.views) n.chunks--;
    return n;
}

/* Adds the sizes of a schedule, or upper limits of them. */
static void add_tiles(qb__tiles_sizes *n, size_t tiles, size_t places) {
    n->tiles = (int32_t)tiles;
    n->places = (int32_t)places;
}

static size_t share_of(const qb__tiles_sizes *n) {
    return (size_t)n->groups * (size_t)n->tiles * n->voxels * n->voxels * sizeof(float);
}

static size_t partial_of(const qb__tiles_sizes *n) {
    return qb__tiles_spots(n) * (size_t)n->chunks * n->voxels * n->lanes * sizeof(float);
}

size_t qb__tiles_bytes(const qb__icd_ask *ask, const int *values) {
    qb__tiles_sizes n = sizes_of(ask, values);
    const size_t tiles =
        qb__ceil_div(ask->problem->nx, (size_t)values[WIDE]) * qb__ceil_div(ask->problem->ny, (size_t)values[HIGH]);
    add_tiles(&n, tiles, tiles / 9 + 1);
    const size_t steps = qb__tiles_spots(&n) * (n.voxels * n.lanes * sizeof(float) + sizeof(int32_t));
    return qb__tiles_data(&n) * (ask->weighted ? 6 : 4) +
           (qb__tiles_images(&n) + qb__tiles_x(&n, ask->edges)) * sizeof(float) + share_of(&n) + partial_of(&n) +
           steps + qb__tiles_staging(&n) + qb__tiles_sums(&n) + 64 * tiles * (size_t)n.groups +
           qb__icd_beam_bytes(&ask->problem->footprints) + n.pixels;
}

/* ---- what the planner asks ---- */

const char *qb__tiles_unusable(const qb__device_info *device, const void *of, const int *values) {
    const qb__icd_size *p = of;
    if (p->pulled) return "voxels that are pulled toward an image";
    if (p->columns > 30000 || p->pixels > (size_t)1 << 30) return "more columns or voxels than its indices hold";
    if ((size_t)values[WIDE] * (p->taps > 1 ? p->taps - 1 : 1) + 1 > MOST_COLUMNS)
        return "voxels that are many detector columns wide";
    return device->group_size < (size_t)(LANES * values[WARPS]) ? "needs groups of 256 items" : NULL;
}

/* Per entry and slice. The tile's columns are multiplied by all its voxels: dense, from registers. */
void qb__tiles_kernel_cost(const void *of, unsigned slices, const int *values, qb__kernel_cost *cost) {
    const qb__icd_size *p = of;
    (void)slices;
    const double taps = (double)p->taps, span = values[WIDE] * (taps - 1) + 1;
    const double voxels = values[WIDE] * values[HIGH];
    *cost = (qb__kernel_cost){.arithmetic = (p->fan ? 3.1 : 2.6) * span / taps,
                              .local_bytes = 8 * span / taps / values[PER],
                              .memory_bytes = 14 * span / taps / voxels,
                              .launches = 600};
}

/* ---- creating ---- */

static qb_status build(qb__icd_on_device *s, const qb__icd_ask *ask, const int *values) {
    static const char *const names[K_ALL] = {"icd_theta", "icd_solve",   "icd_apply", "icd_load", "icd_mean",
                                             "icd_share", "icd_collect", "icd_lift",  "icd_fill", "icd_put",
                                             "icd_image", "icd_misfit",  "icd_rough"};
    qb__macros macros = {.count = 0};
    qb__macros_add(&macros, "PER", per_of(ask, values));
    qb__macros_add(&macros, "WIDE", values[WIDE]);
    qb__macros_add(&macros, "HIGH", values[HIGH]);
    qb__macros_add(&macros, "WARPS", values[WARPS]);
    qb__macros_add(&macros, "COLUMNS", (long long)s->n.span);
    qb__macros_add(&macros, "WEIGHTED", ask->weighted);
    qb__macros_add(&macros, "JOINED", ask->joined);
    if (ask->edges) qb__macros_add(&macros, "EDGES", ask->edges->before + 2 * ask->edges->after);
    qb__macros_add(&macros, "FAN", qb__icd_fan(&ask->problem->footprints));
    QB__OR_RETURN(qb__program_build(s->device, "icd_tiles.cl", macros.list, &s->turns));
    QB__OR_RETURN(qb__program_build(s->device, "icd_tiles_start.cl", macros.list, &s->start));
    for (int i = 0; i < K_ALL; i++)
        QB__OR_RETURN(qb__kernel_get(i < K_LOAD ? s->turns : s->start, names[i], &s->kernel[i]));
    return QB_OK;
}

static qb_status take_memory(qb__icd_on_device *s, const qb__icd_problem *p) {
    const qb__tiles_sizes *n = &s->n;
    const size_t tiles = (size_t)n->tiles, groups = (size_t)n->groups, corner = tiles * sizeof(int32_t);
    const size_t picked = s->schedule.batches * qb__tiles_spots(n);
    struct {
        qb__memory **memory;
        size_t bytes;
    } const wanted[] = {
        {&s->inside, n->pixels},
        {&s->corner, corner},
        {&s->picked, picked * sizeof(int32_t)},
        {&s->error, qb__tiles_data(n) * sizeof(float)},
        {&s->root, s->weighted ? qb__tiles_data(n) * 2 : 4},
        {&s->x, qb__tiles_x(n, s->edges.swap) * sizeof(float)},
        {&s->curve, qb__tiles_images(n) * sizeof(float)},
        {&s->share, share_of(n)},
        {&s->partial, partial_of(n)},
        {&s->steps, qb__tiles_spots(n) * n->voxels * n->lanes * sizeof(float)},
        {&s->moved, qb__tiles_spots(n) * sizeof(int32_t)},
        {&s->stats, groups * tiles * 4 * sizeof(float)},
        {&s->sums, qb__tiles_sums(n)},
        {&s->staging, qb__tiles_staging(n)},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        QB__OR_RETURN(qb__memory_create(s->device, wanted[i].bytes, wanted[i].memory));
    QB__OR_RETURN(qb__alloc(picked, sizeof *s->host_picked, &s->host_picked));
    QB__OR_RETURN(qb__alloc(groups * tiles, sizeof *s->host_stats, &s->host_stats));
    QB__OR_RETURN(qb__alloc(qb__tiles_sums(n), 1, &s->host_sums));
    if (s->edges.swap)
        QB__OR_RETURN(qb__alloc(4 * (size_t)n->nx * (size_t)n->ny + n->pixels, sizeof(float), &s->host_edges));
    QB__OR_RETURN(qb__memory_upload(s->queue, s->inside, 0, p->inside, n->pixels));
    QB__OR_RETURN(qb__memory_upload(s->queue, s->corner, 0, s->schedule.corner, corner));
    /* Values outside the voxels are never written but are read, and so are the gains of tiles that no sweep has
     * visited. */
    QB__OR_RETURN(qb__memory_fill(s->queue, s->curve, 0, 0, qb__tiles_images(n) * sizeof(float)));
    QB__OR_RETURN(qb__memory_fill(s->queue, s->stats, 0, 0, groups * tiles * 4 * sizeof(float)));
    return qb__queue_finish(s->queue);
}

void qb__tiles_say(const qb__icd_on_device *s, char *text, size_t bytes) {
    const qb__tiles_sizes *n = &s->n;
    snprintf(text, bytes, "%d tiles, %d of a group at a time, %d groups of %zu slices, views in %d parts", n->tiles,
             n->places, n->groups, n->lanes, n->chunks);
}

void qb__tiles_destroy(qb__icd_on_device *s) {
    if (!s) return;
    if (s->queue) qb__queue_finish(s->queue);
    qb__memory *const all[] = {s->rays,  s->shapes, s->inside,  s->corner, s->picked, s->error, s->root, s->x,
                               s->curve, s->share,  s->partial, s->steps,  s->moved,  s->stats, s->sums, s->staging};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) qb__memory_destroy(all[i]);
    qb__free(s->host_picked);
    qb__free(s->host_stats);
    qb__free(s->host_sums);
    qb__free(s->host_edges);
    qb__icd_schedule_destroy(&s->schedule);
    qb__program_release(s->turns);
    qb__program_release(s->start);
    qb__queue_destroy(s->queue);
    qb__free(s);
}

qb_status qb__tiles_create(qb__device *device, const qb__icd_ask *ask, const int *values, qb__icd_on_device **out) {
    const qb__icd_problem *p = ask->problem;
    const qb__tiles_sizes sizes = sizes_of(ask, values);
    qb__icd_on_device *s;
    *out = NULL;
    if (sizes.span > MOST_COLUMNS) /* happens for a fan whose source is near */
        return qb__fail(
            QB_NO_MEMORY,
            "tiles of %d x %d voxels are %d detector columns wide, %d at most have room: --device cpu takes any",
            values[WIDE], values[HIGH], (int)sizes.span, MOST_COLUMNS);
    qb_status status = qb__alloc(1, sizeof *s, &s);
    if (status != QB_OK) return status;
    *s = (qb__icd_on_device){.device = device,
                             .n = sizes,
                             .items = (size_t)(LANES * values[WARPS]),
                             .joined = ask->joined,
                             .weighted = ask->weighted,
                             .positive = p->positive,
                             .edges = ask->edges ? *ask->edges : (qb__icd_edges){.swap = NULL},
                             .seed = ask->seed,
                             .area = p->footprints.area,
                             .neighbours = {p->prior.nearest, p->prior.diagonal, p->prior.interslice},
                             .surrogate = qb__icd_surrogate_of(&p->prior)};
    QB__TRY(qb__icd_schedule_create(p, (size_t)values[WIDE], (size_t)values[HIGH], &s->schedule));
    add_tiles(&s->n, s->schedule.tiles, s->schedule.places);
    QB__TRY(qb__queue_create(device, &s->queue));
    QB__TRY(build(s, ask, values));
    QB__TRY(qb__icd_upload_beam(device, s->queue, p, 0, &s->rays, &s->shapes));
    QB__TRY(take_memory(s, p));
    *out = s;
out:
    if (status != QB_OK) qb__tiles_destroy(s);
    return status;
}
