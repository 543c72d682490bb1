/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/status.h"
#include "quickbeam/tensor.h"

/* A caller's array as a stack of images, checked. */
typedef struct qb__tensor {
    qb_tensor given;
    size_t shape[3];     /* images, rows, columns */
    ptrdiff_t stride[3]; /* elements */
    size_t element;      /* bytes */
} qb__tensor;

/* The index that an array of two dimensions lacks. */
typedef enum qb__missing { QB__MISSING_IMAGE, QB__MISSING_ROW } qb__missing;

enum { QB__TENSOR_NAME = 96 };

/* `what` begins messages. QB_BAD_ARGUMENT for an invalid array, QB_UNSUPPORTED for memory that cannot be read from
 * here. */
qb_status qb__tensor_look(const qb_tensor *given, const char *what, qb__missing missing, qb__tensor *tensor);
/* Check that it can be written: its type is an output type, and no two elements overlap. */
qb_status qb__tensor_check_sink(const qb__tensor *tensor, const char *what);
/* "array of 90 x 21 x 64 float32", used instead of a file name. */
void qb__tensor_name(const qb__tensor *tensor, char name[QB__TENSOR_NAME]);
/* Bytes that it occupies before its first element, and after the start of that. */
bool qb__tensor_reach(const qb__tensor *tensor, size_t *before, size_t *behind);
/* True if its images are dense and contiguous. */
bool qb__tensor_is_dense(const qb__tensor *tensor);
/* True if the memory ranges of two arrays overlap. */
bool qb__tensors_meet(const qb__tensor *a, const qb__tensor *b);
