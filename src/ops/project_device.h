/* SPDX-License-Identifier: MIT */
#pragma once

#include "kernels/project_joseph/project_joseph_device.h"
#include "planner/device_pick.h"

/* Choose the device of a non-empty set, and the kernel, for engines and operators. Sets the problem's layout for that
 * kernel. The set, the problem, its geometry and its grid are borrowed and must not move. kernel: --kernel, NULL =
 * choose within accuracy class high. QB_UNSUPPORTED or, for a named device, QB_BAD_ARGUMENT with the reason. */
qb_status qb__project_pick(qb__device_set *set, qb__joseph_problem *problem, const char *kernel, const qb_env *env,
                           qb__device_pick *pick);
