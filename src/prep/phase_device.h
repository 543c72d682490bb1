/* SPDX-License-Identifier: MIT */
#ifndef QB_PREP_PHASE_DEVICE_H
#define QB_PREP_PHASE_DEVICE_H

#include "device/device.h"
#include "io/scan/scan.h"
#include "kernels/filter/filter_device.h"
#include "prep/neighbours.h"
#include "prep/paganin.h"
#include "prep/scan_rows.h"

/* The filter of prep/phase.h on the job's device, by kernels/filter/phase_planes.h: numbers go up, filtered ones come down, while the
 * next views are read. */
typedef struct qb__phase_device qb__phase_device;

/* *device is NULL where the CPU filters: it is asked for, no device is there, the work is too small for one, or the device cannot; `why`
 * says so where somebody named a device. seconds: what the CPU would take. near: there will be such steps. Nothing is held on the device before the first read.
 * QB_NO_DEVICE for a named device that is not there. `scan` and `rows` must outlive it. */
qb_status qb__phase_device_create(const qb_scan *scan, const qb__scan_rows *rows, const qb__paganin *how,
                                  double seconds, bool near, const qb_env *env, char *why, size_t why_size,
                                  qb__phase_device **device);
void qb__phase_device_destroy(qb__phase_device *device);           /* NULL-safe */
const char *qb__phase_device_spec(const qb__phase_device *device); /* "cuda:0" */
const char *qb__phase_device_name(const qb__phase_device *device); /* the chip's; NULL: it had no room */
size_t qb__phase_device_rows(const qb__phase_device *device);      /* filtered at a time */
/* Held while reading: on the device, and of the host's memory. */
size_t qb__phase_device_bytes(const qb__phase_device *device);
size_t qb__phase_device_host_bytes(const qb__phase_device *device);

/* Rows first <= row < end of views view0 <= v < view1 to out. */
typedef struct qb__phase_request {
    size_t view0, view1, first, end;
    float *out;
    size_t threads;
    qb__neighbours *near; /* steps that the device does by itself, before; NULL: none */
    /* Numbers of rows row0 <= row < row1, with `near` as they are stored; of those, first <= row < end are asked for. */
    qb_status (*read)(void *self, size_t view0, size_t view1, size_t row0, size_t row1,
                      const struct qb__phase_request *of, void *raw);
    void *self;
} qb__phase_request;
/* *done false: a device that nobody named had no room, and the CPU must do this and all others. */
qb_status qb__phase_device_read(qb__phase_device *device, const qb__phase_request *request, bool *done);

/* ---- rows that stay on the device, filtered: each is read and filtered once, and comes from there whoever asks ---- */

/* These of all views are to stay, if the device has room for them: from qb__phase_device_arm() on the first read of any makes all, and those outside
 * are read as before. None are where row0 == row1. */
void qb__phase_device_keep(qb__phase_device *device, size_t row0, size_t row1, const qb_env *env);
/* there NULL: on any device. */
bool qb__phase_device_keeps(const qb__phase_device *device, const qb__device *there);
size_t qb__phase_device_stay(const qb__phase_device *device); /* how many */
/* on: from now on no correction changes any more; off: what is kept is freed. */
void qb__phase_device_arm(qb__phase_device *device, bool on);
/* The memory and how its rows stand, made if it was not, by request->read, with rows request->first to request->end looked for; *memory NULL: there was no
 * room. It stays until the device is disarmed. */
typedef struct qb__phase_kept {
    qb__device *device;
    qb__memory *memory; /* float [view][row - row0][column] */
    size_t row0, rows;
} qb__phase_kept;
/* From that row on, as filters take them. */
static inline qb__device_rows qb__phase_kept_rows(const qb__phase_kept *kept, size_t row, size_t columns) {
    return (qb__device_rows){.memory = kept->memory,
                             .offset = (row - kept->row0) * columns * sizeof(float),
                             .view_stride = kept->rows * columns,
                             .slice_stride = columns};
}
qb_status qb__phase_device_kept(qb__phase_device *device, const qb__phase_request *request, qb__phase_kept *kept);

#endif
