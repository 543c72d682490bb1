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

enum { BLOCK = 512, HEADER_MOST = 64 << 10, TEXT_ROOM = 2 * (HEADER_MOST + 1) };

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
    char *general;  /* while files are opened: values of the general header; room for HEADER_MOST + 1 */
    bool several;   /* several compressed files, with several images each */
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

/* A first block without data, whose values are the defaults of all headers behind it. */
static bool is_general(const char *header) {
    char value[64];
    return value_of(header, "EDF_DataFormatVersion", value, sizeof value) &&
           value_of(header, "EDF_BinarySize", value, sizeof value) && strtoull(value, NULL, 10) == 0;
}

/* The length of a header that states it; else, and if that is not possible, the length up to its brace. */
static uint64_t length_of(const char *header, uint64_t length, uint64_t most) {
    char value[64];
    if (!value_of(header, "EDF_HeaderSize", value, sizeof value)) return length;
    const unsigned long long stated = strtoull(value, NULL, 10);
    return stated > length && stated <= most && stated % BLOCK == 0 ? stated : length;
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

/* Whether further images follow the first one without a header of their own. */
static qb_status is_bare(const blob *from, uint64_t at, bool *bare) {
    char first = '{';
    const qb_status status = at < from->count ? read_bytes(from, at, 1, &first) : QB_OK;
    *bare = first != '{';
    return status;
}

/* The images behind a header that ends at *at, which becomes their end. */
static qb_status list_images(edf *e, const blob *from, const char *header, frame f, uint64_t most, bool more,
                             uint64_t *at) {
    size_t image, images;
    bool bare;
    qb_status status;
    QB__TRY(number_of(from->path, header, "Num_Images", 1, &images));
    QB__TRY(parse(from->path, header, &f));
    for (size_t i = 0; i < images; i++) {
        f.offset = *at;
        if (!qb__mul(f.rows, f.columns, qb_dtype_size(f.dtype), &image) || image > most - f.offset) {
            status = qb__fail(QB_BAD_INPUT, "%s is incomplete: it ends at byte %llu, within an image of %zu x %zu %s",
                              from->path, (unsigned long long)most, f.columns, f.rows, qb_dtype_name(f.dtype));
            goto out;
        }
        QB__TRY(add_frame(e, &f));
        *at += image;
        if (i > 0 || images == 1) continue;
        QB__TRY(is_bare(from, *at, &bare));
        if (!more || !bare) break;
    }
out:
    return status;
}

/* `more`: other images may follow the first one, and the end of the file is known. `text`: TEXT_ROOM bytes. */
static qb_status list_frames(edf *e, size_t file, const blob *from, uint64_t most, bool more, char *text) {
    const size_t before = e->base.shape[0];
    char *general = e->general;
    uint64_t at = 0;
    qb_status status;
    *general = 0;
    do {
        const bool first = at == 0;
        size_t length;
        QB__TRY(read_header(from, at, text, &length));
        if (!length) break;
        at += length_of(text, length, most - at);
        if (first && is_general(text)) {
            snprintf(general, HEADER_MOST + 1, ";%s", text + strspn(text, " \r\n{"));
            continue;
        }
        strcat(text, general);
        QB__TRY(list_images(e, from, text, (frame){.file = file}, most, more, &at));
    } while ((more || e->base.shape[0] == before) && most - at >= BLOCK); /* less is padding */
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

/* If the first of many files has one image, only the headers of the others are unpacked. */
static qb_status list_packed(edf *e, size_t file, char *text) {
    const bool alone = e->files.count == 1, whole = alone || file == 0 || e->several;
    blob from = {.path = e->files.text[file]};
    uint64_t stored;
    size_t count;
    char *data;
    qb_status status = qb__file_size(from.path, &stored);
    if (status != QB_OK) return status;
    const size_t most = most_unpacked(stored);
    status = qb__unpack_file(from.path, 0, whole ? most : HEADER_MOST, &data, &count);
    if (status != QB_OK) return status;
    from.data = data, from.count = count;
    status = list_frames(e, file, &from, whole ? count : most, whole, text);
    if (file == 0 && !alone) e->several = e->base.shape[0] > 1;
    if (e->several) e->base.cache_each = qb__larger(e->base.cache_each, count);
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
        status = qb__fail(QB_UNSUPPORTED,
                          "%s has several images, and the first file has one: give files of equally many, or unpack it",
                          path);
    else
        memcpy(out, data + f->offset + from, count);
    qb__free(data);
    return status;
}

/* Unpack a file of several images once for all of them. */
static qb_status read_several(void *context, size_t piece, size_t worker) {
    const sweep *s = context;
    const edf *e = s->e;
    const qb__region *region = s->region;
    const size_t file = e->frame[region->first].file + piece, row = qb__source_row_bytes(&e->base);
    const size_t from = region->row0 * row, bytes = (region->row1 - region->row0) * row, image = e->base.shape[1] * row;
    const char *path = e->files.text[file];
    uint64_t end = 0;
    char *data;
    size_t have;
    (void)worker;
    for (size_t i = 0; i < region->count; i++) {
        const frame *f = &e->frame[region->first + i * region->step];
        if (f->file == file) end = f->offset + image;
    }
    if (!end) return QB_OK; /* the region steps over this file */
    const qb_status status = qb__unpack_file(path, 0, end, &data, &have);
    if (status != QB_OK) return status;
    for (size_t i = 0; i < region->count && have == end; i++) {
        const frame *f = &e->frame[region->first + i * region->step];
        if (f->file != file) continue;
        memcpy(s->out + i * bytes, data + f->offset + from, bytes);
        if (f->swap) qb__swap_bytes(s->out + i * bytes, bytes / qb_dtype_size(f->dtype), qb_dtype_size(f->dtype));
    }
    qb__free(data);
    return have == end ? QB_OK : qb__fail(QB_BAD_INPUT, "%s has changed since it was opened", path);
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
    if (!s.e->several) return qb__share(source->threads, region->count, read_image, &s);
    const frame *first = &s.e->frame[region->first], *last = first + (region->count - 1) * region->step;
    return qb__share(source->threads, last->file - first->file + 1, read_several, &s);
}

static void release_edf(qb__source *source) {
    edf *e = (edf *)source;
    qb__notes_release(&e->files);
    qb__free(e->frame);
    qb__free(e->unpacked);
    qb__free(e->general);
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
    QB__TRY(qb__alloc(TEXT_ROOM, 1, &text));
    QB__TRY(qb__alloc(HEADER_MOST + 1, 1, &e->general));
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
        if (!e->several) e->base.cache_each = e->base.shape[1] * qb__source_row_bytes(&e->base) + 2 * BLOCK;
    }
    *out = &e->base;
out:
    qb__free(text);
    if (status != QB_OK) qb__source_close(&e->base);
    return status;
}
