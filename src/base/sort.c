/* SPDX-License-Identifier: MIT */
#include "base/sort.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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

enum { FEW = 24 /* up to this number of values are sorted by insertion */, MANY = 512 };

static void insert_values(double *values, size_t count) {
    for (size_t i = 1; i < count; i++) {
        const double value = values[i];
        size_t at = i;
        for (; at > 0 && values[at - 1] > value; at--) values[at] = values[at - 1];
        values[at] = value;
    }
}

static double middle_of(double a, double b, double c) {
    const double low = a < b ? a : b, high = a < b ? b : a;
    return c < low ? low : c > high ? high : c;
}

/* Partition the values: those up to the returned index, which is less than count - 1, are not larger than the
 * others. */
static size_t part(double *values, size_t count) {
    const double pivot = middle_of(values[0], values[count / 2], values[count - 1]);
    size_t i = 0, j = count - 1;
    for (;; i++, j--) {
        while (values[i] < pivot) i++;
        while (values[j] > pivot) j--;
        if (i >= j) return j;
        const double swapped = values[i];
        values[i] = values[j], values[j] = swapped;
    }
}

/* Quicksort, several times as fast as qsort(), which calls a function for each comparison. qsort() takes over if the
 * parts stay large. */
static void sort_values(double *values, size_t count, int depth) {
    for (; count > FEW && depth > 0; depth--) {
        const size_t low = part(values, count) + 1;
        sort_values(values + low, count - low, depth - 1);
        count = low;
    }
    if (count <= FEW)
        insert_values(values, count);
    else
        qsort(values, count, sizeof *values, by_value);
}

void qb__sort(double *values, size_t count) { sort_values(values, count, 48); }

double qb__sorted_at(double *values, size_t count, size_t at) {
    size_t first = 0, end = count;
    for (int depth = 48; end - first > FEW && depth > 0; depth--) {
        const size_t middle = first + part(values + first, end - first) + 1;
        if (at < middle)
            end = middle;
        else
            first = middle;
    }
    sort_values(values + first, end - first, 48);
    return values[at];
}

/* Bits whose order as unsigned integers is that of the floats. */
static uint32_t key_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits ^ (bits >> 31 ? 0xffffffffu : 0x80000000u);
}

/* Radix sort with 8 bits of the key at a time, lowest first; a pass in which all digits are equal is skipped. */
void qb__sort_floats_with(float *values, size_t count, float *scratch) {
    enum { BITS = 8, DIGITS = 1 << BITS, PASSES = 4 };
    uint32_t ends[PASSES][DIGITS] = {{0}};
    if (count > UINT32_MAX) {
        qsort(values, count, sizeof *values, by_float);
        return;
    }
    for (size_t i = 0; i < count; i++)
        for (int p = 0; p < PASSES; p++) ends[p][key_of(values[i]) >> (BITS * p) & (DIGITS - 1)]++;
    float *from = values, *to = scratch;
    for (int p = 0; p < PASSES; p++) {
        uint32_t at = 0;
        bool same = false;
        for (int d = 0; d < DIGITS; d++) {
            uint32_t here = ends[p][d];
            same |= here == count;
            ends[p][d] = at;
            at += here;
        }
        if (same) continue;
        for (size_t i = 0; i < count; i++) to[ends[p][key_of(from[i]) >> (BITS * p) & (DIGITS - 1)]++] = from[i];
        float *swapped = from;
        from = to, to = swapped;
    }
    if (from != values) memcpy(values, from, count * sizeof *values);
}

static void insert(float *values, size_t count) {
    for (size_t i = 1; i < count; i++) {
        const float value = values[i];
        size_t at = i;
        for (; at > 0 && values[at - 1] > value; at--) values[at] = values[at - 1];
        values[at] = value;
    }
}

void qb__sort_floats(float *values, size_t count) {
    enum { SOME = 2048 };
    float scratch[SOME];
    if (count <= FEW)
        insert(values, count);
    else if (count <= SOME)
        qb__sort_floats_with(values, count, scratch);
    else
        qsort(values, count, sizeof *values, by_float);
}

void qb__sort_directions(qb__direction *list, size_t count) { qsort(list, count, sizeof *list, by_angle); }

/* Of many values: those between two of a sorted sample that are likely to enclose the median are copied without a branch
 * on a value, and selected from. False: they do not enclose it, or are too many. */
static bool middle_of_many(const double *values, size_t count, double *middle) {
    enum { SAMPLE = 64, APART = 8, MOST = 1024 };
    double sample[SAMPLE], near[MOST];
    const size_t half = count / 2;
    size_t below = 0, held = 0;
    for (size_t i = 0; i < SAMPLE; i++) sample[i] = values[i * count / SAMPLE];
    insert_values(sample, SAMPLE);
    const double low = sample[SAMPLE / 2 - APART], high = sample[SAMPLE / 2 + APART];
    for (size_t i = 0; i < count && held < MOST; i++) {
        const double value = values[i];
        below += value < low;
        near[held] = value;
        held += (value >= low) & (value <= high);
    }
    if (held == MOST || below >= half || below + held <= half) return false;
    const double upper = qb__sorted_at(near, held, half - below);
    *middle = upper;
    if (count % 2) return true;
    double lower = low;
    for (size_t i = 0; i < half - below; i++) lower = near[i] > lower ? near[i] : lower;
    *middle = 0.5 * (lower + upper);
    return true;
}

double qb__middle(double *values, size_t count) {
    const size_t half = count / 2;
    double middle;
    if (count >= MANY && middle_of_many(values, count, &middle)) return middle;
    const double upper = qb__sorted_at(values, count, half);
    if (count % 2) return upper;
    double lower = values[0];
    for (size_t i = 1; i < half; i++) lower = values[i] > lower ? values[i] : lower;
    return 0.5 * (lower + upper);
}

double qb__median(double *values, size_t count) {
    qb__sort(values, count);
    return count % 2 ? values[count / 2] : 0.5 * (values[count / 2 - 1] + values[count / 2]);
}
