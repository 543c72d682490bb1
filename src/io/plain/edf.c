/* SPDX-License-Identifier: MIT */
/* EDF of ESRF: frames with a header "{ Key = value ; ... }", padded with blanks to a multiple of 512 bytes, and an
 * image. Many files of one frame, one file of many, or both (as fabio and the beamlines write them). Files may be
 * compressed as a whole (.edf.gz): a single file is unpacked when it is opened, one of many each time its image is
 * read. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/share.h"
#include "base/status.h"
#include "io/formats.h"

enum { BLOCK = 512, HEADER_MOST = 64 << 10 };

static const struct {
    const char *name;
    qb_dtype dtype;
} types[] = {
    {"UnsignedByte", QB_U8},     {"SignedByte", QB_I8},    {"UnsignedShort", QB_U16}, {"SignedShort", QB_I16},
    {"UnsignedInteger", QB_U32}, {"UnsignedLong", QB_U32}, {"SignedInteger", QB_I32}, {"SignedLong", QB_I32},
    {"FloatValue", QB_F32},      {"FLOATVALUE", QB_F32},   {"FLOAT", QB_F32},         {"Float", QB_F32},
    {"FloatIEEE32", QB_F32},     {"DoubleValue", QB_F64},  {"DoubleIEEE64", QB_F64},
};

/* The values of a header. */
typedef struct frame {
    size_t file;
    uint64_t offset; /* position of the image in the file */
    size_t rows, columns;
    qb_dtype dtype;
    bool swap;
} frame;

typedef struct edf {
    qb__source base;
    qb__notes files;
    frame *frame; /* [shape[0]] */
    size_t room;
    char *unpacked; /* the only file, unpacked; NULL: images are read from the files */
} edf;

/* A file, or the bytes of an unpacked one. */
typedef struct blob {
    const char *path;
    int fd;
    const char *data; /* NULL: in the file */
    uint64_t count;
} blob;

static bool is_packed(const char *path) {
    const size_t n = strlen(path);
    return n > 3 && strcasecmp(path + n - 3, ".gz") == 0;
}

/* No compression exceeds this factor. */
static size_t most_unpacked(uint64_t stored) {
    enum { RATIO = 1032, ENDS = 1 << 16 };
    return stored < SIZE_MAX / 2 / RATIO ? (size_t)stored * RATIO + ENDS : SIZE_MAX / 2;
}

static qb_status read_bytes(const blob *from, uint64_t at, size_t count, void *out) {
    if (!from->data) return qb__pread_all(from->fd, from->path, out, count, at);
    memcpy(out, from->data + at, count);
    return QB_OK;
}

/* ---- headers ---- */

/* The value of a key, up to its semicolon; case is ignored. */
static bool value_of(const char *header, const char *key, char *value, size_t size) {
    const size_t n = strlen(key);
    for (const char *at = header + 1; *at;) {
        while (isspace((unsigned char)*at)) at++;
        const char *end = at + strcspn(at, ";"), *equals = at + n + strspn(at + strnlen(at, n), " \t");
        if (strncasecmp(at, key, n) == 0 && equals < end && *equals == '=') {
            for (equals++; equals < end && isspace((unsigned char)*equals);) equals++;
            size_t length = (size_t)(end - equals);
            while (length && isspace((unsigned char)equals[length - 1])) length--;
            snprintf(value, size, "%.*s", (int)qb__smaller(length, size), equals);
            return true;
        }
        at = *end ? end + 1 : end;
    }
    return false;
}

static qb_status number_of(const char *path, const char *header, const char *key, size_t missing, size_t *number) {
    char value[64], *end;
    *number = missing;
    if (!value_of(header, key, value, sizeof value)) {
        if (missing) return QB_OK;
        return qb__fail(QB_BAD_INPUT, "%s: its EDF header has no %s", path, key);
    }
    errno = 0;
    const unsigned long long n = strtoull(value, &end, 10);
    if (end == value || errno || *value == '-' || n < 1 || n > (1ULL << 40))
        return qb__fail(QB_BAD_INPUT, "%s: its EDF header states %s = '%.40s', which is not a positive number", path,
                        key, value);
    *number = (size_t)n;
    return QB_OK;
}

