/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/comm.h"
#include "kernels/icd/icd_device.h"

/* A stack whose first and last slices have neighbours on other ranks: each rank has a run of the job's slices, none of
 * them empty. Slices of even number in the whole job are updated, then those of odd number, on all ranks; in between,
 * ranks exchange their outermost slices (edges.swap). The stopping criteria are summed over all ranks. */
typedef struct qb__icd_halo {
    qb__icd_edges edges;
    qb__comm *comm;
    size_t slices, tallest; /* slices of the whole job; of the rank with most */
    qb__comm_part *parts;   /* [2 * ranks] */
    double *numbers;        /* [ranks][QB__HALO_NUMBERS] */
} qb__icd_halo;
enum { QB__HALO_NUMBERS = 6 };

/* This rank's part of `slices`, which must be at least the number of ranks; it is referred to by address. */
qb_status qb__icd_halo_create(qb__comm *comm, size_t slices, qb__icd_halo *halo);
void qb__icd_halo_release(qb__icd_halo *halo);

/* Numbers of all ranks, at most QB__HALO_NUMBERS: their sums, in the order of ranks; the largest of each. NULL (a stack
 * on its own): unchanged. */
qb_status qb__icd_halo_sum(const qb__icd_halo *halo, qb_status mine, double *numbers, size_t count);
qb_status qb__icd_halo_largest(const qb__icd_halo *halo, qb_status mine, double *numbers, size_t count);
/* Each rank's numbers one after the other, on all ranks. */
qb_status qb__icd_halo_gather(const qb__icd_halo *halo, qb_status mine, const double *numbers, size_t count);
