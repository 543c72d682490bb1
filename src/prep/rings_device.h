/* SPDX-License-Identifier: MIT */
#ifndef QB_PREP_RINGS_DEVICE_H
#define QB_PREP_RINGS_DEVICE_H

#include "prep/step.h"

/* Where phase retrieval left the scan's rows on a device (prep/phase.h), they are prepared and their views averaged there, and only what rings are
 * looked for in comes down: the same bits as of the CPU. */
typedef struct qb__rings_device qb__rings_device;

/* For so many rows at a time, twice: one block is on its way while another is looked at. group: views that are averaged. *device NULL: the scan's rows are not there. */
qb_status qb__rings_device_create(const qb__pass *pass, size_t rows, size_t group, qb__rings_device **device);
void qb__rings_device_destroy(qb__rings_device *device); /* NULL-safe */
/* Rows row <= r < row + rows of the scan, on their way into place `turn`, 0 or 1. */
qb_status qb__rings_device_begin(qb__rings_device *device, int turn, size_t row, size_t rows);
/* Waits for them: lines[group of views][row][column] and change[row][column], until that place is used again. */
qb_status qb__rings_device_end(qb__rings_device *device, int turn, const float **lines, const float **change);

#endif
