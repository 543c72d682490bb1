/* SPDX-License-Identifier: MIT */
#ifndef QB_RECON_MBIR_MBIR_ANY_H
#define QB_RECON_MBIR_MBIR_ANY_H

#include "quickbeam/recon.h"

/* Whether rays leave their planes, so that a coordinate descent has no slices. A kernel of the projections is named to have a fan or a
 * parallel beam done as a cone is, too. `geometry` may be NULL: a parallel beam. */
bool qb__mbir_is_any(const qb_geometry *geometry, const qb_mbir_options *options);

#endif
