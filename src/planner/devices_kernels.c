/* SPDX-License-Identifier: MIT */
/* Device kernels for qb devices: what each needs, and which of them a device can run. */
#include "planner/devices_kernels.h"

#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "planner/variants.h"

/* NULL if some combination of parameters works; else the reason against the first. */
static const char *against(const qb__variant *row, const qb__device_info *info, const void *problem) {
    const char *why = NULL;
    if (!(row->apis & (unsigned)info->api)) return info->api == QB__API_CUDA ? "not for CUDA" : "not for OpenCL";
    const size_t all = qb__parameter_combinations(row);
    for (size_t n = 0; row->unusable && n < all; n++) {
        int values[QB__PARAMETERS_MAX];
        qb__parameter_combination(row, n, values);
        const char *reason = row->unusable(info, problem, values);
        if (!reason) return NULL;
        if (!why) why = reason;
    }
    return why;
}

/* An ideal device that lacks one property. */
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

/* The kernel's needs, found by removing one property at a time, after the API. */
static void needs(const qb__variant *row, const void *problem, char *text, size_t size) {
    const bool cuda_only = !(row->apis & QB__API_OPENCL);
    const qb__device_api api = cuda_only ? QB__API_CUDA : QB__API_OPENCL;
    int used = snprintf(text, size, "%s", cuda_only ? "CUDA" : row->apis & QB__API_CUDA ? "CUDA or OpenCL" : "OpenCL");
    for (int lacking = 0; lacking < FEATURES && used > 0 && (size_t)used < size; lacking++) {
        const qb__device_info info = all_but(api, lacking);
        const char *why = against(row, &info, problem);
        if (!why) continue;
        if (strncmp(why, "needs ", 6) == 0) why += 6;
        if (strncmp(why, "is ", 3) == 0) why += 3;
        used += snprintf(text + used, size - (size_t)used, "; %s", why);
    }
}

static cJSON *add_row(cJSON *list, const qb__variant *row) {
    cJSON *entry = cJSON_CreateObject();
    cJSON_AddItemToArray(list, entry);
    cJSON_AddStringToObject(entry, "id", row->id);
    cJSON_AddStringToObject(entry, "accuracy", qb_accuracy_name(row->accuracy));
    return entry;
}

static void add_needs(cJSON *entry, const qb__variant *row, const void *problem) {
    char text[256];
    needs(row, problem, text, sizeof text);
    cJSON_AddStringToObject(entry, "interp", qb_interp_name(row->interp));
    cJSON_AddStringToObject(entry, "method", row->method);
    cJSON_AddStringToObject(entry, "needs", text);
}

static void add_verdict(cJSON *entry, const qb__variant *row, const void *problem, const qb__device_info *info) {
    const char *why = against(row, info, problem);
    cJSON_AddBoolToObject(entry, "runs_here", !why);
    if (why) cJSON_AddStringToObject(entry, "why_not", why);
}

/* Adds all kernels with their needs, or, for a device, whether it can run them. The test problem suits every kernel, so
 * that the reasons concern the device. */
static qb_status add_all(cJSON *list, const qb__device_info *info) {
    const qb__variant *row;
    for (int operation = 0; operation < QB__OPERATIONS; operation++) {
        const qb__operation_row *its = qb__operation_of(operation);
        void *problem = NULL;
        QB__OR_RETURN(its->usual(&problem));
        for (size_t i = 0; (row = qb__variant_at(operation, true, i)) != NULL; i++)
            if (info)
                add_verdict(add_row(list, row), row, problem, info);
            else
                add_needs(add_row(list, row), row, problem);
        its->forget(problem);
    }
    return QB_OK;
}

qb_status qb__add_device_kernels(cJSON *root) { return add_all(cJSON_AddArrayToObject(root, "device_kernels"), NULL); }

qb_status qb__add_kernels_of(cJSON *device, const qb__device_info *info) {
    return add_all(cJSON_AddArrayToObject(device, "kernels"), info);
}
