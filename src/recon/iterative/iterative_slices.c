/* SPDX-License-Identifier: MIT */
/* Ranks share the slices of a volume that is found by subsets of views. All ranks project a block of views at the same
 * time, each through its own slices. Each rank receives its own views of the block from all ranks and adds them in the
 * order of ranks, so that the line integrals and their weights are shared, too. For the adjoint each rank sends these
 * views to all. So a pass sends every line integral twice, whatever the number of subsets, and all ranks take the steps
 * of one process.
 *
 * The grid of a rank has one more slice on either side where a neighbour goes on. They are zero but while the prior
 * needs them. */
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "recon/iterative/iterative.h"

typedef qb__iterative_exchange exchange;

/* A run of views of the block, for one rank. */
typedef struct piece {
    size_t first, count;
} piece;

/* The part of subset `i` that lies in views first <= v < first + count of `rays`: the views of each rank, relative to
 * `first`. Returns the first view after the subset. */
static size_t pieces_of(const qb__iterative *it, size_t i, size_t start, size_t first, size_t count, piece *pieces) {
    size_t at = start;
    for (size_t k = 0; k < it->ranks; k++) {
        const size_t end = at + it->shares[i * it->ranks + k];
        const size_t from = qb__larger(at, first), to = qb__smaller(end, first + count);
        pieces[k] = from < to ? (piece){from - first, to - from} : (piece){0, 0};
        at = end;
    }
    return at;
}

/* ---- buffers ---- */

void qb__iterative_exchange_sizes(qb__iterative_run *r, size_t view_bytes) {
    enum {
        MOST = 64,
        BLOCK = 32
    }; /* views of a block: some of the largest subset, whole blocks of a device's kernels */
    const qb__iterative *it = r->it;
    size_t most = 1, own = 1;
    if (!qb__iterative_shares_slices(it)) return;
    for (size_t i = 0; i < it->subsets; i++) most = qb__larger(most, it->all_subset[i]);
    for (size_t i = 0; i < it->subsets; i++) own = qb__larger(own, it->subset[i]);
    r->exchange.views = qb__smaller(qb__round_up(most, BLOCK), MOST);
    r->exchange.piece = qb__smaller(own, r->exchange.views);
    r->exchange.view_bytes = view_bytes;
    r->exchange.slice_bytes = it->grid.n[0] * it->grid.n[1] * sizeof(float);
}

size_t qb__iterative_exchange_bytes(const qb__iterative_run *r) {
    const exchange *e = &r->exchange;
    return (e->views + r->it->ranks * e->piece) * e->view_bytes + 4 * e->slice_bytes;
}

static qb_status make_on_device(qb__iterative_run *r, qb__device *device) {
    exchange *e = &r->exchange;
    qb_status status;
    QB__TRY(qb__memory_create(device, e->views * e->view_bytes, &e->device_block));
    QB__TRY(qb__alloc(r->it->ranks, sizeof(qb__memory *), &e->device_received));
    for (size_t k = 0; k < r->it->ranks; k++) e->device_received[k] = NULL;
    for (size_t k = 0; k < r->it->ranks; k++)
        QB__TRY(qb__memory_create(device, e->piece * e->view_bytes, &e->device_received[k]));
    for (int i = 0; i < 4; i++) QB__TRY(qb__memory_create(device, e->slice_bytes, &e->device_slice[i]));
    status = qb__memory_fill(e->queue, e->device_block, 0, 0, e->views * e->view_bytes);
out:
    return status;
}

qb_status qb__iterative_exchange_make(qb__iterative_run *r, qb__device *device, qb__queue *queue) {
    exchange *e = &r->exchange;
    qb_status status = QB_OK;
    if (!e->views) return QB_OK;
    QB__TRY(qb__alloc(e->views, e->view_bytes, &e->block));
    QB__TRY(qb__alloc(r->it->ranks * e->piece, e->view_bytes, &e->received));
    for (int i = 0; i < 4; i++) QB__TRY(qb__alloc(e->slice_bytes, 1, &e->slice[i]));
    e->queue = queue;
    if (device) status = make_on_device(r, device);
out:
    return status;
}

