/* SPDX-License-Identifier: MIT */
#include "recon/device_arrays.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/status.h"
#include "dist/nccl.h"
#include "geometry/partition.h"
#include "kernels/sum/sum_device.h"

enum { MOST_PIECE = 32 << 20, MOST_STAGED = 128 << 20 };

struct qb__device_sum {
    qb__device *device;
    const qb__comm_grid *ranks;
    size_t piece; /* bytes of a run that are transferred at a time */
    qb__queue *queue;
    qb__sum *add;
    qb__memory *staged; /* [columns][piece] received data */
    char *host[2];      /* [columns][piece] data sent from host memory, and received; allocated if the hosts transfer */
    qb__nccl *nccl;
    bool joined;
    char why[QB__NCCL_WORDS]; /* why the hosts transfer */
    qb__nccl_part *part;      /* [2 * columns] sent, received */
    qb__comm_part *host_part; /* the same for the hosts */
};

/* For the longest run, limited for all columns together. */
static size_t piece_of(int columns, size_t slab) {
    const size_t n = (size_t)columns, most = qb__larger(qb__smaller(MOST_PIECE, MOST_STAGED / n), 1 << 20);
    return qb__round_up(qb__larger(qb__smaller(slab / n + slab % n, most), 4), 256);
}

size_t qb__device_sum_bytes(int columns, size_t slab) { return (size_t)columns * piece_of(columns, slab); }

size_t qb__device_sum_host(int columns, size_t slab) { return 2 * (size_t)columns * piece_of(columns, slab); }

qb_status qb__device_sum_open(qb__device *device, const qb__comm_grid *ranks, size_t slab, qb__device_sum **out) {
    const size_t columns = (size_t)ranks->columns;
    qb__device_sum *sum = NULL;
    qb_status status;
    QB__TRY(qb__alloc(1, sizeof *sum, &sum));
    *sum = (qb__device_sum){.device = device, .ranks = ranks, .piece = piece_of(ranks->columns, slab)};
    QB__TRY(qb__alloc(2 * columns, sizeof *sum->part, &sum->part));
    QB__TRY(qb__alloc(2 * columns, sizeof *sum->host_part, &sum->host_part));
    QB__TRY(qb__queue_create(device, &sum->queue));
    QB__TRY(qb__sum_create(device, &sum->add));
    QB__TRY(qb__memory_create(device, columns * sum->piece, &sum->staged));
out:
    if (status != QB_OK) {
        qb__device_sum_close(sum);
        sum = NULL;
    }
    *out = sum;
    return status;
}

/* Two H200 of one host: NCCL takes 1.1 s to start, during which the devices do not compute; then 184 GB/s, compared
 * with a few through the hosts. */
static const double worth = 4e9;

/* Rank 0 decides, because the other ranks' environment may differ. */
qb_status qb__device_sum_begin(qb__device_sum *sum, double bytes) {
    int wanted = bytes >= worth || getenv("QB_LIBNCCL") != NULL;
    QB__OR_RETURN(qb__comm_bcast(sum->ranks->in_row, QB_OK, 0, &wanted, sizeof wanted));
    if (!wanted) {
        snprintf(sum->why, sizeof sum->why, "NCCL takes longer to begin than so few bytes to pass");
        return QB_OK;
    }
    return qb__nccl_begin(sum->ranks->in_row, sum->device, &sum->nccl, sum->why);
}

/* ---- a piece ---- */

/* A run of slices for each column, in bytes of the slab; the transferred part is `at` bytes after their beginning. */
typedef struct runs {
    const qb__device_sum *sum;
    qb__memory *slab;
    size_t slices, slice, at;
} runs;

static size_t run_of(const runs *r, int column, size_t *first) {
    size_t from, count;
    qb__cut_rank(r->slices, 1, r->sum->ranks->columns, column, &from, &count);
    *first = from * r->slice + r->at;
    return count * r->slice > r->at ? qb__smaller(count * r->slice - r->at, r->sum->piece) : 0;
}

static void parts_of(const runs *r) {
    const qb__device_sum *sum = r->sum;
    const int columns = sum->ranks->columns, mine = sum->ranks->column;
    size_t first;
    const size_t own = run_of(r, mine, &first);
    for (int i = 0; i < columns; i++) {
        const size_t bytes = run_of(r, i, &first);
        sum->part[i] = (qb__nccl_part){r->slab, first, i == mine ? 0 : bytes};
        sum->part[columns + i] = (qb__nccl_part){sum->staged, (size_t)i * sum->piece, i == mine ? 0 : own};
    }
}

/* Added in the order of columns, then moved to the front; the previous data there have been sent to the first
 * column. */
static qb_status add_piece(const runs *r) {
    const qb__device_sum *sum = r->sum;
    const int mine = sum->ranks->column;
    size_t first;
    const size_t bytes = run_of(r, mine, &first), count = bytes / sizeof(float);
    qb__memory *to = mine == 0 ? r->slab : sum->staged;
    const size_t to_at = mine == 0 ? first / sizeof(float) : 0;
    qb_status status = QB_OK;
    for (int i = 1; i < sum->ranks->columns && status == QB_OK && bytes > 0; i++) {
        const qb__memory *from = i == mine ? r->slab : sum->staged;
        const size_t from_at = (i == mine ? first : (size_t)i * sum->piece) / sizeof(float);
        status = qb__sum_add(sum->add, sum->queue, to, to_at, from, from_at, count);
    }
    if (status == QB_OK && mine > 0 && bytes > 0)
        status = qb__memory_copy(sum->queue, r->slab, r->at, sum->staged, 0, bytes);
    return status;
}

