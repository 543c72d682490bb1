/* SPDX-License-Identifier: MIT */
/* Single slices, SuperVoxel by SuperVoxel: data on the device that all variants share. */
#include "kernels/icd/icd_buffers.h"

#include <stdio.h>

#include "base/status.h"

/* Odd, and wide enough that all entries of any voxel lie in the buffer, including zero entries. */
size_t qb__buffers_width(size_t span) { return (span + 2) | 1; }

qb__buffers_sizes qb__buffers_sizes_of(const qb__icd_ask *ask, size_t side) {
    const qb__icd_problem *p = ask->problem;
    const size_t width = qb__buffers_width(qb__icd_span(&p->footprints, side, side));
    const size_t rows = p->footprints.columns + 2 * width;
    return (qb__buffers_sizes){.views = (int32_t)p->footprints.views,
                               .stride = (int32_t)p->footprints.stride,
                               .columns = (int32_t)p->footprints.columns,
                               .rows = (int32_t)rows,
                               .nx = (int32_t)p->nx,
                               .ny = (int32_t)p->ny,
                               .slices = (int32_t)ask->slices,
                               .width = width,
                               .buffer = p->footprints.views * width,
                               .pixels = (p->nx + 2) * (p->ny + 2)};
}

size_t qb__buffers_lanes(const qb__icd_ask *ask, const int *values) {
    (void)ask, (void)values;
    return 1;
}

/* Sweeps per equit: a sweep has two passes, each over SHARE percent of the SuperVoxels. */
size_t qb__buffers_sweeps(const int *values) { return qb__larger(1, 50 / (size_t)values[QB__BUFFERS_SHARE]); }

static size_t left_of(const qb__buffers_sizes *n, size_t places) {
    return (size_t)n->slices * places * n->buffer * sizeof(float);
}

/* Start of buffers: for a fan it is not computed again. */
static size_t firsts_of(const qb__icd_problem *p, size_t count) {
    return p->footprints.wx ? qb__round_up(count * p->footprints.stride * sizeof(int16_t), sizeof(int64_t)) : 0;
}

size_t qb__buffers_room(const qb__buffers_sizes *n, const qb__icd_ask *ask, const qb__supervoxels_how *how) {
    const size_t most = qb__supervoxels_most(ask->problem, how->side);
    return qb__buffers_data(n) * 6 + (ask->pull > 0 ? 3 : 2) * qb__buffers_images(n) * sizeof(float) +
           left_of(n, qb__supervoxels_places(ask->problem, how)) + qb__buffers_staging(n) + qb__buffers_sums(n) +
           128 * most * (ask->slices + 1) + qb__icd_beam_bytes(&ask->problem->footprints) +
           firsts_of(ask->problem, most) + n->pixels;
}

const char *qb__buffers_refuses(const qb__device_info *device, const qb__icd_size *p) {
    if (p->joined) return "slices that know of each other";
    if (device->group_size < 256) return "needs groups of 256 items";
    return p->columns > 30000 || p->pixels > (size_t)1 << 30 ? "more columns or voxels than its indices hold" : NULL;
}

static qb_status take_memory(qb__icd_on_device *s, const qb__icd_problem *p) {
    const qb__buffers_sizes *n = &s->n;
    const size_t spots = (size_t)n->slices * s->list.places, all = (size_t)n->slices * s->list.count;
    struct {
        qb__memory **memory;
        size_t bytes;
    } const wanted[] = {
        {&s->inside, n->pixels},
        {&s->corner, s->list.count * sizeof(int32_t)},
        {&s->picked, qb__supervoxels_picked(&s->list) * sizeof(int32_t)},
        {&s->error, qb__buffers_data(n) * sizeof(float)},
        {&s->root, qb__buffers_data(n) * 2},
        {&s->x, qb__buffers_images(n) * sizeof(float)},
        {&s->curve, qb__buffers_images(n) * sizeof(float)},
        {&s->toward, s->neighbours[2] > 0 ? qb__buffers_images(n) * sizeof(float) : 4},
        {&s->left, left_of(n, s->list.places)},
        {&s->moved, spots * sizeof(int32_t)},
        {&s->stats, 2 * all * 4 * sizeof(float)},
        {&s->sums, qb__buffers_sums(n)},
        {&s->staging, qb__buffers_staging(n)},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        QB__OR_RETURN(qb__memory_create(s->device, wanted[i].bytes, wanted[i].memory));
    QB__OR_RETURN(qb__alloc(2 * all, sizeof *s->host_stats, &s->host_stats));
    QB__OR_RETURN(qb__alloc(qb__buffers_sums(n), 1, &s->host_sums));
    QB__OR_RETURN(qb__alloc((size_t)n->slices, sizeof *s->costs, &s->costs));
    QB__OR_RETURN(qb__memory_upload(s->queue, s->inside, 0, p->inside, n->pixels));
    QB__OR_RETURN(qb__memory_upload(s->queue, s->corner, 0, s->list.corner, s->list.count * sizeof(int32_t)));
    /* Values outside the voxels are never written but are read, and so are the gains of SuperVoxels that no sweep has
     * visited. */
    QB__OR_RETURN(qb__memory_fill(s->queue, s->curve, 0, 0, qb__buffers_images(n) * sizeof(float)));
    QB__OR_RETURN(qb__memory_fill(s->queue, s->stats, 0, 0, 2 * all * 4 * sizeof(float)));
    return qb__queue_finish(s->queue);
}

void qb__buffers_say(const qb__icd_on_device *s, char *text, size_t bytes) {
    const int n = snprintf(text, bytes, "%zu SuperVoxels of %zu, %zu of a slice at a time", s->list.count, s->list.side,
                           s->list.places);
    if (s->n.parts && n > 0 && (size_t)n < bytes)
        snprintf(text + n, bytes - (size_t)n, ", %zu groups each", s->n.parts);
}

void qb__buffers_destroy(qb__icd_on_device *s) {
    if (!s) return;
    if (s->queue) qb__queue_finish(s->queue);
    qb__memory *const all[] = {s->rays,    s->shapes, s->inside, s->corner, s->picked,  s->error, s->root,
                               s->x,       s->curve,  s->toward, s->left,   s->moved,   s->stats, s->sums,
                               s->staging, s->matrix, s->scales, s->starts, s->weights, s->next,  s->part};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) qb__memory_destroy(all[i]);
    for (size_t i = 0; i < sizeof s->programs / sizeof *s->programs; i++) qb__program_release(s->programs[i]);
    qb__free(s->host_stats);
    qb__free(s->host_sums);
    qb__free(s->costs);
    qb__supervoxels_destroy(&s->list);
    qb__queue_destroy(s->queue);
    qb__free(s);
}

