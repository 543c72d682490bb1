/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_OLE2_H
#define QB_IO_OLE2_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "quickbeam/status.h"

/* Compound files of Microsoft (OLE2, [MS-CFB]): streams in folders, in one file. Streams lie in sectors that are chained by a table
 * (FAT); short ones in small sectors of a stream of their own (mini stream). Every number of the file is checked, a chain
 * that runs in a circle is an error. */
typedef struct qb__ole2 qb__ole2;

/* Bytes of a stream that lie together in the file. */
typedef struct qb__extent {
    uint64_t at, bytes;
} qb__extent;

/* Extents of several streams, one behind the other. Zeroed = empty; release by qb__free(list). */
typedef struct qb__extents {
    qb__extent *list;
    size_t count, room;
} qb__extents;

/* Reads the tables and the names. QB_BAD_INPUT for what is broken, also for a file that was cut. */
qb_status qb__ole2_open(const char *path, qb__ole2 **ole);
void qb__ole2_close(qb__ole2 *ole); /* NULL-safe */
/* The bytes of a stream such as "ImageInfo/Angles", upper and lower case alike; false: it is not there. */
bool qb__ole2_find(const qb__ole2 *ole, const char *name, uint64_t *bytes);
/* Appends where the first `bytes` of a stream lie. QB_BAD_INPUT when it is missing or shorter. */
qb_status qb__ole2_extents(const qb__ole2 *ole, const char *name, uint64_t bytes, qb__extents *extents);
/* The first `bytes` of a stream into out. */
qb_status qb__ole2_read(const qb__ole2 *ole, const char *name, uint64_t bytes, void *out);
/* `bytes` from the offset `from` on of a stream that lies in these extents. */
qb_status qb__extents_read(int fd, const char *path, const qb__extent *list, size_t count, uint64_t from,
                           uint64_t bytes, void *out);

#endif
