/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>

#include "base/status.h"
#include "geometry/parallel.h"
#include "geometry/turn.h"

static const double pi = 3.14159265358979323846;

static double degrees(double radians) { return radians * (180 / pi); }

static void find_gaps(const qb__turn *turn, qb__angle_report *report) {
    const qb__turn_gap *widest = qb__turn_widest(turn);
    const size_t at = widest ? widest->before : turn->largest;
    double missing = 0, gap = turn->step[at], from = turn->angle[at];
    for (size_t i = 0; i < turn->gaps; i++) missing += qb__turn_missing(&turn->gap[i]);
    if (widest) report->missing = degrees(qb__turn_missing(widest));
    if (from >= turn->period) from -= turn->period;
    report->gaps = turn->gaps;
    report->limited = missing > 0;
    report->coverage = degrees(turn->period - missing);
    report->gap = degrees(gap);
    report->gap_from = degrees(from);
    report->gap_to = degrees(from + gap);
}

static double span_of(size_t views, const double *radians) {
    double least = radians[0], most = radians[0];
    for (size_t i = 1; i < views; i++) {
        least = fmin(least, radians[i]);
        most = fmax(most, radians[i]);
    }
    return degrees(most - least);
}

static void describe(size_t views, double span, qb__angle_report *report) {
    char repeated[96] = "", limited[160] = "", capped[112] = "";
    if (report->repeated)
        snprintf(repeated, sizeof repeated, ", %zu views seen before, from either side, share weights",
                 report->repeated);
    if (report->limited) {
        char more[48] = "";
        if (report->gaps > 1) snprintf(more, sizeof more, ", the widest of %zu gaps", report->gaps);
        snprintf(limited, sizeof limited, "; limited angle: %.4g degrees missing from %.4g to %.4g%s", report->missing,
                 report->gap_from, report->gap_to, more);
    }
    if (report->open)
        snprintf(capped, sizeof capped, "; values are %.2g %% too low, as nothing stands in for so much",
                 100 * report->capped);
    else if (report->capped > 1e-4)
        snprintf(capped, sizeof capped,
                 "; weights capped at twice the median make values %.2g %% too low (--angle-weights)",
                 100 * report->capped);
    snprintf(report->text, sizeof report->text,
             "%zu view%s over %.6g degrees, %s; directions of %.6g of 180 degrees%s%s%s", views, views == 1 ? "" : "s",
             span, report->even ? "evenly spaced" : "weighted by spacing", report->coverage, repeated, limited, capped);
}

qb_status qb__angle_weights(size_t views, const double *radians, double *weights, qb__angle_report *report) {
    return qb__angle_weights_as(QB_WEIGHTS_AUTO, views, radians, weights, report);
}

qb_status qb__angle_weights_as(qb_angle_weights rule, size_t views, const double *radians, double *weights,
                               qb__angle_report *report) {
    qb__turn turn;
    double capped;
    QB__OR_RETURN(qb__turn_create(views, radians, pi, rule, &turn));
    const qb_status status = qb__turn_weigh(&turn, rule, weights, &capped);
    if (report) {
        *report = (qb__angle_report){
            .even = turn.even, .repeated = views - turn.directions, .capped = capped, .open = qb__turn_is_open(&turn)};
        find_gaps(&turn, report);
        describe(views, span_of(views, radians), report);
    }
    qb__turn_destroy(&turn);
    return status;
}
