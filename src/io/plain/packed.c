/* SPDX-License-Identifier: MIT */
/* Data that a file stores as one deflate stream (zlib or gzip). No part of such a stream can be read alone, so it is
 * unpacked when the file is opened and kept in memory. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/plain/source.h"
#ifdef QB_HAVE_ZLIB
#include <zlib.h>

typedef struct packed {
    qb__source base;
    unsigned char *data; /* the values begin at data + inside */
    size_t inside;
} packed;

static qb_status read_packed(qb__source *source, const qb__region *region, void *out) {
    const packed *p = (const packed *)source;
    const size_t row = qb__source_row_bytes(source), part = (region->row1 - region->row0) * row;
    for (size_t i = 0; i < region->count; i++) {
        const size_t image = region->first + i * region->step;
        memcpy((char *)out + i * part, p->data + p->inside + (image * source->shape[1] + region->row0) * row, part);
    }
    return QB_OK;
}

static void release_packed(qb__source *source) { qb__free(((packed *)source)->data); }

static qb_status broken(const char *path, const char *why) {
    return qb__fail(QB_BAD_INPUT, "%s: its compressed data %s", path, why);
}

/* A stream that is unpacked piece by piece. A gzip file may hold several streams, one after the other. */
typedef struct stream {
    int fd;
    const char *path;
    uint64_t offset;
    unsigned char *in;
    z_stream z;
    bool ended;
} stream;

enum { IN = 1 << 20, AUTO = 32 /* zlib detects zlib or gzip */ };

static qb_status stream_open(const char *path, uint64_t offset, stream *s) {
    *s = (stream){.path = path, .offset = offset};
    s->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (s->fd < 0) return qb__fail_errno(errno, "opening", path);
    const qb_status status = qb__alloc(IN, 1, &s->in);
    if (status == QB_OK && inflateInit2(&s->z, MAX_WBITS + AUTO) == Z_OK) return QB_OK;
    close(s->fd);
    qb__free(s->in);
    return status == QB_OK ? qb__fail(QB_NO_MEMORY, "%s: no memory to unpack it", path) : status;
}

static void stream_close(stream *s) {
    inflateEnd(&s->z);
    qb__free(s->in);
    close(s->fd);
}

/* Reads the next block, behind the bytes of the last block that are not used yet. */
static qb_status refill(stream *s, bool *end) {
    const size_t left = s->z.avail_in;
    ssize_t got;
    if (left) memmove(s->in, s->z.next_in, left);
    do { got = pread(s->fd, s->in + left, IN - left, (off_t)s->offset); } while (got < 0 && errno == EINTR);
    if (got < 0) return qb__fail_errno(errno, "reading", s->path);
    *end = got == 0;
    s->offset += (uint64_t)got;
    s->z.next_in = s->in, s->z.avail_in = (uInt)(left + (size_t)got);
    return QB_OK;
}

/* After a stream another one may begin; any other bytes there are not part of the data. */
static qb_status next_stream(stream *s) {
    bool end;
    const qb_status status = s->z.avail_in > 1 ? QB_OK : refill(s, &end);
    s->ended = status == QB_OK && (s->z.avail_in < 2 || s->z.next_in[0] != 0x1f || s->z.next_in[1] != 0x8b);
    if (status == QB_OK && !s->ended) inflateReset(&s->z);
    return status;
}

/* Unpacks up to `bytes`; *got is less only at the end of the streams. */
static qb_status stream_read(stream *s, unsigned char *out, size_t bytes, size_t *got) {
    qb_status status = QB_OK;
    *got = 0;
    while (status == QB_OK && !s->ended && *got < bytes) {
        bool end = false;
        if (!s->z.avail_in) status = refill(s, &end);
        if (status == QB_OK && end) status = broken(s->path, "end too early");
        if (status != QB_OK) break;
        const uInt room = (uInt)qb__smaller(bytes - *got, 1U << 30);
        s->z.next_out = out + *got, s->z.avail_out = room;
        const int said = inflate(&s->z, Z_NO_FLUSH);
        *got += room - s->z.avail_out;
        if (said == Z_STREAM_END)
            status = next_stream(s);
        else if (said != Z_OK && said != Z_BUF_ERROR)
            status = broken(s->path, "are damaged");
    }
    return status;
}

