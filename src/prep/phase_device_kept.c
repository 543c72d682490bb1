/* SPDX-License-Identifier: MIT */
/* Rows that stay on the device. A thread filters them once, whole blocks of rows one after the other, so that the first
 * rows can be used while the others are read. */
#include "prep/phase_device_parts.h"

#include <stdint.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/status.h"
#include "prep/phase_device.h"

/* phase retrieval and the rows that it leaves on the device may use 1/KEPT_PART of the room */
enum { KEPT_PART = 2 };

/* Without flats the mask may remove pixels of counts later, so such rows are not kept. */
void qb__phase_device_keep(qb__phase_device *p, size_t row0, size_t row1, const qb_env *env) {
    const qb__device_info *info = qb__device_info_of(p->device);
    const bool settled = p->rows->gain || p->scan->info.quantity != QB_COUNTS;
    size_t room = env && env->max_vram ? env->max_vram : info->memory_bytes;
    if (info->in_host_memory) room = qb__smaller(room, qb__memory_cap(env));
    p->keep_row0 = row0, p->keep_row1 = row1;
    if (!settled || p->set.count != 1 || qb__phase_device_bytes(p) > room / KEPT_PART) p->keep_row1 = row0;
}

bool qb__phase_device_keeps(const qb__phase_device *p, const qb__device *there) {
    return p->keep_row0 < p->keep_row1 && (!there || p->device == there) && !p->given_up;
}

size_t qb__phase_device_stay(const qb__phase_device *p) { return p->keep_row1 - p->keep_row0; }

void qb__phase_device_arm(qb__phase_device *p, bool on) {
    if (!on) qb__phase_device_halt(p);
    pthread_mutex_lock(&p->lock);
    p->armed = on;
    if (!on) {
        qb__near_rows_destroy(p->near);
        qb__memory_destroy(p->keep);
        p->near = NULL, p->near_of = NULL, p->keep = NULL, p->kept = false;
        p->fill.begun = p->fill.joined = false;
    }
    pthread_mutex_unlock(&p->lock);
}

/* ---- filling ---- */

static void publish(qb__phase_filling *f, size_t end, bool ended, qb_status status) {
    pthread_mutex_lock(&f->lock);
    f->end = end;
    f->ended = ended;
    f->status = status;
    if (status != QB_OK) snprintf(f->detail, sizeof f->detail, "%s", qb_detail());
    pthread_cond_broadcast(&f->more);
    pthread_mutex_unlock(&f->lock);
}

