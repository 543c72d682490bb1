/* SPDX-License-Identifier: MIT */

#include <math.h>

#include "base/memory.h"
#include "planner/rates.h"
#include "recon/mbir/icd/icd_bands.h"
#include "recon/mbir/mbir_descent.h"

static const double starting = 0.7; /* speed of the start relative to updates, if not measured */

/* Speed of updates relative to those with a matrix computed on the fly: from measurements of both, else built in. */
static double times_fly(qb_mbir_matrix kind) {
    const double fly = qb__rate(QB__RATE_ICD_FLY, 1e9);
    if (kind == QB_MATRIX_BYTES) return qb__rate(QB__RATE_ICD_BYTES, 0.95e9) / fly;
    if (kind == QB_MATRIX_FLOATS) return qb__rate(QB__RATE_ICD_FLOATS, 0.9e9) / fly;
    return 1;
}

/* Voxels of one size, of the volume or of a coarser level; `back`: their start is back-projected. */
typedef struct voxels_of {
    const qb__system_matrix *matrix;
    const qb__icd_settings *settings;
    bool back;
} voxels_of;

static double count_of(const voxels_of *v) {
    return (double)qb__icd_pixels(v->matrix->nx, v->matrix->ny, v->settings->radius);
}

/* Number of passes over all columns that the start takes, relative to three: back-projection, curvature and errors. One
 * thread computes the errors of a group; the rest is shared by all threads. */
static double start_turns(const voxels_of *v, double groups, int threads) {
    const double shared = groups / threads, apart = ceil(shared);
    return ((v->back ? 2 : 1) * fmax(shared, 1.0 / threads) + apart) / 3;
}

/* Cost if slices are computed one by one, with all threads on one slice. Without measurements: speed of updates of a
 * single slice relative to sixteen slices; priors are computed one by one. Columns are visited as often as for
 * groups. */
static qb__mbir_cost cost_of_few(const qb__mbir *m, const voxels_of *v, size_t slices, int threads) {
    static const double single = 0.2, together = 2, fan = 1.5;
    const double voxels = count_of(v) * (double)slices,
                 shape = v->matrix->footprints.wx ? fan : 1; /* footprints of a fan are computed anew each time */
    const double entries = shape * (double)(qb__round_up(v->matrix->footprints.taps, 4) * m->info->views) * voxels;
    const double busy = fmin(threads, (double)qb__icd_slicewise_at_once(v->matrix->nx, v->matrix->ny));
    const double updates = entries / qb__rate(QB__RATE_ICD_SINGLE, qb__speed(&m->variant->head) * single);
    const double priors = voxels / qb__rate(QB__RATE_ICD_SINGLE_PRIOR, together * qb__rate(QB__RATE_ICD_PRIOR, 2.5e6));
    return (qb__mbir_cost){.start = starting * updates * (v->back ? 3 : 2) / busy, .equit = (updates + priors) / busy};
}

static qb__mbir_cost cost_at(const qb__mbir *m, const voxels_of *v, qb_mbir_matrix kind, size_t slices, int threads) {
    if (v->settings->supervoxels && kind == QB_MATRIX_FLY) return cost_of_few(m, v, slices, threads);
    const double voxels = count_of(v), lanes = QB__ICD_LANES;
    const double entries = (double)(v->matrix->footprints.taps * m->info->views) * voxels;
    const double faster = times_fly(kind), fly = qb__speed(&m->variant->head), speed = fly * faster;
    const double weigh = m->settings.weighting == QB__WEIGH_NONE ? 0 : 1 / qb__rate(QB__RATE_ICD_WEIGHTS, 6e9);
    const double group = entries * lanes * (1 / speed + weigh) + voxels / qb__rate(QB__RATE_ICD_PRIOR, 2.5e6);
    const qb__icd_rounds rounds = qb__icd_stack_rounds(v->settings, slices, threads);
    return (qb__mbir_cost){
        .matrix = kind == QB_MATRIX_FLY ? 0 : entries / qb__rate(QB__RATE_ICD_MATRIX, 2e8) / threads,
        .start = entries * lanes / (qb__rate(QB__RATE_ICD_START, starting * fly) * faster) *
                 start_turns(v, (double)rounds.groups, threads),
        .equit = group * (double)rounds.turns,
    };
}

qb__mbir_cost qb__mbir_cost_of(const qb__mbir *m, qb_mbir_matrix kind, size_t slices, int threads) {
    const voxels_of own = {&m->matrix, &m->settings, m->filter && !m->coarse.levels};
    return cost_at(m, &own, kind, slices, threads);
}

/* Equits that forecasts assume: the first level does most of the work, later ones only correct the edges. */
double qb__mbir_level_equits(const qb__mbir *m, size_t i) {
    enum { FIRST = 40, LATER = 15 };
    return fmin(m->coarse.level[i].settings.equits, i + 1 == m->coarse.levels ? FIRST : LATER);
}

double qb__mbir_coarse_seconds(const qb__mbir *m, size_t slices, int threads) {
    double sum = 0;
    for (size_t i = 0; i < m->coarse.levels; i++) {
        const voxels_of level = {&m->coarse.level[i].matrix, &m->coarse.level[i].settings,
                                 i + 1 == m->coarse.levels && m->filter};
        const qb__mbir_cost cost = cost_at(m, &level, QB_MATRIX_FLY, slices, threads);
        sum += cost.start + qb__mbir_level_equits(m, i) * cost.equit;
    }
    return sum;
}

double qb__mbir_equits(const qb__mbir *m) {
    enum { USUAL = 9, BEGUN = 6 };
    return m->settings.stop > 0 ? fmin(m->settings.equits, m->coarse.levels ? BEGUN : USUAL) : m->settings.equits;
}
