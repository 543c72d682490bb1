/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/* The window that multiplies the ramp, from NAME|FILE[:CUTOFF]. */
typedef struct qb__window {
    double (*value)(double x); /* value at x = frequency/cut-off in 0..1; NULL if it comes from a file */
    bool ramp;                 /* false: the window without the ramp */
    bool open;                 /* extends beyond the cut-off */
    double cutoff;             /* cut-off as a fraction of Nyquist */
    double *table;             /* values of a file, evenly spaced from 0 to the cut-off */
    size_t count;
} qb__window;

/* QB_BAD_ARGUMENT for an unknown name, or a cut-off outside (0,1]; QB_BAD_INPUT for a file without numbers. */
qb_status qb__window_parse(const char *spec, qb__window *window);
void qb__window_clear(qb__window *window);
/* The value at a frequency, as a fraction of Nyquist. */
double qb__window_at(const qb__window *window, double frequency);

/* ramp[k], 0 <= k <= length/2: the transform over `length` samples of the band-limited space-domain ramp (1/4 at 0,
 * -1/(pi n)^2 at odd n, 0 at even n; Ramachandran and Lakshminarayanan 1971, in columns). Sampling |frequency| instead
 * would give wrong constants (Kak and Slaney, chapter 3). length: even, with small prime factors. */
qb_status qb__ramp(size_t length, double *ramp);
