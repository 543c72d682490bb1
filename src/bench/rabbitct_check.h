/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

#include "base/variant.h"
#include "io/plain/rabbitct.h"
#include "quickbeam/kernel.h"
#include "quickbeam/param.h"
#include "quickbeam/status.h"

/* QB_BAD_INPUT, with view and number, if a matrix puts the source into or in front of the cube of size^3 voxels, or if
 * no view sees the cube. Reads only the matrices. */
qb_status qb__rabbitct_check_matrices(const qb__rabbitct *set, size_t size);

/* QB_BAD_ARGUMENT unless --size is one number, and a size of the benchmark. */
qb_status qb__rabbitct_check_size(const qb_numbers *given, size_t *size);

/* The reference for the scores: the file `path`, or if it is NULL the data set's own, if it has one, else NULL.
 * Released by the caller. */
qb_status qb__rabbitct_load_reference(const qb__rabbitct *set, size_t size, const char *path, uint16_t **reference);

/* Randomly chosen voxels, the same every time, and their sums in double precision. */
enum { QB__RABBITCT_SAMPLES = 4096 };
typedef struct qb__rabbitct_sample {
    size_t at[3];
    double sum;
} qb__rabbitct_sample;

void qb__rabbitct_draw_samples(size_t size, qb__rabbitct_sample *samples);
void qb__rabbitct_add_samples(const qb__rabbitct *set, size_t size, const double world[12], const float *image,
                              qb__rabbitct_sample *samples);

typedef struct qb__rabbitct_quality {
    double rmse, largest; /* HU, as defined by the benchmark */
    double rel_l2;        /* relative L2 error of the sampled values, before conversion to HU */
    size_t compared;      /* number of voxels in rmse and largest */
} qb__rabbitct_quality;

/* Compare with the reference, or with the samples if it is NULL. */
qb__rabbitct_quality qb__rabbitct_measure(const qb__rabbitct *set, size_t size, const float *volume,
                                          const uint16_t *reference, const qb__rabbitct_sample *samples);

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

/* The RabbitCT problem on a device: views are uploaded as they come, from page-locked copies, while the previous group
 * is added; the volume stays on the device until the flush. For one thread at a time. */
typedef struct qb__rabbitct_device qb__rabbitct_device;

/* QB_NO_DEVICE, QB_UNSUPPORTED, QB_BAD_ARGUMENT (for the kernel's name), QB_NO_MEMORY. */
qb_status qb__rabbitct_device_create(const qb__rabbitct_setup *setup, qb__rabbitct_device **device);
void qb__rabbitct_device_destroy(qb__rabbitct_device *device); /* NULL-safe; waits for running work */
/* Forget the views so far. */
qb_status qb__rabbitct_device_begin(qb__rabbitct_device *device);
/* Add one view. Its matrix is for voxel indices, row by row, with positive w; image[rows][columns] is not needed after
 * the call. */
qb_status qb__rabbitct_device_add(qb__rabbitct_device *device, const double matrix[12], const float *image);
/* Write the sum of all views so far into volume, and wait for it; later views are added to it. */
qb_status qb__rabbitct_device_flush(qb__rabbitct_device *device, float *volume);

const qb__variant *qb__rabbitct_device_kernel(const qb__rabbitct_device *device);
const char *qb__rabbitct_device_name(const qb__rabbitct_device *device);
int qb__rabbitct_device_threads(const qb__rabbitct_device *device);
