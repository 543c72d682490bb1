/* SPDX-License-Identifier: MIT */
#include "geometry/parallel.h"

#include <math.h>
#include <stdio.h>

#include "base/status.h"
#include "geometry/turn.h"

/* Largest gap in degrees. If the narrow side sees less than a third of the wide one, a scan with a wider gap is still
 * better treated as half acquisition (rms error 0.36 instead of 0.48 for a disc at 40 degrees, equal at 60); otherwise
 * as a scan about the detector's middle. */
static const double USUAL_GAP = 30, WIDE_GAP = 60;

/* *full: true if the views cover a full turn except for gaps of at most `most` degrees each. */
static qb_status turns_but_for(double most, size_t views, const double *radians, bool *full, double *covered) {
    qb__turn turn;
    *full = false;
    if (covered) *covered = 360;
    if (views < 3) return QB_OK;
    QB__OR_RETURN(qb__turn_create(views, radians, 2 * M_PI, QB_WEIGHTS_AUTO, &turn));
    *full = true;
    for (size_t i = 0; i < turn.gaps; i++) {
        const double missing = qb__turn_missing(&turn.gap[i]);
        if (missing > most * M_PI / 180) *full = false;
        if (covered) *covered -= missing * 180 / M_PI;
    }
    qb__turn_destroy(&turn);
    return QB_OK;
}

qb_status qb__turns_fully(size_t views, const double *radians, bool *full, double *covered) {
    return turns_but_for(USUAL_GAP, views, radians, full, covered);
}

qb__half_fan qb__half_fan_of(size_t columns, double first, double last) {
    const double OFF_CENTER = 0.05, FEWEST = 2;
    double end = (double)columns - 1;
    double left = end - 2 * first, right = 2 * last - end; /* columns missing on either side */
    qb__half_fan fan = {.columns = columns};
    fan.used = fan.off_center = fmax(left, right) > fmax(OFF_CENTER * (double)columns, FEWEST);
    if (!fan.used) return fan;
    fan.before = left > 0 ? (size_t)ceil(left - 1e-6) : 0;
    fan.after = right > 0 ? (size_t)ceil(right - 1e-6) : 0;
    return fan;
}

qb_status qb__half_fan_of_views(size_t views, const double *radians, size_t columns, double first, double last,
                                qb__half_fan *fan) {
    bool full = false;
    *fan = (qb__half_fan){.columns = columns};
    if (isnan(first)) return QB_OK;
    double covered;
    const qb__half_fan wide = qb__half_fan_of(columns, first, last);
    const double most = 2 * (wide.before + wide.after) >= columns ? WIDE_GAP : USUAL_GAP;
    QB__OR_RETURN(turns_but_for(most, views, radians, &full, &covered));
    if (full) *fan = wide;
    fan->off_center = wide.off_center;
    fan->covered = covered;
    return QB_OK;
}

size_t qb__half_fan_width(const qb__half_fan *fan) { return fan->before + fan->columns + fan->after; }

void qb__half_fan_turn(const qb__half_fan *fan, char *text, size_t size) {
    if (fan->covered > 0 && fan->covered < 359.99)
        snprintf(text, size, "%.4g degrees of a full turn", fan->covered);
    else
        snprintf(text, size, "full turn");
}

void qb__half_fan_report(const qb__half_fan *fan, double center, char *text, size_t size) {
    char turn[48];
    qb__half_fan_turn(fan, turn, sizeof turn);
    snprintf(text, size, "%s, the axis at column %.2f of %zu: slices are %zu voxels wide, as far as the wide side sees",
             turn, center, fan->columns, qb__half_fan_width(fan));
}

static double rising(double x) {
    double s = sin(0.5 * M_PI * x);
    return s * s;
}

void qb__half_fan_view_shares(const qb__turn *turn, size_t view, size_t columns, double center, float *share) {
    const double end = (double)columns - 1, side = center < end - center ? 1 : -1, overlap = fmin(center, end - center);
    for (size_t k = 0; k < columns; k++) {
        const double s = side * ((double)k - center), place = overlap > 0 ? s / overlap : s < 0 ? -2 : s > 0 ? 2 : 0;
        share[k] = (float)qb__turn_share(turn, view, M_PI, true, place);
    }
}

void qb__half_fan_shares(size_t columns, double center, float *share) {
    double end = (double)columns - 1, side = center < end - center ? 1 : -1;
    double overlap = fmin(center, end - center), half = 0.5 * overlap;
    for (size_t k = 0; k < columns; k++) {
        double s = side * ((double)k - center), over = (fabs(s) - half) / half, rise = 0;
        if (fabs(s) >= overlap)
            rise = s == 0 ? 0 : 1;
        else if (over > 0)
            rise = rising(over);
        share[k] = (float)(0.5 + (s < 0 ? -0.5 : 0.5) * rise);
    }
}
