/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "base/status.h"
#include "base/warning.h"
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

/* More than a few turns in small steps, or in steps of more than one, are a unit that is not what it seems more often
 * than a scan of so many turns. Golden angles and the like take large steps. */
static void judge_turns(const qb_scan_info *info, qb__notes *notes) {
    const double TURNS = 4, SMALL = 15 * pi / 180;
    double low = INFINITY, high = -INFINITY, way = 0;
    for (size_t i = 0; i < info->views; i++) {
        low = fmin(low, info->angles[i]);
        high = fmax(high, info->angles[i]);
        if (i) way += fabs(info->angles[i] - info->angles[i - 1]);
    }
    const double turns = (high - low) / (2 * pi), step = way / (double)(info->views - 1);
    if (turns > TURNS && (step < SMALL || step > 2 * pi))
        qb__note(notes, "the angles span %.4g turns, in steps of %.4g degrees: are they in the unit that is stated? Else give --angle-unit" QB__CODE("angle-turns"),
                 turns, step * 180 / pi);
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
        qb__note(notes, "all %zu angles are %g degrees" QB__CODE("one-angle"), n, t[0] * 180.0 / pi);
        return;
    }
    judge_turns(info, notes);
    if (most > 1.5 * step || least < 0.5 * step)
        qb__note(notes, "angles are uneven: steps of %.4g to %.4g degrees, %.4g on average" QB__CODE("uneven-angles"),
                 least * 180.0 / pi, most * 180.0 / pi, step * 180.0 / pi);
    for (int turn = 1; turn <= 2; turn++)
        if (fabs(span - turn * pi) < 0.5 * step)
            qb__note(notes, "the last view repeats the first: %.4g and %.4g degrees" QB__CODE("repeated-view"),
                     t[0] * 180.0 / pi, t[n - 1] * 180.0 / pi);
}

qb_status qb__scan_lacks_angles(const qb_scan_info *info) {
    return qb__fail(QB_BAD_INPUT, "%s: %s", info->path, info->no_angles ? info->no_angles : "it has no angles: give --angles");
}
