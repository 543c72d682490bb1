/* SPDX-License-Identifier: MIT */
/* Arrays in memory where files can stand: as a source of images, and as what a writer writes to. */
#include "io/tensor_device.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"

/* ---- what the caller gave ---- */

static qb_status check_kind(const qb_tensor *t, const char *what) {
    if (!t || !t->data) return qb__fail(QB_BAD_ARGUMENT, "%s: there is no array", what);
    if ((unsigned)t->dtype > QB_F64)
        return qb__fail(QB_BAD_ARGUMENT, "%s: %d is no qb_dtype", what, (int)t->dtype);
    if ((uintptr_t)t->data % qb_dtype_size(t->dtype))
        return qb__fail(QB_BAD_ARGUMENT, "%s: its %s begin at %p, which is not aligned", what,
                        qb_dtype_name(t->dtype), t->data);
    if ((unsigned)t->memory > QB_MEMORY_CUDA_HOST)
        return qb__fail(QB_UNSUPPORTED, "%s: memory of DLPack's kind %d cannot be reached from here",
                        what, (int)t->memory);
    return QB_OK;
}

static qb_status check_shape(const qb_tensor *t, const char *what) {
    if (t->ndim < 1 || t->ndim > 4)
        return qb__fail(QB_BAD_ARGUMENT, "%s has %d dimensions: 1 to 4 are possible", what, t->ndim);
    for (int i = 0; i < t->ndim; i++) {
        if (t->shape[i] < 1)
            return qb__fail(QB_BAD_ARGUMENT, "%s: its shape[%d] is %lld", what, i,
                            (long long)t->shape[i]);
    }
    if (t->ndim == 4 && t->shape[0] != 1)
        return qb__fail(QB_BAD_ARGUMENT,
                        "%s: of four dimensions the first must have one element, not %lld", what,
                        (long long)t->shape[0]);
    return QB_OK;
}

static bool is_dense(const qb_tensor *t) {
    for (int i = 0; i < t->ndim; i++)
        if (t->strides[i]) return false;
    return true;
}

/* Bytes before and behind the first element, each within half of what can be addressed. */
bool qb__tensor_reach(const qb__tensor *tensor, size_t *before, size_t *behind) {
    *before = *behind = 0;
    for (int i = 0; i < 3; i++) {
        ptrdiff_t stride = tensor->stride[i];
        size_t far = stride < 0 ? (size_t)-(stride + 1) + 1 : (size_t)stride, span;
        if (!qb__mul(tensor->shape[i] - 1, far, tensor->element, &span)) return false;
        size_t *side = stride < 0 ? before : behind;
        if (span > PTRDIFF_MAX / 4) return false;
        *side += span;
    }
    *behind += tensor->element;
    return true;
}

qb_status qb__tensor_look(const qb_tensor *given, const char *what, qb__missing missing,
                          qb__tensor *tensor) {
    qb_status status = check_kind(given, what);
    if (status == QB_OK) status = check_shape(given, what);
    if (status != QB_OK) return status;
    *tensor = (qb__tensor){.given = *given,
                           .shape = {1, 1, 1},
                           .element = qb_dtype_size(given->dtype)};
    const bool dense = is_dense(given);
    int64_t below = 1;
    for (int i = given->ndim - 1, at = 2; i >= 0 && at >= 0; i--, at--) {
        if (given->ndim == 2 && i == 0 && missing == QB__MISSING_ROW) at--;
        tensor->shape[at] = (size_t)given->shape[i];
        tensor->stride[at] = (ptrdiff_t)(dense ? below : given->strides[i]);
        if (__builtin_mul_overflow(below, given->shape[i], &below)) tensor->element = 0;
    }
    size_t before, behind;
    if (tensor->element && qb__tensor_reach(tensor, &before, &behind)) return QB_OK;
    return qb__fail(QB_BAD_ARGUMENT, "%s: its shape and strides reach beyond what can be addressed",
                    what);
}

static void swap(qb__tensor *t, int a, int b) {
    size_t shape = t->shape[a];
    ptrdiff_t stride = t->stride[a];
    t->shape[a] = t->shape[b], t->stride[a] = t->stride[b];
    t->shape[b] = shape, t->stride[b] = stride;
}

static size_t magnitude(ptrdiff_t stride) {
    return stride < 0 ? (size_t)-stride : (size_t)stride;
}

/* From the smallest stride up, each steps over all that is below it. */
static bool overlaps_itself(const qb__tensor *tensor) {
    qb__tensor t = *tensor;
    size_t span = 1;
    for (int i = 0; i < 3; i++)
        for (int k = i + 1; k < 3; k++)
            if (magnitude(t.stride[k]) < magnitude(t.stride[i])) swap(&t, i, k);
    for (int i = 0; i < 3; i++) {
        if (t.shape[i] == 1) continue;
        if (magnitude(t.stride[i]) < span) return true;
        span += (t.shape[i] - 1) * magnitude(t.stride[i]);
    }
    return false;
}

