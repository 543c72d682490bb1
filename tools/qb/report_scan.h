/* SPDX-License-Identifier: MIT */
#ifndef QB_REPORT_SCAN_H
#define QB_REPORT_SCAN_H

#include "cli.h"

/* report_scan.c: what the report shows of the scan: "scan", "steps" (pictures behind each step of preparation), "fields" (flats,
 * darks, mask), "mask" (counts by kind), "axis" (the curve) and "sums" (of each view's line integrals). */
void report_scan_add(cJSON *root, const cli *c, qb_scan *scan, const qb_geometry *geometry, const cJSON *plan,
                     const cJSON *done);

#endif
