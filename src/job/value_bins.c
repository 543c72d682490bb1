/* SPDX-License-Identifier: MIT */
#include "job/grey_levels.h"

#include <math.h>
#include <string.h>

/* Bins in ascending order of their values. */
static uint32_t bin_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (bits & 0x80000000 ? ~bits : bits | 0x80000000) >> QB__VALUE_BINS_DROPPED;
}

/* The smallest value of a bin, which is the limit of the bin before. */
static double value_of(uint32_t bin) {
    const uint32_t key = bin << QB__VALUE_BINS_DROPPED, bits = key & 0x80000000 ? key & 0x7fffffff : ~key;
    float value;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

void qb__value_bins_add(uint64_t *bins, const float *values, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (isfinite(values[i])) bins[bin_of(values[i])]++;
}

void qb__value_bins_range(const uint64_t *bins, double *low, double *high) {
    uint64_t all = 0, below = 0, above = 0;
    uint32_t first = 0, last = QB__VALUE_BINS - 1;
    for (uint32_t b = 0; b < QB__VALUE_BINS; b++) all += bins[b];
    *low = 0, *high = 1;
    if (!all) return;
    for (; below + bins[first] <= all / 10000; first++) below += bins[first];
    for (; above + bins[last] <= all / 10000; last--) above += bins[last];
    *low = value_of(first), *high = value_of(last + 1);
    if (!(*low < *high)) *high = *low + 1;
}
