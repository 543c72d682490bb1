/* SPDX-License-Identifier: MIT */
#include "prep/prep.h"

#include <math.h>

#include "base/array.h"
#include "cpu/features.h"
#include "prep/step.h"
#include "quickbeam/io.h"

void qb__prep_reads(qb__prep *prep, qb_dtype dtype) {
    prep->dtype = dtype;
    prep->top = prep->quantity == QB_COUNTS ? qb__dtype_top(dtype) : INFINITY;
}

void qb__prep_begin(qb__prep *prep, const qb_prep_options *options) {
    static const qb_prep_options defaults = {0};
    const qb_scan_info info = {.quantity = prep->quantity};
    size_t values = 0, rows = 0;
    prep->options = options ? options : &defaults;
    qb__prep_reads(prep, prep->dtype);
    if (!(prep->most > 0)) prep->most = QB__MOST_INTEGRAL;
    prep->loops = qb__lines_choose(qb__cpu_features());
    for (const qb__step *const *s = qb__steps; *s; s++) {
        if ((*s)->scope == QB__SCOPE_SCAN || (*s)->scope == QB__SCOPE_VIEW || !(*s)->wanted(&info, prep->options))
            continue;
        if ((*s)->scope == QB__SCOPE_VALUE)
            prep->value[values++] = *s;
        else
            prep->row[rows++] = *s;
    }
    prep->value[values] = prep->row[rows] = NULL;
}

void qb__prep_row(const qb__prep *prep, size_t view, size_t row, const void *raw, float *out, qb__prep_counts *counts) {
    size_t size = qb_dtype_size(prep->dtype);
    qb__line line = {view, row, 0, counts};
    _Alignas(64) float block[QB__PREP_BLOCK];
    for (size_t at = 0; at < prep->columns; at += QB__PREP_BLOCK) {
        size_t count = prep->columns - at < QB__PREP_BLOCK ? prep->columns - at : QB__PREP_BLOCK;
        qb_convert_to_float((const char *)raw + at * size, prep->dtype, count, block);
        const float *in = block;
        for (const qb__step *const *s = prep->value; *s; s++, in = out + at)
            (*s)->run(prep, &line, at, count, in, out + at);
    }
    for (const qb__step *const *s = prep->row; *s; s++) (*s)->run(prep, &line, 0, prep->columns, out, out);
    counts->values += prep->columns;
}
