/* SPDX-License-Identifier: MIT */
/* Forecast time of finding the axis. Trial slices take most of it; the rest is reading rows and comparing views. */
#include <math.h>
#include <string.h>

#include "center/center.h"
#include "io/scan/scan.h"
#include "planner/rates.h"

enum { ROWS = 5 }; /* number of rows without --rows */

double qb__center_work(const qb_scan_info *info, const char *method) {
    const double EACH = 25; /* cost of preparing, cleaning and comparing one value, in updates of a trial slice */
    const size_t rows = info->rows < ROWS ? info->rows : ROWS;
    const bool trials =
        !method || strcmp(method, "auto") == 0 || qb__center_is_near(method) || strcmp(method, "sharpness") == 0;
    const double work = EACH * (double)rows * (double)info->views * (double)info->columns;
    if (!trials || info->columns < 16) return work;
    return work + qb__center_sharpness_work(rows, info->views, info->columns, qb__scan_span(info) > 1.5 * M_PI);
}

double qb__center_seconds(const qb_scan_info *info, const char *method, int threads) {
    return qb__center_work(info, method) / qb__rate(QB__RATE_AXIS, 2.5e9) / threads;
}
