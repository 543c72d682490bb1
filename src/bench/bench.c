/* SPDX-License-Identifier: MIT */
#include "quickbeam/bench.h"

#include <stdbool.h>
#include <string.h>

#include "base/params.h"
#include "base/status.h"
#include "bench/bench_backproject.h"
#include "bench/bench_cone.h"
#include "bench/bench_parts.h"
#include "planner/device_select.h"
#include "planner/kernel_name.h"
#include "quickbeam/device.h"

const qb_param qb_bench_params[] = {
    {"geometry", QB_PARAM_CHOICE, offsetof(qb_bench_options, geometry), NULL, "parallel",
     "parallel|cone", 0, 0, "beam", 0},
    {"size", QB_PARAM_NUMBERS, offsetof(qb_bench_options, size), "NX[,NY,NZ]", NULL, NULL, 1, 16384,
     "voxels of the volume; default: 1024,1024,64, of a cone beam 512,512,512, of rabbitct 256", 0},
    {"views", QB_PARAM_INT, offsetof(qb_bench_options, views), "N", "1024", NULL, 1, 100000,
     "projections", 0},
    {"detector", QB_PARAM_NUMBERS, offsetof(qb_bench_options, detector), "COLUMNS[,ROWS]", NULL,
     NULL, 2, 65536, "detector pixels; default: NX columns, NZ rows", 0},
    {"accuracy", QB_PARAM_CHOICE, offsetof(qb_bench_options, accuracy), NULL, "high",
     "high|normal|fast", 0, 0, "bound on the error", 0},
    {"interp", QB_PARAM_CHOICE, offsetof(qb_bench_options, interp), NULL, "auto",
     "linear|nearest|oversample|auto", 0, 0,
     "interpolation between columns; auto is that of --kernel, else linear", 0},
    {"kernel", QB_PARAM_TEXT, offsetof(qb_bench_options, kernel), "ID", NULL, NULL, 0, 0,
     "the kernel to time; default: the planner's choice", 0},
    {"reference", QB_PARAM_TEXT, offsetof(qb_bench_options, reference), "FILE", NULL, NULL, 0, 0,
     "rabbitct: the volume to compare with, uint16 HU; default: the data set's own", 0},
    {"repeat", QB_PARAM_INT, offsetof(qb_bench_options, repeat), "N", "5", NULL, 1, 64,
     "timed runs; the median counts", 0},
    QB_PARAMS_END(qb_bench_options, reference),
};

typedef qb_status (*run_bench)(const qb_bench_options *options, const qb_env *env, cJSON *result);

static qb_status bench_filter(const qb_bench_options *options, const qb_env *env, cJSON *result) {
    qb__device_set set;
    qb_status status = qb__device_set_open(env, &set);
    if (status != QB_OK) return status;
    qb__compile_watch(&set, env);
    status = set.count ? qb__bench_filter_device(options, set.device[0], env, result)
                       : qb__bench_filter(options, env, result);
    qb__compile_done(&set, result);
    qb__device_set_close(&set);
    return status;
}

static const struct {
    const char *name;
    run_bench run[2]; /* parallel, cone */
    qb_status (*run_file)(const char *file, const qb_bench_options *options, const qb_env *env,
                          cJSON *result);
    bool on_devices[2]; /* parallel, cone: measures a device when one is named */
} benches[] = {
    {"backproject", {qb__bench_backproject, qb__bench_backproject_cone}, NULL, {true, false}},
    {"filter", {bench_filter, bench_filter}, NULL, {true, false}},
    {"fbp", {qb__bench_fbp, NULL}, NULL, {true, false}},
    {"fdk", {qb__bench_fdk, qb__bench_fdk}, NULL, {false, false}},
    {"resident", {qb__bench_resident, NULL}, NULL, {true, false}},
    {"io", {qb__bench_io, qb__bench_io}, NULL, {false, false}},
    {"rabbitct", {NULL, NULL}, qb__bench_rabbitct, {false, false}},
};
enum { BENCHES = sizeof benches / sizeof benches[0] };

/* What --size is when it is not given. */
static qb_numbers usual_size(size_t bench, int geometry) {
    static const qb_numbers flat = {3, {1024, 1024, 64}}, cube = {3, {512, 512, 512}},
                            rabbit = {1, {256}};
    if (benches[bench].run_file) return rabbit;
    return geometry == 1 || benches[bench].run[0] == qb__bench_fdk ? cube : flat;
}

/* Benchmarks of the CPU alone do not pass for a device's. */
static qb_status check_device(size_t bench, int geometry, const qb_env *env) {
    const char *device = env ? env->device : NULL;
    if (!device || strcmp(device, "auto") == 0 || strcmp(device, "cpu") == 0) return QB_OK;
    if (benches[bench].on_devices[geometry]) return QB_OK;
    return qb__fail(QB_BAD_ARGUMENT, "--device %s: %s%s computes on the CPU only; use auto or cpu",
                    device, benches[bench].name, geometry == 1 ? " of a cone beam" : "");
}

static qb_status run(size_t bench, const char *file, const qb_bench_options *options,
                     const qb_env *env, cJSON *result) {
    const char *name = benches[bench].name;
    qb_bench_options all = *options;
    qb_status able = check_device(bench, options->geometry, env);
    if (able != QB_OK) return able;
    if (options->geometry == 0 && !benches[bench].run_file &&
        benches[bench].run[0] != qb__bench_fdk) {
        able = qb__kernel_interp(all.kernel, &all.interp, env);
        if (able != QB_OK) return able;
    }
    if (all.size.count == 0) all.size = usual_size(bench, options->geometry);
    if (benches[bench].run_file)
        return file ? benches[bench].run_file(file, &all, env, result)
                    : qb__fail(QB_BAD_ARGUMENT,
                               "%s needs a data set; qb simulate rabbitct makes one", name);
    if (file) return qb__fail(QB_BAD_ARGUMENT, "%s takes no file: %s", name, file);
    if (options->reference) return qb__fail(QB_BAD_ARGUMENT, "%s takes no --reference", name);
    const run_bench it = benches[bench].run[options->geometry];
    return it ? it(&all, env, result)
              : qb__fail(QB_BAD_ARGUMENT, "%s is for a parallel beam: there is fdk", name);
}

qb_status qb_bench(const char *what, const char *file, const qb_bench_options *given,
                   const qb_env *env, char **json) {
    qb_bench_options options;
    *json = NULL;
    qb_status status = qb__params_view(qb_bench_params, given, &options);
    if (status != QB_OK) return status;
    for (size_t i = 0; i < BENCHES; i++) {
        if (strcmp(what, benches[i].name) != 0) continue;
        cJSON *result = cJSON_CreateObject();
        cJSON_AddStringToObject(result, "bench", what);
        status = run(i, file, &options, env, result);
        if (status == QB_OK) *json = cJSON_Print(result);
        cJSON_Delete(result);
        if (status == QB_OK && !*json) status = qb__fail(QB_NO_MEMORY, "no memory for the result");
        return status;
    }
    return qb__fail(
        QB_BAD_ARGUMENT,
        "there is no %s; there are backproject, filter, fbp, fdk, resident, io and rabbitct", what);
}

void qb_text_free(char *text) {
    cJSON_free(text);
}
