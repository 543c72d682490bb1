/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "quickbeam/env.h"
#include "quickbeam/ranks.h"

/* Processes ("ranks") that share one job. The transport (src/dist; threads in tests) implements qb__comm_calls;
 * everything else is here. A NULL comm is a single rank: every exchange returns at once, so that callers need no
 * special case.
 *
 * Every exchange begins with an agreement: each rank gives its status. If one has failed, nothing is exchanged, and all
 * ranks return that failure, now and in every later call. So a rank that fails only has to take part in one more
 * agreement, and all ranks end with the same status and message. The calls of one comm come from one thread at a time,
 * in the same order on all ranks. */
typedef struct qb_ranks qb__comm;

/* Data from one rank to another. */
typedef struct qb__comm_part {
    void *data;
    size_t bytes;
} qb__comm_part;

/* The calls of a transport. They return false, with qb_ranks.trouble, if a rank cannot be reached. */
typedef struct qb__comm_calls {
    bool (*gather)(qb__comm *comm, const void *mine, size_t bytes, void *all); /* all[rank][bytes], on all ranks */
    bool (*bcast)(qb__comm *comm, int from, void *data, size_t bytes);
    bool (*send)(qb__comm *comm, int to, const void *data, size_t bytes);
    bool (*receive)(qb__comm *comm, int from, void *data, size_t bytes);
    /* Send to and receive from each rank: [count] parts of both; the sizes of sender and receiver must agree. */
    bool (*exchange)(qb__comm *comm, const qb__comm_part *out, const qb__comm_part *in);
    /* Ranks of one colour form a new comm, in the same order. Sets rank, count and own of *part. Collective. */
    bool (*split)(qb__comm *comm, int colour, qb__comm *part);
    void (*warn)(qb__comm *comm);   /* tell all ranks that this one has failed; does not wait */
    bool (*warned)(qb__comm *comm); /* true if another rank has failed; any thread; cheap */
    void (*close)(qb__comm *comm,
                  int warnings); /* warnings: number of warnings from other ranks; frees the state of the carrier */
} qb__comm_calls;

/* The agreement of one rank. */
typedef struct qb__vote {
    int32_t status, caused; /* caused: it stopped because another rank had failed */
} qb__vote;

/* Ranks in rows and columns: rank = column * rows + row, so that the ranks of a column are neighbours. Each row and
 * column is a comm of its own, for one thread each. They are closed with the comm that they are parts of. */
typedef struct qb__comm_grid {
    int rows, columns, row, column; /* size of the grid; place of this rank */
    /* the column and the row of this rank; in_column has `rows` ranks, in_row has `columns` */
    qb__comm *in_column, *in_row;
    struct qb__comm_grid *next;
} qb__comm_grid;

struct qb_ranks {
    const qb__comm_calls *calls;
    void *own; /* data of the transport */
    int rank, count;
    int here, sharing; /* ranks on this machine; how many of them may use the same CPUs */
    int at;            /* index of this rank on its machine, from 0 */
    char host[64];
    char trouble[256]; /* why a call returned false */
    /* fields of comm.c */
    qb__vote *votes;             /* [count] */
    qb_status over;              /* status of the failure that all ranks agreed on */
    char words[1024];            /* message of that failure */
    int warnings;                /* number of warnings sent by others */
    qb__comm *whole;             /* the comm that this one is a part of; NULL: none */
    _Atomic bool told;           /* only for a part: a rank outside it has failed, and `words` has the message */
    struct qb__comm_grid *grids; /* made by qb__comm_arrange */
};

/* Create the state of comm.c, after rank, count and calls are set. Released by qb_ranks_close. */
qb_status qb__comm_begin(qb__comm *comm);

/* A comm of one process. */
enum { QB__THREADS_MOST = 4096 };

/* The ranks of the caller's environment; NULL = one process. */
qb__comm *qb__comm_of(const qb_env *env);
int qb__comm_rank(const qb__comm *comm);
int qb__comm_count(const qb__comm *comm);
/* True if another rank has failed and this one may stop. Any thread. */
bool qb__comm_warned(qb__comm *comm);
/* A copy of the caller's environment; fields that the caller does not know are 0. */
qb_env qb__env_whole(const qb_env *env);
/* QB_BAD_ARGUMENT for a struct_size that no version has had. */
qb_status qb__env_check(const qb_env *env);
/* A copy of env without the other ranks, for work that one rank does while the others wait; it may use their
 * threads. */
qb_env qb__comm_single_rank(const qb_env *env);

/* QB_OK if all ranks are; otherwise the failure of the lowest rank that failed by itself, with its message as
 * detail. */
qb_status qb__agree(qb__comm *comm, qb_status mine);
/* Send data of rank `from` to all ranks. */
qb_status qb__comm_bcast(qb__comm *comm, qb_status mine, int from, void *data, size_t bytes);
/* all[rank][bytes], on all ranks. */
qb_status qb__comm_gather(qb__comm *comm, qb_status mine, const void *data, size_t bytes, void *all);
/* Sum numbers over the ranks, in the order of ranks. */
qb_status qb__comm_sum(qb__comm *comm, qb_status mine, uint64_t *numbers, size_t count);
/* All-to-all exchange of parts of any size; sender and receiver must give the same size. */
qb_status qb__comm_exchange(qb__comm *comm, qb_status mine, const qb__comm_part *out, const qb__comm_part *in);
/* The next part of a transfer that has begun. It needs no agreement, because nothing of this transfer can have
 * failed. */
qb_status qb__comm_go_on(qb__comm *comm, const qb__comm_part *out, const qb__comm_part *in);
/* Arrange all ranks as rows x columns; the same grid returns the same object. QB_BAD_ARGUMENT if rows * columns is not
 * the number of ranks. */
qb_status qb__comm_arrange(qb__comm *comm, qb_status mine, int rows, int columns, const qb__comm_grid **grid);
/* Send data of any size to rank 0, which calls take() for every other rank in order. The status that take() returns is
 * rank 0's status in the next agreement. */
typedef qb_status (*qb__comm_take)(void *context, int from, const void *data, size_t bytes);
qb_status qb__comm_collect(qb__comm *comm, qb_status mine, const void *data, size_t bytes, qb__comm_take take,
                           void *context);
