/* SPDX-License-Identifier: MIT */
/* qb bench mbir: noisy slices of a phantom, from filtered back-projection to within 10 Hounsfield units
 * of where 40 equits lead: the convergence of Wang et al. (PPoPP 2017) and of the reference code. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "bench/bench_mbir.h"
#include "cpu/features.h"
#include "ops/matrix_cache.h"

/* Of one core of the same kind of machine, for this problem at its own size: seconds of the reference
 * code's matrix, of a slice to 10 HU, of an equit. */
static const double reference_matrix = 1030, reference_slice = 5.1, reference_equit = 0.75;
/* The foam's field in mm: a bag of water with hundreds of holes. */
static const double width = 256;

typedef qb__mbir_bench bench;

/* Seconds that all columns take, kept in 8 bits. */
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

/* ---- what each parameter is worth ---- */

/* To the same image with other values of the kernel's parameters. */
static qb_status descend_with(bench *b, const int *values, const qb_env *env, cJSON *list) {
    qb__choice kept = b->choice;
    memcpy(b->choice.values, values, sizeof b->choice.values);
    qb_status status = qb__mbir_bench_descend(b, false, env);
    cJSON *one = cJSON_CreateObject();
    cJSON_AddItemToArray(list, one);
    cJSON_AddItemToObject(one, "kernel_parameters", qb__parameters_json(b->choice.variant, values));
    if (status == QB_OK) {
        cJSON_AddNumberToObject(one, "start_seconds", b->start);
        cJSON_AddNumberToObject(one, "seconds", b->seconds);
        cJSON_AddNumberToObject(one, "equits", b->equits);
        cJSON_AddNumberToObject(one, "equit_seconds_per_slice", b->seconds / b->equits / (double)b->grid.n[2]);
        cJSON_AddNumberToObject(one, "slices_per_second", (double)b->grid.n[2] / (b->start + b->seconds));
    } else {
        cJSON_AddStringToObject(one, "failed", qb_detail());
    }
    b->choice = kept;
    return status == QB_CANCELLED ? status : QB_OK;
}

static qb_status ablate(bench *b, const qb_env *env, cJSON *result) {
    const qb__variant *v = b->choice.variant;
    cJSON *list = cJSON_AddArrayToObject(result, "ablation");
    qb_status status = QB_OK;
    for (int i = 0; i < qb__parameter_count(v); i++)
        for (int n = 0; n < v->parameters[i].count && status == QB_OK; n++) {
            int values[QB__PARAMETERS_MAX];
            memcpy(values, b->choice.values, sizeof values);
            values[i] = v->parameters[i].values[n];
            if (values[i] != b->choice.values[i]) status = descend_with(b, values, env, list);
        }
    return status;
}

/* By core, and how often what the reference does. */
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

static qb_status foam(const qb_tool_bench_options *options, const qb_env *env, bench *b) {
    qb_status status;
    QB__TRY(qb__mbir_bench_make(options, env, width, b));
    QB__TRY(qb__alloc(1, sizeof *b->phantom, &b->phantom));
    b->phantoms = 1;
    QB__TRY(qb__phantom_create("foam", &b->grid, b->water, 1, b->phantom));
    QB__TRY(qb__mbir_bench_project(b, b->grid.n[2]));
out:
    return status;
}

qb_status qb__bench_mbir(const qb_tool_bench_options *options, const qb_env *env, cJSON *result) {
    bench b = {0};
    double matrix = 0;
    qb_status status;
    if (options->cases) return qb__bench_mbir_suite(options, env, result);
    QB__TRY(foam(options, env, &b));
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
    if (options->ablate && b.set.count) QB__TRY(ablate(&b, env, result));
    if (options->ablate && !b.set.count)
        status = qb__fail(QB_BAD_ARGUMENT,
                          "--ablate changes the parameters of a device's kernel: give --device cuda or opencl");
out:
    qb__mbir_bench_release(&b);
    return status;
}
