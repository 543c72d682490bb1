/* SPDX-License-Identifier: MIT */
#ifndef QB_PREP_PREP_H
#define QB_PREP_PREP_H

#include <stdint.h>

#include "cpu/rows/lines.h"
#include "quickbeam/array.h"
#include "quickbeam/recon.h"
#include "quickbeam/scan.h"

typedef struct qb__step qb__step; /* step.h */

enum {
    QB__PREP_STEPS = 8,
    QB__PREP_BLOCK = 512 /* columns that pass through all value steps together, in the first-level cache */
};

/* Detector numbers -> line integrals, one detector row at a time:
 *   transmission = (counts - dark) / (flat - dark) / air[view],   line integral = -ln(transmission)
 * and what other steps (step.h) do. */
typedef struct qb__prep {
    qb_quantity quantity;
    qb_dtype dtype;
    size_t columns;
    size_t row0; /* of the scan, where the fields begin */
    /* The fields that passes made (step.h); gain and air are not for line integrals. */
    const float *dark; /* [row][column] taken off the numbers: the mean dark; NULL = 0 */
    const float *gain; /* [row][column] times: 1/(flat - dark), 0 where the flat is dead; NULL = 1 */
    const float *air;  /* [view] over: transmission of open beam; NULL = 1 */
    const struct qb__drift
        *drift;     /* how 1/gain changes over the views, of the whole detector (io/scan/drift.h); NULL: not */
    float top;      /* numbers from it on are saturated and have no value; INFINITY: none (of qb__prep_begin()) */
    float floor;    /* transmissions below are raised to it, and counted */
    float most;     /* line integrals of a larger size were not measured; 0: QB__MOST_INTEGRAL */
    qb_pad ends;    /* what continues a row whose end was not measured: of filters --pad, else edge */
    bool keep_lost; /* what has no value stays NaN, and is counted; else it is bridged */
    const struct qb__curve *curve; /* of --hardening, prep/curve.h; not owned. NULL: not asked for */
    /* of qb__prep_begin(): */
    const qb_prep_options *options;
    const qb__lines *loops;                                      /* those of this CPU */
    const qb__step *value[QB__PREP_STEPS], *row[QB__PREP_STEPS]; /* ended by NULL */
} qb__prep;

typedef struct qb__prep_counts {
    uint64_t clamped;    /* transmissions raised to the floor */
    uint64_t not_finite; /* NaN or infinite inputs, replaced or kept as NaN */
    uint64_t dead;       /* pixels whose flat is dead, likewise */
    uint64_t saturated;  /* counts at their type's maximum, likewise */
    uint64_t values;     /* all that were prepared */
    uint64_t placed,
        place; /* of those not finite: so many have a place, the first is there (prep/pixel_key.h); devices give none */
} qb__prep_counts;

/* Choose the value and row steps, once for all rows. `options` must outlive prep; NULL: defaults. */
void qb__prep_begin(qb__prep *prep, const qb_prep_options *options);

/* No prepared value of finite numbers is larger: the logarithm of any finite float is within 89, and --hardening makes more of
 * it. INFINITY where nothing is known, as of given line integrals, or where the bound would be so loose that what is scaled by
 * it (kernels in half precision) may lose digits. NULL: defaults. */
double qb__prep_bound(qb_quantity quantity, const qb_prep_options *options);
/* The same of a scan; given line integrals are so many times what a few of their lines reach at most. That is a guess which an
 * outlier may exceed: who scales by it cuts that off, and tells. QB_OK, or what reading failed with. */
#define QB__PREP_MARGIN 1e4
qb_status qb__prep_bound_of(qb_scan *scan, const qb_prep_options *options, double *bound);

/* Does --hardening ask for a curve? */
bool qb__hardening_wanted(const qb_prep_options *options);

/* gain[i] = 1/(flat[i] - dark[i]); 0 and counted in *dead where that is not positive and finite. */
void qb__prep_gain(const float *flat, const float *dark, size_t count, float *gain, uint64_t *dead);

/* One detector row of one view: raw[columns] of prep->dtype -> out[columns] line integrals. `row`
 * indexes the dark and gain fields. A dead or non-finite pixel takes the line interpolated between
 * its nearest good neighbours in the row (0 when there are none) or, with keep_lost, is NaN. So does a saturated one, but
 * where no good one follows up to the row's end it is air, 0. Adds to *counts. */
void qb__prep_row(const qb__prep *prep, size_t view, size_t row, const void *raw, float *out, qb__prep_counts *counts);

#endif
