/* SPDX-License-Identifier: MIT */
#ifndef QB_PREP_PHASE_H
#define QB_PREP_PHASE_H

#include "io/scan/scan.h"
#include "prep/paganin.h"
#include "prep/phase_device.h"

/* Phase retrieval for one job, smooth scatter, and images without distortion and shifts (prep/warp.h) before it: a scan of its own, which reads the
 * given one through the filters of --paganin and --scatter and hands out float32
 * counts or transmissions. It has the given scan's fields, angles and views; whoever reads it knows nothing of the filter. Zingers
 * are replaced before. */
typedef struct qb__phase qb__phase;

/* *phase is NULL where `prep` does not ask for it. geometry NULL: as qb__paganin_of has it. Tells env what it does. The given scan
 * must outlive it. */
qb_status qb__phase_create(qb_scan *scan, const qb_geometry *geometry, const qb_prep_options *prep, const qb_env *env,
                           qb__phase **phase);
void qb__phase_destroy(qb__phase *phase);                 /* NULL-safe */
qb_scan *qb__phase_scan(qb__phase *phase, qb_scan *scan); /* the job's; `scan` where phase is NULL */
const char *qb__phase_text(const qb__phase *phase);       /* what is done, for the plan; NULL: no phase is retrieved */
const char *qb__phase_scatter(const qb__phase *phase);    /* the same of scatter */
/* What filtering so many numbers adds to the time of reading on so many threads; 0 where phase is NULL. */
double qb__phase_seconds(const qb__phase *phase, double numbers, int threads);
const char *qb__phase_by(const qb__phase *phase);     /* the device that filters; NULL: the CPU */
size_t qb__phase_device_held(const qb__phase *phase); /* bytes of it */
size_t qb__phase_bytes(const qb__phase *phase);       /* held while reading; 0 where phase is NULL */

/* These rows of all views are to stay on the device that filters, if it has room; from qb__phase_arm() on, when no correction before the filter
 * changes any more, until that is taken back. NULL-safe. */
void qb__phase_keep(qb__phase *phase, size_t row0, size_t row1, const qb_env *env);
void qb__phase_arm(qb__phase *phase, bool on);
size_t qb__phase_stay(const qb__phase *phase); /* rows that are to stay */
/* Whether a job's scan is one whose rows are to stay on that device; and where they are, made now if they were not. */
bool qb__phase_keeps(const qb_scan *scan, const qb__device *there);
qb_status qb__phase_kept_of(qb_scan *scan, qb__phase_kept *kept);

#endif
