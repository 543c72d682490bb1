/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "geometry/bp_problem.h"
#include "kernels/bp_parallel/bp_parallel_layout.h"

/* The geometry of the tensor kernel, made on the host: the shapes into which 8x8 pixels are divided, and the views
 * sorted by shape. See bp_parallel_linear_tensor.cu. */
enum {
    QB__TENSOR_SHAPES = 6,
    QB__TENSOR_STRIP = 32,   /* pixels of a strip */
    QB__TENSOR_GROUP_X = 32, /* pixels of a group */
    QB__TENSOR_GROUP_Y = 16,
};

/* As struct view of the kernel. */
typedef struct qb__tensor_view {
    double ax, ay, h0;
    float first, low;
    int32_t rows, shape;
    uint32_t row, unused;
} qb__tensor_view;

/* The pixels (8 y + x) of strip 0 of each shape; strip 1 is strip 0 rotated by 180 degrees. */
void qb__tensor_shapes(uint8_t shapes[QB__TENSOR_SHAPES][QB__TENSOR_STRIP]);

/* The smallest number of columns (8, 16 or 32) that contains every strip of every view, and the largest number of
 * columns of a view that a group needs; 0 if 32 are not enough. */
int qb__tensor_bins(const qb__bp_parallel_problem *problem, int *rows);

/* Upper limit of the number of views for `views` of the problem and `step` views of a stage. */
size_t qb__tensor_views_max(size_t views, unsigned step);

/* The views sorted by shape, with padding views off the detector so that each shape has a multiple of `step`; their
 * number in *count. `list` must have room for the upper limit. */
void qb__tensor_views_make(const qb__bp_parallel_problem *problem, int bins, unsigned step, qb__tensor_view *list,
                           size_t *count);

/* The kernel's table of distances for `count` views, and its size in words. */
size_t qb__tensor_table_words(size_t count, int bins, bool split);
void qb__tensor_table_make(const qb__tensor_view *views, size_t count, int bins, bool split, uint32_t *table);

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
