/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

/* Sort in ascending order, in place; none may be NaN. */
void qb__sort(double *values, size_t count);
void qb__sort_floats(float *values, size_t count);
/* As qb__sort_floats, with scratch[count]: several times as fast for hundreds of values and more. */
void qb__sort_floats_with(float *values, size_t count, float *scratch);

/* An entry of a list of views that is sorted by angle. */
typedef struct qb__direction {
    double angle;
    size_t view;
} qb__direction;

/* Sort by angle, and equal angles by view, so that the order is the same everywhere. */
void qb__sort_directions(qb__direction *list, size_t count);

/* Median of `count` values, which are sorted in place; the mean of the two middle ones for an even count. */
double qb__median(double *values, size_t count);
/* The same, several times as fast; the values are only reordered. */
double qb__middle(double *values, size_t count);
/* The value that would be at place `at` if all were sorted: none before it is larger, none after it is smaller. */
double qb__sorted_at(double *values, size_t count, size_t at);
