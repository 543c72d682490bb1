/* SPDX-License-Identifier: MIT */
/* Combines the answers of several finders into one axis. Confidences are treated as probabilities of independent
 * witnesses: agreement raises the result's confidence, disagreement lowers it. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/warning.h"
#include "center/center.h"
#include "io/scan/scan.h"

/* The centre of mass is wrong by a pixel with the slightest background. It may support another finder, but it has
 * little weight in the column and cannot outvote one. */
static bool is_mass(const qb_center_method *m) { return strcmp(m->name, "mass") == 0; }
static bool agree(const qb_center_method *a, const qb_center_method *b) {
    double tolerance = is_mass(a) || is_mass(b) ? 2 : 1;
    return a == b || fabs(a->column - b->column) <= tolerance;
}

/* By chance, registration and sharpness give the same pixel only once in a hundred times. So their agreement counts as
 * evidence even if both are unsure. */
static double vote(const qb_center_result *result, int i) {
    const double CONCORD = 0.3;
    const qb_center_method *m = &result->method[i];
    if (isnan(m->column)) return 0;
    if (is_mass(m)) return 0.4 * m->confidence;
    double vote = m->confidence;
    for (int j = 0; j < result->count; j++) {
        const qb_center_method *other = &result->method[j];
        if (j != i && !is_mass(other) && agree(m, other)) vote = fmax(vote, CONCORD);
    }
    return vote;
}

static int best_supported(const qb_center_result *result) {
    int best = -1;
    double most = 0;
    for (int i = 0; i < result->count; i++) {
        const qb_center_method *m = &result->method[i];
        /* the small bonus selects the most confident of the finders that agree */
        double support = 1.01 * vote(result, i);
        for (int j = 0; j < result->count && vote(result, i) > 0 && !is_mass(m); j++) {
            if (j != i && agree(m, &result->method[j])) support += vote(result, j);
        }
        if (support > most) {
            most = support;
            best = i;
        }
    }
    return best;
}

static void warn_of_dissent(const qb_scan_info *info, qb_center_result *result) {
    static const char advice[] = ": they disagree; look at a sweep, qb fbp --center A:B:STEP" QB__CODE("center-doubt");
    size_t at = 0, room = sizeof result->warning - sizeof advice + 1;
    for (int i = 0; i < result->count && at < room; i++) {
        const qb_center_method *m = &result->method[i];
        if (vote(result, i) <= 0) continue;
        at += (size_t)snprintf(result->warning + at, room - at, "%s%s says column %.2f (%.2f)", at ? ", " : "", m->name,
                               qb__column_whole(info, m->column), m->confidence);
    }
    strcpy(result->warning + strlen(result->warning), advice);
}

/* An axis is certain only if a second finder gives the same column to within one pixel. */
static bool is_alone(const qb_center_result *result, int best) {
    for (int i = 0; i < result->count; i++) {
        const qb_center_method *m = &result->method[i];
        if (i != best && vote(result, i) > 0.1 && fabs(m->column - result->method[best].column) <= 1) return false;
    }
    return true;
}

void qb__center_combine(const qb_scan_info *info, qb_center_result *result) {
    const double DISSENT = 0.15, DOUBT = 0.3, ALONE = 0.9;
    result->column = NAN;
    result->confidence = 0;
    int best = best_supported(result);
    if (best < 0) return;
    double sum = 0, weights = 0, odds = 1, against = 0;
    for (int i = 0; i < result->count; i++) {
        const qb_center_method *m = &result->method[i];
        double v = vote(result, i);
        if (v <= 0) continue;
        if (agree(&result->method[best], m)) {
            double weight = v * v / (1 - v);
            sum += weight * m->column;
            weights += weight;
            odds /= 1 - v;
        } else {
            against = fmax(against, v);
        }
    }
    result->column = sum / weights;
    /* Odds of the agreeing group, of the strongest opponent, and of neither (1). The group's share of the sum is its
     * probability. */
    result->confidence = (odds - 1) / (odds - 1 + against / (1 - against) + 1);
    if (is_alone(result, best)) result->confidence = fmin(result->confidence, ALONE);
    if (against >= DISSENT) {
        warn_of_dissent(info, result);
    } else if (result->confidence < DOUBT) {
        snprintf(result->warning, sizeof result->warning,
                 "the axis is uncertain: column %.2f with confidence %.2f; look at a sweep, qb fbp --center "
                 "A:B:STEP" QB__CODE("center-doubt"),
                 qb__column_whole(info, result->column), result->confidence);
    }
}
