/* SPDX-License-Identifier: MIT */
#pragma once

#include "cli.h"

/* report_scan.c: adds the part of the report about the scan: "scan", "steps" (pictures after each step of the
 * preparation), "fields" (flats, darks, mask), "mask" (counts by kind), "axis" (mismatch for each column) and "sums"
 * (sum of the line integrals of each view). */
void report_scan_add(cJSON *root, const cli *c, qb_scan *scan, const qb_geometry *geometry, const cJSON *plan,
                     const cJSON *done);

/* report_drawing.c: adds "drawing", the geometry that qb info --preview draws, with the axis and the volume of this
 * job. */
void report_drawing_add(cJSON *root, qb_scan *scan, const qb_geometry *given, const cJSON *plan, const cJSON *done);