/* Two blocks are filtered together. */
static void *fill(void *argument) {
    qb__phase_device *p = argument;
    const size_t both = 2 * p->shape.step;
    qb__phase_request request = p->fill.request;
    qb_status status = QB_OK;
    pthread_mutex_lock(&p->lock);
    for (size_t row = p->keep_row0; row < p->keep_row1 && status == QB_OK; row = request.end) {
        request.first = row;
        request.end = qb__smaller(p->keep_row1, (row / both + 1) * both);
        status = qb__phase_pump(p, &request);
        if (status == QB_OK && request.end < p->keep_row1) publish(&p->fill, request.end, false, QB_OK);
    }
    p->kept = status == QB_OK;
    publish(&p->fill, status == QB_OK ? p->keep_row1 : p->keep_row0, true, status);
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* Starts filling if that is possible and was not done; p->lock must be held. */
static qb_status begin(qb__phase_device *p, const qb__phase_request *request) {
    const bool corrected = request->near || !p->near_wanted;
    qb__phase_filling *f = &p->fill;
    if (f->begun || !p->armed || !corrected || p->keep_row0 == p->keep_row1) return QB_OK;
    const qb_status status = p->keep ? QB_OK : qb__memory_create(p->device, qb__phase_kept_bytes(p), &p->keep);
    if (status == QB_NO_MEMORY) {
        p->keep_row1 = p->keep_row0;
        return QB_OK;
    }
    if (status != QB_OK) return status;
    f->request = *request;
    f->request.view0 = 0, f->request.view1 = p->scan->info.views, f->request.out = NULL;
    f->end = p->keep_row0, f->ended = false, f->status = QB_OK;
    atomic_store(&f->stop, false);
    const int error = pthread_create(&f->thread, NULL, fill, p);
    if (error) return qb__fail_errno(error, "starting", "a reading thread");
    pthread_mutex_lock(&f->lock);
    f->begun = true;
    pthread_mutex_unlock(&f->lock);
    return QB_OK;
}

static bool has_begun(qb__phase_filling *f) {
    pthread_mutex_lock(&f->lock);
    const bool begun = f->begun;
    pthread_mutex_unlock(&f->lock);
    return begun;
}

/* p->lock is not taken while the thread fills, which holds it. */
static qb_status open_and_begin(qb__phase_device *p, const qb__phase_request *request, bool *begun) {
    *begun = has_begun(&p->fill);
    if (*begun) return QB_OK;
    pthread_mutex_lock(&p->lock);
    qb_status status = qb__phase_open_once(p);
    if (status == QB_OK && p->open) status = begin(p, request);
    pthread_mutex_unlock(&p->lock);
    *begun = has_begun(&p->fill);
    return status;
}

/* Waits for the rows before `row`. */
static qb_status wait_for(qb__phase_filling *f, size_t row) {
    pthread_mutex_lock(&f->lock);
    while (!f->ended && f->end < row) pthread_cond_wait(&f->more, &f->lock);
    const qb_status status = f->status == QB_OK ? QB_OK : qb__fail(f->status, "%s", f->detail);
    pthread_mutex_unlock(&f->lock);
    return status;
}

qb_status qb__phase_fill_all(qb__phase_device *p, const qb__phase_request *request) {
    bool begun;
    const qb_status status = open_and_begin(p, request, &begun);
    return status == QB_OK && begun ? wait_for(&p->fill, SIZE_MAX) : status;
}

bool qb__phase_device_fills(qb__phase_device *p) {
    pthread_mutex_lock(&p->fill.lock);
    const bool fills = p->fill.begun && !p->fill.ended;
    pthread_mutex_unlock(&p->fill.lock);
    return fills;
}

void qb__phase_device_halt(qb__phase_device *p) {
    qb__phase_filling *f = &p->fill;
    if (!f->begun || f->joined) return;
    atomic_store(&f->stop, true);
    pthread_join(f->thread, NULL);
    f->joined = true;
}

qb_status qb__phase_device_kept(qb__phase_device *p, const qb__phase_request *request, size_t row,
                                qb__phase_kept *kept) {
    bool begun;
    *kept = (qb__phase_kept){.memory = NULL};
    qb_status status = open_and_begin(p, request, &begun);
    if (status != QB_OK || !begun) return status;
    status = wait_for(&p->fill, row);
    if (status == QB_OK) *kept = (qb__phase_kept){p->device, p->keep, p->keep_row0, p->keep_row1 - p->keep_row0};
    return status;
}

/* ---- copying from there ---- */

qb_status qb__phase_serve_kept(qb__phase_device *p, const qb__phase_request *request, bool *done) {
    qb_status status = QB_OK;
    *done = p->kept && request->first >= p->keep_row0 && request->end <= p->keep_row1;
    if (!*done) return QB_OK;
    const size_t rows = request->end - request->first, floats = rows * p->shape.columns,
                 width = rows * qb__phase_out_row(p);
    const size_t each = p->slot_views * p->shape.rows / rows;
    int turn = 0;
    for (size_t view = request->view0; view < request->view1; view += each, turn = !turn) {
        qb__phase_slot *s = &p->slot[turn];
        QB__TRY(qb__phase_drain(s, request, floats));
        const size_t views = qb__smaller(each, request->view1 - view);
        const qb__rows_side to = {.host = s->out, .pitch = width},
                            from = {.memory = p->keep,
                                    .offset = qb__phase_kept_offset(p, view, request->first),
                                    .pitch = qb__phase_kept_view(p)};
        s->view = view, s->views = views;
        QB__TRY(qb__memory_copy_rows(s->queue, &to, &from, width, views));
    }
    for (int i = 0; i < QB__PHASE_SLOTS; i++, turn = !turn) QB__TRY(qb__phase_drain(&p->slot[turn], request, floats));
out:
    return qb__phase_quiet(p, status);
}
