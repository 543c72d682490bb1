/* SPDX-License-Identifier: MIT */
#include "device/cufft.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "device/cuda_api.h"
#include "device/library.h"

enum { FORWARD = -1, COMPLEX = 0x29 /* CUFFT_C2C */ };

struct qb__cufft {
    qb__device *device;
    int plan;
    bool planned;
    size_t bytes;
};

/* The driver runs libraries of its own and of older major versions of the toolkit. */
static const struct {
    const char *file;
    int toolkit;
} sonames[] = {{"libcufft.so.12", 13}, {"libcufft.so.11", 12}, {"libcufft.so.10", 11}};
static const char install[] =
    "install libcufft-13-0 or libcufft-12-8 of NVIDIA's repository, Debian's libcufft11, or pip's "
    "nvidia-cufft, and name the file in QB_LIBCUFFT if it is not on the library path";

static bool try_file(const char *path, qb__cufft_api *api, char *why, size_t why_size) {
    static const char *const symbols[] = {"cufftPlanMany", "cufftDestroy", "cufftSetStream", "cufftExecC2C",
                                          "cufftGetSize"};
    const char *const files[] = {path, NULL};
    const char *absent;
    void *library = qb__library_open("QB_LIBCUFFT", files, why, why_size);
    if (!library) return false;
    if (qb__library_symbols(library, symbols, sizeof symbols / sizeof *symbols, api, &absent)) return true;
    snprintf(why, why_size, "%.200s lacks %s", path, absent);
    return false;
}

bool qb__cufft_open(int driver, qb__cufft_api *api, char *why, size_t why_size) {
    const char *set = getenv("QB_LIBCUFFT");
    const char *folders[] = {"", getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda"};
    char reason[512] = "libcufft.so is not there";
    bool found = set && try_file(set, api, reason, sizeof reason);
    for (size_t f = 0; !set && !found && f < sizeof folders / sizeof *folders; f++) {
        if (!folders[f] || (f && !*folders[f])) continue;
        for (size_t i = 0; !found && i < sizeof sonames / sizeof *sonames; i++) {
            char path[4096], ignored[512];
            if (sonames[i].toolkit > driver / 1000) continue;
            int n = snprintf(path, sizeof path, f ? "%s/lib64/%s" : "%s%s", folders[f], sonames[i].file);
            if (n < 0 || (size_t)n >= sizeof path) continue;
            found = try_file(path, api, ignored, sizeof ignored);
        }
    }
    if (!found) snprintf(why, why_size, "no cuFFT: %s; %s", reason, install);
    return found;
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static qb__cufft_api cufft_api;
static char missing[1024];

static void open_once(void) { qb__cufft_open(qb__cuda_driver, &cufft_api, missing, sizeof missing); }

qb_status qb__cufft_missing(const qb__device *device) {
    if (device->info.api != QB__API_CUDA)
        return qb__fail(QB_NO_DEVICE, "%s: cuFFT is for CUDA devices only", device->info.spec);
    pthread_once(&once, open_once);
    return *missing ? qb__fail(QB_NO_DEVICE, "%s: %s", device->info.spec, missing) : QB_OK;
}

static qb_status fail(const qb__device *device, int result, const char *doing) {
    static const char *const names[] = {"success",       "invalid plan",  "out of memory",
                                        "invalid type",  "invalid value", "internal error",
                                        "failed to run", "setup failed",  "invalid size"};
    const char *name = result > 0 && result < 9 ? names[result] : "unknown error";
    return qb__fail(result == 2 ? QB_NO_MEMORY : QB_INTERNAL, "%s: cuFFT, %s: %s (%d)", device->info.spec, doing, name,
                    result);
}

qb_status qb__cufft_create(qb__device *device, size_t length, size_t batch, qb__cufft **out) {
    qb__cufft *cufft = NULL;
    qb_status status;
    int n = (int)length, result;
    *out = NULL;
    if (length == 0 || length > INT_MAX || batch == 0 || batch > INT_MAX)
        return qb__fail(QB_UNSUPPORTED, "%zu transforms of %zu values", batch, length);
    QB__TRY(qb__cufft_missing(device));
    QB__TRY(qb__alloc(1, sizeof *cufft, &cufft));
    cufft->device = device;
    QB__TRY(qb__cuda_enter(device));
    result = cufft_api.plan_many(&cufft->plan, 1, &n, NULL, 1, n, NULL, 1, n, COMPLEX, (int)batch);
    cufft->planned = result == 0;
    if (result == 0) result = cufft_api.get_size(cufft->plan, &cufft->bytes);
    qb__cuda_leave(device);
    if (result) status = fail(device, result, "planning");
out:
    if (status != QB_OK) {
        qb__cufft_destroy(cufft);
        return status;
    }
    *out = cufft;
    return QB_OK;
}

void qb__cufft_destroy(qb__cufft *cufft) {
    if (!cufft) return;
    if (cufft->planned && qb__cuda_enter(cufft->device) == QB_OK) {
        cufft_api.destroy(cufft->plan);
        qb__cuda_leave(cufft->device);
    }
    qb__free(cufft);
}

size_t qb__cufft_bytes(const qb__cufft *cufft) { return cufft->bytes; }

qb_status qb__cufft_forward(qb__cufft *cufft, qb__queue *queue, qb__memory *memory) {
    qb__device *device = cufft->device;
    void *data = (void *)(uintptr_t)qb__memory_native(memory);
    QB__OR_RETURN(qb__cuda_enter(device));
    int result = cufft_api.set_stream(cufft->plan, (void *)(uintptr_t)qb__queue_native(queue));
    if (result == 0) result = cufft_api.exec(cufft->plan, data, data, FORWARD);
    qb__cuda_leave(device);
    return result ? fail(device, result, "transforming") : QB_OK;
}
