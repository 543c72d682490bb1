/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "quickbeam/array.h"

/* Data of one file of views; numbers are NAN if the file does not state them. */
typedef struct qb__frame_head {
    size_t rows, columns, count; /* count 0: a file without an image */
    qb_dtype dtype;
    uint64_t at;                 /* start of its first image */
    uint64_t table, table_bytes; /* sizes of packed differences */
    uint64_t bytes;              /* all packed bytes; 0: it is not packed */
    double angle;                /* degrees, in our frame */
    double offset[2];            /* mm along columns and rows from the principal ray to the detector's centre */
    double pixel[2];             /* mm */
    double chamber;              /* what the beam's monitor measured */
} qb__frame_head;
