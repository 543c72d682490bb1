/* SPDX-License-Identifier: MIT */
#ifndef QB_TESTS_DEVICE_SHIM_OPENCL_H
#define QB_TESTS_DEVICE_SHIM_OPENCL_H

#include <stdio.h>

#include "device/opencl_api.h"

/* An OpenCL loader (for QB_LIBOPENCL) that passes every call on to the real one, and fails as these environment
 * variables say.
 *   SHIM_REAL         file of the real loader; default libOpenCL.so.1
 *   SHIM_REPORT       a file: at the end of the process it gets lines "KEY NUMBER" with counts
 *   SHIM_GPU          1: devices say that they are GPUs; N from 2 on: only the Nth does
 *   SHIM_SINGLE       1: devices do not say that they have double precision
 *   SHIM_BYTES        buffers and images have so much memory in all
 *   SHIM_ERROR        the error if that is not enough; default -4
 *   SHIM_DEFERRED     1: the error comes from the first command that uses the object, not from its creation
 *   SHIM_HOST_FAILS   1: there is no page-locked memory
 *   SHIM_LOSE_AFTER   after so many commands the device is lost
 *   SHIM_LOSE_WITH    the error of every call from then on; default -2
 *   SHIM_LATE         1: commands in progress at that moment continue, and end when their queue is waited for */
typedef struct shim_orders {
    int gpu;
    bool single, deferred, host_fails, late;
    size_t bytes;
    long lose_after; /* -1 = never */
    qb__cl_result error, lose_with;
} shim_orders;

/* Memory objects (shim_memory.c). Objects without memory are not counted. */
bool shim_memory_take(size_t bytes, size_t limit);              /* false: there is not enough memory */
void shim_memory_made(void *object, size_t bytes, bool backed); /* object NULL: gives the bytes back */
void shim_memory_gone(const void *object);
/* true: the object has no memory; object NULL: any object has none */
bool shim_memory_lacks(const void *object);
void shim_memory_report(FILE *file);

#endif
