/* SPDX-License-Identifier: MIT */
#ifndef QB_TESTS_DEVICE_SHIM_OPENCL_H
#define QB_TESTS_DEVICE_SHIM_OPENCL_H

#include <stdio.h>

#include "device/opencl_api.h"

/* An OpenCL loader (for QB_LIBOPENCL) that hands every call on to the real one, and fails as these
 * variables of the environment say.
 *   SHIM_REAL         the real loader's file; libOpenCL.so.1 unless said
 *   SHIM_REPORT       a file: at the end of the process lines of "KEY NUMBER", what was counted
 *   SHIM_GPU          1: devices say that they are GPUs; N from 2 on: the Nth alone does
 *   SHIM_SINGLE       1: devices do not say that they have double precision
 *   SHIM_BYTES        buffers and images have so much memory in all
 *   SHIM_ERROR        what is returned where it does not suffice; -4 unless said
 *   SHIM_DEFERRED     1: not where the object is made, but by the first command that uses it
 *   SHIM_HOST_FAILS   1: there is no page-locked memory
 *   SHIM_LOSE_AFTER   after so many commands the device is gone
 *   SHIM_LOSE_WITH    what every call returns from then on; -2 unless said
 *   SHIM_LATE         1: what was under way then still is, and ends when its queue is waited for */
typedef struct shim_orders {
    int gpu;
    bool single, deferred, host_fails, late;
    size_t bytes;
    long lose_after; /* -1 = never */
    qb__cl_result error, lose_with;
} shim_orders;

/* Memory objects (shim_memory.c). Those with no memory behind them do not count. */
bool shim_memory_take(size_t bytes, size_t limit);              /* false: the memory does not suffice */
void shim_memory_made(void *object, size_t bytes, bool backed); /* object NULL: gives the bytes back */
void shim_memory_gone(const void *object);
/* true: the object has no memory behind it; object NULL: any object has none */
bool shim_memory_lacks(const void *object);
void shim_memory_report(FILE *file);

#endif
