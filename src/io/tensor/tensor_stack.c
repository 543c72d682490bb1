/* SPDX-License-Identifier: MIT */
/* Arrays in memory instead of files: as a source of images, and as the destination of a writer. */
#include "io/tensor/tensor_stack.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"

/* ---- copying between the array and dense images ---- */

#define COPY_STRIDED(type)                                                                                             \
    do {                                                                                                               \
        const type *source = from;                                                                                     \
        type *target = to;                                                                                             \
        for (size_t i = 0; i < count; i++) target[(ptrdiff_t)i * to_step] = source[(ptrdiff_t)i * from_step];          \
    } while (0)

/* Copy one line of elements; steps are counted in elements. */
static void copy_line(const void *from, ptrdiff_t from_step, void *to, ptrdiff_t to_step, size_t count,
                      size_t element) {
    if (from_step == 1 && to_step == 1) {
        memcpy(to, from, count * element);
        return;
    }
    switch (element) {
    case 1: COPY_STRIDED(uint8_t); break;
    case 2: COPY_STRIDED(uint16_t); break;
    case 4: COPY_STRIDED(uint32_t); break;
    default: COPY_STRIDED(uint64_t); break;
    }
}

static char *place(const qb__tensor *tensor, size_t image, size_t row) {
    ptrdiff_t at = (ptrdiff_t)image * tensor->stride[0] + (ptrdiff_t)row * tensor->stride[1];
    return (char *)tensor->given.data + at * (ptrdiff_t)tensor->element;
}

/* True if the rows of an image are contiguous. */
static bool rows_are_dense(const qb__tensor *tensor) {
    return tensor->stride[2] == 1 && tensor->stride[1] == (ptrdiff_t)tensor->shape[2];
}

typedef struct tensor_source {
    qb__source base;
    qb__tensor tensor;
    qb__tensor_device *device; /* NULL = host memory */
} tensor_source;

static qb_status read_device(qb__source *source, const qb__region *region, void *out) {
    return qb__tensor_device_read(((tensor_source *)source)->device, region, out);
}

static void release_device(qb__source *source) { qb__tensor_device_close(((tensor_source *)source)->device); }

qb__tensor_device *qb__tensor_device_of(qb__source *source) {
    return source->read == read_device ? ((tensor_source *)source)->device : NULL;
}

static qb_status read_tensor(qb__source *source, const qb__region *region, void *out) {
    const qb__tensor *t = &((const tensor_source *)source)->tensor;
    const size_t rows = region->row1 - region->row0, columns = t->shape[2];
    const bool dense = rows_are_dense(t);
    char *to = out;
    for (size_t i = 0; i < region->count; i++) {
        const size_t image = region->first + i * region->step;
        for (size_t r = 0; r < rows; r += dense ? rows : 1) {
            const size_t count = dense ? rows * columns : columns;
            copy_line(place(t, image, region->row0 + r), t->stride[2], to, 1, count, t->element);
            to += count * t->element;
        }
    }
    return QB_OK;
}

qb_status qb__tensor_open(const qb_tensor *given, const char *what, qb__missing missing, qb__source **out) {
    char name[QB__TENSOR_NAME];
    tensor_source *own;
    qb__tensor tensor;
    *out = NULL;
    qb_status status = qb__tensor_look(given, what, missing, &tensor);
    if (status != QB_OK) return status;
    qb__tensor_name(&tensor, name);
    status = qb__source_create(sizeof *own, "array", name, &own);
    if (status != QB_OK) return status;
    own->tensor = tensor;
    own->base.dtype = given->dtype;
    memcpy(own->base.shape, tensor.shape, sizeof tensor.shape);
    own->base.read = read_tensor;
    if (given->memory == QB_MEMORY_CUDA) {
        own->base.read = read_device;
        own->base.release = release_device;
        status = qb__tensor_device_open(&tensor, &own->device);
    }
    if (status == QB_OK)
        *out = &own->base;
    else
        qb__source_close(&own->base);
    return status == QB_OK ? QB_OK : qb__fail_in(status, "%s", what);
}

/* ---- writing ---- */

typedef struct tensor_sink {
    qb__tensor tensor;
    qb__tensor_device *device; /* NULL = host memory */
} tensor_sink;

qb__tensor_device *qb__tensor_device_written(qb_writer *writer) {
    return writer->kind == &qb__tensor_writer ? ((tensor_sink *)writer->own)->device : NULL;
}

