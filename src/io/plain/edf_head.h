/* SPDX-License-Identifier: MIT */
#pragma once

#include "io/plain/source.h"

/* Headers of EDF: texts of KEY = VALUE ; between braces, in whole blocks. */
enum { QB__EDF_BLOCK = 512, QB__EDF_HEADER = 64 << 10 };

/* The values of a header. */
typedef struct qb__edf_frame {
    size_t file;
    uint64_t offset; /* position of the image in the file */
    size_t rows, columns;
    qb_dtype dtype;
    bool swap;
    double missing; /* Dummy: stored number of pixels without a value; NAN: none */
    size_t raster;  /* RasterConfiguration: 1 is usual; 0: unknown */
} qb__edf_frame;

/* A file, or the bytes of an unpacked one. */
typedef struct qb__edf_blob {
    const char *path;
    int fd;
    const char *data; /* NULL: in the file */
    uint64_t count;
} qb__edf_blob;

qb_status qb__edf_bytes(const qb__edf_blob *from, uint64_t at, size_t count, void *out);
/* Read the header at `at` up to its closing brace into text[QB__EDF_HEADER + 1]. *length: of its blocks; 0: the end of
 * the file. */
qb_status qb__edf_header(const qb__edf_blob *from, uint64_t at, char *text, size_t *length);
/* The length of a header that states it; else, and if that is not possible, `length`. */
uint64_t qb__edf_length(const char *header, uint64_t length, uint64_t most);
/* Whether it is a first block without data, whose values are the defaults of all headers behind it. */
bool qb__edf_is_general(const char *header);
/* A positive number; `missing`: its value if the header has no such key, 0: that is an error. */
qb_status qb__edf_number(const char *path, const char *header, const char *key, size_t missing, size_t *number);
/* Size and type of the image. */
qb_status qb__edf_parse(const char *path, const char *header, qb__edf_frame *f);
