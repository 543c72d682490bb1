/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/formats.h"
#include "io/writer.h"

/* A header is a Python dictionary with three keys; real ones are much shorter. */
enum { HEADER_MOST = 65536 };

static const struct {
    const char *descr;
    qb_dtype dtype;
} types[] = {
    {"u1", QB_U8},  {"b1", QB_U8},  {"i1", QB_I8},  {"u2", QB_U16}, {"i2", QB_I16},
    {"u4", QB_U32}, {"i4", QB_I32}, {"f2", QB_F16}, {"f4", QB_F32}, {"f8", QB_F64},
};

/* The text after 'key': ; NULL if there is none. */
static const char *value_of(const char *header, const char *key) {
    char quoted[32];
    snprintf(quoted, sizeof quoted, "'%s'", key);
    const char *at = strstr(header, quoted);
    if (!at) return NULL;
    at += strlen(quoted);
    while (isspace((unsigned char)*at)) at++;
    if (*at++ != ':') return NULL;
    while (isspace((unsigned char)*at)) at++;
    return at;
}

/* wide: NULL, or it gets 'i' or 'u' for 64-bit integers, which are converted to doubles. */
static qb_status parse_descr(const char *path, const char *descr, qb__plain *layout, char *wide) {
    if (wide && descr && strlen(descr) > 4 && strchr("iu", descr[2]) && descr[3] == '8' && descr[4] == '\'') {
        layout->dtype = QB_F64;
        layout->swap = descr[1] == '>';
        *wide = descr[2];
        return QB_OK;
    }
    if (descr && *descr == '\'' && descr[1] && strchr("<>|=", descr[1])) {
        for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
            if (strncmp(descr + 2, types[i].descr, 2) != 0 || descr[4] != '\'') continue;
            layout->dtype = types[i].dtype;
            layout->swap = descr[1] == '>';
            return QB_OK;
        }
    }
    return qb__fail(
        QB_UNSUPPORTED,
        "%s: its type %.*s is none of u1 i1 u2 i2 u4 i4 f2 f4 f8: save it so, in Python data.astype('float32')", path,
        descr ? (int)strcspn(descr, ",}\n") : 1, descr ? descr : "?");
}

/* Parse the shape (n0, n1, n2) or fewer numbers; a 1-D array is one row. */
static qb_status parse_shape(const char *path, const char *at, qb__plain *layout) {
    const char *const whole = at ? at : "";
    size_t n[3] = {0}, rank = 0;
    bool good = at && *at++ == '(';
    while (good && *at != ')') {
        char *end;
        while (isspace((unsigned char)*at)) at++;
        errno = 0;
        if (rank == 3 || !isdigit((unsigned char)*at))
            good = false;
        else
            n[rank++] = strtoull(at, &end, 10);
        if (!good || errno) break;
        at = end;
        while (isspace((unsigned char)*at) || *at == ',') at++;
    }
    if (rank == 3 && !good && !errno && isdigit((unsigned char)*at))
        return qb__fail(QB_BAD_INPUT,
                        "%s: its array %.*s) has more than three axes: save one volume or scan of it, as numpy's "
                        "array[0] or array.squeeze()",
                        path, (int)strcspn(whole, ")\n"), whole);
    if (!good || errno || rank == 0)
        return qb__fail(QB_BAD_INPUT, "%s: its shape is not one, two or three numbers", path);
    for (size_t i = 0; i < 3; i++) layout->shape[i] = i < 3 - rank ? 1 : n[i - (3 - rank)];
    return QB_OK;
}

static qb_status parse_header(const char *path, const char *header, qb__plain *layout, char *wide) {
    const char *fortran = value_of(header, "fortran_order");
    qb_status status = parse_descr(path, value_of(header, "descr"), layout, wide);
    if (status == QB_OK) status = parse_shape(path, value_of(header, "shape"), layout);
    if (status != QB_OK) return status;
    if (!fortran) return qb__fail(QB_BAD_INPUT, "%s: fortran_order is missing", path);
    layout->fortran = strncmp(fortran, "True", 4) == 0;
    return QB_OK;
}

static qb_status read_header(const char *path, int fd, qb__plain *layout, char *wide) {
    unsigned char head[12];
    char *header = NULL;
    QB__OR_RETURN(qb__pread_all(fd, path, head, sizeof head, 0));
    if (memcmp(head, "\x93NUMPY", 6) != 0) return qb__fail(QB_BAD_INPUT, "%s does not begin like an NPY file", path);
    bool old = head[6] == 1;
    size_t length = head[8] | (size_t)head[9] << 8, start = old ? 10 : 12;
    if (!old) length |= (size_t)head[10] << 16 | (size_t)head[11] << 24;
    if (head[6] < 1 || head[6] > 3 || length > HEADER_MOST)
        return qb__fail(QB_BAD_INPUT, "%s: NPY version %u with a header of %zu bytes", path, head[6], length);
    qb_status status = qb__alloc(length + 1, 1, &header);
    if (status == QB_OK) status = qb__pread_all(fd, path, header, length, start);
    if (status == QB_OK) status = parse_header(path, header, layout, wide);
    layout->offset = start + length;
    qb__free(header);
    return status;
}

qb_status qb__npy_open_wide(const char *path, char *wide, qb__source **source) {
    *source = NULL;
    qb__plain layout = {.format = "NPY", .longer = "save each array in a file of its own", .trailer = true};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return qb__fail_errno(errno, "opening", path);
    qb_status status = read_header(path, fd, &layout, wide);
    close(fd);
    if (status == QB_OK) status = qb__plain_open(path, &layout, source);
    if (status == QB_OK) status = qb__sidecar_apply(path, *source);
    return qb__source_give(status, *source, source);
}

qb_status qb__npy_open(const char *path, const char *how, qb__source **source) {
    (void)how;
    return qb__npy_open_wide(path, NULL, source);
}

static qb_status begin_npy(qb_writer *writer) {
    char text[256];
    const char *descr = "";
    const qb_stack *stack = &writer->stack;
    for (size_t i = sizeof types / sizeof types[0]; i-- > 0;)
        if (types[i].dtype == stack->dtype) descr = types[i].descr;
    int n =
        snprintf(text + 10, sizeof text - 10, "{'descr': '%c%s', 'fortran_order': False, 'shape': (%zu, %zu, %zu), }",
                 qb_dtype_size(stack->dtype) > 1 ? '<' : '|', descr, stack->shape[0], stack->shape[1], stack->shape[2]);
    size_t total = (10 + (size_t)n + 1 + 63) / 64 * 64;
    memcpy(text, "\x93NUMPY\x01\x00", 8);
    text[8] = (char)((total - 10) & 255);
    text[9] = (char)((total - 10) >> 8);
    memset(text + 10 + n, ' ', total - 10 - (size_t)n);
    text[total - 1] = '\n';
    writer->data_offset = total;
    return writer->taken_up ? QB_OK : qb__pwrite_all(writer->fd, writer->path, text, total, 0);
}

const qb__writer_kind qb__npy_writer = {
    .begin = begin_npy, .finish = qb__write_sidecar, .resumes = true, .keeps_angles = true};
