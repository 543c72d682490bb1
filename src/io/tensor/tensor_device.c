/* SPDX-License-Identifier: MIT */
/* Arrays in the memory of a CUDA device: copies of rows within it, and through page-locked memory. */
#include "io/tensor/tensor_device.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"

enum { STAGE_BYTES = 8 << 20 };
static const size_t most_pitch = 0x7fffffff; /* limit of CUDA's copies */

struct qb__tensor_device {
    qb__tensor tensor;
    qb__device *device;
    qb__memory *memory;   /* memory from the array's lowest byte to its highest */
    size_t origin;        /* bytes from there to element [0][0][0] */
    qb__queue *callers;   /* the caller's stream */
    pthread_mutex_t lock; /* guards the fields below */
    qb__event *event;
    qb__queue *own; /* own queue, for copies through the host */
    void *stage;
    size_t stage_bytes;
};

/* Each thread has its own per-thread stream, and ours are not the caller's. */
static qb_status check_stream(const void *stream) {
    enum { PER_THREAD = 2 };
    if ((uintptr_t)stream != PER_THREAD) return QB_OK;
    return qb__fail(
        QB_UNSUPPORTED,
        "the stream of an array is CUDA's default stream of each thread (cudaStreamPerThread), which other threads "
        "cannot wait for: give a stream of your own, or finish it and give NULL");
}

qb_status qb__tensor_device_open(const qb__tensor *tensor, qb__tensor_device **out) {
    const qb_tensor *given = &tensor->given;
    char spec[24];
    size_t before, behind;
    qb__tensor_device *array;
    *out = NULL;
    qb_status status = qb__alloc(1, sizeof *array, &array);
    if (status != QB_OK) return status;
    array->tensor = *tensor;
    pthread_mutex_init(&array->lock, NULL);
    qb__tensor_reach(tensor, &before, &behind);
    array->origin = before;
    snprintf(spec, sizeof spec, "cuda:%d", given->device);
    QB__TRY(check_stream(given->stream));
    QB__TRY(qb__device_open(spec, &array->device));
    QB__TRY(
        qb__memory_borrow(array->device, (uint64_t)(uintptr_t)given->data - before, before + behind, &array->memory));
    QB__TRY(qb__queue_borrow(array->device, given->stream, &array->callers));
    QB__TRY(qb__event_create(array->device, &array->event));
    *out = array;
out:
    if (status != QB_OK) qb__tensor_device_close(array);
    return status;
}

void qb__tensor_device_close(qb__tensor_device *array) {
    if (!array) return;
    qb__queue_destroy(array->own);
    qb__host_destroy(array->device, array->stage);
    qb__event_destroy(array->event);
    qb__queue_destroy(array->callers);
    qb__memory_destroy(array->memory);
    qb__device_close(array->device);
    pthread_mutex_destroy(&array->lock);
    qb__free(array);
}

const qb__tensor *qb__tensor_of(const qb__tensor_device *array) { return &array->tensor; }

bool qb__tensor_device_is(const qb__tensor_device *array, const qb__device *device) { return array->device == device; }

static qb_status await(qb__tensor_device *array, qb__queue *queue) {
    qb_status status = qb__event_record(array->event, array->callers);
    return status == QB_OK ? qb__queue_wait(queue, array->event) : status;
}

qb_status qb__tensor_device_await(qb__tensor_device *array, qb__queue *queue) {
    pthread_mutex_lock(&array->lock);
    qb_status status = await(array, queue);
    pthread_mutex_unlock(&array->lock);
    return status;
}

/* ---- blocks as copies of rows ---- */

/* A block in bytes: pieces of `width` that are contiguous on both sides, over the remaining dimensions. */
typedef struct pieces {
    size_t width, count[3];
    ptrdiff_t array[3], other[3];
} pieces;

static pieces pieces_of(const qb__tensor_block *block, size_t element) {
    pieces p = {.width = element};
    for (int i = 0; i < 3; i++) {
        p.count[i] = block->count[i];
        p.array[i] = block->stride[i] * (ptrdiff_t)element;
        p.other[i] = block->other[i] * (ptrdiff_t)element;
    }
    for (int i = 2; i >= 0; i--) {
        const ptrdiff_t width = (ptrdiff_t)p.width;
        if (p.count[i] == 1 || p.array[i] != width || p.other[i] != width || p.width * p.count[i] > most_pitch)
            continue;
        p.width *= p.count[i];
        p.count[i] = 1;
        i = 3; /* the next dimension may be contiguous now */
    }
    return p;
}

static bool is_pitch(const pieces *p, ptrdiff_t stride) {
    return stride >= (ptrdiff_t)p->width && (size_t)stride <= most_pitch;
}

/* The dimension that is best copied in one call; -1 = none is possible. */
static int rows_of(const pieces *p) {
    int best = -1;
    for (int i = 0; i < 3; i++) {
        if (p->count[i] == 1 || !is_pitch(p, p->array[i]) || !is_pitch(p, p->other[i])) continue;
        if (best < 0 || p->count[i] > p->count[best]) best = i;
    }
    return best;
}

