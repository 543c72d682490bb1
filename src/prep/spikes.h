/* SPDX-License-Identifier: MIT */
#ifndef QB_PREP_SPIKES_H
#define QB_PREP_SPIKES_H

#include "prep/row_sample.h"
#include "prep/line_levels.h"

/* Single bright pixels of levels[QB__SAMPLE_LINES] are compared with the same place in the views and rows next to them: what is bright
 * there, too, is a detail of the object. Such spikes are taken away. */
qb_status qb__spikes_confirm(qb_scan *scan, qb__line_levels *levels);

#endif
