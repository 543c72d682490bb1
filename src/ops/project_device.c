/* SPDX-License-Identifier: MIT */
#include "ops/project_device.h"

#include "base/status.h"

qb_status qb__project_pick(qb__device_pick *pick, const qb__joseph_problem *problem, const char *kernel,
                           const qb_env *env, bool *named) {
    const qb__question question = {
        .operation = QB__PROJECT_JOSEPH, .problem = problem, .slices = 1, .accuracy = QB_ACCURACY_HIGH, .id = kernel};
    qb_status status = qb__device_pick_open(pick, env, named);
    if (status != QB_OK || !pick->device) return status;
    const char *several = qb__device_pick_several(pick);
    QB__TRY(qb__device_pick_admit(pick, kernel, several, env, named));
    QB__TRY(qb__device_pick_choose(pick, &question));
    QB__TRY(qb__joseph_plan_possible(problem, pick->choice.values));
out:
    return status;
}
