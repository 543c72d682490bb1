/* SPDX-License-Identifier: MIT */
#ifndef QB_RECON_DEVICE_SUM_H
#define QB_RECON_DEVICE_SUM_H

#include "base/comm.h"
#include "device/device.h"
#include "job/pipeline.h"

/* Sums over the columns of a grid of ranks (reconstruction_reduce.c) where the slabs are, on a device each: runs of slices go
 * from device to device by NCCL, else through the hosts' memory and MPI, are added by the device in the order of columns, and
 * the sum is left at the front of the slab. The bits do not depend on the way. */
typedef struct qb__device_sum qb__device_sum;

/* Device and host bytes that it takes for slabs of so many bytes. */
size_t qb__device_sum_bytes(int columns, size_t slab);
size_t qb__device_sum_host(int columns, size_t slab);
qb_status qb__device_sum_open(qb__device *device, const qb__comm_grid *ranks, size_t slab, qb__device_sum **sum);
/* All ranks of the row, once each has opened: they find out whether NCCL serves, and it begins to connect them; unless they have so little
 * to pass, in bytes of a rank, that it is not worth that, and QB_LIBNCCL does not name it. */
qb_status qb__device_sum_begin(qb__device_sum *sum, double bytes);
/* A slab of `slices` of `values` floats each: all of the row, in step. Waits for the result. */
qb_status qb__device_sum_run(qb__device_sum *sum, qb__memory *slab, size_t slices, size_t values);
/* No more of them: a stage's leave(). */
qb_status qb__device_sum_barrier(qb__device_sum *sum, qb_status status);
/* Who carries, "NCCL 2.27.3", or the hosts and why: in at most 256 bytes. */
void qb__device_sum_report(const qb__device_sum *sum, char words[256]);
void qb__device_sum_close(qb__device_sum *sum); /* NULL-safe */

#endif
