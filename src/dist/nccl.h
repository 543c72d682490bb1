/* SPDX-License-Identifier: MIT */
#ifndef QB_DIST_NCCL_H
#define QB_DIST_NCCL_H

#include "base/comm.h"
#include "device/device.h"

/* Transfers between the memories of CUDA devices, one for each rank, by NCCL, which is opened at run time (QB_LIBNCCL). A comm is still
 * needed: it agrees on failures, and carries the data where NCCL cannot. Calls come from one thread at a time, in the same order on all
 * ranks. */
typedef struct qb__nccl qb__nccl;

enum { QB__NCCL_WORDS = 200 };

typedef struct qb__nccl_part {
    const qb__memory *memory;
    size_t offset, bytes;
} qb__nccl_part;

/* All ranks of the comm begin to join; what that takes goes on meanwhile. *nccl NULL on all of them where one cannot, or
 * two have the same device, and `why`. A failure is the comm's. */
qb_status qb__nccl_begin(qb__comm *comm, qb__device *device, qb__nccl **nccl, char why[QB__NCCL_WORDS]);
/* Wait until all have joined. Where one could not, on all ranks: it is closed, *nccl NULL, and `why`. */
qb_status qb__nccl_join(qb__nccl **nccl, char why[QB__NCCL_WORDS]);
/* To each rank, and from each: [count] of both, what they are for this rank itself stays. Asynchronous, in the queue's order. After a failure
 * others may wait for what does not come: all have to agree before anyone waits for the queue, and give up where one has failed. */
qb_status qb__nccl_exchange(qb__nccl *nccl, qb__queue *queue, const qb__nccl_part *out, const qb__nccl_part *in);
const char *qb__nccl_version(void); /* "NCCL 2.27.3", once one has begun */
/* All ranks come here, with their queues empty; NULL-safe. */
void qb__nccl_close(qb__nccl *nccl);
/* What is under way ends, others are not waited for; NULL-safe. */
void qb__nccl_give_up(qb__nccl *nccl);

#endif
