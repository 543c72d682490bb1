/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "io/formats.h"
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

/* A kind of files of views, identified by its extension. */
typedef struct qb__frame_kind {
    const char *format, *extension; /* ".xim" */
    qb_status (*head)(const char *path, int fd, uint64_t size, qb__frame_head *head);
} qb__frame_kind;

/* Open a series of files of one kind, or one file. Files without an image are left out. *heads, one per image, is
 * released by the caller. */
qb_status qb__frame_files_open(const char *path, const qb__frame_kind *kinds, size_t count, qb__frame_head **heads,
                               qb__source **source);
/* Put angles, pixel size and offsets into the parts, whose source is open: the mean offset is the detector's position,
 * the differences of single views become their shifts. */
qb_status qb__frame_files_parts(const qb__frame_head *heads, qb__scan_parts *parts);

/* A .xim file of Varian: its image, packed or not, and the angle, pixel size and detector's position from its
 * properties. */
qb_status qb__xim_head(const char *path, int fd, uint64_t size, qb__frame_head *head);

/* Rows row0 to row1 - 1 of an image packed as differences (.xim and .hnd of Varian): the first row and one pixel are
 * stored as 32-bit numbers; for every other pixel the difference from left + above - above left, in 1, 2 or 4 bytes,
 * given by two bits of a table. QB_BAD_INPUT if the data end early. */
qb_status qb__differences_read(const char *path, const qb__frame_head *head, size_t row0, size_t row1, int32_t *out);
