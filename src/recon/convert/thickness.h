/* SPDX-License-Identifier: MIT */
#ifndef QB_RECON_THICKNESS_H
#define QB_RECON_THICKNESS_H

#include "quickbeam/recon.h"

/* --thickness: line integrals p of one material are p / mu mm of it. text: mu in 1/mm; beta:B, mu = 4 pi B / lambda; or
 * delta:D, B = D / (delta/beta) by --paganin. text NULL: *mu is 1. The energy is that of `prep`, else the scan's. */
qb_status qb__thickness_of(const char *text, const qb_scan_info *info, const qb_prep_options *prep, double *mu);

#endif
