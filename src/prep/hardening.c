/* SPDX-License-Identifier: MIT */
/* --hardening: the attenuation of a polychromatic beam grows more slowly than the path, because soft rays are absorbed
 * first and the rest is harder. A curve makes the line integral p of one material proportional to the path again: p + A
 * p^2 + B p^3 (Herman, Phys. Med. Biol. 24 (1979) 81) from a wedge or a disc of that material, a table of measured and
 * true values, or the model of a tube's spectrum (prep/spectrum.h). */
#include <string.h>

#include "prep/dense.h"
#include "prep/prep.h"
#include "prep/step.h"

static bool wanted(const qb_scan_info *info, const qb_prep_options *options) {
    (void)info;
    return options && options->hardening && *options->hardening && strcmp(options->hardening, "none") != 0;
}

static qb_status check(const qb_scan_info *info, const qb_prep_options *options) {
    qb__hardening_curve *curve = NULL;
    (void)info;
    const qb_status status = qb__curve_create(options->hardening, &curve);
    qb__curve_destroy(curve);
    return status;
}

static void run(const qb__prep *prep, qb__line *line, size_t column, size_t count, const float *in, float *out) {
    (void)line, (void)column;
    qb__curve_run(prep->curve, count, in, out);
}

const qb__step qb__step_hardening = {.name = "hardening",
                                     .scope = QB__SCOPE_VALUE,
                                     .wanted = wanted,
                                     .check = check,
                                     .run = run,
                                     .option = {QB__STEP_OPTION(hardening)}};