qb_status qb__tensor_check_sink(const qb__tensor *tensor, const char *what) {
    const qb_dtype dtype = tensor->given.dtype;
    if (dtype != QB_F32 && dtype != QB_F16 && dtype != QB_U16 && dtype != QB_U8)
        return qb__fail(QB_UNSUPPORTED,
                        "%s is of %s: results are float32, float16, uint16 or uint8", what,
                        qb_dtype_name(dtype));
    if (overlaps_itself(tensor))
        return qb__fail(QB_BAD_ARGUMENT,
                        "%s: its strides %td, %td, %td put several elements in one place", what,
                        tensor->stride[0], tensor->stride[1], tensor->stride[2]);
    return QB_OK;
}

void qb__tensor_name(const qb__tensor *tensor, char name[QB__TENSOR_NAME]) {
    const size_t *n = tensor->shape;
    snprintf(name, QB__TENSOR_NAME, "array of %zu x %zu x %zu %s", n[0], n[1], n[2],
             qb_dtype_name(tensor->given.dtype));
}

bool qb__tensors_meet(const qb__tensor *a, const qb__tensor *b) {
    size_t a_before, a_behind, b_before, b_behind;
    if (!qb__tensor_reach(a, &a_before, &a_behind) || !qb__tensor_reach(b, &b_before, &b_behind)) return true;
    uintptr_t x = (uintptr_t)a->given.data, y = (uintptr_t)b->given.data;
    return x - a_before < y + b_behind && y - b_before < x + a_behind;
}

/* ---- copying between the array and dense images ---- */

#define COPY_STRIDED(type)                                                                         \
    do {                                                                                           \
        const type *source = from;                                                                 \
        type *target = to;                                                                         \
        for (size_t i = 0; i < count; i++)                                                         \
            target[(ptrdiff_t)i * to_step] = source[(ptrdiff_t)i * from_step];                     \
    } while (0)

/* One line of elements; steps in elements. */
static void copy_line(const void *from, ptrdiff_t from_step, void *to, ptrdiff_t to_step,
                      size_t count, size_t element) {
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

/* Are rows of an image one piece? */
static bool rows_are_dense(const qb__tensor *tensor) {
    return tensor->stride[2] == 1 && tensor->stride[1] == (ptrdiff_t)tensor->shape[2];
}

typedef struct tensor_source {
    qb__source base;
    qb__tensor tensor;
    qb__tensor_device *device; /* NULL = the host's memory */
} tensor_source;

static qb_status read_device(qb__source *source, const qb__region *region, void *out) {
    return qb__tensor_device_read(((tensor_source *)source)->device, region, out);
}

static void release_device(qb__source *source) {
    qb__tensor_device_close(((tensor_source *)source)->device);
}

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

qb_status qb__tensor_open(const qb_tensor *given, const char *what, qb__missing missing,
                          qb__source **out) {
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
    qb__tensor_device *device; /* NULL = the host's memory */
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

/* There is no name to be given: the array was there all along. */
const qb__writer_kind qb__tensor_writer = {.write = write_tensor, .release = release_tensor};

static const qb__writer_kind none; /* of a writer that has nothing yet */

static qb_status check_fit(const qb__tensor *tensor, const qb_stack *stack) {
    const size_t *n = stack->shape;
    const qb_dtype dtype = tensor->given.dtype;
    char name[QB__TENSOR_NAME];
    if (memcmp(tensor->shape, n, sizeof tensor->shape) == 0 && dtype == stack->dtype) return QB_OK;
    qb__tensor_name(tensor, name);
    return qb__fail(QB_BAD_ARGUMENT, "the result is %zu x %zu x %zu %s, the array for it an %s", n[0],
                    n[1], n[2], qb_dtype_name(stack->dtype), name);
}

/* Two dimensions are [view][column] where a view is one row, else one image. */
static qb__missing missing_of(const qb_stack *stack) {
    return stack->shape[0] > 1 && stack->shape[1] == 1 ? QB__MISSING_ROW : QB__MISSING_IMAGE;
}

/* Everything but the writer itself, which destroys also what is half made. */
static qb_status make_sink(const qb__tensor *tensor, qb_writer *writer) {
    char name[QB__TENSOR_NAME];
    tensor_sink *sink;
    qb_status status = qb__alloc(1, sizeof *sink, &sink);
    if (status != QB_OK) return status;
    writer->kind = &qb__tensor_writer;
    writer->own = sink;
    sink->tensor = *tensor;
    qb__tensor_name(tensor, name);
    writer->path = qb__strdup(name);
    if (!writer->path) return qb__fail(QB_NO_MEMORY, "no memory for a name");
    if (tensor->given.memory != QB_MEMORY_CUDA) return QB_OK;
    return qb__tensor_device_open(tensor, &sink->device);
}

qb_status qb__tensor_check_result(const qb_tensor *given, const qb_stack *stack,
                                  qb__tensor *tensor) {
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

qb_status qb__output_create(const qb_output_options *options, const qb_stack *stack,
                            qb__publication *set, qb_writer **writer) {
    return options->array ? qb__tensor_create(options->array, stack, writer)
                          : qb__writer_create(set, NULL, options->output, stack, writer);
}
