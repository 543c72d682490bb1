/* SPDX-License-Identifier: MIT */
#include "plane.h"

#include <math.h>
#include <stdlib.h>

enum { BINS = 256, LOOKS = 24 };

static int by_value(const void *a, const void *b) {
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Reads some rows of some images; returns the number of values. */
static size_t sample(const view_stack *stack, float **out) {
    const size_t *n = stack->info->shape;
    const size_t images = n[0] < LOOKS ? n[0] : LOOKS, rows = n[1] < LOOKS ? n[1] : LOOKS, each = n[2];
    const size_t step[3] = {1, 1, 1}, part[3] = {1, 1, each};
    float *values = malloc(images * rows * each * sizeof *values);
    size_t looked = 0;
    for (size_t k = 0; values && k < images * rows; k++) {
        const size_t first[3] = {(2 * (k / rows) + 1) * n[0] / (2 * images), (2 * (k % rows) + 1) * n[1] / (2 * rows),
                                 0};
        if (stack->read(stack->user, first, part, step, values + looked) == QB_OK) looked += each;
    }
    *out = values;
    return looked;
}

/* Moves the measured values to the front and sorts them; returns their number. */
static size_t sort_measured(float *values, size_t looked) {
    size_t count = 0;
    for (size_t i = 0; i < looked; i++) {
        const float v = values[i];
        if (isfinite(v)) values[count++] = v;
    }
    if (count) qsort(values, count, sizeof *values, by_value);
    return count;
}

void view_levels_of(cJSON *about, float *values, size_t looked) {
    static const double shares[] = {0, 0.001, 0.005, 0.01, 0.05, 0.5, 0.95, 0.99, 0.995, 0.999, 1};
    enum { LEVELS = sizeof shares / sizeof *shares };
    double counts[BINS] = {0}, levels[LEVELS] = {0};
    const size_t count = sort_measured(values, looked);
    const double unmeasured = looked ? 1 - (double)count / (double)looked : 0;
    for (size_t i = 0; count && i < LEVELS; i++) levels[i] = (double)values[(size_t)(shares[i] * (double)(count - 1))];
    /* The histogram covers all values, but single outliers do not stretch it by more than a quarter on each side. */
    const double span = levels[9] - levels[1], low = fmax(levels[0], levels[1] - span / 4),
                 high = fmin(levels[10], levels[9] + span / 4), width = (high - low) / BINS;
    for (size_t i = 0; i < count && width > 0; i++) {
        const double bin = ((double)values[i] - low) / width;
        if (bin >= 0 && bin < BINS) counts[(int)bin]++;
    }
    cJSON *histogram = cJSON_AddObjectToObject(about, "histogram");
    cJSON_AddNumberToObject(histogram, "low", low);
    cJSON_AddNumberToObject(histogram, "high", high);
    cJSON_AddItemToObject(histogram, "counts", cJSON_CreateDoubleArray(counts, BINS));
    cJSON_AddItemToObject(about, "shares", cJSON_CreateDoubleArray(shares, LEVELS));
    cJSON_AddItemToObject(about, "levels", cJSON_CreateDoubleArray(levels, LEVELS));
    cJSON_AddNumberToObject(about, "unmeasured", unmeasured);
}

void view_levels_add(cJSON *about, const view_stack *stack) {
    float *values;
    const size_t looked = sample(stack, &values);
    view_levels_of(about, values, looked);
    free(values);
}
