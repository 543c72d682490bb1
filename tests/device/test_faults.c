/* SPDX-License-Identifier: MIT */
/* Failures in the middle of a run, on the mock driver. */
#include "child.h"

#include "base/memory.h"
#include "device/cuda_api.h"
#include "device/rates.h"

#include <sys/mman.h>

/* ---- in the middle of a run ---- */

static const char *out_of_memory(mock_cuda_state *mock) {
    qb__device *device;
    qb__memory *memory;
    EXPECT(qb__device_open("cuda", &device) == QB_OK);
    mock->fail_name = "cuMemAlloc_v2";
    mock->fail_with = 2;
    EXPECT(qb__memory_create(device, 64 << 20, &memory) == QB_NO_MEMORY && !memory);
    EXPECT_SAYS(qb_detail(), "64.0 MiB, 3.0 MiB are free");
    mock->fail_name = NULL;
    EXPECT(qb__memory_create(device, 1 << 20, &memory) == QB_OK);
    qb__memory_destroy(memory);
    qb__device_close(device);
    return NULL;
}

static const char *device_lost(mock_cuda_state *mock) {
    qb__device *device;
    qb__queue *queue;
    qb__memory *memory;
    EXPECT(qb__device_open("cuda", &device) == QB_OK);
    EXPECT(qb__queue_create(device, &queue) == QB_OK);
    mock->fail_name = "cuStreamSynchronize";
    mock->fail_with = 700;
    EXPECT(qb__queue_finish(queue) == QB_NO_DEVICE);
    EXPECT_SAYS(qb_detail(), "cuda:0 (Mock 0) was lost");
    EXPECT_SAYS(qb_detail(), "MOCK_ERROR_700");
    EXPECT_SAYS(qb_detail(), "--device cpu");
    mock->fail_name = NULL;
    EXPECT(qb__memory_create(device, 64, &memory) == QB_NO_DEVICE && !memory);
    EXPECT_SAYS(qb_detail(), "lost to an earlier failure");
    EXPECT(qb__queue_finish(queue) == QB_NO_DEVICE);
    qb__queue_destroy(queue);
    qb__device_close(device);
    EXPECT(mock->streams == 0 && mock->contexts == 0 && mock->current == 0);
    return NULL;
}

static const char *launches(mock_cuda_state *mock) {
    qb__device *device;
    qb__queue *queue;
    qb__program *program;
    qb__kernel *kernel;
    qb__memory *memory;
    uint64_t value = 42;
    EXPECT(qb__device_open("cuda", &device) == QB_OK);
    EXPECT(qb__queue_create(device, &queue) == QB_OK);
    EXPECT(qb__memory_create(device, 64, &memory) == QB_OK);
    EXPECT(qb__program_build(device, "device_probe.cl", NULL, &program) == QB_OK);
    EXPECT(qb__kernel_get(program, "probe_reverse", &kernel) == QB_OK);
    const size_t groups[3] = {5, 6, 7}, group[3] = {32, 4, 2}, tall[3] = {1, 65536, 1};
    const qb__arg args[] = {QB__MEMORY(memory), QB__MEMORY(NULL), QB__VALUE(value), QB__LOCAL(100000)};
    mock->arguments = 3;
    EXPECT(qb__kernel_launch(kernel, queue, groups, group, args, 4) == QB_OK);
    EXPECT(mock->launches == 1 && mock->grid[0] == 5 && mock->grid[1] == 6 && mock->grid[2] == 7);
    EXPECT(mock->block[0] == 32 && mock->block[1] == 4 && mock->block[2] == 2);
    EXPECT(mock->shared == 100000 && mock->opted_in == 100000);
    EXPECT((uint64_t)(uintptr_t)mock->argument[0] == qb__memory_native(memory));
    EXPECT(!mock->argument[1] && (uintptr_t)mock->argument[2] == 42);
    EXPECT(qb__kernel_launch(kernel, queue, tall, group, args, 4) == QB_BAD_ARGUMENT);
    mock->fail_name = "cuLaunchKernel";
    mock->fail_with = 701;
    EXPECT(qb__kernel_launch(kernel, queue, groups, group, args, 4) == QB_UNSUPPORTED);
    EXPECT_SAYS(qb_detail(), "registers or shared memory");
    mock->fail_name = NULL;
    qb__texture *texture;
    const qb__texture_shape shape = {100, 50, 3, 4, true, true};
    EXPECT(qb__texture_create(device, &shape, &texture) == QB_OK);
    EXPECT(mock->array_width == 100 && mock->array_height == 50 && mock->array_depth == 3);
    EXPECT(mock->array_channels == 4 && mock->array_format == 0x10 && mock->array_flags == 1);
    EXPECT(mock->address == 3 && mock->filter == 1);
    const qb__arg textured[] = {QB__TEXTURE(texture)};
    mock->arguments = 1;
    EXPECT(qb__kernel_launch(kernel, queue, groups, group, textured, 1) == QB_OK);
    EXPECT((uintptr_t)mock->argument[0] == 77);
    qb__texture_destroy(texture);
    qb__program_release(program);
    qb__memory_destroy(memory);
    qb__queue_destroy(queue);
    qb__device_close(device);
    return NULL;
}

