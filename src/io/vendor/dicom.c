/* SPDX-License-Identifier: MIT */
#include "io/vendor/dicom.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "io/plain/source.h"
#include "io/text.h"

enum { PREAMBLE = 128, HEAD_MOST = 1 << 20, DEPTH = 8, PIXELS = 0x7fe00010 };
static const uint32_t UNKNOWN = 0xffffffff, ITEM = 0xfffee000, ITEM_END = 0xfffee00d, SEQUENCE_END = 0xfffee0dd;

typedef struct element {
    uint32_t tag, bytes;
    char type[3]; /* value representation (VR); "" if the file does not write it */
    size_t at, next;
} element;

static uint32_t half(const unsigned char *p) { return p[0] | (uint32_t)p[1] << 8; }
static uint32_t word(const unsigned char *p) { return half(p) | half(p + 2) << 16; }

static bool is_long(const char *type) {
    static const char types[] = "OB OD OF OL OV OW SQ SV UC UN UR UT UV ";
    const char *at = strstr(types, type);
    return *type && at && at[2] == ' ';
}

/* Reads the head of the element at `at`. If its length is not stated, e->next is not its end yet. False: the bytes end
 * before. */
static bool read_head(const qb__dicom *d, bool typed, size_t at, element *e) {
    if (at > d->bytes || d->bytes - at < 8) return false;
    const unsigned char *p = d->data + at;
    *e = (element){.tag = half(p) << 16 | half(p + 2)};
    const bool plain = !typed || e->tag >> 16 == 0xfffe;
    if (!plain) memcpy(e->type, p + 4, 2);
    if (plain) {
        e->bytes = word(p + 4), e->at = at + 8;
    } else if (is_long(e->type)) {
        if (d->bytes - at < 12) return false;
        e->bytes = word(p + 8), e->at = at + 12;
    } else {
        e->bytes = half(p + 6), e->at = at + 8;
    }
    e->next = e->at + (size_t)e->bytes;
    return true;
}

static bool skip_items(const qb__dicom *d, bool typed, size_t *at, int depth);

/* Sets e->next to the end of the element, also if its length is not stated. */
static bool skip(const qb__dicom *d, bool typed, element *e, int depth) {
    if (e->bytes != UNKNOWN) return true;
    e->next = e->at;
    /* elements inside a value of unknown type (UN) are written without types */
    return skip_items(d, typed && strcmp(e->type, "UN") != 0, &e->next, depth);
}

/* Skips the items of a sequence, up to its end. */
static bool skip_items(const qb__dicom *d, bool typed, size_t *at, int depth) {
    element item, inner;
    if (depth > DEPTH) return false;
    while (read_head(d, typed, *at, &item)) {
        *at = item.at;
        if (item.tag == SEQUENCE_END) return true;
        if (item.tag != ITEM) return false;
        if (item.bytes != UNKNOWN) {
            *at = item.next;
            continue;
        }
        while (true) {
            if (!read_head(d, typed, *at, &inner)) return false;
            *at = inner.next;
            if (inner.tag == ITEM_END) break;
            if (!skip(d, typed, &inner, depth + 1)) return false;
            *at = inner.next;
        }
    }
    return false;
}

/* Finds the element with that tag, from `at` on. Elements are in ascending order of their tags. */
static bool find(const qb__dicom *d, bool typed, size_t at, uint32_t tag, element *e) {
    while (read_head(d, typed, at, e) && e->tag <= tag) {
        if (e->tag == tag) return tag == PIXELS || (e->bytes != UNKNOWN && e->next <= d->bytes);
        if (!skip(d, typed, e, 0)) return false;
        at = e->next;
    }
    return false;
}

/* Reads group 2, which states how the rest of the file is stored. Group 2 itself always has types. d->first: the first
 * element after it. */
static qb_status read_meta(qb__dicom *d) {
    element e;
    char syntax[65] = "";
    size_t at = PREAMBLE + 4;
    while (read_head(d, true, at, &e) && e.tag >> 16 == 2) {
        if (e.bytes == UNKNOWN || e.next > d->bytes) break;
        if (e.tag == 0x00020010)
            snprintf(syntax, sizeof syntax, "%.*s", (int)(e.bytes < 64 ? e.bytes : 64), d->data + e.at);
        at = e.next;
    }
    d->first = at;
    d->typed = strcmp(syntax, "1.2.840.10008.1.2.1") == 0;
    if (d->typed || strcmp(syntax, "1.2.840.10008.1.2") == 0) return QB_OK;
    qb__printable(syntax);
    return qb__fail(QB_UNSUPPORTED, "%s: DICOM that is compressed or big-endian (%s): save it uncompressed", d->path,
                    *syntax ? syntax : "not stated");
}

