/* SPDX-License-Identifier: MIT */
#ifndef QB_PREP_SCATTER_H
#define QB_PREP_SCATTER_H

#include <stdbool.h>

#include "quickbeam/recon.h"
#include "quickbeam/scan.h"

/* --scatter smooth:A,SIGMA. Of what an object takes out of the beam, a share A reaches the detector, spread by a Gaussian G of SIGMA
 * pixels. Behind an object of transmission P the detector sees T,
 *   1 - T = (1 - P) * (1 - A G)      (* convolves, 1 is a point)
 * so that 1 - P is 1 - T behind the filter 1 / (1 - A G(f)). It is a model of convolution as of Love and Kruger (Med. Phys. 14, 178,
 * 1987), of what is lost instead of what arrives, so that open beam stays 1. */
typedef struct qb__scatter {
    double share, spread[2]; /* pixels along a row and a column, of what is read */
} qb__scatter;

bool qb__scatter_is_smooth(const qb_prep_options *options);
/* QB_BAD_ARGUMENT. */
qb_status qb__scatter_smooth(const qb_scan_info *info, const qb_prep_options *options, qb__scatter *scatter);

#endif
