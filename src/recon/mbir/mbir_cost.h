/* SPDX-License-Identifier: MIT */
#pragma once

#include "recon/mbir/mbir.h"

/* Seconds of a descent on the CPU, from the rates of planner/rates.h: for making a matrix that is kept, for the start
 * of a slab, and for an equit of a slab. Neighbouring slices in the prior are updated in turns, so some threads have no
 * group (icd_stack.h). */
typedef struct qb__mbir_cost {
    double matrix, start, equit;
} qb__mbir_cost;
qb__mbir_cost qb__mbir_cost_of(const qb__mbir *m, qb_mbir_matrix kind, size_t slices, int threads);
/* Seconds of a slab's coarser levels. */
double qb__mbir_coarse_seconds(const qb__mbir *m, size_t slices, int threads);

/* Equits that forecasts assume for level i of coarser voxels. */
double qb__mbir_level_equits(const qb__mbir *m, size_t i);
/* Equits that forecasts assume for the volume's own voxels: --equits, or fewer if --stop ends the descent. */
double qb__mbir_equits(const qb__mbir *m);
