/* SPDX-License-Identifier: MIT */
/* near:COLUMN: the axis is known roughly, and all finders search near that column only. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/status.h"
#include "base/warning.h"
#include "center/center.h"
#include "io/scan/scan.h"

qb_status qb__center_fail_outside(const char *text, const qb_scan_info *info) {
    return qb__fail(QB_BAD_ARGUMENT, "--center %s lies outside the detector's columns %g..%g", text,
                    qb__column_whole(info, 0), qb__column_whole(info, (double)info->columns - 1));
}

static const char prefix[] = "near:";
enum { LENGTH = sizeof prefix - 1 };

bool qb__center_is_near(const char *text) { return text && strncmp(text, prefix, LENGTH) == 0; }

qb_status qb__center_near_parse(const char *text, const qb_scan_info *info, double tilt, double *low, double *high) {
    const double LEAST = 8, PART = 0.02, last = (double)info->columns - 1;
    char *end;
    const double given = qb__strtod(text + LENGTH, &end);
    if (end == text + LENGTH || *end || !isfinite(given))
        return qb__fail(QB_BAD_ARGUMENT, "%s: give near:COLUMN, such as near:%g", text,
                        qb__column_whole(info, floor(last / 2)));
    const double column = qb__column_read(info, given + qb__axis_shift(info, tilt)),
                 reach = fmax(LEAST, PART * (double)info->columns);
    if (!(column >= 0 && column <= last)) return qb__center_fail_outside(text, info);
    *low = fmax(column - reach, 0);
    *high = fmin(column + reach, last);
    return QB_OK;
}

void qb__center_judge_edge(const qb_scan_info *info, double low, double high, qb_center_result *result) {
    const double CLOSE = 0.5, last = (double)info->columns - 1;
    const bool left = low > 0 && result->column < low + CLOSE, right = high < last && result->column > high - CLOSE;
    if (!left && !right) return;
    snprintf(result->warning, sizeof result->warning,
             "the best axis, column %.2f, lies at the edge of the searched columns %g to %g: search others, or give "
             "--center auto" QB__CODE("center-edge"),
             qb__column_whole(info, result->column), qb__column_whole(info, low), qb__column_whole(info, high));
}
