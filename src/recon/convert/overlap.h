/* SPDX-License-Identifier: MIT */
#ifndef QB_RECON_OVERLAP_H
#define QB_RECON_OVERLAP_H

#include "io/scan/scan.h"
#include "prep/prepare.h"

/* Number of columns that two cameras share, the second being to the right: where line integrals of some views and rows
 * agree best. QB_BAD_INPUT if they agree nowhere. */
qb_status qb__overlap_find(qb_scan *first, const qb__prepare *first_prepared, qb_scan *second,
                           const qb__prepare *second_prepared, double *overlap);

#endif