void qb__iterative_exchange_destroy(qb__iterative_run *r) {
    exchange *e = &r->exchange;
    QB__FREE(e->block, e->received);
    for (int i = 0; i < 4; i++) qb__free(e->slice[i]);
    for (int i = 0; i < 4; i++) qb__memory_destroy(e->device_slice[i]);
    for (size_t k = 0; e->device_received && k < r->it->ranks; k++) qb__memory_destroy(e->device_received[k]);
    qb__memory_destroy(e->device_block);
    qb__free(e->device_received);
    *e = (exchange){.views = e->views,
                    .piece = e->piece,
                    .view_bytes = e->view_bytes,
                    .slice_bytes = e->slice_bytes,
                    .project = e->project,
                    .back = e->back};
}

/* ---- transfers ---- */

/* What a rank sends to and receives from each rank, as bytes of a buffer. Buffers of others than the block are numbered
 * from 0. */
typedef struct part {
    size_t at, bytes;
    char *host;
    qb__memory *memory;
} part;

static part of_block(const exchange *e, piece p) {
    return (part){p.first * e->view_bytes, p.count * e->view_bytes, e->block, e->device_block};
}

static part of_received(const exchange *e, size_t k, size_t count) {
    return (part){0, count * e->view_bytes, e->received + k * e->piece * e->view_bytes,
                  e->device_received ? e->device_received[k] : NULL};
}

static part of_slice(const exchange *e, int i) { return (part){0, e->slice_bytes, e->slice[i], e->device_slice[i]}; }

/* All ranks agree before one of them waits for the queue; otherwise it could wait for data that another rank never
 * sent. */
static qb_status send_by_devices(qb__iterative_run *r, const part *out, const part *in) {
    const size_t ranks = r->it->ranks;
    qb__nccl_part *parts;
    qb_status status = qb__alloc(2 * ranks, sizeof *parts, &parts);
    for (size_t k = 0; status == QB_OK && k < 2 * ranks; k++) {
        const part *p = k < ranks ? &out[k] : &in[k - ranks];
        parts[k] = (qb__nccl_part){p->memory, p->at, p->bytes};
    }
    if (status == QB_OK) status = qb__nccl_exchange(r->nccl, r->exchange.queue, parts, parts + ranks);
    status = qb__agree(qb__iterative_others(r), status);
    if (status != QB_OK) qb__iterative_disconnect(r, status);
    qb__free(parts);
    return status;
}

/* Copy between the device and the host's memory. Several parts may be the same bytes. */
static qb_status copy_all(const qb__iterative_run *r, const part *parts, bool up) {
    const exchange *e = &r->exchange;
    qb_status status = QB_OK;
    if (!e->queue) return QB_OK;
    for (size_t k = 0, last = SIZE_MAX; k < r->it->ranks; k++) {
        const part *p = &parts[k];
        const bool again = !up && last < SIZE_MAX && parts[last].memory == p->memory && parts[last].at == p->at;
        if (!p->bytes || again) continue;
        last = k;
        QB__TRY(up ? qb__memory_upload(e->queue, p->memory, p->at, p->host + p->at, p->bytes)
                   : qb__memory_download(e->queue, p->memory, p->at, p->host + p->at, p->bytes));
    }
out:
    return qb__queue_finish_after(e->queue, status);
}

static qb__comm_part on_host(const part *p) {
    return p->bytes ? (qb__comm_part){p->host + p->at, p->bytes} : (qb__comm_part){NULL, 0};
}

/* Collective. The part for the rank itself stays. A rank that fails elsewhere takes part in a later agreement, which is
 * enough for the others. */
static qb_status send(qb__iterative_run *r, const part *out, const part *in) {
    const size_t ranks = r->it->ranks;
    qb_status status;
    QB__TRY(qb__iterative_join(r));
    if (r->nccl) return send_by_devices(r, out, in);
    const qb_status mine = copy_all(r, out, false);
    for (size_t k = 0; k < ranks; k++) r->parts[k] = on_host(&out[k]), r->parts[ranks + k] = on_host(&in[k]);
    QB__TRY(qb__comm_exchange(qb__iterative_others(r), mine, r->parts, r->parts + ranks));
    status = copy_all(r, in, true);
out:
    return status;
}

