/* SPDX-License-Identifier: MIT */
#pragma once

#include "prep/dense.h"
#include "quickbeam/project.h"

/* Converts a draft volume of two materials to the dense share of each voxel. Beam hardening makes the draft too low in
 * dense parts, more for metal than for bone. So the density is the one for which the tube's spectrum behind both
 * materials explains the measured line integrals of a few views best. */
typedef struct qb__segments {
    qb__dense *dense;
    const qb__dense_paths *paths; /* paths of rays on the detector */
    const qb_geometry *rays;
    const qb_grid *grid;
    double share;  /* share of dense voxels */
    double scale;  /* factor for the dense material's values in the draft */
    bool even;     /* all dense voxels have one density */
    double misfit; /* rms of the differences of line integrals, relative to their rms */
} qb__segments;

/* volume[voxels], 1/mm, becomes the dense share of each voxel, which may exceed 1. */
qb_status qb__segments_find(qb__segments *segments, float *volume, const qb_env *env);
