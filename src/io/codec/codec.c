/* SPDX-License-Identifier: MIT */
#include "io/codec/codec.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#ifdef QB_HAVE_ZLIB
#include <zlib.h>
#endif
#ifdef QB_HAVE_ZSTD
#include <zstd.h>
#endif
#ifdef QB_HAVE_BLOSC
#include <blosc.h>
#endif

#include "base/status.h"
#include "io/codec/codec_keeps.h"

/* Returns the number of output bytes; 0: failure. */
typedef size_t pack_fn(size_t size, const void *in, size_t bytes, void *out, size_t room);
typedef size_t unpack_fn(size_t size, const void *in, size_t packed, void *out, size_t room);

static size_t same(size_t bytes) { return bytes; }

static size_t copy(size_t size, const void *in, size_t bytes, void *out, size_t room) {
    (void)size;
    if (bytes > room) return 0;
    memcpy(out, in, bytes);
    return bytes;
}

#ifdef QB_HAVE_ZLIB
enum { WINDOW = 15, GZIP = 16, EITHER = 32 };

static size_t most_zlib(size_t bytes) { return bytes + bytes / 1000 + 64; }

static size_t deflate_all(int window, const void *in, size_t bytes, void *out, size_t room) {
    z_stream z = {.next_in = (Bytef *)in, .avail_in = (uInt)bytes, .next_out = out, .avail_out = (uInt)room};
    if (deflateInit2(&z, QB__CODEC_LEVEL, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY) != Z_OK) return 0;
    const int said = deflate(&z, Z_FINISH);
    const size_t packed = z.total_out;
    deflateEnd(&z);
    return said == Z_STREAM_END ? packed : 0;
}

static size_t pack_gzip(size_t size, const void *in, size_t bytes, void *out, size_t room) {
    (void)size;
    return deflate_all(WINDOW + GZIP, in, bytes, out, room);
}

static size_t pack_zlib(size_t size, const void *in, size_t bytes, void *out, size_t room) {
    (void)size;
    return deflate_all(WINDOW, in, bytes, out, room);
}

static size_t unpack_zlib(size_t size, const void *in, size_t packed, void *out, size_t room) {
    (void)size;
    z_stream z = {.next_in = (Bytef *)in, .avail_in = (uInt)packed, .next_out = out, .avail_out = (uInt)room};
    if (inflateInit2(&z, WINDOW + EITHER) != Z_OK) return 0;
    const int said = inflate(&z, Z_FINISH);
    const size_t bytes = z.total_out;
    inflateEnd(&z);
    return said == Z_STREAM_END ? bytes : 0;
}
#endif

#ifdef QB_HAVE_ZSTD
static size_t most_zstd(size_t bytes) { return ZSTD_compressBound(bytes); }

static size_t pack_zstd(size_t size, const void *in, size_t bytes, void *out, size_t room) {
    (void)size;
    const size_t packed = ZSTD_compress(out, room, in, bytes, QB__CODEC_LEVEL);
    return ZSTD_isError(packed) ? 0 : packed;
}

static size_t unpack_zstd(size_t size, const void *in, size_t packed, void *out, size_t room) {
    (void)size;
    const size_t bytes = ZSTD_decompress(out, room, in, packed);
    return ZSTD_isError(bytes) ? 0 : bytes;
}
#endif

#ifdef QB_HAVE_BLOSC
static size_t most_blosc(size_t bytes) { return bytes + BLOSC_MAX_OVERHEAD; }

static size_t blosc(int shuffle, const char *name, size_t size, const void *in, size_t bytes, void *out, size_t room) {
    enum { LEVEL = 5 };
    const int packed = blosc_compress_ctx(LEVEL, shuffle, size, bytes, in, out, room, name, 0, 1);
    return packed > 0 ? (size_t)packed : 0;
}

static size_t pack_blosc(size_t size, const void *in, size_t bytes, void *out, size_t room) {
    return blosc(BLOSC_SHUFFLE, BLOSC_LZ4_COMPNAME, size, in, bytes, out, room);
}

static size_t pack_bitshuffle(size_t size, const void *in, size_t bytes, void *out, size_t room) {
    return blosc(BLOSC_BITSHUFFLE, BLOSC_LZ4_COMPNAME, size, in, bytes, out, room);
}

static size_t unpack_blosc(size_t size, const void *in, size_t packed, void *out, size_t room) {
    (void)size;
    size_t bytes = 0;
    if (packed < BLOSC_MIN_HEADER_LENGTH || blosc_cbuffer_validate(in, packed, &bytes) != 0 || bytes > room) return 0;
    const int got = blosc_decompress_ctx(in, out, room, 1);
    return got > 0 ? (size_t)got : 0;
}
#endif

#define WITHOUT(name, package)                                                                                         \
    { name, package, NULL, NULL, NULL }
