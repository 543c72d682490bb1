/* SPDX-License-Identifier: MIT */
#pragma once

#include "device/device.h"

/* Measured rates of a device per second; 0 = it has no such unit, or it could not be measured. */
typedef struct qb__device_rates {
    double copy_bytes;     /* device memory, read plus written */
    double upload_bytes;   /* upload from page-locked host memory */
    double download_bytes; /* download to page-locked host memory */
    double cache_bytes;    /* read from the cache that all multiprocessors share */
    double local_bytes;    /* read from local (shared) memory */
    double arithmetic;     /* fp32 lane instructions; a multiply-add counts as one */
    double texels;         /* bilinear reads of one float */
    double tensor_flops;   /* dense products, fp16 in, fp32 out; CUDA from compute capability 8.0 on */
    char problem[256];     /* why some rates are missing, else empty */
} qb__device_rates;

/* Takes about half a second and up to half a gigabyte of the device. Fails only if the device fails; a rate that cannot
 * be measured is 0. */
qb_status qb__device_measure(qb__device *device, qb__device_rates *rates);
