/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/inputs.h"
#include "base/memory.h"
#include "base/share.h"
#include "base/status.h"
#include "io/plain/source.h"

typedef struct plain_source {
    qb__source base;
    int fd;
    uint64_t offset;
    bool swap;
} plain_source;

qb_status qb__pread_all(int fd, const char *path, void *out, size_t bytes, uint64_t offset) {
    char *to = out;
    for (size_t done = 0; done < bytes;) {
        ssize_t got = pread(fd, to + done, bytes - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return qb__fail_errno(errno, "reading", path);
        if (got == 0)
            return qb__fail(QB_BAD_INPUT, "%s is incomplete: it ends at byte %llu, and the data end at byte %llu", path,
                            (unsigned long long)(offset + done), (unsigned long long)(offset + bytes));
        done += (size_t)got;
    }
    return QB_OK;
}

void qb__swap_bytes(void *values, size_t count, size_t size) {
    uint16_t *two = values;
    uint32_t *four = values;
    uint64_t *eight = values;
    if (size == 2)
        for (size_t i = 0; i < count; i++) two[i] = __builtin_bswap16(two[i]);
    if (size == 4)
        for (size_t i = 0; i < count; i++) four[i] = __builtin_bswap32(four[i]);
    if (size == 8)
        for (size_t i = 0; i < count; i++) eight[i] = __builtin_bswap64(eight[i]);
}

qb_status qb__pread_values(const char *path, uint64_t offset, size_t bytes, size_t size, bool swap, void *out) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return qb__fail_errno(errno, "opening", path);
    const qb_status status = qb__pread_all(fd, path, out, bytes, offset);
    close(fd);
    if (status == QB_OK && swap) qb__swap_bytes(out, bytes / size, size);
    return status;
}

qb_status qb__plain_at_end(const char *path, qb__plain *layout, const char *sizes) {
    const size_t *n = layout->shape;
    uint64_t have;
    size_t bytes;
    QB__OR_RETURN(qb__file_size(path, &have));
    if (!qb__mul(n[0], n[1], n[2], &bytes) || !qb__mul(bytes, qb_dtype_size(layout->dtype), 1, &bytes) || bytes > have)
        return qb__fail(QB_BAD_INPUT, "%s is shorter than its %s", path, sizes);
    layout->offset = have - bytes;
    return QB_OK;
}

qb_status qb__file_size(const char *path, uint64_t *bytes) {
    struct stat about;
    if (stat(path, &about) != 0) return qb__fail_errno(errno, "opening", path);
    if (!S_ISREG(about.st_mode)) return qb__fail(QB_BAD_INPUT, "%s is not a file", path);
    qb__input_seen(path, &about);
    *bytes = (uint64_t)about.st_size;
    return QB_OK;
}

qb_status qb__read_text(const char *path, size_t limit, char **text) {
    return qb__read_whole(path, limit, text, &(size_t){0});
}

qb_status qb__read_whole(const char *path, size_t limit, char **text, size_t *length) {
    *text = NULL;
    uint64_t bytes = 0;
    qb_status status = qb__file_size(path, &bytes);
    *length = (size_t)bytes;
    if (status != QB_OK) return status;
    if (bytes > limit)
        return qb__fail(QB_BAD_INPUT, "%s: its %llu bytes are too many: such a file has at most %zu", path,
                        (unsigned long long)bytes, limit);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return qb__fail_errno(errno, "opening", path);
    status = qb__alloc((size_t)bytes + 1, 1, text);
    if (status == QB_OK) status = qb__pread_all(fd, path, *text, (size_t)bytes, 0);
    close(fd);
    if (status == QB_OK) qb__input_read(path, *text, (size_t)bytes);
    if (status != QB_OK) {
        qb__free(*text);
        *text = NULL;
    }
    return status;
}

/* One read(), divided into pieces by output bytes. */
typedef struct sweep {
    const plain_source *plain;
    const qb__region *region;
    char *out;
    size_t part, bytes, piece; /* bytes of one image; of all; of a piece */
} sweep;

/* An image's rows are contiguous, and so are whole images. */
static qb_status read_piece(void *context, size_t piece, size_t worker) {
    (void)worker;
    const sweep *s = context;
    const qb__source *source = &s->plain->base;
    const size_t row = qb__source_row_bytes(source), image = source->shape[1] * row;
    const size_t first = piece * s->piece, end = qb__smaller(first + s->piece, s->bytes);
    for (size_t at = first, n; at < end; at += n) {
        const size_t i = at / s->part, inside = at % s->part;
        uint64_t from =
            s->plain->offset + (s->region->first + i * s->region->step) * image + s->region->row0 * row + inside;
        n = qb__smaller(s->part - inside, end - at);
        QB__OR_RETURN(qb__pread_all(s->plain->fd, source->path, s->out + at, n, from));
    }
    const size_t size = qb_dtype_size(source->dtype);
    if (s->plain->swap) qb__swap_bytes(s->out + first, (end - first) / size, size);
    return QB_OK;
}

