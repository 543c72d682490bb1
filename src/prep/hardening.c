/* SPDX-License-Identifier: MIT */
/* --hardening A[,B]: a polychromatic beam attenuates less than in proportion to the path, since what
 * is left of it is harder. The line integral p of one material is made proportional again by
 *   p + A p^2 + B p^3
 * (Herman, Phys. Med. Biol. 24 (1979) 81), A and B from a wedge or a disc of that material. */
#include <math.h>

#include "base/status.h"
#include "prep/prep.h"
#include "prep/step.h"

static bool wanted(const qb_scan_info *info, const qb_prep_options *options) {
    (void)info;
    return options->hardening.count > 0;
}

/* The first root above 0 of the slope 1 + 2 A p + 3 B p^2. */
double qb__hardening_turns(const qb_prep_options *options) {
    const double a = options->hardening.value[0], b = options->hardening.count > 1 ? options->hardening.value[1] : 0;
    const double under = a * a - 3 * b;
    if (options->hardening.count == 0 || under < 0) return INFINITY;
    const double rest = sqrt(under) - a; /* the roots are 1 / rest, and a larger or a negative one */
    return rest > 0 ? 1 / rest : INFINITY;
}

static qb_status check(const qb_scan_info *info, const qb_prep_options *options) {
    const double LEAST = 1, turns = qb__hardening_turns(options);
    (void)info;
    if (options->hardening.count > 2)
        return qb__fail(QB_BAD_ARGUMENT, "--hardening takes A or A,B, not %d numbers", options->hardening.count);
    if (turns >= LEAST) return QB_OK;
    return qb__fail(
        QB_BAD_ARGUMENT,
        "--hardening: the curve falls from p = %.3g on, it must rise at least up to %g: give A of 0 or more", turns,
        LEAST);
}

static float square(const qb_prep_options *options) { return (float)options->hardening.value[0]; }

static float cube(const qb_prep_options *options) {
    return options->hardening.count > 1 ? (float)options->hardening.value[1] : 0;
}

static void run(const qb__prep *prep, qb__line *line, size_t column, size_t count, const float *in, float *out) {
    const float a = square(prep->options), b = cube(prep->options);
    (void)line, (void)column;
    for (size_t i = 0; i < count; i++) {
        float p = in[i];
        out[i] = p + p * (p * (a + p * b));
    }
}

static void define(const qb_prep_options *options, qb__macros *macros) {
    qb__macros_add_float(macros, "HARDENING2", square(options));
    qb__macros_add_float(macros, "HARDENING3", cube(options));
}

const qb__step qb__step_hardening = {
    .name = "hardening", .scope = QB__SCOPE_VALUE, .wanted = wanted, .check = check, .run = run, .define = define};
