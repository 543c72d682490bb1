/* SPDX-License-Identifier: MIT */
#pragma once

#include "recon/mbir/mbir.h"

/* --coarse N: a slab first descends on voxels of 2^N times the side, until the changes and the decrease of the cost are
 * small. Then it descends on voxels of half that side, starting with that image, and so on to the volume's own voxels
 * (svmbir's max_resolutions). Structures over long distances, which few or limited views determine poorly, converge on
 * levels where an equit costs a fourth or less. Slices, views and columns are those of the volume; sigma_y grows by
 * sqrt 2 per level, as it would for voxels of that size. A level may take 2^level times as many equits as the volume,
 * and then takes at most as long as the volume. */

/* The grid of a level; 0 = the volume's own. */
qb_grid qb__mbir_grid_of(const qb__mbir *m, size_t level);
/* Decide the levels, after grid, start, images and kernel. */
qb_status qb__mbir_coarse_decide(qb__mbir *m);
void qb__mbir_coarse_release(qb__mbir *m);
/* Bytes of the largest stack of the coarser levels, and of the start image of the volume. */
size_t qb__mbir_coarse_stack_bytes(const qb__mbir *m, size_t slices, int threads);
size_t qb__mbir_coarse_image_bytes(const qb__mbir *m, size_t slices);
/* Upper limit of the equits of any level, including the volume's own. */
int qb__mbir_coarse_equits(const qb__mbir *m);
/* Results of a slab's levels, the finest first. */
typedef struct qb__mbir_came_to {
    double equits, rest; /* rest: forecast decrease of the cost, as in qb__icd_trace */
    const char *stopped;
} qb__mbir_came_to;

typedef struct qb__mbir_coarse {
    /* Make the stack of a level; given by the engine that descends on the volume's voxels. */
    qb_status (*stack)(void *self, qb__system_matrix *matrix, const qb__icd_settings *settings, size_t slices,
                       qb__icd_stack **stack);
    void *self;
    const qb__icd_settings *settings; /* settings of the volume, with sigma_x and sigma_y */
    const qb_env *env;
    qb__pool *pool;
    size_t slices;
    qb__icd_trace *trace; /* buffer as large as the volume's own trace */
    qb__mbir_came_to came[QB__MBIR_LEVELS];
} qb__mbir_coarse;

/* Make the start image for the volume's own descent, from a slab's line integrals and weights. *image is [slice][y][x];
 * release it with qb__free. */
qb_status qb__mbir_coarse_run(qb__mbir *m, qb__mbir_coarse *c, const qb__icd_given *given, float **image);
