/* SPDX-License-Identifier: MIT */
/* The beam's intensity by the counts of a monitor in the file of --angles. The counts of the flats are not known, so
 * views are divided by their counts relative to the mean over all views: drift is removed, the level is kept. */
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/warning.h"
#include "io/scan/scan.h"

void qb__scan_take_counts(qb_scan *scan, double *counts) {
    qb__scan_parts *parts = &scan->parts;
    double sum = 0, low = INFINITY;
    if (parts->intensity) {
        qb__free(counts);
        return;
    }
    for (size_t i = 0; i < scan->stored; i++) sum += counts[i], low = fmin(low, counts[i]);
    if (!(low > 0) || !isfinite(sum)) {
        qb__note(
            &parts->notes,
            "%s has monitor counts of %g in a view: the beam's intensity is not corrected" QB__CODE("monitor-unusable"),
            parts->angles_from, low);
        qb__free(counts);
        return;
    }
    for (size_t i = 0; i < scan->stored; i++) counts[i] *= (double)scan->stored / sum;
    parts->intensity = counts, parts->intensity_mean = true;
    snprintf(parts->intensity_from, sizeof parts->intensity_from, "%.159s", parts->angles_from);
}
