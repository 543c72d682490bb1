/* SPDX-License-Identifier: MIT */
#include "recon/fbp/fbp_planes_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/status.h"

enum { BLOCK_BYTES = 64 << 20 };

qb_status qb_tool_planes_open(const qb_env *env, qb_tool_planes **planes) {
    qb_tool_planes *p;
    qb_status status = qb__alloc(1, sizeof *p, &p);
    *planes = p;
    if (status != QB_OK) return status;
    status = qb__device_set_open(env, &p->devices);
    if (status == QB_OK && p->devices.count == 0) return qb__pool_create(env->threads, &p->pool);
    if (status != QB_OK) return status;
    p->device = p->devices.device[0];
    status = qb__queue_create(p->device, &p->queue);
    return status == QB_OK ? qb__plane_create(p->device, &p->kernel) : status;
}

static void forget(qb_tool_planes *p) {
    if (p->queue) qb__queue_finish(p->queue);
    qb__device_filter_destroy(p->filter);
    QB__MEMORY_DESTROY(p->raw, p->filtered, p->views, p->out);
    QB__FREE(p->stamps, p->ones, p->view, p->kept, p->level);
    p->kept = p->level = NULL;
    p->filter = NULL;
    p->raw = p->filtered = p->views = p->out = NULL;
    p->stamps = NULL, p->ones = NULL, p->view = NULL;
    p->key = 0;
}

bool qb_tool_planes_on_device(const qb_tool_planes *p) { return p->device != NULL; }

void qb_tool_planes_close(qb_tool_planes *p) {
    if (!p) return;
    forget(p);
    qb__plane_destroy(p->kernel);
    qb__queue_destroy(p->queue);
    qb__pool_destroy(p->pool);
    qb__device_set_close(&p->devices);
    qb__free(p);
}

float *qb_tool_planes_room(qb_tool_planes *p, size_t bytes) {
    void *room = NULL;
    if (!p->device || qb__host_create(p->device, bytes, &room) != QB_OK) return NULL;
    return room;
}

void qb_tool_planes_leave(qb_tool_planes *p, float *room) { qb__host_destroy(p->device, room); }

/* ---- filtered rows ---- */

/* Hash of everything besides the lines on which the filtered rows depend. */
static uint64_t key_of(const qb__fbp *fbp, const qb_tool_lines *lines) {
    qb__filter_spectrum spectrum;
    qb__filter_describe(fbp->filter, &spectrum);
    const size_t sizes[] = {lines->slots,    lines->rows, lines->columns,           fbp->width,
                            fbp->fan.before, lines->made, (size_t)fbp->options->pad};
    uint64_t key = qb__hash(sizes, sizeof sizes, 1);
    const char *filter = fbp->options->filter ? fbp->options->filter : "";
    key = qb__hash(filter, strlen(filter), key);
    if (fbp->share) key = qb__hash(fbp->share, lines->columns * sizeof *fbp->share, key);
    key = qb__hash(fbp->roll.map, fbp->roll.maps * sizeof *fbp->roll.map, key);
    return key;
}

static qb_status make_room(qb_tool_planes *p, const qb__fbp *fbp, const qb_tool_lines *lines) {
    const size_t image = lines->rows * lines->columns * sizeof(float);
    qb__filter_spectrum spectrum;
    forget(p);
    p->slots = lines->slots, p->rows = lines->rows, p->columns = lines->columns;
    p->stride = qb__fbp_row_stride(fbp);
    p->block = qb__smaller(BLOCK_BYTES / image + 1, lines->slots);
    QB__OR_RETURN(qb__alloc(lines->slots, sizeof *p->stamps, &p->stamps));
    QB__OR_RETURN(qb__alloc(lines->slots, sizeof *p->ones, &p->ones));
    QB__OR_RETURN(qb__alloc(lines->slots, sizeof *p->view, &p->view));
    for (size_t i = 0; i < lines->slots; i++) p->ones[i] = 1;
    if (!p->device) return qb__alloc(lines->slots * lines->rows * p->stride, sizeof *p->kept, &p->kept);
    const qb__device_prep prep = {.quantity = QB_LINE_INTEGRAL,
                                  .dtype = QB_F32,
                                  .views = lines->slots,
                                  .weights = p->ones,
                                  .rows = lines->rows,
                                  .floor = 1e-6f,
                                  .share = fbp->share,
                                  .columns = lines->columns,
                                  .before = fbp->fan.before};
    qb__filter_describe(fbp->filter, &spectrum);
    QB__OR_RETURN(qb__device_filter_create(p->device, &spectrum, &prep, QB__FILTER_AUTO, &p->filter));
    QB__OR_RETURN(qb__memory_create(p->device, p->block * image, &p->raw));
    QB__OR_RETURN(qb__memory_create(p->device, lines->slots * lines->rows * p->stride * sizeof(float), &p->filtered));
    return qb__memory_create(p->device, lines->slots * sizeof *p->view, &p->views);
}

static qb_status filter_on_device(qb_tool_planes *p, const float *lines, size_t first, size_t end) {
    const size_t image = p->rows * p->columns, view = p->rows * p->stride;
    const qb__device_rows from = {p->raw, 0, image, p->columns};
    const qb__device_rows to = {p->filtered, first * view * sizeof(float), view, p->stride};
    qb_status status = qb__memory_upload(p->queue, p->raw, 0, lines, (end - first) * image * sizeof(float));
    if (status == QB_OK)
        status = qb__device_filter_run(p->filter, p->queue, &from, first, end, (unsigned)p->rows, 0, 1, &to);
    return qb__queue_finish_after(p->queue, status);
}

