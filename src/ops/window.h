/* SPDX-License-Identifier: MIT */
#ifndef QB_OPS_WINDOW_H
#define QB_OPS_WINDOW_H

#include <stdbool.h>
#include <stddef.h>

#include "quickbeam/status.h"

/* The windows that multiply the ramp's spectrum. */
typedef struct qb__window {
    bool ramp;                  /* false: `none`, no filtering at all */
    double cutoff;              /* fraction of Nyquist */
    double (*shape)(double x);  /* x: frequency / cut-off, 0..1; NULL = from the file */
    double *values;             /* a file's values from 0 to Nyquist, evenly spaced, owned */
    size_t count;
} qb__window;

/* NAME[:CUTOFF] or a text file of numbers. QB_BAD_ARGUMENT lists the names. */
qb_status qb__window_parse(const char *spec, qb__window *window);
void qb__window_clear(qb__window *window);
/* At a frequency given as a fraction of Nyquist. */
double qb__window_at(const qb__window *window, double frequency);

#endif