/* ---- projections ---- */

/* y = the sum over ranks of this rank's views, which are `own` of the block; y holds them from view `at` on. */
static qb_status add_up(qb__iterative_run *r, piece own, size_t at, char *y) {
    const exchange *e = &r->exchange;
    const size_t bytes = own.count * e->view_bytes, each = e->view_bytes / sizeof(float);
    qb_status status = QB_OK;
    if (!own.count) return QB_OK;
    for (size_t k = 0; k < r->it->ranks; k++) {
        const part from = k == r->it->rank ? of_block(e, own) : of_received(e, k, own.count);
        if (!e->queue && k == 0)
            memcpy(y + at * e->view_bytes, from.host + from.at, bytes);
        else if (!e->queue)
            qb__vector_add_views(r->vectors, from.host + from.at, at, own.count, each, y);
        else if (k == 0)
            QB__TRY(qb__memory_copy(e->queue, (qb__memory *)y, at * e->view_bytes, from.memory, from.at, bytes));
        else {
            if (k == r->it->rank)
                QB__TRY(qb__memory_copy(e->queue, e->device_received[k], 0, from.memory, from.at, bytes));
            qb__vector_add_views(r->vectors, e->device_received[k], at, own.count, each, y);
        }
    }
    status = qb__vectors_status(r->vectors);
out:
    return status;
}

/* A rank's views of a block, of which it has the sums; and all views of the block, for all ranks. */
static qb_status scatter(qb__iterative_run *r, const piece *pieces, size_t at, void *y, part *parts) {
    const exchange *e = &r->exchange;
    const size_t ranks = r->it->ranks, rank = r->it->rank;
    for (size_t k = 0; k < ranks; k++) {
        parts[k] = of_block(e, k == rank ? (piece){0, 0} : pieces[k]);
        parts[ranks + k] = of_received(e, k, k == rank ? 0 : pieces[rank].count);
    }
    const qb_status status = send(r, parts, parts + ranks);
    return status == QB_OK ? add_up(r, pieces[rank], at, y) : status;
}

static qb_status gather(qb__iterative_run *r, const piece *pieces, size_t at, void *y, part *parts) {
    const exchange *e = &r->exchange;
    const size_t ranks = r->it->ranks, rank = r->it->rank;
    const part own = of_block(e, pieces[rank]);
    qb_status status = QB_OK;
    if (own.bytes && e->queue)
        status = qb__memory_copy(e->queue, e->device_block, own.at, y, at * e->view_bytes, own.bytes);
    else if (own.bytes)
        memcpy(e->block + own.at, (const char *)y + at * e->view_bytes, own.bytes);
    for (size_t k = 0; k < ranks; k++) {
        parts[k] = of_block(e, k == rank ? (piece){0, 0} : pieces[rank]);
        parts[ranks + k] = of_block(e, k == rank ? (piece){0, 0} : pieces[k]);
    }
    return status == QB_OK ? send(r, parts, parts + ranks) : status;
}

/* Exchange the views first <= v < first + count of `rays`, which are in the block, or will be. *at: number of the first
 * of them in y, then of the next one. */
static qb_status pass_block(qb__iterative_run *r, size_t first, size_t count, bool forward, size_t *at, void *y) {
    const qb__iterative *it = r->it;
    piece *pieces = NULL;
    part *parts = NULL;
    qb_status status;
    QB__TRY(qb__alloc(it->ranks, sizeof *pieces, &pieces));
    QB__TRY(qb__alloc(2 * it->ranks, sizeof *parts, &parts));
    for (size_t i = 0, start = 0; i < it->subsets && start < first + count; i++) {
        start = pieces_of(it, i, start, first, count, pieces);
        if (start <= first) continue;
        QB__TRY(forward ? scatter(r, pieces, *at, y, parts) : gather(r, pieces, *at, y, parts));
        *at += pieces[it->rank].count;
    }
out:
    QB__FREE(pieces, parts);
    return status;
}