static const struct {
    const char *name, *package;
    size_t (*most)(size_t bytes);
    pack_fn *pack; /* NULL: this build has no such library */
    unpack_fn *unpack;
} codecs[QB__CODEC_COUNT] = {
    [QB__CODEC_NONE] = {"none", NULL, same, copy, copy},
#ifdef QB_HAVE_ZLIB
    [QB__CODEC_GZIP] = {"gzip", NULL, most_zlib, pack_gzip, unpack_zlib},
    [QB__CODEC_ZLIB] = {"zlib", NULL, most_zlib, pack_zlib, unpack_zlib},
#else
    [QB__CODEC_GZIP] = WITHOUT("gzip", "zlib1g-dev"),
    [QB__CODEC_ZLIB] = WITHOUT("zlib", "zlib1g-dev"),
#endif
#ifdef QB_HAVE_ZSTD
    [QB__CODEC_ZSTD] = {"zstd", NULL, most_zstd, pack_zstd, unpack_zstd},
#else
    [QB__CODEC_ZSTD] = WITHOUT("zstd", "libzstd-dev"),
#endif
#ifdef QB_HAVE_BLOSC
    [QB__CODEC_BLOSC] = {"blosc", NULL, most_blosc, pack_blosc, unpack_blosc},
    [QB__CODEC_BITSHUFFLE] = {"bitshuffle", NULL, most_blosc, pack_bitshuffle, unpack_blosc},
#else
    [QB__CODEC_BLOSC] = WITHOUT("blosc", "libblosc-dev"),
    [QB__CODEC_BITSHUFFLE] = WITHOUT("bitshuffle", "libblosc-dev"),
#endif
#ifdef QB_HAVE_LZ4
    [QB__CODEC_BITSHUFFLE_LZ4] = {"bitshuffle of HDF5", NULL, qb__bitshuffle_most, qb__bitshuffle_pack,
                                  qb__bitshuffle_unpack},
    [QB__CODEC_LZ4] = {"lz4", NULL, qb__lz4_most, qb__lz4_pack, qb__lz4_unpack},
#else
    [QB__CODEC_BITSHUFFLE_LZ4] = WITHOUT("bitshuffle of HDF5", "liblz4-dev"),
    [QB__CODEC_LZ4] = WITHOUT("lz4", "liblz4-dev"),
#endif
};

qb_status qb__codec_named(const char *name, qb__codec_kind *codec) {
    *codec = QB__CODEC_NONE;
    if (!name || !*name) return QB_OK;
    for (qb__codec_kind k = QB__CODEC_NONE; k <= QB__CODEC_LZ4; k++) {
        if (k == QB__CODEC_ZLIB || strcmp(codecs[k].name, name) != 0) continue;
        *codec = k;
        return qb__codec_needs(k, "--compress");
    }
    return qb__fail(QB_BAD_ARGUMENT, "--compress %s: give none, gzip, zstd, blosc, bitshuffle or lz4", name);
}

bool qb__codec_has(qb__codec_kind codec) { return codecs[codec].unpack != NULL; }

qb_status qb__codec_needs(qb__codec_kind codec, const char *path) {
    if (codecs[codec].unpack) return QB_OK;
    return qb__fail(QB_UNSUPPORTED, "%s: this build has no %s; install %s and build again", path, codecs[codec].name,
                    codecs[codec].package);
}

size_t qb__codec_most(qb__codec_kind codec, size_t bytes) {
    return codecs[codec].most ? codecs[codec].most(bytes) : bytes;
}

static int kept;
static pthread_once_t keeping = PTHREAD_ONCE_INIT;

void qb_tool_codec_keeps(int bytes) { kept = bytes; }

static void keep_blocks(void) {
#ifdef __GLIBC__
    if (kept > 0) mallopt(M_MMAP_THRESHOLD, kept), mallopt(M_TRIM_THRESHOLD, kept);
#endif
}

qb_status qb__codec_pack(qb__codec_kind codec, const char *path, size_t size, const void *in, size_t bytes, void *out,
                         size_t *packed) {
    pthread_once(&keeping, keep_blocks);
    *packed = codecs[codec].pack ? codecs[codec].pack(size, in, bytes, out, qb__codec_most(codec, bytes)) : 0;
    if (*packed) return QB_OK;
    return qb__fail(QB_NO_MEMORY, "%s: %zu bytes cannot be compressed by %s", path, bytes, codecs[codec].name);
}

qb_status qb__codec_unpack(qb__codec_kind codec, const char *path, size_t size, const void *in, size_t packed,
                           void *out, size_t bytes) {
    pthread_once(&keeping, keep_blocks);
    const size_t got = codecs[codec].unpack ? codecs[codec].unpack(size, in, packed, out, bytes) : 0;
    if (got == bytes) return QB_OK;
    return qb__fail(QB_BAD_INPUT, "%s: a chunk of %zu bytes is damaged: it does not unpack by %s to %zu bytes", path,
                    packed, codecs[codec].name, bytes);
}
