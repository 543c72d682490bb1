/* SPDX-License-Identifier: MIT */
/* Benchmarks back-projection by the CPU's kernels with the product's trials: one thread on a part of the grid, or
 * several threads on all of it. Parallel beam: N^2 pixels and N views. Cone beam: a circle of N views of N^2 pixels,
 * and N^3 voxels. */
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "bench_device.h"
#include "case_bp_cone.h"
#include "case_bp_parallel.h"
#include "cpu/features.h"
#include "planner/variants.h"

static qb__trial_sizes sizes_of(const qb__variant *row, size_t n) {
    if (row->operation == QB__BP_CONE) return (qb__trial_sizes){n, n, n, n, n, n, false, NULL};
    return (qb__trial_sizes){n, n, 1, n, n, row->most, false, NULL};
}

static qb_status measure(const qb__variant *row, size_t n, int threads, int repeat, qb__trial_sizes *sizes,
                         qb__trial_result *result) {
    static const int values[QB__PARAMETERS_MAX];
    qb__trial *trial = NULL;
    qb_status status;
    *sizes = sizes_of(row, n);
    if (threads > 1) QB__TRY(qb__pool_create(threads, &sizes->pool));
    QB__TRY(qb__trial_create(row->operation, NULL, sizes, &trial));
    status = qb__trial_run(trial, row, values, (unsigned)sizes->nz, repeat, result);
out:
    qb__trial_destroy(trial);
    qb__pool_destroy(sizes->pool);
    return status;
}

/* The same kernel, scalar. */
static const qb__variant *scalar_like(const qb__variant *row) {
    const size_t family = strcspn(row->id, ".");
    const qb__variant *v;
    for (size_t i = 0; (v = qb__variant_at(row->operation, false, i)) != NULL; i++)
        if (v->features == 0 && v->interp == row->interp && strncmp(v->id, row->id, family + 1) == 0) return v;
    return NULL;
}

/* Speed of the scalar variant on a problem that is small enough for it. It is kept, since every variant is compared to
 * it. */
static double scalar_speed(const qb__variant *row) {
    enum { MOST = 8 };
    static const qb__variant *known[MOST];
    static double speed[MOST];
    const qb__variant *scalar = scalar_like(row);
    qb__trial_sizes sizes;
    qb__trial_result found;
    for (int i = 0; scalar && i < MOST; i++) {
        if (known[i] && known[i] != scalar) continue;
        if (!known[i] && measure(scalar, scalar->operation == QB__BP_CONE ? 128 : 256, 1, 3, &sizes, &found) == QB_OK)
            known[i] = scalar, speed[i] = found.giga_updates;
        return speed[i];
    }
    return 0;
}

double bp_parallel_scalar_speed(qb_interp interp) {
    const qb__variant *v;
    for (size_t i = 0; (v = qb__variant_at(QB__BP_PARALLEL, false, i)) != NULL; i++)
        if (v->interp == interp) return scalar_speed(v);
    return 0;
}

/* Ceiling of one core. Parallel: an update takes two loads and two multiply-adds with linear interpolation, one load
 * and one addition with nearest; a vector holds twice as many half floats. Cone, arithmetic alone: on a circle, 13
 * vector operations for two vectors of voxels and 2 for each vector of blended pixels; with any matrix, 30 operations
 * for a vector, gathers not counted. */
static double ceiling(const qb__variant *row) {
    const int bits = row->features & QB__CPU_AVX512 ? 512 : row->features & QB__CPU_AVX2 ? 256 : 128;
    if (bits == 128) return NAN;
    if (row->operation == QB__BP_CONE)
        return ceiling_fma(bits) / (cone_is_circular((const qb__bp_cone_variant *)row) ? 8.5 : 30);
    const double lanes = fmin(ceiling_fma(bits), ceiling_load(bits)) * (row->features & QB__CPU_AVX512FP16 ? 2 : 1);
    return row->interp == QB_INTERP_LINEAR ? lanes / 2 : lanes;
}

static bool bench(const qb__variant *row, size_t n, const options *o, measurement *m) {
    qb__trial_sizes s;
    qb__trial_result r;
    if (measure(row, n, o->threads, o->quick ? 3 : 5, &s, &r) != QB_OK) {
        fprintf(stderr, "%s: %s\n", row->id, qb_detail());
        return false;
    }
    const double lines = (double)(s.rows > 1 ? s.rows : s.nz);
    const double bytes = (double)s.views * lines * (double)s.columns * sizeof(float);
    *m = (measurement){.giga_updates_per_second = r.giga_updates,
                       .pack_gigabytes_per_second = bytes / r.pack_seconds * 1e-9,
                       .scalar = scalar_speed(row),
                       .ceiling = ceiling(row),
                       .rel_l2 = r.rel_l2};
    return true;
}

bool bp_parallel_bench(const qb__variant *row, qb__device *device, size_t number, const options *o, measurement *m) {
    static const size_t sizes[] = {512, 1024, 2048};
    (void)device;
    /* The scalar variant would take minutes and tell nothing new. */
    if (number >= (row->features == 0 || o->quick || o->size ? 1u : 3u)) return false;
    const size_t n = o->size ? o->size : sizes[number];
    if (!bench(row, n, o, m)) return false;
    snprintf(m->problem.s, sizeof m->problem.s, "%zux%zu pixels, %zu views, %u slice%s", n, n, n, row->most,
             row->most == 1 ? "" : "s");
    return true;
}

bool bp_cone_bench(const qb__variant *row, qb__device *device, size_t number, const options *o, measurement *m) {
    static const size_t sizes[] = {256, 512};
    (void)device;
    if (number >= (row->features == 0 || o->quick || o->size ? 1u : 2u)) return false;
    const size_t n = o->size ? o->size : sizes[number];
    if (!bench(row, n, o, m)) return false;
    snprintf(m->problem.s, sizeof m->problem.s, "%zu^2 pixels, %zu views, %zu^3 voxels", n, n, n);
    return true;
}
