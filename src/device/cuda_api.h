/* SPDX-License-Identifier: MIT */
#pragma once

#include "device/backend.h"

/* Declarations of the used part of the binary interfaces of the CUDA driver and of NVRTC, so that building needs no
 * toolkit. */

typedef int qb__cu_result; /* 0 = success */
typedef uint64_t qb__cu_pointer;

typedef struct qb__cu_array_shape { /* CUDA_ARRAY3D_DESCRIPTOR */
    size_t width, height, depth;
    int format;
    unsigned channels, flags;
} qb__cu_array_shape;

typedef struct qb__cu_copy_side { /* half of CUDA_MEMCPY3D */
    size_t x_bytes, y, z, level;
    int kind;
    const void *host;
    qb__cu_pointer device;
    void *array, *reserved;
    size_t pitch, height;
} qb__cu_copy_side;

typedef struct qb__cu_copy { /* CUDA_MEMCPY3D */
    qb__cu_copy_side from, to;
    size_t width_bytes, height, depth;
} qb__cu_copy;

typedef struct qb__cu_resource { /* CUDA_RESOURCE_DESC */
    int kind;
    union {
        void *array;
        int reserved[32];
    } of;
    unsigned flags;
} qb__cu_resource;

typedef struct qb__cu_texture { /* CUDA_TEXTURE_DESC */
    int address[3], filter;
    unsigned flags, anisotropy;
    int level_filter;
    float level_bias, level_low, level_high, border[4];
    int reserved[12];
} qb__cu_texture;

enum {
    QB__CU_FORMAT_HALF = 0x10,
    QB__CU_FORMAT_FLOAT = 0x20,
    QB__CU_ARRAY_LAYERED = 1,
    QB__CU_MEMORY_HOST = 1,
    QB__CU_MEMORY_DEVICE = 2,
    QB__CU_MEMORY_ARRAY = 3,
    QB__CU_ADDRESS_BORDER = 3,
    QB__CU_FILTER_LINEAR = 1,
    QB__CU_STREAM_NON_BLOCKING = 1,
    QB__CU_EVENT_BLOCKING_SYNC = 1,
    QB__CU_HOST_PORTABLE = 1,
    QB__CU_FUNCTION_DYNAMIC_SHARED = 8,
    QB__CU_OUT_OF_MEMORY = 2
};

