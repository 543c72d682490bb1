/* SPDX-License-Identifier: MIT */
#include "ops/project_slabs.h"

#include "base/status.h"

qb_status qb__project_pick(qb__device_set *set, qb__joseph_problem *problem, const char *kernel, const qb_env *env,
                           qb__device_pick *pick) {
    const qb__question question = {
        .operation = QB__PROJECT_JOSEPH, .problem = problem, .slices = 1, .accuracy = QB_ACCURACY_HIGH, .id = kernel};
    *pick = qb__device_pick_of(set);
    QB__OR_RETURN(qb__device_pick_admit(pick, kernel, qb__device_pick_several(pick), env));
    QB__OR_RETURN(qb__device_pick_choose(pick, &question));
    qb__joseph_lay_out(problem, pick->choice.values);
    return qb__joseph_plan_possible(problem, pick->choice.values);
}
