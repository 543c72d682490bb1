/* SPDX-License-Identifier: MIT */
#ifndef QB_PLANNER_BACKPROJECT_H
#define QB_PLANNER_BACKPROJECT_H

#include "base/json.h"
#include "cpu/bp_parallel/bp_parallel.h"
#include "quickbeam/recon.h"

/* The fastest variant that this CPU runs, that is applicable, and that keeps the accuracy asked for:
 * by the table's listed rates, a slice not filling a variant's lanes counted as if it did. The choice
 * depends on the number of slices of the whole job, never on chunks or memory, so that bits do not.
 * `id` names a variant to take instead, NULL = choose. */
qb_status qb__bp_parallel_choose(const qb__bp_parallel_problem *problem, size_t slices,
                                 qb_interp interp, qb_accuracy accuracy, const char *id,
                                 const qb__bp_parallel_variant **variant);

/* The table behind the choice: [{kernel, accuracy, usable, seconds}, ...], one core. */
cJSON *qb__bp_parallel_why(const qb__bp_parallel_problem *problem, size_t slices, qb_interp interp,
                           qb_accuracy accuracy);


#endif
