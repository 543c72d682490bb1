/* SPDX-License-Identifier: MIT */
#ifndef QB_BASE_SORT_H
#define QB_BASE_SORT_H

#include <stddef.h>

/* Into ascending order, in place; none may be NaN. */
void qb__sort(double *values, size_t count);
void qb__sort_floats(float *values, size_t count);
/* qb__sort_floats with scratch[count]: several times as fast for hundreds of values and more. */
void qb__sort_floats_with(float *values, size_t count, float *scratch);

/* What a list sorted by angle remembers of each view. */
typedef struct qb__direction {
    double angle;
    size_t view;
} qb__direction;

/* By angle; equal angles by view, so that the order is the same everywhere. */
void qb__sort_directions(qb__direction *list, size_t count);

/* Middle of count values, which are sorted on the way; of two middle ones their mean. */
double qb__median(double *values, size_t count);

#endif
