/* SPDX-License-Identifier: MIT */
#pragma once

#include "quickbeam/recon.h"

/* True if rays leave their planes, so that coordinate descent by slices is impossible. If a projection kernel is named,
 * a fan or a parallel beam is computed like a cone, too. `geometry` may be NULL: a parallel beam. */
bool qb__mbir_is_any(const qb_geometry *geometry, const qb_mbir_options *options);
