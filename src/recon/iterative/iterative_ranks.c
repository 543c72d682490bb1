/* SPDX-License-Identifier: MIT */
/* Ranks share the views of an iterative reconstruction. Each rank has a run of the views and the whole volume. A x is
 * computed for its own views; A' y is summed over the views of all ranks. A run of the volume (bricks on CPUs, lines on
 * devices) passes from rank to rank, and each adds its views, while the previous ranks work on the next runs. So each
 * voxel sums the views in the same order as in one process, and the bits are the same. Conjugate gradients need this,
 * because they enlarge rounding differences by some hundred times. With U runs and R ranks a pass takes (U + R - 1) / U
 * times as long as if all ranks were busy all the time. In each iteration a rank sends the volume once to the next
 * rank, and the last rank sends it to all. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "recon/iterative/iterative.h"

enum { RUNS = 8 }; /* runs per rank */

size_t qb__iterative_run_count(const qb__iterative *it, size_t most) {
    const size_t each = qb__ceil_div(most, RUNS * it->ranks);
    return qb__ceil_div(most, each);
}

size_t qb__iterative_share_bytes(const qb__iterative *it, size_t run_bytes) {
    if (it->ranks < 2) return 0;
    return 2 * run_bytes + it->ranks * (sizeof(double) + 2 * sizeof(qb__comm_part));
}

size_t qb__iterative_views(const qb__iterative *it, const qb__cut *cut) {
    if (cut->grid && (size_t)cut->grid->column >= qb__ceil_div(it->info->views, it->view_grain)) return 0;
    return qb__run_count(cut->all_views);
}

size_t qb__iterative_lines(const qb__iterative *it, const qb__cut *cut) {
    return qb__run_count(cut->all_views) * it->info->rows * it->info->columns;
}

qb__comm *qb__iterative_others(const qb__iterative_run *r) { return r->run->ranks ? r->run->ranks->in_row : NULL; }

qb_status qb__iterative_share(qb__iterative_run *r, size_t run_bytes) {
    const size_t ranks = (size_t)qb__comm_count(qb__iterative_others(r));
    if (ranks < 2) return QB_OK;
    QB__OR_RETURN(qb__alloc(ranks, sizeof *r->numbers, &r->numbers));
    QB__OR_RETURN(qb__alloc(2 * ranks, sizeof *r->parts, &r->parts));
    QB__OR_RETURN(qb__alloc(run_bytes, 1, &r->received));
    return qb__alloc(run_bytes, 1, &r->sent);
}

qb_status qb__iterative_total(qb__iterative_run *r, double *sum) {
    if (!r->numbers) return QB_OK;
    QB__OR_RETURN(qb__comm_gather(qb__iterative_others(r), QB_OK, sum, sizeof *sum, r->numbers));
    *sum = 0;
    for (int i = 0; i < qb__comm_count(qb__iterative_others(r)); i++) *sum += r->numbers[i];
    return QB_OK;
}

qb_status qb__iterative_same(qb__iterative_run *r, double *number) {
    return qb__comm_bcast(qb__iterative_others(r), QB_OK, 0, number, sizeof *number);
}

/* The run that a rank works on in a step; SIZE_MAX: it has not begun or has finished. */
static size_t run_at(const qb__iterative_runs *runs, size_t step, int rank) {
    const size_t before = (size_t)rank;
    return step >= before && step - before < runs->count ? step - before : SIZE_MAX;
}

/* Add this rank's views to a run, in the buffer from which it is sent to the next rank. */
static qb_status add(qb__iterative_run *r, const qb__iterative_runs *runs, size_t run) {
    const int self = qb__comm_rank(qb__iterative_others(r));
    qb_status status = QB_OK;
    if (run == SIZE_MAX) return QB_OK;
    if (self > 0) QB__TRY(runs->put(runs->self, run, r->received));
    QB__TRY(runs->add(runs->self, run, self == 0));
    if (self + 1 < qb__comm_count(qb__iterative_others(r))) status = runs->take(runs->self, run, r->sent);
out:
    return status;
}

/* The last rank has the sum over all views: send it to all ranks. */
static qb_status tell(qb__iterative_run *r, const qb__iterative_runs *runs, size_t run) {
    const int last = qb__comm_count(qb__iterative_others(r)) - 1, self = qb__comm_rank(qb__iterative_others(r));
    qb_status status = self == last ? runs->take(runs->self, run, r->sent) : QB_OK;
    status = qb__comm_bcast(qb__iterative_others(r), status, last, r->sent, runs->bytes(runs->self, run));
    return status == QB_OK && self != last ? runs->put(runs->self, run, r->sent) : status;
}

/* ---- from device to device ---- */

/* NCCL takes a second to start, so it is used only if there is enough data, as in qb__device_sum_begin. Rank 0 decides,
 * because the environment of other ranks may differ. */
qb_status qb__iterative_link_begin(const qb__iterative *it, qb__comm *comm, qb__device *device,
                                   qb__iterative_link *link) {
    const double worth = 4e9, numbers = (double)(qb__iterative_shares_slices(it) ? qb__iterative_equations(it)
                                                                                 : qb__iterative_unknowns(it));
    int wanted = 2 * qb__iterative_passes(it) * numbers * sizeof(float) >= worth || getenv("QB_LIBNCCL") != NULL;
    if (qb__comm_count(comm) < 2) return QB_OK;
    QB__OR_RETURN(qb__comm_bcast(comm, QB_OK, 0, &wanted, sizeof wanted));
    link->begun = true;
    if (wanted) return qb__nccl_begin(comm, device, &link->nccl, link->carrier);
    snprintf(link->carrier, sizeof link->carrier, "NCCL takes longer to begin than so few bytes to pass");
    return QB_OK;
}

