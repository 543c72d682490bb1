/* SPDX-License-Identifier: MIT */
#pragma once

#include "io/scan/drift.h"
#include "io/scan/scan.h"

/* The principal components of flats as modes of `drift`, which must be empty, and the brightness of each flat relative
 * to the mean flat, level[taken->count]. scan->flat and scan->dark must exist. */
qb_status qb__flat_pca_modes(const qb_scan *scan, const qb__frames *taken, const qb_env *env, qb__drift *drift,
                             double *level);
/* The weights of the modes for each view, times weight[view][0], which must exist. */
qb_status qb__flat_pca_weigh(qb_scan *scan, const qb_env *env);
