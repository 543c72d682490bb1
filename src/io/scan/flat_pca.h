/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_FLAT_PCA_H
#define QB_IO_FLAT_PCA_H

#include "io/scan/drift.h"
#include "io/scan/scan.h"

/* The principal components of flats as modes of `drift`, which is empty, and the brightness of each flat over that of the mean
 * flat, level[taken->count]. scan->flat and scan->dark are there. */
qb_status qb__flat_pca_modes(const qb_scan *scan, const qb__frames *taken, const qb_env *env, qb__drift *drift,
                             double *level);
/* Each view's part of the modes, times weight[view][0], which is there. */
qb_status qb__flat_pca_weigh(qb_scan *scan, const qb_env *env);

#endif
