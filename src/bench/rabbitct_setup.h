/* SPDX-License-Identifier: MIT */
#ifndef QB_BENCH_RABBITCT_SETUP_H
#define QB_BENCH_RABBITCT_SETUP_H

#include <stddef.h>

#include "quickbeam/kernel.h"

/* What a RabbitCT engine is made for, wherever it computes. */
typedef struct qb__rabbitct_setup {
    size_t size, columns, rows;
    double voxel, origin; /* mm: voxel (i, j, k) lies at origin + voxel (i, j, k) */
    int threads;          /* 0 = one a CPU */
    qb_accuracy accuracy;
    const char *device; /* "cuda:0", ...; NULL = the CPU */
    const char *kernel; /* a variant's id; NULL = the fastest that keeps the accuracy */
} qb__rabbitct_setup;

enum { QB__RABBITCT_GROUP = 32 }; /* views that are added together */

#endif
