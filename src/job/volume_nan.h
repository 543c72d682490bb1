/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "base/comm.h"
#include "base/json.h"
#include "quickbeam/env.h"

/* Counts unexpected NaN in the images of a result. Zeroed at first; any thread may count. */
typedef struct qb__volume_nan {
    _Atomic uint64_t looked, values; /* images that were checked; values that are NaN */
    _Atomic uint64_t first, end;     /* range of images with NaN; end = 0: none */
} qb__volume_nan;

void qb__volume_nan_count(qb__volume_nan *nan, const float *image, size_t pixels, size_t number);
/* Collective: refuse a result of `shape` that has only NaN, and warn of others. */
qb_status qb__volume_nan_report(qb__volume_nan *nan, qb__comm *comm, const size_t shape[3], const char *path,
                                bool projections, cJSON *report, const qb_env *env);