/* The mock says that every run takes 20 ms, which gives the rates: 1 MiB is copied (a quarter of 3 MiB of free memory,
 * and at least 1 MiB), and 100 multiprocessors get 32 groups of 256 items. */
static const char *measured(mock_cuda_state *mock) {
    qb__device *device;
    qb__device_rates rates;
    double items = 100.0 * 32 * 256;
    EXPECT(qb__device_open("cuda", &device) == QB_OK);
    EXPECT(qb__device_measure(device, &rates) == QB_OK && !*rates.problem);
    EXPECT(fabs(rates.copy_bytes - 2 * 1048576 / 0.02) < 1e3);
    EXPECT(fabs(rates.upload_bytes - 1048576 / 0.02) < 1e3);
    EXPECT(fabs(rates.arithmetic - items * 16 / 0.02) < 1e3);
    EXPECT(fabs(rates.texels - items * 8 / 0.02) < 1e3);
    EXPECT(fabs(rates.tensor_flops - items / 32 * 8 * 4096 / 0.02) < 1e5);
    mock->nvrtc_fails = 1; /* then only the rates that need no kernel are measured */
    EXPECT(qb__device_measure(device, &rates) == QB_OK);
    EXPECT_SAYS(rates.problem, "does not like");
    EXPECT(rates.copy_bytes > 0 && rates.arithmetic == 0);
    qb__device_close(device);
    EXPECT(mock->allocations == 0 && mock->modules == 0 && mock->pinned == 0);
    return NULL;
}

/* ---- page-locked memory ---- */

static bool is_mapped(void *page) {
    unsigned char there;
    return mincore(page, 1, &there) == 0;
}

static const char *large_is_registered(mock_cuda_state *mock) {
    enum { SIZE = (70 << 20) + 100 };
    qb__device *device;
    void *large, *other, *small;
    EXPECT(qb__device_open("cuda", &device) == QB_OK);
    EXPECT(qb__host_create(device, SIZE, &large) == QB_OK);
    EXPECT(mock->registered == 1 && mock->pinned == 0 && mock->locked_flags == 1);
    EXPECT(mock->absent_pages == 0 && (uintptr_t)large % (2 << 20) == 0);
    EXPECT(mock->locked[0].bytes >= SIZE && mock->locked[0].bytes < SIZE + 65536);
    EXPECT(qb__host_create(device, 4 << 20, &other) == QB_OK && mock->registered == 2);
    EXPECT(qb__host_create(device, 4096, &small) == QB_OK);
    EXPECT(mock->registered == 2 && mock->pinned == 1);
    memset(large, 1, SIZE);
    qb__host_destroy(device, large);
    EXPECT(mock->registered == 1 && !is_mapped(large) && is_mapped(other));
    qb__host_destroy(device, small);
    EXPECT(mock->registered == 1 && mock->pinned == 0);
    qb__host_destroy(device, other);
    EXPECT(mock->registered == 0 && !is_mapped(other));
    qb__device_close(device);
    EXPECT(mock->current == 0);
    return NULL;
}

