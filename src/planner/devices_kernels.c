/* SPDX-License-Identifier: MIT */
/* The kernels of devices for qb devices: what each needs, and which of them a device runs. */
#include "planner/devices_kernels.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "geometry/parallel.h"
#include "planner/backproject.h"
#include "planner/device_backproject.h"

typedef qb__bp_parallel_device_variant row;

/* A problem that suits everyone: what a kernel says against it is said against the device. */
typedef struct usual {
    qb__bp_parallel_problem problem;
    double *coefficients;
} usual;

static qb_status usual_create(usual *u) {
    static const float some = 1;
    *u = (usual){.problem = {.views = 512, .columns = 512, .nx = 512, .ny = 512, .largest = &some}};
    return qb__half_turn(&u->problem, &u->coefficients);
}

/* NULL where some combination of parameters serves; else what is said against the first. */
static const char *against(const row *variant, const qb__device_info *info, const usual *u) {
    const char *why = NULL;
    if (!(variant->apis & (unsigned)info->api))
        return info->api == QB__API_CUDA ? "not for CUDA" : "not for OpenCL";
    for (size_t n = 0; n < qb__parameter_combinations(variant); n++) {
        int values[QB__PARAMETERS_MAX];
        qb__parameter_combination(variant, n, values);
        const char *reason = variant->unusable(info, &u->problem, values);
        if (!reason) return NULL;
        if (!why) why = reason;
    }
    return why;
}

/* A device that has everything, but for one thing. */
enum { IMAGES, HALF, SUBGROUPS, ARCH, PROCESSOR, FEATURES };
static qb__device_info all_but(qb__device_api api, int lacking) {
    return (qb__device_info){.api = api,
                             .arch = lacking == ARCH ? 0 : 90,
                             .is_cpu = lacking != PROCESSOR,
                             .half_arithmetic = lacking != HALF,
                             .images = lacking != IMAGES,
                             .subgroups = lacking != SUBGROUPS,
                             .warp = 32,
                             .multiprocessors = 100,
                             .memory_bytes = (size_t)1 << 36,
                             .local_bytes = 227 << 10,
                             .l2_bytes = 32 << 20,
                             .group_size = 1024,
                             .image_width = 65536,
                             .image_height = 65536,
                             .image_layers = 2048,
                             .clock_hz = 1e9};
}

/* What it says without each thing in turn, behind the api. */
static void needs(const row *variant, const usual *u, char *text, size_t size) {
    const bool cuda_only = !(variant->apis & QB__API_OPENCL);
    const qb__device_api api = cuda_only ? QB__API_CUDA : QB__API_OPENCL;
    int used = snprintf(text, size, "%s",
                        cuda_only                      ? "CUDA"
                        : variant->apis & QB__API_CUDA ? "CUDA or OpenCL"
                                                       : "OpenCL");
    for (int lacking = 0; lacking < FEATURES && used > 0 && (size_t)used < size; lacking++) {
        const qb__device_info info = all_but(api, lacking);
        const char *why = against(variant, &info, u);
        if (!why) continue;
        if (strncmp(why, "needs ", 6) == 0) why += 6;
        if (strncmp(why, "is ", 3) == 0) why += 3;
        used += snprintf(text + used, size - (size_t)used, "; %s", why);
    }
}

static cJSON *add_row(cJSON *list, const row *variant) {
    cJSON *entry = cJSON_CreateObject();
    cJSON_AddItemToArray(list, entry);
    cJSON_AddStringToObject(entry, "id", variant->id);
    cJSON_AddStringToObject(entry, "accuracy", qb_accuracy_name(variant->accuracy));
    return entry;
}

qb_status qb__add_device_kernels(cJSON *root) {
    size_t count;
    const row *const *rows = qb__bp_parallel_device_variants(&count);
    cJSON *list = cJSON_AddArrayToObject(root, "device_kernels");
    usual u;
    qb_status status = usual_create(&u);
    for (size_t i = 0; status == QB_OK && i < count; i++) {
        char text[256];
        cJSON *entry = add_row(list, rows[i]);
        needs(rows[i], &u, text, sizeof text);
        cJSON_AddStringToObject(entry, "interp", qb_interp_name(rows[i]->interp));
        cJSON_AddStringToObject(entry, "method", rows[i]->method);
        cJSON_AddStringToObject(entry, "needs", text);
    }
    qb__free(u.coefficients);
    return status;
}

qb_status qb__add_kernels_of(cJSON *device, const qb__device_info *info) {
    size_t count;
    const row *const *rows = qb__bp_parallel_device_variants(&count);
    cJSON *list = cJSON_AddArrayToObject(device, "kernels");
    usual u;
    qb_status status = usual_create(&u);
    for (size_t i = 0; status == QB_OK && i < count; i++) {
        const char *why = against(rows[i], info, &u);
        cJSON *entry = add_row(list, rows[i]);
        cJSON_AddBoolToObject(entry, "runs_here", !why);
        if (why) cJSON_AddStringToObject(entry, "why_not", why);
    }
    qb__free(u.coefficients);
    return status;
}
