/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_TENSOR_H
#define QB_IO_TENSOR_H

#include "io/source.h"
#include "io/writer.h"
#include "quickbeam/io.h"
#include "quickbeam/tensor.h"

/* A caller's array as a stack of images, checked. */
typedef struct qb__tensor {
    qb_tensor given;
    size_t shape[3];    /* images, rows, columns */
    ptrdiff_t stride[3]; /* elements */
    size_t element;     /* bytes */
} qb__tensor;

/* Which index an array of two dimensions lacks. */
typedef enum qb__missing { QB__MISSING_IMAGE, QB__MISSING_ROW } qb__missing;

enum { QB__TENSOR_NAME = 96 };

/* `what` begins messages. QB_BAD_ARGUMENT for what is no array, QB_UNSUPPORTED for memory that
 * cannot be read from here. */
qb_status qb__tensor_look(const qb_tensor *given, const char *what, qb__missing missing,
                          qb__tensor *tensor);
/* Can it be written to? Its type is one of outputs, no two elements share a place. */
qb_status qb__tensor_check_sink(const qb__tensor *tensor, const char *what);
/* "array of 90 x 21 x 64 float32": what stands for a path's name. */
void qb__tensor_name(const qb__tensor *tensor, char name[QB__TENSOR_NAME]);
/* Bytes that it reaches before its first element and behind the beginning of that. */
bool qb__tensor_reach(const qb__tensor *tensor, size_t *before, size_t *behind);
/* Do the bytes of two arrays overlap, from each one's first to its last? */
bool qb__tensors_meet(const qb__tensor *a, const qb__tensor *b);

typedef struct qb__tensor_device qb__tensor_device; /* tensor_device.h */

/* The array as a source of images; borrowed until that is closed. */
qb_status qb__tensor_open(const qb_tensor *given, const char *what, qb__missing missing,
                          qb__source **source);
/* Where a source's numbers are: NULL = not in a device's memory. */
qb__tensor_device *qb__tensor_device_of(qb__source *source);
qb__tensor_device *qb__tensor_device_written(qb_writer *writer); /* likewise of a writer's */
/* A writer into `given`, of the stack's shape and dtype. What was written stays there, also after
 * qb_writer_abort. Images written from NULL are in their place already. */
qb_status qb__tensor_create(const qb_tensor *given, const qb_stack *stack, qb_writer **writer);
/* Can it take that result? The array of it. */
qb_status qb__tensor_check_result(const qb_tensor *given, const qb_stack *stack,
                                  qb__tensor *tensor);
/* A writer to where the options say: a file, one of `set`, or an array. */
qb_status qb__output_create(const qb_output_options *options, const qb_stack *stack,
                            qb__publication *set, qb_writer **writer);

#endif
