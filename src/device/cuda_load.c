/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "device/cuda_api.h"
#include "device/library.h"

/* Open libcuda and list its devices without creating a context, which takes a fifth of a second and half a gigabyte per
 * device. */

qb__cuda_api qb__cuda;
int qb__cuda_driver;

enum { OLDEST_DRIVER = 11020 };

static bool open_driver(char *missing, size_t size) {
#define NAME(field, symbol, arguments) symbol,
    static const char *const symbols[] = {QB__CUDA_SYMBOLS(NAME)};
#undef NAME
    static const char *const files[] = {"libcuda.so.1", NULL};
    char why[256];
    const char *absent;
    void *library = qb__library_open("QB_LIBCUDA", files, why, sizeof why);
    if (!library) {
        snprintf(missing, size,
                 "no CUDA: %s; NVIDIA's driver brings it (Debian: nvidia-driver, Ubuntu: "
                 "nvidia-driver-580)",
                 why);
        return false;
    }
    if (!qb__library_symbols(library, symbols, sizeof symbols / sizeof *symbols, &qb__cuda, &absent)) {
        snprintf(missing, size, "no CUDA: the driver is too old, it lacks %s; install a newer one", absent);
        return false;
    }
    return true;
}

static bool start_driver(int *count, char *missing, size_t size) {
    qb__cu_result result = qb__cuda.init(0);
    const char *text = "unknown error";
    if (!result) result = qb__cuda.driver_version(&qb__cuda_driver);
    if (!result && qb__cuda_driver < OLDEST_DRIVER) {
        snprintf(missing, size, "no CUDA: the driver is for CUDA %d.%d; 11.2 or newer is needed",
                 qb__cuda_driver / 1000, qb__cuda_driver % 1000 / 10);
        return false;
    }
    if (!result) result = qb__cuda.device_count(count);
    if (!result && *count > 0) return true;
    if (!result || result == 100) {
        snprintf(missing, size,
                 "no CUDA: the driver is there but sees no device (nvidia-smi; "
                 "CUDA_VISIBLE_DEVICES)");
        return false;
    }
    if (qb__cuda.error_text(result, &text) || !text) text = "unknown error";
    snprintf(missing, size, "no CUDA: the driver does not start: %s (error %d)%s", text, result,
             result == 803 || result == 999 ? "; restart the machine after updating the driver" : "");
    return false;
}

static int attribute(int device, int which) {
    int value = 0;
    return qb__cuda.device_attribute(&value, which, device) || value < 0 ? 0 : value;
}

/* For work on kernels: QB_CUDA_ARCH=80 treats a newer chip as one of compute capability 8.0. */
static bool wished_arch(int *arch) {
    const char *wish = getenv("QB_CUDA_ARCH");
    int wished = wish ? atoi(wish) : 0;
    if (wished <= 0 || wished >= *arch) return false;
    *arch = wished;
    return true;
}

static void describe(qb__device *device, int index) {
    enum {
        GROUP_SIZE = 1,
        SHARED = 8,
        WARP = 10,
        CLOCK_KHZ = 13,
        MULTIPROCESSORS = 16,
        INTEGRATED = 18,
        LAYERED_WIDTH = 27,
        LAYERED_HEIGHT = 28,
        LAYERS = 29,
        L2 = 38,
        MAJOR = 75,
        MINOR = 76,
        SHARED_OPTED_IN = 97
    };
    qb__device_info *info = &device->info;
    int id = device->number, shared = attribute(id, SHARED_OPTED_IN);
    info->api = QB__API_CUDA;
    info->index = index;
    if (qb__cuda.device_name(info->name, sizeof info->name - 1, id)) strcpy(info->name, "?");
    snprintf(info->spec, sizeof info->spec, "cuda:%d", index);
    info->arch = attribute(id, MAJOR) * 10 + attribute(id, MINOR);
    device->lesser_arch = wished_arch(&info->arch);
    info->arch_specific = !device->lesser_arch && qb__nvrtc_specific(info->arch);
    info->half_arithmetic = info->arch >= 53;
    info->doubles = true;
    info->in_host_memory = attribute(id, INTEGRATED) != 0;
    info->images = true;
    info->subgroups = true;
    info->warp = (unsigned)attribute(id, WARP);
    info->multiprocessors = (unsigned)attribute(id, MULTIPROCESSORS);
    if (qb__cuda.device_memory(&info->memory_bytes, id)) info->memory_bytes = 0;
    info->free_bytes = info->memory_bytes;
    if (qb__cuda.device_identity && qb__cuda.device_identity(info->identity, id))
        memset(info->identity, 0, sizeof info->identity);
    info->local_bytes = (size_t)(shared ? shared : attribute(id, SHARED));
    info->l2_bytes = (size_t)attribute(id, L2);
    info->group_size = (size_t)attribute(id, GROUP_SIZE);
    info->image_width = (size_t)attribute(id, LAYERED_WIDTH);
    info->image_height = (size_t)attribute(id, LAYERED_HEIGHT);
    info->image_layers = (size_t)attribute(id, LAYERS);
    info->clock_hz = 1000.0 * attribute(id, CLOCK_KHZ);
    int n =
        snprintf(info->driver, sizeof info->driver, "CUDA %d.%d", qb__cuda_driver / 1000, qb__cuda_driver % 1000 / 10);
    if (n > 0 && qb__nvrtc.major) {
        snprintf(info->driver + n, sizeof info->driver - (size_t)n, ", NVRTC %d.%d", qb__nvrtc.major, qb__nvrtc.minor);
    }
    snprintf(device->compiler, sizeof device->compiler, "driver %d nvrtc %d.%d", qb__cuda_driver, qb__nvrtc.major,
             qb__nvrtc.minor);
}

void qb__cuda_find(qb__device **list, size_t *count, char *missing, size_t size) {
    int devices = 0;
    *list = NULL;
    *count = 0;
    missing[0] = '\0';
    if (!open_driver(missing, size) || !start_driver(&devices, missing, size)) return;
    if (qb__alloc((size_t)devices, sizeof **list, list) != QB_OK) {
        snprintf(missing, size, "no CUDA: out of memory");
        return;
    }
    char why[400];
    if (!qb__nvrtc_open(qb__cuda_driver, why, sizeof why)) { snprintf(missing, size, "CUDA cannot compile: %s", why); }
    for (int i = 0; i < devices; i++) {
        if (qb__cuda.device_get(&(*list)[*count].number, i)) continue;
        describe(&(*list)[*count], i);
        ++*count;
    }
}
