/* SPDX-License-Identifier: MIT */
/* VMS.XI: sizes, the image, a histogram, and named properties {length, name, type, value}. 32-bit numbers and doubles,
 * little-endian. */
#include "io/vendor/frame_files.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"

enum { HEADER = 32, MOST_SIDE = 1 << 16, MOST_TAIL = 16 << 20 };
enum { INT = 0, DOUBLE = 1, TEXT = 2, DOUBLES = 4, INTS = 5 };

/* Position in the file of the next number. */
typedef struct cursor {
    const char *path;
    int fd;
    uint64_t at, size;
} cursor;

static uint32_t word(const unsigned char *at) {
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* The length of what follows, which must lie in the file. */
static qb_status take_length(cursor *c, const char *what, uint64_t *length) {
    unsigned char raw[4];
    QB__OR_RETURN(qb__pread_all(c->fd, c->path, raw, 4, c->at));
    c->at += 4;
    *length = word(raw);
    if (*length <= c->size - c->at) return QB_OK;
    return qb__fail(QB_BAD_INPUT, "%s: %s of %llu bytes from byte %llu on does not fit in its %llu bytes", c->path,
                    what, (unsigned long long)*length, (unsigned long long)c->at, (unsigned long long)c->size);
}

static qb_status take_packed(cursor *c, qb__frame_head *head) {
    QB__OR_RETURN(take_length(c, "a table", &head->table_bytes));
    head->table = c->at;
    c->at += head->table_bytes;
    QB__OR_RETURN(take_length(c, "a packed image", &head->bytes));
    head->at = c->at;
    c->at += head->bytes;
    if (!head->bytes) return qb__fail(QB_BAD_INPUT, "%s: its packed image has no bytes", c->path);
    head->dtype = QB_I32;
    c->at += 4; /* skip the unpacked size */
    return QB_OK;
}

static qb_status take_plain(cursor *c, unsigned bytes, qb__frame_head *head) {
    static const qb_dtype types[] = {[1] = QB_U8, [2] = QB_U16, [4] = QB_I32};
    uint64_t length;
    QB__OR_RETURN(take_length(c, "an image", &length));
    if (bytes != 1 && bytes != 2 && bytes != 4)
        return qb__fail(QB_UNSUPPORTED, "%s has %u bytes a pixel", c->path, bytes);
    head->dtype = types[bytes];
    head->at = c->at;
    c->at += length;
    return QB_OK;
}

/* Store the value of a property with this name, if it is needed. */
static void keep(const unsigned char *name, size_t length, double value, qb__frame_head *head) {
    const double CM = 10;
    const struct {
        const char *name;
        double *to, scale, plus;
    } wanted[] = {{"KVSourceRtn", &head->angle, -1, 180},     {"KVDetectorLat", &head->offset[0], CM, 0},
                  {"KVDetectorLng", &head->offset[1], CM, 0}, {"PixelWidth", &head->pixel[0], CM, 0},
                  {"PixelHeight", &head->pixel[1], CM, 0},    {"KVNormChamber", &head->chamber, 1, 0}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (strlen(wanted[i].name) == length && memcmp(wanted[i].name, name, length) == 0)
            *wanted[i].to = wanted[i].plus + wanted[i].scale * value;
}

/* Bytes of one property, or 0 if it is damaged. */
static size_t take_property(const unsigned char *at, size_t left, qb__frame_head *head) {
    if (left < 8) return 0;
    const size_t length = word(at);
    if (length > left - 8) return 0;
    const unsigned char *name = at + 4, *value = name + length + 4;
    const uint32_t type = word(name + length);
    const size_t used = length + 8;
    double number;
    if (type == INT) return left - used < 4 ? 0 : (keep(name, length, (int32_t)word(value), head), used + 4);
    if (type == DOUBLE) {
        if (left - used < 8) return 0;
        memcpy(&number, value, 8);
        keep(name, length, number, head);
        return used + 8;
    }
    if ((type != TEXT && type != DOUBLES && type != INTS) || left - used < 4 || word(value) > left - used - 4) return 0;
    return used + 4 + word(value);
}

static qb_status take_properties(cursor *c, qb__frame_head *head) {
    unsigned char *tail = NULL;
    uint64_t bins;
    qb_status status;
    QB__TRY(take_length(c, "a histogram", &bins));
    if (bins * 4 > c->size - c->at)
        QB__TRY(qb__fail(QB_BAD_INPUT, "%s: a histogram of %llu bins does not fit in its %llu bytes", c->path,
                         (unsigned long long)bins, (unsigned long long)c->size));
    c->at += bins * 4;
    const size_t bytes = (size_t)(c->size - c->at < MOST_TAIL ? c->size - c->at : MOST_TAIL);
    QB__TRY(qb__alloc(bytes + 4, 1, &tail));
    QB__TRY(qb__pread_all(c->fd, c->path, tail, bytes, c->at));
    size_t at = 4, used = 1;
    for (uint32_t left = bytes < 4 ? 0 : word(tail); left > 0 && used; left--) {
        used = take_property(tail + at, bytes - at, head);
        at += used;
    }
    if (!used) status = qb__fail(QB_BAD_INPUT, "%s: its properties are damaged or incomplete", c->path);
out:
    qb__free(tail);
    return status;
}

qb_status qb__xim_head(const char *path, int fd, uint64_t size, qb__frame_head *head) {
    unsigned char h[HEADER];
    cursor c = {path, fd, HEADER, size};
    qb_status status;
    QB__TRY(qb__pread_all(fd, path, h, sizeof h, 0));
    if (memcmp(h, "VMS.XI", 6) != 0)
        QB__TRY(qb__fail(QB_BAD_INPUT, "%s is not a .xim file of Varian: its first bytes are not VMS.XI", path));
    head->columns = word(h + 12), head->rows = word(h + 16);
    if (head->columns > MOST_SIDE || head->rows > MOST_SIDE) {
        status =
            qb__fail(QB_BAD_INPUT, "%s: an image of %zu x %zu pixels is not possible", path, head->columns, head->rows);
        goto out;
    }
    if (!head->columns || !head->rows) goto out; /* the machine writes such files between views */
    head->count = 1;
    QB__TRY(word(h + 28) ? take_packed(&c, head) : take_plain(&c, word(h + 24), head));
    QB__TRY(take_properties(&c, head));
out:
    return status;
}
