/* SPDX-License-Identifier: MIT */
#include "bench/bench_options.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/comm.h"
#include "base/fork.h"
#include "base/params.h"
#include "base/status.h"
#include "bench/bench_parts.h"
#include "planner/choose.h"
#include "quickbeam/device.h"

static_assert(sizeof(qb_beam) == sizeof(int), "a choice is written as an int");

const qb_param qb_tool_bench_params[] = {
    {"geometry", QB_PARAM_CHOICE, offsetof(qb_tool_bench_options, geometry), NULL, "parallel", "parallel|cone",
     QB_BEAM_PARALLEL, 0, "beam", 0},
    {"size", QB_PARAM_NUMBERS, offsetof(qb_tool_bench_options, size), "NX[,NY,NZ]", NULL, NULL, 1, 16384,
     "voxels of the volume; default: 1024,1024,64, of a cone beam and projection 512,512,512, of rabbitct and mpi 256",
     0},
    {"views", QB_PARAM_INT, offsetof(qb_tool_bench_options, views), "N", "1024", NULL, 1, 100000, "projections", 0},
    {"detector", QB_PARAM_NUMBERS, offsetof(qb_tool_bench_options, detector), "COLUMNS[,ROWS]", NULL, NULL, 2, 65536,
     "detector pixels; default: NX columns, NZ rows", 0},
    {"accuracy", QB_PARAM_CHOICE, offsetof(qb_tool_bench_options, accuracy), NULL, "high", "high|normal|fast",
     QB_ACCURACY_HIGH, 0, "bound on the error", 0},
    {"interp", QB_PARAM_CHOICE, offsetof(qb_tool_bench_options, interp), NULL, "auto", "auto|linear|nearest|oversample",
     0, 0, "interpolation between columns; auto is that of --kernel, else linear", 0},
    {"kernel", QB_PARAM_TEXT, offsetof(qb_tool_bench_options, kernel), "ID", NULL, NULL, 0, 0,
     "the kernel to time, of io one row, such as h5_zstd; default: the planner's choice", 0},
    {"reference", QB_PARAM_TEXT, offsetof(qb_tool_bench_options, reference), "FILE", NULL, NULL, 0, 0,
     "rabbitct: the volume to compare with, uint16 HU; default: the data set's own", 0},
    {"repeat", QB_PARAM_INT, offsetof(qb_tool_bench_options, repeat), "N", "5", NULL, 1, 64,
     "timed runs; the median counts", 0},
    QB_PARAMS_END(qb_tool_bench_options),
};

typedef qb_status (*run_bench)(const qb_tool_bench_options *options, const qb_env *env, cJSON *result);

/* A benchmark for one kind of beam. */
typedef struct way {
    run_bench run;
    bool on_devices; /* can measure a device if one is named */
    bool parallel;   /* the kernel of a parallel beam is chosen by --interp and --kernel */
    qb_numbers size; /* default of --size */
} way;

#define FLAT                                                                                                           \
    3, { 1024, 1024, 64 }
#define CUBE                                                                                                           \
    3, { 512, 512, 512 }

/* Options besides --size, --repeat and --geometry, of which a benchmark takes some. */
enum { VIEWS = 1, DETECTOR = 2, ACCURACY = 4, INTERP = 8, KERNEL = 16, REFERENCE = 32 };

static const struct {
    const char *name;
    way parallel, cone; /* cone without run: use fdk */
    int takes;
    qb_status (*run_file)(const char *file, const qb_tool_bench_options *options, const qb_env *env, cJSON *result);
} benches[] = {
    {"backproject",
     {qb__bench_backproject, true, true, {FLAT}},
     {qb__bench_backproject_cone, true, false, {CUBE}},
     VIEWS | DETECTOR | ACCURACY | INTERP | KERNEL,
     NULL},
    {"filter",
     {qb__bench_filter_anywhere, true, true, {FLAT}},
     {qb__bench_filter_anywhere, false, false, {CUBE}},
     VIEWS | DETECTOR,
     NULL},
    {"fbp",
     {qb__bench_fbp, true, true, {FLAT}},
     {NULL, false, false, {CUBE}},
     VIEWS | DETECTOR | ACCURACY | INTERP | KERNEL,
     NULL},
    {"fdk",
     {qb__bench_fdk, true, false, {CUBE}},
     {qb__bench_fdk, true, false, {CUBE}},
     VIEWS | DETECTOR | ACCURACY | KERNEL,
     NULL},
    {"project",
     {qb__bench_project, true, false, {CUBE}},
     {qb__bench_project, true, false, {CUBE}},
     VIEWS | DETECTOR | ACCURACY | KERNEL,
     NULL},
    {"resident",
     {qb__bench_resident, true, true, {FLAT}},
     {NULL, false, false, {CUBE}},
     VIEWS | DETECTOR | ACCURACY | INTERP | KERNEL,
     NULL},
    {"mbir",
     {qb__bench_mbir, true, false, {3, {512, 512, 16}}},
     {NULL, false, false, {CUBE}},
     VIEWS | DETECTOR | KERNEL,
     NULL},
    {"io", {qb__bench_io, false, false, {FLAT}}, {qb__bench_io, false, false, {CUBE}}, KERNEL, NULL},
    {"mpi",
     {qb__bench_mpi, true, false, {3, {256, 256, 256}}},
     {qb__bench_mpi, true, false, {3, {256, 256, 256}}},
     DETECTOR,
     NULL},
    {"rabbitct",
     {NULL, true, false, {1, {256}}},
     {NULL, true, false, {1, {256}}},
     ACCURACY | KERNEL | REFERENCE,
     qb__bench_rabbitct},
};
enum { BENCHES = sizeof benches / sizeof benches[0] };

