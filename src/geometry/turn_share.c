/* SPDX-License-Identifier: MIT */
/* Weights of views and shares of rays for a turn with gaps. */
#include "geometry/turn.h"

#include "base/memory.h"
#include "base/sort.h"
#include "base/status.h"

static const double pi = 3.14159265358979323846;

/* Radians that a view stands for, with its part of the gaps. */
static double view_weight(const qb__turn *t, size_t view) {
    const size_t d = t->direction[view];
    double sum = t->weight[d];
    for (size_t i = t->first[d]; i < t->first[d + 1]; i++) sum += t->stand[i].weight;
    return sum / (double)t->same[d];
}

/* Half of the steps on both sides, limited to twice their median. With three directions, two may be next to a gap: the
 * lower middle rank is used, so that the ordinary steps decide. Returns the share of the turn that is removed. */
static double cap(const qb__turn *t, double *weights, double *sorted) {
    const size_t n = t->directions;
    double taken = 0;
    for (size_t d = 0; d < n; d++) sorted[d] = 0.5 * (t->step[d ? d - 1 : n - 1] + t->step[d]);
    qb__sort(sorted, n);
    const double most = 2 * sorted[n > 2 ? (n - 2) / 2 : 0];
    for (size_t v = 0; v < t->views; v++) {
        const size_t d = t->direction[v];
        const double whole = 0.5 * (t->step[d ? d - 1 : n - 1] + t->step[d]);
        weights[v] = fmin(whole, most) / (double)t->same[d];
        taken += fmax(whole - most, 0) / (double)t->same[d];
    }
    return taken / t->period;
}

qb_status qb__turn_weigh(const qb__turn *t, qb_angle_weights rule, double *weights, double *capped) {
    double *sorted = NULL, taken = 0;
    for (size_t v = 0; v < t->views; v++)
        weights[v] = rule == QB_WEIGHTS_EVEN ? t->period / (double)t->views : view_weight(t, v);
    if (rule == QB_WEIGHTS_CAPPED && !t->even) {
        QB__OR_RETURN(qb__alloc(t->directions, sizeof *sorted, &sorted));
        taken = cap(t, weights, sorted);
        qb__free(sorted);
    } else if (qb__turn_is_open(t)) {
        double sum = 0;
        for (size_t v = 0; v < t->views; v++) sum += weights[v];
        taken = fmax(0, 1 - sum / t->period);
    }
    if (capped) *capped = taken;
    return QB_OK;
}

/* Trust in an angle: 0 in a gap, 1 well within the measured arcs, smooth in between. */
static double trust(const qb__turn *t, double angle) {
    if (t->gaps == 0) return 1;
    const double first = t->gap[0].from, at = first + qb__turn_wrap(angle - first, t->period);
    size_t low = 0, high = t->gaps;
    while (high - low > 1) {
        const size_t middle = (low + high) / 2;
        *(t->gap[middle].from <= at ? &low : &high) = middle;
    }
    const qb__turn_gap *gap = &t->gap[low];
    const double within = at - gap->from - gap->width, edge = fmin(within, gap->arc - within);
    if (!(edge > 0 && gap->ramp > 0)) return 0;
    const double s = sin(0.5 * pi * fmin(edge / gap->ramp, 1));
    return s * s;
}

/* Difference of trust between the opposite ray and this one: -1..1. With equally wide sides the share falls linearly
 * with it. With different sides the share rises across the overlap, from 0 at the end of the narrow side to 1 where
 * only the wide one sees (Wang 2002); the middle of the rise moves with the trust. In both cases the two shares sum to
 * 1. */
static double share(double more, bool sided, double place) {
    const double MOVE = 0.5;
    if (!sided) return 0.5 * (1 - more);
    const double x = (place - MOVE * more) / (1 - MOVE * fabs(more));
    return x <= -1 ? 0 : x >= 1 ? 1 : 0.5 * (1 + sin(0.5 * pi * x));
}

static double share_at(const qb__turn *t, double angle, double opposite, bool sided, double place) {
    return share(trust(t, angle + opposite) - trust(t, angle), sided, place);
}

double qb__turn_share(const qb__turn *t, size_t view, double opposite, bool sided, double place) {
    const size_t d = t->direction[view];
    double all = t->weight[d], sum = all * share_at(t, t->angle[d], opposite, sided, place);
    for (size_t i = t->first[d]; i < t->first[d + 1]; i++) {
        all += t->stand[i].weight;
        sum += t->stand[i].weight * share_at(t, t->stand[i].angle, opposite, sided, place);
    }
    return all > 0 ? sum / all : 0;
}

const qb__turn_gap *qb__turn_widest(const qb__turn *t) {
    const qb__turn_gap *widest = NULL;
    for (size_t i = 0; i < t->gaps; i++)
        if (!widest || t->gap[i].width > widest->width) widest = &t->gap[i];
    return widest;
}

double qb__turn_missing(const qb__turn_gap *gap) { return gap->width - gap->usual; }

/* The overlap of two ranges on the circle, the first from 0 on; it may consist of two pieces. */
static double overlap(double width, double from, double other, double period, double *begin) {
    const double one = fmin(width, from + other) - from, two = fmin(width, from + other - period);
    *begin = one >= two ? from : 0;
    return fmax(one, two);
}

/* The overlap of two gaps, the second moved by `opposite`, and where it begins in the first one. */
static double both_missing(const qb__turn *t, const qb__turn_gap *a, const qb__turn_gap *b, double opposite,
                           double *from) {
    const double start = a->from + 0.5 * a->usual, other = b->from + 0.5 * b->usual - opposite;
    double begin;
    const double both =
        overlap(qb__turn_missing(a), qb__turn_wrap(other - start, t->period), qb__turn_missing(b), t->period, &begin);
    *from = start + begin;
    return both;
}

double qb__turn_gap_hole(const qb__turn *t, size_t gap) {
    double widest = t->period > pi ? 0 : qb__turn_missing(&t->gap[gap]), from;
    for (size_t i = 0; i < t->gaps && t->period > pi; i++)
        widest = fmax(widest, both_missing(t, &t->gap[gap], &t->gap[i], pi, &from));
    return widest;
}

bool qb__turn_is_open(const qb__turn *t) {
    for (size_t i = 0; i < t->gaps; i++)
        if (t->gap[i].open) return true;
    return false;
}

void qb__turn_hole(const qb__turn *t, double opposite, double *largest, double *from, double *all) {
    *largest = *from = *all = 0;
    for (size_t i = 0; i < t->gaps; i++)
        for (size_t j = 0; j < t->gaps; j++) {
            double begin;
            const double both = both_missing(t, &t->gap[i], &t->gap[j], opposite, &begin);
            if (!(both > 0)) continue;
            *all += both;
            if (both > *largest) *largest = both, *from = qb__turn_wrap(begin, t->period);
        }
}
