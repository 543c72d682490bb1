/* SPDX-License-Identifier: MIT */
#ifndef QB_RECON_MBIR_COARSE_H
#define QB_RECON_MBIR_COARSE_H

#include "recon/mbir/mbir.h"

/* --coarse N: a slab first descends on voxels of 2^N times the side, until little changes and the cost falls little, then on ones of
 * half that side, begun with its image, and so on to the volume's own (svmbir's max_resolutions). What few views, or views of a part of the
 * turn, leave open over long distances is settled where an equit costs a fourth or less. Slices, views and columns are the volume's; sigma_y
 * grows by sqrt 2 a level, as by voxels that are given as large. A level may take 2^level times as many equits as the volume: at most as
 * long as that all together. */

/* The grid of a level; 0 = the volume's own. */
qb_grid qb__mbir_grid_of(const qb__mbir *m, size_t level);
/* After grid, start, images and kernel. */
qb_status qb__mbir_coarse_decide(qb__mbir *m);
void qb__mbir_coarse_release(qb__mbir *m);
/* Bytes of the largest stack that comes before the volume's, and of the image that this begins with. */
size_t qb__mbir_coarse_stack_bytes(const qb__mbir *m, size_t slices, int threads);
size_t qb__mbir_coarse_image_bytes(const qb__mbir *m, size_t slices);
/* The most that any level may take, the volume's own included. */
int qb__mbir_coarse_equits(const qb__mbir *m);
/* What a slab's levels came to, the finest first. */
typedef struct qb__mbir_came_to {
    double equits, rest; /* rest: as a trace's */
    const char *stopped;
} qb__mbir_came_to;

typedef struct qb__mbir_coarse {
    /* Room for slices on a level's voxels, from whoever descends on the volume's. */
    qb_status (*stack)(void *self, qb__system_matrix *matrix, const qb__icd_settings *settings, size_t slices,
                       qb__icd_stack **stack);
    void *self;
    const qb__icd_settings *settings; /* the volume's, with sigma_x and sigma_y */
    const qb_env *env;
    qb__pool *pool;
    size_t slices;
    qb__icd_trace *trace; /* room, as for the volume's own */
    qb__mbir_came_to came[QB__MBIR_LEVELS];
} qb__mbir_coarse;

/* Of a slab's lines and weights [slice][y][x] for the volume's own descent to begin with; *image: qb__free it. */
qb_status qb__mbir_coarse_run(qb__mbir *m, qb__mbir_coarse *c, const qb__icd_given *given, float **image);

#endif
