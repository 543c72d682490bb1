/* SPDX-License-Identifier: MIT */
#ifndef QB_PREP_LEVELS_SAID_H
#define QB_PREP_LEVELS_SAID_H

#include "prep/line_ends.h"
#include "quickbeam/env.h"

/* What the levels of a few lines say of the scan's quantity: refused, or warned of. *top: what lines reach. opaque: the weights that
 * large line integrals leave nothing of; NULL: none. */
qb_status qb__levels_judge(const qb_scan_info *info, const qb__lines_look *lines, const char *opaque, double *top,
                           const qb_env *env);

#endif
