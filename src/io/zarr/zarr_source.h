/* SPDX-License-Identifier: MIT */
#pragma once

#include "io/formats.h"
#include "io/zarr/zarr.h"

typedef struct qb__zarr {
    qb__source base;
    qb__zarr_array array;
    char *folder; /* folder of the array */
    char fill[8]; /* value of missing chunks */
} qb__zarr;

qb_status qb__zarr_read(qb__source *source, const qb__region *region, void *out);
/* Memory per thread for reading. */
size_t qb__zarr_read_memory(const qb__zarr_array *array);
