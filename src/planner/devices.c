/* SPDX-License-Identifier: MIT */
/* The devices of this machine: the CPU, then CUDA and OpenCL devices. */
#include "quickbeam/device.h"

#include <string.h>

#include "base/clock.h"
#include "base/fork.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/pool.h"
#include "base/sort.h"
#include "base/status.h"
#include "cpu/features.h"
#include "device/rates.h"
#include "planner/devices_kernels.h"
#include "planner/variants.h"

enum { COPY_BYTES = 64 << 20, COPY_ROUNDS = 5 };

struct copy {
    char *from, *to; /* COPY_BYTES per thread */
};

static void copy_part(void *context, size_t task, int worker) {
    (void)worker;
    struct copy *copy = context;
    memcpy(copy->to + task * COPY_BYTES, copy->from + task * COPY_BYTES, COPY_BYTES);
}

/* Bytes read and written per second by all threads copying at once; the median of a few rounds. */
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
        double from = qb__now();
        qb__pool_for(pool, parts, copy_part, &copy);
        seconds[i] = qb__now() - from;
    }
    *rate = 2.0 * (double)(parts * COPY_BYTES) / qb__median(seconds, COPY_ROUNDS);
out:
    qb__pool_destroy(pool);
    QB__FREE(copy.from, copy.to);
    return status;
}

static void add_features(cJSON *device) {
    static const struct {
        uint32_t bit;
        const char *name;
    } names[] = {{QB__CPU_AVX2, "avx2"},
                 {QB__CPU_AVX512, "avx512"},
                 {QB__CPU_AVX512FP16, "avx512fp16"},
                 {QB__CPU_AVX512VNNI, "avx512vnni"}};
    cJSON *list = cJSON_AddArrayToObject(device, "features");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (qb__cpu_features() & names[i].bit) cJSON_AddItemToArray(list, cJSON_CreateString(names[i].name));
    }
}

static void add_kernels(cJSON *device) {
    cJSON *list = cJSON_AddArrayToObject(device, "kernels");
    const qb__variant *row;
    for (int operation = 0; operation < QB__OPERATIONS; operation++)
        for (size_t i = 0; (row = qb__variant_at(operation, false, i)) != NULL; i++) {
            cJSON *entry = cJSON_CreateObject();
            cJSON_AddItemToArray(list, entry);
            cJSON_AddStringToObject(entry, "id", row->id);
            cJSON_AddStringToObject(entry, "accuracy", qb_accuracy_name(row->accuracy));
            cJSON_AddBoolToObject(entry, "runs_here", (row->features & ~qb__cpu_features()) == 0);
            cJSON_AddNumberToObject(entry, "listed_giga_updates_per_second_per_core", row->speed);
        }
}

static void add_cpu(cJSON *list, double copy_rate) {
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
}

static void add_facts(cJSON *device, const qb__device_info *info) {
    const struct {
        const char *name;
        double value;
    } numbers[] = {{"multiprocessors", info->multiprocessors}, {"clock_ghz", info->clock_hz * 1e-9},
                   {"compute_capability", info->arch / 10.0},  {"memory_bytes", (double)info->memory_bytes},
                   {"local_bytes", (double)info->local_bytes}, {"l2_bytes", (double)info->l2_bytes}};
    const struct {
        const char *name;
        bool there;
    } features[] = {{"textures", info->images},
                    {"half_arithmetic", info->half_arithmetic},
                    {"shuffles", info->subgroups},
                    {"host_processor", info->is_cpu}};
    cJSON_AddStringToObject(device, "device", info->spec);
    cJSON_AddStringToObject(device, "name", info->name);
    cJSON_AddStringToObject(device, "driver", info->driver);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (numbers[i].value != 0) cJSON_AddNumberToObject(device, numbers[i].name, numbers[i].value);
    }
    cJSON *list = cJSON_AddArrayToObject(device, "features");
    for (size_t i = 0; i < sizeof features / sizeof features[0]; i++) {
        if (features[i].there) cJSON_AddItemToArray(list, cJSON_CreateString(features[i].name));
    }
}

static void add_rates(cJSON *device, const qb__device_rates *rates) {
    const struct {
        const char *name;
        double rate, unit;
    } rows[] = {{"copy_gigabytes_per_second", rates->copy_bytes, 1e-9},
                {"upload_gigabytes_per_second", rates->upload_bytes, 1e-9},
                {"download_gigabytes_per_second", rates->download_bytes, 1e-9},
                {"cache_gigabytes_per_second", rates->cache_bytes, 1e-9},
                {"shared_memory_gigabytes_per_second", rates->local_bytes, 1e-9},
                {"giga_fma_per_second", rates->arithmetic, 1e-9},
                {"gigatexels_per_second", rates->texels, 1e-9},
                {"tensor_teraflops", rates->tensor_flops, 1e-12}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].rate > 0) cJSON_AddNumberToObject(device, rows[i].name, rows[i].rate * rows[i].unit);
    }
}

/* A device that fails is listed with its error; the others are still listed. */
static void add_device(const qb_env *env, cJSON *list, const qb__device_info *info) {
    cJSON *object = cJSON_CreateObject();
    qb__device *device = NULL;
    qb__device_rates rates = {0};
    size_t free_bytes;
    cJSON_AddItemToArray(list, object);
    add_facts(object, info);
    qb_status status = qb__add_kernels_of(object, info);
    qb__log(env, QB_LOG_DEBUG, "measuring %s", info->spec);
    if (status == QB_OK) status = qb__device_open(info->spec, &device);
    if (status == QB_OK) status = qb__device_free_bytes(device, &free_bytes);
    if (status == QB_OK) {
        cJSON_AddNumberToObject(object, "memory_available_bytes", (double)free_bytes);
        status = qb__device_measure(device, &rates);
        add_rates(object, &rates);
    }
    const char *problem = status == QB_OK ? rates.problem : qb_detail();
    if (*problem) cJSON_AddStringToObject(object, "problem", problem);
    qb__device_close(device);
}

static void add_missing(cJSON *root) {
    static const qb__device_api apis[] = {QB__API_CUDA, QB__API_OPENCL};
    cJSON *list = cJSON_AddArrayToObject(root, "missing");
    for (size_t i = 0; i < sizeof apis / sizeof apis[0]; i++) {
        const char *text = qb__device_missing(apis[i]);
        if (*text) cJSON_AddItemToArray(list, cJSON_CreateString(text));
    }
    const char *cache = qb__program_cache_problem();
    if (*cache) cJSON_AddItemToArray(list, cJSON_CreateString(cache));
}

qb_status qb_devices_describe(const qb_env *env, char **json) {
    QB__NEED(json);
    QB__CALL();
    const qb__device_info *infos;
    size_t count;
    double copy_rate;
    *json = NULL;
    qb_status status = measure_copy(env ? env->threads : 0, &copy_rate);
    if (status == QB_OK) status = qb__device_list(&infos, &count);
    if (status != QB_OK) return status;
    cJSON *root = cJSON_CreateObject();
    cJSON *list = cJSON_AddArrayToObject(root, "devices");
    add_cpu(list, copy_rate);
    for (size_t i = 0; i < count && !qb__cancelled(env); i++) add_device(env, list, &infos[i]);
    add_missing(root);
    status = qb__add_device_kernels(root);
    if (status == QB_OK) status = qb__check_cancel(env);
    if (status == QB_OK) *json = cJSON_Print(root);
    cJSON_Delete(root);
    if (status != QB_OK || *json) return status;
    return qb__fail(QB_NO_MEMORY, "no memory for the list of devices");
}
