/* SPDX-License-Identifier: MIT */
#include "prep/prep.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

#include "cpu/features.h"
#include "cpu/rows/lines.h"
#include "quickbeam/io.h"

/* Columns that pass through all steps together, in the first-level cache. */
enum { BLOCK = 512 };

void qb__prep_gain(const float *flat, const float *dark, size_t count, float *gain,
                   uint64_t *dead) {
    uint64_t none = 0;
    for (size_t i = 0; i < count; i++) {
        float beam = flat[i] - (dark ? dark[i] : 0), inverse = 1 / beam;
        bool alive = beam > 0 && beam <= FLT_MAX && inverse <= FLT_MAX;
        none += !alive;
        gain[i] = alive ? inverse : 0;
    }
    *dead = none;
}

/* Bridge columns first..end-1, which are NaN, from the good ones around them. */
static void bridge(float *out, size_t columns, size_t first, size_t end) {
    float left = first > 0 ? out[first - 1] : end < columns ? out[end] : 0;
    float right = end < columns ? out[end] : left;
    for (size_t i = first; i < end; i++) {
        float part = (float)(i - first + 1) / (float)(end - first + 1);
        out[i] = (1 - part) * left + part * right;
    }
}

static void repair(const float *gain, size_t columns, float *out, qb__prep_counts *counts) {
    for (size_t i = 0; i < columns; i++) {
        size_t first = i;
        for (; i < columns && isnan(out[i]); i++) {
            if (gain && gain[i] == 0)
                counts->dead++;
            else
                counts->not_finite++;
        }
        if (i > first) bridge(out, columns, first, i);
    }
}

void qb__prep_row(const qb__prep *prep, size_t view, size_t row, const void *raw, float *out,
                  qb__prep_counts *counts) {
    const qb__lines *loops = qb__lines_choose(qb__cpu_features());
    bool logarithm = prep->quantity != QB_LINE_INTEGRAL, fields = prep->quantity == QB_COUNTS;
    const float *dark = fields && prep->dark ? prep->dark + row * prep->columns : NULL;
    const float *gain = fields && prep->gain ? prep->gain + row * prep->columns : NULL;
    float scale = prep->air ? 1 / prep->air[view] : 1;
    size_t size = qb_dtype_size(prep->dtype);
    qb__lines_found found = {0, 0};
    _Alignas(64) float block[BLOCK];
    for (size_t at = 0; at < prep->columns; at += BLOCK) {
        size_t count = prep->columns - at < BLOCK ? prep->columns - at : BLOCK;
        qb_convert_to_float((const char *)raw + at * size, prep->dtype, count, block);
        if (logarithm)
            loops->integrals(block, dark ? dark + at : NULL, gain ? gain + at : NULL, scale,
                             prep->floor, count, out + at, &found);
        else
            loops->check(block, count, out + at, &found);
    }
    counts->clamped += found.clamped;
    counts->values += prep->columns;
    if (found.bad) repair(gain, prep->columns, out, counts);
}
