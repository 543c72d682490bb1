/* SPDX-License-Identifier: MIT */
#ifndef QB_RECON_MBIR_ICD_FALL_H
#define QB_RECON_MBIR_ICD_FALL_H

/* How far a cost still falls, forecast from how it fell. After e equits, D1 is the fall between e / 4 and e / 2, D2 that between e / 2
 * and e. If each doubling goes on to bring r = D2 / D1 of the one before, the rest is D2 r / (1 - r): exact where the distance from the
 * minimum falls as a power of e, as that of smooth parts does, which few or one-sided views settle slowly; too large, by two or so, where it
 * falls by a factor an equit. */
enum { QB__ICD_FALL_POINTS = 64 };
typedef struct qb__icd_fall {
    double points, calls,
        step; /* points of so many calls: those of every step-th one (0 = 1), and the last; doubles: a checkpoint keeps them */
    double equits[QB__ICD_FALL_POINTS], cost[QB__ICD_FALL_POINTS];
} qb__icd_fall;

/* After more equits than before. */
void qb__icd_fall_add(qb__icd_fall *fall, double equits, double cost);
/* As a share of the last cost; 1 where nothing is known yet. */
double qb__icd_fall_rest(const qb__icd_fall *fall);
/* The same where the distance from the minimum falls by a factor an equit, as that of gradient methods with momentum does, which a
 * forecast by powers makes several times too large: by the falls of the last two quarters of the equits. */
double qb__icd_fall_rest_by_factor(const qb__icd_fall *fall);
/* By then, after how many more equits this rest will be `least`, at most `most`. */
double qb__icd_fall_equits_to(const qb__icd_fall *fall, double least, double most);

#endif
