/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/json.h"
#include "quickbeam/env.h"

/* Functions of the parts of qb_machine_measure. qb__machine_know stores work per second of a thread's own time; a
 * faster earlier result is kept, because other processes on the machine only slow it down. */
void qb__machine_know(cJSON *rates, const char *name, double work, double seconds);

/* Coordinate descent of as many groups of slices as there are threads (planner/rates.h, "icd_"). */
qb_status qb__machine_icd(cJSON *rates, const qb_env *env);
