/* SPDX-License-Identifier: MIT */
/* Converts DLPack's array. Its layout is a fixed interface between programs. */
#include "base/status.h"
#include "quickbeam/tensor.h"

typedef struct dl_tensor {
    void *data;
    struct {
        int32_t type, id;
    } device;
    int32_t ndim;
    struct {
        uint8_t code, bits;
        uint16_t lanes;
    } dtype;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} dl_tensor;

/* DLDataTypeCode: 0 int, 1 uint, 2 float; 6 is bool, one byte. */
static const struct {
    uint8_t code, bits;
    qb_dtype dtype;
} types[] = {
    {1, 8, QB_U8},   {0, 8, QB_I8},   {1, 16, QB_U16}, {0, 16, QB_I16}, {1, 32, QB_U32},
    {0, 32, QB_I32}, {2, 16, QB_F16}, {2, 32, QB_F32}, {2, 64, QB_F64}, {6, 8, QB_U8},
};

static bool find_type(const dl_tensor *t, qb_dtype *dtype) {
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (t->dtype.lanes != 1 || t->dtype.code != types[i].code || t->dtype.bits != types[i].bits) continue;
        *dtype = types[i].dtype;
        return true;
    }
    return false;
}

/* One repeated element, as in the gradient of a sum: all strides are 0, which means dense in a qb_tensor. */
static bool repeats_one(const qb_tensor *t) {
    bool repeated = false;
    for (int i = 0; i < t->ndim; i++) {
        if (t->strides[i]) return false;
        repeated = repeated || t->shape[i] > 1;
    }
    return repeated;
}

/* A first dimension of one element may have any stride. Two dimensions are not extended, because their role is not
 * known here. */
static qb_status give_strides(qb_tensor *t) {
    const int more = 4 - t->ndim;
    if (t->ndim == 2)
        return qb__fail(QB_UNSUPPORTED, "an array of two dimensions that repeats one element: give a copy of it");
    for (int i = 3; i >= 0; i--) t->shape[i] = i < more ? 1 : t->shape[i - more];
    t->ndim = 4;
    t->strides[0] = 1;
    return QB_OK;
}

qb_status qb_tensor_from_dlpack(const void *dltensor, void *stream, qb_tensor *tensor) {
    const dl_tensor *t = dltensor;
    QB__NEED(tensor);
    *tensor = (qb_tensor){0};
    if (!t) return qb__fail(QB_BAD_ARGUMENT, "there is no DLTensor");
    if (t->device.type < QB_MEMORY_CPU || t->device.type > QB_MEMORY_CUDA_HOST)
        return qb__fail(QB_UNSUPPORTED,
                        "memory of DLPack's kind %d: only 1 (CPU), 2 (CUDA) and 3 (page-locked) "
                        "can be used",
                        (int)t->device.type);
    if (t->ndim < 1 || t->ndim > 4)
        return qb__fail(QB_UNSUPPORTED, "an array of %d dimensions: 1 to 4 are possible", (int)t->ndim);
    if (!find_type(t, &tensor->dtype))
        return qb__fail(QB_UNSUPPORTED, "DLPack's type of code %u, %u bits and %u lanes", t->dtype.code, t->dtype.bits,
                        t->dtype.lanes);
    if (!t->shape) return qb__fail(QB_BAD_ARGUMENT, "the DLTensor has no shape");
    tensor->data = t->data ? (char *)t->data + t->byte_offset : NULL;
    tensor->memory = (qb_memory)t->device.type;
    tensor->device = t->device.id;
    tensor->ndim = t->ndim;
    tensor->stream = stream;
    for (int i = 0; i < t->ndim; i++) {
        tensor->shape[i] = t->shape[i];
        tensor->strides[i] = t->strides ? t->strides[i] : 0;
    }
    return t->strides && repeats_one(tensor) ? give_strides(tensor) : QB_OK;
}
