/* SPDX-License-Identifier: MIT */
#include "prep/prep.h"

#include <math.h>
#include <string.h>

#include "prep/log.h"
#include "quickbeam/io.h"

void qb__prep_gain(const float *flat, const float *dark, size_t count, float *gain, uint64_t *dead) {
    *dead = 0;
    for (size_t i = 0; i < count; i++) {
        float open = flat[i] - dark[i];
        bool good = open > 0 && isfinite(open);
        gain[i] = good ? 1.0f / open : 0.0f;
        *dead += !good;
    }
}

/* Every value that is not finite becomes the straight line between its nearest finite neighbours. */
static void bridge(float *row, size_t columns) {
    size_t last = columns; /* the last good column; `columns` = none yet */
    for (size_t i = 0; i < columns; i++) {
        if (!isfinite(row[i])) continue;
        size_t first = last == columns ? 0 : last + 1;
        for (size_t j = first; j < i; j++) {
            float t = last == columns ? 1.0f : (float)(j - last) / (float)(i - last);
            float left = last == columns ? 0.0f : row[last];
            row[j] = left + t * (row[i] - left);
        }
        last = i;
    }
    if (last == columns) memset(row, 0, columns * sizeof *row);
    for (size_t j = last + 1; j < columns; j++) row[j] = row[last];
}

/* Marks what cannot be used as NaN; returns how many. */
static size_t correct(const qb__prep *prep, size_t row, float *out, qb__prep_counts *counts) {
    size_t n = prep->columns, not_finite = 0, dead = 0;
    for (size_t i = 0; i < n; i++) not_finite += !(fabsf(out[i]) <= 3.4028235e38f);
    if (prep->dark && prep->quantity == QB_COUNTS) {
        const float *dark = prep->dark + row * n;
        for (size_t i = 0; i < n; i++) out[i] -= dark[i];
    }
    if (prep->gain && prep->quantity == QB_COUNTS) {
        const float *gain = prep->gain + row * n;
        for (size_t i = 0; i < n; i++) {
            dead += gain[i] == 0;
            out[i] *= gain[i];
        }
        if (dead) {
            for (size_t i = 0; i < n; i++) out[i] = gain[i] == 0 ? NAN : out[i];
        }
    }
    counts->not_finite += not_finite;
    counts->dead += dead;
    return not_finite + dead;
}

static void to_line_integrals(const qb__prep *prep, size_t view, float *out, qb__prep_counts *counts) {
    size_t n = prep->columns, clamped = 0;
    float floor = prep->floor;
    if (prep->air) {
        float scale = 1.0f / prep->air[view];
        for (size_t i = 0; i < n; i++) out[i] *= scale;
    }
    for (size_t i = 0; i < n; i++) {
        clamped += out[i] < floor;
        out[i] = out[i] < floor ? floor : out[i]; /* NaN stays */
    }
    qb__minus_log(out, n);
    counts->clamped += clamped;
}

void qb__prep_row(const qb__prep *prep, size_t view, size_t row, const void *raw, float *out,
                  qb__prep_counts *counts) {
    qb_convert_to_float(raw, prep->dtype, prep->columns, out);
    size_t bad = correct(prep, row, out, counts);
    if (prep->quantity != QB_LINE_INTEGRAL) to_line_integrals(prep, view, out, counts);
    if (bad) bridge(out, prep->columns);
}
