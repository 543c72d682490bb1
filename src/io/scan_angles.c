/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "io/scan.h"

static const double pi = 3.14159265358979323846;

/* The smallest and largest step from view to view. */
static void step_range(const double *angles, size_t n, double *least, double *most) {
    *least = INFINITY;
    *most = 0.0;
    for (size_t i = 1; i < n; i++) {
        double step = fabs(angles[i] - angles[i - 1]);
        *least = fmin(*least, step);
        *most = fmax(*most, step);
    }
}

void qb__scan_judge_angles(qb_scan *scan) {
    const qb_scan_info *info = &scan->info;
    qb__notes *notes = &scan->parts.notes;
    if (!info->angles || info->views < 3) return;
    const double *t = info->angles;
    size_t n = info->views;
    double least, most, span = fabs(t[n - 1] - t[0]), step = span / (double)(n - 1);
    step_range(t, n, &least, &most);
    if (span == 0.0) {
        qb__note(notes, "all %zu angles are %g degrees", n, t[0] * 180.0 / pi);
        return;
    }
    if (most > 1.5 * step || least < 0.5 * step)
        qb__note(notes, "angles are uneven: steps of %.4g to %.4g degrees, %.4g on average",
                 least * 180.0 / pi, most * 180.0 / pi, step * 180.0 / pi);
    for (int turn = 1; turn <= 2; turn++)
        if (fabs(span - turn * pi) < 0.5 * step)
            qb__note(notes, "the last view repeats the first: %.4g and %.4g degrees",
                     t[0] * 180.0 / pi, t[n - 1] * 180.0 / pi);
}