static size_t longest(const runs *r) { return qb__ceil_div(r->slices, (size_t)r->sum->ranks->columns) * r->slice; }

/* ---- from device to device ---- */

static qb_status by_nccl(qb__device_sum *sum, runs *r) {
    qb_status status = qb__agree(sum->ranks->in_row, QB_OK);
    if (status != QB_OK) return status;
    for (r->at = 0; r->at < longest(r) && status == QB_OK; r->at += sum->piece) {
        parts_of(r);
        status = qb__nccl_exchange(sum->nccl, sum->queue, sum->part, sum->part + sum->ranks->columns);
        if (status == QB_OK) status = add_piece(r);
    }
    status = qb__agree(sum->ranks->in_row, status); /* otherwise some would wait for data that were never sent */
    if (status != QB_OK) {
        qb__nccl_give_up(sum->nccl);
        sum->nccl = NULL;
    }
    return qb__queue_finish_after(sum->queue, status);
}

/* ---- through the hosts ---- */

static qb_status open_host(qb__device_sum *sum) {
    qb_status status = QB_OK;
    for (int i = 0; i < 2 && status == QB_OK; i++)
        if (!sum->host[i])
            status = qb__host_create(sum->device, (size_t)sum->ranks->columns * sum->piece, (void **)&sum->host[i]);
    return status;
}

static qb_status come_down(const runs *r) {
    const qb__device_sum *sum = r->sum;
    const int columns = sum->ranks->columns;
    qb_status status = QB_OK;
    for (int i = 0; i < columns && status == QB_OK; i++) {
        const qb__nccl_part *out = &sum->part[i], *in = &sum->part[columns + i];
        sum->host_part[i] = (qb__comm_part){sum->host[0] + (size_t)i * sum->piece, out->bytes};
        sum->host_part[columns + i] = (qb__comm_part){sum->host[1] + (size_t)i * sum->piece, in->bytes};
        if (out->bytes)
            status = qb__memory_download(sum->queue, out->memory, out->offset, sum->host_part[i].data, out->bytes);
    }
    return qb__queue_finish_after(sum->queue, status);
}

static qb_status go_up(const runs *r) {
    const qb__device_sum *sum = r->sum;
    const int columns = sum->ranks->columns;
    qb_status status = QB_OK;
    for (int i = 0; i < columns && status == QB_OK; i++) {
        const qb__comm_part *in = &sum->host_part[columns + i];
        if (in->bytes) status = qb__memory_upload(sum->queue, sum->staged, (size_t)i * sum->piece, in->data, in->bytes);
    }
    return status == QB_OK ? add_piece(r) : status;
}

/* The other ranks learn of a failure here at their next exchange. */
static qb_status by_hosts(qb__device_sum *sum, runs *r) {
    qb_status status = open_host(sum);
    r->at = 0;
    do {
        parts_of(r);
        if (status == QB_OK) status = come_down(r);
        status = qb__comm_exchange(sum->ranks->in_row, status, sum->host_part, sum->host_part + sum->ranks->columns);
        if (status != QB_OK) break;
        status = go_up(r);
        r->at += sum->piece;
    } while (r->at < longest(r));
    return qb__queue_finish_after(sum->queue, status);
}

qb_status qb__device_sum_run(qb__device_sum *sum, qb__memory *slab, size_t slices, size_t values) {
    runs r = {.sum = sum, .slab = slab, .slices = slices, .slice = values * sizeof(float)};
    qb_status status = QB_OK;
    if (sum->nccl && !sum->joined) status = qb__nccl_join(&sum->nccl, sum->why);
    sum->joined = sum->nccl != NULL;
    if (status != QB_OK) return status;
    return sum->nccl ? by_nccl(sum, &r) : by_hosts(sum, &r);
}

/* ---- the end ---- */

/* Collective: synchronise before closing, so that no rank blocks on another. */
qb_status qb__device_sum_barrier(qb__device_sum *sum, qb_status status) {
    status = qb__agree(sum->ranks->in_row, status);
    if (status == QB_OK && sum->joined)
        qb__nccl_close(sum->nccl);
    else
        qb__nccl_give_up(sum->nccl);
    sum->nccl = NULL;
    return status;
}

void qb__device_sum_report(const qb__device_sum *sum, char words[256]) {
    snprintf(words, 256, sum->joined ? "%s" : "the hosts' memory: %s", sum->joined ? qb__nccl_version() : sum->why);
}

void qb__device_sum_close(qb__device_sum *sum) {
    if (!sum) return;
    qb__nccl_give_up(sum->nccl);
    qb__queue_destroy(sum->queue);
    qb__sum_destroy(sum->add);
    qb__memory_destroy(sum->staged);
    for (int i = 0; i < 2; i++)
        if (sum->host[i]) qb__host_destroy(sum->device, sum->host[i]);
    QB__FREE(sum->part, sum->host_part, sum);
}
