/* SPDX-License-Identifier: MIT */
#ifndef QB_RECON_MBIR_MBIR_CONE_H
#define QB_RECON_MBIR_MBIR_CONE_H

#include "recon/iterative/iterative.h"
#include "recon/mbir/mbir.h"

/* A model-based reconstruction of any geometry: the cost of qb__mbir, minimised by recon/iterative/solver_mbir.c with the engines of the
 * iterative methods. */
typedef struct qb__mbir_cone {
    qb__iterative it; /* first: the engines' */
    qb__mbir m; /* what the options say of the cost, and what the data say of its scales; images and weights of files */
    qb_iterative_options options;
    qb__solve_model model;
    float *start; /* the image by filtered back-projection, [z][y][x]; NULL: none */
} qb__mbir_cone;

/* The start by qb fdk, in the volume's voxels, nothing below zero with positivity. cone->start stays NULL where the geometry is not for
 * that. (mbir_cone_start.c) */
qb_status qb__mbir_cone_start(qb__mbir_cone *cone, const qb__running *run);

#endif
