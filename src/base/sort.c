/* SPDX-License-Identifier: MIT */
#include "base/sort.h"

#include <stdlib.h>

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int by_float(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static int by_angle(const void *a, const void *b) {
    const qb__direction *p = a, *q = b;
    if (p->angle != q->angle) return p->angle < q->angle ? -1 : 1;
    return p->view < q->view ? -1 : p->view > q->view;
}

void qb__sort(double *values, size_t count) {
    qsort(values, count, sizeof *values, by_value);
}

void qb__sort_floats(float *values, size_t count) {
    qsort(values, count, sizeof *values, by_float);
}

void qb__sort_directions(qb__direction *list, size_t count) {
    qsort(list, count, sizeof *list, by_angle);
}

double qb__median(double *values, size_t count) {
    qb__sort(values, count);
    return count % 2 ? values[count / 2] : 0.5 * (values[count / 2 - 1] + values[count / 2]);
}
