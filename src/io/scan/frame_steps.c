/* SPDX-License-Identifier: MIT */
/* When the gain or the beam changes at once, all pixels of a frame change by the same factor. When an object turns, pixels change by
 * different factors, and little from frame to frame. */
#include "io/scan/frame_steps.h"

#include <math.h>
#include <string.h>

#include "base/sort.h"

enum { LEAST_PIXELS = 12, LEAST_FRAMES = 8 };

void qb__frame_step_of(const float *before, const float *after, size_t count, float zero, float part, float *scratch,
                       qb__frame *frame) {
    float most = 0;
    size_t found = 0;
    frame->step = frame->step_error = frame->step_spread = NAN;
    for (size_t i = 0; i < count; i++)
        if (isfinite(before[i])) most = fmaxf(most, before[i] - zero);
    for (size_t i = 0; i < count; i++) {
        const float a = before[i] - zero, b = after[i] - zero;
        if (a > part * most && b > 0.5f * part * most && isfinite(a) && isfinite(b)) scratch[found++] = logf(b / a);
    }
    if (found < LEAST_PIXELS) return;
    qb__sort_floats(scratch, found);
    frame->step = scratch[found / 2];
    frame->step_spread = scratch[found - 1 - found / 10] - scratch[found / 10];
    frame->step_error =
        1.2533f * frame->step_spread / 2.563f / sqrtf((float)found); /* of the median of normal numbers */
}

static double median_of(double *values, size_t count) {
    if (!count) return 0;
    qb__sort(values, count);
    return values[count / 2];
}

/* Small beside this step, or back again: not the slope of a change over several frames. */
static bool is_apart(const qb__frame *frames, size_t count, size_t at) {
    const float step = frames[at].step;
    for (int side = 0; side < 2; side++) {
        if (side ? at + 1 >= count : at < 2) continue;
        const float other = frames[side ? at + 1 : at - 1].step;
        if (!isnan(other) && other * step > 0.35f * step * step) return false;
    }
    return true;
}

size_t qb__frame_levels(const qb__frame *frames, const bool *skip, size_t count, double *level, double *scratch) {
    const double LEAST = 0.04, USUAL = 8, ERRORS = 8, ALIKE = 1.2;
    size_t known = 0, other = 0;
    bool any = false;
    memset(level, 0, count * sizeof *level);
    for (size_t i = 1; i < count; i++)
        if (!skip[i] && !isnan(frames[i].step)) scratch[known++] = fabs((double)frames[i].step);
    if (known < LEAST_FRAMES) return 0;
    const double usual = median_of(scratch, known);
    known = 0;
    for (size_t i = 1; i < count; i++)
        if (!skip[i] && !isnan(frames[i].step)) scratch[known++] = (double)frames[i].step_spread;
    const double spread = median_of(scratch, known);
    for (size_t i = 1; i < count; i++) {
        const double step = (double)frames[i].step, size = fabs(step);
        level[i] = level[i - 1];
        if (skip[i] || !(size > fmax(LEAST, fmax(USUAL * usual, ERRORS * (double)frames[i].step_error))))
            continue; /* not so of NaN */
        if ((double)frames[i].step_spread > fmin(1.5 * spread + 0.3 * size, ALIKE * size) ||
            !is_apart(frames, count, i))
            continue;
        level[i] += step;
        any = true;
    }
    if (!any) return 0;
    memcpy(scratch, level, count * sizeof *scratch);
    const double base = median_of(scratch, count);
    for (size_t i = 0; i < count; i++) {
        level[i] -= base;
        if (fabs(level[i]) < 0.75 * LEAST) level[i] = 0;
        other += level[i] != 0;
    }
    return other;
}
