/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "io/plain/source.h"
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

/* A stream or folder of a compound file. */
typedef struct qb__ole2_entry {
    uint32_t folder; /* number of its parent folder */
    uint32_t number; /* its own number */
    uint32_t start;  /* its first sector */
    bool stream;
    uint64_t bytes;
    char name[32]; /* lower case, "?" for characters beyond ASCII */
} qb__ole2_entry;

/* All entries below the root, sorted by folder and name. */
typedef struct qb__ole2_names {
    qb__ole2_entry root, *entry;
    size_t count;
} qb__ole2_names;

/* From `count` raw entries of 128 bytes. Version 3 has 32-bit sizes. QB_BAD_INPUT if the tree meets an entry twice, or
 * leads outside. */
qb_status qb__ole2_names_load(const char *path, const unsigned char *raw, size_t count, bool version3,
                              qb__ole2_names *names);
void qb__ole2_names_release(qb__ole2_names *names);
/* The stream "Folder/Name"; NULL: it does not exist. */
const qb__ole2_entry *qb__ole2_names_find(const qb__ole2_names *names, const char *name);

/* Streams FOLDER<hundred>/Image<number>, FOLDER/Image<number> or FOLDER/Image; all images have one size and type. */
typedef struct qb__zeiss_images {
    const char *folder;
    bool hundreds, numbered;
    bool series; /* one image in each file of a folder or pattern; `count` is set */
    size_t count, rows, columns;
    qb_dtype dtype;
} qb__zeiss_images;

qb_status qb__zeiss_source(const qb__ole2 *ole, const char *path, qb__zeiss_images *images, qb__source **source);
/* The files of a series. */
const qb__notes *qb__zeiss_files(const qb__source *source);