static void write_host(const qb__tensor *t, size_t first, size_t end, const char *from) {
    const size_t rows = t->shape[1], columns = t->shape[2];
    const bool dense = rows_are_dense(t);
    for (size_t image = first; image < end; image++) {
        for (size_t r = 0; r < rows; r += dense ? rows : 1) {
            const size_t count = dense ? rows * columns : columns;
            copy_line(from, 1, place(t, image, r), t->stride[2], count, t->element);
            from += count * t->element;
        }
    }
}

static qb_status write_tensor(qb_writer *writer, size_t first, size_t end, const void *data) {
    const tensor_sink *sink = writer->own;
    if (!data) return QB_OK;
    if (sink->device) return qb__tensor_device_write(sink->device, first, end, data);
    write_host(&sink->tensor, first, end, data);
    return QB_OK;
}

static void release_tensor(qb_writer *writer) {
    tensor_sink *sink = writer->own;
    qb__tensor_device_close(sink->device);
    qb__free(sink);
}

/* Nothing to publish: the array exists already. */
const qb__writer_kind qb__tensor_writer = {.write = write_tensor, .release = release_tensor};

static const qb__writer_kind none; /* kind of a writer without content */

static qb_status check_fit(const qb__tensor *tensor, const qb_stack *stack) {
    const size_t *n = stack->shape;
    const qb_dtype dtype = tensor->given.dtype;
    char name[QB__TENSOR_NAME];
    if (memcmp(tensor->shape, n, sizeof tensor->shape) == 0 && dtype == stack->dtype) return QB_OK;
    qb__tensor_name(tensor, name);
    return qb__fail(QB_BAD_ARGUMENT, "the result is %zu x %zu x %zu %s, the array for it an %s", n[0], n[1], n[2],
                    qb_dtype_name(stack->dtype), name);
}

/* Two dimensions are [view][column] if a view is one row, else one image. */
static qb__missing missing_of(const qb_stack *stack) {
    return stack->shape[0] > 1 && stack->shape[1] == 1 ? QB__MISSING_ROW : QB__MISSING_IMAGE;
}

/* Make everything except the writer itself, which the caller destroys also after a failure. */
static qb_status make_sink(const qb__tensor *tensor, qb_writer *writer) {
    char name[QB__TENSOR_NAME];
    tensor_sink *sink;
    QB__OR_RETURN(qb__alloc(1, sizeof *sink, &sink));
    writer->kind = &qb__tensor_writer;
    writer->own = sink;
    sink->tensor = *tensor;
    qb__tensor_name(tensor, name);
    writer->path = qb__strdup(name);
    if (!writer->path) return qb__fail(QB_NO_MEMORY, "no memory for a name");
    if (tensor->given.memory != QB_MEMORY_CUDA) return QB_OK;
    return qb__tensor_device_open(tensor, &sink->device);
}

qb_status qb__tensor_check_result(const qb_tensor *given, const qb_stack *stack, qb__tensor *tensor) {
    static const char what[] = "the array for the result";
    qb_status status = qb__tensor_look(given, what, missing_of(stack), tensor);
    if (status == QB_OK) status = qb__tensor_check_sink(tensor, what);
    return status == QB_OK ? check_fit(tensor, stack) : status;
}

qb_status qb__tensor_create(const qb_tensor *given, const qb_stack *stack, qb_writer **out) {
    qb__tensor tensor;
    qb_writer *writer;
    *out = NULL;
    qb_status status = qb__tensor_check_result(given, stack, &tensor);
    if (status == QB_OK) status = qb__alloc(1, sizeof *writer, &writer);
    if (status != QB_OK) return status;
    writer->fd = -1;
    writer->kind = &none;
    status = make_sink(&tensor, writer);
    if (status == QB_OK) status = qb__alloc(stack->shape[0] / 8 + 1, 1, &writer->written);
    if (status != QB_OK) {
        qb_writer_abort(writer);
        return status;
    }
    memcpy(writer->stack.shape, stack->shape, sizeof stack->shape);
    writer->stack.dtype = stack->dtype;
    *out = writer;
    return QB_OK;
}

qb_status qb__output_create(const qb_output_options *options, const qb_stack *stack, qb__publication *set,
                            qb_writer **writer) {
    return options->array ? qb__tensor_create(options->array, stack, writer)
                          : qb__writer_create(set, NULL, options->output, stack, writer);
}