/* Filter slots first <= slot < end. */
static qb_status filter_some(qb_tool_planes *p, const qb__fbp *fbp, const qb_tool_lines *of, size_t first, size_t end) {
    const float *lines = of->lines + first * p->rows * p->columns;
    qb_status status = QB_OK;
    if (fbp->roll.maps) {
        status = qb__planes_level(p, fbp, lines, first, end);
        lines = p->level;
    }
    if (status != QB_OK) return status;
    return p->device ? filter_on_device(p, lines, first, end) : qb__planes_host_filter(p, fbp, lines, first, end);
}

/* Filter the slots whose lines have changed. */
static qb_status filter_all(qb_tool_planes *p, const qb__fbp *fbp, const qb_tool_lines *lines) {
    qb_status status = QB_OK;
    for (size_t first = 0, end; status == QB_OK && first < p->slots; first = end) {
        for (end = first; end < p->slots && end - first < p->block; end++) {
            const size_t stamp = lines->stamps ? lines->stamps[end] : 1;
            if (!stamp || p->stamps[end] == stamp + 1) break;
            p->stamps[end] = stamp + 1;
        }
        if (end > first) status = filter_some(p, fbp, lines, first, end);
        if (end == first) end++;
    }
    return status;
}

/* ---- a plane ---- */

static qb_status aim(qb_tool_planes *p, const qb__fbp *fbp) {
    const size_t views = fbp->info->views, *stored = fbp->info->stored_views;
    for (size_t v = 0; v < views; v++) {
        const size_t slot = stored ? stored[v] : fbp->info->first_view + v * fbp->info->view_step;
        if (slot >= p->slots) return qb__fail(QB_UNSUPPORTED, "the job has other views than the lines");
        p->view[v] = (qb__plane_view){.ax = (float)fbp->ax[v],
                                      .ay = (float)fbp->ay[v],
                                      .h0 = (float)fbp->h0[v],
                                      .weight = fbp->weights[v],
                                      .at = slot * p->rows * p->stride};
    }
    return p->device ? qb__memory_upload(p->queue, p->views, 0, p->view, views * sizeof *p->view) : QB_OK;
}

qb_tool_plane qb_tool_plane_across(size_t axis, size_t index, const size_t shape[2]) {
    qb_tool_plane plane = {.lines = shape[0], .points = shape[1]};
    plane.at[axis < 3 ? axis : 0] = (double)index;
    plane.down[axis == 0 ? 1 : 0] = 1;
    plane.right[axis == 2 ? 1 : 2] = 1;
    return plane;
}

static void place(const qb__fbp *fbp, const double zyx[3], double row0, float out[3]) {
    out[0] = (float)zyx[2], out[1] = (float)zyx[1], out[2] = (float)(row0 + zyx[0] * (double)fbp->step);
}

static qb__plane_place place_of(const qb__fbp *fbp, const qb_tool_plane *plane) {
    qb__plane_place made;
    place(fbp, plane->at, (double)fbp->first_row, made.origin);
    place(fbp, plane->down, 0, made.down);
    place(fbp, plane->right, 0, made.right);
    return made;
}

static qb_status sum_up(qb_tool_planes *p, const qb__fbp *fbp, const qb_tool_plane *plane, float *out) {
    const size_t bytes = plane->lines * plane->points * sizeof *out, detector[2] = {p->rows, fbp->width};
    const qb__plane_place where = place_of(fbp, plane);
    qb_status status = QB_OK;
    if (!p->device) {
        status = aim(p, fbp);
        return status == QB_OK ? qb__planes_host_make(p, fbp, &where, plane, out) : status;
    }
    if (!p->out || qb__memory_bytes(p->out) < bytes) {
        qb__memory_destroy(p->out);
        p->out = NULL;
        status = qb__memory_create(p->device, bytes, &p->out);
    }
    if (status == QB_OK) status = aim(p, fbp);
    if (status == QB_OK)
        status = qb__plane_run(p->kernel, p->queue, p->filtered, p->views, fbp->info->views, detector, p->stride,
                               &where, p->out, plane->lines, plane->points);
    if (status == QB_OK) status = qb__memory_download(p->queue, p->out, 0, out, bytes);
    return qb__queue_finish_after(p->queue, status);
}

/* The reason why planes of this job cannot be made; NULL: they can. */
static const char *why_not(const qb__fbp *fbp) {
    if (fbp->roll.maps > 1) return "each view is turned by an angle of its own";
    if (fbp->view_share || fbp->options->outside) return "columns have weights of their own in each view";
    if (fbp->options->interp != QB_INTERP_AUTO && fbp->options->interp != QB_INTERP_LINEAR) return "linear alone";
    return NULL;
}

qb_status qb_tool_planes_make(qb_tool_planes *p, const qb_tool_lines *lines, qb_job *job, const qb_tool_plane *plane,
                              float *out) {
    const qb__fbp *fbp = qb__fbp_of(job);
    const char *why = fbp ? why_not(fbp) : "it is no job of fbp";
    if (why) return qb__fail(QB_UNSUPPORTED, "%s", why);
    const uint64_t key = key_of(fbp, lines);
    qb_status status = QB_OK;
    if (!key || key != p->key) { /* no key, without xxhash: nothing tells rows from others */
        status = make_room(p, fbp, lines);
        if (status == QB_OK) p->key = key;
    }
    if (status == QB_OK) status = filter_all(p, fbp, lines);
    if (status == QB_OK) status = sum_up(p, fbp, plane, out);
    if (status != QB_OK && status != QB_CANCELLED) p->key = 0; /* filter all rows again at the next call */
    return status;
}
