/* SPDX-License-Identifier: MIT */
#include "prep/line_mass.h"

#include <math.h>

#include "base/log.h"
#include "base/warning.h"

double qb__view_closing_judge(const qb__view_closing *c) {
    const double TIMES = 3, PART = 0.05, NEXT = 1.5, FAR = 4, BACKWARDS = -0.5, LIKE = 1.5, LESS = 2;
    const double less = fmin(c->alike[0], c->alike[1]);
    if (!(c->step > 0) || !(c->gap > 0.5 * c->step)) return 0;
    if (c->gap < NEXT * c->step) {
        const bool large = c->across > fmax(c->floor, PART * c->signal) && c->across > TIMES * c->most;
        return large ? c->across / c->most : 0;
    }
    if (c->gap < FAR * c->step || !(less > fmax(c->floor, LESS * c->across)) || !(c->sense > BACKWARDS)) return 0;
    return c->across < LIKE * c->most ? -less / fmax(c->across, 1e-30) : 0;
}

void qb__view_closing_warn(double times, double gap, const qb_env *env) {
    const double DEGREE = 57.29577951308232;
    if (times > 0)
        qb__warn(env,
                 "by the angles the last view is next to the first, but they differ %.2g times as much as neighbours: "
                 "the object turned by less or more, or moved; check --angles" QB__CODE("angle-span"),
                 times);
    else if (times < 0)
        qb__warn(env,
                 "the last view is as like the first as a neighbour, but is stated to be %.3g degrees from it: check "
                 "--angles, the views seem to cover a turn" QB__CODE("angle-span"),
                 gap * DEGREE);
}
