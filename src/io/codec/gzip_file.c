/* SPDX-License-Identifier: MIT */
/* A gzip stream (RFC 1952) made by several threads: each compresses blocks by itself, to whole bytes, and one behind the other they are one
 * stream of deflate. */
#include "io/codec/gzip_file.h"

#include "base/status.h"
#ifdef QB_HAVE_ZLIB
#include <zlib.h>

#include "base/memory.h"
#include "base/share.h"
#include "io/codec/codec.h"
#include "io/plain/source.h"
#include "io/writer.h"

enum { BLOCK = 1 << 20, ROOM = BLOCK + BLOCK / 100 + 64, ROUNDS = 2 };

typedef struct block {
    unsigned char *in, *out;
    size_t bytes, packed;
    uint32_t crc;
} block;

typedef struct batch {
    int fd;
    const char *path;
    uint64_t at, end; /* of what is read now; of all */
    block *blocks;
} batch;

static qb_status pack_block(void *context, size_t number, size_t worker) {
    const batch *b = context;
    block *k = &b->blocks[number];
    const uint64_t at = b->at + (uint64_t)number * BLOCK;
    (void)worker;
    k->bytes = (size_t)(b->end - at < BLOCK ? b->end - at : BLOCK);
    const qb_status status = qb__pread_all(b->fd, b->path, k->in, k->bytes, at);
    if (status != QB_OK) return status;
    z_stream z = {.next_in = k->in, .avail_in = (uInt)k->bytes, .next_out = k->out, .avail_out = ROOM};
    if (deflateInit2(&z, QB__CODEC_LEVEL, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return qb__fail(QB_NO_MEMORY, "%s: no memory to compress it", b->path);
    const bool last = at + k->bytes == b->end;
    const int said = deflate(&z, last ? Z_FINISH : Z_SYNC_FLUSH);
    k->packed = z.total_out;
    k->crc = (uint32_t)crc32(0, k->in, (uInt)k->bytes);
    deflateEnd(&z);
    if (said == (last ? Z_STREAM_END : Z_OK) && z.avail_in == 0 && z.avail_out > 0) return QB_OK;
    return qb__fail(QB_NO_MEMORY, "%s: %zu bytes cannot be compressed", b->path, k->bytes);
}

static void put32(unsigned char *to, uint32_t value) {
    for (int i = 0; i < 4; i++) to[i] = (unsigned char)(value >> 8 * i);
}

static qb_status pack_all(batch *b, int out, size_t threads, size_t room) {
    static const unsigned char head[10] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 3}; /* deflate, quick, Unix */
    unsigned char tail[8];
    uint64_t to = sizeof head;
    uLong crc = 0;
    qb_status status = qb__pwrite_all(out, b->path, head, sizeof head, 0);
    for (b->at = 0; b->at < b->end && status == QB_OK; b->at += (uint64_t)room * BLOCK) {
        const uint64_t left = (b->end - b->at + BLOCK - 1) / BLOCK;
        const size_t count = left < room ? (size_t)left : room;
        status = qb__share(threads, count, pack_block, b);
        for (size_t i = 0; i < count && status == QB_OK; i++) {
            const block *k = &b->blocks[i];
            status = qb__pwrite_all(out, b->path, k->out, k->packed, to);
            crc = crc32_combine(crc, k->crc, (z_off_t)k->bytes);
            to += k->packed;
        }
    }
    put32(tail, (uint32_t)crc);
    put32(tail + 4, (uint32_t)b->end);
    return status == QB_OK ? qb__pwrite_all(out, b->path, tail, sizeof tail, to) : status;
}

qb_status qb__gzip_file(int in, int out, const char *path, uint64_t bytes, size_t threads) {
    const size_t room = threads * ROUNDS;
    batch b = {.fd = in, .path = path, .end = bytes};
    unsigned char *memory = NULL;
    qb_status status = qb__alloc(room, sizeof *b.blocks, &b.blocks);
    if (status == QB_OK) status = qb__alloc(room, BLOCK + ROOM, &memory);
    for (size_t i = 0; i < room && status == QB_OK; i++) {
        b.blocks[i].in = memory + i * (BLOCK + ROOM);
        b.blocks[i].out = b.blocks[i].in + BLOCK;
    }
    if (status == QB_OK) status = pack_all(&b, out, threads, room);
    qb__free(memory);
    qb__free(b.blocks);
    return status;
}
#else
qb_status qb__gzip_file(int in, int out, const char *path, uint64_t bytes, size_t threads) {
    (void)in, (void)out, (void)bytes, (void)threads;
    return qb__fail(QB_UNSUPPORTED, "%s: this build cannot compress; install zlib1g-dev and build again", path);
}
#endif
