/* SPDX-License-Identifier: MIT */
#include "mock_cuda.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define REPLACEABLE __attribute__((visibility("default"), weak)) /* by ../emulate/emulate_cuda.c */

EXPORT mock_cuda_state mock_cuda = {
    .driver = 13000,
    .devices = 1,
    .arch = 90,
    .elapsed_ms = 20,
    .nvrtc_major = 13,
    .archs = {75, 80, 90, 100},
    .arch_count = 4,
};
#define M mock_cuda

/* The stages of a job call from threads of their own, so counters are atomic. */
#define ADD(counter, n) __atomic_add_fetch(&(counter), n, __ATOMIC_SEQ_CST)

static int fails(const char *name) {
    ADD(M.calls, 1);
    if (M.fail_name && !strcmp(M.fail_name, name)) return M.fail_with;
    int left = __atomic_load_n(&M.fail_after, __ATOMIC_SEQ_CST);
    while (left > 0 &&
           !__atomic_compare_exchange_n(&M.fail_after, &left, left - 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        ;
    if (left == 1) M.failed = name;
    return left == 1 ? M.fail_with : 0;
}
#define CALL                                                                                                           \
    do {                                                                                                               \
        int failed = fails(__func__);                                                                                  \
        if (failed) return failed;                                                                                     \
    } while (0)
/* A call for which the device's context must be current, as the driver demands. */
#define CALL_IN_CONTEXT                                                                                                \
    CALL;                                                                                                              \
    if (M.current < 1) return 201

EXPORT int cuInit(unsigned flags) {
    CALL;
    return flags ? 1 : 0;
}
EXPORT int cuDriverGetVersion(int *version) {
    CALL;
    *version = M.driver;
    return 0;
}
EXPORT int cuGetErrorName(int error, const char **name) {
    static char text[32];
    snprintf(text, sizeof text, "MOCK_ERROR_%d", error);
    *name = text;
    return 0;
}
EXPORT int cuGetErrorString(int error, const char **text) { return cuGetErrorName(error, text); }
EXPORT int cuDeviceGetCount(int *count) {
    CALL;
    const char *said = getenv("MOCK_CUDA_DEVICES"); /* for programs that do not know the mock */
    *count = said ? atoi(said) : M.devices;
    return 0;
}
EXPORT int cuDeviceGetUuid(void *identity, int device) {
    CALL;
    memset(identity, device + 1, 16);
    return 0;
}
EXPORT int cuDeviceGet(int *device, int index) {
    CALL;
    *device = index;
    return 0;
}
EXPORT int cuDeviceGetName(char *name, int size, int device) {
    CALL;
    snprintf(name, (size_t)size, "Mock %d", device);
    return 0;
}
EXPORT int cuDeviceGetAttribute(int *value, int which, int device) {
    (void)device;
    CALL;
    static const int values[][2] = {{1, 1024},   {8, 49152},  {10, 32},   {13, 1500000}, {16, 100},
                                    {27, 32768}, {28, 32768}, {29, 2048}, {38, 1 << 25}, {97, 232448}};
    *value = which == 75 ? M.arch / 10 : which == 76 ? M.arch % 10 : 0;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        if (values[i][0] == which) *value = values[i][1];
    }
    return 0;
}
EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int device) {
    (void)device;
    CALL;
    *bytes = (size_t)1 << 32;
    return 0;
}
EXPORT int cuDevicePrimaryCtxRetain(void **context, int device) {
    CALL;
    ADD(M.contexts, 1);
    *context = &M.contexts + device;
    return 0;
}
EXPORT int cuDevicePrimaryCtxRelease_v2(int device) {
    (void)device;
    ADD(M.contexts, -1);
    return 0;
}
EXPORT int cuCtxPushCurrent_v2(void *context) {
    CALL;
    if (!context) return 201;
    ADD(M.current, 1);
    return 0;
}
EXPORT int cuCtxSetCurrent(void *context) {
    CALL;
    M.current = context != NULL;
    return 0;
}
EXPORT int cuCtxPopCurrent_v2(void **context) {
    *context = NULL;
    ADD(M.current, -1);
    return 0;
}
EXPORT int cuMemGetInfo_v2(size_t *free_bytes, size_t *total) {
    CALL_IN_CONTEXT;
    const char *room = getenv("MOCK_CUDA_FREE"); /* for programs that do not know the mock */
    *free_bytes = room ? strtoull(room, NULL, 10) : (size_t)3 << 20;
    *total = (size_t)1 << 32;
    return 0;
}
/* The test counts memory that is never released, so the leak checker need not report it as well. */
static void *keep(void *block) {
    static void *kept[4096];
    static size_t used;
    void **slot = &kept[ADD(used, 1) % 4096];
    *slot = block;
    return *slot;
}
/* Device memory, and the part of it that the driver itself reads and writes; a read may fail. */
REPLACEABLE void *mock_alloc(size_t bytes) { return malloc(bytes); }
REPLACEABLE void mock_free(void *block) { free(block); }
REPLACEABLE void mock_wrote(const void *at, size_t bytes) { (void)at, (void)bytes; }
REPLACEABLE int mock_reads(const void *at, size_t bytes) {
    (void)at, (void)bytes;
    return 0;
}
static int move(void *to, const void *from, size_t bytes) {
    const int failed = mock_reads(from, bytes);
    memmove(to, from, bytes);
    mock_wrote(to, bytes);
    return failed;
}
static void *place(uint64_t pointer) { return (void *)(uintptr_t)pointer; }
EXPORT int cuMemAlloc_v2(uint64_t *pointer, size_t bytes) {
    CALL_IN_CONTEXT;
    if (bytes > (size_t)1 << 32) return 2;
    *pointer = (uint64_t)(uintptr_t)keep(mock_alloc(bytes));
    if (M.poison && *pointer) memset((void *)(uintptr_t)*pointer, M.poison, bytes);
    ADD(M.allocations, *pointer != 0);
    return *pointer ? 0 : 2;
}
EXPORT int cuMemFree_v2(uint64_t pointer) {
    mock_free(place(pointer));
    ADD(M.allocations, -1);
    return 0;
}
EXPORT int cuMemHostAlloc(void **host, size_t bytes, unsigned flags) {
    (void)flags;
    CALL_IN_CONTEXT;
    *host = keep(malloc(bytes));
    ADD(M.pinned, 1);
    return *host ? 0 : 2;
}
EXPORT int cuMemFreeHost(void *host) {
    free(host);
    ADD(M.pinned, -1);
    return 0;
}
/* Number of pages that are not present; all of them if one is not mapped. */
static size_t absent_pages(void *host, size_t bytes) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), count = (bytes + page - 1) / page, absent = 0;
    unsigned char *there = calloc(count, 1);
    int failed = !there || mincore(host, bytes, there);
    for (size_t i = 0; i < count; i++) absent += failed || !(there[i] & 1);
    free(there);
    return absent;
}
EXPORT int cuMemHostRegister_v2(void *host, size_t bytes, unsigned flags) {
    CALL_IN_CONTEXT;
    size_t used = sizeof M.locked / sizeof *M.locked;
    for (size_t i = 0; i < used; i++) {
        if (M.locked[i].host) continue;
        M.locked[i].host = host;
        M.locked[i].bytes = bytes;
        M.locked_flags = flags;
        M.absent_pages = absent_pages(host, bytes);
        /* touches the page, so that it is present */
        for (size_t k = 0; k < bytes; k += 4096) ((volatile char *)host)[k] = 0;
        ADD(M.registered, 1);
        return 0;
    }
    return 2;
}
EXPORT int cuMemHostUnregister(void *host) {
    if (M.current < 1) return 201;
    for (size_t i = 0; i < sizeof M.locked / sizeof *M.locked; i++) {
        if (M.locked[i].host != host) continue;
        if (absent_pages(host, M.locked[i].bytes)) return 713; /* the memory was unmapped before it was unregistered */
        M.locked[i].host = NULL;
        ADD(M.registered, -1);
        return 0;
    }
    return 713;
}
EXPORT int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream) {
    (void)stream;
    CALL_IN_CONTEXT;
    ADD(M.up_bytes, bytes);
    return move(place(to), from, bytes);
}
EXPORT int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream) {
    (void)stream;
    CALL_IN_CONTEXT;
    ADD(M.down_bytes, bytes);
    return move(to, place(from), bytes);
}
EXPORT int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void *stream) {
    (void)stream;
    CALL_IN_CONTEXT;
    return move(place(to), place(from), bytes);
}
typedef struct copy_side { /* half of CUDA_MEMCPY3D */
    size_t x_bytes, y, z, level;
    int kind;
    const void *host;
    uint64_t device;
    void *array, *reserved;
    size_t pitch, height;
} copy_side;
typedef struct copy_3d {
    copy_side from, to;
    size_t width, height, depth;
} copy_3d;
static char *side_of(const copy_side *side) {
    enum { HOST = 1, DEVICE = 2 };
    return side->kind == HOST ? (char *)side->host : side->kind == DEVICE ? (char *)(uintptr_t)side->device : NULL;
}
REPLACEABLE int mock_fill_array(void *array, const char *from, size_t depth) {
    (void)array, (void)from, (void)depth;
    return 0;
}
/* Copies of rows between host and device memory are made. Copies to arrays are only counted. */
EXPORT int cuMemcpy3DAsync_v2(const copy_3d *copy, void *stream) {
    (void)stream;
    CALL_IN_CONTEXT;
    char *to = side_of(&copy->to), *from = side_of(&copy->from);
    if (!to && from) return mock_fill_array(copy->to.array, from, copy->depth);
    if (!to || !from) return 0;
    if (copy->to.pitch < copy->width || copy->from.pitch < copy->width) return 1;
    if (copy->to.pitch > 0x7fffffff || copy->from.pitch > 0x7fffffff) return 1; /* CU_DEVICE_ATTRIBUTE_MAX_PITCH */
    int failed = 0;
    for (size_t i = 0; i < copy->height; i++)
        failed |= move(to + i * copy->to.pitch, from + i * copy->from.pitch, copy->width);
    ADD(M.row_copies, 1);
    ADD(M.row_copies_in_place, copy->to.kind == copy->from.kind);
    if (copy->to.kind == copy->from.kind) ADD(M.row_bytes_in_place, copy->width * copy->height);
    return failed;
}
EXPORT int cuPointerGetAttribute(void *value, int which, uint64_t pointer) {
    (void)pointer;
    CALL_IN_CONTEXT;
    if (which != 2 && which != 9) return 1;
    *(int *)value = which == 2 ? (M.foreign ? 1 : 2) : 0;
    return 0;
}
EXPORT int cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes, void *stream) {
    (void)stream;
    CALL_IN_CONTEXT;
    memset(place(to), value, bytes);
    mock_wrote(place(to), bytes);
    return 0;
}

