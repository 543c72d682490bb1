/* SPDX-License-Identifier: MIT */
#include "recon/mbir/mbir_cost.h"

#include <math.h>

#include "base/memory.h"
#include "planner/rates.h"
#include "recon/mbir/icd_bands.h"
#include "recon/mbir/mbir_descent.h"

/* How fast updates are beside those of a matrix that is computed as it goes: by what was measured of both, else as
 * listed. */
static double times_fly(qb_mbir_matrix kind) {
    const double fly = qb__rate(QB__RATE_ICD_FLY, 1e9);
    if (kind == QB_MATRIX_BYTES) return qb__rate(QB__RATE_ICD_BYTES, 1.4e9) / fly;
    if (kind == QB_MATRIX_FLOATS) return qb__rate(QB__RATE_ICD_FLOATS, 1.2e9) / fly;
    return 1;
}

/* The start goes through all columns up to three times: back-projection, curvature, errors. The errors of a group are
 * one thread's work, the rest is shared by all. */
static double start_turns(const qb__mbir *m, double groups, int threads) {
    const double shared = groups / threads, apart = ceil(shared);
    return ((m->filter ? 2 : 1) * fmax(shared, 1.0 / threads) + apart) / 3;
}

/* Slice by slice, all threads at one: updates of a single slice beside those of sixteen, priors one by one; columns are
 * gone through as often as groups' are. */
static qb__mbir_cost cost_of_few(const qb__mbir *m, size_t slices, int threads) {
    static const double single = 0.35, starting = 0.8, together = 3;
    const double voxels = (double)(qb__mbir_voxels(m) * slices);
    const double entries = (double)(qb__round_up(m->matrix.shadows.taps, 4) * m->info->views) * voxels;
    const double busy = fmin(threads, (double)qb__icd_few_at_once(m->grid.n[0], m->grid.n[1]));
    const double updates = entries / (qb__speed(&m->variant->head) * single);
    return (qb__mbir_cost){.start = starting * updates * (m->filter ? 3 : 2) / busy,
                           .equit = (updates + voxels / (together * qb__rate(QB__RATE_ICD_PRIOR, 2.5e6))) / busy};
}

qb__mbir_cost qb__mbir_cost_of(const qb__mbir *m, qb_mbir_matrix kind, size_t slices, int threads) {
    if (m->settings.supervoxels && kind == QB_MATRIX_FLY) return cost_of_few(m, slices, threads);
    const double voxels = (double)qb__mbir_voxels(m), lanes = QB__ICD_LANES;
    const double entries = (double)(m->matrix.shadows.taps * m->info->views) * voxels;
    const double faster = times_fly(kind), speed = qb__speed(&m->variant->head) * faster;
    const double weigh = m->settings.weighting == QB__WEIGH_NONE ? 0 : 1 / qb__rate(QB__RATE_ICD_WEIGHTS, 6e9);
    const double group = entries * lanes * (1 / speed + weigh) + voxels / qb__rate(QB__RATE_ICD_PRIOR, 2.5e6);
    const qb__icd_rounds rounds = qb__icd_stack_rounds(&m->settings, slices, threads);
    return (qb__mbir_cost){
        .matrix = kind == QB_MATRIX_FLY ? 0 : entries / qb__rate(QB__RATE_ICD_MATRIX, 2e8) / threads,
        .start = entries * lanes / (qb__rate(QB__RATE_ICD_START, 1.5e9) * faster) *
                 start_turns(m, (double)rounds.groups, threads),
        .equit = group * (double)rounds.turns,
    };
}

double qb__mbir_equits(const qb__mbir *m) {
    enum { USUAL = 15 };
    return m->settings.stop > 0 ? fmin(m->settings.equits, USUAL) : m->settings.equits;
}