static const char *not_registered(mock_cuda_state *mock) {
    const size_t size = 64 << 20;
    qb__device *device;
    void *host;
    EXPECT(qb__device_open("cuda", &device) == QB_OK);
    size_t held = qb__resident_bytes();
    mock->fail_name = "cuMemHostRegister_v2";
    mock->fail_with = 2; /* out of memory */
    EXPECT(qb__host_create(device, size, &host) == QB_NO_MEMORY && !host);
    EXPECT_SAYS(qb_detail(), "page-locking memory");
    EXPECT(mock->pinned == 0 && qb__resident_bytes() < held + size / 2);
    mock->fail_with = 801; /* the driver cannot register memory: its own allocation is used */
    EXPECT(qb__host_create(device, size, &host) == QB_OK && mock->pinned == 1);
    EXPECT(qb__resident_bytes() < held + size / 2);
    qb__host_destroy(device, host);
    EXPECT(mock->pinned == 0);
    mock->fail_name = "cuCtxPushCurrent_v2";
    EXPECT(qb__host_create(device, size, &host) != QB_OK && !host);
    EXPECT(qb__resident_bytes() < held + size / 2);
    mock->fail_name = NULL;
    qb__cuda.host_register = NULL; /* a driver without this function */
    EXPECT(qb__host_create(device, size, &host) == QB_OK && mock->pinned == 1);
    qb__host_destroy(device, host);
    qb__device_close(device);
    EXPECT(mock->registered == 0 && mock->pinned == 0 && mock->current == 0);
    return NULL;
}

static const char *more_than_there_is(mock_cuda_state *mock) {
    qb__device *device;
    void *host;
    EXPECT(qb__device_open("cuda", &device) == QB_OK);
    int calls = mock->calls;
    EXPECT(qb__host_create(device, (size_t)1 << 46, &host) == QB_NO_MEMORY && !host);
    EXPECT_SAYS(qb_detail(), "67108864.0 MiB of page-locked memory");
    EXPECT(qb__host_create(device, SIZE_MAX - 5, &host) == QB_NO_MEMORY && !host);
    EXPECT(mock->calls == calls); /* neither the driver nor the system is asked */
    qb__device_close(device);
    return NULL;
}

static const char *registered_and_lost(mock_cuda_state *mock) {
    qb__device *device;
    void *host;
    EXPECT(qb__device_open("cuda", &device) == QB_OK);
    EXPECT(qb__host_create(device, 8 << 20, &host) == QB_OK && is_mapped(host));
    mock->fail_name = "cuCtxPushCurrent_v2";
    mock->fail_with = 700;
    qb__host_destroy(device, host);
    EXPECT(!is_mapped(host));
    qb__device_close(device);
    return NULL;
}

/* ---- any call may fail ---- */

/* Large blocks of host memory are registered. If that fails, the driver's own allocation is used. */
enum { SMALL_HOST = 1024, LARGE_HOST = 40 << 20 };

static qb_status tour(size_t host_bytes) {
    qb__device *device = NULL;
    qb__queue *queue = NULL;
    qb__memory *memory = NULL;
    qb__texture *texture = NULL;
    qb__event *event = NULL;
    qb__program *program = NULL;
    qb__kernel *kernel;
    void *host = NULL;
    const qb__texture_shape shape = {4, 4, 0, 1, false, true};
    const size_t one[3] = {1, 1, 1};
    double seconds;
    size_t bytes;
    qb_status status = qb__device_open("cuda", &device);
    if (status != QB_OK) return status;
    if ((status = qb__queue_create(device, &queue)) == QB_OK &&
        (status = qb__memory_create(device, 1024, &memory)) == QB_OK &&
        (status = qb__host_create(device, host_bytes, &host)) == QB_OK &&
        (status = qb__device_free_bytes(device, &bytes)) == QB_OK &&
        (status = qb__event_create(device, &event)) == QB_OK &&
        (status = qb__texture_create(device, &shape, &texture)) == QB_OK &&
        (status = qb__memory_fill(queue, memory, 0, 1, 1024)) == QB_OK &&
        (status = qb__memory_download(queue, memory, 0, host, 1024)) == QB_OK &&
        (status = qb__memory_upload(queue, memory, 0, host, 1024)) == QB_OK &&
        (status = qb__memory_copy(queue, memory, 0, memory, 512, 512)) == QB_OK &&
        (status = qb__texture_load(queue, texture, memory, 0)) == QB_OK &&
        (status = qb__event_record(event, queue)) == QB_OK && (status = qb__queue_wait(queue, event)) == QB_OK &&
        (status = qb__queue_finish(queue)) == QB_OK && (status = qb__event_seconds(event, event, &seconds)) == QB_OK &&
        (status = qb__program_build(device, "device_probe.cl", NULL, &program)) == QB_OK &&
        (status = qb__kernel_get(program, "probe_scale", &kernel)) == QB_OK &&
        (status = qb__kernel_launch(kernel, queue, one, one, NULL, 0)) == QB_OK) {
        status = qb__queue_finish(queue);
    }
    qb__program_release(program);
    qb__texture_destroy(texture);
    qb__event_destroy(event);
    qb__host_destroy(device, host);
    qb__memory_destroy(memory);
    qb__queue_destroy(queue);
    qb__device_close(device);
    return status;
}

