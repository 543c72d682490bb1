/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "quickbeam/status.h"

/* Compression of chunks, by optional libraries. A chunk is one call in one thread. */
typedef enum qb__codec_kind {
    QB__CODEC_NONE,
    QB__CODEC_GZIP,
    QB__CODEC_ZLIB,
    QB__CODEC_ZSTD,
    QB__CODEC_BLOSC,
    QB__CODEC_BITSHUFFLE, /* Blosc with bit shuffling and LZ4 */
    QB__CODEC_LZ4,        /* filter 32004 of HDF5 */
    /* Only in HDF5 files, and not a name of --compress: */
    QB__CODEC_BITSHUFFLE_LZ4, /* filter 32008 */
    QB__CODEC_COUNT
} qb__codec_kind;

enum { QB__CODEC_LEVEL = 1 }; /* level of gzip and Zstandard; the level of Blosc is 5 */

/* Find a codec by its name in --compress; QB_BAD_ARGUMENT with the known names, QB_UNSUPPORTED with the missing
 * package. NULL and "": none. */
qb_status qb__codec_named(const char *name, qb__codec_kind *codec);
bool qb__codec_has(qb__codec_kind codec); /* true if this build can unpack it */
/* QB_UNSUPPORTED with the name of the package, if this build has no such library. */
qb_status qb__codec_needs(qb__codec_kind codec, const char *path);
/* Upper limit of the packed size of `bytes`. */
size_t qb__codec_most(qb__codec_kind codec, size_t bytes);
/* Pack numbers of `size` bytes; `out` has room for qb__codec_most. */
qb_status qb__codec_pack(qb__codec_kind codec, const char *path, size_t size, const void *in, size_t bytes, void *out,
                         size_t *packed);
/* Unpack to exactly `bytes` bytes, else QB_BAD_INPUT. */
qb_status qb__codec_unpack(qb__codec_kind codec, const char *path, size_t size, const void *in, size_t packed,
                           void *out, size_t bytes);

uint32_t qb__crc32c(const void *data, size_t bytes);

/* bitshuffle.c: codecs that use the LZ4 library: chunks in the form of HDF5's filters 32008 (bitshuffle with LZ4) and
 * 32004 (LZ4). */
size_t qb__bitshuffle_most(size_t bytes);
size_t qb__bitshuffle_pack(size_t size, const void *in, size_t bytes, void *out, size_t room);
size_t qb__bitshuffle_unpack(size_t size, const void *in, size_t packed, void *out, size_t room);
size_t qb__lz4_most(size_t bytes);
size_t qb__lz4_pack(size_t size, const void *in, size_t bytes, void *out, size_t room);
size_t qb__lz4_unpack(size_t size, const void *in, size_t packed, void *out, size_t room);
