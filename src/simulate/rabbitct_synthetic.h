/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/pool.h"
#include "quickbeam/env.h"
#include "quickbeam/status.h"

/* A synthetic RabbitCT data set: a short scan of 200 degrees of a C-arm, whose distances, tilt, roll and principal
 * point vary a little from view to view, of a Shepp-Logan head of 110 mm and four beads. Projections are exact line
 * integrals, weighted (cosine, Parker) and ramp-filtered; references are computed in double precision by the rules of
 * the benchmark. */
typedef struct qb__rabbitct_synthetic {
    size_t columns, rows, views; /* 1248 x 960, 496 as in the real data; the pixel size follows from the columns */
    size_t reference;            /* references up to this L (128 ... 1024); 0 = none */
    bool folder;                 /* the newer layout, a folder, instead of the original file */
} qb__rabbitct_synthetic;

/* Files appear when all is written. Memory: 8 bytes per voxel of each reference. `env` may be NULL. */
qb_status qb__rabbitct_synthesize(const char *path, const qb__rabbitct_synthetic *what, qb__pool *pool,
                                  const qb_env *env);
