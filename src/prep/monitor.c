/* SPDX-License-Identifier: MIT */
/* The pass that takes each view's intensity from the scan's beam monitor. If --air is given, that measures it in the
 * views themselves, more accurately. */
#include <stdio.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "io/scan/drift.h"
#include "io/scan/scan.h"
#include "prep/step.h"

static bool wanted(const qb_scan_info *info, const qb_prep_options *options) {
    return info->intensity && info->quantity == QB_COUNTS && info->flats && options && !options->air &&
           options->monitor == QB_MONITOR_USE;
}

static qb_status measure(const qb__pass *pass) {
    const qb_scan_info *info = qb_scan_describe(pass->scan);
    QB__OR_RETURN(qb__alloc(info->views, sizeof(float), &pass->fields->air));
    const qb__drift *drift = pass->scan->drift; /* interpolated flats follow the beam already, as the monitor states */
    const bool twice = drift && pass->scan->parts.intensity_mean; /* no monitor tells how much of it they follow */
    for (size_t v = 0; v < info->views; v++)
        pass->fields->air[v] = twice ? 1 : (float)info->intensity[v] / (drift ? drift->monitor[v] : 1);
    if (twice) {
        qb__info(pass->env, "the flats follow the beam between their times: the counts of %s are not used",
                 info->intensity_from);
        return QB_OK;
    }
    const char *reference = pass->scan->parts.intensity_mean ? "the mean of the views" : "that of the flats";
    snprintf(pass->note, pass->note_size, "%.100s, %.4g to %.4g times %s", info->intensity_from,
             info->intensity_range[0], info->intensity_range[1], reference);
    qb__info(pass->env, "the beam's intensity by %s: %.4g to %.4g times %s, divided out", info->intensity_from,
             info->intensity_range[0], info->intensity_range[1], reference);
    return QB_OK;
}

const qb__step qb__step_monitor = {.name = "monitor", .scope = QB__SCOPE_SCAN, .wanted = wanted, .measure = measure};
