/* SPDX-License-Identifier: MIT */
/* Scatter as a constant share of the open beam: transmissions T = P + S become P = T - S. In the scan's numbers this is
 * a larger dark, dark + S (flat - dark), so that every kernel subtracts it together with the dark. Flats see no object,
 * and so no scatter. */
#include "prep/scatter.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/status.h"
#include "prep/fields.h"

static const char constant[] = "constant:";
static const char smooth[] = "smooth:";

bool qb__scatter_is_smooth(const qb_prep_options *options) {
    return options && options->scatter && strncmp(options->scatter, smooth, strlen(smooth)) == 0;
}

static bool wanted(const qb_scan_info *info, const qb_prep_options *options) {
    (void)info;
    return options && options->scatter && strcmp(options->scatter, "none") != 0 && !qb__scatter_is_smooth(options);
}

static double share_of(const char *text) {
    char *end;
    if (strncmp(text, constant, strlen(constant)) != 0) return -1;
    const double share = qb__strtod(text + strlen(constant), &end);
    return end == text + strlen(constant) || *end ? -1 : share;
}

static qb_status check_scan(const qb_scan_info *info, const qb_prep_options *options) {
    if (info->quantity == QB_LINE_INTEGRAL)
        return qb__fail(QB_BAD_ARGUMENT,
                        "--scatter %s: %s holds line integrals; scatter is taken off counts or transmissions",
                        options->scatter, info->path);
    if (info->quantity == QB_COUNTS && !info->flats)
        return qb__fail(QB_BAD_ARGUMENT, "--scatter %s: %s has no flats, whose share it is", options->scatter,
                        info->path);
    return QB_OK;
}

qb_status qb__scatter_smooth(const qb_scan_info *info, const qb_prep_options *options, qb__scatter *s) {
    const double MOST = 0.5, widest = (double)info->whole_columns / 2;
    const char *text = options->scatter + strlen(smooth);
    char *comma, *end = NULL;
    s->share = qb__strtod(text, &comma);
    const double sigma = *comma == ',' ? qb__strtod(comma + 1, &end) : 0;
    if (comma == text || *comma != ',' || end == comma + 1 || *end || !(s->share > 0 && s->share <= MOST))
        return qb__fail(QB_BAD_ARGUMENT, "--scatter %s: give smooth:A,SIGMA, A above 0 and up to %g, SIGMA in pixels",
                        options->scatter, MOST);
    if (!(sigma >= 1 && sigma <= widest))
        return qb__fail(QB_BAD_ARGUMENT, "--scatter %s: SIGMA is %g pixels: give 1 to %g, half of the detector",
                        options->scatter, sigma, widest);
    for (int i = 0; i < 2; i++) s->spread[i] = sigma / (info->image ? (double)info->bin[i] : 1);
    return check_scan(info, options);
}

static qb_status check(const qb_scan_info *info, const qb_prep_options *options) {
    const double share = share_of(options->scatter);
    if (share > 0 && share < 1) return check_scan(info, options);
    return qb__fail(QB_BAD_ARGUMENT,
                    "--scatter %s: give constant:S, S above 0 and below 1 of the open beam, or smooth:A,SIGMA",
                    options->scatter);
}

static unsigned count(const qb_scan_info *info, const qb_prep_options *options) {
    return wanted(info, options) && info->quantity != QB_COUNTS;
}

static qb_status measure(const qb__pass *pass) {
    qb__fields *fields = pass->fields;
    const float share = (float)share_of(pass->options->scatter);
    const bool made = fields->dark != NULL;
    QB__OR_RETURN(fields->rows ? qb__fields_make(fields, share, &fields->dark) : QB_OK);
    for (size_t i = 0; made && i < fields->rows * fields->columns; i++) {
        const float gain = fields->gain ? fields->gain[i] : 1;
        if (gain > 0) fields->dark[i] += share / gain;
    }
    snprintf(pass->note, pass->note_size, "%.4g of the open beam taken off", (double)share);
    return QB_OK;
}

const qb__step qb__step_scatter = {
    .name = "scatter", .scope = QB__SCOPE_SCAN, .wanted = wanted, .check = check, .fields = count, .measure = measure};
