/* SPDX-License-Identifier: MIT */
#define LANES_COUNT 4
#include "cpu/prior/prior_body.h"

void qb__prior_scalar(const qb__prior_numbers *numbers, const qb__prior_volume *volume, size_t first, size_t end,
                      double *cost) {
    step_down(numbers, volume, first, end, cost);
}
