/* SPDX-License-Identifier: MIT */
#ifndef QB_BENCH_BENCH_LINK_H
#define QB_BENCH_BENCH_LINK_H

#include "base/comm.h"
#include "planner/device_select.h"
#include "recon/device_sum.h"

/* A rank's device, and its way there, for qb bench mpi. */
typedef struct qb__bench_link {
    qb__device_set set; /* count 0: there is none, and nothing else */
    int devices;        /* that the ranks of this machine use */
    qb__queue *queue;
    qb__memory *there;
    void *here;   /* page-locked */
    size_t bytes; /* of both */
    qb__device_sum *sum;
} qb__bench_link;

/* The device that env names for this rank, and room for so many bytes on both sides. */
qb_status qb__bench_link_open(const qb_env *env, size_t bytes, qb__bench_link *link);
/* On all ranks, once each has opened: to sum over all of them. */
qb_status qb__bench_link_join(qb__bench_link *link, qb__comm *comm);
void qb__bench_link_close(qb__bench_link *link);

qb_status qb__bench_link_up(const qb__bench_link *link, int turns);
qb_status qb__bench_link_down(const qb__bench_link *link, int turns);
/* Device bytes for this rank. */
qb_status qb__bench_link_room(const qb__bench_link *link, double *bytes);

#endif
