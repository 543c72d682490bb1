/* SPDX-License-Identifier: MIT */
#ifndef QB_GEOMETRY_PARTITION_H
#define QB_GEOMETRY_PARTITION_H

#include <stddef.h>

#include "quickbeam/status.h"

/* How a volume is cut so that what is in flight fits into memory. Parallel beam: slices are
 * independent, so a chunk is a run of slices and needs just their detector rows. */
typedef struct qb__partition {
    size_t slices_per_chunk; /* the last chunk may hold fewer */
    size_t chunks;
    unsigned slots; /* buffers in each ring of the pipeline */
    size_t bytes;   /* what the caller's bytes() said of this choice */
} qb__partition;

typedef struct qb__partition_problem {
    size_t slices;
    size_t step, most; /* slices a chunk: a multiple of step (or all there are), at most `most` */
    size_t cap;        /* bytes */
    size_t (*bytes)(const void *context, size_t slices_per_chunk, unsigned slots);
    const void *context;
} qb__partition_problem;

/* The largest chunks that fit, double-buffered if that fits too; chunks are made even in size.
 * QB_BAD_ARGUMENT with the number of bytes needed when the smallest does not fit. */
qb_status qb__partition_slices(const qb__partition_problem *problem, qb__partition *partition);

#endif
