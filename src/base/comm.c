/* SPDX-License-Identifier: MIT */
#include "base/comm.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"

qb_status qb__comm_begin(qb__comm *comm) {
    comm->over = QB_OK;
    return qb__alloc((size_t)comm->count, sizeof *comm->votes, &comm->votes);
}

int qb__comm_rank(const qb__comm *comm) { return comm ? comm->rank : 0; }

int qb__comm_count(const qb__comm *comm) { return comm ? comm->count : 1; }

int qb_ranks_rank(const qb_ranks *ranks) { return qb__comm_rank(ranks); }

int qb_ranks_count(const qb_ranks *ranks) { return qb__comm_count(ranks); }

bool qb__comm_warned(qb__comm *comm) { return comm && comm->calls->warned(comm); }

/* ---- environments ---- */

enum { FIRST_ENV = sizeof(qb_env) }; /* size of the first version */

qb__comm *qb__comm_of(const qb_env *env) { return env ? env->ranks : NULL; }

qb_status qb__env_check(const qb_env *env) {
    enum { MOST_BYTES = 1 << 16 }; /* larger than any struct of the library */
    const size_t size = env ? env->struct_size : 0;
    if (env && env->threads > QB__THREADS_MOST)
        return qb__fail(QB_BAD_ARGUMENT, "%d threads: at most %d, or 0 for one per CPU", env->threads,
                        QB__THREADS_MOST);
    if (size == 0 || (size >= FIRST_ENV && size <= MOST_BYTES)) return QB_OK;
    return qb__fail(QB_BAD_ARGUMENT,
                    "a qb_env of %zu bytes, its first version had %zu: set its struct_size to sizeof(qb_env), or to 0",
                    size, (size_t)FIRST_ENV);
}

qb_env qb__env_whole(const qb_env *env) {
    qb_env all = {0};
    if (env) all = *env;
    all.struct_size = sizeof all;
    return all;
}

qb_env qb__comm_single_rank(const qb_env *env) {
    qb_env alone = qb__env_whole(env);
    if (alone.ranks && alone.threads > 0) alone.threads *= alone.ranks->sharing;
    alone.ranks = NULL;
    return alone;
}

/* ---- agreement ---- */

/* The lowest rank that failed by itself; otherwise the lowest rank that failed; -1: no rank failed. */
static int worst(const qb__comm *comm) {
    int caused = -1;
    for (int i = 0; i < comm->count; i++) {
        if (comm->votes[i].status == QB_OK) continue;
        if (!comm->votes[i].caused) return i;
        if (caused < 0) caused = i;
    }
    return caused;
}

static qb_status is_over(qb__comm *comm, qb_status status) {
    comm->over = status;
    return qb__fail(status, "%s", comm->words);
}

static qb_status lost(qb__comm *comm) {
    snprintf(comm->words, sizeof comm->words, "rank %d of %d cannot reach the others: %s", comm->rank, comm->count,
             comm->trouble);
    return is_over(comm, QB_IO);
}

static void say(qb__comm *comm, qb_status mine) {
    const char *detail = *qb_detail() ? qb_detail() : qb_status_text(mine);
    if (comm->rank == 0)
        snprintf(comm->words, sizeof comm->words, "%s", detail);
    else
        snprintf(comm->words, sizeof comm->words, "rank %d of %d, on %s: %.900s", comm->rank, comm->count, comm->host,
                 detail);
}

/* True if this rank's message is that of another rank, passed on by a part of the ranks. */
static bool is_hearsay(const qb__comm *comm) {
    const qb__comm *whole = comm->whole ? comm->whole : comm;
    for (const qb__comm_grid *grid = whole->grids; grid; grid = grid->next) {
        const qb__comm *parts[] = {grid->in_column, grid->in_row};
        for (int i = 0; i < 2; i++)
            if (parts[i] && atomic_load(&parts[i]->told) && strcmp(parts[i]->words, qb_detail()) == 0) return true;
    }
    return false;
}

