/* SPDX-License-Identifier: MIT */
/* Scatter as a constant share of the open beam: transmissions T = P + S become P = T - S. In units of the numbers that is a larger
 * dark: dark + S (flat - dark), so that every kernel takes it off with the dark. Flats see no object, and no scatter. */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/number.h"
#include "base/status.h"
#include "prep/fields.h"
#include "prep/step.h"

static bool wanted(const qb_scan_info *info, const qb_prep_options *options) {
    (void)info;
    return options && options->scatter && strcmp(options->scatter, "none") != 0;
}

static double share_of(const char *text) {
    static const char constant[] = "constant:";
    char *end;
    if (strncmp(text, constant, strlen(constant)) != 0) return -1;
    const double share = qb__strtod(text + strlen(constant), &end);
    return end == text + strlen(constant) || *end ? -1 : share;
}

static qb_status check(const qb_scan_info *info, const qb_prep_options *options) {
    const double share = share_of(options->scatter);
    if (!(share > 0 && share < 1))
        return qb__fail(QB_BAD_ARGUMENT, "--scatter %s: give constant:S, S above 0 and below 1 of the open beam",
                        options->scatter);
    if (info->quantity == QB_LINE_INTEGRAL)
        return qb__fail(QB_BAD_ARGUMENT,
                        "--scatter %s: %s holds line integrals; scatter is taken off counts or transmissions",
                        options->scatter, info->path);
    if (info->quantity == QB_COUNTS && !info->flats)
        return qb__fail(QB_BAD_ARGUMENT, "--scatter %s: %s has no flats, whose share it is", options->scatter,
                        info->path);
    return QB_OK;
}

static unsigned count(const qb_scan_info *info, const qb_prep_options *options) {
    return wanted(info, options) && info->quantity != QB_COUNTS;
}

static qb_status measure(const qb__pass *pass) {
    qb__fields *fields = pass->fields;
    const float share = (float)share_of(pass->options->scatter);
    const bool made = fields->dark != NULL;
    qb_status status = fields->rows ? qb__fields_make(fields, share, &fields->dark) : QB_OK;
    if (status != QB_OK) return status;
    for (size_t i = 0; made && i < fields->rows * fields->columns; i++) {
        const float gain = fields->gain ? fields->gain[i] : 1;
        if (gain > 0) fields->dark[i] += share / gain;
    }
    snprintf(pass->note, pass->note_size, "%.4g of the open beam taken off", (double)share);
    return QB_OK;
}

const qb__step qb__step_scatter = {
    .name = "scatter", .scope = QB__SCOPE_SCAN, .wanted = wanted, .check = check, .fields = count, .measure = measure};
