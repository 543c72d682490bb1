/* SPDX-License-Identifier: MIT */
/* How wide rows are: as measured, or, of a full turn about an axis to one side, as the wide side goes. */
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/status.h"
#include "recon/fbp/fbp_plan.h"

qb_status qb__fbp_decide_turn(qb__fbp *fbp) {
    const qb_scan_info *info = fbp->info;
    double last = fbp->center + (fbp->sweep ? (double)(fbp->sweep_count - 1) * fbp->sweep_step : 0);
    qb_status status = qb__turns_fully(info->views, info->angles, &fbp->full_turn);
    if (status != QB_OK) return status;
    fbp->fan = (qb__half_fan){.columns = info->columns};
    if (fbp->full_turn && !isnan(fbp->center)) /* else when it is found */
        fbp->fan = qb__half_fan_of(info->columns, fbp->center, last);
    fbp->width = fbp->fan.before + info->columns + fbp->fan.after;
    return fbp->fan.used ? qb__alloc(info->columns, sizeof *fbp->share, &fbp->share) : QB_OK;
}

void qb__fbp_describe_turn(const qb__fbp *fbp, char *text, size_t size) {
    const qb__half_fan *fan = &fbp->fan;
    double end = (double)fan->columns - 1, narrow = fmin(fbp->center, end - fbp->center);
    text[0] = 0;
    if (!fan->used) return;
    if (fbp->sweep)
        snprintf(text, size, "full turn, the axis to one side: rows of %zu columns go on to %zu",
                 fan->columns, fbp->width);
    else
        snprintf(text, size,
                 "full turn, the axis at column %.2f of %zu: opposite views share the %.0f columns "
                 "that both saw, and rows go on by %zu columns to the %s",
                 fbp->center, fan->columns, floor(2 * narrow) + 1, fan->before + fan->after,
                 fan->before ? "left" : "right");
}
