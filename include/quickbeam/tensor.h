/* SPDX-License-Identifier: MIT */
#ifndef QUICKBEAM_TENSOR_H
#define QUICKBEAM_TENSOR_H

#include <stddef.h>
#include <stdint.h>

#include "quickbeam/array.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Whose memory it is; the numbers are DLPack's. 0, of a struct that says nothing, is QB_MEMORY_CPU. */
typedef enum qb_memory {
    QB_MEMORY_CPU = 1,
    QB_MEMORY_CUDA = 2,
    QB_MEMORY_CUDA_HOST = 3 /* page-locked */
} qb_memory;

/* An array that belongs to the caller: where a function takes one, it stands for a file. The library
 * reads or writes it in place and copies no more of it than the chunk at work (operators: project.h); it never frees it.
 * What a scan or a job was given must stay until that is closed or destroyed.
 *
 * The fields are DLPack's, so that arrays of other programs pass without a copy; `tensor` is a
 * DLTensor here:
 *     data    = (char *)tensor.data + tensor.byte_offset
 *     memory  = tensor.device.device_type          device = tensor.device.device_id
 *     ndim    = tensor.ndim                        dtype: code 0, 1, 2 (int, uint, float) and bits
 *     shape   = tensor.shape[0 .. ndim - 1]        strides = tensor.strides, or zeros when NULL
 * (qb_tensor_from_dlpack does it, and knows strides that are all 0 from none). The struct will not change. */
typedef struct qb_tensor {
    void *data; /* element [0][0]...; aligned to an element's size */
    qb_memory memory;
    int device; /* number of the CUDA device, else 0 */
    int ndim;   /* 1 to 4; the first of 4 has one element */
    qb_dtype dtype;
    int64_t shape[4];   /* slowest first */
    int64_t strides[4]; /* in elements, also negative; all 0 = dense, the last index fastest */
    void *stream; /* CUDA memory: the CUstream (or cudaStream_t) on which data is made or used; NULL = the device's
                           default stream. A call waits for what is queued there; its result is complete when it
                           returns. cudaStreamPerThread is QB_UNSUPPORTED */
} qb_tensor;

/* A dense float32 array [n0][n1][n2] in the host's memory: projections [view][row][column], a volume [z][y][x]. Only a call
 * that says so writes into it. */
QB_API qb_tensor qb_tensor_f32(const float *data, size_t n0, size_t n1, size_t n2);

/* From a DLTensor (dl_tensor of a DLManagedTensor, at which a "dltensor" capsule of Python points).
 * stream as above; what owns the memory must keep it. One element that is repeated (all its strides are 0) gets four
 * dimensions. QB_UNSUPPORTED for another device than those three, vectors of lanes, more than 4 dimensions, two
 * dimensions that repeat one element, or a type that is no qb_dtype. */
QB_API qb_status qb_tensor_from_dlpack(const void *dltensor, void *stream, qb_tensor *tensor);

#ifdef __cplusplus
}
#endif
#endif