qb_status qb__iterative_forward_slices(void *self, const void *x, size_t first, size_t count, void *y) {
    qb__iterative_run *r = self;
    const exchange *e = &r->exchange;
    void *const block = e->queue ? (void *)e->device_block : e->block;
    qb_status status = QB_OK;
    for (size_t done = 0, at = 0, some; done < count; done += some) {
        some = qb__smaller(e->views, count - done);
        status = e->project(self, x, first + done, some, block);
        if (status == QB_OK) status = pass_block(r, first + done, some, true, &at, y);
        if (status != QB_OK) return status;
    }
    return status;
}

qb_status qb__iterative_adjoint_slices(void *self, const void *y, size_t first, size_t count, bool more, void *x) {
    qb__iterative_run *r = self;
    const exchange *e = &r->exchange;
    void *const block = e->queue ? (void *)e->device_block : e->block;
    qb_status status = QB_OK;
    for (size_t done = 0, at = 0, some; done < count; done += some, more = true) {
        some = qb__smaller(e->views, count - done);
        status = pass_block(r, first + done, some, false, &at, (void *)y);
        if (status == QB_OK) status = e->back(self, block, first + done, some, more, x);
        if (status != QB_OK) return status;
    }
    return status;
}

/* ---- slices of neighbours ---- */

/* Flags of the operation, the same as in kernels/vectors/prior.cl. */
enum { PUT = 128, CLEAR = 256 };

static void slice(const qb__vector_job *job, size_t first, size_t end, double *sums) {
    (void)sums;
    float *plane = job->v[0], *x = (float *)job->v[1] + (size_t)job->s[0] * job->n[0] * job->n[1];
    for (size_t i = first; i < end; i++)
        if (job->flags & (PUT | CLEAR))
            x[i] = job->flags & PUT ? plane[i] : 0;
        else
            plane[i] = x[i];
}

static void copy_slice(const qb__iterative_run *r, int i, size_t z, int flags, void *x) {
    static const qb__vector_op op = {"prior.cl", "prior_slice", 0, .run = slice};
    const exchange *e = &r->exchange;
    void *const plane = e->queue ? (void *)e->device_slice[i] : e->slice[i];
    qb__vector_run(r->vectors,
                   (qb__vector_job){&op, QB__UNKNOWNS, e->slice_bytes / sizeof(float), .v = {plane, x},
                                    .s = {(double)z}, .flags = flags},
                   NULL);
}

static qb_status fill(qb__iterative_run *r, void *x) {
    const qb__iterative *it = r->it;
    const exchange *e = &r->exchange;
    part *parts;
    qb_status status = qb__alloc(2 * it->ranks, sizeof *parts, &parts);
    for (size_t k = 0; status == QB_OK && k < 2 * it->ranks; k++) parts[k] = (part){0};
    for (size_t i = 0; status == QB_OK && i < 2; i++) {
        const size_t edge = i == 0 ? 1 : it->grid.n[2] - 2, other = i == 0 ? it->rank - 1 : it->rank + 1;
        if (!it->neighbour[i] || it->grid.n[2] < 2) continue;
        copy_slice(r, (int)i, edge, 0, x);
        parts[other] = of_slice(e, (int)i);
        parts[it->ranks + other] = of_slice(e, 2 + (int)i);
    }
    if (status == QB_OK) status = qb__vectors_status(r->vectors);
    if (status == QB_OK) status = send(r, parts, parts + it->ranks);
    for (int i = 0; status == QB_OK && i < 2; i++)
        if (it->neighbour[i] && it->grid.n[2] >= 2) copy_slice(r, 2 + i, i ? it->grid.n[2] - 1 : 0, PUT, x);
    qb__free(parts);
    return status;
}

qb_status qb__iterative_halo(void *self, bool fills, void *x) {
    qb__iterative_run *r = self;
    const qb__iterative *it = r->it;
    qb_status status = QB_OK;
    if (fills)
        status = fill(r, x);
    else
        for (int i = 0; i < 2; i++)
            if (it->neighbour[i]) copy_slice(r, i, i ? it->grid.n[2] - 1 : 0, CLEAR, x);
    return status == QB_OK ? qb__vectors_status(r->vectors) : status;
}
