/* SPDX-License-Identifier: MIT */
/* Masked pixels of scans without flats: gain 0, as for a dead flat, and NaN as the dark of given line integrals. If
 * there are flats, they are NaN there. */
#include <math.h>
#include <stdio.h>

#include "io/scan/scan.h"
#include "prep/fields.h"

static bool wanted(const qb_scan_info *info, const qb_prep_options *options) {
    (void)options;
    return info->masked + info->stuck > 0 && !(info->quantity == QB_COUNTS && info->flats);
}

static unsigned count(const qb_scan_info *info, const qb_prep_options *options) { return wanted(info, options); }

static qb_status measure(const qb__pass *pass) {
    qb__fields *fields = pass->fields;
    const bool lines = qb_scan_describe(pass->scan)->quantity == QB_LINE_INTEGRAL;
    const unsigned char *unmeasured = pass->scan->unmeasured + fields->row0 * fields->columns;
    float **field = lines ? &fields->dark : &fields->gain;
    const qb_status status = qb__fields_make(fields, lines ? 0 : 1, field);
    for (size_t i = 0; status == QB_OK && i < fields->rows * fields->columns; i++)
        if (unmeasured[i]) (*field)[i] = lines ? NAN : 0;
    return status;
}

const qb__step qb__step_mask = {
    .name = "mask", .scope = QB__SCOPE_SCAN, .wanted = wanted, .fields = count, .measure = measure};
