/* SPDX-License-Identifier: MIT */
#ifndef QB_PLANNER_KERNEL_NAME_H
#define QB_PLANNER_KERNEL_NAME_H

#include <stdbool.h>

#include "quickbeam/env.h"
#include "quickbeam/kernel.h"

/* --kernel ID: what a name means before anything is chosen. */

/* A parallel-beam kernel of a device. */
bool qb__kernel_of_device(const char *id);
/* Fails, for a name that is not in the table it was looked up in, with where it is at home or that
 * it is nowhere: QB_BAD_ARGUMENT. */
qb_status qb__kernel_refuse(const char *id);
/* --interp beside --kernel (NULL = none) of a parallel beam: QB_INTERP_AUTO becomes the kernel's
 * own, which is told when it is not linear, or linear; what contradicts the kernel is
 * QB_BAD_ARGUMENT. */
qb_status qb__kernel_interp(const char *id, qb_interp *interp, const qb_env *env);

#endif
