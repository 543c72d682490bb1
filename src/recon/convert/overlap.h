/* SPDX-License-Identifier: MIT */
#ifndef QB_RECON_OVERLAP_H
#define QB_RECON_OVERLAP_H

#include "io/scan/scan.h"
#include "prep/prepare.h"

/* How many columns two cameras share, of which the second stands to the right: where line integrals of some views and rows are most alike.
 * QB_BAD_INPUT where they are nowhere. */
qb_status qb__overlap_find(qb_scan *first, const qb__prepare *first_prepared, qb_scan *second,
                           const qb__prepare *second_prepared, double *overlap);

#endif
