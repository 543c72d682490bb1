/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/sort.h"
#include "base/status.h"
#include "geometry/parallel.h"

static const double pi = 3.14159265358979323846;

/* Views of one direction: list[first..first + count). */
typedef struct group {
    size_t first, count;
    double gap; /* to the next group */
    double weight;
} group;

static double degrees(double radians) {
    return radians * (180 / pi);
}

/* Single-precision degrees are good to 3e-5 below 512: this, in radians, and a thousandth of a
 * step. */
static double tolerance(size_t steps) {
    return 1e-6 + 1e-3 * pi / (double)steps;
}

/* Sorted modulo pi; what follows the largest gap comes first, so that no direction is cut in two by
 * the wrap. */
static void sort_directions(size_t n, const double *radians, qb__direction *list, qb__direction *scratch) {
    for (size_t i = 0; i < n; i++) {
        double angle = fmod(radians[i], pi);
        if (angle < 0) angle += pi;
        scratch[i] = (qb__direction){angle, i};
    }
    qb__sort_directions(scratch, n);
    size_t start = 0;
    double largest = scratch[0].angle + pi - scratch[n - 1].angle;
    for (size_t i = 1; i < n; i++) {
        double gap = scratch[i].angle - scratch[i - 1].angle;
        if (gap > largest) largest = gap, start = i;
    }
    for (size_t i = 0; i < n; i++) {
        size_t from = (start + i) % n;
        list[i] = scratch[from];
        if (from < start) list[i].angle += pi;
    }
}

static size_t group_directions(size_t n, const qb__direction *list, group *groups) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        if (count && list[i].angle - list[groups[count - 1].first].angle <= tolerance(n))
            groups[count - 1].count++;
        else
            groups[count++] = (group){.first = i, .count = 1};
    }
    for (size_t g = 0; g < count; g++) {
        double next = g + 1 < count ? list[groups[g + 1].first].angle : list[0].angle + pi;
        groups[g].gap = next - list[groups[g].first].angle;
    }
    return count;
}

static bool evenly_spaced(const group *groups, size_t count) {
    double step = pi / (double)count;
    for (size_t g = 0; g < count; g++) {
        if (fabs(groups[g].gap - step) > tolerance(count)) return false;
    }
    return true;
}

/* Half the gaps on both sides, and the median of that. Of three groups, two may border on a range
 * not measured: the lower of the middle ranks keeps the ordinary ones in charge. */
static double spread(group *groups, size_t count, double *scratch) {
    for (size_t g = 0; g < count; g++) {
        double before = groups[g ? g - 1 : count - 1].gap;
        scratch[g] = groups[g].weight = 0.5 * (before + groups[g].gap);
    }
    qb__sort(scratch, count);
    return scratch[count > 2 ? (count - 2) / 2 : 0];
}

/* What it takes away, in radians. */
static double cap(group *groups, size_t count, double limit) {
    double taken = 0;
    for (size_t g = 0; g < count; g++) {
        if (!(groups[g].weight > limit)) continue;
        taken += groups[g].weight - limit;
        groups[g].weight = limit;
    }
    return taken;
}

/* A lone gap of more than three steps is where the cap sets in. */
static void find_gaps(const qb__direction *list, const group *groups, size_t count, double median,
                      qb__angle_report *report) {
    double missing = 0;
    size_t largest = 0;
    for (size_t g = 0; g < count; g++) {
        if (groups[g].gap > groups[largest].gap) largest = g;
        if (groups[g].gap > 3 * median) missing += groups[g].gap - median;
    }
    double gap = groups[largest].gap, from = list[groups[largest].first].angle;
    if (from >= pi) from -= pi;
    report->limited = missing > 0;
    report->coverage = degrees(pi - missing);
    report->missing = gap > 3 * median ? degrees(gap - median) : 0;
    report->gap = degrees(gap);
    report->gap_from = degrees(from);
    report->gap_to = degrees(from + gap);
}

static void describe(size_t views, qb__angle_report *report) {
    char repeated[96] = "", limited[96] = "";
    if (report->repeated)
        snprintf(repeated, sizeof repeated, ", %zu views seen before, from either side, share weights", report->repeated);
    if (report->limited)
        snprintf(limited, sizeof limited, "; limited angle: %.4g degrees missing from %.4g to %.4g",
                 report->missing, report->gap_from, report->gap_to);
    char capped[112] = "";
    if (report->capped > 1e-4 && report->missing < 15)
        snprintf(capped, sizeof capped,
                 "; weights capped at twice the median make values %.2g %% too low (--angle-weights)",
                 100 * report->capped);
    snprintf(report->text, sizeof report->text, "%zu views, %s, %.6g of 180 degrees%s%s%s", views,
             report->even ? "evenly spaced" : "weighted by spacing", report->coverage, repeated,
             limited, capped);
}

qb_status qb__angle_weights(size_t views, const double *radians, double *weights,
                            qb__angle_report *report) {
    return qb__angle_weights_as(QB_WEIGHTS_CAPPED, views, radians, weights, report);
}

qb_status qb__angle_weights_as(qb_angle_weights rule, size_t views, const double *radians,
                               double *weights, qb__angle_report *report) {
    if (views == 0) return qb__fail(QB_BAD_ARGUMENT, "no views to weight");
    for (size_t i = 0; i < views; i++) {
        if (!isfinite(radians[i]))
            return qb__fail(QB_BAD_INPUT, "the angle of view %zu is not a finite number", i);
    }
    qb__direction *list = NULL, *unsorted = NULL;
    group *groups = NULL;
    double *scratch = NULL;
    qb_status status;
    QB__TRY(qb__alloc(views, sizeof *list, &list));
    QB__TRY(qb__alloc(views, sizeof *unsorted, &unsorted));
    QB__TRY(qb__alloc(views, sizeof *groups, &groups));
    QB__TRY(qb__alloc(views, sizeof *scratch, &scratch));

    sort_directions(views, radians, list, unsorted);
    size_t count = group_directions(views, list, groups);
    bool even = evenly_spaced(groups, count);
    double median = spread(groups, count, scratch);
    double capped = 0;
    if (rule == QB_WEIGHTS_CAPPED && !even) capped = cap(groups, count, 2 * median);
    for (size_t g = 0; g < count; g++) {
        double weight = (even ? pi / (double)count : groups[g].weight) / (double)groups[g].count;
        for (size_t i = 0; i < groups[g].count; i++)
            weights[list[groups[g].first + i].view] = weight;
    }
    for (size_t v = 0; rule == QB_WEIGHTS_EVEN && v < views; v++) weights[v] = pi / (double)views;
    if (report) {
        *report =
            (qb__angle_report){.even = even, .repeated = views - count, .capped = capped / pi};
        find_gaps(list, groups, count, median, report);
        describe(views, report);
    }
out:
    qb__free(list);
    qb__free(unsorted);
    qb__free(groups);
    qb__free(scratch);
    return status;
}
