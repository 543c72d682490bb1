/* SPDX-License-Identifier: MIT */
#include "bench_device.h"

#include <math.h>

#include "base/status.h"
#include "planner/choose.h"

text parameters_text(const qb__variant *row, const int *values) {
    text to = {""};
    cJSON *object = qb__parameters_json(row, values);
    if (!object || !cJSON_PrintPreallocated(object, to.s, sizeof to.s, false)) to.s[0] = '\0';
    cJSON_Delete(object);
    return to;
}

bool device_bench(const qb__variant *row, qb__device *device, const qb__trial_sizes *sizes, const options *o,
                  measurement *m) {
    const double lines = (double)(sizes->rows > 1 ? sizes->rows : sizes->nz);
    const double views = (double)sizes->views;
    qb__trial *trial = NULL;
    qb__choice choice;
    qb__trial_result result;
    qb_status status;
    QB__TRY(qb__trial_create(row->operation, device, sizes, &trial));
    const qb__question question = qb__trial_question(trial);
    const char *why = qb__estimate(row, &question, &choice);
    if (why) {
        status = qb__fail(QB_UNSUPPORTED, "%s", why);
        goto out;
    }
    QB__TRY(qb__trial_run(trial, row, choice.values, (unsigned)question.slices, o->quick ? 3 : 7, &result));
    const double updates = (double)(sizes->nx * sizes->ny) * (double)sizes->nz * views;
    const double bytes = views * lines * (double)sizes->columns * sizeof(float) +
                         (double)result.packed_bytes * views / (double)result.block;
    *m = (measurement){.parameters = parameters_text(row, choice.values),
                       .giga_updates_per_second = result.giga_updates,
                       .pack_gigabytes_per_second = bytes / result.pack_seconds * 1e-9,
                       .scalar = NAN,
                       .ceiling = updates / choice.predicted * 1e-9,
                       .rel_l2 = result.rel_l2};
out:
    if (status != QB_OK) fprintf(stderr, "%s: %s\n", row->id, qb_detail());
    qb__trial_destroy(trial);
    return status == QB_OK;
}
