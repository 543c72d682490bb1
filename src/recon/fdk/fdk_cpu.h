/* SPDX-License-Identifier: MIT */
#pragma once

#include "recon/fdk/fdk.h"

/* Filtering on the CPU, for any engine that back-projects. */
typedef struct qb__fdk_filter {
    const qb__fdk *fdk;
    const qb__running *run;
    float *pixel_weights; /* geometry's [rows][columns] if same_weights */
} qb__fdk_filter;

/* Bytes of an open filter; bytes of scratch per thread. */
size_t qb__fdk_filter_bytes(const qb__fdk *fdk);
size_t qb__fdk_filter_scratch(const qb__fdk *fdk);

qb_status qb__fdk_filter_open(qb__fdk_filter *filter, const qb__fdk *fdk, const qb__running *run);
void qb__fdk_filter_close(qb__fdk_filter *filter);

/* Filter one view's detector rows, as read: the window's rows in the worker's scratch, fdk->width columns each,
 * *row_stride apart. */
const float *qb__fdk_filter_rows(const qb__fdk_filter *filter, const qb__fdk_window *window, size_t view,
                                 const char *raw, int worker, size_t *row_stride);

/* The CPU as an engine of FDK: filter (prepares, weights, filters and packs), back-project (adds all blocks of views to
 * a slab). */
typedef struct qb__fdk_on_cpu {
    const qb__fdk *fdk;
    qb__fdk *plan; /* the same as fdk, writable: its windows belong to the current cut */
    /* the following values belong to the current cut */
    size_t view_bytes; /* largest size of a packed view */
    size_t sent_bytes; /* largest size of a view packed for all rows of ranks; without ranks view_bytes */
    double slices;     /* slices of all slabs, weighted by the kernel's speed */
    /* share of the rows of all views that this rank reads and filters; 0 in a grid until its views are divided */
    double share;
    /* while running */
    qb__fdk_filter filter;
    qb__comm_part *parts; /* [2 * rows] data that the ranks of a column exchange */
} qb__fdk_on_cpu;

/* Add the blocking stage in which the ranks of a column exchange filtered views (fdk_gather.c); none without ranks.
 * Returns the number of stages. */
int qb__fdk_gather_stage(qb__fdk_on_cpu *cpu, const qb__cut *cut, qb__stage *stage);
/* Bytes of a view packed for one row's window of a chunk. */
size_t qb__fdk_packed_bytes(const qb__fdk *fdk, const qb__fdk_window *window);

/* Approximate seconds for a core to filter so many rows of all views, and to read them. */
double qb__fdk_filter_seconds(const qb__fdk *fdk, double rows);
double qb__fdk_read_seconds(const qb__fdk *fdk);
double qb__fdk_write_seconds(const qb__fdk *fdk);