qb_status qb__agree(qb__comm *comm, qb_status mine) {
    if (!comm) return mine;
    if (comm->over != QB_OK) return qb__fail(comm->over, "%s", comm->words);
    const bool caused = (mine == QB_CANCELLED && comm->calls->warned(comm)) || is_hearsay(comm);
    const qb__vote vote = {mine, mine != QB_OK && caused};
    if (mine != QB_OK) say(comm, mine);
    if (mine != QB_OK && !vote.caused) comm->calls->warn(comm);
    if (!comm->calls->gather(comm, &vote, sizeof vote, comm->votes)) return lost(comm);
    const int from = worst(comm);
    if (from < 0) return QB_OK;
    const qb_status status = (qb_status)comm->votes[from].status;
    for (int i = 0; i < comm->count; i++)
        comm->warnings += i != comm->rank && comm->votes[i].status != QB_OK && !comm->votes[i].caused;
    if (!comm->calls->bcast(comm, from, comm->words, sizeof comm->words)) return lost(comm);
    if (mine == QB_OK || vote.caused) atomic_store(&comm->told, true);
    return is_over(comm, status);
}

qb_status qb_ranks_agree(qb_ranks *ranks, qb_status status, const char *words) {
    if (status != QB_OK && words && words != qb_detail()) qb__fail(status, "%s", words);
    return qb__agree(ranks, status);
}

static void close_part(qb__comm *part) {
    if (!part) return;
    if (part->own) part->calls->close(part, 0);
    QB__FREE(part->votes, part);
}

void qb_ranks_close(qb_ranks *ranks) {
    if (!ranks) return;
    while (ranks->grids) {
        qb__comm_grid *grid = ranks->grids;
        ranks->grids = grid->next;
        close_part(grid->in_row);
        close_part(grid->in_column);
        qb__free(grid);
    }
    ranks->calls->close(ranks, ranks->warnings);
    QB__FREE(ranks->votes, ranks);
}

/* ---- exchange ---- */

qb_status qb__comm_bcast(qb__comm *comm, qb_status mine, int from, void *data, size_t bytes) {
    const qb_status status = qb__agree(comm, mine);
    if (!comm || status != QB_OK) return status;
    return comm->calls->bcast(comm, from, data, bytes) ? QB_OK : lost(comm);
}

qb_status qb__comm_gather(qb__comm *comm, qb_status mine, const void *data, size_t bytes, void *all) {
    QB__OR_RETURN(qb__agree(comm, mine));
    if (!comm) memcpy(all, data, bytes);
    return !comm || comm->calls->gather(comm, data, bytes, all) ? QB_OK : lost(comm);
}

qb_status qb__comm_sum(qb__comm *comm, qb_status mine, uint64_t *numbers, size_t count) {
    if (!comm) return mine;
    uint64_t *all = NULL;
    if (mine == QB_OK) mine = qb__alloc((size_t)comm->count * count, sizeof *all, &all);
    const qb_status status = qb__comm_gather(comm, mine, numbers, count * sizeof *numbers, all);
    for (size_t i = 0; status == QB_OK && i < count; i++) {
        numbers[i] = 0;
        for (size_t rank = 0; rank < (size_t)comm->count; rank++) numbers[i] += all[rank * count + i];
    }
    qb__free(all);
    return status;
}

qb_status qb__comm_exchange(qb__comm *comm, qb_status mine, const qb__comm_part *out, const qb__comm_part *in) {
    QB__OR_RETURN(qb__agree(comm, mine));
    return qb__comm_go_on(comm, out, in);
}

qb_status qb__comm_go_on(qb__comm *comm, const qb__comm_part *out, const qb__comm_part *in) {
    if (!comm && out->bytes) memcpy(in->data, out->data, out->bytes);
    return !comm || comm->calls->exchange(comm, out, in) ? QB_OK : lost(comm);
}

/* ---- grids ---- */

