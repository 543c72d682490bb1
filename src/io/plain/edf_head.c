/* SPDX-License-Identifier: MIT */
#include "io/plain/edf_head.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"

static const struct {
    const char *name;
    qb_dtype dtype;
} types[] = {
    {"UnsignedByte", QB_U8},     {"SignedByte", QB_I8},    {"UnsignedShort", QB_U16}, {"SignedShort", QB_I16},
    {"UnsignedInteger", QB_U32}, {"UnsignedLong", QB_U32}, {"SignedInteger", QB_I32}, {"SignedLong", QB_I32},
    {"FloatValue", QB_F32},      {"FLOATVALUE", QB_F32},   {"FLOAT", QB_F32},         {"Float", QB_F32},
    {"FloatIEEE32", QB_F32},     {"DoubleValue", QB_F64},  {"DoubleIEEE64", QB_F64},
};

qb_status qb__edf_bytes(const qb__edf_blob *from, uint64_t at, size_t count, void *out) {
    if (!from->data) return qb__pread_all(from->fd, from->path, out, count, at);
    memcpy(out, from->data + at, count);
    return QB_OK;
}

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

qb_status qb__edf_number(const char *path, const char *header, const char *key, size_t missing, size_t *number) {
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
bool qb__edf_is_general(const char *header) {
    char value[64];
    return value_of(header, "EDF_DataFormatVersion", value, sizeof value) &&
           value_of(header, "EDF_BinarySize", value, sizeof value) && strtoull(value, NULL, 10) == 0;
}

/* The length of a header that states it; else, and if that is not possible, the length up to its brace. */
uint64_t qb__edf_length(const char *header, uint64_t length, uint64_t most) {
    char value[64];
    if (!value_of(header, "EDF_HeaderSize", value, sizeof value)) return length;
    const unsigned long long stated = strtoull(value, NULL, 10);
    return stated > length && stated <= most && stated % QB__EDF_BLOCK == 0 ? stated : length;
}

qb_status qb__edf_parse(const char *path, const char *header, qb__edf_frame *f) {
    char value[64];
    size_t deep;
    QB__OR_RETURN(qb__edf_number(path, header, "Dim_1", 0, &f->columns));
    QB__OR_RETURN(qb__edf_number(path, header, "Dim_2", 1, &f->rows));
    QB__OR_RETURN(qb__edf_number(path, header, "Dim_3", 1, &deep));
    if (deep > 1) return qb__fail(QB_UNSUPPORTED, "%s: its EDF images have three dimensions: save images of two", path);
    if (value_of(header, "Compression", value, sizeof value) && *value && strncasecmp(value, "none", 4) != 0)
        return qb__fail(QB_UNSUPPORTED, "%s: its images are compressed (%.40s): save them uncompressed", path, value);
    f->missing = value_of(header, "Dummy", value, sizeof value) ? qb__strtod(value, NULL) : NAN;
    if (f->missing == 0) f->missing = NAN; /* the usual number of those who have none */
    f->raster = value_of(header, "RasterConfiguration", value, sizeof value) ? strtoull(value, NULL, 10) : 1;
    f->swap = value_of(header, "ByteOrder", value, sizeof value) && strcasecmp(value, "HighByteFirst") == 0;
    if (!value_of(header, "DataType", value, sizeof value)) snprintf(value, sizeof value, "nothing");
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strcasecmp(types[i].name, value) != 0) continue;
        f->dtype = types[i].dtype;
        return QB_OK;
    }
    return qb__fail(QB_UNSUPPORTED, "%s: its DataType %.40s is not supported", path, value);
}

/* Read the header up to its closing brace, and end the text with 0. *length 0: end of the file. */
qb_status qb__edf_header(const qb__edf_blob *from, uint64_t at, char *text, size_t *length) {
    const char *path = from->path;
    *length = 0;
    if (at >= from->count) return QB_OK;
    for (size_t n = 0; n < QB__EDF_HEADER;) {
        const size_t more = (size_t)(from->count - at - n < QB__EDF_BLOCK ? from->count - at - n : QB__EDF_BLOCK);
        if (!more) break;
        QB__OR_RETURN(qb__edf_bytes(from, at + n, more, text + n));
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
