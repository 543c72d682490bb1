/* SPDX-License-Identifier: MIT */
/* bench_mbir cases N | ablate 1 [size NX,NY,NZ] [views N] [detector COLUMNS] [kernel ID] [device D] [threads N]: prints
 * JSON. cases: repeats Table 1 of Wang et al. (PPoPP 2017), which has 3,200 slices of luggage that are not public, with
 * bags packed from seeds 1 to N: each until it is within 10 HU of the image after 40 equits. The slices of `size` are
 * computed at once and are independent: one slice for the time of a single slice, stacks for throughput. ablate: the
 * foam of qb bench mbir on a device, once for each value of each parameter of the kernel. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/params.h"
#include "base/status.h"
#include "bench/bench_mbir.h"
#include "cpu/features.h"

static const double width = 475; /* mm: the field of view of the paper's scanner, an Imatron C-300 */

/* [case] */
typedef struct table {
    size_t cases;
    /* seconds of a slice, its share of those of a stack; a stack runs until all its slices have converged */
    double *seconds, *start, *equits, *ran, *rmse;
    bool *converged;
} table;

static qb_status create(size_t cases, table *t) {
    qb_status status;
    t->cases = cases;
    QB__TRY(qb__alloc(cases, sizeof *t->seconds, &t->seconds));
    QB__TRY(qb__alloc(cases, sizeof *t->start, &t->start));
    QB__TRY(qb__alloc(cases, sizeof *t->equits, &t->equits));
    QB__TRY(qb__alloc(cases, sizeof *t->ran, &t->ran));
    QB__TRY(qb__alloc(cases, sizeof *t->rmse, &t->rmse));
    QB__TRY(qb__alloc(cases, sizeof *t->converged, &t->converged));
out:
    return status;
}

static void release(table *t) {
    qb__free(t->seconds);
    qb__free(t->start);
    qb__free(t->equits);
    qb__free(t->ran);
    qb__free(t->rmse);
    qb__free(t->converged);
}

/* A bag for each slice, at that slice's own height. */
static qb_status pack(qb__mbir_bench *b, size_t first, size_t slices, size_t stack) {
    for (size_t i = 0; i < b->phantoms; i++) qb__phantom_destroy(&b->phantom[i]);
    b->phantoms = 0;
    for (size_t s = 0; s < slices; s++) {
        const double z = (double)s - ((double)stack - 1) / 2;
        const qb_grid grid = {{b->grid.n[0], b->grid.n[1], 1}, {b->grid.voxel[0], b->grid.voxel[1], 1}, {0, 0, z}};
        const qb_status status = qb__phantom_create("baggage", &grid, b->water, first + s + 1, &b->phantom[s]);
        if (status != QB_OK) return status;
        b->phantoms++;
    }
    b->noise = first + 1;
    return qb__mbir_bench_project(b, slices);
}

static void note(const qb__mbir_bench *b, size_t first, table *t) {
    const size_t slices = b->grid.n[2];
    for (size_t s = 0; s < slices; s++) {
        t->start[first + s] = b->start / (double)slices;
        t->seconds[first + s] = (b->start + b->seconds) / (double)slices;
        t->converged[first + s] = !isnan(b->reached[s]);
        t->equits[first + s] = t->converged[first + s] ? b->reached[s] : b->equits;
        t->ran[first + s] = b->equits;
        t->rmse[first + s] = b->apart[s];
    }
}

static qb_status run(qb__mbir_bench *b, size_t stack, const qb_env *env, table *t) {
    qb_status status = QB_OK;
    for (size_t first = 0; first < t->cases && status == QB_OK; first += stack) {
        const size_t slices = t->cases - first < stack ? t->cases - first : stack;
        QB__TRY(pack(b, first, slices, stack));
        QB__TRY(qb__mbir_bench_descend(b, true, env));
        QB__TRY(qb__mbir_bench_descend(b, false, env));
        note(b, first, t);
        qb__progress(env, "bags", first + slices, t->cases);
        status = qb__check_cancel(env);
    }
out:
    return status;
}

/* NAME_mean, _std, _worst and the seed of the worst case. */
static void add(cJSON *result, const char *name, const double *values, size_t count) {
    char key[48];
    double sum = 0, square = 0;
    size_t worst = 0;
    for (size_t i = 0; i < count; i++) {
        sum += values[i];
        if (values[i] > values[worst]) worst = i;
    }
    const double mean = sum / (double)count;
    for (size_t i = 0; i < count; i++) square += (values[i] - mean) * (values[i] - mean);
    const struct {
        const char *end;
        double value;
    } rows[] = {{"mean", mean},
                {"std", sqrt(square / (double)count)},
                {"worst", values[worst]},
                {"worst_case", (double)(worst + 1)}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        qb__print(key, sizeof key, "%s_%s", name, rows[i].end);
        cJSON_AddNumberToObject(result, key, rows[i].value);
    }
}

