/* SPDX-License-Identifier: MIT */
#ifndef QB_BASE_COMM_H
#define QB_BASE_COMM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "quickbeam/env.h"
#include "quickbeam/ranks.h"

/* Processes ("ranks") that share one job. Who carries their words (src/dist; threads in tests) fills in
 * qb__comm_calls; all else is here. A NULL comm is one rank that is on its own: whatever is asked of it
 * comes back at once, so that no caller has a second way.
 *
 * Every exchange begins with an agreement: each rank says how it fares, and where one has failed nothing is
 * exchanged, and all return that failure, from then on at once. So a rank that fails somewhere only has to
 * come to one more agreement, and all ranks end with the same status and the same words. Calls of one comm
 * come from one thread at a time, in the same order on all ranks. */
typedef struct qb_ranks qb__comm;

/* What one rank has for another, or wants of it. */
typedef struct qb__comm_part {
    void *data;
    size_t bytes;
} qb__comm_part;

/* What a carrier can do; they return false, with qb_ranks.trouble, when a rank cannot be reached. */
typedef struct qb__comm_calls {
    bool (*gather)(qb__comm *comm, const void *mine, size_t bytes, void *all); /* all[rank][bytes], on all */
    bool (*bcast)(qb__comm *comm, int from, void *data, size_t bytes);
    bool (*send)(qb__comm *comm, int to, const void *data, size_t bytes);
    bool (*receive)(qb__comm *comm, int from, void *data, size_t bytes);
    /* To each rank, and from each: [count] of both, bytes as the other one has them. */
    bool (*exchange)(qb__comm *comm, const qb__comm_part *out, const qb__comm_part *in);
    /* Ranks of one colour become a comm of their own, in the same order. Sets rank, count and own of *part. Collective. */
    bool (*split)(qb__comm *comm, int colour, qb__comm *part);
    void (*warn)(qb__comm *comm);   /* tell all others that this one has failed; does not wait */
    bool (*warned)(qb__comm *comm); /* whether another has; any thread, costs nothing */
    void (*close)(qb__comm *comm,
                  int warnings); /* warnings: number of warnings from other ranks; frees the state of the carrier */
} qb__comm_calls;

/* What a rank says of itself. */
typedef struct qb__vote {
    int32_t status, caused; /* caused: it gave up because another had failed */
} qb__vote;

/* Ranks in rows and columns: rank = column * rows + row, so that those of a column are neighbours. The parts are
 * comms like any other, each for a thread of its own; they end with the comm that they are parts of. */
typedef struct qb__comm_grid {
    int rows, columns, row, column; /* how many; of this rank */
    qb__comm *in_column, *in_row;   /* this rank's; their ranks are rows and columns */
    struct qb__comm_grid *next;
} qb__comm_grid;

struct qb_ranks {
    const qb__comm_calls *calls;
    void *own; /* the carrier's */
    int rank, count;
    int here, sharing; /* ranks on this machine; those of them that may run on the same CPUs */
    int at;            /* index among the ranks of this machine, from 0 */
    char host[64];
    char trouble[256]; /* why a call returned false */
    /* fields of comm.c */
    qb__vote *votes;             /* [count] */
    qb_status over;              /* status of the failure that all ranks agreed on */
    char words[1024];            /* its message */
    int warnings;                /* number of warnings sent by others */
    qb__comm *whole;             /* the comm that this one was split from; NULL: none */
    _Atomic bool told;           /* of a split comm: another rank has failed; `words` says how */
    struct qb__comm_grid *grids; /* of qb__comm_arrange */
};

/* Make what comm.c needs, once rank, count and calls are set. Released by qb_ranks_close. */
qb_status qb__comm_begin(qb__comm *comm);

/* For one process. */
enum { QB__THREADS_MOST = 4096 };

/* The ranks of the caller's environment; NULL = one process. */
qb__comm *qb__comm_of(const qb_env *env);
int qb__comm_rank(const qb__comm *comm);
int qb__comm_count(const qb__comm *comm);
/* Whether another rank has failed, so that this one may stop. Any thread. */
bool qb__comm_warned(qb__comm *comm);
/* The caller's environment, fields that were added since it was compiled zero. */
qb_env qb__env_whole(const qb_env *env);
/* QB_BAD_ARGUMENT for a struct_size that no version had. */
qb_status qb__env_check(const qb_env *env);
/* An env without the other ranks, for work that one rank does while they wait; it may use their threads. */
qb_env qb__comm_single_rank(const qb_env *env);

/* QB_OK when all are; else the failure of the lowest rank that failed by itself, its words as detail. */
qb_status qb__agree(qb__comm *comm, qb_status mine);
/* Data of rank `from` to all. */
qb_status qb__comm_bcast(qb__comm *comm, qb_status mine, int from, void *data, size_t bytes);
/* all[rank][bytes], everywhere. */
qb_status qb__comm_gather(qb__comm *comm, qb_status mine, const void *data, size_t bytes, void *all);
/* Numbers summed over ranks, in the order of ranks. */
qb_status qb__comm_sum(qb__comm *comm, qb_status mine, uint64_t *numbers, size_t count);
/* All-to-all exchange of parts of any size; sender and receiver must give the same size. */
qb_status qb__comm_exchange(qb__comm *comm, qb_status mine, const qb__comm_part *out, const qb__comm_part *in);
/* More of the same transfer: without an agreement, as nothing can have failed that is this transfer's. */
qb_status qb__comm_go_on(qb__comm *comm, const qb__comm_part *out, const qb__comm_part *in);
/* All ranks as rows x columns; the same grid again is the same object. QB_BAD_ARGUMENT where they are not as many. */
qb_status qb__comm_arrange(qb__comm *comm, qb_status mine, int rows, int columns, const qb__comm_grid **grid);
/* Data of any size, to rank 0: take() there, for each other rank in order; what it returns is this rank's status
 * afterwards, and all come to know it with the next agreement. */
typedef qb_status (*qb__comm_take)(void *context, int from, const void *data, size_t bytes);
qb_status qb__comm_collect(qb__comm *comm, qb_status mine, const void *data, size_t bytes, qb__comm_take take,
                           void *context);

#endif
