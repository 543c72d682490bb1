/* SPDX-License-Identifier: MIT */
#pragma once

#include "prep/neighbours.h"

typedef struct qb__phase_device qb__phase_device; /* phase_device.h */

/* A request: rows first <= row < end of views view0 <= v < view1 are written to `out`. */
typedef struct qb__phase_request {
    size_t view0, view1, first, end;
    float *out;
    size_t threads;
    qb__neighbours *near; /* corrections that the device does before the filter; NULL: none */
    /* Reads the numbers of rows row0 <= row < row1; with `near` as they are stored. Only first <= row < end of these
     * were requested. */
    qb_status (*read)(void *self, size_t view0, size_t view1, size_t row0, size_t row1,
                      const struct qb__phase_request *of, void *raw);
    void *self;
} qb__phase_request;
