/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/comm.h"
#include "planner/device_select.h"
#include "recon/device_arrays.h"

/* A rank's device, and its transfers, for qb bench mpi. */
typedef struct qb__bench_link {
    qb__device_set set; /* count 0: there is no device, and all else is empty */
    int devices;        /* devices used by the ranks of this machine */
    qb__queue *queue;
    qb__memory *there;
    void *here;   /* page-locked host memory */
    size_t bytes; /* size of both buffers */
    qb__device_sum *sum;
} qb__bench_link;

/* Opens the device that env names for this rank, and allocates this number of bytes on both sides. */
qb_status qb__bench_link_open(const qb_env *env, size_t bytes, qb__bench_link *link);
/* Open the sums over the ranks, after all ranks have opened their devices. Collective. */
qb_status qb__bench_link_join(qb__bench_link *link, qb__comm *comm);
void qb__bench_link_close(qb__bench_link *link);

qb_status qb__bench_link_up(const qb__bench_link *link, int turns);
qb_status qb__bench_link_down(const qb__bench_link *link, int turns);
/* Bytes of device memory for this rank. */
qb_status qb__bench_link_room(const qb__bench_link *link, double *bytes);
