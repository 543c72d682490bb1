/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

#include "base/status.h"

/* ramp[k], 0 <= k <= length/2: the transform over `length` samples of the band-limited space-domain ramp (1/4 at 0,
 * -1/(pi n)^2 at odd n, 0 at even n; Ramachandran and Lakshminarayanan 1971, in columns). Sampling |frequency| instead
 * would give wrong constants (Kak and Slaney, chapter 3). length: even, with small prime factors. */
qb_status qb__ramp(size_t length, double *ramp);