/* X(field, symbol, arguments) */
#define QB__CUDA_SYMBOLS(X)                                                                                            \
    X(init, "cuInit", (unsigned))                                                                                      \
    X(driver_version, "cuDriverGetVersion", (int *))                                                                   \
    X(error_name, "cuGetErrorName", (qb__cu_result, const char **))                                                    \
    X(error_text, "cuGetErrorString", (qb__cu_result, const char **))                                                  \
    X(device_count, "cuDeviceGetCount", (int *))                                                                       \
    X(device_get, "cuDeviceGet", (int *, int))                                                                         \
    X(device_name, "cuDeviceGetName", (char *, int, int))                                                              \
    X(device_attribute, "cuDeviceGetAttribute", (int *, int, int))                                                     \
    X(device_memory, "cuDeviceTotalMem_v2", (size_t *, int))                                                           \
    X(device_identity, "?cuDeviceGetUuid", (void *, int))                                                              \
    X(context_retain, "cuDevicePrimaryCtxRetain", (void **, int))                                                      \
    X(context_release, "cuDevicePrimaryCtxRelease_v2", (int))                                                          \
    X(context_push, "cuCtxPushCurrent_v2", (void *))                                                                   \
    X(context_pop, "cuCtxPopCurrent_v2", (void **))                                                                    \
    X(memory_info, "cuMemGetInfo_v2", (size_t *, size_t *))                                                            \
    X(memory_alloc, "cuMemAlloc_v2", (qb__cu_pointer *, size_t))                                                       \
    X(memory_free, "cuMemFree_v2", (qb__cu_pointer))                                                                   \
    X(host_alloc, "cuMemHostAlloc", (void **, size_t, unsigned))                                                       \
    X(host_free, "cuMemFreeHost", (void *))                                                                            \
    X(host_register, "?cuMemHostRegister_v2", (void *, size_t, unsigned))                                              \
    X(host_unregister, "?cuMemHostUnregister", (void *))                                                               \
    X(upload, "cuMemcpyHtoDAsync_v2", (qb__cu_pointer, const void *, size_t, void *))                                  \
    X(download, "cuMemcpyDtoHAsync_v2", (void *, qb__cu_pointer, size_t, void *))                                      \
    X(copy, "cuMemcpyDtoDAsync_v2", (qb__cu_pointer, qb__cu_pointer, size_t, void *))                                  \
    X(copy_3d, "cuMemcpy3DAsync_v2", (const qb__cu_copy *, void *))                                                    \
    X(pointer_attribute, "?cuPointerGetAttribute", (void *, int, qb__cu_pointer))                                      \
    X(fill, "cuMemsetD8Async", (qb__cu_pointer, unsigned char, size_t, void *))                                        \
    X(stream_create, "cuStreamCreate", (void **, unsigned))                                                            \
    X(stream_destroy, "cuStreamDestroy_v2", (void *))                                                                  \
    X(stream_finish, "cuStreamSynchronize", (void *))                                                                  \
    X(stream_wait, "cuStreamWaitEvent", (void *, void *, unsigned))                                                    \
    X(event_create, "cuEventCreate", (void **, unsigned))                                                              \
    X(event_destroy, "cuEventDestroy_v2", (void *))                                                                    \
    X(event_record, "cuEventRecord", (void *, void *))                                                                 \
    X(event_elapsed, "cuEventElapsedTime", (float *, void *, void *))                                                  \
    X(array_create, "cuArray3DCreate_v2", (void **, const qb__cu_array_shape *))                                       \
    X(array_destroy, "cuArrayDestroy", (void *))                                                                       \
    X(texture_create, "cuTexObjectCreate",                                                                             \
      (uint64_t *, const qb__cu_resource *, const qb__cu_texture *, const void *))                                     \
    X(texture_destroy, "cuTexObjectDestroy", (uint64_t))                                                               \
    X(module_load, "cuModuleLoadDataEx", (void **, const void *, unsigned, int *, void **))                            \
    X(module_unload, "cuModuleUnload", (void *))                                                                       \
    X(function_get, "cuModuleGetFunction", (void **, void *, const char *))                                            \
    X(function_set, "cuFuncSetAttribute", (void *, int, int))                                                          \
    X(launch, "cuLaunchKernel",                                                                                        \
      (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **))

typedef struct qb__cuda_api {
#define QB__CUDA_FIELD(field, symbol, arguments) qb__cu_result(*field) arguments;
    QB__CUDA_SYMBOLS(QB__CUDA_FIELD)
#undef QB__CUDA_FIELD
} qb__cuda_api;

#define QB__NVRTC_SYMBOLS(X)                                                                                           \
    X(version, "nvrtcVersion", (int *, int *))                                                                         \
    X(arch_count, "nvrtcGetNumSupportedArchs", (int *))                                                                \
    X(archs, "nvrtcGetSupportedArchs", (int *))                                                                        \
    X(create, "nvrtcCreateProgram",                                                                                    \
      (void **, const char *, const char *, int, const char *const *, const char *const *))                            \
    X(destroy, "nvrtcDestroyProgram", (void **))                                                                       \
    X(compile, "nvrtcCompileProgram", (void *, int, const char *const *))                                              \
    X(log_size, "nvrtcGetProgramLogSize", (void *, size_t *))                                                          \
    X(log, "nvrtcGetProgramLog", (void *, char *))                                                                     \
    X(cubin_size, "nvrtcGetCUBINSize", (void *, size_t *))                                                             \
    X(cubin, "nvrtcGetCUBIN", (void *, char *))                                                                        \
    X(ptx_size, "nvrtcGetPTXSize", (void *, size_t *))                                                                 \
    X(ptx, "nvrtcGetPTX", (void *, char *))

typedef struct qb__nvrtc_api {
#define QB__NVRTC_FIELD(field, symbol, arguments) int(*field) arguments;
    QB__NVRTC_SYMBOLS(QB__NVRTC_FIELD)
#undef QB__NVRTC_FIELD
    int major, minor; /* version; 0 if NVRTC is missing */
} qb__nvrtc_api;

