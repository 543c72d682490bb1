/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "quickbeam/status.h"

/* Compound files of Microsoft (OLE2, [MS-CFB]): streams in folders, in one file. Streams consist of sectors that are
 * chained by a table (FAT); short ones of small sectors in a stream of their own (mini stream). Every number of the
 * file is checked; a circular chain is an error. */
typedef struct qb__ole2 qb__ole2;

/* Bytes of a stream that are contiguous in the file. */
typedef struct qb__extent {
    uint64_t at, bytes;
} qb__extent;

/* Extents of several streams, one after the other. Zeroed = empty; release with qb__free(list). */
typedef struct qb__extents {
    qb__extent *list;
    size_t count, room;
} qb__extents;

/* Read the tables and the names. QB_BAD_INPUT for a damaged or truncated file. */
qb_status qb__ole2_open(const char *path, qb__ole2 **ole);
void qb__ole2_close(qb__ole2 *ole); /* NULL-safe */
/* The size of a stream such as "ImageInfo/Angles", ignoring case; false: it does not exist. */
bool qb__ole2_find(const qb__ole2 *ole, const char *name, uint64_t *bytes);
/* Append the extents of the first `bytes` of a stream. QB_BAD_INPUT if it is missing or shorter. */
qb_status qb__ole2_extents(const qb__ole2 *ole, const char *name, uint64_t bytes, qb__extents *extents);
/* Read the first `bytes` of a stream into out. */
qb_status qb__ole2_read(const qb__ole2 *ole, const char *name, uint64_t bytes, void *out);
/* Read `bytes` from the offset `from` on of a stream with these extents. */
qb_status qb__extents_read(int fd, const char *path, const qb__extent *list, size_t count, uint64_t from,
                           uint64_t bytes, void *out);
