/* SPDX-License-Identifier: MIT */
/* Tilt angles in the extended header of an MRC file, a record for each image. SerialEM: its flags say which numbers of
 * 16 bits there are, the angle in hundredths of a degree first. FEI and Agard: integers, then reals, the angle first. FEI
 * since 2014 (FEI1, FEI2): a record tells its length, and has the angle at byte 100. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/formats.h"
#include "io/geometry/unit_words.h"
#include "io/plain/mrc.h"

enum { EXTENDED = 92, TYPE = 104, INTEGERS = 128, REALS = 130, MOST = 64 << 20 };
typedef enum record { NONE, SERIAL, REAL, FEI } record;
static const size_t angle_bytes[] = {[SERIAL] = 2, [REAL] = 4, [FEI] = 8};

static int number_at(const unsigned char *at, size_t bytes) {
    uint32_t value = 0;
    for (size_t i = bytes; i-- > 0;) value = value << 8 | at[i];
    return bytes == 2 ? (int16_t)value : (int32_t)value;
}

/* The kind of the records, their length, and where the angle is in them. */
static record kind_of(const unsigned char *head, const unsigned char *first, size_t *length, size_t *at) {
    static const int bytes[] = {2, 6, 4, 2, 2, 4, 2, 4, 2, 4, 2};
    const int integers = number_at(head + INTEGERS, 2), reals = number_at(head + REALS, 2);
    int sum = 0;
    *at = 0;
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) sum += reals >> i & 1 ? bytes[i] : 0;
    if (memcmp(head + TYPE, "FEI", 3) == 0 && (head[TYPE + 3] == '1' || head[TYPE + 3] == '2')) {
        const int own = number_at(first, 4);
        *length = own > 0 ? (size_t)own : 0;
        *at = 100;
        return own >= 108 ? FEI : NONE;
    }
    if (integers < 0 || reals <= 0) return NONE;
    if (memcmp(head + TYPE, "SERI", 4) == 0 || (integers > 0 && sum == integers && reals < 2048)) {
        *length = (size_t)integers;
        return reals & 1 && integers >= 2 ? SERIAL : NONE;
    }
    *length = 4 * ((size_t)integers + (size_t)reals);
    *at = 4 * (size_t)integers;
    return REAL;
}

static double degrees_at(record kind, const unsigned char *at) {
    float real;
    double wide;
    memcpy(&real, at, sizeof real);
    if (kind == REAL) return (double)real;
    if (kind == SERIAL) return 0.01 * number_at(at, 2);
    memcpy(&wide, at, sizeof wide);
    return wide;
}

/* Angles that are all the same, or none that turn an object, are unset. */
static bool take(record kind, const unsigned char *records, size_t length, size_t at, qb__scan_parts *parts) {
    const size_t count = parts->data.count;
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < count; i++) {
        const double degrees = degrees_at(kind, records + i * length + at);
        if (!(fabs(degrees) <= 360)) return false;
        parts->angles[i] = degrees * qb__angle_unit("degrees");
        low = fmin(low, degrees), high = fmax(high, degrees);
    }
    return high - low > 0.01;
}

static qb_status read_tilts(const char *path, qb__scan_parts *parts) {
    unsigned char head[QB__MRC_HEADER], *records = NULL;
    size_t length, at;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return qb__fail_errno(errno, "opening", path);
    qb_status status = qb__pread_all(fd, path, head, sizeof head, 0);
    const int extended = number_at(head + EXTENDED, 4);
    if (status == QB_OK && extended >= 4 && extended <= MOST) {
        QB__TRY(qb__alloc((size_t)extended, 1, &records));
        QB__TRY(qb__pread_all(fd, path, records, (size_t)extended, QB__MRC_HEADER));
        const record kind = kind_of(head, records, &length, &at);
        if (kind == NONE || at + angle_bytes[kind] > length || length > (size_t)extended / parts->data.count) goto out;
        QB__TRY(qb__alloc(parts->data.count, sizeof *parts->angles, &parts->angles));
        if (take(kind, records, length, at, parts)) {
            parts->angle_count = parts->data.count;
            parts->angle_unit = qb__angle_unit("degrees");
            snprintf(parts->angles_from, sizeof parts->angles_from, "the extended header");
        } else {
            qb__free(parts->angles);
            parts->angles = NULL;
        }
    }
out:
    qb__free(records);
    close(fd);
    return status;
}

qb_status qb__mrc_scan(const char *path, const qb_scan_options *options, qb__scan_parts *parts) {
    const qb_status status = qb__sidecar_scan(path, options, parts);
    if (status != QB_OK || parts->angles || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__) return status;
    return parts->data.count ? read_tilts(path, parts) : QB_OK;
}
