/* SPDX-License-Identifier: MIT */
#ifndef QB_PREP_NEIGHBOURS_H
#define QB_PREP_NEIGHBOURS_H

#include "io/scan/scan.h"
#include "kernels/filter/near_rows.h"
#include "prep/prep.h"
#include "prep/step.h"

/* The door through which detector rows come to preparation while steps of scope QB__SCOPE_VIEW are wanted. It stands in
 * qb_scan_read(): it reads the rows that are asked for and `margin` rows above and below them, as far as the detector has them,
 * lets the steps correct them, and hands out numbers of the scan's type. So a row has the same numbers whatever else was read with
 * it, and the fields, the filter and every engine behind the door know nothing of it. */
typedef struct qb__neighbours qb__neighbours;

/* Bytes that a door to so many rows holds, reading included; 0 where no step is wanted. */
size_t qb__neighbours_bytes(const qb_scan_info *info, const qb_prep_options *options, size_t rows);
/* Puts one step more into *door, behind those that are there already; *door NULL: makes the door and puts it in front of the scan.
 * QB_BAD_INPUT for line integrals. `options` must outlive the door. */
qb_status qb__neighbours_add(qb_scan *scan, const qb_prep_options *options, const qb__step *step,
                             qb__neighbours **door);
/* Takes the door away from the scan. NULL-safe. */
void qb__neighbours_destroy(qb__neighbours *door);
/* From now on: what was read before was only looked at, and comes again. */
void qb__neighbours_recount(qb__neighbours *door);
/* Pixels that each step has changed in the rows that were handed out, in the order of steps.c, and, last, all pixels of
 * these rows; returns how many steps there are. NULL: 0. */
int qb__neighbours_changed(const qb__neighbours *door, uint64_t changed[QB__PREP_STEPS + 1]);
/* Rows above and below that a device has to read to correct by itself; 0: no step is wanted, or it is done by the door alone.
 * all_views: the device has all views of a row at once. */
size_t qb__neighbours_on_device(const qb_scan_info *info, const qb_prep_options *options, bool all_views);
/* By how many columns details move from view to view, where that is too far for steps by views everywhere; else 0. */
double qb__near_too_far(const qb_scan_info *info);
/* What the device does then. Its fields are the door's. */
qb__near_plan qb__neighbours_plan(const qb__neighbours *door);
/* What it has changed, of so many pixels; all: of those that stay corrected, and are not counted again. */
void qb__neighbours_count(qb__neighbours *door, uint64_t changed, uint64_t pixels, bool all);
const qb__step *qb__neighbours_step(const qb__neighbours *door, int number);

#endif
