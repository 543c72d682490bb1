/* SPDX-License-Identifier: MIT */
#ifndef QB_RECON_FBP_FBP_PLAN_H
#define QB_RECON_FBP_FBP_PLAN_H

#include "recon/fbp/fbp.h"

/* Fill everything under "decided by the plan" in *fbp from its scan and options, and the plan's JSON. */
qb_status qb__fbp_decide(qb__fbp *fbp, const qb_env *env);
/* While running, when fbp->device had room for less than planned: the forecast and the plan's JSON
 * anew. */
qb_status qb__fbp_decide_less(qb__fbp *fbp);
/* While running, when fbp->device had no room and is gone: the CPU's chunks, and the plan's JSON anew. */
qb_status qb__fbp_decide_without_device(qb__fbp *fbp, const qb_env *env);
/* The part of it that is the volume: pixel, grid, rows, where it goes (fbp_grid.c). */
qb_status qb__fbp_decide_grid(qb__fbp *fbp, const qb_env *env);

#endif
