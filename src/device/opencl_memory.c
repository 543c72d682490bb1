/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "base/memory.h"
#include "device/opencl_api.h"

/* Buffers, mapped host memory, transfers, images. */

static void *buffer_of(const qb__memory *memory) { return (void *)(uintptr_t)memory->native; }

static void count(qb__device *device, size_t more, size_t less) {
    pthread_mutex_lock(&device->lock);
    device->open.used_bytes += more - less;
    pthread_mutex_unlock(&device->lock);
}

/* Drivers allocate memory at its first use (NVIDIA's accepts 64 TiB), and a failure there is hard to tell from others:
 * so one byte is written at once. */
static qb__cl_result touch(qb__device *device, void *buffer) {
    unsigned char zero = 0;
    qb__cl_result result = qb__opencl.fill(device->open.service, buffer, &zero, 1, 0, 1, 0, NULL, NULL);
    return result ? result : qb__opencl.finish(device->open.service);
}

qb_status qb__opencl_memory_create(qb__memory *memory) {
    qb__device *device = memory->device;
    qb__cl_result result = QB__CL_TOO_LARGE;
    void *buffer = NULL;
    char doing[64];
    if (memory->bytes <= device->info.memory_bytes) {
        buffer = qb__opencl.buffer_create(device->open.context, QB__CL_MEMORY_READ_WRITE, memory->bytes, NULL, &result);
    }
    if (buffer && !device->info.is_cpu) {
        result = touch(device, buffer);
        if (result) qb__opencl.memory_release(buffer);
    }
    if (!result) {
        memory->native = (uint64_t)(uintptr_t)buffer;
        count(device, memory->bytes, 0);
        return QB_OK;
    }
    snprintf(doing, sizeof doing, "taking %.3g MiB", (double)memory->bytes / 1048576);
    return qb__opencl_status(device, result, QB__CL_ALLOCATES, doing);
}

void qb__opencl_memory_destroy(qb__memory *memory) {
    count(memory->device, 0, memory->bytes);
    qb__opencl.memory_release(buffer_of(memory));
}

/* Memory that the driver allocates and keeps mapped is page-locked on GPUs. */
qb_status qb__opencl_host_create(qb__device *device, size_t bytes, void **host) {
    qb__pinned *pinned;
    qb__cl_result result;
    QB__OR_RETURN(qb__alloc(1, sizeof *pinned, &pinned));
    pinned->buffer = qb__opencl.buffer_create(device->open.context, QB__CL_MEMORY_READ_WRITE | QB__CL_MEMORY_HOST,
                                              bytes, NULL, &result);
    if (pinned->buffer) {
        pinned->host = qb__opencl.map(device->open.service, pinned->buffer, 1, QB__CL_MAP_READ_WRITE, 0, bytes, 0, NULL,
                                      NULL, &result);
        if (!pinned->host) qb__opencl.memory_release(pinned->buffer);
    }
    if (!pinned->host) {
        qb__free(pinned);
        return qb__opencl_status(device, result ? result : -4, QB__CL_ALLOCATES, "taking page-locked memory");
    }
    *host = pinned->host;
    qb__pinned_keep(device, pinned);
    return QB_OK;
}

void qb__opencl_host_destroy(qb__device *device, void *host) {
    qb__pinned *pinned = qb__pinned_take(device, host);
    if (!pinned) return;
    qb__opencl.unmap(device->open.service, pinned->buffer, pinned->host, 0, NULL, NULL);
    qb__opencl.finish(device->open.service);
    qb__opencl.memory_release(pinned->buffer);
    qb__free(pinned);
}

/* Flushed at once, so that it overlaps with other queues. */
static qb_status sent(qb__queue *queue, qb__cl_result result, const char *doing) {
    if (!result) result = qb__opencl.flush(queue->native);
    return qb__opencl_status(queue->device, result, QB__CL_ALLOCATES, doing);
}

qb_status qb__opencl_upload(qb__queue *queue, qb__memory *to, size_t offset, const void *host, size_t bytes) {
    return sent(queue, qb__opencl.write(queue->native, buffer_of(to), 0, offset, bytes, host, 0, NULL, NULL),
                "uploading");
}

qb_status qb__opencl_download(qb__queue *queue, const qb__memory *from, size_t offset, void *host, size_t bytes) {
    return sent(queue, qb__opencl.read(queue->native, buffer_of(from), 0, offset, bytes, host, 0, NULL, NULL),
                "downloading");
}

qb_status qb__opencl_copy(qb__queue *queue, qb__memory *to, size_t to_offset, const qb__memory *from,
                          size_t from_offset, size_t bytes) {
    return sent(
        queue,
        qb__opencl.copy(queue->native, buffer_of(from), buffer_of(to), from_offset, to_offset, bytes, 0, NULL, NULL),
        "copying");
}

qb_status qb__opencl_fill(qb__queue *queue, qb__memory *memory, size_t offset, uint8_t byte, size_t bytes) {
    return sent(queue, qb__opencl.fill(queue->native, buffer_of(memory), &byte, 1, offset, bytes, 0, NULL, NULL),
                "filling");
}