/* Filled in by cuda_load.c before any device exists; constant afterwards. */
extern qb__cuda_api qb__cuda;
extern qb__nvrtc_api qb__nvrtc;
extern int qb__cuda_driver; /* 13000 = CUDA 13.0 */

/* Open the newest NVRTC whose major version the driver supports; any version if driver is 0. `why` gets the reason of a
 * failure. */
bool qb__nvrtc_open(int driver, char *why, size_t why_size);
typedef enum qb__code {
    QB__CODE_COMMON,
    QB__CODE_SPECIFIC, /* may use features of exactly this chip (sm_90a) */
    QB__CODE_PTX       /* translated by the driver, also for newer chips */
} qb__code;

/* Compile to machine code for compute capability `arch` if this NVRTC knows the chip, else to PTX for the newest
 * architecture below that it knows. `options` come in addition to the architecture; `log` gets the compiler's
 * output. */
qb_status qb__nvrtc_compile(const char *name, const char *text, int arch, qb__code code, const char *const *options,
                            size_t option_count, qb__binary *binary);
/* True if code for exactly this chip (the "a" targets) can be compiled. */
bool qb__nvrtc_specific(int arch);
/* NVRTC's options for the macros; *list and its strings are allocated: release with qb__options_free. */
qb_status qb__nvrtc_options(const char *const *macros, char ***list, size_t *count);
void qb__options_free(char **list, size_t count);

/* The status of a driver call, with the error's name in the detail; marks a lost device. */
qb_status qb__cuda_status(qb__device *device, qb__cu_result result, const char *doing);

/* Functions of the backend's table, grouped by the file that defines them. */
void qb__cuda_find(qb__device **list, size_t *count, char *missing, size_t size);
qb_status qb__cuda_enter(qb__device *device);
void qb__cuda_leave(qb__device *device);
qb_status qb__cuda_memory_create(qb__memory *memory);
void qb__cuda_memory_destroy(qb__memory *memory);
qb_status qb__cuda_host_create(qb__device *device, size_t bytes, void **host);
void qb__cuda_host_destroy(qb__device *device, void *host);
qb_status qb__cuda_upload(qb__queue *queue, qb__memory *to, size_t offset, const void *host, size_t bytes);
qb_status qb__cuda_download(qb__queue *queue, const qb__memory *from, size_t offset, void *host, size_t bytes);
qb_status qb__cuda_copy(qb__queue *queue, qb__memory *to, size_t to_offset, const qb__memory *from, size_t from_offset,
                        size_t bytes);
qb_status qb__cuda_memory_check(const qb__memory *memory);
qb_status qb__cuda_copy_rows(qb__queue *queue, const qb__rows_side *to, const qb__rows_side *from, size_t width,
                             size_t rows);
qb_status qb__cuda_fill(qb__queue *queue, qb__memory *memory, size_t offset, uint8_t byte, size_t bytes);
qb_status qb__cuda_texture_create(qb__texture *texture);
void qb__cuda_texture_destroy(qb__texture *texture);
qb_status qb__cuda_texture_load(qb__queue *queue, qb__texture *texture, const qb__memory *from, size_t offset);
qb_status qb__cuda_build(qb__program *program, const char *text, const char *const *macros, qb__binary *binary);
qb_status qb__cuda_load(qb__program *program, const qb__binary *binary);
void qb__cuda_unload(qb__program *program);
qb_status qb__cuda_kernel_get(qb__kernel *kernel);
void qb__cuda_kernel_release(qb__kernel *kernel);
qb_status qb__cuda_kernel_launch(qb__kernel *kernel, qb__queue *queue, const size_t groups[3], const size_t group[3],
                                 const qb__arg *args, size_t count);

/* Make one driver call with the device's context current. */
#define QB__CUDA_CALL(device, doing, call)                                                                             \
    do {                                                                                                               \
        qb_status entered = qb__cuda_enter(device);                                                                    \
        if (entered != QB_OK) return entered;                                                                          \
        qb__cu_result result_ = (call);                                                                                \
        qb__cuda_leave(device);                                                                                        \
        if (result_) return qb__cuda_status(device, result_, doing);                                                   \
    } while (0)
