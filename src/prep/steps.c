/* SPDX-License-Identifier: MIT */
#include "prep/step.h"

#include <string.h>

/* In the order of the work. A new correction is a file with its step, a line here and its option below. */
#define STEPS(ROW)                                                                                                     \
    ROW(zingers)   /* view: single bright pixels */                                                                    \
    ROW(fields)    /* scan: mean dark and flat */                                                                      \
    ROW(scatter)   /* scan: a constant share of the beam, into the dark */                                             \
    ROW(mask)      /* scan: pixels that no view has measured, if flats do not show them */                             \
    ROW(monitor)   /* scan: the intensity of every view by its monitor */                                              \
    ROW(air)       /* scan: the open beam of every view */                                                             \
    ROW(rings)     /* scan: columns whose response differs from their flats */                                         \
    ROW(integrals) /* value: dark, gain, air, -ln */                                                                   \
    ROW(check)     /* value: checks given line integrals; invalid ones become NaN */                                   \
    ROW(hardening) /* value */                                                                                         \
    ROW(bridge)    /* row: pixels without a value are filled from their neighbours */

#define DECLARE(name) extern const qb__step qb__step_##name;
STEPS(DECLARE)
#define POINT(name) &qb__step_##name,
const qb__step *const qb__steps[] = {STEPS(POINT) NULL};

const qb_param qb_prep_params[] = {
    {"air", QB_PARAM_TEXT, offsetof(qb_prep_options, air), "X0:X1,Y0:Y1|auto|P%", NULL, NULL, 0, 0,
     "scale each view by its open beam: columns and rows that no object ever covers, or find them", 0},
    {"transmission-floor", QB_PARAM_DOUBLE, offsetof(qb_prep_options, transmission_floor), "T", "1e-6", NULL, 1e-30, 1,
     "smaller transmissions are raised to this before -log, and counted", 0},
    {"rings", QB_PARAM_TEXT, offsetof(qb_prep_options, rings),
     "keep|auto|sort|wavelet|titarenko|raven|double-flat|fit|large|dead|all[:snr=S,large=N,small=N]", "keep", NULL, 0,
     0,
     "take out rings: what each row shows (auto), all kinds, large ones, dead columns, or dense weak ones by sorting, "
     "wavelets and so on; snr (3), large (61) and small (15) unbinned columns. Finders of the axis do so in any case",
     0},
    {"hardening", QB_PARAM_TEXT, offsetof(qb_prep_options, hardening),
     "A[,B]|fit|table:FILE|spectrum:MATERIAL,KV[,FILTER:MM,at:KEV]|two:BASE+DENSE,...[,above:MU]|none", NULL, NULL, 0,
     0,
     "straighten the line integrals p of a hardened beam: p + A p^2 + B p^3, or that of the scan itself (fit); a file "
     "of measured and true ones; or a "
     "tube's spectrum behind filters (al:1) for an object of one material (water, pmma, bone, c, al, ti, fe, cu, sn), "
     "in values of an energy; or two: for dense parts in another one, as two:water+bone,120, by a draft of the volume",
     0},
    {"paganin", QB_PARAM_TEXT, offsetof(qb_prep_options, paganin),
     "DELTA_BETA|LENGTH|alpha:A|nabu:N|tomopy:A|tomocupy:A|httomo:N|none", NULL, NULL, 0, 0,
     "phase retrieval (Paganin 2002) of one distance: filter transmissions by 1/(1 + (L f)^2) with "
     "L^2 = pi lambda D delta/beta, or with the length L itself (25um, 4px), or alpha = 1/(4 pi^2 delta/beta)",
     0},
    {"paganin-kernel", QB_PARAM_CHOICE, offsetof(qb_prep_options, paganin_kernel), NULL, "plain", "plain|generalised",
     0, 0, "the filter: of f^2, or of the pixels' own Laplacian (Paganin 2020), which keeps more detail", 0},
    {"energy", QB_PARAM_DOUBLE, offsetof(qb_prep_options, energy), "KEV", NULL, NULL, 1, 1000,
     "energy of the beam for --paganin, in keV [as the scan states it]", 0},
    {"distance", QB_PARAM_DOUBLE, offsetof(qb_prep_options, distance), "MM", NULL, NULL, 1e-3, 1e6,
     "from the object to the detector for --paganin, in mm [as the scan or the geometry states it]", 0},
    {"unsharp", QB_PARAM_NUMBERS, offsetof(qb_prep_options, unsharp), "C,SIGMA", NULL, NULL, 0, 1000,
     "with --paganin: add C times what differs from a Gaussian mean of SIGMA pixels (unbinned)", 0},
    {"monitor", QB_PARAM_CHOICE, offsetof(qb_prep_options, monitor), NULL, "use", "use|ignore", 0, 0,
     "divide each view by the beam's intensity that an NXtomo (control/data) or the log of --angles states; --air does "
     "without it",
     0},
    {"zingers", QB_PARAM_DOUBLE, offsetof(qb_prep_options, zingers), "SIGMA|none", "none", "none", 2, 1000,
     "replace pixels that are brighter than all but one of their neighbours by so many standard deviations; 8 is a "
     "good start",
     0},
    {"zingers-in", QB_PARAM_CHOICE, offsetof(qb_prep_options, zingers_in), NULL, "view", "view|time", 0, 0,
     "the neighbours of zingers: eight in the same view, for single pixels; or five columns in the views before and "
     "after (time), for spots of any size where details move by less than 2.5 columns a view",
     0},
    {"scatter", QB_PARAM_TEXT, offsetof(qb_prep_options, scatter), "constant:S|smooth:A,SIGMA|none", NULL, NULL, 0, 0,
     "take off scatter: S of the open beam, or a share A of what the object takes from it, spread by a Gaussian of "
     "SIGMA "
     "pixels (unbinned)",
     0},
    QB_PARAMS_END(qb_prep_options),
};

void qb__step_set(const qb__step *step, qb_prep_options *options, const qb_prep_options *from) {
    for (const qb__step_option *o = step->option; o < step->option + 2; o++) {
        char *field = (char *)options + o->at;
        if (from)
            memcpy(field, (const char *)from + o->at, o->size);
        else
            memset(field, 0, o->size);
    }
}

qb_status qb__steps_check(const qb_scan_info *info, const qb_prep_options *options) {
    qb_status status = QB_OK;
    for (const qb__step *const *s = qb__steps; *s && status == QB_OK; s++)
        if ((*s)->check && (*s)->wanted(info, options)) status = (*s)->check(info, options);
    return status;
}

/* `check` and `bridge` do not change valid numbers. */
const char *qb__steps_change(const qb_scan_info *info, const qb_prep_options *options) {
    for (const qb__step *const *s = qb__steps; *s; s++)
        if (*s != &qb__step_check && *s != &qb__step_bridge && (*s)->wanted(info, options)) return (*s)->name;
    return NULL;
}
