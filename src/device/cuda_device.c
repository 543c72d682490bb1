/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "device/cuda_api.h"

/* Primary context, errors, streams and events. */

static const char capturing[] =
    ": a stream of the caller's is being captured into a graph, which nothing here can be part of";

/* Status for a driver's error. After errors that destroy the context every later call returns the same error, so the
 * device counts as lost. */
static const struct {
    int code;
    qb_status status;
    bool lasting;
    const char *remedy;
} errors[] = {
    {QB__CU_OUT_OF_MEMORY, QB_NO_MEMORY, false, ""},
    {701, QB_UNSUPPORTED, false, ": the kernel needs more registers or shared memory than a group gets"},
    {46, QB_NO_DEVICE, false, ": another process has the device for itself (nvidia-smi)"},
    {100, QB_NO_DEVICE, false, ""},
    {101, QB_NO_DEVICE, false, ""},
    {209, QB_UNSUPPORTED, false, ": no code for this chip"},
    {222, QB_UNSUPPORTED, false, ": NVRTC is newer than the driver; update the driver"},
    {214, QB_NO_DEVICE, true, ": the device's memory is faulty (nvidia-smi -q -d ECC)"},
    {220, QB_NO_DEVICE, true, ": the link between the devices is faulty"},
    {700, QB_NO_DEVICE, true, ""},
    {702, QB_NO_DEVICE, true, ": the display driver stopped a long kernel"},
    {709, QB_NO_DEVICE, true, ": the program reset the device"},
    {710, QB_NO_DEVICE, true, ""},
    {714, QB_NO_DEVICE, true, ""},
    {715, QB_NO_DEVICE, true, ""},
    {716, QB_NO_DEVICE, true, ""},
    {717, QB_NO_DEVICE, true, ""},
    {718, QB_NO_DEVICE, true, ""},
    {719, QB_NO_DEVICE, true, ""},
    {721, QB_NO_DEVICE, true, ""},
    {4, QB_NO_DEVICE, true, ": the driver has shut down"},
    {802, QB_NO_DEVICE, false, ": the system is not ready (nvidia-fabricmanager)"},
    {900, QB_BAD_ARGUMENT, false, capturing},
    {901, QB_BAD_ARGUMENT, false, capturing},
    {905, QB_BAD_ARGUMENT, false, capturing},
    {906, QB_BAD_ARGUMENT, false, capturing},
    {999, QB_NO_DEVICE, true, ": look for Xid in dmesg"},
};

qb_status qb__cuda_status(qb__device *device, qb__cu_result result, const char *doing) {
    if (!result) return QB_OK;
    const char *name = NULL, *remedy = "";
    qb_status status = QB_INTERNAL;
    bool lasting = false;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        if (errors[i].code != result) continue;
        status = errors[i].status;
        lasting = errors[i].lasting;
        remedy = errors[i].remedy;
    }
    if (qb__cuda.error_name(result, &name) || !name) name = "unknown error";
    if (!lasting) { return qb__fail(status, "%s: %s: %s (%d)%s", device->info.spec, doing, name, result, remedy); }
    char why[256];
    snprintf(why, sizeof why, "%s: %s (%d)%s", doing, name, result, remedy);
    return qb__device_lose(device, why);
}

qb_status qb__cuda_enter(qb__device *device) {
    qb__cu_result result = qb__cuda.context_push(device->open.context);
    return result ? qb__cuda_status(device, result, "taking up the context") : QB_OK;
}

void qb__cuda_leave(qb__device *device) {
    void *context;
    (void)device;
    qb__cuda.context_pop(&context);
}

static qb_status open_device(qb__device *device) {
    qb__cu_result result = qb__cuda.context_retain(&device->open.context, device->number);
    return qb__cuda_status(device, result, "opening the device");
}

static void close_device(qb__device *device) {
    qb__cuda.context_release(device->number);
    device->open.context = NULL;
}

static qb_status free_bytes(qb__device *device, size_t *bytes) {
    size_t total;
    QB__CUDA_CALL(device, "asking for free memory", qb__cuda.memory_info(bytes, &total));
    return QB_OK;
}

static qb_status queue_create(qb__queue *queue) {
    QB__CUDA_CALL(queue->device, "making a stream", qb__cuda.stream_create(&queue->native, QB__CU_STREAM_NON_BLOCKING));
    return QB_OK;
}

static void queue_destroy(qb__queue *queue) {
    if (qb__cuda_enter(queue->device) != QB_OK) return;
    qb__cuda.stream_finish(queue->native);
    qb__cuda.stream_destroy(queue->native);
    qb__cuda_leave(queue->device);
}

static qb_status queue_finish(qb__queue *queue) {
    QB__CUDA_CALL(queue->device, "finishing a stream", qb__cuda.stream_finish(queue->native));
    return QB_OK;
}

/* A waiting thread sleeps, because the CPU cores are needed. */
static qb_status event_create(qb__event *event) {
    QB__CUDA_CALL(event->device, "making an event", qb__cuda.event_create(&event->native, QB__CU_EVENT_BLOCKING_SYNC));
    return QB_OK;
}

static void event_destroy(qb__event *event) {
    if (qb__cuda_enter(event->device) != QB_OK) return;
    qb__cuda.event_destroy(event->native);
    qb__cuda_leave(event->device);
}

static qb_status event_record(qb__event *event, qb__queue *queue) {
    QB__CUDA_CALL(queue->device, "recording an event", qb__cuda.event_record(event->native, queue->native));
    return QB_OK;
}

static qb_status queue_wait(qb__queue *queue, qb__event *event) {
    QB__CUDA_CALL(queue->device, "making a stream wait", qb__cuda.stream_wait(queue->native, event->native, 0));
    return QB_OK;
}

static qb_status event_seconds(const qb__event *from, const qb__event *to, double *seconds) {
    float ms = 0;
    QB__CUDA_CALL(from->device, "the time between two events", qb__cuda.event_elapsed(&ms, from->native, to->native));
    *seconds = 1e-3 * (double)ms;
    return QB_OK;
}

const qb__backend qb__cuda_backend = {
    .api = QB__API_CUDA,
    .name = "cuda",
    .find = qb__cuda_find,
    .open = open_device,
    .close = close_device,
    .enter = qb__cuda_enter,
    .leave = qb__cuda_leave,
    .free_bytes = free_bytes,
    .memory_create = qb__cuda_memory_create,
    .memory_destroy = qb__cuda_memory_destroy,
    .host_create = qb__cuda_host_create,
    .host_destroy = qb__cuda_host_destroy,
    .queue_create = queue_create,
    .queue_destroy = queue_destroy,
    .queue_finish = queue_finish,
    .upload = qb__cuda_upload,
    .download = qb__cuda_download,
    .copy = qb__cuda_copy,
    .fill = qb__cuda_fill,
    .memory_check = qb__cuda_memory_check,
    .copy_rows = qb__cuda_copy_rows,
    .event_create = event_create,
    .event_destroy = event_destroy,
    .event_record = event_record,
    .queue_wait = queue_wait,
    .event_seconds = event_seconds,
    .texture_create = qb__cuda_texture_create,
    .texture_destroy = qb__cuda_texture_destroy,
    .texture_load = qb__cuda_texture_load,
    .build = qb__cuda_build,
    .load = qb__cuda_load,
    .unload = qb__cuda_unload,
    .kernel_get = qb__cuda_kernel_get,
    .kernel_release = qb__cuda_kernel_release,
    .kernel_launch = qb__cuda_kernel_launch,
};
