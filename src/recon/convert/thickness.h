/* SPDX-License-Identifier: MIT */
#pragma once

#include "quickbeam/recon.h"

/* --thickness converts line integrals p of one material to lengths p / mu in mm. text: mu in 1/mm; beta:B, then mu = 4
 * pi B / lambda; or delta:D, then B = D / (delta/beta), with the ratio of --paganin. With text NULL *mu is 1. The
 * energy is that of `prep`, otherwise that of the scan. */
qb_status qb__thickness_of(const char *text, const qb_scan_info *info, const qb_prep_options *prep, double *mu);
