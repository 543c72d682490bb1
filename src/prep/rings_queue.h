/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/pool.h"
#include "prep/rings_device.h"
#include "quickbeam/env.h"

/* The rows of blocks that come from a device: each thread takes the next row, so that none waits for the last row of a
 * block, and the next block comes down meanwhile. */
typedef struct qb__rings_queue {
    qb__rings_device *device;
    size_t rows, columns; /* rows of a block */
    /* `row`: counted from the first one. lines: averaged views, `apart` floats from one to the next. */
    void (*find)(void *context, size_t row, const float *lines, size_t apart, const float *change, int worker);
    void *context;
} qb__rings_queue;

/* Calls work->find for scan rows row <= r < end. */
qb_status qb__rings_run(const qb__rings_queue *work, size_t row, size_t end, qb__pool *pool, const qb_env *env);
