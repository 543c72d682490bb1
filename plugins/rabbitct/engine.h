/* SPDX-License-Identifier: MIT */
#ifndef QB_RABBITCT_ENGINE_H
#define QB_RABBITCT_ENGINE_H

#include <stdbool.h>
#include <stddef.h>

/* RabbitCT's problem with the shipped kernels: a cube of L^3 voxels, and views that come one by one or a few at a time.
 * Projection matrices are 12 doubles, column by column, for world coordinates in mm; an image is rows x columns floats.
 * Views are packed as they come and back-projected in groups, so that the volume passes through memory once for each
 * group. */
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

/* Voxel (i, j, k) lies at (origin + i voxel, origin + j voxel, origin + k voxel). NULL if memory or threads run out or
 * no kernel takes the problem. From the environment: RABBITCT_THREADS, default one for each CPU; RABBITCT_ACCURACY
 * normal (default), high or fast; RABBITCT_DEVICE cuda, cuda:N, opencl or opencl:N, default the CPU. Other values, and
 * what a device cannot do, are reported on stderr. */
QB_RABBITCT_API qb_rabbitct *qb_rabbitct_create(size_t size, size_t columns, size_t rows, float voxel, float origin);
QB_RABBITCT_API void qb_rabbitct_destroy(qb_rabbitct *engine); /* NULL-safe */

/* Adds views to volume[size][size][size]. Images and matrices are not needed after the call, but their contribution may
 * be missing until qb_rabbitct_flush(). False if a matrix puts the source into the cube or the cube behind it (then
 * nothing of that call's views from that one on is added), or if a device fails. On a device, sums begin at zero,
 * whatever the volume held, and overwrite it in the flush. */
QB_RABBITCT_API bool qb_rabbitct_add(qb_rabbitct *engine, const qb_rabbitct_view *views, size_t count, float *volume);
/* False if a device fails. */
QB_RABBITCT_API bool qb_rabbitct_flush(qb_rabbitct *engine, float *volume);

/* Id of the kernel. */
QB_RABBITCT_API const char *qb_rabbitct_kernel(const qb_rabbitct *engine);

#endif
