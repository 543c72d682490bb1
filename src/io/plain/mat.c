/* SPDX-License-Identifier: MIT */
/* MATLAB files of version 5 to 7 (MAT-File Level 5). A file has a header of 128 bytes, then elements. An element is a
 * tag (type, bytes) and data, padded to 8 bytes. An array is an element that contains elements: flags, sizes, name,
 * numbers. A compressed element is a zlib stream that contains one element. The first index of an array varies fastest,
 * as in files of version 7.3, which are HDF5: (row, column, view) is read as [view][column][row].
 *
 * Numbers may be stored in a smaller type than the type of the array. Small integers that stand for doubles are read as
 * float32. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/formats.h"
#include "io/text.h"

enum { HEADER = 128, TAG = 8, MATRIX = 14, COMPRESSED = 15, SPARSE = 5, DOUBLE = 6, SINGLE = 7, UINT32 = 13 };
enum { NAME_MOST = 63, AXES_MOST = 8, HEAD_MOST = 4096, ELEMENTS_MOST = 1 << 20, COMPLEX = 0x800 };

/* Number types by the code of an element. */
static const struct {
    int code;
    qb_dtype dtype;
} types[] = {{1, QB_I8}, {2, QB_U8}, {3, QB_I16}, {4, QB_U16}, {5, QB_I32}, {6, QB_U32}, {7, QB_F32}, {9, QB_F64}};

typedef struct array {
    char name[NAME_MOST + 1];
    size_t shape[3];
    unsigned kind; /* MATLAB's class of the array */
    int code;      /* type of the stored numbers */
    bool usable, packed;
    uint64_t at;      /* offset in the file of the numbers, or of the compressed stream that holds them */
    size_t inside;    /* bytes of the stream before the numbers */
    uint64_t numbers; /* bytes of the numbers */
    /* bytes of the array's element; for a compressed array, bytes of the stream up to the end of the element */
    uint64_t room;
} array;

typedef struct file {
    const char *path;
    int fd;
    uint64_t bytes;
    bool swap;
} file;

static uint32_t word(const file *f, const unsigned char *at) {
    uint32_t value;
    memcpy(&value, at, sizeof value);
    if (f->swap) qb__swap_bytes(&value, 1, sizeof value);
    return value;
}

/* One element in the head of an array: type, bytes, position of its data and of the next element. Data of up to 4 bytes
 * are stored in the tag itself. */
typedef struct element {
    uint32_t type, bytes;
    size_t data, next;
} element;

static bool next_element(const file *f, const unsigned char *head, size_t have, size_t at, element *e) {
    if (at > have || have - at < TAG) return false;
    const uint32_t first = word(f, head + at);
    const bool small = first >> 16;
    e->type = first & 0xffff, e->bytes = small ? first >> 16 : word(f, head + at + 4);
    e->data = at + (small ? 4 : TAG);
    e->next = small ? at + TAG : e->data + ((size_t)e->bytes + 7) / 8 * 8;
    return small ? e->bytes <= 4 : first <= 0xffff;
}

static bool read_sizes(const file *f, const unsigned char *head, const element *sizes, array *a) {
    const size_t axes = sizes->bytes / 4;
    if (sizes->type != 5 || axes < 2 || axes > AXES_MOST) return false;
    for (size_t i = 0; i < axes; i++) {
        const uint32_t n = word(f, head + sizes->data + 4 * i);
        if (i < 3) a->shape[2 - i] = n;
        if (n > INT32_MAX || (i >= 3 && n != 1)) return false;
    }
    if (axes == 2) a->shape[0] = 1;
    return a->shape[0] && a->shape[1] && a->shape[2];
}

/* Reads the head of an array, from its flags on; `have` bytes are there. False if it is not an array of real numbers
 * with at most three axes. */
