/* SPDX-License-Identifier: MIT */
#include "io/scan/frame_look.h"

#include <math.h>

#include "base/select.h"

enum { LEAST_PIXELS = 12 };

void qb__frame_step_of(const float *before, const float *after, size_t count, float zero, float part, float *scratch,
                       qb__frame_step *step) {
    float most = 0;
    size_t found = 0;
    *step = (qb__frame_step){NAN, NAN, NAN};
    for (size_t i = 0; i < count; i++) {
        const float value = before[i] - zero;
        most = value > most && value < INFINITY ? value : most;
    }
    for (size_t i = 0; i < count; i++) {
        const float a = before[i] - zero, b = after[i] - zero;
        scratch[found] = b / a; /* without a branch, which would often be mispredicted */
        found += (size_t)(a > part * most && b > 0.5f * part * most && a < INFINITY && b < INFINITY);
    }
    if (found < LEAST_PIXELS) return;
    const size_t middle = found / 2, low = found / 10, high = found - 1 - low;
    step->size = logf(qb__float_at(scratch, found, middle));
    step->spread = logf(qb__float_at(scratch + middle, found - middle, high - middle));
    step->spread -= logf(qb__float_at(scratch, middle + 1, low));
    /* standard error of the median of normal numbers */
    step->error = 1.2533f * step->spread / 2.563f / sqrtf((float)found);
}
