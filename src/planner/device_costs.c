/* SPDX-License-Identifier: MIT */
#include "planner/device_costs.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/status.h"
#include "device/rates.h"
#include "planner/device_select.h"
#include "planner/tuning.h"
#include "planner/tuning_file.h"

/* Rates without a measurement: an H200 (CUDA 13) took 0.6 s to start and 0.6 s per program, and its host one second to
 * lock 6 to 16 GB, depending on the page size. CPUs through OpenCL (PoCL) have no transfers. */
static const qb__device_costs some_gpu = {0.5, 0.5, 0.01, 12e9, 12e9, 8e9, false};
static const qb__device_costs some_cpu = {0.1, 0.7, 0.02, 1e12, 1e12, 1e12, false};
static const double shortest = 0.3; /* shortest start of a GPU that was measured */

static double number(const cJSON *row, const char *name) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(row, name);
    return cJSON_IsNumber(item) ? item->valuedouble : NAN;
}

/* The file may hold anything: ignore impossible values. */
static void take(const cJSON *row, const char *name, double low, double high, double *value) {
    const double n = number(row, name);
    if (n >= low && n <= high) *value = n;
}

static bool is_of(const cJSON *row, const char *device) {
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(row, "device");
    return cJSON_IsString(name) && strcmp(name->valuestring, device) == 0 && number(row, "start_seconds") >= 0;
}

/* PCIe with sixteen lanes of the chip's generation: 55 GB/s measured on an H200. OpenCL does not name the chip. */
static double link_of(const qb__device_info *device) {
    return device->arch >= 90 ? 50e9 : device->arch >= 80 ? 22e9 : 0;
}

void qb__device_costs_of(const qb__device_info *device, qb__device_costs *costs) {
    char name[QB__TUNING_NAME];
    const cJSON *rows = qb__tuning_borrow(), *row;
    qb__tuning_device(device, name, sizeof name);
    *costs = device->in_host_memory ? some_cpu : some_gpu;
    if (!device->in_host_memory && link_of(device) > 0) costs->up = costs->down = link_of(device);
    cJSON_ArrayForEach(row, rows) {
        if (!is_of(row, name)) continue;
        take(row, "start_seconds", 0, 1e3, &costs->start);
        take(row, "compile_seconds", 0, 1e3, &costs->compile);
        take(row, "load_seconds", 0, 1e3, &costs->load);
        take(row, "upload_bytes_per_second", 1e6, 1e13, &costs->up);
        take(row, "download_bytes_per_second", 1e6, 1e13, &costs->down);
        take(row, "lock_bytes_per_second", 1e6, 1e13, &costs->lock);
        costs->measured = true;
    }
    qb__tuning_return();
}

double qb__device_least_start(const qb_env *env) {
    double least = INFINITY;
    if (qb__device_is_named(env)) return 0;
    const cJSON *rows = qb__tuning_borrow(), *row;
    cJSON_ArrayForEach(row, rows) {
        const double start = number(row, "start_seconds");
        if (start >= 0 && start < least) least = start;
    }
    qb__tuning_return();
    return least < INFINITY ? least : shortest;
}

double qb__device_streaming(const qb__device_costs *costs, double work, double up_bytes, double down_bytes,
                            double chunks) {
    const double up = up_bytes / costs->up, down = down_bytes / costs->down;
    return fmax(work, fmax(up, down)) + (up + down) / chunks;
}

/* ---- measuring ---- */

static double lock_rate(qb__device *device) {
    const size_t bytes = (size_t)64 << 20;
    void *host = NULL;
    const double from = qb__now();
    if (qb__host_create(device, bytes, &host) != QB_OK) return 0;
    const double took = qb__now() - from;
    qb__host_destroy(device, host);
    return took > 0 ? (double)bytes / took : 0;
}

static void add(cJSON *row, const char *name, double value) {
    if (value > 0) cJSON_AddNumberToObject(row, name, value);
}

static qb_status replace(const char *name, cJSON *made, const qb_env *env) {
    cJSON *rows = NULL;
    int lock = qb__tuning_lock(env);
    qb_status status = qb__tuning_read(&rows);
    if (status == QB_OK) {
        for (cJSON *row = rows->child, *next; row; row = next) {
            next = row->next;
            if (is_of(row, name)) cJSON_Delete(cJSON_DetachItemViaPointer(rows, row));
        }
        cJSON_AddItemToArray(rows, made);
        status = qb__tuning_write(rows);
    } else {
        cJSON_Delete(made);
    }
    cJSON_Delete(rows);
    qb__tuning_unlock(lock);
    return status;
}

qb_status qb__device_costs_measure(qb__device *device, double start, double compile, const qb_env *env) {
    const qb__device_info *info = qb__device_info_of(device);
    char name[QB__TUNING_NAME];
    qb__device_rates rates;
    QB__OR_RETURN(qb__device_measure(device, &rates));
    cJSON *row = cJSON_CreateObject();
    cJSON_AddStringToObject(row, "device", qb__tuning_device(info, name, sizeof name));
    cJSON_AddNumberToObject(row, "start_seconds", start);
    add(row, "compile_seconds", compile);
    add(row, "upload_bytes_per_second", rates.upload_bytes);
    add(row, "download_bytes_per_second", rates.download_bytes);
    add(row, "lock_bytes_per_second", lock_rate(device));
    return replace(name, row, env);
}
