/* SPDX-License-Identifier: MIT */
/* What can compute here. Today: this computer's CPU; CUDA and OpenCL devices have their place beside. */
#include "quickbeam/device.h"

#include <cjson/cJSON.h>
#include <string.h>

#include "base/memory.h"
#include "base/pool.h"
#include "base/status.h"
#include "cpu/bp_parallel.h"
#include "cpu/features.h"
#include "ops/backproject.h"
#include "ops/bench.h"

enum { COPY_BYTES = 64 << 20, COPY_ROUNDS = 5 };

struct copy {
    char *from, *to; /* COPY_BYTES a thread */
};

static void copy_part(void *context, size_t task, int worker) {
    (void)worker;
    struct copy *copy = context;
    memcpy(copy->to + task * COPY_BYTES, copy->from + task * COPY_BYTES, COPY_BYTES);
}

/* Bytes read and written a second by all threads copying at once, the median of a few rounds. */
static qb_status measure_copy(int threads, double *rate) {
    struct copy copy = {0};
    qb__pool *pool = NULL;
    double seconds[COPY_ROUNDS];
    qb_status status;
    QB__TRY(qb__pool_create(threads, &pool));
    size_t parts = (size_t)qb__pool_threads(pool);
    QB__TRY(qb__alloc(parts, COPY_BYTES, &copy.from));
    QB__TRY(qb__alloc(parts, COPY_BYTES, &copy.to));
    memset(copy.from, 1, parts * COPY_BYTES);
    qb__pool_for(pool, parts, copy_part, &copy); /* touches the pages */
    for (int i = 0; i < COPY_ROUNDS; i++) {
        double from = qb__bench_now();
        qb__pool_for(pool, parts, copy_part, &copy);
        seconds[i] = qb__bench_now() - from;
    }
    *rate = 2.0 * (double)(parts * COPY_BYTES) / qb__median(seconds, COPY_ROUNDS);
out:
    qb__pool_destroy(pool);
    qb__free(copy.from);
    qb__free(copy.to);
    return status;
}

static void add_features(cJSON *device) {
    static const struct {
        uint32_t bit;
        const char *name;
    } names[] = {{QB__CPU_AVX2, "avx2"}, {QB__CPU_AVX512, "avx512"}, {QB__CPU_AVX512FP16, "avx512fp16"}};
    cJSON *list = cJSON_AddArrayToObject(device, "features");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (qb__cpu_features() & names[i].bit)
            cJSON_AddItemToArray(list, cJSON_CreateString(names[i].name));
    }
}

static void add_kernels(cJSON *device) {
    size_t count;
    const qb__bp_parallel_variant *rows = qb__bp_parallel_variants(&count);
    cJSON *list = cJSON_AddArrayToObject(device, "kernels");
    for (size_t i = 0; i < count; i++) {
        cJSON *row = cJSON_CreateObject();
        cJSON_AddStringToObject(row, "id", rows[i].id);
        cJSON_AddStringToObject(row, "accuracy", qb__accuracy_name((qb_accuracy)rows[i].accuracy));
        cJSON_AddBoolToObject(row, "runs_here", (rows[i].features & ~qb__cpu_features()) == 0);
        cJSON_AddNumberToObject(row, "listed_giga_updates_per_second_per_core", rows[i].speed);
        cJSON_AddItemToArray(list, row);
    }
}

qb_status qb_devices_describe(const qb_env *env, char **json) {
    *json = NULL;
    double copy_rate;
    qb_status status = measure_copy(env ? env->threads : 0, &copy_rate);
    if (status != QB_OK) return status;
    cJSON *root = cJSON_CreateObject();
    cJSON *list = cJSON_AddArrayToObject(root, "devices");
    cJSON *device = cJSON_CreateObject();
    cJSON_AddItemToArray(list, device);
    cJSON_AddStringToObject(device, "device", "cpu");
    cJSON_AddStringToObject(device, "name", qb__cpu_name());
    cJSON_AddNumberToObject(device, "threads", qb__cpu_count());
    cJSON_AddNumberToObject(device, "l1_bytes", (double)qb__cpu_l1_bytes());
    cJSON_AddNumberToObject(device, "l2_bytes", (double)qb__cpu_l2_bytes());
    cJSON_AddNumberToObject(device, "memory_available_bytes", (double)qb__available_bytes());
    cJSON_AddNumberToObject(device, "copy_gigabytes_per_second", copy_rate * 1e-9);
    add_features(device);
    add_kernels(device);
    *json = cJSON_Print(root);
    cJSON_Delete(root);
    return *json ? QB_OK : qb__fail(QB_NO_MEMORY, "no memory for the list of devices");
}