/* Objects that only need to be counted. */
static int make(void **thing, int *count) {
    *thing = count;
    ADD(*count, 1);
    return 0;
}
EXPORT int cuStreamCreate(void **stream, unsigned flags) {
    (void)flags;
    CALL_IN_CONTEXT;
    return make(stream, &M.streams);
}
EXPORT int cuStreamDestroy_v2(void *stream) {
    (void)stream;
    ADD(M.streams, -1);
    return 0;
}
EXPORT int cuStreamSynchronize(void *stream) {
    (void)stream;
    CALL_IN_CONTEXT;
    return 0;
}
EXPORT int cuStreamWaitEvent(void *stream, void *event, unsigned flags) {
    (void)flags;
    CALL_IN_CONTEXT;
    ADD(M.waits, stream != M.watched && M.watched_recorded);
    return event ? 0 : 400;
}
EXPORT int cuEventCreate(void **event, unsigned flags) {
    (void)flags;
    CALL_IN_CONTEXT;
    return make(event, &M.events);
}
EXPORT int cuEventDestroy_v2(void *event) {
    (void)event;
    ADD(M.events, -1);
    return 0;
}
EXPORT int cuEventRecord(void *event, void *stream) {
    (void)event;
    CALL_IN_CONTEXT;
    M.watched_recorded = M.watched && stream == M.watched;
    return 0;
}
EXPORT int cuEventSynchronize(void *event) {
    (void)event;
    CALL_IN_CONTEXT;
    return 0;
}
EXPORT int cuEventElapsedTime(float *ms, void *from, void *to) {
    (void)from;
    (void)to;
    CALL_IN_CONTEXT;
    *ms = M.elapsed_ms;
    return 0;
}
typedef struct array_shape {
    size_t width, height, depth;
    int format;
    unsigned channels, flags;
} array_shape;
REPLACEABLE int cuArray3DCreate_v2(void **array, const array_shape *shape) {
    CALL_IN_CONTEXT;
    M.array_width = shape->width;
    M.array_height = shape->height;
    M.array_depth = shape->depth;
    M.array_channels = shape->channels;
    M.array_format = (size_t)shape->format;
    M.array_flags = shape->flags;
    return make(array, &M.arrays);
}
REPLACEABLE int cuArrayDestroy(void *array) {
    (void)array;
    ADD(M.arrays, -1);
    return 0;
}
REPLACEABLE int cuTexObjectCreate(uint64_t *object, const void *resource, const int *how, const void *view) {
    (void)resource;
    (void)view;
    CALL_IN_CONTEXT;
    M.address = how[0];
    M.filter = how[3];
    *object = 77;
    ADD(M.textures, 1);
    return 0;
}
REPLACEABLE int cuTexObjectDestroy(uint64_t object) {
    (void)object;
    ADD(M.textures, -1);
    return 0;
}
REPLACEABLE int cuModuleLoadDataEx(void **module, const void *image, unsigned count, int *options, void **values) {
    (void)count;
    (void)options;
    (void)values;
    CALL_IN_CONTEXT;
    if (!M.any_code && strncmp(image, "mock code", 9) != 0) return 200;
    return make(module, &M.modules);
}
REPLACEABLE int cuModuleUnload(void *module) {
    (void)module;
    ADD(M.modules, -1);
    return 0;
}
/* The one kernel that the mock runs: kernels/sum/sum_add.cl. */
static char plays_sum;
static void sum(void **arguments) {
    float *to = *(float **)arguments[0] + *(uint64_t *)arguments[1];
    const float *from = *(const float **)arguments[2] + *(uint64_t *)arguments[3];
    for (uint64_t i = 0; i < *(uint64_t *)arguments[4]; i++) to[i] += from[i];
}
REPLACEABLE int cuModuleGetFunction(void **function, void *module, const char *name) {
    CALL_IN_CONTEXT;
    *function = strcmp(name, "sum_add") == 0 ? &plays_sum : module;
    return strstr(name, "no_such") ? 500 : 0;
}
EXPORT int cuFuncGetAttribute(int *value, int which, void *function) {
    (void)function;
    CALL_IN_CONTEXT;
    *value = which;
    return 0;
}
EXPORT int cuFuncSetAttribute(void *function, int which, int value) {
    (void)function;
    (void)which;
    CALL_IN_CONTEXT;
    M.opted_in = value;
    return 0;
}
EXPORT int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int size, size_t dynamic) {
    (void)function;
    (void)size;
    (void)dynamic;
    CALL_IN_CONTEXT;
    *blocks = 7;
    return 0;
}
REPLACEABLE int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                               unsigned bz, unsigned shared, void *stream, void **arguments, void **extra) {
    (void)stream;
    (void)extra;
    CALL_IN_CONTEXT;
    ADD(M.launches, 1);
    if (function == &plays_sum) sum(arguments);
    M.grid[0] = gx;
    M.grid[1] = gy;
    M.grid[2] = gz;
    M.block[0] = bx;
    M.block[1] = by;
    M.block[2] = bz;
    M.shared = shared;
    for (size_t i = 0; i < M.arguments; i++) memcpy(&M.argument[i], arguments[i], sizeof(void *));
    return 0;
}
