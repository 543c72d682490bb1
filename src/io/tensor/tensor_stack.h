/* SPDX-License-Identifier: MIT */
#pragma once

#include "io/plain/source.h"
#include "io/tensor/tensor_device.h"
#include "io/writer.h"

/* Arrays instead of files: stacks of images to read and to write. */

/* The array as a source of images; borrowed until the source is closed. */
qb_status qb__tensor_open(const qb_tensor *given, const char *what, qb__missing missing, qb__source **source);
/* The device array of a source; NULL = not in a device's memory. */
qb__tensor_device *qb__tensor_device_of(qb__source *source);
qb__tensor_device *qb__tensor_device_written(qb_writer *writer); /* the array in device memory that a writer fills */
/* A writer into `given`, which has the stack's shape and dtype. What was written stays there, also after
 * qb_writer_abort. Images written from NULL are in place already. */
qb_status qb__tensor_create(const qb_tensor *given, const qb_stack *stack, qb_writer **writer);
/* Check that the array can hold the result. */
qb_status qb__tensor_check_result(const qb_tensor *given, const qb_stack *stack, qb__tensor *tensor);
/* A writer to the destination of the options: a file, one of `set`, or an array. */
qb_status qb__output_create(const qb_output_options *options, const qb_stack *stack, qb__publication *set,
                            qb_writer **writer);