/* Refuse a device if the benchmark only runs on the CPU, so that its result is not taken for that of the device. */
static qb_status check_device(const way *side, const char *name, bool cone, const qb_env *env) {
    const char *device = env ? env->device : NULL;
    if (!device || strcmp(device, "auto") == 0 || strcmp(device, "cpu") == 0) return QB_OK;
    if (side->on_devices) return QB_OK;
    return qb__fail(QB_BAD_ARGUMENT, "--device %s: %s%s computes on the CPU only; use auto or cpu", device, name,
                    cone ? " of a cone beam" : "");
}

/* The benchmarks that take an option, as a list. */
static const char *takers(int option, char *text, size_t size) {
    size_t n = 0;
    for (size_t i = 0; i < BENCHES && n < size; i++)
        if (benches[i].takes & option)
            n += (size_t)snprintf(text + n, size - n, "%s%s", n ? ", " : "", benches[i].name);
    return text;
}

/* Refuse an option that this benchmark does not take, if it differs from its default. */
static qb_status check_options(size_t bench, const qb_tool_bench_options *o) {
    const struct {
        int option;
        const char *name;
        bool given;
    } rows[] = {{VIEWS, "views", o->views != 1024},
                {DETECTOR, "detector", o->detector.count > 0},
                {ACCURACY, "accuracy", o->accuracy != QB_ACCURACY_HIGH},
                {INTERP, "interp", o->interp != QB_INTERP_AUTO},
                {KERNEL, "kernel", o->kernel != NULL},
                {REFERENCE, "reference", o->reference != NULL}};
    char text[128];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].given && !(benches[bench].takes & rows[i].option))
            return qb__fail(QB_BAD_ARGUMENT, "%s takes no --%s, which is for %s", benches[bench].name, rows[i].name,
                            takers(rows[i].option, text, sizeof text));
    return QB_OK;
}

static qb_status run(size_t bench, const char *file, const qb_tool_bench_options *options, const qb_env *env,
                     cJSON *result) {
    const char *name = benches[bench].name;
    qb_tool_bench_options all = *options;
    const bool cone = options->geometry == QB_BEAM_CONE;
    if (qb__comm_of(env) && strcmp(name, "mpi") != 0)
        return qb__fail(QB_UNSUPPORTED, "qb bench %s cannot run as %d processes: start it once, without mpirun; mpi is",
                        name, qb__comm_count(qb__comm_of(env)));
    const way *side = cone ? &benches[bench].cone : &benches[bench].parallel;
    qb_status able = check_device(side, name, cone, env);
    if (able == QB_OK) able = check_options(bench, options);
    if (able == QB_OK && side->parallel) able = qb__kernel_interp(all.kernel, &all.interp, env);
    if (able != QB_OK) return able;
    if (all.size.count == 0) all.size = side->size;
    if (benches[bench].run_file)
        return file ? benches[bench].run_file(file, &all, env, result)
                    : qb__fail(QB_BAD_ARGUMENT, "%s needs a data set; qb simulate rabbitct makes one", name);
    if (file) return qb__fail(QB_BAD_ARGUMENT, "%s takes no file: %s", name, file);
    return side->run ? side->run(&all, env, result)
                     : qb__fail(QB_BAD_ARGUMENT, "%s is for a parallel beam: there is fdk", name);
}

qb_status qb_tool_bench(const char *what, const char *file, const qb_tool_bench_options *given, const qb_env *env,
                        char **json) {
    QB__NEED(what);
    QB__NEED(json);
    QB__CALL();
    qb_tool_bench_options options;
    *json = NULL;
    qb_status status = qb__params_view(qb_tool_bench_params, given, &options);
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
        "there is no %s; there are backproject, filter, fbp, fdk, project, resident, mbir, io, mpi and rabbitct", what);
}
