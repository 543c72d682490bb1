/* SPDX-License-Identifier: MIT */
#include "prep/air.h"

#include <math.h>
#include <stdio.h>

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
    return qb__fail(QB_BAD_ARGUMENT, "--air %s: give X0:X1,Y0:Y1 within columns 0:%zu and rows 0:%zu, or auto", text,
                    columns, rows);
}

/* Quickselect (Hoare 1961): values[k] becomes the k-th smallest, with nothing greater before it. */
static void select_nth(float *values, size_t count, size_t k) {
    size_t low = 0, high = count - 1;
    while (low < high) {
        float pivot = values[low + (high - low) / 2];
        size_t i = low, j = high;
        for (;;) {
            while (values[i] < pivot) i++;
            while (pivot < values[j]) j--;
            if (i >= j) break;
            float swapped = values[i];
            values[i++] = values[j];
            values[j--] = swapped;
        }
        /* low..j are not above the pivot, j + 1..high are not below it */
        if (k <= j)
            high = j;
        else
            low = j + 1;
    }
}

float qb__air_median(float *values, size_t count) {
    if (count == 0) return 0;
    select_nth(values, count, count / 2);
    float upper = values[count / 2], lower = values[0];
    if (count % 2) return upper;
    for (size_t i = 1; i < count / 2; i++) lower = values[i] > lower ? values[i] : lower;
    return 0.5f * (lower + upper);
}

/* One view's profile, read from one of its ends. */
typedef struct side {
    const float *row;
    size_t columns;
    bool from_left;
} side;

static float at(const side *s, size_t i) { return s->row[s->from_left ? i : s->columns - 1 - i]; }

/* Mean over i0 <= i < i1 without dead columns (NaN); NaN if there is none. */
static float mean(const side *s, size_t i0, size_t i1) {
    double sum = 0;
    size_t n = 0;
    for (size_t i = i0; i < i1; i++) {
        if (!isfinite(at(s, i))) continue;
        sum += at(s, i);
        n++;
    }
    return n ? (float)(sum / (double)n) : NAN;
}

/* The outermost column is often wrong; the next ones show the open beam. */
enum { SKIP = 1, EDGE = 16, NOISE = 64, WINDOW = 5, LEAST = 5 };

/* The edge's level and the noise of one column, both by medians. */
static bool edge_level(const side *s, float *level, float *noise) {
    float values[EDGE], steps[NOISE];
    size_t count = 0, moves = 0;
    for (size_t i = SKIP; i < SKIP + NOISE && i < s->columns / 3; i++) {
        float value = at(s, i), step = fabsf(at(s, i + 1) - value);
        if (isfinite(value) && count < EDGE) values[count++] = value;
        if (isfinite(step)) steps[moves++] = step;
    }
    if (count < LEAST || moves < LEAST) return false;
    *level = qb__air_median(values, count);
    /* standard deviation, for a normal distribution: the median step is 0.954 of it */
    *noise = qb__air_median(steps, moves) / 0.954f;
    return *level > 0;
}

/* Nothing in the beam is much brighter than the open beam. Relative to old flats, or without any, the beam itself may
 * be dimmer and uneven. */
static bool is_bright(const side *s, float level, bool transmission) {
    float brightest = 0;
    for (size_t i = 0; i + EDGE <= s->columns; i += EDGE) {
        float block = mean(s, i, i + EDGE);
        if (block > brightest) brightest = block;
    }
    if (transmission) return level > 0.5f && level < 2 && level > 0.85f * brightest;
    return level > 0.7f * brightest;
}

/* Number of columns from the edge inwards that are open in this view: until they fall below the brightest so far, or
 * rise far above the edge. The brightest of many windows is above their mean by about 0.9 of a column's noise, and one
 * window deviates by 0.45: with both, 2.8 is never reached by chance. */
static size_t open_columns(const side *s, float level, float noise) {
    float tolerance = fmaxf(0.01f * level, fminf(2.8f * noise, 0.05f * level)), brightest = 0;
    for (size_t i = SKIP; i < s->columns / 3; i++) {
        float local = mean(s, i < WINDOW / 2 ? 0 : i - WINDOW / 2, i + WINDOW / 2 + 1);
        if (local < brightest - tolerance || local > 1.1f * level) return i;
        if (local > brightest) brightest = local;
    }
    return s->columns / 3;
}

/* An object that covers the edge itself darkens the columns inwards in every view, however slowly. */
static bool darkens(const float *profile, size_t views, size_t columns, bool from_left, size_t open) {
    double darker = 0, noises = 0;
    for (size_t v = 0; v < views; v++) {
        side s = {profile + v * columns, columns, from_left};
        float level, noise;
        if (!edge_level(&s, &level, &noise)) return true;
        darker += (mean(&s, SKIP, open / 2) - mean(&s, open / 2, open)) / level;
        noises += noise / level;
    }
    double n = (double)views, sure = 4 * noises / n / sqrt(n * ((double)open / 4 + 1));
    return !(darker / n <= fmax(0.001, sure));
}

/* Open in every view, with a margin for the penumbra; 0 if too little is left. */
static size_t margin(const float *profile, size_t views, size_t columns, bool from_left, bool transmission) {
    size_t open = columns < 3 * EDGE ? 0 : columns;
    for (size_t v = 0; v < views && open > 0; v++) {
        side s = {profile + v * columns, columns, from_left};
        float level, noise;
        if (!edge_level(&s, &level, &noise) || !is_bright(&s, level, transmission)) return 0;
        size_t here = open_columns(&s, level, noise);
        if (here < open) open = here;
    }
    while (open >= LEAST && darkens(profile, views, columns, from_left, open)) open /= 2;
    size_t guard = 2 + open / 16;
    return open >= LEAST + guard ? open - guard : 0;
}

/* A margin whose level in some view is far below that in others was not open there. */
static bool steady(const float *profile, size_t views, size_t columns, size_t x0, size_t x1) {
    float low = INFINITY, high = 0;
    for (size_t v = 0; v < views; v++) {
        side s = {profile + v * columns, columns, true};
        float level = mean(&s, x0, x1);
        low = fminf(low, level);
        high = fmaxf(high, level);
    }
    return low > 0.7f * high;
}

bool qb__air_find(const float *profile, size_t views, size_t columns, bool transmission, qb__air_region *region) {
    size_t left = margin(profile, views, columns, true, transmission);
    size_t right = margin(profile, views, columns, false, transmission);
    region->ranges = 0;
    if (left && steady(profile, views, columns, 0, left)) {
        region->x0[region->ranges] = 0;
        region->x1[region->ranges++] = left;
    }
    if (right && steady(profile, views, columns, columns - right, columns)) {
        region->x0[region->ranges] = columns - right;
        region->x1[region->ranges++] = columns;
    }
    return region->ranges > 0;
}
