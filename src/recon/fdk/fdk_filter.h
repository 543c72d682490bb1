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
