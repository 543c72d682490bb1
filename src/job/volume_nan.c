/* SPDX-License-Identifier: MIT */
#include "job/volume_out.h"

#include <string.h>

#include "base/log.h"
#include "base/status.h"

static uint64_t count_of(const float *image, size_t pixels) {
    enum { RUN = 1 << 16 }; /* a 32-bit sum is faster */
    uint64_t all = 0;
    for (size_t at = 0; at < pixels; at += RUN) {
        const size_t n = pixels - at < RUN ? pixels - at : RUN;
        uint32_t count = 0;
        for (size_t i = at; i < at + n; i++) {
            uint32_t bits;
            memcpy(&bits, &image[i], sizeof bits);
            count += (bits & 0x7fffffff) > 0x7f800000;
        }
        all += count;
    }
    return all;
}

void qb__volume_nan_count(qb__volume_nan *nan, const float *image, size_t pixels, size_t number) {
    const uint64_t count = count_of(image, pixels), end = (uint64_t)number + 1;
    atomic_fetch_add_explicit(&nan->looked, 1, memory_order_relaxed);
    if (count == 0) return;
    atomic_fetch_add_explicit(&nan->values, count, memory_order_relaxed);
    uint64_t was = atomic_load(&nan->end);
    while (was < end && !atomic_compare_exchange_weak(&nan->end, &was, end)) continue;
    was = atomic_load(&nan->first); /* counted from 1; 0: no NaN */
    while ((was == 0 || was > end) && !atomic_compare_exchange_weak(&nan->first, &was, end)) continue;
}

qb_status qb__volume_nan_report(qb__volume_nan *nan, qb__comm *comm, const size_t shape[3], const char *path,
                                bool projections, cJSON *report, const qb_env *env) {
    uint64_t sum[2] = {atomic_load(&nan->looked), atomic_load(&nan->values)};
    const uint64_t first = atomic_load(&nan->first), end = atomic_load(&nan->end);
    const qb_status status = qb__comm_sum(comm, QB_OK, sum, 2);
    const double all = (double)sum[0] * (double)shape[1] * (double)shape[2];
    if (status != QB_OK || sum[1] == 0) return status;
    if (sum[0] == shape[0] && (double)sum[1] >= all)
        return qb__fail(QB_BAD_INPUT, "%s is not written: every value would be NaN; %s", path,
                        projections ? "every ray meets voxels that are NaN"
                                    : "qb info SCAN shows what is wrong with the scan");
    cJSON_AddNumberToObject(report, "nan_values", (double)sum[1]);
    if (end == 0) return QB_OK; /* another rank reports its own images */
    qb__warn(env, "%llu %s (%.3g %%) of the result are NaN, in images %llu to %llu%s" QB__CODE("nan-slices"),
             (unsigned long long)sum[1], projections ? "rays" : "values", 100 * (double)sum[1] / all,
             (unsigned long long)first - 1, (unsigned long long)end - 1, projections ? "" : ": see qb info SCAN");
    return QB_OK;
}
