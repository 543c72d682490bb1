/* SPDX-License-Identifier: MIT */
/* Compresses a file into one gzip (RFC 1952) or zlib (RFC 1950) stream with several threads. Each thread compresses
 * blocks independently. Every compressed block ends on a whole byte, so the blocks written one after the other form one
 * deflate stream. */
#include "io/codec/gzip_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

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
    uLong sum; /* CRC-32, or Adler-32 */
} block;

typedef struct batch {
    int fd;
    const char *path;
    uint64_t at, end; /* offset of the first block of the batch; end of the data in the file */
    qb__stream kind;
    block *blocks;
} batch;

static qb_status pack_block(void *context, size_t number, size_t worker) {
    const batch *b = context;
    block *k = &b->blocks[number];
    const uint64_t at = b->at + (uint64_t)number * BLOCK;
    (void)worker;
    k->bytes = (size_t)(b->end - at < BLOCK ? b->end - at : BLOCK);
    QB__OR_RETURN(qb__pread_all(b->fd, b->path, k->in, k->bytes, at));
    z_stream z = {.next_in = k->in, .avail_in = (uInt)k->bytes, .next_out = k->out, .avail_out = ROOM};
    if (deflateInit2(&z, QB__CODEC_LEVEL, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return qb__fail(QB_NO_MEMORY, "%s: no memory to compress it", b->path);
    const bool last = at + k->bytes == b->end;
    const int said = deflate(&z, last ? Z_FINISH : Z_SYNC_FLUSH);
    k->packed = z.total_out;
    k->sum = b->kind == QB__STREAM_GZIP ? crc32(0, k->in, (uInt)k->bytes) : adler32(1, k->in, (uInt)k->bytes);
    deflateEnd(&z);
    if (said == (last ? Z_STREAM_END : Z_OK) && z.avail_in == 0 && z.avail_out > 0) return QB_OK;
    return qb__fail(QB_NO_MEMORY, "%s: %zu bytes cannot be compressed", b->path, k->bytes);
}

/* Fill in the trailer and return its bytes. gzip: CRC-32 and uncompressed size, lowest byte first. zlib: Adler-32,
 * highest byte first. */
static size_t end_stream(qb__stream kind, uLong sum, uint64_t unpacked, unsigned char tail[8]) {
    for (int i = 0; i < 4; i++) {
        tail[i] = (unsigned char)(sum >> 8 * (kind == QB__STREAM_GZIP ? i : 3 - i));
        tail[4 + i] = (unsigned char)(unpacked >> 8 * i);
    }
    return kind == QB__STREAM_GZIP ? 8 : 4;
}

static qb_status pack_all(batch *b, int out, size_t threads, size_t room, uint64_t *bytes) {
    /* header bytes that state the fastest compression level */
    static const unsigned char heads[2][10] = {{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 3}, {0x78, 0x01}};
    const size_t head = b->kind == QB__STREAM_GZIP ? 10 : 2;
    const uint64_t from = b->at;
    unsigned char tail[8];
    uint64_t to = from + head;
    uLong sum = b->kind == QB__STREAM_GZIP ? 0 : 1;
    qb_status status = qb__pwrite_all(out, b->path, heads[b->kind], head, from);
    for (; b->at < b->end && status == QB_OK; b->at += (uint64_t)room * BLOCK) {
        const uint64_t left = (b->end - b->at + BLOCK - 1) / BLOCK;
        const size_t count = left < room ? (size_t)left : room;
        status = qb__share(threads, count, pack_block, b);
        for (size_t i = 0; i < count && status == QB_OK; i++) {
            const block *k = &b->blocks[i];
            status = qb__pwrite_all(out, b->path, k->out, k->packed, to);
            sum = b->kind == QB__STREAM_GZIP ? crc32_combine(sum, k->sum, (z_off_t)k->bytes)
                                             : adler32_combine(sum, k->sum, (z_off_t)k->bytes);
            to += k->packed;
        }
    }
    const size_t n = end_stream(b->kind, sum, b->end - from, tail);
    *bytes = to + n - from;
    return status == QB_OK ? qb__pwrite_all(out, b->path, tail, n, to) : status;
}

static qb_status pack_file(const qb_writer *writer, int out, size_t from, qb__stream kind, uint64_t *bytes) {
    const size_t threads = writer->threads, room = threads * ROUNDS;
    batch b = {.fd = writer->fd, .path = writer->path, .at = from, .kind = kind};
    unsigned char *memory = NULL;
    b.end = writer->data_offset + (uint64_t)writer->stack.shape[0] * writer->image_bytes;
    qb_status status = qb__alloc(room, sizeof *b.blocks, &b.blocks);
    if (status == QB_OK) status = qb__alloc(room, BLOCK + ROOM, &memory);
    for (size_t i = 0; i < room && status == QB_OK; i++) {
        b.blocks[i].in = memory + i * (BLOCK + ROOM);
        b.blocks[i].out = b.blocks[i].in + BLOCK;
    }
    if (status == QB_OK) status = pack_all(&b, out, threads, room, bytes);
    QB__FREE(memory, b.blocks);
    return status;
}

qb_status qb__pack_part(qb_writer *writer, size_t from, qb__stream kind, uint64_t *bytes) {
    char name[4096];
    if ((size_t)snprintf(name, sizeof name, "%s.gz", writer->part) >= sizeof name)
        return qb__fail(QB_BAD_ARGUMENT, "%.60s... is too long a name", writer->path);
    const int fd = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) return qb__fail_errno(errno, "creating", writer->path);
    qb_status status = pack_file(writer, fd, from, kind, bytes);
    if (status == QB_OK && rename(name, writer->part) != 0) status = qb__fail_errno(errno, "writing", writer->path);
    if (status != QB_OK) {
        close(fd);
        unlink(name);
        return status;
    }
    close(writer->fd);
    writer->fd = fd;
    return QB_OK;
}
#else
qb_status qb__pack_part(qb_writer *writer, size_t from, qb__stream kind, uint64_t *bytes) {
    (void)from, (void)kind, (void)bytes;
    return qb__fail(QB_UNSUPPORTED, "%s: this build cannot compress; install zlib1g-dev and build again", writer->path);
}
#endif
