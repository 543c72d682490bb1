/* SPDX-License-Identifier: MIT */
#ifndef QB_RECON_RABBITCT_SYNTHETIC_H
#define QB_RECON_RABBITCT_SYNTHETIC_H

#include <stddef.h>

#include "base/pool.h"
#include "quickbeam/status.h"

/* A data set in RabbitCT's original layout that stands in for the real one: a C-arm's short scan of
 * 200 degrees whose distances, tilt, roll and principal point wobble a little from view to view, of
 * a Shepp-Logan head of 110 mm and four beads. Projections are exact line integrals, weighted
 * (cosine, Parker) and ramp-filtered; references are computed in double with the benchmark's own
 * rules. */
typedef struct qb__rabbitct_synthetic {
    size_t columns, rows, views; /* 1248 x 960, 496 as in the real one; the pitch follows columns */
    size_t reference;            /* references up to this L (128 ... 1024); 0 = none */
} qb__rabbitct_synthetic;

/* Writes the file under a temporary name first. Memory: 8 bytes a voxel of each reference. */
qb_status qb__rabbitct_synthesize(const char *path, const qb__rabbitct_synthetic *what,
                                  qb__pool *pool);

#endif
