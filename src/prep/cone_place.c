/* SPDX-License-Identifier: MIT */
#include "prep/cone_place.h"

#include <math.h>

enum {
    PAIRS = QB__PLANES_PAIRS,
    FEWEST_BINS = 12,
    MOST_SHIFTS = 24, /* bins on either side */
    FAR_SHIFTS = 40,  /* searched if the best shift is not within MOST_SHIFTS */
    STEPS = 8         /* positions of a search on either side */
};

static size_t least_of(const double *y, size_t n) {
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
        if (y[i] < y[best]) best = i;
    return best;
}

/* A position of the detector: the shift along the columns, and the shift of the ends of the middle row, up and down, by
 * the rotation; both in bins. */
enum { SHIFT, TURN, WAYS };

static qb__plane_place place_at(const qb__cone_planes *h, const double bins[WAYS]) {
    const double half = 0.5 * (double)h->n[0] * h->pixel[0];
    return (qb__plane_place){bins[SHIFT], bins[TURN] * h->pixel[1] / half};
}

static void differ(qb__cone_planes *h, const double (*bins)[WAYS], size_t count, double *each, double *mean) {
    qb__plane_place places[2 * STEPS + 1];
    for (size_t k = 0; k < count; k++) places[k] = place_at(h, bins[k]);
    qb__cone_planes_differ(h, places, count, each, mean);
}

/* Moves bins[way] to where all pairs together agree best; returns false at the end of the range. */
static bool search(qb__cone_planes *h, double bins[WAYS], int way, double most) {
    enum { COUNT = 2 * STEPS + 1 };
    double each[PAIRS * COUNT], mean[COUNT], at[COUNT][WAYS], step = fmax(most / STEPS, 1);
    for (;;) {
        const int many = (int)fmin(STEPS, floor(most / step));
        for (int k = 0; k < 2 * many + 1; k++) {
            at[k][SHIFT] = bins[SHIFT], at[k][TURN] = bins[TURN];
            at[k][way] += (k - many) * step;
        }
        differ(h, at, 2 * (size_t)many + 1, each, mean);
        const size_t best = least_of(mean, 2 * (size_t)many + 1);
        if (best == 0 || best == 2 * (size_t)many) return false;
        bins[way] = at[best][way];
        if (step <= 0.5) {
            const double low = mean[best - 1], high = mean[best + 1], curve = low - 2 * mean[best] + high;
            bins[way] += curve > 0 ? 0.5 * (low - high) / curve * step : 0;
            return true;
        }
        most = 2 * step, step = fmax(0.5, step / 2);
    }
}

/* Searches as many bins on either side as leave enough rows to compare, but at most a part of all rows. */
static bool search_within(qb__cone_planes *h, double bins[WAYS], int way, double most, double part) {
    const double start[WAYS] = {bins[SHIFT], bins[TURN]};
    double range[WAYS] = {0};
    range[way] = fmin(most, part * (double)h->n[1]);
    while (range[way] >= 3 && !qb__cone_planes_rows(h, place_at(h, bins), place_at(h, range), FEWEST_BINS))
        range[way] *= 0.5;
    if (range[way] >= 3 && search(h, bins, way, range[way])) return true;
    bins[SHIFT] = start[SHIFT], bins[TURN] = start[TURN];
    return false;
}

/* A rotation hides a shift, and a shift hides a rotation. So each is searched again at the value found for the
 * other. */
static bool search_both(qb__cone_planes *h, double bins[WAYS]) {
    enum { ROUNDS = 3 };
    const double NEAR = 3, CLOSE = 0.05;
    bool known[WAYS] = {false, false};
    for (int way = 0; way < WAYS; way++)
        known[way] = search_within(h, bins, way, MOST_SHIFTS, 0.25) || search_within(h, bins, way, FAR_SHIFTS, 0.5);
    for (int i = 0; i < ROUNDS; i++) {
        const double before[WAYS] = {bins[SHIFT], bins[TURN]};
        for (int way = 0; way < WAYS; way++)
            known[way] = search_within(h, bins, way, known[way] ? NEAR : MOST_SHIFTS, 0.25);
        if (fabs(bins[SHIFT] - before[SHIFT]) < CLOSE && fabs(bins[TURN] - before[TURN]) < CLOSE) break;
    }
    return known[SHIFT] && known[TURN];
}

/* Differences of the pairs' results at two positions: mean, its standard error, and the fraction of the pairs with the
 * same sign. */
typedef struct fall {
    double mean, error, agree;
} fall;

static fall fall_of(const double *each, size_t pairs, size_t count, size_t from, size_t to) {
    fall f = {0};
    double square = 0;
    for (size_t p = 0; p < pairs; p++) f.mean += (each[p * count + from] - each[p * count + to]) / (double)pairs;
    for (size_t p = 0; p < pairs; p++) {
        const double d = each[p * count + from] - each[p * count + to];
        square += (d - f.mean) * (d - f.mean), f.agree += (d > 0) / (double)pairs;
    }
    f.error = sqrt(square / (double)(pairs * (pairs - 1)));
    return f;
}

/* How certain it is that a position farther away is wrong, on both sides. */
static double confidence(qb__cone_planes *h, const double bins[WAYS], int way, double far) {
    const double LOW = 1, HIGH = 6;
    double each[PAIRS * 3], mean[3], at[3][WAYS], sure = 1;
    for (int k = 0; k < 3; k++) {
        at[k][SHIFT] = bins[SHIFT], at[k][TURN] = bins[TURN];
        at[k][way] += (k - 1) * far;
    }
    differ(h, at, 3, each, mean);
    for (size_t side = 0; side < 3; side += 2) {
        const fall f = fall_of(each, h->pairs, 3, side, 1);
        const double errors = f.mean / fmax(f.error, 1e-12);
        sure = fmin(sure, fmin(fmax((errors - LOW) / (HIGH - LOW), 0), 1));
    }
    return sure;
}

/* All pairs together, and most of the pairs alone, must agree better than noise explains. */
void qb__cone_place_find(qb__cone_planes *h, size_t rows, qb__cone_height *found) {
    const double CLEAR = 0.9, DOUBT = 0.5, STEP[WAYS] = {2, 1}, FAR[WAYS] = {0.7, 0.35}, LESS = 0.04, SURE = 4.5,
                 AGREE = 0.65; /* FAR: rows; LESS: logarithm; SURE: errors; AGREE: fraction of the pairs */
    double each[PAIRS * 2], mean[2], bins[WAYS] = {0, 0};
    if (!search_both(h, bins)) return;
    found->rows = bins[SHIFT] * (double)rows;
    found->turn = place_at(h, bins).turn * (180 / M_PI);
    for (int way = 0; way < WAYS; way++) {
        double at[2][WAYS] = {{bins[SHIFT], bins[TURN]}, {bins[SHIFT], bins[TURN]}};
        at[0][way] = 0;
        differ(h, at, 2, each, mean);
        const fall f = fall_of(each, h->pairs, 2, 0, 1);
        const bool off = fabs(bins[way]) * (double)rows > FAR[way];
        if (off && f.mean > LESS && f.mean > SURE * f.error && f.agree > AGREE) found->better[way] = exp(f.mean);
        const double sure = confidence(h, bins, way, STEP[way]);
        found->confidence[way] = !off ? sure : found->better[way] > 0 ? fmax(sure, CLEAR) : fmin(sure, DOUBT);
    }
}
