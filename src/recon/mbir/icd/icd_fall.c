/* SPDX-License-Identifier: MIT */
#include "recon/mbir/icd/icd_fall.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

/* Every second of those that are kept. */
static void thin_out(qb__icd_fall *f) {
    f->points = QB__ICD_FALL_POINTS / 2;
    for (size_t i = 1; i < QB__ICD_FALL_POINTS / 2; i++) {
        f->equits[i] = f->equits[2 * i];
        f->cost[i] = f->cost[2 * i];
    }
    f->step = f->step > 0 ? 2 * f->step : 2;
}

/* The last one is replaced unless it is kept. */
void qb__icd_fall_add(qb__icd_fall *f, double equits, double cost) {
    const bool stays = f->points < 1 || fmod(f->calls - 1, fmax(f->step, 1)) == 0;
    if (f->points == QB__ICD_FALL_POINTS && stays) thin_out(f);
    const size_t at = (size_t)f->points - (stays ? 0 : 1);
    f->equits[at] = equits;
    f->cost[at] = cost;
    f->points = (double)(at + 1);
    f->calls++;
}

static double cost_at(const qb__icd_fall *f, double equits) {
    size_t i = (size_t)f->points - 1;
    while (i > 1 && f->equits[i - 1] > equits) i--;
    const double share = (equits - f->equits[i - 1]) / (f->equits[i] - f->equits[i - 1]);
    return f->cost[i - 1] + share * (f->cost[i] - f->cost[i - 1]);
}

double qb__icd_fall_rest(const qb__icd_fall *f) {
    static const double slowest = 0.9;
    if (f->points < 2) return 1;
    const size_t last = (size_t)f->points - 1;
    const double begin = f->equits[0], done = f->equits[last] - begin, now = f->cost[last];
    const double before = cost_at(f, begin + done / 4), half = cost_at(f, begin + done / 2);
    const double fell = half - now, ratio = before > half ? fmin(fell / (before - half), slowest) : slowest;
    if (!(fell > 0) || !(now > 0)) return 0;
    return fmin(fell * ratio / (1 - ratio) / now, 1);
}

/* The last decrease, over a quarter of the equits, and its ratio to the one before. */
static double last_fall(const qb__icd_fall *f, double *quarter, double *share) {
    static const double slowest = 0.9;
    const size_t last = (size_t)f->points - 1;
    const double begin = f->equits[0], now = f->cost[last];
    *quarter = (f->equits[last] - begin) / 4;
    const double half = cost_at(f, begin + 2 * *quarter), later = cost_at(f, begin + 3 * *quarter);
    *share = half > later ? fmax(fmin((later - now) / (half - later), slowest), 0) : slowest;
    return later - now;
}

double qb__icd_fall_rest_by_factor(const qb__icd_fall *f) {
    double quarter, share;
    if (f->points < 2) return 1;
    const double fell = last_fall(f, &quarter, &share), now = f->cost[(size_t)f->points - 1];
    if (!(fell > 0) || !(now > 0)) return 0;
    return fmin(fell * share / (1 - share) / now, 1);
}

double qb__icd_fall_equits_to(const qb__icd_fall *f, double least, double most) {
    const double rest = qb__icd_fall_rest_by_factor(f);
    double quarter, share;
    if (f->points < 2) return most;
    last_fall(f, &quarter, &share);
    if (rest <= least || !(share > 0)) return 0;
    return fmin(quarter * log(least / rest) / log(share), most);
}
