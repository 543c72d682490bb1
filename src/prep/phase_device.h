/* SPDX-License-Identifier: MIT */
#pragma once

#include "device/device.h"
#include "kernels/filter/filter_device.h"
#include "prep/paganin.h"
#include "prep/phase_request.h"
#include "prep/scan_rows.h"

/* The filter of prep/phase.h on the job's device, with kernels/filter/phase_planes.h: numbers are uploaded, filtered
 * and downloaded while the next views are read.
 *
 * *device is NULL if the CPU filters: the user chose the CPU, no device is present, the work is too small, or the
 * device cannot do it; for a named device `why` gives the reason. seconds: forecast time on the CPU. near: corrections
 * by neighbours will be needed. Device memory is allocated at the first read. QB_NO_DEVICE if a named device is not
 * present. `scan` and `rows` must outlive it. */
qb_status qb__phase_device_create(const qb_scan *scan, const qb__scan_rows *rows, const qb__paganin *how,
                                  double seconds, bool near, const qb_env *env, char *why, size_t why_size,
                                  qb__phase_device **device);
void qb__phase_device_destroy(qb__phase_device *device);           /* NULL-safe */
const char *qb__phase_device_spec(const qb__phase_device *device); /* "cuda:0" */
/* name of the chip; NULL: it had too little memory */
const char *qb__phase_device_name(const qb__phase_device *device);
size_t qb__phase_device_rows(const qb__phase_device *device); /* number of rows filtered at a time */
/* Bytes held while reading: on the device, and in host memory. */
size_t qb__phase_device_bytes(const qb__phase_device *device);
size_t qb__phase_device_host_bytes(const qb__phase_device *device);

/* *done false: a device that was not named had too little memory, and the CPU must do this request and all others. */
qb_status qb__phase_device_read(qb__phase_device *device, const qb__phase_request *request, bool *done);

/* ---- filtered rows that stay on the device: each row is read and filtered once, then copied from there ---- */

/* These rows of all views should stay if the device has memory. After qb__phase_device_arm() the first read of any of
 * them filters all of them. Other rows are read as before. row0 == row1: no rows. */
void qb__phase_device_keep(qb__phase_device *device, size_t row0, size_t row1, const qb_env *env);
/* there: the device in question; NULL: any device. */
bool qb__phase_device_keeps(const qb__phase_device *device, const qb__device *there);
size_t qb__phase_device_stay(const qb__phase_device *device); /* number of rows */
/* on: from now on no correction changes; off: the kept rows are freed. */
void qb__phase_device_arm(qb__phase_device *device, bool on);
/* True while the thread below reads and filters. */
bool qb__phase_device_fills(qb__phase_device *device);
/* Ends the thread that reads and filters the kept rows: it uses the corrections of the job. Rows that it has not
 * filtered are then missing. */
void qb__phase_device_halt(qb__phase_device *device);
/* The memory and layout of the kept rows. A thread makes them with request->read; the call waits for those before `row`.
 * *memory NULL: too little memory. They stay until the device is disarmed. */
typedef struct qb__phase_kept {
    qb__device *device;
    qb__memory *memory; /* float [view][row - row0][column] */
    size_t row0, rows;
} qb__phase_kept;
/* The kept rows from `row` on, in the form for filters. */
static inline qb__device_rows qb__phase_kept_rows(const qb__phase_kept *kept, size_t row, size_t columns) {
    return (qb__device_rows){.memory = kept->memory,
                             .offset = (row - kept->row0) * columns * sizeof(float),
                             .view_stride = kept->rows * columns,
                             .slice_stride = columns};
}
qb_status qb__phase_device_kept(qb__phase_device *device, const qb__phase_request *request, size_t row,
                                qb__phase_kept *kept);
