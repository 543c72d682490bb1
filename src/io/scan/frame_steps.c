/* SPDX-License-Identifier: MIT */
#include "io/scan/frame_steps.h"

#include <math.h>

#include "base/sort.h"

enum { LEAST_PIXELS = 12 };

void qb__frame_step_of(const float *before, const float *after, size_t count, float zero, float part, float *scratch,
                       qb__frame_step *step) {
    float most = 0;
    size_t found = 0;
    *step = (qb__frame_step){NAN, NAN, NAN};
    for (size_t i = 0; i < count; i++)
        if (isfinite(before[i])) most = fmaxf(most, before[i] - zero);
    for (size_t i = 0; i < count; i++) {
        const float a = before[i] - zero, b = after[i] - zero;
        if (a > part * most && b > 0.5f * part * most && isfinite(a) && isfinite(b)) scratch[found++] = logf(b / a);
    }
    if (found < LEAST_PIXELS) return;
    qb__sort_floats(scratch, found);
    step->size = scratch[found / 2];
    step->spread = scratch[found - 1 - found / 10] - scratch[found / 10];
    step->error = 1.2533f * step->spread / 2.563f / sqrtf((float)found); /* of the median of normal numbers */
}
