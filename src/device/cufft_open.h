/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

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
