/* SPDX-License-Identifier: MIT */
/* Reads, filters and hands on some views at a time: while one slot is read, the device works on the other one. */
#include <string.h>

#include "base/memory.h"
#include "base/share.h"
#include "base/status.h"
#include "prep/phase_device_parts.h"

/* ---- corrections by neighbours ---- */

static qb_status open_near(qb__phase_device *p, const qb__neighbours *neighbours) {
    if (!neighbours || p->near_of == neighbours) return QB_OK;
    const qb__near_plan plan = qb__neighbours_plan(neighbours);
    qb__near_rows_destroy(p->near);
    p->near = NULL, p->near_of = NULL, p->near_found = 0;
    if (!p->corrected)
        QB__OR_RETURN(
            qb__memory_create(p->device, p->slot_views * p->shape.rows * qb__phase_raw_row(p), &p->corrected));
    QB__OR_RETURN(qb__near_rows_create(p->device, p->slot[0].queue, &plan, &p->near));
    p->near_of = neighbours;
    return QB_OK;
}

/* all: these are all pixels that will be returned, each counted once. */
static qb_status count_near(qb__phase_device *p, qb__neighbours *neighbours, uint64_t pixels, bool all) {
    uint64_t found;
    if (!neighbours) return QB_OK;
    const qb_status status = qb__near_rows_found(p->near, p->slot[0].queue, &found);
    if (status == QB_OK && !p->kept) qb__neighbours_count(neighbours, found - p->near_found, pixels, all);
    if (status == QB_OK) p->near_found = found;
    return status;
}

/* Rows to read: one more on both sides if neighbours are needed. */
static qb__near_block around(const qb__phase_device *p, const qb__neighbours *neighbours,
                             const qb__phase_block *block) {
    const size_t margin = neighbours ? 1 : 0;
    return (qb__near_block){.first = block->row0 - qb__smaller(margin, block->row0),
                            .end = qb__smaller(p->shape.rows, block->row1 + margin),
                            .row0 = block->row0,
                            .slices = block->row1 - block->row0,
                            .own0 = block->first,
                            .own1 = block->end};
}

/* ---- reading ---- */

typedef struct copying {
    const float *from;
    float *to;
    size_t floats;
} copying;

enum { PIECE = 1 << 20 };

static qb_status copy_piece(void *context, size_t piece, size_t worker) {
    const copying *c = context;
    const size_t at = piece * PIECE;
    (void)worker;
    memcpy(c->to + at, c->from + at, qb__smaller(PIECE, c->floats - at) * sizeof(float));
    return QB_OK;
}

qb_status qb__phase_quiet(qb__phase_device *p, qb_status status) {
    for (int i = 0; i < QB__PHASE_SLOTS; i++) {
        if (p->slot[i].views) status = qb__queue_finish_after(p->slot[i].queue, status);
        p->slot[i].views = 0;
    }
    return status;
}

qb_status qb__phase_drain(qb__phase_slot *s, const qb__phase_request *request, size_t floats) {
    if (!s->views) return QB_OK;
    if (!request->out) {
        s->views = 0;
        return qb__queue_finish(s->queue);
    }
    copying c = {s->out, request->out + (s->view - request->view0) * floats, s->views * floats};
    qb_status status = qb__queue_finish(s->queue);
    if (status == QB_OK) status = qb__share(request->threads, qb__ceil_div(c.floats, PIECE), copy_piece, &c);
    s->views = 0;
    return status;
}

/* Copies the filtered views of a slot to where they stay. */
static qb_status keep_views(const qb__phase_device *p, const qb__phase_slot *s, const qb__phase_request *request) {
    const size_t width = (request->end - request->first) * qb__phase_out_row(p);
    const qb__rows_side from = {.memory = s->out_there, .pitch = width},
                        to = {.memory = p->keep,
                              .offset = qb__phase_kept_offset(p, s->view, request->first),
                              .pitch = qb__phase_kept_view(p)};
    return qb__memory_copy_rows(s->queue, &to, &from, width, s->views);
}

/* request->out NULL: the rows are copied to where they stay. */
static qb_status send(qb__phase_device *p, qb__phase_slot *s, qb__phase_slot *other, qb__phase_block block,
                      qb__near_block near, const qb__phase_request *request, size_t floats) {
    const bool correct = request->near != NULL;
    qb_status status;
    block.view0 = s->view, block.views = near.views = s->views;
    QB__TRY(qb__memory_upload(s->queue, s->raw_there, 0, s->raw,
                              s->views * (near.end - near.first) * qb__phase_raw_row(p)));
    if (other->views) QB__TRY(qb__queue_wait(s->queue, other->filtered));
    if (correct) QB__TRY(qb__near_rows_run(p->near, s->queue, &near, s->raw_there, p->corrected));
    QB__TRY(qb__phase_planes_run(p->planes, s->queue, &block, correct ? p->corrected : s->raw_there, s->out_there));
    QB__TRY(qb__event_record(s->filtered, s->queue));
    const size_t view = floats * sizeof(float);
    if (request->out)
        status = qb__memory_download(s->queue, s->out_there, 0, s->out, s->views * view);
    else
        status = keep_views(p, s, request);
out:
    return status;
}

qb_status qb__phase_pump(qb__phase_device *p, const qb__phase_request *request) {
    qb__phase_block block = {.first = request->first, .end = request->end};
    qb__phase_planes_reads(&p->shape, &block);
    const qb__near_block near = around(p, request->near, &block);
    const size_t floats = (request->end - request->first) * p->shape.columns;
    /* The result is never larger than the rows read for it, so `each` views fit into a slot. */
    const size_t each = p->slot_views * p->shape.rows / (near.end - near.first);
    qb_status status = open_near(p, request->near);
    int turn = 0;
    if (status != QB_OK) return status;
    for (size_t view = request->view0; view < request->view1; view += each, turn = !turn) {
        qb__phase_slot *s = &p->slot[turn];
        QB__TRY(qb__phase_drain(s, request, floats));
        const size_t views = qb__smaller(each, request->view1 - view);
        if (!request->out && atomic_load(&p->fill.stop)) QB__TRY(QB_CANCELLED);
        QB__TRY(request->read(request->self, view, view + views, near.first, near.end, request, s->raw));
        s->view = view, s->views = views;
        QB__TRY(send(p, s, &p->slot[!turn], block, near, request, floats));
    }
    for (int i = 0; i < QB__PHASE_SLOTS; i++, turn = !turn) QB__TRY(qb__phase_drain(&p->slot[turn], request, floats));
    status = count_near(p, request->near, (request->view1 - request->view0) * floats, !request->out);
out:
    return qb__phase_quiet(p, status);
}
