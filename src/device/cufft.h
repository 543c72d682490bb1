/* SPDX-License-Identifier: MIT */
#pragma once

#include "device/device.h"

/* NVIDIA's FFT library, opened at run time: QB_LIBCUFFT names the file, else the newest one that the driver runs is
 * used. Complex, single precision, in place, batches of one length. */
typedef struct qb__cufft qb__cufft;

/* QB_OK, or QB_NO_DEVICE with what is missing and the package that provides it. */
qb_status qb__cufft_missing(const qb__device *device);
/* QB_NO_MEMORY if its work space does not fit. */
qb_status qb__cufft_create(qb__device *device, size_t length, size_t batch, qb__cufft **cufft);
void qb__cufft_destroy(qb__cufft *cufft);       /* NULL-safe */
size_t qb__cufft_bytes(const qb__cufft *cufft); /* bytes of its work space */
/* Transform all of the batch, [batch][length] complex numbers from the start of the memory, without scaling;
 * asynchronous. */
qb_status qb__cufft_forward(qb__cufft *cufft, qb__queue *queue, qb__memory *memory);

/* Functions of cuFFT, in the order of the table of names. */
typedef struct qb__cufft_api {
    int (*plan_many)(int *plan, int rank, int *n, int *inembed, int istride, int idist, int *onembed, int ostride,
                     int odist, int type, int batch);
    int (*destroy)(int plan);
    int (*set_stream)(int plan, void *stream);
    int (*exec)(int plan, void *in, void *out, int direction);
    int (*get_size)(int plan, size_t *bytes);
} qb__cufft_api;

/* Open the newest cuFFT that a driver of that version (13000 = CUDA 13.0) runs; false with the reason. */
bool qb__cufft_open(int driver, qb__cufft_api *api, char *why, size_t why_size);
