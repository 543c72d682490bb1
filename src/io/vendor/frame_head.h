/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_FRAME_HEAD_H
#define QB_IO_FRAME_HEAD_H

#include <stddef.h>
#include <stdint.h>

#include "quickbeam/array.h"

/* What one file of views states; numbers are NAN where it does not. */
typedef struct qb__frame_head {
    size_t rows, columns, count; /* count 0: a file without an image */
    qb_dtype dtype;
    uint64_t at;                 /* where its first image begins, */
    uint64_t table, table_bytes; /* the sizes of packed differences, */
    uint64_t bytes;              /* and all that is packed; 0: it is not packed */
    double angle;                /* degrees, in this program's frame */
    double offset[2];            /* mm along columns and rows from the principal ray to the detector's middle */
    double pixel[2];             /* mm */
} qb__frame_head;

#endif
