/* SPDX-License-Identifier: MIT */
#include "base/memory.h"

#include <stdio.h>

#include "base/status.h"
#include "device/backend.h"

/* Linear memory, queues, events, textures: the checks that all APIs share. */

/* Every object begins with its device; `create` fills in the rest. */
#define MAKE(out, owner)                                                                                               \
    do {                                                                                                               \
        qb_status made = qb__device_check(owner);                                                                      \
        if (made == QB_OK) made = qb__alloc(1, sizeof **(out), (out));                                                 \
        if (made != QB_OK) return made;                                                                                \
        (*(out))->device = (owner);                                                                                    \
    } while (0)

static qb_status keep(qb_status status, void *object) {
    if (status == QB_OK) return status;
    void **pointer = object;
    qb__free(*pointer);
    *pointer = NULL;
    return status;
}

qb_status qb__memory_create(qb__device *device, size_t bytes, qb__memory **memory) {
    *memory = NULL;
    if (!bytes) return qb__fail(QB_BAD_ARGUMENT, "device memory of 0 bytes");
    MAKE(memory, device);
    (*memory)->bytes = bytes;
    return keep(device->backend->memory_create(*memory), memory);
}

void qb__memory_destroy(qb__memory *memory) {
    if (!memory) return;
    if (!memory->borrowed) memory->device->backend->memory_destroy(memory);
    qb__free(memory);
}

void qb__memory_destroy_all(size_t count, qb__memory *const memories[]) {
    for (size_t i = 0; i < count; i++) qb__memory_destroy(memories[i]);
}

static qb_status check_sharing(const qb__device *device) {
    if (device->backend->copy_rows) return QB_OK;
    return qb__fail(QB_UNSUPPORTED, "%s: only CUDA devices share memory and streams with others", device->info.spec);
}

qb_status qb__memory_borrow(qb__device *device, uint64_t native, size_t bytes, qb__memory **memory) {
    *memory = NULL;
    QB__OR_RETURN(check_sharing(device));
    MAKE(memory, device);
    **memory = (qb__memory){.device = device, .bytes = bytes, .native = native, .borrowed = true};
    return keep(device->backend->memory_check(*memory), memory);
}

qb_status qb__queue_borrow(qb__device *device, void *native, qb__queue **queue) {
    *queue = NULL;
    QB__OR_RETURN(check_sharing(device));
    MAKE(queue, device);
    **queue = (qb__queue){.device = device, .native = native, .borrowed = true};
    return QB_OK;
}

size_t qb__memory_bytes(const qb__memory *memory) { return memory->bytes; }
uint64_t qb__memory_native(const qb__memory *memory) { return memory->native; }

qb_status qb__host_create(qb__device *device, size_t bytes, void **host) {
    *host = NULL;
    if (!bytes) return qb__fail(QB_BAD_ARGUMENT, "host memory of 0 bytes");
    qb_status status = qb__device_check(device);
    return status == QB_OK ? device->backend->host_create(device, bytes, host) : status;
}

void qb__host_destroy(qb__device *device, void *host) {
    if (host) device->backend->host_destroy(device, host);
}

void qb__pinned_keep(qb__device *device, qb__pinned *pinned) {
    pthread_mutex_lock(&device->lock);
    pinned->next = device->pinned.first;
    device->pinned.first = pinned;
    pthread_mutex_unlock(&device->lock);
}

qb__pinned *qb__pinned_take(qb__device *device, const void *host) {
    pthread_mutex_lock(&device->lock);
    qb__pinned **slot = &device->pinned.first;
    while (*slot && (*slot)->host != host) slot = &(*slot)->next;
    qb__pinned *pinned = *slot;
    if (pinned) *slot = pinned->next;
    pthread_mutex_unlock(&device->lock);
    return pinned;
}

qb_status qb__queue_create(qb__device *device, qb__queue **queue) {
    *queue = NULL;
    MAKE(queue, device);
    return keep(device->backend->queue_create(*queue), queue);
}

void qb__queue_destroy(qb__queue *queue) {
    if (!queue) return;
    if (!queue->borrowed) queue->device->backend->queue_destroy(queue);
    qb__free(queue);
}

