/* SPDX-License-Identifier: MIT */
#pragma once

#include "recon/fbp/fbp.h"

/* Decide the volume's part of the plan: pixel size, grid, rows, output (fbp_grid.c). */
qb_status qb__fbp_decide_grid(qb__fbp *fbp, const qb_env *env, qb__decision *decision);
