/* SPDX-License-Identifier: MIT */
#pragma once

#include "io/scan/flat_series.h"

/* Darks of several times: from then on views, and flats with known times, are read as float32, minus the difference
 * between the dark of their time and the mean dark. `flats` may have no frames. scan->dark must exist. */
qb_status qb__dark_series_load(qb_scan *scan, const qb__flats *darks, const qb__flats *flats,
                               const qb_scan_options *options, const qb_env *env);
