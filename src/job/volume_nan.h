/* SPDX-License-Identifier: MIT */
#ifndef QB_JOB_VOLUME_NAN_H
#define QB_JOB_VOLUME_NAN_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/comm.h"
#include "base/json.h"
#include "quickbeam/env.h"

/* NaN in the images of a result, which nobody asked for. Zeroed at first; any thread counts. */
typedef struct qb__volume_nan {
    _Atomic uint64_t looked, values; /* images looked at, and values that are NaN ... */
    _Atomic uint64_t first, end;     /* ... in images from the first on; end = 0: none */
} qb__volume_nan;

void qb__volume_nan_count(qb__volume_nan *nan, const float *image, size_t pixels, size_t number);
/* Of all ranks, which come here together: a result of nothing but NaN is refused, others are warned of. `shape` of the result. */
qb_status qb__volume_nan_report(qb__volume_nan *nan, qb__comm *comm, const size_t shape[3], const char *path,
                                cJSON *report, const qb_env *env);

#endif
