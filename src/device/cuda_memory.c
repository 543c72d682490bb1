/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "device/cuda_api.h"

/* Linear memory, transfers, textures. */

qb_status qb__cuda_memory_create(qb__memory *memory) {
    qb__device *device = memory->device;
    size_t available = 0;
    QB__OR_RETURN(qb__cuda_enter(device));
    qb__cu_result result = qb__cuda.memory_alloc(&memory->native, memory->bytes);
    if (result == QB__CU_OUT_OF_MEMORY) {
        size_t total;
        if (qb__cuda.memory_info(&available, &total)) available = 0;
    }
    qb__cuda_leave(device);
    if (result == QB__CU_OUT_OF_MEMORY) {
        return qb__fail(QB_NO_MEMORY, "%s: no room for %.1f MiB, %.1f MiB are free", device->info.spec,
                        (double)memory->bytes / 1048576, (double)available / 1048576);
    }
    return qb__cuda_status(device, result, "taking memory");
}

void qb__cuda_memory_destroy(qb__memory *memory) {
    if (qb__cuda_enter(memory->device) != QB_OK) return;
    qb__cuda.memory_free(memory->native);
    qb__cuda_leave(memory->device);
}

qb_status qb__cuda_upload(qb__queue *queue, qb__memory *to, size_t offset, const void *host, size_t bytes) {
    QB__CUDA_CALL(queue->device, "uploading", qb__cuda.upload(to->native + offset, host, bytes, queue->native));
    return QB_OK;
}

qb_status qb__cuda_download(qb__queue *queue, const qb__memory *from, size_t offset, void *host, size_t bytes) {
    QB__CUDA_CALL(queue->device, "downloading", qb__cuda.download(host, from->native + offset, bytes, queue->native));
    return QB_OK;
}

qb_status qb__cuda_copy(qb__queue *queue, qb__memory *to, size_t to_offset, const qb__memory *from, size_t from_offset,
                        size_t bytes) {
    QB__CUDA_CALL(queue->device, "copying",
                  qb__cuda.copy(to->native + to_offset, from->native + from_offset, bytes, queue->native));
    return QB_OK;
}

/* The kind of memory at an address, as far as the driver knows. */
qb_status qb__cuda_memory_check(const qb__memory *memory) {
    enum { MEMORY_TYPE = 2, DEVICE_ORDINAL = 9, NOT_KNOWN = 1 };
    const qb__device *device = memory->device;
    int type = QB__CU_MEMORY_DEVICE, ordinal = device->number;
    if (!qb__cuda.pointer_attribute) return QB_OK;
    QB__OR_RETURN(qb__cuda_enter(memory->device));
    qb__cu_result result = qb__cuda.pointer_attribute(&type, MEMORY_TYPE, memory->native);
    if (!result) result = qb__cuda.pointer_attribute(&ordinal, DEVICE_ORDINAL, memory->native);
    qb__cuda_leave(memory->device);
    if (result && result != NOT_KNOWN) return qb__cuda_status(memory->device, result, "looking at an address");
    if (!result && type == QB__CU_MEMORY_DEVICE && ordinal == device->number) return QB_OK;
    return qb__fail(QB_BAD_ARGUMENT, "%s: %#llx is no memory of this device", device->info.spec,
                    (unsigned long long)memory->native);
}

static qb__cu_copy_side side_of(const qb__rows_side *side) {
    if (!side->memory)
        return (qb__cu_copy_side){
            .kind = QB__CU_MEMORY_HOST, .host = (const char *)side->host + side->offset, .pitch = side->pitch};
    return (qb__cu_copy_side){
        .kind = QB__CU_MEMORY_DEVICE, .device = side->memory->native + side->offset, .pitch = side->pitch};
}

qb_status qb__cuda_copy_rows(qb__queue *queue, const qb__rows_side *to, const qb__rows_side *from, size_t width,
                             size_t rows) {
    qb__cu_copy copy = {.from = side_of(from), .to = side_of(to), .width_bytes = width, .height = rows, .depth = 1};
    copy.from.height = copy.to.height = rows;
    QB__CUDA_CALL(queue->device, "copying rows", qb__cuda.copy_3d(&copy, queue->native));
    return QB_OK;
}

qb_status qb__cuda_fill(qb__queue *queue, qb__memory *memory, size_t offset, uint8_t byte, size_t bytes) {
    QB__CUDA_CALL(queue->device, "filling", qb__cuda.fill(memory->native + offset, byte, bytes, queue->native));
    return QB_OK;
}

static size_t texel_bytes(const qb__texture_shape *shape) { return shape->channels * (shape->half ? 2u : 4u); }

static qb_status array_create(qb__texture *texture) {
    const qb__texture_shape *shape = &texture->shape;
    qb__cu_array_shape array = {
        .width = shape->width,
        .height = shape->height,
        .depth = shape->layers,
        .format = shape->half ? QB__CU_FORMAT_HALF : QB__CU_FORMAT_FLOAT,
        .channels = shape->channels,
        .flags = shape->layers ? QB__CU_ARRAY_LAYERED : 0,
    };
    QB__CUDA_CALL(texture->device, "making a texture", qb__cuda.array_create(&texture->array, &array));
    return QB_OK;
}

static qb_status object_create(qb__texture *texture) {
    qb__cu_resource resource = {.of.array = texture->array};
    qb__cu_texture how = {
        .address = {QB__CU_ADDRESS_BORDER, QB__CU_ADDRESS_BORDER, QB__CU_ADDRESS_BORDER},
        .filter = texture->shape.linear ? QB__CU_FILTER_LINEAR : 0,
    };
    QB__CUDA_CALL(texture->device, "making a texture",
                  qb__cuda.texture_create(&texture->object, &resource, &how, NULL));
    return QB_OK;
}

qb_status qb__cuda_texture_create(qb__texture *texture) {
    QB__OR_RETURN(array_create(texture));
    const qb_status status = object_create(texture);
    if (status != QB_OK) qb__cuda_texture_destroy(texture);
    return status;
}

void qb__cuda_texture_destroy(qb__texture *texture) {
    if (qb__cuda_enter(texture->device) != QB_OK) return;
    if (texture->object) qb__cuda.texture_destroy(texture->object);
    if (texture->array) qb__cuda.array_destroy(texture->array);
    qb__cuda_leave(texture->device);
}

qb_status qb__cuda_texture_load(qb__queue *queue, qb__texture *texture, const qb__memory *from, size_t offset) {
    const qb__texture_shape *shape = &texture->shape;
    size_t row = shape->width * texel_bytes(shape);
    qb__cu_copy copy = {
        .from = {.kind = QB__CU_MEMORY_DEVICE, .device = from->native + offset, .pitch = row, .height = shape->height},
        .to = {.kind = QB__CU_MEMORY_ARRAY, .array = texture->array},
        .width_bytes = row,
        .height = shape->height,
        .depth = shape->layers ? shape->layers : 1,
    };
    QB__CUDA_CALL(queue->device, "loading a texture", qb__cuda.copy_3d(&copy, queue->native));
    return QB_OK;
}
