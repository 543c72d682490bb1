/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "base/memory.h"
#include "device/opencl_api.h"

/* Images. OpenCL guarantees only four channels: if images with one or two are not available, a kernel widens the
 * texels, and kernels see the same x and y. On CPUs half floats are stored as floats: PoCL lists half images but reads
 * them wrongly (seen in 3.1), and floats are faster there. */

enum { FORMATS_MAX = 256, WIDEN_GROUP = 64 };

static uint32_t order_of(unsigned channels) {
    return channels == 1 ? QB__CL_R : channels == 2 ? QB__CL_RG : QB__CL_RGBA;
}

static uint32_t type_of(bool half) { return half ? QB__CL_HALF : QB__CL_FLOAT; }

/* The smallest number of channels, at least `channels`, that images can have; 0 if there is none. */
static unsigned fewest(const qb__cl_format *formats, uint32_t count, bool half, unsigned channels) {
    for (unsigned stored = channels; stored <= 4; stored *= 2) {
        for (uint32_t i = 0; i < count; i++) {
            if (formats[i].type == type_of(half) && formats[i].order == order_of(stored)) { return stored; }
        }
    }
    return 0;
}

void qb__opencl_choose_images(qb__device *device) {
    qb__cl_format formats[FORMATS_MAX];
    uint32_t count = 0;
    if (qb__opencl.formats(device->open.context, QB__CL_MEMORY_READ_ONLY, QB__CL_IMAGE_2D_ARRAY, FORMATS_MAX, formats,
                           &count)) {
        return;
    }
    if (count > FORMATS_MAX) count = FORMATS_MAX;
    for (unsigned c = 1; c <= 4; c *= 2) {
        unsigned floats = fewest(formats, count, false, c), halves = 0;
        if (!device->info.is_cpu) halves = fewest(formats, count, true, c);
        device->stored[0][c].channels = floats;
        device->stored[1][c].channels = halves ? halves : floats;
        device->stored[1][c].half = halves != 0;
    }
}

static size_t texels_of(const qb__texture_shape *shape) {
    return shape->width * shape->height * (shape->layers ? shape->layers : 1);
}

static qb_status prepare_widening(qb__texture *texture, unsigned channels, bool half) {
    size_t bytes = texels_of(&texture->shape) * channels * (half ? 2 : 4);
    QB__OR_RETURN(qb__memory_create(texture->device, bytes, &texture->wide));
    return qb__program_build(texture->device, "device_widen.cl", NULL, &texture->widen);
}

/* As for buffers (opencl_memory.c): one texel is written at once, so that a lack of memory is found early. */
static qb__cl_result touch(qb__device *device, void *image) {
    enum { TEXEL_BYTES = 16 };
    const size_t origin[3] = {0, 0, 0}, region[3] = {1, 1, 1};
    qb__cl_result result;
    void *texel = qb__opencl.buffer_create(device->open.context, QB__CL_MEMORY_READ_WRITE, TEXEL_BYTES, NULL, &result);
    if (!texel) return result;
    result = qb__opencl.copy_to_image(device->open.service, texel, image, 0, origin, region, 0, NULL, NULL);
    if (!result) result = qb__opencl.finish(device->open.service);
    qb__opencl.memory_release(texel);
    return result;
}

qb_status qb__opencl_texture_create(qb__texture *texture) {
    const qb__texture_shape *shape = &texture->shape;
    qb__device *device = texture->device;
    unsigned stored = device->stored[shape->half][shape->channels].channels;
    bool half = device->stored[shape->half][shape->channels].half;
    if (!stored) {
        return qb__fail(QB_UNSUPPORTED, "%s has no images of %u %s channels", device->info.spec, shape->channels,
                        shape->half ? "half" : "float");
    }
    qb__cl_format format = {order_of(stored), type_of(half)};
    qb__cl_image image = {
        .type = shape->layers ? QB__CL_IMAGE_2D_ARRAY : QB__CL_IMAGE_2D,
        .width = shape->width,
        .height = shape->height,
        .layers = shape->layers,
    };
    qb__cl_result result;
    texture->array =
        qb__opencl.image_create(device->open.context, QB__CL_MEMORY_READ_ONLY, &format, &image, NULL, &result);
    if (!result && !device->info.is_cpu) result = touch(device, texture->array);
    if (!result) {
        void *sampler =
            qb__opencl.sampler_create(device->open.context, 0, QB__CL_ADDRESS_CLAMP,
                                      shape->linear ? QB__CL_FILTER_LINEAR : QB__CL_FILTER_NEAREST, &result);
        texture->object = (uint64_t)(uintptr_t)sampler;
    }
    qb_status status = qb__opencl_status(device, result, QB__CL_ALLOCATES, "making an image");
    if (status == QB_OK && (stored != shape->channels || half != shape->half)) {
        status = prepare_widening(texture, stored, half);
    }
    if (status != QB_OK) qb__opencl_texture_destroy(texture);
    return status;
}

void qb__opencl_texture_destroy(qb__texture *texture) {
    qb__program_release(texture->widen);
    qb__memory_destroy(texture->wide);
    if (texture->object) qb__opencl.sampler_release((void *)(uintptr_t)texture->object);
    if (texture->array) qb__opencl.memory_release(texture->array);
}

static qb_status widen(qb__queue *queue, qb__texture *texture, const qb__memory *from, size_t offset) {
    const qb__texture_shape *shape = &texture->shape;
    uint32_t channels = shape->channels;
    uint32_t stored = texture->device->stored[shape->half][channels].channels;
    const char *name = !shape->half                                ? "widen_float"
                       : texture->device->stored[1][channels].half ? "widen_half"
                                                                   : "widen_half_to_float";
    uint64_t texels = texels_of(shape), first = offset / (shape->half ? 2 : 4);
    size_t group[3] = {WIDEN_GROUP, 1, 1};
    size_t groups[3] = {(texels + WIDEN_GROUP - 1) / WIDEN_GROUP, 1, 1};
    qb__kernel *kernel;
    QB__OR_RETURN(qb__kernel_get(texture->widen, name, &kernel));
    const qb__arg args[] = {QB__MEMORY(from), QB__VALUE(first), QB__MEMORY(texture->wide),
                            QB__VALUES(texels, channels, stored)};
    return qb__kernel_launch(kernel, queue, groups, group, args, sizeof args / sizeof *args);
}

qb_status qb__opencl_texture_load(qb__queue *queue, qb__texture *texture, const qb__memory *from, size_t offset) {
    const qb__texture_shape *shape = &texture->shape;
    const size_t origin[3] = {0, 0, 0};
    const size_t region[3] = {shape->width, shape->height, shape->layers ? shape->layers : 1};
    if (texture->wide) {
        QB__OR_RETURN(widen(queue, texture, from, offset));
        from = texture->wide;
        offset = 0;
    }
    qb__cl_result result = qb__opencl.copy_to_image(queue->native, (void *)(uintptr_t)from->native, texture->array,
                                                    offset, origin, region, 0, NULL, NULL);
    if (!result) result = qb__opencl.flush(queue->native);
    return qb__opencl_status(queue->device, result, QB__CL_ALLOCATES, "loading an image");
}
