/* SPDX-License-Identifier: MIT */
#include "io/tensor/tensor.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"

static qb_status check_kind(const qb_tensor *t, const char *what) {
    if (!t || !t->data) return qb__fail(QB_BAD_ARGUMENT, "%s: there is no array", what);
    if ((unsigned)t->dtype > QB_F64) return qb__fail(QB_BAD_ARGUMENT, "%s: %d is no qb_dtype", what, (int)t->dtype);
    if ((uintptr_t)t->data % qb_dtype_size(t->dtype))
        return qb__fail(QB_BAD_ARGUMENT, "%s: its %s begin at %p, which is not aligned", what, qb_dtype_name(t->dtype),
                        t->data);
    if ((unsigned)t->memory > QB_MEMORY_CUDA_HOST)
        return qb__fail(QB_UNSUPPORTED, "%s: memory of DLPack's kind %d cannot be reached from here", what,
                        (int)t->memory);
    return QB_OK;
}

static qb_status check_shape(const qb_tensor *t, const char *what) {
    if (t->ndim < 1 || t->ndim > 4)
        return qb__fail(QB_BAD_ARGUMENT, "%s has %d dimensions: 1 to 4 are possible", what, t->ndim);
    for (int i = 0; i < t->ndim; i++) {
        if (t->shape[i] < 1)
            return qb__fail(QB_BAD_ARGUMENT, "%s: its shape[%d] is %lld", what, i, (long long)t->shape[i]);
    }
    if (t->ndim == 4 && t->shape[0] != 1)
        return qb__fail(QB_BAD_ARGUMENT, "%s: of four dimensions the first must have one element, not %lld", what,
                        (long long)t->shape[0]);
    return QB_OK;
}

static bool is_dense(const qb_tensor *t) {
    for (int i = 0; i < t->ndim; i++)
        if (t->strides[i]) return false;
    return true;
}

bool qb__tensor_is_dense(const qb__tensor *t) {
    ptrdiff_t below = 1;
    for (int i = 2; i >= 0; below *= (ptrdiff_t)t->shape[i], i--)
        if (t->shape[i] > 1 && t->stride[i] != below) return false;
    return true;
}

/* Bytes before and after the first element, each within half of the address space. */
bool qb__tensor_reach(const qb__tensor *tensor, size_t *before, size_t *behind) {
    *before = *behind = 0;
    for (int i = 0; i < 3; i++) {
        ptrdiff_t stride = tensor->stride[i];
        size_t far = stride < 0 ? (size_t) - (stride + 1) + 1 : (size_t)stride, span;
        if (!qb__mul(tensor->shape[i] - 1, far, tensor->element, &span)) return false;
        size_t *side = stride < 0 ? before : behind;
        if (span > PTRDIFF_MAX / 4) return false;
        *side += span;
    }
    *behind += tensor->element;
    return true;
}

qb_status qb__tensor_look(const qb_tensor *given, const char *what, qb__missing missing, qb__tensor *tensor) {
    qb_status status = check_kind(given, what);
    if (status == QB_OK) status = check_shape(given, what);
    if (status != QB_OK) return status;
    *tensor = (qb__tensor){.given = *given, .shape = {1, 1, 1}, .element = qb_dtype_size(given->dtype)};
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
    return qb__fail(QB_BAD_ARGUMENT, "%s: its shape and strides reach beyond what can be addressed", what);
}

static void swap(qb__tensor *t, int a, int b) {
    size_t shape = t->shape[a];
    ptrdiff_t stride = t->stride[a];
    t->shape[a] = t->shape[b], t->stride[a] = t->stride[b];
    t->shape[b] = shape, t->stride[b] = stride;
}

static size_t magnitude(ptrdiff_t stride) { return stride < 0 ? (size_t)-stride : (size_t)stride; }

/* From the smallest stride up, each must step over everything below it. */
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
        return qb__fail(QB_UNSUPPORTED, "%s is of %s: results are float32, float16, uint16 or uint8", what,
                        qb_dtype_name(dtype));
    if (overlaps_itself(tensor))
        return qb__fail(QB_BAD_ARGUMENT, "%s: its strides %td, %td, %td put several elements in one place", what,
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

qb_tensor qb_tensor_f32(const float *data, size_t n0, size_t n1, size_t n2) {
    return (qb_tensor){
        .data = (void *)data, .dtype = QB_F32, .ndim = 3, .shape = {(int64_t)n0, (int64_t)n1, (int64_t)n2}};
}
