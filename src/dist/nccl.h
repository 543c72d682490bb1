/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/comm.h"
#include "device/device.h"

/* Transfers between the memories of CUDA devices, one device per rank, by NCCL, which is opened at run time
 * (QB_LIBNCCL). A comm is still needed: it agrees on failures, and transfers the data if NCCL cannot. Calls come from
 * one thread at a time, in the same order on all ranks. */
typedef struct qb__nccl qb__nccl;

enum { QB__NCCL_WORDS = 200 };

typedef struct qb__nccl_part {
    const qb__memory *memory;
    size_t offset, bytes;
} qb__nccl_part;

/* Start the initialisation on all ranks; it continues in the background. *nccl is NULL on all ranks, with the reason in
 * `why`, if one rank cannot use NCCL or two ranks have the same device. A failure is that of the comm. */
qb_status qb__nccl_begin(qb__comm *comm, qb__device *device, qb__nccl **nccl, char why[QB__NCCL_WORDS]);
/* Wait until the initialisation has ended. If it failed on one rank, it is closed on all ranks, *nccl is NULL, and
 * `why` has the reason. */
qb_status qb__nccl_join(qb__nccl **nccl, char why[QB__NCCL_WORDS]);
/* Send to and receive from each rank: [count] parts of both; the part for the rank itself stays. Asynchronous, in the
 * order of the queue. After a failure the others may wait for data that never comes: all ranks must agree before any of
 * them waits for the queue, and abort if one has failed. */
qb_status qb__nccl_exchange(qb__nccl *nccl, qb__queue *queue, const qb__nccl_part *out, const qb__nccl_part *in);
const char *qb__nccl_version(void); /* "NCCL 2.27.3", after NCCL was used */
/* Collective, with empty queues; NULL-safe. */
void qb__nccl_close(qb__nccl *nccl);
/* Abort running transfers without waiting for others; NULL-safe. */
void qb__nccl_give_up(qb__nccl *nccl);
