/* SPDX-License-Identifier: MIT */
#pragma once

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

/* Converts detector numbers to line integrals, one detector row at a time:
 *   transmission = (counts - dark) / (flat - dark) / air[view],   line integral = -ln(transmission)
 * and the other steps (step.h). */
typedef struct qb__prep {
    qb_quantity quantity;
    qb_dtype dtype;
    size_t columns;
    size_t row0; /* scan row of the first row of the fields */
    /* The fields from the passes (step.h); line integrals have no gain and air. */
    const float *dark;                /* [row][column] subtracted from the numbers: the mean dark; NULL = 0 */
    const float *gain;                /* [row][column] factor: 1/(flat - dark), 0 where the flat is dead; NULL = 1 */
    const float *air;                 /* [view] divisor: transmission of open beam; NULL = 1 */
    const struct qb__course *courses; /* [row][qb__courses_room(columns)] stripes that change (courses.h); NULL: none */
    const struct qb__drift
        *drift;     /* change of 1/gain over the views, for the whole detector (io/scan/drift.h); NULL: none */
    float top;      /* numbers from it on are saturated and have no value; INFINITY: none (set by qb__prep_begin()) */
    float floor;    /* smaller transmissions are raised to it, and counted */
    float most;     /* larger line integrals were not measured; 0: QB__MOST_INTEGRAL */
    qb_pad ends;    /* continuation of a row whose end was not measured: --pad of filters, else edge */
    bool keep_lost; /* missing values stay NaN, and are counted; else they are filled */
    const struct qb__hardening_curve *curve; /* curve of --hardening (prep/dense.h); not owned. NULL: none */
    /* set by qb__prep_begin(): */
    const qb_prep_options *options;
    const qb__lines *loops;                                      /* the loops for this CPU */
    const qb__step *value[QB__PREP_STEPS], *row[QB__PREP_STEPS]; /* ended by NULL */
} qb__prep;

typedef struct qb__prep_counts {
    uint64_t clamped;    /* transmissions raised to the floor */
    uint64_t not_finite; /* NaN or infinite inputs, filled or kept as NaN */
    uint64_t dead;       /* pixels with a dead flat, filled or kept as NaN */
    uint64_t saturated;  /* counts at their type's maximum, filled or kept as NaN */
    uint64_t values;     /* all prepared values */
    uint64_t placed,
        /* of the not finite ones: number with a known position, and the first position (prep/pixel_key.h); devices give
         * none */
        place;
} qb__prep_counts;

/* Choose the value and row steps, once for all rows. `options` must outlive prep; NULL: defaults. */
void qb__prep_begin(qb__prep *prep, const qb_prep_options *options);
/* Sets the type of the numbers. */
void qb__prep_reads(qb__prep *prep, qb_dtype dtype);

/* Upper limit of prepared values for finite numbers: the logarithm of any finite float is within 89, and --hardening
 * increases it. INFINITY if unknown, as for given line integrals, or if the limit would be so loose that kernels in
 * half precision, which are scaled by it, lose digits. NULL: defaults. */
double qb__prep_bound(qb_quantity quantity, const qb_prep_options *options);
/* Upper limit of prepared values of a scan; for given line integrals a multiple of the maximum of a few lines. An
 * outlier may exceed that: kernels scaled by it then clip, and report it. QB_OK, or a read error. */
#define QB__PREP_MARGIN 1e4
qb_status qb__prep_bound_of(qb_scan *scan, const qb_prep_options *options, double *bound);

/* gain[i] = 1/(flat[i] - dark[i]); 0, and counted in *dead, if that is not positive and finite. */
void qb__prep_gain(const float *flat, const float *dark, size_t count, float *gain, uint64_t *dead);

/* Prepare one detector row of one view: raw[columns] of prep->dtype -> out[columns] line integrals. `row` is the index
 * in the dark and gain fields. A dead or non-finite pixel is interpolated between its nearest good neighbours in the
 * row (0 if there are none) or, with keep_lost, is NaN. A saturated pixel is treated in the same way, except that
 * without a good pixel up to the row's end it is air, 0. Adds to *counts. */
void qb__prep_row(const qb__prep *prep, size_t view, size_t row, const void *raw, float *out, qb__prep_counts *counts);