static qb_status read_plain(qb__source *source, const qb__region *region, void *out) {
    const plain_source *plain = (plain_source *)source;
    size_t row = qb__source_row_bytes(source), rows = region->row1 - region->row0;
    sweep s = {plain, region, out, rows * row, region->count * rows * row, 0};
    if (!s.bytes) return QB_OK;
    if (region->step == 1 && rows == source->shape[1]) s.part = s.bytes;
    /* Pieces are whole numbers of any type. */
    size_t count = qb__pieces(source->threads, s.bytes, QB__PIECE_LEAST);
    s.piece = qb__round_up(qb__ceil_div(s.bytes, count), 4096);
    return qb__share(source->threads, qb__ceil_div(s.bytes, s.piece), read_piece, &s);
}

/* Fortran order: for each column, all images' values of a row are neighbours. Runs of whole rows are read, and the
 * wanted values are selected. */
static qb_status read_fortran(qb__source *source, const qb__region *region, void *out) {
    const plain_source *plain = (plain_source *)source;
    const size_t size = qb_dtype_size(source->dtype), images = source->shape[0], columns = source->shape[2];
    const size_t rows = region->row1 - region->row0, run = rows * images;
    char *values;
    if (!run || !region->count) return QB_OK;
    qb_status status = qb__alloc(run, size, &values);
    for (size_t column = 0; status == QB_OK && column < columns; column++) {
        const uint64_t at = (uint64_t)images * (region->row0 + (uint64_t)source->shape[1] * column);
        status = qb__pread_all(plain->fd, source->path, values, run * size, plain->offset + at * size);
        if (status != QB_OK) break;
        if (plain->swap) qb__swap_bytes(values, run, size);
        for (size_t i = 0; i < region->count; i++) {
            const size_t image = region->first + i * region->step;
            for (size_t row = 0; row < rows; row++)
                memcpy((char *)out + ((i * rows + row) * columns + column) * size,
                       values + (row * images + image) * size, size);
        }
    }
    qb__free(values);
    return status;
}

static void release_plain(qb__source *source) {
    plain_source *plain = (plain_source *)source;
    if (plain->fd >= 0) close(plain->fd);
}

/* True if the layout's bytes are inside the file. */
static qb_status check_size(const char *path, const qb__plain *layout) {
    const size_t *n = layout->shape;
    uint64_t have;
    QB__OR_RETURN(qb__file_size(path, &have));
    size_t count, bytes = 0;
    if (!n[0] || !n[1] || !n[2])
        return qb__fail(QB_BAD_INPUT, "%s: its shape %zu x %zu x %zu is empty", path, n[0], n[1], n[2]);
    if (qb__mul(n[0], n[1], n[2], &count) && qb__mul(count, qb_dtype_size(layout->dtype), 1, &bytes) &&
        layout->offset <= have && bytes <= have - layout->offset) {
        const uint64_t more = have - layout->offset - bytes;
        if (!layout->longer || !more || (layout->trailer && more < bytes / n[0])) return QB_OK;
        return qb__fail(QB_BAD_INPUT, "%s has %llu bytes, %llu more than %zu x %zu x %zu %s from byte %llu on take: %s",
                        path, (unsigned long long)have, (unsigned long long)more, n[0], n[1], n[2],
                        qb_dtype_name(layout->dtype), (unsigned long long)layout->offset, layout->longer);
    }
    return qb__fail(QB_BAD_INPUT, "%s: %zu x %zu x %zu %s from byte %llu on do not fit in its %llu bytes", path, n[0],
                    n[1], n[2], qb_dtype_name(layout->dtype), (unsigned long long)layout->offset,
                    (unsigned long long)have);
}

qb_status qb__plain_open(const char *path, const qb__plain *layout, qb__source **out) {
    *out = NULL;
    QB__OR_RETURN(check_size(path, layout));
    plain_source *plain;
    QB__OR_RETURN(qb__source_create(sizeof *plain, layout->format, path, &plain));
    plain->base.dtype = layout->dtype;
    memcpy(plain->base.shape, layout->shape, sizeof layout->shape);
    plain->base.read = layout->fortran ? read_fortran : read_plain;
    plain->base.direct = !layout->fortran;
    plain->base.release = release_plain;
    plain->offset = layout->offset;
    plain->swap = layout->swap;
    plain->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (plain->fd < 0) {
        int error = errno;
        qb__source_close(&plain->base);
        return qb__fail_errno(error, "opening", path);
    }
    *out = &plain->base;
    return QB_OK;
}
