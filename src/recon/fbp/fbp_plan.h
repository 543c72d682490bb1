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
/* And its rows: a full turn or not, how wide, what columns count for (fbp_turn.c). */
qb_status qb__fbp_decide_turn(qb__fbp *fbp);
/* "" where rows are as they were measured. */
void qb__fbp_describe_turn(const qb__fbp *fbp, char *text, size_t size);
/* While running, once the axis is known that a finder was to find: when rows must be wider for it,
 * they, the default grid, and with them all that depends on their size, decided anew. */
qb_status qb__fbp_decide_found(qb__fbp *fbp, const qb_env *env);

#endif
