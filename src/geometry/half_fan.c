/* SPDX-License-Identifier: MIT */
#include "geometry/half_fan.h"

#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/status.h"
#include "geometry/parallel.h"

/* Angles halved: those of a full turn are then those of a half turn, to which weights and reports
 * are made. */
static qb_status weigh_halves(qb_angle_weights rule, size_t views, const double *radians, double *weights,
                              qb__angle_report *report) {
    double *half;
    qb_status status = qb__alloc(views, sizeof *half, &half);
    if (status != QB_OK) return status;
    for (size_t i = 0; i < views; i++) half[i] = 0.5 * radians[i];
    status = qb__angle_weights_as(rule, views, half, weights, report);
    qb__free(half);
    return status;
}

qb_status qb__turn_weights(qb_angle_weights rule, size_t views, const double *radians,
                           double *weights) {
    qb_status status = weigh_halves(rule, views, radians, weights, NULL);
    for (size_t i = 0; status == QB_OK && i < views; i++) weights[i] *= 2;
    return status;
}

qb_status qb__turns_fully(size_t views, const double *radians, bool *full) {
    const double MOST = 5; /* halves of degrees */
    double *weights;
    qb__angle_report report;
    *full = false;
    if (views < 3) return QB_OK;
    qb_status status = qb__alloc(views, sizeof *weights, &weights);
    if (status != QB_OK) return status;
    status = weigh_halves(QB_WEIGHTS_CAPPED, views, radians, weights, &report);
    if (status == QB_OK) *full = report.missing <= 0 || report.gap <= MOST;
    qb__free(weights);
    return status;
}

qb__half_fan qb__half_fan_of(size_t columns, double first, double last) {
    const double ASIDE = 0.05, FEWEST = 2;
    double end = (double)columns - 1;
    double left = end - 2 * first, right = 2 * last - end; /* missing on either side */
    qb__half_fan fan = {.columns = columns};
    fan.used = fmax(left, right) > fmax(ASIDE * (double)columns, FEWEST);
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
    const qb_status status = qb__turns_fully(views, radians, &full);
    if (status == QB_OK && full) *fan = qb__half_fan_of(columns, first, last);
    return status;
}

size_t qb__half_fan_width(const qb__half_fan *fan) { return fan->before + fan->columns + fan->after; }

void qb__half_fan_tell(const qb__half_fan *fan, double center, char *text, size_t size) {
    snprintf(text, size, "full turn, the axis at column %.2f of %zu: slices are %zu voxels wide, as far as the wide side sees", center,
             fan->columns, qb__half_fan_width(fan));
}

static double rising(double x) {
    double s = sin(0.5 * M_PI * x);
    return s * s;
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
