/* SPDX-License-Identifier: MIT */
#pragma once

#include "prep/row_sample.h"
#include "prep/line_levels.h"

/* Single bright pixels of levels[QB__SAMPLE_LINES] are compared with the same position in the neighbouring views and
 * rows: if it is bright there too, it is a detail of the object. Such spikes are removed. */
qb_status qb__spikes_confirm(qb_scan *scan, qb__line_levels *levels);
