/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_CODEC_H
#define QB_IO_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "quickbeam/status.h"

/* Compression of chunks, by libraries that a build may lack. A chunk is one call and one thread. */
typedef enum qb__codec_kind {
    QB__CODEC_NONE,
    QB__CODEC_GZIP,
    QB__CODEC_ZLIB,
    QB__CODEC_ZSTD,
    QB__CODEC_BLOSC,
    QB__CODEC_BITSHUFFLE, /* Blosc with bit shuffling and LZ4 */
    /* Of HDF5 alone, and not in --compress by these names: */
    QB__CODEC_BITSHUFFLE_LZ4, /* filter 32008 */
    QB__CODEC_LZ4,            /* filter 32004, only read */
    QB__CODEC_COUNT
} qb__codec_kind;

enum { QB__CODEC_LEVEL = 1 }; /* of gzip and Zstandard; Blosc's is 5 */

/* By its name in --compress; QB_BAD_ARGUMENT with the names that there are, QB_UNSUPPORTED with the package that this build lacks.
 * NULL and "": none. */
qb_status qb__codec_named(const char *name, qb__codec_kind *codec);
bool qb__codec_has(qb__codec_kind codec); /* this build can unpack it */
/* QB_UNSUPPORTED with the name of the package, where this build has no such library. */
qb_status qb__codec_needs(qb__codec_kind codec, const char *path);
/* Bytes that `bytes` can become. */
size_t qb__codec_most(qb__codec_kind codec, size_t bytes);
/* Numbers of `size` bytes; `out` has room for qb__codec_most. */
qb_status qb__codec_pack(qb__codec_kind codec, const char *path, size_t size, const void *in, size_t bytes, void *out,
                         size_t *packed);
/* Exactly `bytes` come out, else QB_BAD_INPUT. */
qb_status qb__codec_unpack(qb__codec_kind codec, const char *path, size_t size, const void *in, size_t packed,
                           void *out, size_t bytes);

uint32_t qb__crc32c(const void *data, size_t bytes);

#endif
