/* SPDX-License-Identifier: MIT */
#pragma once

#include "io/scan/scan.h"
#include "kernels/filter/near_rows.h"
#include "prep/prep.h"
#include "prep/step.h"

/* Corrections by neighbouring pixels: steps of scope QB__SCOPE_VIEW. If such steps are wanted, this object, set as the scan's
 * reader of corrected rows, reads the requested rows and `margin` more rows above and below them, as far as the detector has
 * them, lets the steps correct the rows, and returns numbers of the scan's type. So a row has the same numbers whatever
 * else is read with it, and the fields, the filter and the engines do not depend on these corrections. */
typedef struct qb__neighbours qb__neighbours;

/* Bytes that are held for this number of rows, including reading; 0 if no step is wanted. */
size_t qb__neighbours_bytes(const qb_scan_info *info, const qb_prep_options *options, size_t rows);
/* Adds a step to *neighbours, after the existing ones. If *neighbours is NULL, creates it and sets it as the
 * scan's reader of corrected rows. QB_BAD_INPUT for line integrals. `options` must outlive it. */
qb_status qb__neighbours_add(qb_scan *scan, const qb_prep_options *options, const qb__step *step,
                             qb__neighbours **neighbours);
/* Removes it from the scan and frees it. NULL-safe. */
void qb__neighbours_destroy(qb__neighbours *neighbours);
/* Resets the counts: earlier reads were only checks, and their rows are read again. */
void qb__neighbours_recount(qb__neighbours *neighbours);
/* Number of pixels that each step has changed in the rows read, in the order of steps.c, and at the end the number of
 * all pixels of these rows. Returns the number of steps. NULL: 0. */
int qb__neighbours_changed(const qb__neighbours *neighbours, uint64_t changed[QB__PREP_STEPS + 1]);
/* Who has changed them: "CPU" or "device". */
const char *qb__neighbours_by(const qb__neighbours *neighbours);
/* Number of rows above and below that a device must read to do the correction itself; 0 if no step is wanted, or if
 * only the CPU can do it. all_views: the device has all views of a row at once. */
size_t qb__neighbours_on_device(const qb_scan_info *info, const qb_prep_options *options, bool all_views);
/* Number of columns by which details move from view to view if this is too large everywhere for corrections by views;
 * else 0. */
double qb__near_too_far(const qb_scan_info *info);
/* Description of the correction for a device. Its fields belong to `neighbours`. */
qb__near_plan qb__neighbours_plan(const qb__neighbours *neighbours);
/* Adds the number of pixels that a device has changed, out of `pixels`. all: these pixels stay corrected and are not
 * counted again. */
void qb__neighbours_count(qb__neighbours *neighbours, uint64_t changed, uint64_t pixels, bool all);
const qb__step *qb__neighbours_step(const qb__neighbours *neighbours, int number);
