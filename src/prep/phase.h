/* SPDX-License-Identifier: MIT */
#pragma once

#include "prep/phase_device.h"

/* Phase retrieval, smooth scatter correction, and before them images without distortion and shifts (prep/warp.h), for
 * one job. It provides a scan of its own, which reads the given scan through the filters of --paganin and --scatter and
 * returns float32 counts or transmissions. This scan has the fields, angles and views of the given one, so its readers
 * do not depend on the filter. Zingers are corrected before the filter. */
typedef struct qb__phase qb__phase;

/* *phase is NULL if `prep` does not ask for it. geometry NULL: see qb__paganin_of. Logs what is done to env. The given
 * scan must outlive it. */
qb_status qb__phase_create(qb_scan *scan, const qb_geometry *geometry, const qb_prep_options *prep, const qb_env *env,
                           qb__phase **phase);
void qb__phase_destroy(qb__phase *phase);                 /* NULL-safe */
qb_scan *qb__phase_scan(qb__phase *phase, qb_scan *scan); /* the job's scan; `scan` if phase is NULL */
const char *qb__phase_text(const qb__phase *phase);       /* text for the plan; NULL: no phase retrieval */
const char *qb__phase_scatter(const qb__phase *phase);    /* text for the plan; NULL: no scatter correction */
/* Seconds that filtering adds to reading this number of values with these threads; 0 if phase is NULL. */
double qb__phase_seconds(const qb__phase *phase, double numbers, int threads);
const char *qb__phase_by(const qb__phase *phase);     /* name of the device that filters; NULL: the CPU */
size_t qb__phase_device_held(const qb__phase *phase); /* bytes held on that device */
size_t qb__phase_bytes(const qb__phase *phase);       /* bytes held while reading; 0 if phase is NULL */

/* true if the CPU filters the rows of a job's scan, and does nothing else to its images. */
bool qb__phase_by_cpu(const qb_scan *scan);

/* qb__phase_keep: these rows of all views should stay on the device that filters, if it has memory. qb__phase_arm: from
 * `on` until `off` no correction before the filter changes, so rows may be kept. Both are NULL-safe. */
void qb__phase_keep(qb__phase *phase, size_t row0, size_t row1, const qb_env *env);
void qb__phase_arm(qb__phase *phase, bool on);
size_t qb__phase_stay(const qb__phase *phase); /* number of rows that should stay */
/* qb__phase_keeps: true if rows of a job's scan should stay on that device. qb__phase_kept_of: where they are; a thread
 * filters them if that has not been done, and those before `row` are there on return. qb__phase_fills: that thread works;
 * qb__phase_halt ends it. */
bool qb__phase_keeps(const qb_scan *scan, const qb__device *there);
qb_status qb__phase_kept_of(qb_scan *scan, size_t row, qb__phase_kept *kept);
bool qb__phase_fills(qb_scan *scan);
void qb__phase_halt(qb_scan *scan);
