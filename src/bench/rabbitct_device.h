/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/variant.h"
#include "bench/rabbitct_setup.h"
#include "quickbeam/status.h"

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
