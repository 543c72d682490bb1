/* SPDX-License-Identifier: MIT */
#pragma once

#include "prep/step.h"

/* If phase retrieval left the rows of the scan on a device (prep/phase.h), they are prepared and their views averaged
 * there. Only the data needed to find rings are downloaded, with the same bits as from the CPU. */
typedef struct qb__rings_device qb__rings_device;

/* For `rows` rows at a time, in two buffers: one block is in transit while another is examined. group: number of views
 * averaged. *device is NULL if the rows of the scan are not on a device. */
qb_status qb__rings_device_create(const qb__pass *pass, size_t rows, size_t group, qb__rings_device **device);
void qb__rings_device_destroy(qb__rings_device *device); /* NULL-safe */
/* Starts the transfer of scan rows row <= r < row + rows into buffer `turn`, 0 or 1; waits until they are on the
 * device. */
qb_status qb__rings_device_begin(qb__rings_device *device, int turn, size_t row, size_t rows);
/* True while other rows are still read and filtered. */
bool qb__rings_device_fills(const qb__rings_device *device);
/* Waits for the transfer: lines[group of views][row][column] and change[row][column], valid until the buffer is used
 * again. */
qb_status qb__rings_device_end(qb__rings_device *device, int turn, const float **lines, const float **change);
