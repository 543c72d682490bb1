/* SPDX-License-Identifier: MIT */
/* Conversion to line integrals by the loops of cpu/rows/lines.h, which combine all steps for a number: dark, gain, air
 * and -ln of counts and transmissions; or dark and a check of given line integrals. One of them is the first value step
 * of every scan. Then stripes that change over the views are subtracted. */
#include "io/scan/drift.h"
#include "prep/prep.h"
#include "prep/step.h"

static bool logarithm(const qb_scan_info *info, const qb_prep_options *options) {
    (void)options;
    return info->quantity != QB_LINE_INTEGRAL;
}

static bool none(const qb_scan_info *info, const qb_prep_options *options) { return !logarithm(info, options); }

static void subtract_courses(const qb__prep *prep, const qb__line *line, size_t column, size_t count, float *out) {
    const size_t room = qb__courses_room(prep->columns);
    if (prep->courses) qb__courses_subtract(prep->courses + line->row * room, room, line->view, column, count, out);
}

static void run_integrals(const qb__prep *prep, qb__line *line, size_t column, size_t count, const float *in,
                          float *out) {
    const size_t at = line->row * prep->columns + column;
    const float *gain = prep->gain ? prep->gain + at : NULL;
    float drifted[QB__PREP_BLOCK];
    qb__lines_found found = {0, 0};
    if (gain && prep->drift) {
        qb__drift_gain(prep->drift, line->view, (prep->row0 + line->row) * prep->columns + column, count, gain,
                       drifted);
        gain = drifted;
    }
    prep->loops->integrals(in, prep->dark ? prep->dark + at : NULL, gain, prep->air ? 1 / prep->air[line->view] : 1,
                           prep->floor, prep->top, count, out, &found);
    line->counts->clamped += found.clamped;
    line->lost += found.bad;
    subtract_courses(prep, line, column, count, out);
}

static void run_check(const qb__prep *prep, qb__line *line, size_t column, size_t count, const float *in, float *out) {
    const size_t at = line->row * prep->columns + column;
    qb__lines_found found = {0, 0};
    prep->loops->check(in, prep->dark ? prep->dark + at : NULL, prep->most, count, out, &found);
    line->lost += found.bad;
    subtract_courses(prep, line, column, count, out);
}

const qb__step qb__step_integrals = {
    .name = "integrals", .scope = QB__SCOPE_VALUE, .wanted = logarithm, .run = run_integrals};
const qb__step qb__step_check = {.name = "check", .scope = QB__SCOPE_VALUE, .wanted = none, .run = run_check};