qb_status qb__buffers_new(qb__device *device, const qb__icd_ask *ask, const qb__buffers_sizes *n,
                          const qb__supervoxels_how *how, qb__icd_on_device **out) {
    const qb__icd_problem *p = ask->problem;
    qb__icd_on_device *s;
    qb_status status = qb__alloc(1, sizeof *s, &s);
    *out = NULL;
    if (status != QB_OK) return status;
    *s = (qb__icd_on_device){.device = device,
                             .n = *n,
                             .positive = p->positive,
                             .seed = ask->seed,
                             .area = p->footprints.area,
                             .neighbours = {p->prior.nearest, p->prior.diagonal, ask->pull},
                             .surrogate = qb__icd_surrogate_of(&p->prior)};
    QB__TRY(qb__supervoxels_create(p, how, &s->list));
    QB__TRY(qb__queue_create(device, &s->queue));
    QB__TRY(qb__icd_upload_beam(device, s->queue, p, firsts_of(p, s->list.count), &s->rays, &s->shapes));
    QB__TRY(take_memory(s, p));
    *out = s;
out:
    if (status != QB_OK) qb__buffers_destroy(s);
    return status;
}

static qb_status get_kernels(qb__program *program, const char *const *names, int first, int count,
                             qb__kernel **kernel) {
    qb_status status = QB_OK;
    for (int i = 0; i < count && status == QB_OK; i++) status = qb__kernel_get(program, names[i], &kernel[first + i]);
    return status;
}

qb_status qb__buffers_build(qb__icd_on_device *s, qb__buffers_program which, const qb__macros *macros) {
    static const struct {
        const char *source, *names[10];
        int first, count;
    } all[] = {[QB__BUFFERS_START] = {"icd_buffers_start.cl",
                                      {"icd_load", "icd_place", "icd_gather", "icd_subtract", "icd_fill", "icd_put",
                                       "icd_settle", "icd_image", "icd_misfit", "icd_rough"},
                                      B_LOAD,
                                      10},
               [QB__BUFFERS_RETURN] = {"icd_return.cl", {"icd_return"}, B_RETURN, 1},
               [QB__BUFFERS_LOCAL] = {"icd_local.cl", {"icd_update"}, B_UPDATE, 1},
               [QB__BUFFERS_GLOBAL] = {"icd_global.cl", {"icd_update", "icd_gain"}, B_UPDATE, 2},
               [QB__BUFFERS_BUILD] = {"icd_global_build.cl", {"icd_matrix", "icd_build"}, B_MATRIX, 2}};
    QB__OR_RETURN(qb__program_build(s->device, all[which].source, macros->list, &s->programs[which]));
    return get_kernels(s->programs[which], all[which].names, all[which].first, all[which].count, s->kernel);
}

void qb__buffers_shape(const qb__icd_on_device *s, const qb__icd_ask *ask, qb__macros *macros) {
    qb__macros_add(macros, "SIDE", (long long)s->list.side);
    qb__macros_add(macros, "WIDTH", (long long)s->n.width);
    qb__macros_add(macros, "TAPS", (long long)ask->problem->footprints.taps);
    qb__macros_add(macros, "PULLED", ask->pull > 0);
    qb__macros_add(macros, "FAN", qb__icd_fan(&ask->problem->footprints));
}
