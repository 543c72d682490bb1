/* SPDX-License-Identifier: MIT */
#include "cpu/prior/prior_body.h"

void qb__prior_scalar(const qb__prior_numbers *numbers, const qb__prior_volume *volume, size_t first, size_t end,
                      double sums[2]) {
    step_down(numbers, volume, first, end, sums);
}
