/* SPDX-License-Identifier: MIT */
#ifndef QB_RECON_FDK_FDK_CPU_H
#define QB_RECON_FDK_FDK_CPU_H

#include "recon/fdk/fdk.h"

/* The CPU as an engine of FDK: filter (prepares, weights, filters and packs), back-project (a slab
 * gathers all blocks of views). */
typedef struct qb__fdk_on_cpu {
    const qb__fdk *fdk;
    int threads;
    size_t value_bytes; /* of a voxel in the file */
    /* of the cut in hand */
    size_t view_bytes;                /* the most bytes of a packed view */
    double rows, raw_rows, slices;    /* what all slabs take together, each filtering its own rows */
    /* while running */
    const qb__running *run;
    float *pixel_weights; /* geometry's [rows][columns] when same_weights */
} qb__fdk_on_cpu;

/* Bytes of scratch a thread needs. */
size_t qb__fdk_scratch(const qb__fdk *fdk);
/* One view's detector rows, as read -> filtered and packed, for one slab. */
void qb__fdk_filter_view(const qb__fdk_on_cpu *cpu, const qb__fdk_window *window, size_t view,
                         const char *raw, int worker, void *out);

#endif
