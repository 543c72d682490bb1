/* SPDX-License-Identifier: MIT */
/* qb bench mbir: noisy slices of a phantom, from filtered back-projection to within 10 Hounsfield units of the image
 * after 40 equits: the convergence criterion of Wang et al. (PPoPP 2017) and of the reference code. */
#include <math.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "bench/bench_mbir.h"
#include "cpu/features.h"
#include "ops/system_matrix.h"

/* Times of the reference code on one core of a similar machine, for this problem at its own size: seconds of the
 * matrix, of a slice to 10 HU, of an equit. */
static const double reference_matrix = 1030, reference_slice = 5.1, reference_equit = 0.75;
typedef qb__mbir_bench bench;

/* Seconds for all columns, kept in 8 bits. */
static qb_status time_matrix(bench *b, double *seconds) {
    qb__system_matrix kept;
    uint32_t *pixels = NULL;
    const size_t nx = b->grid.n[0], ny = b->grid.n[1];
    size_t count = 0;
    qb_status status;
    QB__TRY(qb__system_matrix_create(&b->geometry, &b->grid, 1, b->matrix.variant, &kept));
    QB__TRY(qb__alloc(nx * ny, sizeof *pixels, &pixels));
    for (size_t i = 0; i < nx * ny; i++) pixels[count++] = (uint32_t)((i / nx + 1) * (nx + 2) + i % nx + 1);
    const double begun = qb__now();
    QB__TRY(qb__matrix_keep(&kept, QB_MATRIX_BYTES, pixels, count, b->pool));
    *seconds = qb__now() - begun;
out:
    qb__free(pixels);
    qb__system_matrix_destroy(&kept);
    return status;
}

/* Add the figures per core, and relative to the reference. */
static void add_cores(const bench *b, const qb_tool_bench_options *options, double all, double matrix, cJSON *result) {
    const size_t slices = b->grid.n[2];
    const int threads = qb__pool_threads(b->pool);
    const bool few = b->settings.supervoxels;
    const double parts =
        few ? (double)qb__icd_slicewise_at_once(b->grid.n[0], b->grid.n[1]) : ceil((double)slices / QB__ICD_LANES);
    const double busy = fmin(threads, parts), each = (double)slices / busy;
    const bool usual =
        b->grid.n[0] == 512 && b->grid.n[1] == 512 && options->views == 720 && b->geometry.columns == 1024;
    cJSON_AddStringToObject(result, "threads_share", few ? "supervoxels" : "slices");
    cJSON_AddNumberToObject(result, "equit_seconds_per_slice_and_core", b->seconds / b->equits / each);
    cJSON_AddNumberToObject(result, "slices_per_second_and_core", each / all);
    cJSON_AddNumberToObject(result, "slices_per_second_and_core_of_iterations", each / b->seconds);
    cJSON_AddNumberToObject(result, "matrix_seconds", matrix);
    if (!usual) return;
    cJSON_AddNumberToObject(result, "matrix_times_reference", reference_matrix / (matrix * threads));
    cJSON_AddNumberToObject(result, "slices_times_reference", each / b->seconds * reference_slice);
    cJSON_AddNumberToObject(result, "equit_times_reference", reference_equit * b->equits / b->seconds * each);
}

qb_status qb__bench_mbir(const qb_tool_bench_options *options, const qb_env *env, cJSON *result) {
    bench b = {0};
    double matrix = 0;
    qb_status status;
    QB__TRY(qb__mbir_bench_foam(options, env, &b));
    const size_t slices = b.grid.n[2];
    if (!b.set.count) QB__TRY(time_matrix(&b, &matrix));
    qb__info(env, "%zu slices to %d equits, to compare with", slices, QB__MBIR_GOLDEN);
    QB__TRY(qb__mbir_bench_descend(&b, true, env));
    QB__TRY(qb__mbir_bench_descend(&b, false, env));
    const double all = b.start + b.seconds;
    cJSON_AddStringToObject(result, "kernel", b.set.count ? b.choice.variant->id : b.matrix.variant->head.id);
    cJSON_AddStringToObject(result, "cpu", qb__cpu_name());
    cJSON_AddNumberToObject(result, "threads", qb__pool_threads(b.pool));
    cJSON_AddNumberToObject(result, "slices", (double)slices);
    cJSON_AddNumberToObject(result, "equits", b.equits);
    cJSON_AddNumberToObject(result, "rmse_hu", b.rmse);
    cJSON_AddBoolToObject(result, "converged", b.rmse < qb__mbir_close_enough);
    cJSON_AddNumberToObject(result, "start_seconds", b.start);
    cJSON_AddNumberToObject(result, "iteration_seconds", b.seconds);
    cJSON_AddNumberToObject(result, "slices_per_second", (double)slices / all);
    if (b.set.count) {
        qb__mbir_bench_add_device(&b, result);
        cJSON_AddNumberToObject(result, "equit_seconds_per_slice", b.seconds / b.equits / (double)slices);
    } else {
        add_cores(&b, options, all, matrix, result);
    }
out:
    qb__mbir_bench_release(&b);
    return status;
}
