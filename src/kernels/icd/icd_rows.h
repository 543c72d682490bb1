/* SPDX-License-Identifier: MIT */
#pragma once

#include "kernels/icd/icd_device.h"

/* The rows listed in icd_rows.c. */

const char *qb__tiles_unusable(const qb__device_info *device, const void *of, const int *values);
void qb__tiles_kernel_cost(const void *of, unsigned slices, const int *values, qb__kernel_cost *cost);
size_t qb__tiles_lanes(const qb__icd_ask *ask, const int *values);
size_t qb__tiles_bytes(const qb__icd_ask *ask, const int *values);
qb_status qb__tiles_create(qb__device *device, const qb__icd_ask *ask, const int *values, qb__icd_on_device **stack);
qb_status qb__tiles_back(qb__icd_on_device *stack, const float *lines, qb__device_filter *filter);
qb_status qb__tiles_fill(qb__icd_on_device *stack, float value);
qb_status qb__tiles_put(qb__icd_on_device *stack, bool toward, const float *images);
qb_status qb__tiles_begin(qb__icd_on_device *stack, const float *lines, int rule, const float *weights, float scale);
qb_status qb__tiles_sweep(qb__icd_on_device *stack, int turn, bool skip, const bool *still, qb__icd_swept *turned);
qb_status qb__tiles_image(qb__icd_on_device *stack, size_t slice, float scale, float *image);
qb_status qb__tiles_state(qb__icd_on_device *stack, bool into, qb__icd_piece piece, void *self);
void qb__tiles_say(const qb__icd_on_device *stack, char *text, size_t bytes);
void qb__tiles_destroy(qb__icd_on_device *stack);
qb_status qb__tiles_cost(qb__icd_on_device *stack, double *cost);

/* Single slices: variants with the buffer of a SuperVoxel (icd_buffers.h) */
size_t qb__buffers_lanes(const qb__icd_ask *ask, const int *values);
size_t qb__buffers_sweeps(const int *values);
qb_status qb__buffers_back(qb__icd_on_device *stack, const float *lines, qb__device_filter *filter);
qb_status qb__buffers_fill(qb__icd_on_device *stack, float value);
qb_status qb__buffers_put(qb__icd_on_device *stack, bool toward, const float *images);
qb_status qb__buffers_begin(qb__icd_on_device *stack, const float *lines, int rule, const float *weights, float scale);
qb_status qb__buffers_sweep(qb__icd_on_device *stack, int turn, bool skip, const bool *still, qb__icd_swept *turned);
qb_status qb__buffers_cost(qb__icd_on_device *stack, double *cost);
qb_status qb__buffers_image(qb__icd_on_device *stack, size_t slice, float scale, float *image);
qb_status qb__buffers_state(qb__icd_on_device *stack, bool into, qb__icd_piece piece, void *self);
void qb__buffers_say(const qb__icd_on_device *stack, char *text, size_t bytes);
void qb__buffers_destroy(qb__icd_on_device *stack);
/* Buffer in local memory. */
const char *qb__local_unusable(const qb__device_info *device, const void *of, const int *values);
void qb__local_cost(const void *of, unsigned slices, const int *values, qb__kernel_cost *cost);
size_t qb__local_bytes(const qb__icd_ask *ask, const int *values);
qb_status qb__local_create(qb__device *device, const qb__icd_ask *ask, const int *values, qb__icd_on_device **stack);
/* Buffer in global memory. */
const char *qb__global_unusable(const qb__device_info *device, const void *of, const int *values);
void qb__global_cost(const void *of, unsigned slices, const int *values, qb__kernel_cost *cost);
size_t qb__global_bytes(const qb__icd_ask *ask, const int *values);
qb_status qb__global_create(qb__device *device, const qb__icd_ask *ask, const int *values, qb__icd_on_device **stack);
