/* SPDX-License-Identifier: MIT */
#pragma once

#include "kernels/bp_cone/bp_cone_device.h"

/* Kernels as papers describe them, for measurement and study. They run only if --kernel names them. */
extern const qb__bp_cone_family qb__bp_cone_papers_rows;