/* Allocate first, so that no rank is missing once the ranks are split. */
static qb_status make_part(qb__comm *comm, qb__comm **part, int count) {
    qb_status status = qb__alloc(1, sizeof **part, part);
    if (status == QB_OK) status = qb__alloc((size_t)count, sizeof *(*part)->votes, &(*part)->votes);
    if (status != QB_OK) return status;
    (*part)->calls = comm->calls;
    (*part)->whole = comm;
    memcpy((*part)->host, comm->host, sizeof comm->host);
    return QB_OK;
}

static qb_status split(qb__comm *comm, int colour, qb__comm *part) {
    if (comm->calls->split(comm, colour, part)) return QB_OK;
    part->own = NULL;
    return lost(comm);
}

static qb_status check_grid(const qb__comm *comm, int rows, int columns, const int *all) {
    for (int i = 0; i < comm->count; i++)
        if (all[2 * i] != rows || all[2 * i + 1] != columns)
            return qb__fail(QB_BAD_ARGUMENT,
                            "a grid of %d x %d ranks, and rank %d has %d x %d: all are started with the "
                            "same arguments",
                            rows, columns, i, all[2 * i], all[2 * i + 1]);
    if (rows > 0 && columns > 0 && (long)rows * columns == comm->count) return QB_OK;
    return qb__fail(QB_BAD_ARGUMENT, "a grid of %d x %d ranks is for %ld processes, and there are %d", rows, columns,
                    (long)rows * columns, comm->count);
}

qb_status qb__comm_arrange(qb__comm *comm, qb_status mine, int rows, int columns, const qb__comm_grid **out) {
    const int own[2] = {rows, columns};
    int *all = NULL;
    qb__comm_grid *grid = NULL;
    if (mine == QB_OK) mine = qb__alloc((size_t)comm->count, sizeof own, &all);
    qb_status status = qb__comm_gather(comm, mine, own, sizeof own, all);
    if (status == QB_OK) status = check_grid(comm, rows, columns, all);
    qb__free(all);
    if (status != QB_OK) return qb__agree(comm, status);
    for (grid = comm->grids; grid; grid = grid->next)
        if (grid->rows == rows && grid->columns == columns) break;
    const bool known = grid != NULL;
    if (!known) {
        status = qb__alloc(1, sizeof *grid, &grid);
        if (status == QB_OK) {
            *grid = (qb__comm_grid){rows, columns, comm->rank % rows, comm->rank / rows, NULL, NULL, comm->grids};
            comm->grids = grid;
            status = make_part(comm, &grid->in_column, rows);
        }
        if (status == QB_OK) status = make_part(comm, &grid->in_row, columns);
        status = qb__agree(comm, status);
        if (status == QB_OK) status = split(comm, grid->column, grid->in_column);
        if (status == QB_OK) status = split(comm, grid->row, grid->in_row);
    }
    *out = grid;
    return status;
}

/* Exchange sizes and allocate for the largest first, so that a failure happens before any transfer begins. */
qb_status qb__comm_collect(qb__comm *comm, qb_status mine, const void *data, size_t bytes, qb__comm_take take,
                           void *context) {
    if (!comm) return mine;
    uint64_t own = bytes, *sizes = NULL, most = 0;
    char *room = NULL;
    if (mine == QB_OK) mine = qb__alloc((size_t)comm->count, sizeof *sizes, &sizes);
    qb_status status = qb__comm_gather(comm, mine, &own, sizeof own, sizes);
    if (status != QB_OK) goto out;
    for (int i = 1; i < comm->count; i++) most = sizes[i] > most ? sizes[i] : most;
    if (comm->rank == 0) status = qb__alloc(most, 1, &room);
    QB__TRY(qb__agree(comm, status));
    if (comm->rank > 0) {
        if (bytes && !comm->calls->send(comm, 0, data, bytes)) status = lost(comm);
        goto out;
    }
    for (int i = 1; i < comm->count; i++) {
        if (sizes[i] && !comm->calls->receive(comm, i, room, sizes[i])) {
            status = lost(comm);
            goto out;
        }
        if (status == QB_OK) status = take(context, i, room, sizes[i]);
    }
out:
    QB__FREE(room, sizes);
    return status;
}
