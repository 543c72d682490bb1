/* SPDX-License-Identifier: MIT */
#pragma once

#include "recon/iterative/iterative.h"
#include "recon/mbir/mbir.h"

/* State of the checkpoints; written by mbir_cone_keep.c. */
typedef struct qb__mbir_keep {
    struct qb__mbir_cone *cone;
    const float *lines; /* line integrals to solve for, of `views` views */
    size_t views;
    const char *kernel;
    char *job; /* identity of the job, as in qb__checkpoint_slab; NULL: not needed yet */
    qb__icd_trace *trace;
} qb__mbir_keep;

/* A model-based reconstruction of any geometry: the cost of qb__mbir, minimised by recon/iterative/solver_mbir.c with
 * the engines of the iterative methods. */
typedef struct qb__mbir_cone {
    qb__iterative it; /* must be the first member, because the engines expect it */
    /* terms of the cost, scales found in the data, and files of images and weights */
    qb__mbir m;
    qb_iterative_options options;
    qb__solve_model model;
    qb__mbir_keep keep;
    qb__iterative_link link; /* NCCL opens while the start is made */
    float *start;            /* the image by filtered back-projection, [z][y][x]; NULL: none */
    double start_seconds;    /* time to make `start` */
} qb__mbir_cone;

/* Make the start image by qb fdk in the volume's voxels, without negative values if the option asks for that.
 * cone->start stays NULL if the geometry is not suitable (mbir_cone_start.c). */
qb_status qb__mbir_cone_start(qb__mbir_cone *cone, const qb__running *run);

/* Open and use checkpoints, as in qb__iterative.keeper, and close them. named: the output has got its final name. */
qb_status qb__mbir_cone_keep_open(qb__mbir_cone *cone, const qb__running *run);
void qb__mbir_cone_keeper(qb__iterative_run *r, const qb__linear *a, qb__solve_keep *keep);
void qb__mbir_cone_keep_close(qb__mbir_cone *cone, bool named);
