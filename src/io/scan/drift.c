/* SPDX-License-Identifier: MIT */
#include "io/scan/drift.h"

#include "base/hash.h"
#include "base/memory.h"

void qb__drift_destroy(qb__drift *drift) {
    if (!drift) return;
    QB__FREE(drift->mode, drift->weight, drift->time, drift->level, drift->monitor, drift);
}

/* The order of operations is that of drifting() in kernels/filter/prepare_rows.clh: the bits are the same. */
void qb__drift_changes(const qb__drift *drift, size_t view, size_t first, size_t count, float *restrict change) {
    const float *weight = drift->weight + view * (drift->modes + 1);
    for (size_t i = 0; i < count; i++) change[i] = weight[0];
    for (size_t k = 0; k < drift->modes; k++) {
        const float *restrict mode = drift->mode + k * drift->pixels + first, w = weight[k + 1];
        if (w == 0) continue;
        for (size_t i = 0; i < count; i++) change[i] += w * mode[i];
    }
    for (size_t i = 0; i < count; i++) change[i] = change[i] > QB__DRIFT_LEAST ? change[i] : QB__DRIFT_LEAST;
}

void qb__drift_gain(const qb__drift *drift, size_t view, size_t first, size_t count, const float *restrict gain,
                    float *restrict out) {
    qb__drift_changes(drift, view, first, count, out);
    for (size_t i = 0; i < count; i++) out[i] = gain[i] / out[i];
}

uint64_t qb__drift_hash(const qb__drift *drift, uint64_t hash) {
    if (!drift) return hash;
    hash = qb__hash(drift->weight, drift->views * (drift->modes + 1) * sizeof *drift->weight, hash);
    return qb__hash(drift->mode, drift->modes * drift->pixels * sizeof *drift->mode, hash);
}