qb_status qb__dicom_open(const char *path, qb__dicom *d) {
    uint64_t size;
    element e;
    *d = (qb__dicom){.path = path};
    QB__OR_RETURN(qb__file_size(path, &size));
    d->bytes = size < HEAD_MOST ? (size_t)size : HEAD_MOST;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return qb__fail_errno(errno, "opening", path);
    qb_status status = qb__alloc(d->bytes + 1, 1, &d->data);
    if (status == QB_OK) status = qb__pread_all(fd, path, d->data, d->bytes, 0);
    close(fd);
    if (status != QB_OK) return status;
    if (d->bytes < PREAMBLE + 4 || memcmp(d->data + PREAMBLE, "DICM", 4) != 0)
        return qb__fail(QB_BAD_INPUT, "%s is not a DICOM file: it has no DICM at byte 128", path);
    QB__OR_RETURN(read_meta(d));
    if (!find(d, d->typed, d->first, PIXELS, &e) || e.bytes == UNKNOWN)
        return qb__fail(QB_BAD_INPUT, "%s: no numbers of an image (7FE0,0010) within its first %d bytes", path,
                        HEAD_MOST);
    d->pixels = e.at, d->pixel_bytes = e.bytes;
    if (d->pixels <= size && d->pixel_bytes <= size - d->pixels) return QB_OK;
    return qb__fail(QB_BAD_INPUT, "%s is incomplete: it ends at byte %llu, within its image", path,
                    (unsigned long long)size);
}

void qb__dicom_close(qb__dicom *d) {
    qb__free(d->data);
    d->data = NULL;
}

bool qb__dicom_text(const qb__dicom *d, uint32_t tag, char *text, size_t size) {
    element e;
    *text = 0;
    if (!find(d, d->typed, d->first, tag, &e)) return false;
    size_t n = e.bytes < size ? e.bytes : size - 1;
    memcpy(text, d->data + e.at, n);
    while (n && (text[n - 1] == ' ' || !text[n - 1])) n--;
    text[n] = 0;
    return true;
}

/* Whether the element has that type. `guess` is the answer for an element without a type. The caller guesses that
 * private elements are floats and public ones are text, except for counts of two bytes: private ones, and those of
 * group 28 below 0x1000. */
static bool is_type(const element *e, const char *type, bool guess) {
    const bool none = !*e->type || strcmp(e->type, "UN") == 0;
    return none ? guess : strcmp(e->type, type) == 0;
}

static int read_words(const qb__dicom *d, const element *e, size_t size, bool real, int most, double *out) {
    int n = 0;
    for (size_t i = 0; i + size <= e->bytes && n < most; i += size) {
        const unsigned char *p = d->data + e->at + i;
        const uint32_t bits = size == 2 ? half(p) : word(p);
        float value;
        memcpy(&value, &bits, sizeof value);
        out[n++] = real ? (double)value : (double)bits;
    }
    return n;
}

int qb__dicom_numbers(const qb__dicom *d, uint32_t tag, int most, double *out) {
    element e;
    char text[128];
    if (!find(d, d->typed, d->first, tag, &e)) return 0;
    const bool private = tag >> 16 & 1;
    if (is_type(&e, "SS", false)) return read_words(d, &e, 2, false, most, out);
    if (is_type(&e, "US", e.bytes == 2 && (private || (tag >> 16 == 0x28 && (tag & 0xffff) < 0x1000))))
        return read_words(d, &e, 2, false, most, out);
    if (is_type(&e, "FL", private)) return read_words(d, &e, 4, true, most, out);
    if (!qb__dicom_text(d, tag, text, sizeof text)) return 0;
    return qb__read_numbers(text, '\\', most, out, NULL);
}

/* The elements after the image are read like those before it. */
qb_status qb__dicom_note(const char *path, cJSON **note) {
    enum { NOTE_MOST = 64 << 20 };
    qb__dicom d, tail;
    element own, text;
    uint64_t size = 0;
    *note = NULL;
    qb_status status = qb__dicom_open(path, &d);
    if (status == QB_OK) status = qb__file_size(path, &size);
    const uint64_t at = d.pixels + d.pixel_bytes;
    tail = (qb__dicom){.path = path, .typed = true, .bytes = (size_t)(status == QB_OK && size > at ? size - at : 0)};
    qb__dicom_close(&d);
    if (status != QB_OK || tail.bytes == 0 || tail.bytes > NOTE_MOST) return status;
    status = qb__alloc(tail.bytes + 1, 1, &tail.data);
    if (status == QB_OK) status = qb__pread_values(path, at, tail.bytes, 1, false, tail.data);
    if (status == QB_OK && find(&tail, true, 0, (uint32_t)QB__DICOM_OWN, &own) && own.bytes >= 9 &&
        memcmp(tail.data + own.at, "quickbeam", 9) == 0 && find(&tail, true, 0, (uint32_t)QB__DICOM_NOTE, &text)) {
        tail.data[text.at + text.bytes] = 0;
        status = qb__provenance_parse((char *)tail.data + text.at, note);
    }
    qb__dicom_close(&tail);
    return status;
}
