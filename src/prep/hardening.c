/* SPDX-License-Identifier: MIT */
/* --hardening A[,B]: a polychromatic beam attenuates less than in proportion to the path, since what
 * is left of it is harder. The line integral p of one material is made proportional again by
 *   p + A p^2 + B p^3
 * (Herman, Phys. Med. Biol. 24 (1979) 81), A and B from a wedge or a disc of that material. */
#include "prep/prep.h"
#include "prep/step.h"

static bool wanted(const qb_scan_info *info, const qb_prep_options *options) {
    (void)info;
    return options->hardening.count > 0;
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
    .name = "hardening", .scope = QB__SCOPE_VALUE, .wanted = wanted, .run = run, .define = define};
