/* SPDX-License-Identifier: MIT */
#include "prep/frames.h"

#include <math.h>

#include "base/memory.h"
#include "cpu/features.h"
#include "prep/prep.h"
#include "quickbeam/io.h"

void qb_tool_frame_gain(const float *flat, const float *dark, size_t count, float *gain) {
    uint64_t dead = 0;
    qb__prep_gain(flat, dark, count, gain, &dead);
}

void qb_tool_frame_lines(const void *values, qb_dtype dtype, size_t count, const float *dark, const float *gain,
                         float *out) {
    enum { BLOCK = 4096 }; /* values of a block, so that it stays in the first-level cache */
    float block[BLOCK];
    const qb__lines *loops = qb__lines_choose(qb__cpu_features());
    qb__lines_found found = {0};
    for (size_t i = 0, n; i < count; i += n) {
        n = qb__smaller(BLOCK, count - i);
        qb_convert_to_float((const char *)values + i * qb_dtype_size(dtype), dtype, n, block);
        loops->integrals(block, dark ? dark + i : NULL, gain ? gain + i : NULL, 1, 1e-6f, INFINITY, n, out + i, &found);
    }
}
