/* SPDX-License-Identifier: MIT */
#pragma once

/* Forecast of the remaining decrease of a cost. After e equits, D1 is the decrease between e / 4 and e / 2, D2 that
 * between e / 2 and e. If each doubling of the equits brings r = D2 / D1 of the one before, the rest is D2 r / (1 - r).
 * This is exact if the distance from the minimum falls as a power of e, as for smooth parts, which converge slowly with
 * few or limited views; it is too large, about twice, if the distance falls by a constant factor per equit. */
enum { QB__ICD_FALL_POINTS = 64 };
typedef struct qb__icd_fall {
    double points, calls,
        /* points of so many calls: those of every step-th one (0 = 1), and the last; doubles, because a checkpoint
         * stores them */
        step;
    double equits[QB__ICD_FALL_POINTS], cost[QB__ICD_FALL_POINTS];
} qb__icd_fall;

/* Call it after more equits than before. */
void qb__icd_fall_add(qb__icd_fall *fall, double equits, double cost);
/* Relative to the last cost; 1 if unknown. */
double qb__icd_fall_rest(const qb__icd_fall *fall);
/* The same if the distance from the minimum falls by a constant factor per equit, as for gradient methods with
 * momentum, for which the other forecast is several times too large: from the decreases of the last two quarters of the
 * equits. */
double qb__icd_fall_rest_by_factor(const qb__icd_fall *fall);
/* From that forecast, the number of further equits until the rest is `least`, at most `most`. */
double qb__icd_fall_equits_to(const qb__icd_fall *fall, double least, double most);
