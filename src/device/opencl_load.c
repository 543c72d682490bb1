/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "device/library.h"
#include "device/opencl_api.h"

/* Open the OpenCL loader and list the devices of all its platforms. */

qb__opencl_api qb__opencl;

enum { PLATFORMS_MAX = 16, DEVICES_MAX = 32 };

static bool open_loader(char *missing, size_t size) {
#define NAME(type, field, symbol, arguments) symbol,
    static const char *const symbols[] = {QB__OPENCL_SYMBOLS(NAME)};
#undef NAME
    static const char *const files[] = {"libOpenCL.so.1", "libOpenCL.so", NULL};
    char why[256];
    const char *absent;
    void *library = qb__library_open("QB_LIBOPENCL", files, why, sizeof why);
    if (!library) {
        snprintf(missing, size,
                 "no OpenCL: %s; Debian's ocl-icd-libopencl1 brings it, and the device's driver "
                 "(nvidia-opencl-icd, intel-opencl-icd, mesa-opencl-icd; pocl-opencl-icd for CPUs)",
                 why);
        return false;
    }
    if (!qb__library_symbols(library, symbols, sizeof symbols / sizeof *symbols, &qb__opencl, &absent)) {
        snprintf(missing, size, "no OpenCL: the loader lacks %s; OpenCL 1.2 is needed", absent);
        return false;
    }
    return true;
}

/* A property of a device as a number of any width; 0 if it has none. */
static uint64_t number(void *id, uint32_t which) {
    uint64_t value = 0; /* little-endian: a narrower value fills the low bytes */
    size_t size = 0;
    if (qb__opencl.device_info(id, which, sizeof value, &value, &size)) return 0;
    return size <= sizeof value ? value : 0;
}

static void text(void *id, uint32_t which, char *out, size_t size) {
    char whole[4096];
    size_t n = 0;
    if (qb__opencl.device_info(id, which, sizeof whole - 1, whole, &n) || n >= sizeof whole) n = 0;
    if (n >= size) n = size - 1;
    memcpy(out, whole, n);
    out[n] = '\0';
}

static void describe(qb__device *device, int index) {
    qb__device_info *info = &device->info;
    void *id = device->id;
    char extensions[4096], version[256], driver[128];
    info->api = QB__API_OPENCL;
    info->index = index;
    snprintf(info->spec, sizeof info->spec, "opencl:%d", index);
    text(id, QB__CL_DEVICE_NAME, info->name, sizeof info->name);
    text(id, QB__CL_DEVICE_EXTENSIONS, extensions, sizeof extensions);
    text(id, QB__CL_DEVICE_VERSION, version, sizeof version);
    text(id, QB__CL_DRIVER_VERSION, driver, sizeof driver);
    snprintf(info->driver, sizeof info->driver, "%.10s, driver %.40s", version, driver);
    snprintf(device->compiler, sizeof device->compiler, "%.40s %.20s", version, driver);
    info->is_cpu = (number(id, QB__CL_DEVICE_TYPE) & QB__CL_DEVICE_TYPE_CPU) != 0;
    info->in_host_memory = info->is_cpu || number(id, QB__CL_DEVICE_SHARES_MEMORY) != 0;
    info->half_arithmetic = strstr(extensions, "cl_khr_fp16") != NULL;
    info->doubles = strstr(extensions, "cl_khr_fp64") != NULL;
    info->images = number(id, QB__CL_DEVICE_IMAGES) != 0;
    info->subgroups =
        strstr(extensions, "cl_khr_subgroup_shuffle") != NULL || strstr(extensions, "cl_intel_subgroups") != NULL;
    uint64_t warp = number(id, QB__CL_NVIDIA_WARP);
    device->nvidia = warp != 0;
    if (strstr(extensions, "cl_nv_device_attribute_query"))
        info->arch = (int)(number(id, QB__CL_NVIDIA_MAJOR) * 10 + number(id, QB__CL_NVIDIA_MINOR));
    if (!warp) warp = number(id, QB__CL_AMD_WAVEFRONT);
    info->warp = warp && warp <= 128 ? (unsigned)warp : 1;
    info->multiprocessors = (unsigned)number(id, QB__CL_DEVICE_UNITS);
    info->memory_bytes = info->free_bytes = (size_t)number(id, QB__CL_DEVICE_MEMORY);
    info->local_bytes = (size_t)number(id, QB__CL_DEVICE_LOCAL_BYTES);
    /* NVIDIA's OpenCL refuses a launch with all of the 48 KiB that it reports (seen with driver 580). */
    if (device->nvidia && info->local_bytes > 2048) info->local_bytes -= 1024;
    info->l2_bytes = (size_t)number(id, QB__CL_DEVICE_CACHE_BYTES);
    info->group_size = (size_t)number(id, QB__CL_DEVICE_GROUP_SIZE);
    info->image_width = (size_t)number(id, QB__CL_DEVICE_IMAGE_WIDTH);
    info->image_height = (size_t)number(id, QB__CL_DEVICE_IMAGE_HEIGHT);
    info->image_layers = (size_t)number(id, QB__CL_DEVICE_IMAGE_LAYERS);
    info->clock_hz = 1e6 * (double)number(id, QB__CL_DEVICE_CLOCK_MHZ);
}

static size_t collect(void **ids) {
    void *platforms[PLATFORMS_MAX];
    uint32_t count = 0;
    size_t total = 0;
    if (qb__opencl.platforms(PLATFORMS_MAX, platforms, &count)) return 0;
    for (uint32_t p = 0; p < count && p < PLATFORMS_MAX && total < DEVICES_MAX; p++) {
        void *of_platform[DEVICES_MAX];
        uint32_t n = 0;
        if (qb__opencl.devices(platforms[p], 0xffffffff, DEVICES_MAX, of_platform, &n)) continue;
        for (uint32_t i = 0; i < n && i < DEVICES_MAX && total < DEVICES_MAX; i++) {
            if (!number(of_platform[i], QB__CL_DEVICE_AVAILABLE)) continue;
            if (!number(of_platform[i], QB__CL_DEVICE_COMPILER)) continue;
            ids[total++] = of_platform[i];
        }
    }
    return total;
}

void qb__opencl_find(qb__device **list, size_t *count, char *missing, size_t size) {
    void *ids[DEVICES_MAX];
    *list = NULL;
    *count = 0;
    missing[0] = '\0';
    if (!open_loader(missing, size)) return;
    size_t total = collect(ids);
    if (!total) {
        snprintf(missing, size,
                 "no OpenCL: the loader finds no device; install the device's driver "
                 "(nvidia-opencl-icd, intel-opencl-icd, mesa-opencl-icd; pocl-opencl-icd for CPUs)");
        return;
    }
    if (qb__alloc(total, sizeof **list, list) != QB_OK) {
        snprintf(missing, size, "no OpenCL: out of memory");
        return;
    }
    for (size_t i = 0; i < total; i++) {
        (*list)[i].id = ids[i];
        describe(&(*list)[i], (int)i);
    }
    *count = total;
}