/* Wait for a lost device as well: running transfers still use the caller's memory. */
qb_status qb__queue_finish(qb__queue *queue) {
    const qb_status before = qb__device_check(queue->device);
    const qb_status status = queue->device->backend->queue_finish(queue);
    return before == QB_OK ? status : qb__device_check(queue->device);
}

qb_status qb__queue_finish_after(qb__queue *queue, qb_status status) {
    char said[1024];
    if (status == QB_OK) return qb__queue_finish(queue);
    snprintf(said, sizeof said, "%s", qb_detail());
    qb__queue_finish(queue);
    return qb__fail(status, "%s", said);
}

uint64_t qb__queue_native(const qb__queue *queue) { return (uint64_t)(uintptr_t)queue->native; }

/* True if [offset, offset + bytes) lies in the memory; a transfer must never run past its end. */
static qb_status check_range(const qb__queue *queue, const qb__memory *memory, size_t offset, size_t bytes) {
    QB__OR_RETURN(qb__device_check(queue->device));
    if (offset <= memory->bytes && bytes <= memory->bytes - offset) return QB_OK;
    return qb__fail(QB_BAD_ARGUMENT, "%zu bytes at %zu do not fit device memory of %zu", bytes, offset, memory->bytes);
}

qb_status qb__memory_upload(qb__queue *queue, qb__memory *to, size_t offset, const void *host, size_t bytes) {
    qb_status status = check_range(queue, to, offset, bytes);
    if (status != QB_OK || !bytes) return status;
    return queue->device->backend->upload(queue, to, offset, host, bytes);
}

qb_status qb__memory_download(qb__queue *queue, const qb__memory *from, size_t offset, void *host, size_t bytes) {
    qb_status status = check_range(queue, from, offset, bytes);
    if (status != QB_OK || !bytes) return status;
    return queue->device->backend->download(queue, from, offset, host, bytes);
}

qb_status qb__memory_copy(qb__queue *queue, qb__memory *to, size_t to_offset, const qb__memory *from,
                          size_t from_offset, size_t bytes) {
    qb_status status = check_range(queue, to, to_offset, bytes);
    if (status == QB_OK) status = check_range(queue, from, from_offset, bytes);
    if (status != QB_OK || !bytes) return status;
    return queue->device->backend->copy(queue, to, to_offset, from, from_offset, bytes);
}

static qb_status check_rows(const qb__queue *queue, const qb__rows_side *side, size_t width, size_t rows) {
    size_t last;
    if (side->pitch < width || !qb__mul(rows - 1, side->pitch, 1, &last) || last > SIZE_MAX - width)
        return qb__fail(QB_BAD_ARGUMENT, "%zu rows of %zu bytes, %zu bytes apart", rows, width, side->pitch);
    return side->memory ? check_range(queue, side->memory, side->offset, last + width) : QB_OK;
}

/* Copies row by row, if the API has no copies of rows. */
static qb_status copy_each(qb__queue *queue, const qb__rows_side *to, const qb__rows_side *from, size_t width,
                           size_t rows) {
    qb_status status = QB_OK;
    for (size_t r = 0; r < rows && status == QB_OK; r++) {
        const size_t there = to->offset + r * to->pitch, here = from->offset + r * from->pitch;
        if (!to->memory)
            status = qb__memory_download(queue, from->memory, here, (char *)to->host + there, width);
        else if (!from->memory)
            status = qb__memory_upload(queue, (qb__memory *)to->memory, there, (char *)from->host + here, width);
        else
            status = qb__memory_copy(queue, (qb__memory *)to->memory, there, from->memory, here, width);
    }
    return status;
}

qb_status qb__memory_copy_rows(qb__queue *queue, const qb__rows_side *to, const qb__rows_side *from, size_t width,
                               size_t rows) {
    qb_status status = qb__device_check(queue->device);
    if (status != QB_OK || !width || !rows) return status;
    status = check_rows(queue, to, width, rows);
    if (status == QB_OK) status = check_rows(queue, from, width, rows);
    if (status != QB_OK) return status;
    if (!queue->device->backend->copy_rows) return copy_each(queue, to, from, width, rows);
    return queue->device->backend->copy_rows(queue, to, from, width, rows);
}

