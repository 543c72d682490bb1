/* SPDX-License-Identifier: MIT */
#ifndef QUICKBEAM_TENSOR_H
#define QUICKBEAM_TENSOR_H

#include <stddef.h>
#include <stdint.h>

#include "quickbeam/array.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Kind of memory, with the numbers of DLPack. 0 (a zeroed struct) means QB_MEMORY_CPU. */
typedef enum qb_memory {
    QB_MEMORY_CPU = 1,
    QB_MEMORY_CUDA = 2,
    QB_MEMORY_CUDA_HOST = 3 /* page-locked */
} qb_memory;

/* An array that belongs to the caller, used instead of a file. The library reads or writes it in place, copies at most
 * the current chunk (operators: see project.h), and never frees it. An array given to a scan or a job must stay until
 * that is closed or destroyed.
 *
 * The fields are those of DLPack, so that arrays of other programs are used without a copy. From a DLTensor `tensor`:
 *     data    = (char *)tensor.data + tensor.byte_offset
 *     memory  = tensor.device.device_type          device = tensor.device.device_id
 *     ndim    = tensor.ndim                        dtype: code 0, 1, 2 (int, uint, float) and bits
 *     shape   = tensor.shape[0 .. ndim - 1]        strides = tensor.strides, or zeros when NULL
 * (qb_tensor_from_dlpack does this, and tells strides that are all 0 from missing ones). The struct will not change. */
typedef struct qb_tensor {
    void *data; /* element [0][0]...; aligned to an element's size */
    qb_memory memory;
    int device; /* number of the CUDA device, else 0 */
    int ndim;   /* 1 to 4; the first of 4 has one element */
    qb_dtype dtype;
    int64_t shape[4];   /* slowest first */
    int64_t strides[4]; /* strides in elements, also negative; all 0 = dense, the last index fastest */
    /* CUDA memory: the CUstream (or cudaStream_t) on which the data is made or used; NULL = the device's default
     * stream. A call waits for work queued there; its result is complete when it returns. cudaStreamPerThread is
     * QB_UNSUPPORTED. */
    void *stream;
} qb_tensor;

/* A dense float32 array [n0][n1][n2] in host memory: projections [view][row][column] or a volume [z][y][x]. It is
 * written only by calls whose comment says so. */
QB_API qb_tensor qb_tensor_f32(const float *data, size_t n0, size_t n1, size_t n2);

/* From a DLTensor (dl_tensor of a DLManagedTensor, at which a "dltensor" capsule of Python points).
 * stream as above; the owner of the memory must keep it. One repeated element (all strides are 0) gets four dimensions.
 * QB_UNSUPPORTED for other devices than those of qb_memory, vector lanes, more than 4 dimensions, two dimensions that
 * repeat one element, or a type that is not a qb_dtype. */
QB_API qb_status qb_tensor_from_dlpack(const void *dltensor, void *stream, qb_tensor *tensor);

#ifdef __cplusplus
}
#endif
#endif
