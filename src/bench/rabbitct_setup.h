/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

#include "quickbeam/kernel.h"

/* Parameters of a RabbitCT engine, for the CPU and for devices. */
typedef struct qb__rabbitct_setup {
    size_t size, columns, rows;
    double voxel, origin; /* mm: voxel (i, j, k) is at origin + voxel (i, j, k) */
    int threads;          /* 0 = one per CPU */
    qb_accuracy accuracy;
    const char *device; /* "cuda:0", ...; NULL = the CPU */
    const char *kernel; /* id of a variant; NULL = the fastest with the accuracy asked for */
} qb__rabbitct_setup;

enum { QB__RABBITCT_GROUP = 32 }; /* views that are added together */