qb_status qb__iterative_connect(qb__iterative_run *r, qb__device *device) {
    qb__iterative_link own = {.nccl = NULL}, *link = r->it->link && r->it->link->begun ? r->it->link : &own;
    const qb_status status =
        link == &own ? qb__iterative_link_begin(r->it, qb__iterative_others(r), device, link) : QB_OK;
    r->nccl = link->nccl;
    link->nccl = NULL;
    memcpy(r->carrier, link->carrier, sizeof r->carrier);
    return status;
}

void qb__iterative_disconnect(qb__iterative_run *r, qb_status status) {
    if (status == QB_OK && r->told)
        qb__nccl_close(r->nccl);
    else
        qb__nccl_give_up(r->nccl);
    r->nccl = NULL;
}

static qb__nccl_part part_of(const qb__iterative_runs *runs, size_t run) {
    return run == SIZE_MAX ? (qb__nccl_part){0}
                           : (qb__nccl_part){runs->volume, runs->at(runs->self, run), runs->bytes(runs->self, run)};
}

/* Pass all runs on from device to device, directly between their places in the volumes. Asynchronous. */
static qb_status send_runs(qb__iterative_run *r, const qb__iterative_runs *runs, qb__nccl_part *in,
                           qb__nccl_part *out) {
    const int ranks = qb__comm_count(qb__iterative_others(r)), self = qb__comm_rank(qb__iterative_others(r)),
              last = ranks - 1;
    const size_t first = runs->at(runs->self, 0), end = runs->at(runs->self, runs->count);
    const qb__nccl_part all = {runs->volume, first, end - first};
    qb_status status = QB_OK;
    for (size_t step = 0; step < runs->count + (size_t)last; step++) {
        const size_t now = run_at(runs, step, self), next = run_at(runs, step + 1, self);
        if (now < SIZE_MAX) QB__TRY(runs->add(runs->self, now, self == 0));
        if (self < last) out[self + 1] = part_of(runs, now);
        if (self > 0) in[self - 1] = part_of(runs, next);
        QB__TRY(qb__nccl_exchange(r->nccl, runs->queue, out, in));
    }
    if (self < last) in[last] = all;
    for (int i = 0; self == last && i < last; i++) out[i] = all;
    status = qb__nccl_exchange(r->nccl, runs->queue, out, in);
out:
    return status;
}

/* All ranks agree before one of them waits for the queue; otherwise it could wait for data that another rank never
 * sent. */
static qb_status pass_by_devices(qb__iterative_run *r, const qb__iterative_runs *runs) {
    qb__nccl_part *parts;
    const size_t ranks = (size_t)qb__comm_count(qb__iterative_others(r));
    qb_status status = qb__alloc(2 * ranks, sizeof *parts, &parts);
    if (status != QB_OK) return qb__agree(qb__iterative_others(r), status);
    for (size_t i = 0; i < 2 * ranks; i++) parts[i] = (qb__nccl_part){0};
    status = qb__agree(qb__iterative_others(r), send_runs(r, runs, parts, parts + ranks));
    if (status != QB_OK) qb__iterative_disconnect(r, status);
    qb__free(parts);
    return status;
}

qb_status qb__iterative_join(qb__iterative_run *r) {
    if (r->told) return QB_OK;
    if (r->nccl) QB__OR_RETURN(qb__nccl_join(&r->nccl, r->carrier));
    r->told = true;
    if (r->nccl || r->carrier[0])
        qb__info(r->run->env, "ranks exchange by %s%s",
                 r->nccl ? "" : "the hosts' memory: ", r->nccl ? qb__nccl_version() : r->carrier);
    return QB_OK;
}

/* ---- all together ---- */

qb_status qb__iterative_pass(qb__iterative_run *r, const qb__iterative_runs *runs) {
    const int ranks = qb__comm_count(qb__iterative_others(r)), self = qb__comm_rank(qb__iterative_others(r));
    qb__comm_part *from = r->parts, *to = r->parts + ranks;
    QB__OR_RETURN(qb__iterative_join(r));
    if (r->nccl) return pass_by_devices(r, runs);
    for (size_t step = 0; step < runs->count + (size_t)ranks - 1; step++) {
        const size_t now = run_at(runs, step, self), next = run_at(runs, step + 1, self);
        const qb_status mine = add(r, runs, now);
        for (int i = 0; i < 2 * ranks; i++) r->parts[i] = (qb__comm_part){NULL, 0};
        if (self + 1 < ranks && now < SIZE_MAX) to[self + 1] = (qb__comm_part){r->sent, runs->bytes(runs->self, now)};
        if (self > 0 && next < SIZE_MAX) from[self - 1] = (qb__comm_part){r->received, runs->bytes(runs->self, next)};
        QB__OR_RETURN(qb__comm_exchange(qb__iterative_others(r), mine, to, from));
    }
    for (size_t run = 0; run < runs->count; run++) QB__OR_RETURN(tell(r, runs, run));
    return QB_OK;
}

qb_status qb__iterative_barrier(qb__iterative_run *r, qb_status status) {
    return qb__agree(qb__iterative_others(r), status);
}
