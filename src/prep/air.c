/* SPDX-License-Identifier: MIT */
#include "prep/air.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"

static bool parse_range(const char **at, size_t n, size_t *from, size_t *to) {
    long long a, b;
    int used = 0;
    if (sscanf(*at, "%lld:%lld%n", &a, &b, &used) != 2) return false;
    *at += used;
    if (a < 0) a += (long long)n;
    if (b < 0) b += (long long)n;
    if (a < 0 || b <= a || (unsigned long long)b > n) return false;
    *from = (size_t)a;
    *to = (size_t)b;
    return true;
}

qb_status qb__air_parse(const char *text, size_t rows, size_t columns, qb__air_region *region) {
    const char *at = text;
    *region = (qb__air_region){.ranges = 1, .y1 = rows};
    bool good = parse_range(&at, columns, &region->x0[0], &region->x1[0]);
    if (good && *at == ',') {
        at++;
        good = parse_range(&at, rows, &region->y0, &region->y1);
    }
    if (good && !*at) return QB_OK;
    return qb__fail(QB_BAD_ARGUMENT,
                    "--air %s: give X0:X1,Y0:Y1 within columns 0:%zu and rows 0:%zu, or auto", text,
                    columns, rows);
}

static int ascending(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

float qb__air_median(float *values, size_t count) {
    if (count == 0) return 0;
    qsort(values, count, sizeof *values, ascending);
    return count % 2 ? values[count / 2] : 0.5f * (values[count / 2 - 1] + values[count / 2]);
}

/* How many columns from an edge inwards (step +1 or -1) stay open in this view. */
static size_t open_columns(const float *row, size_t columns, bool from_left) {
    enum { EDGE = 5, SKIP = 1 }; /* the outermost column is often odd */
    float edge[EDGE], sorted[EDGE];
    if (columns < 4 * EDGE) return 0;
    for (size_t i = 0; i < EDGE; i++) edge[i] = row[from_left ? i + SKIP : columns - 1 - SKIP - i];
    memcpy(sorted, edge, sizeof sorted);
    float level = qb__air_median(sorted, EDGE);
    if (!(level > 0)) return 0;
    size_t open = SKIP;
    for (size_t i = SKIP; i < columns / 3; i++) {
        float value = row[from_left ? i : columns - 1 - i];
        if (!(value > 0.985f * level)) break; /* NaN ends it too */
        open = i + 1;
    }
    return open;
}

/* A side whose edge is in the shade of the object at some angle varies much more than the beam does. */
static size_t margin(const float *profile, size_t views, size_t columns, bool from_left) {
    size_t least = columns;
    for (size_t v = 0; v < views; v++) {
        size_t open = open_columns(profile + v * columns, columns, from_left);
        if (open < least) least = open;
    }
    return least > 4 ? least - 2 : 0; /* stay off the penumbra */
}

/* The brightest level over the views: a margin whose level in some view is far below was not open. */
static bool steady(const float *profile, size_t views, size_t columns, size_t x0, size_t x1) {
    double low = INFINITY, high = 0;
    for (size_t v = 0; v < views; v++) {
        double sum = 0;
        for (size_t x = x0; x < x1; x++) sum += profile[v * columns + x];
        sum /= (double)(x1 - x0);
        low = fmin(low, sum);
        high = fmax(high, sum);
    }
    return low > 0.7 * high;
}

bool qb__air_find(const float *profile, size_t views, size_t columns, qb__air_region *region) {
    size_t left = margin(profile, views, columns, true);
    size_t right = margin(profile, views, columns, false);
    region->ranges = 0;
    if (left >= 3 && steady(profile, views, columns, 0, left)) {
        region->x0[region->ranges] = 0;
        region->x1[region->ranges++] = left;
    }
    if (right >= 3 && steady(profile, views, columns, columns - right, columns)) {
        region->x0[region->ranges] = columns - right;
        region->x1[region->ranges++] = columns;
    }
    return region->ranges > 0;
}
