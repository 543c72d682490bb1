/* SPDX-License-Identifier: MIT */
/* Quickselect without branches that depend on the values, because mispredicted branches would take most of the time. */
#include "base/select.h"

#include "base/sort.h"

enum {
    FEW = 24, /* up to this number of values are sorted */
    MANY = 64 /* from this number of values on, the pivot is the median of nine values, else of three */
};

static float middle_of(float a, float b, float c) {
    const float low = a < b ? a : b, high = a < b ? b : a;
    return c < low ? low : c > high ? high : c;
}

/* Irregular positions, because lines of images are often symmetric. */
static float pivot_of(const float *v, size_t n) {
    if (n < MANY) return middle_of(v[n / 8], v[n / 2], v[n / 4 * 3]);
    return middle_of(middle_of(v[n / 16], v[n / 8 * 3], v[n / 8 * 7]), middle_of(v[n / 8], v[n / 2], v[n / 16 * 13]),
                     middle_of(v[n / 4], v[n / 8 * 5], v[n - 1]));
}

/* Move values below the pivot to the front; returns their number. */
static size_t move_below(float *values, size_t count, float pivot) {
    size_t below = 0;
    for (size_t i = 0; i < count; i++) {
        const float value = values[i];
        values[i] = values[below], values[below] = value;
        below += (size_t)(value < pivot);
    }
    return below;
}

static size_t move_up_to(float *values, size_t count, float pivot) {
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        const float value = values[i];
        values[i] = values[found], values[found] = value;
        found += (size_t)(value <= pivot);
    }
    return found;
}

float qb__float_at(float *values, size_t count, size_t at) {
    for (int depth = 64; count > FEW && depth > 0; depth--) {
        const float pivot = pivot_of(values, count);
        size_t low = move_below(values, count, pivot);
        if (at < low) {
            count = low;
            continue;
        }
        if (low == 0) { /* the pivot is the smallest value */
            low = move_up_to(values, count, pivot);
            if (at < low) return pivot;
        }
        values += low, count -= low, at -= low;
    }
    qb__sort_floats(values, count);
    return values[at];
}

double qb__float_median(float *values, size_t count) {
    const size_t middle = count / 2;
    const float above = qb__float_at(values, count, middle);
    if (count % 2) return (double)above;
    float below = values[0];
    for (size_t i = 1; i < middle; i++) below = values[i] > below ? values[i] : below;
    return 0.5 * ((double)below + (double)above);
}
