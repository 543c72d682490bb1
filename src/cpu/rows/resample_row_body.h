/* SPDX-License-Identifier: MIT */
/* Compiled once for each vector length; QB_RESAMPLE is the name of the function. No fused operations. */
#include "cpu/rows/resample_row.h"

#include <math.h>
#include <stdbool.h>

enum { TAPS = QB__RESAMPLE_TAPS, PHASES = QB__RESAMPLE_PHASES, BEFORE = TAPS / 2 - 1, BLOCK = 256, SPARE = 32 };

static inline void weights_at(const float (*weight)[TAPS], double part, float *restrict w) {
    float place = (float)part * PHASES;
    int phase = (int)place;
    const float *a = weight[phase], *b = weight[phase + 1];
    float rest = place - (float)phase;
    for (int k = 0; k < TAPS; k++) w[k] = a[k] + rest * (b[k] - a[k]);
}

/* sum[i] = column first + i of the rows around a position, weighted. */
static inline void add_rows(const qb__resample_image *image, const float *restrict wy, double below, ptrdiff_t first,
                            size_t count, float *restrict sum) {
    const ptrdiff_t top = (ptrdiff_t)below - BEFORE, low = (ptrdiff_t)image->row0, high = (ptrdiff_t)image->row1 - 1;
    for (size_t i = 0; i < count; i++) sum[i] = 0;
    for (int k = 0; k < TAPS; k++) {
        const ptrdiff_t at = top + k < low ? low : top + k > high ? high : top + k;
        const float *cells = image->cells + (size_t)(at - low) * image->stride + first;
        for (size_t i = 0; i < count; i++) sum[i] += wy[k] * cells[i];
    }
}

/* Rows are added tap by tap, then the eight columns in pairs. All variants use this order. */
static inline float add_columns(const float (*weight)[TAPS], double part, const float *restrict rows) {
    float sum[TAPS];
    weights_at(weight, part, sum);
    for (int j = 0; j < TAPS; j++) sum[j] *= rows[j];
    for (int step = TAPS / 2; step > 0; step /= 2)
        for (int j = 0; j < step; j++) sum[j] += sum[j + step];
    return sum[0];
}

static inline float read_at(const float (*weight)[TAPS], const qb__resample_image *image, double column, double row) {
    const double left = floor(column), below = floor(row);
    float wy[TAPS], rows[TAPS];
    weights_at(weight, row - below, wy);
    add_rows(image, wy, below, (ptrdiff_t)left - BEFORE, TAPS, rows);
    return add_columns(weight, column - left, rows);
}

/* A block of positions at one height with columns close together: its rows are added once. */
typedef struct block {
    bool level;
    ptrdiff_t first; /* column of rows[0] */
    float rows[BLOCK + SPARE];
} block;

static inline void look_at(const float (*weight)[TAPS], const qb__resample_image *image, const double range[2],
                           const double *column, const double *row, size_t count, block *b) {
    double low = range[1], high = range[0];
    bool level = true;
    float wy[TAPS];
    for (size_t i = 0; i < count; i++) {
        level = level && row[i] == row[0];
        low = column[i] < low ? column[i] : low, high = column[i] > high ? column[i] : high;
    }
    low = low < range[0] ? range[0] : low, high = high > range[1] ? range[1] : high;
    b->level = level && count >= TAPS && low <= high && high - low < BLOCK + SPARE - TAPS - 2;
    if (!b->level) return;
    const double below = floor(row[0]);
    b->first = (ptrdiff_t)floor(low) - BEFORE;
    weights_at(weight, row[0] - below, wy);
    add_rows(image, wy, below, b->first, (size_t)((ptrdiff_t)floor(high) - BEFORE - b->first) + TAPS, b->rows);
}

void QB_RESAMPLE(const float (*weight)[TAPS], const qb__resample_image *image, const double *column, const double *row,
                 size_t count, float outside, float *out) {
    const double range[2] = {-0.5 - QB__RESAMPLE_SLACK, (double)image->columns + (-0.5 + QB__RESAMPLE_SLACK)},
                 top = (double)image->rows + (-1 - range[0]);
    block b;
    for (size_t from = 0; from < count; from += BLOCK) {
        const size_t few = count - from < BLOCK ? count - from : BLOCK;
        if (row[from] >= range[0] && row[from] <= top)
            look_at(weight, image, range, column + from, row + from, few, &b);
        else
            b.level = false;
        for (size_t i = from; i < from + few; i++) {
            const double c = column[i], r = row[i];
            const bool inside = c >= range[0] && c <= range[1] && r >= range[0] && r <= top;
            if (!inside)
                out[i] = outside;
            else if (b.level)
                out[i] = add_columns(weight, c - floor(c), b.rows + ((ptrdiff_t)floor(c) - BEFORE - b.first));
            else
                out[i] = read_at(weight, image, c, r);
        }
    }
}