static void report(const qb__mbir_bench *b, size_t stack, const table *t, cJSON *result) {
    double all = 0, iterations = 0, equits = 0;
    cJSON_AddStringToObject(result, "suite", "baggage");
    cJSON_AddNumberToObject(result, "cases", (double)t->cases);
    cJSON_AddNumberToObject(result, "at_once", (double)stack);
    cJSON_AddStringToObject(result, "kernel", b->set.count ? b->choice.variant->id : b->matrix.variant->head.id);
    cJSON_AddStringToObject(result, "cpu", qb__cpu_name());
    cJSON_AddNumberToObject(result, "threads", qb__pool_threads(b->pool));
    if (b->set.count) qb__mbir_bench_add_device(b, result);
    add(result, "seconds_per_slice", t->seconds, t->cases);
    add(result, "start_seconds_per_slice", t->start, t->cases);
    add(result, "equits", t->equits, t->cases);
    add(result, "rmse_hu", t->rmse, t->cases);
    cJSON *open = cJSON_CreateArray();
    for (size_t i = 0; i < t->cases; i++) {
        all += t->seconds[i];
        iterations += t->seconds[i] - t->start[i];
        equits += t->ran[i];
        if (!t->converged[i]) cJSON_AddItemToArray(open, cJSON_CreateNumber((double)(i + 1)));
    }
    cJSON_AddNumberToObject(result, "equit_seconds_per_slice", iterations / equits);
    cJSON_AddNumberToObject(result, "slices_per_second", (double)t->cases / all);
    cJSON_AddBoolToObject(result, "converged", cJSON_GetArraySize(open) == 0);
    cJSON_AddItemToObject(result, "not_converged", open);
    cJSON_AddItemToObject(result, "equits_by_case", cJSON_CreateDoubleArray(t->equits, (int)t->cases));
    cJSON_AddItemToObject(result, "seconds_by_case", cJSON_CreateDoubleArray(t->seconds, (int)t->cases));
}

static qb_status suite(size_t cases, const qb_tool_bench_options *options, const qb_env *env, cJSON *result) {
    qb__mbir_bench b = {0};
    table t = {0};
    qb_status status;
    QB__TRY(qb__mbir_bench_make(options, env, width, &b));
    const size_t stack = b.grid.n[2];
    QB__TRY(create(cases, &t));
    QB__TRY(qb__alloc(stack, sizeof *b.phantom, &b.phantom));
    QB__TRY(run(&b, stack, env, &t));
    report(&b, stack, &t, result);
out:
    release(&t);
    qb__mbir_bench_release(&b);
    return status;
}

/* ---- effect of each parameter ---- */

/* Computes the same image with other values of the kernel's parameters. */
static qb_status descend_with(qb__mbir_bench *b, const int *values, const qb_env *env, cJSON *list) {
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

static qb_status change_each(qb__mbir_bench *b, const qb_env *env, cJSON *result) {
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

static qb_status ablate(const qb_tool_bench_options *options, const qb_env *env, cJSON *result) {
    qb__mbir_bench b = {0};
    qb_status status;
    QB__TRY(qb__mbir_bench_foam(options, env, &b));
    if (!b.set.count)
        status = qb__fail(QB_BAD_ARGUMENT, "a device's kernel has parameters: give device cuda or opencl");
    if (status == QB_OK) status = qb__mbir_bench_descend(&b, true, env);
    if (status == QB_OK) status = descend_with(&b, b.choice.values, env, cJSON_AddArrayToObject(result, "planned"));
    if (status == QB_OK) status = change_each(&b, env, result);
out:
    qb__mbir_bench_release(&b);
    return status;
}

/* NAME VALUE, as the options of qb bench, and the thing to run. */
static qb_status read_options(int argc, char **argv, qb_tool_bench_options *options, qb_env *env) {
    const double usual[] = {512, 512, 16};
    qb_status status = qb_params_init(qb_tool_bench_params, options);
    for (int i = 3; i + 1 < argc && status == QB_OK; i += 2) {
        const qb_param *row = qb_param_find(qb_tool_bench_params, argv[i]);
        if (strcmp(argv[i], "device") == 0)
            env->device = argv[i + 1];
        else if (strcmp(argv[i], "threads") == 0)
            env->threads = atoi(argv[i + 1]);
        else
            status = row ? qb_param_set(row, options, argv[i + 1]) : qb__fail(QB_BAD_ARGUMENT, "%s: unknown", argv[i]);
    }
    for (int i = options->size.count; i < 3; i++) options->size.value[i] = usual[i];
    options->size.count = 3;
    return status;
}

int main(int argc, char **argv) {
    qb_env env = {.struct_size = sizeof env};
    qb_tool_bench_options options;
    const int cases = argc > 2 && strcmp(argv[1], "cases") == 0 ? atoi(argv[2]) : 0;
    if (argc < 3 || argc % 2 == 0 || (cases < 1 && strcmp(argv[1], "ablate") != 0)) {
        fprintf(stderr, "bench_mbir cases N | ablate 1 [size NX,NY,NZ] [views N] [detector COLUMNS] [kernel ID] "
                        "[device D] [threads N]\n");
        return 2;
    }
    cJSON *result = cJSON_CreateObject();
    qb_status status = read_options(argc, argv, &options, &env);
    if (!status) status = cases ? suite((size_t)cases, &options, &env, result) : ablate(&options, &env, result);
    if (status) fprintf(stderr, "%s: %s\n", qb_status_text(status), qb_detail());
    char *text = status ? NULL : cJSON_Print(result);
    if (text) puts(text);
    cJSON_free(text);
    cJSON_Delete(result);
    qb_params_clear(qb_tool_bench_params, &options);
    return status != QB_OK;
}
