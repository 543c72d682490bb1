/* SPDX-License-Identifier: MIT */
#pragma once

#include "bp_parallel_layout.h"
#include "bp_parallel_tensor_views.h"

/* Compile-time parameters of the tensor kernel, its needs and its cost. */
enum { QB__TENSOR_SPLIT, QB__TENSOR_VIEWS, QB__TENSOR_STAGES, QB__TENSOR_UNROLL }; /* indices of values[] */
enum {
    QB__TENSOR_SLICES = 64,     /* slices that are stored together */
    QB__TENSOR_ROW_BYTES = 144, /* bytes of one packed column */
    QB__TENSOR_WARPS = 8,       /* warps that compute */
};

typedef struct qb__tensor_sizes {
    int bins, rows, planes, views, stages;
    size_t dynamic_bytes; /* bytes of shared memory */
} qb__tensor_sizes;

/* Choose the number of stages that was asked for, or as many as fit, then fewer views each. False if two stages do not
 * fit. */
bool qb__tensor_choose(const qb__device_info *device, const qb__bp_parallel_problem *problem, const int *values,
                       qb__tensor_sizes *sizes);

/* The function unusable() of the interface. */
const char *qb__tensor_unusable(const qb__device_info *device, const void *problem, const int *values);
void qb__tensor_cost(const void *problem, unsigned slices, const int *values, qb__kernel_cost *cost);
size_t qb__tensor_packed_bytes(const qb__bp_parallel_problem *problem, unsigned slices, const int *values);
