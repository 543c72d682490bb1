/* SPDX-License-Identifier: MIT */
/* EDF of ESRF: frames of a header "{ Key = value ; ... }", padded with blanks to a multiple of 512 bytes, and an image. Many files of one
 * frame, one file of many, or both (as fabio and the beamlines write them). */
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

/* What one header says. */
typedef struct frame {
    size_t file;
    uint64_t offset; /* of the image in the file */
    size_t rows, columns;
    qb_dtype dtype;
    bool swap;
} frame;

typedef struct edf {
    qb__source base;
    qb__notes files;
    frame *frame; /* [shape[0]] */
    size_t room;
} edf;

/* ---- headers ---- */

/* The value of a key, up to its semicolon; keys are compared without regard to case. */
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
        return qb__fail(QB_BAD_INPUT, "%s: an EDF header without %s", path, key);
    }
    errno = 0;
    const unsigned long long n = strtoull(value, &end, 10);
    if (end == value || errno || *value == '-' || n < 1 || n > (1ULL << 40))
        return qb__fail(QB_BAD_INPUT, "%s: %s is '%.40s' in an EDF header", path, key, value);
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
    if (deep > 1) return qb__fail(QB_UNSUPPORTED, "%s: an EDF image of three dimensions", path);
    if (value_of(header, "Compression", value, sizeof value) && *value && strncasecmp(value, "none", 4) != 0)
        return qb__fail(QB_UNSUPPORTED, "%s: its images are compressed (%.40s): save them without", path, value);
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

/* Up to the brace that ends it, with a 0 behind it; *length 0: the file ends here. */
static qb_status read_header(const char *path, int fd, uint64_t at, uint64_t bytes, char *text, size_t *length) {
    *length = 0;
    if (at >= bytes) return QB_OK;
    for (size_t n = 0; n < HEADER_MOST;) {
        const size_t more = (size_t)(bytes - at - n < BLOCK ? bytes - at - n : BLOCK);
        if (!more) break;
        const qb_status status = qb__pread_all(fd, path, text + n, more, at + n);
        if (status != QB_OK) return status;
        if (n == 0 && text[0] != '{' && text[strspn(text, " \r\n")] != '{') break;
        char *brace = memchr(text + n, '}', more);
        n += more;
        if (!brace) continue;
        *brace = 0;
        *length = n; /* headers fill whole blocks */
        return strlen(text) == (size_t)(brace - text) ? QB_OK
                                                      : qb__fail(QB_BAD_INPUT, "%s: an EDF header with a byte 0", path);
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

static qb_status list_frames(edf *e, size_t file, char *text) {
    const char *path = e->files.text[file];
    uint64_t bytes, at = 0;
    qb_status status = qb__file_size(path, &bytes);
    if (status != QB_OK) return status;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return qb__fail_errno(errno, "opening", path);
    do {
        size_t length, image;
        frame f = {.file = file};
        QB__TRY(read_header(path, fd, at, bytes, text, &length));
        if (!length) break;
        QB__TRY(parse(path, text, &f));
        f.offset = at + length;
        if (!qb__mul(f.rows, f.columns, qb_dtype_size(f.dtype), &image) || image > bytes - f.offset) {
            status = qb__fail(QB_BAD_INPUT, "%s ends at byte %llu, within an image of %zu x %zu %s", path,
                              (unsigned long long)bytes, f.columns, f.rows, qb_dtype_name(f.dtype));
            goto out;
        }
        QB__TRY(add_frame(e, &f));
        at = f.offset + image;
        if (bytes - at < BLOCK) break; /* padding */
    } while (true);
out:
    close(fd);
    return status;
}

/* ---- reading ---- */

typedef struct sweep {
    const edf *e;
    const qb__region *region;
    char *out;
} sweep;

static qb_status read_image(void *context, size_t number, size_t worker) {
    (void)worker;
    const sweep *s = context;
    const frame *f = &s->e->frame[s->region->first + number * s->region->step];
    const size_t row = qb__source_row_bytes(&s->e->base), bytes = (s->region->row1 - s->region->row0) * row;
    return qb__pread_values(s->e->files.text[f->file], f->offset + s->region->row0 * row, bytes,
                            qb_dtype_size(f->dtype), f->swap, s->out + number * bytes);
}

static qb_status read_edf(qb__source *source, const qb__region *region, void *out) {
    sweep s = {(const edf *)source, region, out};
    return qb__share(source->threads, region->count, read_image, &s);
}

static void release_edf(qb__source *source) {
    edf *e = (edf *)source;
    qb__notes_release(&e->files);
    qb__free(e->frame);
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
    QB__TRY(qb__source_files(&e->base, " .edf ", &e->files));
    QB__TRY(qb__alloc(HEADER_MOST + 1, 1, &text));
    for (size_t i = 0; i < e->files.count; i++) QB__TRY(list_frames(e, i, text));
    if (!e->base.shape[0]) {
        status = qb__fail(QB_BAD_INPUT, "%s holds no EDF image", path);
        goto out;
    }
    e->base.dtype = e->frame[0].dtype;
    e->base.shape[1] = e->frame[0].rows;
    e->base.shape[2] = e->frame[0].columns;
    *out = &e->base;
out:
    qb__free(text);
    if (status != QB_OK) qb__source_close(&e->base);
    return status;
}
