/* SPDX-License-Identifier: MIT */
#include "base/status.h"
#include "bench/cone_trial.h"
#include "case_bp_cone_device.h"
#include "planner/choose.h"

#include <math.h>

bool bp_cone_device_bench(const qb__bp_cone_device_variant *variant, qb__device *device,
                          size_t number, const options *o, measurement *m) {
    static const size_t sizes[] = {512, 1024};
    const qb__device_info *info = qb__device_info_of(device);
    const bool slow = info->is_cpu;
    if (number >= (o->quick || o->size || slow ? 1u : 2u)) return false;
    const size_t n = o->size ? o->size : slow ? 64 : sizes[number];
    const qb__bp_cone_problem cube = {.views = n, .columns = n, .rows = n, .nx = n, .ny = n, .nz = n};
    qb__cone_trial *trial = NULL;
    qb__choice choice;
    qb__cone_result result;
    qb_status status;
    QB__TRY(qb__cone_trial_create(device, &cube, &trial));
    const char *why = qb__estimate(&variant->head,
                                   &(qb__question){.operation = QB__BP_CONE,
                                                   .device = info,
                                                   .problem = qb__cone_trial_problem(trial),
                                                   .slices = 1},
                                   &choice);
    if (why) {
        status = qb__fail(QB_UNSUPPORTED, "%s", why);
        goto out;
    }
    QB__TRY(qb__cone_trial_run(trial, variant, choice.values, o->quick ? 3 : 7, &result));
    const double updates = pow((double)n, 4), image = (double)n * (double)n * (double)n * 4;
    m->giga_updates_per_second = result.giga_updates;
    m->rel_l2 = result.rel_l2;
    m->ceiling = updates / choice.predicted * 1e-9;
    m->pack_gigabytes_per_second = 2 * image / result.pack_seconds * 1e-9;
    m->scalar = NAN;
    snprintf(m->problem.s, sizeof m->problem.s, "%zu^2 pixels, %zu views, %zu^3 voxels", n, n, n);
    cJSON *object = qb__parameters_json(&variant->head, choice.values);
    if (!object || !cJSON_PrintPreallocated(object, m->parameters.s, sizeof m->parameters.s, false))
        m->parameters.s[0] = '\0';
    cJSON_Delete(object);
out:
    if (status != QB_OK) fprintf(stderr, "%s: %s\n", variant->head.id, qb_detail());
    qb__cone_trial_destroy(trial);
    return status == QB_OK;
}
