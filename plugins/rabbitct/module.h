/* SPDX-License-Identifier: MIT */
#ifndef QB_RABBITCT_MODULE_H
#define QB_RABBITCT_MODULE_H

#include <stdbool.h>

/* The struct that the original runner shares with its modules. The interface gives only the order and the types of the
 * members; the names are those of its documentation. */
typedef struct qb_rabbitct_v2 {
    unsigned L, S_x, S_y; /* voxels on a side, columns, rows */
    double *A_n;          /* this view's matrix and image */
    float *I_n;
    float R_L, O_L; /* voxel, mm; coordinate of voxel 0, mm */
    float *f_L;     /* the volume */
    unsigned adv_numProjBuffers;
    float **adv_pProjBuffers;
    unsigned adv_N, adv_projNumber; /* number of all views, number of this view from 0 */
    double **adv_ppProjMatrixBuffers;
    unsigned adv_numAvailProjs, adv_firstProjOfSubset;
} qb_rabbitct_v2;

#define QB_RABBITCT_ENTRY __attribute__((visibility("default")))

QB_RABBITCT_ENTRY bool RCTLoadAlgorithm(qb_rabbitct_v2 *data);
QB_RABBITCT_ENTRY bool RCTAlgorithmBackprojection(qb_rabbitct_v2 *data);
QB_RABBITCT_ENTRY bool RCTFinishAlgorithm(qb_rabbitct_v2 *data);
QB_RABBITCT_ENTRY bool RCTUnloadAlgorithm(qb_rabbitct_v2 *data);

#endif