static bool read_array(const file *f, const unsigned char *head, size_t have, array *a) {
    element flags, sizes, name, numbers;
    if (!next_element(f, head, have, 0, &flags) || flags.type != 6 || flags.bytes != 8 || flags.next > have)
        return false;
    if (!next_element(f, head, have, flags.next, &sizes) || sizes.next > have) return false;
    if (!next_element(f, head, have, sizes.next, &name) || name.next > have || name.bytes > NAME_MOST) return false;
    memcpy(a->name, head + name.data, name.bytes);
    a->name[name.bytes] = 0;
    const uint32_t said = word(f, head + flags.data);
    a->kind = said & 0xff;
    if (!read_sizes(f, head, &sizes, a) || !next_element(f, head, have, name.next, &numbers)) return false;
    a->code = (int)numbers.type, a->inside = numbers.data, a->numbers = numbers.bytes;
    a->usable = a->kind >= DOUBLE && a->kind <= UINT32 && !(said & COMPLEX);
    return true;
}

static qb_status look_at(const file *f, uint64_t at, uint32_t type, uint32_t bytes, array *a) {
    unsigned char head[HEAD_MOST] = {0};
    qb_status status = QB_OK;
    char *unpacked = NULL;
    size_t have = bytes < HEAD_MOST ? bytes : HEAD_MOST;
    *a = (array){.packed = type == COMPRESSED};
    if (a->packed) {
        status = qb__unpack_file(f->path, at, HEAD_MOST, &unpacked, &have);
        if (status == QB_OK) memcpy(head, unpacked, have);
        qb__free(unpacked);
    } else {
        status = qb__pread_all(f->fd, f->path, head, have, at);
    }
    if (status != QB_OK) return status;
    const size_t skip = a->packed ? TAG : 0;
    if (a->packed && (have < TAG || word(f, head) != MATRIX)) return QB_OK;
    if (!read_array(f, head + skip, have - skip, a)) a->usable = false;
    a->inside += skip;
    a->room = a->packed ? TAG + (uint64_t)word(f, head + 4) : bytes;
    a->at = a->packed ? at : at + a->inside;
    return QB_OK;
}

/* ---- which array ---- */

static bool is_wanted(const array *a, const char *name) {
    if (name && *name) return strcmp(a->name, name) == 0;
    return a->usable && a->shape[1] > 1 && a->shape[2] > 1;
}

/* Find the array with that name; without a name, the only array with the largest number of axes. */
static qb_status find_array(const file *f, const char *name, array *found) {
    qb__text names = {0};
    array a;
    int best = 0, count = 0;
    qb_status status = QB_OK;
    uint64_t at = HEADER;
    for (int n = 0; at < f->bytes && n < ELEMENTS_MOST; n++) {
        unsigned char tag[TAG];
        QB__TRY(qb__pread_all(f->fd, f->path, tag, TAG, at));
        const uint32_t type = word(f, tag), bytes = word(f, tag + 4);
        if (bytes > f->bytes - at - TAG)
            QB__TRY(qb__fail(QB_BAD_INPUT, "%s is incomplete: it ends at byte %llu, within an element of %u bytes",
                             f->path, (unsigned long long)f->bytes, bytes));
        if (type == MATRIX || type == COMPRESSED) {
            QB__TRY(look_at(f, at + TAG, type, bytes, &a));
            const int axes = a.shape[0] > 1 ? 3 : 2;
            if (is_wanted(&a, name)) {
                if (axes > best) *found = a, best = axes, count = 0;
                count += axes == best;
            }
            if (a.usable) qb__text_add(&names, "%s%.63s", names.length ? ", " : "", a.name);
        }
        at += TAG + (uint64_t)bytes;
        if (type != COMPRESSED) at = (at + 7) / 8 * 8;
    }
    if (count == 1 && found->usable) goto out;
    qb__printable(names.data ? names.data : (char[]){""});
    if (count)
        status = qb__fail(QB_UNSUPPORTED,
                          count > 1 ? "%s holds several arrays, %.200s: give --dataset NAME"
                                    : "%s: that array holds no real numbers in up to three axes; it has %.200s",
                          f->path, names.data ? names.data : "none");
    else if (name && *name)
        status = qb__fail(QB_NOT_FOUND, "%s holds no array %.63s; it has %.200s", f->path, name,
                          names.data ? names.data : "none");
    else
        status = qb__fail(QB_BAD_INPUT,
                          "%s holds no array of two or three axes by itself: structures, cells and complex numbers are "
                          "not read, save the array alone",
                          f->path);
out:
    qb__text_clear(&names);
    return status;
}