qb_status qb__memory_fill(qb__queue *queue, qb__memory *memory, size_t offset, uint8_t byte, size_t bytes) {
    qb_status status = check_range(queue, memory, offset, bytes);
    if (status != QB_OK || !bytes) return status;
    return queue->device->backend->fill(queue, memory, offset, byte, bytes);
}

qb_status qb__event_create(qb__device *device, qb__event **event) {
    *event = NULL;
    MAKE(event, device);
    return keep(device->backend->event_create(*event), event);
}

void qb__event_destroy(qb__event *event) {
    if (!event) return;
    event->device->backend->event_destroy(event);
    qb__free(event);
}

qb_status qb__event_record(qb__event *event, qb__queue *queue) {
    qb_status status = qb__device_check(queue->device);
    if (status == QB_OK) status = queue->device->backend->event_record(event, queue);
    if (status == QB_OK) event->recorded = true;
    return status;
}

/* An event that was never recorded counts as passed, as in CUDA. */
qb_status qb__queue_wait(qb__queue *queue, qb__event *event) {
    qb_status status = qb__device_check(queue->device);
    if (status != QB_OK || !event->recorded) return status;
    return queue->device->backend->queue_wait(queue, event);
}

qb_status qb__event_seconds(const qb__event *from, const qb__event *to, double *seconds) {
    *seconds = 0;
    if (!from->recorded || !to->recorded) {
        return qb__fail(QB_BAD_ARGUMENT, "the time between events that were not recorded");
    }
    return from->device->backend->event_seconds(from, to, seconds);
}

static size_t texel_bytes(const qb__texture_shape *shape) {
    size_t layers = shape->layers ? shape->layers : 1, texel = shape->channels * 4, bytes;
    if (shape->half) texel /= 2;
    if (!qb__mul(shape->width, shape->height, layers, &bytes)) return 0;
    return qb__mul(bytes, texel, 1, &bytes) ? bytes : 0;
}

size_t qb__texture_bytes(const qb__device *device, const qb__texture_shape *shape) {
    qb__texture_shape stored = *shape;
    if (device->info.api == QB__API_OPENCL && shape->channels <= 4) {
        stored.channels = device->stored[shape->half][shape->channels].channels;
        stored.half = device->stored[shape->half][shape->channels].half;
    }
    bool widened = stored.channels != shape->channels || stored.half != shape->half;
    return texel_bytes(&stored) * (widened ? 2 : 1); /* widened texels are kept in addition */
}

static qb_status check_shape(const qb__device_info *info, const qb__texture_shape *shape) {
    unsigned channels = shape->channels;
    if (channels != 1 && channels != 2 && channels != 4) {
        return qb__fail(QB_BAD_ARGUMENT, "a texture of %u channels; 1, 2 or 4", channels);
    }
    if (!info->images) { return qb__fail(QB_UNSUPPORTED, "%s (%s) has no images", info->spec, info->name); }
    if (texel_bytes(shape) && shape->width <= info->image_width && shape->height <= info->image_height &&
        shape->layers <= info->image_layers) {
        return QB_OK;
    }
    return qb__fail(QB_BAD_ARGUMENT, "a texture of %zu x %zu x %zu texels; %s takes 1 to %zu x %zu and %zu layers",
                    shape->width, shape->height, shape->layers, info->spec, info->image_width, info->image_height,
                    info->image_layers);
}

qb_status qb__texture_create(qb__device *device, const qb__texture_shape *shape, qb__texture **texture) {
    *texture = NULL;
    QB__OR_RETURN(check_shape(&device->info, shape));
    MAKE(texture, device);
    (*texture)->shape = *shape;
    return keep(device->backend->texture_create(*texture), texture);
}

void qb__texture_destroy(qb__texture *texture) {
    if (!texture) return;
    texture->device->backend->texture_destroy(texture);
    qb__free(texture);
}

qb_status qb__texture_load(qb__queue *queue, qb__texture *texture, const qb__memory *from, size_t offset) {
    QB__OR_RETURN(check_range(queue, from, offset, texel_bytes(&texture->shape)));
    return queue->device->backend->texture_load(queue, texture, from, offset);
}
