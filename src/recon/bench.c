/* SPDX-License-Identifier: MIT */
#include "quickbeam/bench.h"

#include <string.h>

#include "base/status.h"
#include "ops/bench.h"
#include "quickbeam/device.h"
#include "recon/bench_parts.h"

const qb_param qb_bench_params[] = {
    {"geometry", QB_PARAM_CHOICE, offsetof(qb_bench_options, geometry), NULL, "parallel",
     "parallel|cone", 0, 0, "beam", 0},
    {"size", QB_PARAM_NUMBERS, offsetof(qb_bench_options, size), "NX[,NY,NZ]", "1024,1024,64", NULL,
     1, 16384, "voxels of the volume", 0},
    {"views", QB_PARAM_INT, offsetof(qb_bench_options, views), "N", "1024", NULL, 1, 100000,
     "projections", 0},
    {"detector", QB_PARAM_NUMBERS, offsetof(qb_bench_options, detector), "COLUMNS[,ROWS]", NULL, NULL,
     2, 65536, "detector pixels; default: NX columns, NZ rows", 0},
    {"accuracy", QB_PARAM_CHOICE, offsetof(qb_bench_options, accuracy), NULL, "high",
     "high|normal|fast", 0, 0, "bound on the error", 0},
    {"interp", QB_PARAM_CHOICE, offsetof(qb_bench_options, interp), NULL, "linear",
     "linear|nearest|oversample", 0, 0, "interpolation between columns", 0},
    {"kernel", QB_PARAM_TEXT, offsetof(qb_bench_options, kernel), "ID", NULL, NULL, 0, 0,
     "the kernel to time; default: the planner's choice", 0},
    {"repeat", QB_PARAM_INT, offsetof(qb_bench_options, repeat), "N", "5", NULL, 1, 64,
     "timed runs; the median counts", 0},
    {0},
};

static const struct {
    const char *name;
    qb_status (*run)(const qb_bench_options *options, const qb_env *env, cJSON *result);
} benches[] = {
    {"backproject", qb__bench_backproject},
    {"filter", qb__bench_filter},
    {"fbp", qb__bench_fbp},
    {"io", qb__bench_io},
};

qb_status qb_bench(const char *what, const qb_bench_options *options, const qb_env *env,
                   char **json) {
    *json = NULL;
    for (size_t i = 0; i < sizeof benches / sizeof benches[0]; i++) {
        if (strcmp(what, benches[i].name) != 0) continue;
        cJSON *result = cJSON_CreateObject();
        cJSON_AddStringToObject(result, "bench", what);
        qb_status status = benches[i].run(options, env, result);
        if (status == QB_OK) *json = cJSON_Print(result);
        cJSON_Delete(result);
        if (status == QB_OK && !*json) status = qb__fail(QB_NO_MEMORY, "no memory for the result");
        return status;
    }
    return qb__fail(QB_BAD_ARGUMENT, "qb bench %s: there are backproject, filter, fbp and io", what);
}

void qb_text_free(char *text) { cJSON_free(text); }