static const char *nothing_is_left(const mock_cuda_state *mock) {
    EXPECT(mock->contexts == 0 && mock->current == 0 && mock->allocations == 0);
    EXPECT(mock->registered == 0);
    EXPECT(mock->pinned == 0 && mock->streams == 0 && mock->events == 0 && mock->arrays == 0);
    EXPECT(mock->textures == 0 && mock->modules == 0 && mock->programs == 0);
    return NULL;
}

static const char *any_call_fails(mock_cuda_state *mock) {
    EXPECT(*qb__device_missing(QB__API_CUDA) == '\0');
    mock->calls = 0;
    EXPECT(tour(SMALL_HOST) == QB_OK);
    const char *left = nothing_is_left(mock);
    if (left) return left;
    int calls = mock->calls;
    EXPECT(calls > 30);
    /* 304 is an error after which the context still works, so that objects can be released. */
    for (int n = 1; n <= calls; n++) {
        qb__fail_allocation(0);
        mock->fail_after = n;
        mock->fail_with = 304;
        qb_status status = tour(SMALL_HOST);
        bool ended = mock->fail_after > 0; /* the n-th call was one of the last, made while objects were released */
        mock->fail_after = 0;
        if (status == QB_OK && !ended && n < calls - 8) return "a failed call went unnoticed";
        EXPECT(status == QB_OK || strstr(qb_detail(), "304"));
        if (status != QB_OK && (left = nothing_is_left(mock)) != NULL) return left;
        *mock = (mock_cuda_state){.driver = mock->driver,
                                  .devices = 1,
                                  .arch = 90,
                                  .elapsed_ms = 20,
                                  .nvrtc_major = 13,
                                  .archs = {90},
                                  .arch_count = 1};
    }
    return NULL;
}

static const char *any_allocation_fails(mock_cuda_state *mock) {
    EXPECT(*qb__device_missing(QB__API_CUDA) == '\0');
    for (size_t n = 1; n < 200; n++) {
        size_t before = qb__allocations_failed();
        qb__fail_allocation(n);
        qb_status status = tour(LARGE_HOST);
        bool failed = qb__allocations_failed() > before;
        qb__fail_allocation(0);
        EXPECT(status == QB_OK || status == QB_NO_MEMORY);
        const char *left = nothing_is_left(mock);
        if (left) return left;
        if (!failed) {
            EXPECT(status == QB_OK && n > 8);
            return NULL;
        }
    }
    return "too many allocations";
}

#define SCENARIOS(X)                                                                                                   \
    X(out_of_memory)                                                                                                   \
    X(device_lost)                                                                                                     \
    X(launches)                                                                                                        \
    X(measured)                                                                                                        \
    X(large_is_registered)                                                                                             \
    X(not_registered)                                                                                                  \
    X(more_than_there_is) X(registered_and_lost) X(any_call_fails) X(any_allocation_fails)
SCENARIOS(SCENARIO)

int main(void) {
    const struct CMUnitTest tests[] = {SCENARIOS(SCENARIO_ROW)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
