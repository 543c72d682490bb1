/* SPDX-License-Identifier: MIT */
/* Data that a file holds as one stream of deflate (zlib or gzip), of which no part can be had alone: unpacked when the file is
 * opened, and kept in memory. */
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
    unsigned char *data; /* the values begin `inside` it */
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

/* Exactly `bytes` come out. */
static qb_status unpack(int fd, const char *path, uint64_t offset, unsigned char *out, size_t bytes) {
    enum { BLOCK = 1 << 20, AUTO = 32 /* zlib or gzip */ };
    unsigned char *in;
    z_stream z = {.next_out = out};
    qb_status status = qb__alloc(BLOCK, 1, &in);
    if (status != QB_OK) return status;
    if (inflateInit2(&z, MAX_WBITS + AUTO) != Z_OK) {
        qb__free(in);
        return qb__fail(QB_NO_MEMORY, "%s: no memory to unpack it", path);
    }
    int said = Z_OK;
    while (status == QB_OK && said != Z_STREAM_END && z.total_out < bytes) {
        if (!z.avail_in) {
            const ssize_t got = pread(fd, in, BLOCK, (off_t)offset);
            if (got < 0 && errno == EINTR) continue;
            if (got < 0) status = qb__fail_errno(errno, "reading", path);
            if (got == 0) status = broken(path, "end too early");
            if (status != QB_OK) break;
            offset += (uint64_t)got;
            z.next_in = in, z.avail_in = (uInt)got;
        }
        z.avail_out = (uInt)qb__smaller(bytes - z.total_out, 1U << 30);
        said = inflate(&z, Z_NO_FLUSH);
        if (said != Z_OK && said != Z_STREAM_END && said != Z_BUF_ERROR) status = broken(path, "are damaged");
    }
    if (status == QB_OK && z.total_out != bytes) status = broken(path, "are fewer than its header says");
    inflateEnd(&z);
    qb__free(in);
    return status;
}

qb_status qb__packed_open(const char *path, const qb__plain *layout, qb__source **out) {
    enum { MOST_RATIO = 1032 }; /* of deflate */
    const size_t *n = layout->shape, size = qb_dtype_size(layout->dtype);
    uint64_t have;
    size_t bytes = 0;
    packed *p;
    *out = NULL;
    qb_status status = qb__file_size(path, &have);
    if (status != QB_OK) return status;
    if (!n[0] || !n[1] || !n[2] || !qb__mul(n[0], n[1], n[2], &bytes) || !qb__mul(bytes, size, 1, &bytes) ||
        layout->offset > have || bytes / MOST_RATIO > have - layout->offset)
        return qb__fail(QB_BAD_INPUT, "%s: %zu x %zu x %zu %s cannot be packed into its %llu bytes", path, n[0], n[1],
                        n[2], qb_dtype_name(layout->dtype), (unsigned long long)have);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return qb__fail_errno(errno, "opening", path);
    status = qb__source_create(sizeof *p, layout->format, path, &p);
    if (status != QB_OK) goto out;
    p->base.dtype = layout->dtype;
    memcpy(p->base.shape, n, sizeof layout->shape);
    p->base.cache = bytes;
    p->base.read = read_packed;
    p->base.release = release_packed;
    p->inside = layout->inside;
    status = qb__alloc(bytes + p->inside, 1, &p->data);
    if (status == QB_OK) status = unpack(fd, path, layout->offset, p->data, bytes + p->inside);
    if (status == QB_OK && layout->swap) qb__swap_bytes(p->data + p->inside, bytes / size, size);
    if (status == QB_OK)
        *out = &p->base;
    else
        qb__source_close(&p->base);
out:
    close(fd);
    return status;
}

qb_status qb__packed_head(const char *path, void *out, size_t bytes) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return qb__fail_errno(errno, "opening", path);
    const qb_status status = unpack(fd, path, 0, out, bytes);
    close(fd);
    return status;
}
#else
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