static qb_status parse(const char *path, const char *header, frame *f) {
    char value[64];
    size_t deep;
    qb_status status;
    QB__TRY(number_of(path, header, "Dim_1", 0, &f->columns));
    QB__TRY(number_of(path, header, "Dim_2", 1, &f->rows));
    QB__TRY(number_of(path, header, "Dim_3", 1, &deep));
    if (deep > 1) return qb__fail(QB_UNSUPPORTED, "%s: its EDF images have three dimensions: save images of two", path);
    if (value_of(header, "Compression", value, sizeof value) && *value && strncasecmp(value, "none", 4) != 0)
        return qb__fail(QB_UNSUPPORTED, "%s: its images are compressed (%.40s): save them uncompressed", path, value);
    f->swap = value_of(header, "ByteOrder", value, sizeof value) && strcasecmp(value, "HighByteFirst") == 0;
    if (!value_of(header, "DataType", value, sizeof value)) snprintf(value, sizeof value, "nothing");
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strcasecmp(types[i].name, value) != 0) continue;
        f->dtype = types[i].dtype;
        return QB_OK;
    }
    status = qb__fail(QB_UNSUPPORTED, "%s: its DataType %.40s is not supported", path, value);
out:
    return status;
}

/* Read the header up to its closing brace, and end the text with 0. *length 0: end of the file. */
static qb_status read_header(const blob *from, uint64_t at, char *text, size_t *length) {
    const char *path = from->path;
    *length = 0;
    if (at >= from->count) return QB_OK;
    for (size_t n = 0; n < HEADER_MOST;) {
        const size_t more = (size_t)(from->count - at - n < BLOCK ? from->count - at - n : BLOCK);
        if (!more) break;
        const qb_status status = read_bytes(from, at + n, more, text + n);
        if (status != QB_OK) return status;
        if (n == 0 && text[0] != '{' && text[strspn(text, " \r\n")] != '{') break;
        char *brace = memchr(text + n, '}', more);
        n += more;
        if (!brace) continue;
        *brace = 0;
        *length = n; /* headers fill whole blocks */
        return strlen(text) == (size_t)(brace - text)
                   ? QB_OK
                   : qb__fail(QB_BAD_INPUT, "%s: its EDF header holds a byte 0: it is damaged", path);
    }
    return qb__fail(QB_BAD_INPUT, "%s: there is no EDF header at byte %llu", path, (unsigned long long)at);
}

/* ---- frames ---- */

static qb_status add_frame(edf *e, const frame *f) {
    const size_t n = e->base.shape[0];
    if (n == e->room) {
        frame *more;
        const qb_status status = qb__alloc(2 * n + 16, sizeof *more, &more);
        if (status != QB_OK) return status;
        if (n) memcpy(more, e->frame, n * sizeof *more);
        qb__free(e->frame);
        e->frame = more;
        e->room = 2 * n + 16;
    }
    const frame *first = n ? e->frame : f;
    if (f->rows != first->rows || f->columns != first->columns || f->dtype != first->dtype)
        return qb__fail(QB_BAD_INPUT, "%s has an image of %zu x %zu %s, the first one is %zu x %zu %s",
                        e->files.text[f->file], f->columns, f->rows, qb_dtype_name(f->dtype), first->columns,
                        first->rows, qb_dtype_name(first->dtype));
    e->frame[e->base.shape[0]++] = *f;
    return QB_OK;
}

/* `more`: other images may follow the first one, and the end of the file is known. */
static qb_status list_frames(edf *e, size_t file, const blob *from, uint64_t most, bool more, char *text) {
    uint64_t at = 0;
    qb_status status;
    do {
        size_t length, image;
        frame f = {.file = file};
        QB__TRY(read_header(from, at, text, &length));
        if (!length) break;
        QB__TRY(parse(from->path, text, &f));
        f.offset = at + length;
        if (!qb__mul(f.rows, f.columns, qb_dtype_size(f.dtype), &image) || image > most - f.offset) {
            status = qb__fail(QB_BAD_INPUT, "%s is incomplete: it ends at byte %llu, within an image of %zu x %zu %s",
                              from->path, (unsigned long long)most, f.columns, f.rows, qb_dtype_name(f.dtype));
            goto out;
        }
        QB__TRY(add_frame(e, &f));
        at = f.offset + image;
    } while (more && most - at >= BLOCK); /* less is padding */
out:
    return status;
}

static qb_status list_plain(edf *e, size_t file, char *text) {
    blob from = {.path = e->files.text[file]};
    qb_status status = qb__file_size(from.path, &from.count);
    if (status != QB_OK) return status;
    from.fd = open(from.path, O_RDONLY | O_CLOEXEC);
    if (from.fd < 0) return qb__fail_errno(errno, "opening", from.path);
    status = list_frames(e, file, &from, from.count, true, text);
    close(from.fd);
    return status;
}