/* Reads to the end of the streams, where the checksums are stored; zlib compares them. */
static qb_status check_sums(stream *s) {
    unsigned char rest[4096];
    qb_status status = QB_OK;
    for (size_t got; status == QB_OK && !s->ended;) status = stream_read(s, rest, sizeof rest, &got);
    return status;
}

/* Unpacks the first `bytes`; `whole`: also reads to the end and checks the checksums. */
static qb_status unpack(const char *path, uint64_t offset, bool whole, unsigned char *out, size_t bytes) {
    stream s;
    size_t got;
    QB__OR_RETURN(stream_open(path, offset, &s));
    qb_status status = stream_read(&s, out, bytes, &got);
    if (status == QB_OK && got != bytes) status = broken(path, "are fewer than its header says");
    if (status == QB_OK && whole) status = check_sums(&s);
    stream_close(&s);
    return status;
}

qb_status qb__unpack_file(const char *path, uint64_t offset, size_t most, char **out, size_t *bytes) {
    enum { FIRST = 64 << 10 };
    stream s;
    size_t room = most < FIRST ? most : FIRST, got;
    char *data = NULL, *wider;
    *out = NULL, *bytes = 0;
    qb_status status = stream_open(path, offset, &s);
    if (status != QB_OK) return status;
    QB__TRY(qb__alloc(room, 1, &data));
    while (true) {
        QB__TRY(stream_read(&s, (unsigned char *)data + *bytes, room - *bytes, &got));
        *bytes += got;
        if (*bytes < room || room == most) break;
        const size_t grown = room > most / 2 ? most : 2 * room;
        QB__TRY(qb__alloc(grown, 1, &wider));
        memcpy(wider, data, *bytes);
        qb__free(data);
        data = wider, room = grown;
    }
    *out = data, data = NULL;
out:
    qb__free(data);
    stream_close(&s);
    return status;
}

qb_status qb__packed_open(const char *path, const qb__plain *layout, qb__source **out) {
    enum { MOST_RATIO = 1032 }; /* largest compression ratio of deflate */
    const size_t *n = layout->shape, size = qb_dtype_size(layout->dtype);
    uint64_t have;
    size_t bytes = 0;
    packed *p;
    *out = NULL;
    QB__OR_RETURN(qb__file_size(path, &have));
    if (!n[0] || !n[1] || !n[2] || !qb__mul(n[0], n[1], n[2], &bytes) || !qb__mul(bytes, size, 1, &bytes) ||
        layout->offset > have || bytes / MOST_RATIO > have - layout->offset)
        return qb__fail(QB_BAD_INPUT, "%s: %zu x %zu x %zu %s cannot be packed into its %llu bytes", path, n[0], n[1],
                        n[2], qb_dtype_name(layout->dtype), (unsigned long long)have);
    QB__OR_RETURN(qb__source_create(sizeof *p, layout->format, path, &p));
    p->base.dtype = layout->dtype;
    memcpy(p->base.shape, n, sizeof layout->shape);
    p->base.cache = bytes;
    p->base.read = read_packed;
    p->base.release = release_packed;
    p->inside = layout->inside;
    qb_status status = qb__alloc(bytes + p->inside, 1, &p->data);
    if (status == QB_OK) status = unpack(path, layout->offset, true, p->data, bytes + p->inside);
    if (status == QB_OK && layout->swap) qb__swap_bytes(p->data + p->inside, bytes / size, size);
    if (status == QB_OK)
        *out = &p->base;
    else
        qb__source_close(&p->base);
    return status;
}

qb_status qb__packed_head(const char *path, void *out, size_t bytes) { return unpack(path, 0, false, out, bytes); }
#else
qb_status qb__unpack_file(const char *path, uint64_t offset, size_t most, char **out, size_t *bytes) {
    (void)offset, (void)most;
    *out = NULL, *bytes = 0;
    return qb__fail(QB_UNSUPPORTED, "%s: its data are compressed; install zlib1g-dev and build again", path);
}

qb_status qb__packed_head(const char *path, void *out, size_t bytes) {
    (void)out, (void)bytes;
    return qb__fail(QB_UNSUPPORTED, "%s: its data are compressed; install zlib1g-dev and build again", path);
}

qb_status qb__packed_open(const char *path, const qb__plain *layout, qb__source **out) {
    (void)layout;
    *out = NULL;
    return qb__fail(QB_UNSUPPORTED, "%s: its data are compressed; install zlib1g-dev and build again", path);
}
#endif
