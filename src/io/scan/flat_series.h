/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_FLAT_SERIES_H
#define QB_IO_FLAT_SERIES_H

#include "io/scan/drift.h"
#include "io/scan/field_mean.h"
#include "io/scan/field_times.h"

/* Of such frames of a source, [row][column]; *lowest: the least of all values and itself. */
qb_status qb__frames_mean(const qb__frames *taken, bool lines, qb_field_average how, const qb_env *env, float *mean,
                          qb__field_found *found, float *lowest);
/* Their median in place of the mean that `found` is of. */
qb_status qb__frames_median(const qb__frames *taken, bool lines, const qb_env *env, float *median,
                            qb__field_found *found);
/* scan->drift by --flat-fields, but for its weights; scan->flat and scan->dark are there. */
qb_status qb__flat_series_load(qb_scan *scan, const qb__flats *flats, const qb_scan_options *options,
                               const qb_env *env);

#endif