/* Unpack only the header of each of many files. */
static qb_status list_packed(edf *e, size_t file, char *text) {
    const bool alone = e->files.count == 1;
    blob from = {.path = e->files.text[file]};
    uint64_t stored;
    size_t count;
    char *data;
    qb_status status = qb__file_size(from.path, &stored);
    if (status != QB_OK) return status;
    const size_t most = most_unpacked(stored);
    status = qb__unpack_file(from.path, 0, alone ? most : HEADER_MOST, &data, &count);
    if (status != QB_OK) return status;
    from.data = data, from.count = count;
    status = list_frames(e, file, &from, alone ? count : most, alone, text);
    if (alone)
        e->unpacked = data, e->base.cache = count;
    else
        qb__free(data);
    return status;
}

static qb_status list_file(edf *e, size_t file, char *text) {
    return (is_packed(e->files.text[file]) ? list_packed : list_plain)(e, file, text);
}

/* ---- reading ---- */

typedef struct sweep {
    const edf *e;
    const qb__region *region;
    char *out;
} sweep;

/* Read rows of the only image of a compressed file. */
static qb_status read_packed(const char *path, const frame *f, size_t image, size_t from, size_t count, char *out) {
    char *data;
    size_t have;
    qb_status status = qb__unpack_file(path, 0, f->offset + image + BLOCK, &data, &have);
    if (status != QB_OK) return status;
    if (have < f->offset + image)
        status = qb__fail(QB_BAD_INPUT, "%s is incomplete: unpacked it ends at byte %zu, within its image", path, have);
    else if (have == f->offset + image + BLOCK)
        status = qb__fail(QB_UNSUPPORTED, "%s: one of several compressed files, with several images: unpack it", path);
    else
        memcpy(out, data + f->offset + from, count);
    qb__free(data);
    return status;
}

static qb_status read_image(void *context, size_t number, size_t worker) {
    (void)worker;
    const sweep *s = context;
    const frame *f = &s->e->frame[s->region->first + number * s->region->step];
    const size_t row = qb__source_row_bytes(&s->e->base), bytes = (s->region->row1 - s->region->row0) * row;
    const char *path = s->e->files.text[f->file];
    const size_t size = qb_dtype_size(f->dtype), from = s->region->row0 * row;
    char *to = s->out + number * bytes;
    if (!is_packed(path)) return qb__pread_values(path, f->offset + from, bytes, size, f->swap, to);
    qb_status status = QB_OK;
    if (s->e->unpacked)
        memcpy(to, s->e->unpacked + f->offset + from, bytes);
    else
        status = read_packed(path, f, f->rows * row, from, bytes, to);
    if (status == QB_OK && f->swap) qb__swap_bytes(to, bytes / size, size);
    return status;
}

static qb_status read_edf(qb__source *source, const qb__region *region, void *out) {
    sweep s = {(const edf *)source, region, out};
    return qb__share(source->threads, region->count, read_image, &s);
}

static void release_edf(qb__source *source) {
    edf *e = (edf *)source;
    qb__notes_release(&e->files);
    qb__free(e->frame);
    qb__free(e->unpacked);
}

qb_status qb__edf_open(const char *path, const char *how, qb__source **out) {
    edf *e;
    char *text = NULL;
    (void)how;
    *out = NULL;
    qb_status status = qb__source_create(sizeof *e, "EDF", path, &e);
    if (status != QB_OK) return status;
    e->base.read = read_edf;
    e->base.release = release_edf;
    QB__TRY(qb__source_files(&e->base, " .edf .edf.gz ", &e->files));
    QB__TRY(qb__alloc(HEADER_MOST + 1, 1, &text));
    for (size_t i = 0; i < e->files.count; i++) QB__TRY(list_file(e, i, text));
    if (!e->base.shape[0]) {
        status = qb__fail(QB_BAD_INPUT, "%s holds no EDF image", path);
        goto out;
    }
    e->base.dtype = e->frame[0].dtype;
    e->base.shape[1] = e->frame[0].rows;
    e->base.shape[2] = e->frame[0].columns;
    if (!e->unpacked && is_packed(e->files.text[0])) {
        e->base.chunk[1] = e->base.shape[1];
        e->base.cache_each = e->base.shape[1] * qb__source_row_bytes(&e->base) + 2 * BLOCK;
    }
    *out = &e->base;
out:
    qb__free(text);
    if (status != QB_OK) qb__source_close(&e->base);
    return status;
}
