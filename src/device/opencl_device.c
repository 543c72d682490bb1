/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "base/memory.h"
#include "device/opencl_api.h"

/* Contexts, queues and events. */

static void close_device(qb__device *device) {
    if (device->open.service) qb__opencl.queue_release(device->open.service);
    if (device->open.context) qb__opencl.context_release(device->open.context);
    device->open.service = device->open.context = NULL;
}

static qb_status open_device(qb__device *device) {
    qb__cl_result result;
    device->open.context = qb__opencl.context_create(NULL, 1, &device->id, NULL, NULL, &result);
    if (device->open.context) {
        device->open.service = qb__opencl.queue_create(device->open.context, device->id, 0, &result);
    }
    if (device->open.service) {
        if (device->info.images) qb__opencl_choose_images(device);
        return QB_OK;
    }
    close_device(device);
    return qb__opencl_status(device, result ? result : -2, QB__CL_ALLOCATES, "opening the device");
}

/* OpenCL has no shared primary context. */
static qb_status enter(qb__device *device) { return qb__device_check(device); }
static void leave(qb__device *device) { (void)device; }

/* OpenCL does not tell what other processes use: all memory minus what was taken here. */
static qb_status free_bytes(qb__device *device, size_t *bytes) {
    pthread_mutex_lock(&device->lock);
    size_t used = device->open.used_bytes, all = device->info.memory_bytes;
    pthread_mutex_unlock(&device->lock);
    *bytes = used < all ? all - used : 0;
    size_t host = device->info.in_host_memory ? qb__available_bytes() : 0;
    if (host && host < *bytes) *bytes = host;
    return QB_OK;
}

static qb_status queue_create(qb__queue *queue) {
    qb__device *device = queue->device;
    qb__cl_result result;
    queue->native = qb__opencl.queue_create(device->open.context, device->id, QB__CL_QUEUE_TIMES, &result);
    return qb__opencl_status(device, result, QB__CL_ALLOCATES, "making a queue");
}

static void queue_destroy(qb__queue *queue) {
    qb__opencl.finish(queue->native);
    qb__opencl.queue_release(queue->native);
}

static qb_status queue_finish(qb__queue *queue) {
    return qb__opencl_status(queue->device, qb__opencl.finish(queue->native), QB__CL_RUNS, "finishing a queue");
}

static qb_status event_create(qb__event *event) {
    event->native = NULL;
    return QB_OK;
}

static void event_destroy(qb__event *event) {
    if (event->native) qb__opencl.event_release(event->native);
}

/* Flush at once, because another queue or a thread may wait for it. */
static qb_status event_record(qb__event *event, qb__queue *queue) {
    void *marker = NULL;
    qb__cl_result result = qb__opencl.marker(queue->native, 0, NULL, &marker);
    if (!result) {
        event_destroy(event);
        event->native = marker;
        result = qb__opencl.flush(queue->native);
    }
    return qb__opencl_status(queue->device, result, QB__CL_RUNS, "recording an event");
}

static qb_status queue_wait(qb__queue *queue, qb__event *event) {
    return qb__opencl_status(queue->device, qb__opencl.barrier(queue->native, 1, &event->native, NULL), QB__CL_RUNS,
                             "making a queue wait");
}

static qb_status event_seconds(const qb__event *from, const qb__event *to, double *seconds) {
    uint64_t begin = 0, end = 0;
    qb__cl_result result = qb__opencl.event_time(from->native, QB__CL_EVENT_END, sizeof begin, &begin, NULL);
    if (!result) { result = qb__opencl.event_time(to->native, QB__CL_EVENT_END, sizeof end, &end, NULL); }
    *seconds = 1e-9 * ((double)end - (double)begin);
    return qb__opencl_status(from->device, result, QB__CL_RUNS, "the time between two events");
}

const qb__backend qb__opencl_backend = {
    .api = QB__API_OPENCL,
    .name = "opencl",
    .find = qb__opencl_find,
    .open = open_device,
    .close = close_device,
    .enter = enter,
    .leave = leave,
    .free_bytes = free_bytes,
    .memory_create = qb__opencl_memory_create,
    .memory_destroy = qb__opencl_memory_destroy,
    .host_create = qb__opencl_host_create,
    .host_destroy = qb__opencl_host_destroy,
    .queue_create = queue_create,
    .queue_destroy = queue_destroy,
    .queue_finish = queue_finish,
    .upload = qb__opencl_upload,
    .download = qb__opencl_download,
    .copy = qb__opencl_copy,
    .fill = qb__opencl_fill,
    .event_create = event_create,
    .event_destroy = event_destroy,
    .event_record = event_record,
    .queue_wait = queue_wait,
    .event_seconds = event_seconds,
    .texture_create = qb__opencl_texture_create,
    .texture_destroy = qb__opencl_texture_destroy,
    .texture_load = qb__opencl_texture_load,
    .build = qb__opencl_build,
    .load = qb__opencl_load,
    .unload = qb__opencl_unload,
    .kernel_get = qb__opencl_kernel_get,
    .kernel_release = qb__opencl_kernel_release,
    .kernel_launch = qb__opencl_kernel_launch,
};
