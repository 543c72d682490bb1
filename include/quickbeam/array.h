/* SPDX-License-Identifier: MIT */
#ifndef QUICKBEAM_ARRAY_H
#define QUICKBEAM_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

#include "quickbeam/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The types of numbers: X(name, bytes, text). */
#define QB_DTYPE_LIST(X)                                                                                               \
    X(F32, 4, "float32")                                                                                               \
    X(U8, 1, "uint8")                                                                                                  \
    X(I8, 1, "int8")                                                                                                   \
    X(U16, 2, "uint16")                                                                                                \
    X(I16, 2, "int16")                                                                                                 \
    X(U32, 4, "uint32")                                                                                                \
    X(I32, 4, "int32")                                                                                                 \
    X(F16, 2, "float16")                                                                                               \
    X(F64, 8, "float64")

typedef enum qb_dtype {
#define QB_DTYPE_ENUM(name, bytes, text) QB_##name,
    QB_DTYPE_LIST(QB_DTYPE_ENUM)
#undef QB_DTYPE_ENUM
} qb_dtype;

QB_API size_t qb_dtype_size(qb_dtype dtype);      /* bytes of one element; 0 for no dtype */
QB_API const char *qb_dtype_name(qb_dtype dtype); /* "float32" */
QB_API bool qb_dtype_is_float(qb_dtype dtype);
/* The dtype of a text such as "float32"; false if there is none of that name. */
QB_API bool qb_dtype_parse(const char *text, qb_dtype *dtype);

/* A dense array in host memory, slowest index first: projections [view][row][column] or a volume [z][y][x]. A 2-D array
 * has shape[0] = 1. `data` is 64-byte aligned and belongs to the array. */
typedef struct qb_array {
    qb_dtype dtype;
    size_t shape[3];
    void *data;
} qb_array;

/* Makes an array of zeros; release it with qb_array_destroy. QB_BAD_ARGUMENT for an unknown dtype, QB_NO_MEMORY. */
QB_API qb_status qb_array_create(qb_dtype dtype, size_t n0, size_t n1, size_t n2, qb_array *array);
QB_API void qb_array_destroy(qb_array *array);       /* NULL-safe; leaves the array empty */
QB_API size_t qb_array_count(const qb_array *array); /* number of elements */
/* Replaces the data by their values as float32. QB_NO_MEMORY leaves the array unchanged. */
QB_API qb_status qb_array_to_float(qb_array *array);

#ifdef __cplusplus
}
#endif
#endif