/* ---- the format ---- */

static qb_status open_file(const char *path, file *f) {
    char head[HEADER];
    *f = (file){.path = path, .fd = open(path, O_RDONLY | O_CLOEXEC)};
    if (f->fd < 0) return qb__fail_errno(errno, "opening", path);
    qb_status status = qb__file_size(path, &f->bytes);
    if (status == QB_OK) status = qb__pread_all(f->fd, path, head, sizeof head, 0);
    if (status != QB_OK) return status;
    const bool little = memcmp(head + 126, "IM", 2) == 0, big = memcmp(head + 126, "MI", 2) == 0;
    f->swap = little != (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
    if (little || big) return QB_OK;
    return qb__fail(QB_BAD_INPUT, "%s is not a MATLAB file of version 5 to 7.3: save it by save -v7", path);
}

static qb_status open_array(const file *f, const array *a, qb__source **source) {
    qb__plain plain = {.format = "MATLAB", .swap = f->swap, .offset = a->at, .inside = a->packed ? a->inside : 0};
    size_t known = 0, bytes;
    memcpy(plain.shape, a->shape, sizeof plain.shape);
    while (known < sizeof types / sizeof *types && types[known].code != a->code) known++;
    if (known == sizeof types / sizeof *types)
        return qb__fail(QB_UNSUPPORTED, "%s: the numbers of %s are of type %d, none of 8 to 32 bits or floats", f->path,
                        a->name, a->code);
    plain.dtype = types[known].dtype;
    if (!qb__mul(a->shape[0], a->shape[1], a->shape[2], &bytes) ||
        !qb__mul(bytes, qb_dtype_size(plain.dtype), 1, &bytes) || bytes != a->numbers)
        return qb__fail(QB_BAD_INPUT, "%s: %s of %zu x %zu x %zu %s states %llu bytes", f->path, a->name, a->shape[2],
                        a->shape[1], a->shape[0], qb_dtype_name(plain.dtype), (unsigned long long)a->numbers);
    if (a->inside > a->room || a->numbers > a->room - a->inside)
        return qb__fail(QB_BAD_INPUT, "%s: the %llu bytes of %s lie beyond its element of %llu bytes", f->path,
                        (unsigned long long)a->numbers, a->name, (unsigned long long)a->room);
    const qb_status status = (a->packed ? qb__packed_open : qb__plain_open)(f->path, &plain, source);
    const bool real = a->kind == DOUBLE || a->kind == SINGLE;
    if (status != QB_OK || !real || qb_dtype_is_float(plain.dtype) || qb_dtype_size(plain.dtype) > 2) return status;
    return qb__source_float(source);
}

qb_status qb__mat_open(const char *path, const char *how, qb__source **source) {
    file f;
    array a = {.name = ""};
    *source = NULL;
    qb_status status = open_file(path, &f);
    if (status == QB_OK) status = find_array(&f, how && *how == '/' ? how + 1 : how, &a);
    if (status == QB_OK) status = open_array(&f, &a, source);
    if (f.fd >= 0) close(f.fd);
    return status;
}

qb_status qb__mat_scan(const char *path, const qb_scan_options *options, qb__scan_parts *parts) {
    const qb_status status = qb__source_open(path, options ? options->dataset : NULL, &parts->data.source);
    if (status == QB_OK) parts->data.count = parts->data.source->shape[0];
    return status;
}
