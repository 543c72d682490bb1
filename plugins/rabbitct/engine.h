/* SPDX-License-Identifier: MIT */
#ifndef QB_RABBITCT_ENGINE_H
#define QB_RABBITCT_ENGINE_H

#include <stdbool.h>
#include <stddef.h>

/* RabbitCT's problem over the shipped kernels: a cube of L^3 voxels, views that come one by one or
 * a few at a time. Projection matrices are 12 doubles, column by column, of world coordinates in
 * mm; an image is rows x columns floats. Views are packed as they come and back-projected a group
 * at a time, so that the volume passes through memory once a group. */
typedef struct qb_rabbitct qb_rabbitct;

typedef struct qb_rabbitct_view {
    const double *matrix;
    const float *image;
} qb_rabbitct_view;

#if defined(__GNUC__)
#define QB_RABBITCT_API __attribute__((visibility("default")))
#else
#define QB_RABBITCT_API
#endif

/* Voxel (i, j, k) lies at (origin + i voxel, origin + j voxel, origin + k voxel). NULL when memory
 * or threads run out or no kernel takes the problem. From the environment: RABBITCT_THREADS, else one a CPU;
 * RABBITCT_ACCURACY normal, high or fast, else normal; RABBITCT_DEVICE cuda, cuda:N, opencl or opencl:N, else the CPU
 * computes. What is none of these, and what a device cannot do, is said to stderr. */
QB_RABBITCT_API qb_rabbitct *qb_rabbitct_create(size_t size, size_t columns, size_t rows, float voxel, float origin);
QB_RABBITCT_API void qb_rabbitct_destroy(qb_rabbitct *engine); /* NULL-safe */

/* Adds views to volume[size][size][size]; images and matrices are not needed after the call, but
 * what they add may still be missing until qb_rabbitct_flush(). false when a matrix puts the source
 * into or before the cube, nothing of that call's views from it on is added then, or when a device fails. On a device sums
 * begin at zero, whatever volume held, and overwrite it in the flush. */
QB_RABBITCT_API bool qb_rabbitct_add(qb_rabbitct *engine, const qb_rabbitct_view *views, size_t count, float *volume);
/* false when a device fails. */
QB_RABBITCT_API bool qb_rabbitct_flush(qb_rabbitct *engine, float *volume);

/* The kernel's id. */
QB_RABBITCT_API const char *qb_rabbitct_kernel(const qb_rabbitct *engine);

#endif
