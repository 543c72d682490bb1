/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_DARK_SERIES_H
#define QB_IO_DARK_SERIES_H

#include "io/scan/flat_series.h"

/* Darks that were taken at several times: from then on views, and flats whose time is known, are read as float32, with what the dark of
 * their time has more than the mean dark taken off. `flats` may have no frames. scan->dark is there. */
qb_status qb__dark_series_load(qb_scan *scan, const qb__flats *darks, const qb__flats *flats,
                               const qb_scan_options *options, const qb_env *env);

#endif
