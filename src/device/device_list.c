/* SPDX-License-Identifier: MIT */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "device/backend.h"

/* The devices are found once and live until the process ends; opening one only counts. */

static const qb__backend *const backends[] = {&qb__cuda_backend, &qb__opencl_backend};
enum { BACKENDS = sizeof backends / sizeof backends[0] };

static struct {
    qb__device *list;
    size_t count;
    char missing[512];
} found[BACKENDS];
static qb__device_info *infos;
static size_t info_count;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;

static void find(void) {
    size_t total = 0;
    for (size_t b = 0; b < BACKENDS; b++) {
        backends[b]->find(&found[b].list, &found[b].count, found[b].missing, sizeof found[b].missing);
        for (size_t i = 0; i < found[b].count; i++) {
            qb__device *device = &found[b].list[i];
            device->backend = backends[b];
            pthread_mutex_init(&device->lock, NULL);
        }
        total += found[b].count;
    }
    if (!total || qb__alloc(total, sizeof *infos, &infos) != QB_OK) return;
    for (size_t b = 0; b < BACKENDS; b++) {
        for (size_t i = 0; i < found[b].count; i++) infos[info_count++] = found[b].list[i].info;
    }
}

qb_status qb__device_list(const qb__device_info **list, size_t *count) {
    pthread_once(&once, find);
    *list = infos;
    *count = info_count;
    return QB_OK;
}

const char *qb__device_missing(qb__device_api api) {
    pthread_once(&once, find);
    for (size_t b = 0; b < BACKENDS; b++) {
        if (backends[b]->api == api) return found[b].missing;
    }
    return "";
}

/* OpenCL may list the CPU in addition to a GPU, and before it. */
static size_t first_gpu(size_t backend) {
    for (size_t i = 0; i < found[backend].count; i++)
        if (!found[backend].list[i].info.is_cpu) return i;
    return 0;
}

/* True for "cuda" (the first GPU, or the first device if there is no GPU) and "cuda:2"; false for another API or a
 * malformed text. */
static bool parse(const char *spec, size_t backend, size_t *index) {
    const char *name = backends[backend]->name;
    size_t n = strlen(name);
    if (strncmp(spec, name, n) != 0) return false;
    *index = first_gpu(backend);
    if (!spec[n]) return true;
    if (spec[n] != ':' || spec[n + 1] < '0' || spec[n + 1] > '9') return false;
    char *end;
    unsigned long value = strtoul(spec + n + 1, &end, 10);
    *index = (size_t)value;
    return !*end;
}

static qb_status find_spec(const char *spec, qb__device **device) {
    for (size_t b = 0; b < BACKENDS; b++) {
        size_t index;
        if (!parse(spec, b, &index)) continue;
        if (index < found[b].count) {
            *device = &found[b].list[index];
            return QB_OK;
        }
        if (!found[b].count) return qb__fail(QB_NO_DEVICE, "%s: %s", spec, found[b].missing);
        return qb__fail(QB_NO_DEVICE, "%s: there %s %zu, numbered from 0; see qb devices", spec,
                        found[b].count == 1 ? "is" : "are", found[b].count);
    }
    return qb__fail(QB_BAD_ARGUMENT,
                    "%s is no device: auto, cpu, cuda, cuda:N, cuda:all, opencl, opencl:N or opencl:all", spec);
}

qb_status qb__device_open(const char *spec, qb__device **device) {
    *device = NULL;
    pthread_once(&once, find);
    qb__device *wanted = NULL;
    qb_status status = find_spec(spec, &wanted);
    if (status != QB_OK) return status;
    pthread_mutex_lock(&open_lock);
    if (!wanted->opened) {
        wanted->lost = wanted->losing = 0;
        status = wanted->backend->open(wanted);
    }
    if (status == QB_OK) {
        wanted->opened++;
        *device = wanted;
    }
    pthread_mutex_unlock(&open_lock);
    return status == QB_OK ? status : qb__fail_in(status, "%s", spec);
}

void qb__device_close(qb__device *device) {
    if (!device) return;
    pthread_mutex_lock(&open_lock);
    if (--device->opened == 0) device->backend->close(device);
    pthread_mutex_unlock(&open_lock);
}

const qb__device_info *qb__device_info_of(const qb__device *device) { return &device->info; }

qb_status qb__device_check(const qb__device *device) {
    if (!device->lost) return QB_OK;
    return qb__fail(QB_NO_DEVICE,
                    "%s was lost to an earlier failure (%s); end this process and start again, or "
                    "go on with --device cpu",
                    device->info.spec, device->lost_to);
}

/* Several threads may detect it at once; the reason of the first one is kept. */
qb_status qb__device_lose(qb__device *device, const char *why) {
    if (!atomic_exchange(&device->losing, 1)) {
        snprintf(device->lost_to, sizeof device->lost_to, "%s", why);
        device->lost = 1;
    }
    return qb__fail(QB_NO_DEVICE,
                    "%s (%s) was lost: %s; end this process and start again, or go on with "
                    "--device cpu",
                    device->info.spec, device->info.name, why);
}

qb_status qb__device_free_bytes(qb__device *device, size_t *bytes) {
    *bytes = 0;
    return device->backend->free_bytes(device, bytes);
}

qb_status qb__device_enter(qb__device *device) { return device->backend->enter(device); }

void qb__device_leave(qb__device *device) { device->backend->leave(device); }
