/* SPDX-License-Identifier: MIT */
#include "prep/step.h"

/* A new correction is a file with its step, and its two lines here. */
extern const qb__step qb__step_zingers;
extern const qb__step qb__step_fields;
extern const qb__step qb__step_scatter;
extern const qb__step qb__step_air;
extern const qb__step qb__step_mask;
extern const qb__step qb__step_monitor;
extern const qb__step qb__step_rings;
extern const qb__step qb__step_integrals;
extern const qb__step qb__step_check;
extern const qb__step qb__step_hardening;
extern const qb__step qb__step_bridge;

const qb__step *const qb__steps[] = {
    &qb__step_zingers,   /* view: single bright pixels */
    &qb__step_fields,    /* scan: mean dark and flat */
    &qb__step_scatter,   /* scan: a constant share of the beam, into the dark */
    &qb__step_mask,      /* scan: pixels that no view has measured, where no flats say so */
    &qb__step_monitor,   /* scan: the intensity of every view by its monitor */
    &qb__step_air,       /* scan: the open beam of every view */
    &qb__step_rings,     /* scan: columns that answer otherwise than their flats say */
    &qb__step_integrals, /* value: dark, gain, air, -ln */
    &qb__step_check,     /* value: line integrals already: NaN where they are none */
    &qb__step_hardening, /* value */
    &qb__step_bridge,    /* row: what has no value takes its neighbours' */
    NULL,
};

qb_status qb__steps_check(const qb_scan_info *info, const qb_prep_options *options) {
    qb_status status = QB_OK;
    for (const qb__step *const *s = qb__steps; *s && status == QB_OK; s++)
        if ((*s)->check && (*s)->wanted(info, options)) status = (*s)->check(info, options);
    return status;
}

/* `check` and `bridge` leave numbers alone. */
const char *qb__steps_change(const qb_scan_info *info, const qb_prep_options *options) {
    for (const qb__step *const *s = qb__steps; *s; s++)
        if (*s != &qb__step_check && *s != &qb__step_bridge && (*s)->wanted(info, options)) return (*s)->name;
    return NULL;
}