/* The array's side and the other side: each call copies the rows of one dimension. */
static qb_status copy_block(qb__tensor_device *array, qb__queue *queue, const qb__tensor_block *block,
                            qb__rows_side other, bool take) {
    const size_t element = array->tensor.element, offset = other.offset;
    const size_t base = (size_t)((ptrdiff_t)array->origin + block->first * (ptrdiff_t)element);
    pieces p = pieces_of(block, element);
    const int row = rows_of(&p);
    const size_t rows = row < 0 ? 1 : p.count[row];
    qb__rows_side own = {.memory = array->memory, .pitch = row < 0 ? p.width : (size_t)p.array[row]};
    other.pitch = row < 0 ? p.width : (size_t)p.other[row];
    if (row >= 0) p.count[row] = 1;
    size_t i[3];
    for (i[0] = 0; i[0] < p.count[0]; i[0]++)
        for (i[1] = 0; i[1] < p.count[1]; i[1]++)
            for (i[2] = 0; i[2] < p.count[2]; i[2]++) {
                ptrdiff_t here = (ptrdiff_t)base, there = (ptrdiff_t)offset;
                for (int k = 0; k < 3; k++) {
                    here += (ptrdiff_t)i[k] * p.array[k];
                    there += (ptrdiff_t)i[k] * p.other[k];
                }
                own.offset = (size_t)here, other.offset = (size_t)there;
                qb_status status =
                    qb__memory_copy_rows(queue, take ? &other : &own, take ? &own : &other, p.width, rows);
                if (status != QB_OK) return status;
            }
    return QB_OK;
}

qb__tensor_block qb__tensor_images(const qb__tensor_device *array, size_t first, size_t count) {
    const qb__tensor *t = &array->tensor;
    return (qb__tensor_block){.first = (ptrdiff_t)first * t->stride[0],
                              .count = {count, t->shape[1], t->shape[2]},
                              .stride = {t->stride[0], t->stride[1], t->stride[2]},
                              .other = {(ptrdiff_t)(t->shape[1] * t->shape[2]), (ptrdiff_t)t->shape[2], 1}};
}

qb__memory *qb__tensor_device_dense(const qb__tensor_device *array, size_t first, size_t *offset) {
    const qb__tensor *t = &array->tensor;
    if (!qb__tensor_is_dense(t) || qb__memory_native(array->memory) % t->element) return NULL;
    *offset = array->origin + first * t->shape[1] * t->shape[2] * t->element;
    return array->memory;
}

qb_status qb__tensor_device_take(qb__tensor_device *array, qb__queue *queue, const qb__tensor_block *block,
                                 qb__memory *to, size_t offset) {
    return copy_block(array, queue, block, (qb__rows_side){.memory = to, .offset = offset}, true);
}

qb_status qb__tensor_device_put(qb__tensor_device *array, qb__queue *queue, const qb__tensor_block *block,
                                const qb__memory *from, size_t offset) {
    return copy_block(array, queue, block, (qb__rows_side){.memory = from, .offset = offset}, false);
}

/* ---- through the host ---- */

static qb_status make_stage(qb__tensor_device *array, size_t line) {
    if (array->stage) return QB_OK;
    array->stage_bytes = line > STAGE_BYTES ? line : STAGE_BYTES;
    return qb__host_create(array->device, array->stage_bytes, &array->stage);
}

/* Copy `images` images from the i-th of the region on, rows `row0` to `row1` of each, through the staging buffer. */
static qb_status pass(qb__tensor_device *array, const qb__region *region, size_t i, size_t images, size_t row0,
                      size_t row1, char *host, bool take) {
    const qb__tensor *t = &array->tensor;
    const size_t columns = t->shape[2], rows = row1 - row0;
    const size_t bytes = images * rows * columns * t->element;
    const qb__tensor_block block = {.first = (ptrdiff_t)(region->first + i * region->step) * t->stride[0] +
                                             (ptrdiff_t)row0 * t->stride[1],
                                    .count = {images, rows, columns},
                                    .stride = {(ptrdiff_t)region->step * t->stride[0], t->stride[1], t->stride[2]},
                                    .other = {(ptrdiff_t)(rows * columns), (ptrdiff_t)columns, 1}};
    const qb__rows_side stage = {.host = array->stage};
    if (!take) memcpy(array->stage, host, bytes);
    qb_status status = copy_block(array, array->own, &block, stage, take);
    const qb_status done = qb__queue_finish(array->own); /* also for copies that were running at a failure */
    if (status == QB_OK) status = done;
    if (status == QB_OK && take) memcpy(host, array->stage, bytes);
    return status;
}

/* Copy as many images at a time as the staging buffer holds, or as many rows of one image. */
static qb_status through_stage(qb__tensor_device *array, const qb__region *region, char *host, bool take) {
    const size_t line = array->tensor.shape[2] * array->tensor.element;
    const size_t rows = region->row1 - region->row0, image = rows * line;
    if (!array->own) QB__OR_RETURN(qb__queue_create(array->device, &array->own));
    QB__OR_RETURN(make_stage(array, line));
    QB__OR_RETURN(await(array, array->own));
    const size_t images = array->stage_bytes / image, lines = array->stage_bytes / line;
    for (size_t i = 0; i < region->count;) {
        const size_t left = region->count - i, n = images < left ? images : left;
        for (size_t r = 0; r < rows && n == 0; r += lines) {
            const size_t end = rows - r < lines ? rows : r + lines;
            QB__OR_RETURN(
                pass(array, region, i, 1, region->row0 + r, region->row0 + end, host + i * image + r * line, take));
        }
        if (n) QB__OR_RETURN(pass(array, region, i, n, region->row0, region->row1, host + i * image, take));
        i += n ? n : 1;
    }
    return QB_OK;
}

qb_status qb__tensor_device_read(qb__tensor_device *array, const qb__region *region, void *out) {
    pthread_mutex_lock(&array->lock);
    qb_status status = through_stage(array, region, out, true);
    pthread_mutex_unlock(&array->lock);
    return status;
}

qb_status qb__tensor_device_write(qb__tensor_device *array, size_t first, size_t end, const void *data) {
    const qb__region region = {first, end - first, 1, 0, array->tensor.shape[1]};
    pthread_mutex_lock(&array->lock);
    qb_status status = through_stage(array, &region, (char *)data, false);
    pthread_mutex_unlock(&array->lock);
    return status;
}
