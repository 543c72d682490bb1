/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/comm.h"
#include "device/device.h"
#include "job/pipeline.h"

/* Sums slabs on devices over the columns of a grid of ranks. (reconstruction_reduce.c does it on hosts.) Runs of slices
 * are transferred from device to device by NCCL, or through host memory and MPI. The device adds them in the order of
 * columns and leaves the sum at the front of the slab. Both ways give the same bits. */
typedef struct qb__device_sum qb__device_sum;

/* Device and host bytes needed for slabs of `slab` bytes. */
size_t qb__device_sum_bytes(int columns, size_t slab);
size_t qb__device_sum_host(int columns, size_t slab);
qb_status qb__device_sum_open(qb__device *device, const qb__comm_grid *ranks, size_t slab, qb__device_sum **sum);
/* Collective over the row, after each rank has opened: find out whether NCCL can be used, and begin to connect. NCCL is
 * not used for little data (`bytes` of a rank) unless QB_LIBNCCL names it. */
qb_status qb__device_sum_begin(qb__device_sum *sum, double bytes);
/* Collective: sum a slab of `slices` slices of `values` floats each. Waits for the result. */
qb_status qb__device_sum_run(qb__device_sum *sum, qb__memory *slab, size_t slices, size_t values);
/* Collective: no more sums; called as qb__stage.barrier. */
qb_status qb__device_sum_barrier(qb__device_sum *sum, qb_status status);
/* The transport, such as "NCCL 2.27.3", or the hosts and why. */
void qb__device_sum_report(const qb__device_sum *sum, char words[256]);
void qb__device_sum_close(qb__device_sum *sum); /* NULL-safe */
