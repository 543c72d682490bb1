/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "quickbeam/recon.h"
#include "quickbeam/scan.h"

/* --scatter smooth:A,SIGMA. A share A of what an object removes from the beam reaches the detector, spread by a
 * Gaussian G of SIGMA pixels. Behind an object of transmission P the detector sees T,
 *   1 - T = (1 - P) * (1 - A G)      (* is convolution, 1 is a point)
 * so 1 - P is 1 - T filtered by 1 / (1 - A G(f)). It is a convolution model as in Love and Kruger (Med. Phys. 14, 178,
 * 1987), but of the loss instead of the signal, so that the open beam stays 1. */
typedef struct qb__scatter {
    double share, spread[2]; /* pixels along a row and a column, of the data read */
} qb__scatter;

bool qb__scatter_is_smooth(const qb_prep_options *options);
/* QB_BAD_ARGUMENT. */
qb_status qb__scatter_smooth(const qb_scan_info *info, const qb_prep_options *options, qb__scatter *scatter);
