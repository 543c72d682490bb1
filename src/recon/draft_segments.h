/* SPDX-License-Identifier: MIT */
#ifndef QB_RECON_DRAFT_SEGMENTS_H
#define QB_RECON_DRAFT_SEGMENTS_H

#include "prep/dense.h"
#include "quickbeam/project.h"

/* A draft of two materials becomes how much of each voxel is dense. A hardened draft shows too little of it, and metal less than bone: its
 * density is what makes measured line integrals of a few views agree best with those that a tube's beam shows behind both materials. */
typedef struct qb__segments {
    qb__dense *dense;
    const qb__dense_paths *paths; /* how rays lie on the detector */
    const qb_geometry *rays;
    const qb_grid *grid;
    double share;  /* of the voxels, that are dense */
    double scale;  /* factor of what the draft shows of the dense material */
    bool even;     /* dense parts are of one density each voxel of them */
    double misfit; /* rms of what line integrals differ by, over their rms */
} qb__segments;

/* volume[voxels], 1/mm, becomes the share of each voxel, which may be more than 1. */
qb_status qb__segments_find(qb__segments *segments, float *volume, const qb_env *env);

#endif
