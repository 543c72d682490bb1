/* SPDX-License-Identifier: MIT */
#include "base/status.h"
#include "case_bp_device.h"
#include "case_bp_parallel.h"
#include "bench/device_trial.h"
#include "planner/choose.h"

#include <math.h>

static unsigned slices_of(const qb__bp_parallel_device_variant *variant, bool slow) {
    unsigned slices = slow ? 16 : 128;
    return variant->head.most && variant->head.most < slices ? variant->head.most : slices;
}

static void put_parameters(const qb__bp_parallel_device_variant *variant, const int *values,
                           text *to) {
    cJSON *object = qb__parameters_json(&variant->head, values);
    if (!object || !cJSON_PrintPreallocated(object, to->s, sizeof to->s, false)) to->s[0] = '\0';
    cJSON_Delete(object);
}

bool bp_device_bench(const qb__bp_parallel_device_variant *variant, qb__device *device,
                     size_t number, const options *o, measurement *m) {
    static const size_t sizes[] = {1024, 2048};
    const qb__device_info *info = qb__device_info_of(device);
    bool slow = info->is_cpu;
    if (number >= (o->quick || o->size || slow ? 1u : 2u)) return false;
    size_t n = o->size ? o->size : slow ? 256 : sizes[number];
    unsigned slices = slices_of(variant, slow);
    qb__device_trial *trial = NULL;
    qb__choice choice;
    qb__device_result result;
    qb_status status;
    QB__TRY(qb__device_trial_create(device, n, n, n, n, slices, &trial));
    const char *why = qb__estimate(&variant->head,
                                   &(qb__question){.operation = QB__BP_PARALLEL,
                                                   .device = info,
                                                   .problem = qb__device_trial_problem(trial),
                                                   .slices = slices},
                                   &choice);
    if (why) {
        status = qb__fail(QB_UNSUPPORTED, "%s", why);
        goto out;
    }
    QB__TRY(qb__device_trial_run(trial, variant, choice.values, slices, o->quick ? 3 : 7, &result));
    m->giga_updates_per_second = result.giga_updates;
    m->rel_l2 = result.rel_l2;
    double updates = (double)n * (double)n * (double)n * slices;
    m->ceiling = updates / choice.predicted * 1e-9;
    m->pack_gigabytes_per_second =
        ((double)n * (double)n * slices * 4 + (double)result.packed_bytes) / result.pack_seconds *
        1e-9;
    m->scalar = bp_parallel_scalar_speed(variant->head.interp);
    snprintf(m->problem.s, sizeof m->problem.s, "%zux%zu pixels, %zu views, %u slice%s", n, n, n,
             slices, slices == 1 ? "" : "s");
    put_parameters(variant, choice.values, &m->parameters);
out:
    if (status != QB_OK) fprintf(stderr, "%s: %s\n", variant->head.id, qb_detail());
    qb__device_trial_destroy(trial);
    return status == QB_OK;
}
