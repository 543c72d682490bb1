/* SPDX-License-Identifier: MIT */
/* FITS (fits.gsfc.nasa.gov, standard 4.0): cards of 80 letters in blocks of 2880 bytes, then big-endian numbers, the
 * first axis fastest. The first header with two or three axes is read; images compressed in tiles are read by cfitsio
 * (fits_packed.c). */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "io/formats.h"

enum { BLOCK = 2880, CARD = 80, BLOCKS_MOST = 4096, AXES_MOST = 8, HEADERS_MOST = 64 };

typedef struct header {
    int bits, axes;
    double size[AXES_MOST], heap; /* heap: numbers after those of the axes */
    qb__fits_meaning meaning;
    bool image, packed, ended;
} header;

static const struct {
    int bits;
    qb_dtype dtype;
} types[] = {{8, QB_U8}, {16, QB_I16}, {32, QB_I32}, {-32, QB_F32}, {-64, QB_F64}};

/* KEYWORD = value / comment */
static void set_card(header *h, const char *card) {
    char key[9] = "", value[CARD - 9] = "";
    memcpy(key, card, 8);
    for (size_t n = 8; n && key[n - 1] == ' ';) key[--n] = 0;
    memcpy(value, card + 10, CARD - 10);
    value[CARD - 10] = 0;
    if (strcmp(key, "END") == 0) h->ended = true;
    if (card[8] != '=') return;
    char *end;
    const double number = qb__strtod(value, &end);
    if (strcmp(key, "SIMPLE") == 0) h->image = true;
    if (strcmp(key, "XTENSION") == 0) h->image = strstr(value, "'IMAGE") != NULL;
    if (strcmp(key, "ZIMAGE") == 0) h->packed = true;
    if (strcmp(key, "BITPIX") == 0) h->bits = (int)number;
    if (strcmp(key, "NAXIS") == 0) h->axes = number >= 0 && number <= AXES_MOST ? (int)number : -1;
    if (strcmp(key, "PCOUNT") == 0) h->heap = number;
    if (strcmp(key, "BSCALE") == 0) h->meaning.slope = number;
    if (strcmp(key, "BZERO") == 0) h->meaning.zero = number;
    if (strcmp(key, "BLANK") == 0 && end > value) h->meaning.blank = number; /* a card may have no value */
    if (strncmp(key, "NAXIS", 5) == 0 && key[5] >= '1' && key[5] <= '0' + AXES_MOST && !key[6])
        h->size[key[5] - '1'] = number;
}

/* *at: position after the header. */
static qb_status read_header(int fd, const char *path, uint64_t *at, header *h) {
    char block[BLOCK];
    *h = (header){.meaning = {.slope = 1, .blank = NAN}};
    for (int n = 0; n < BLOCKS_MOST && !h->ended; n++, *at += BLOCK) {
        QB__OR_RETURN(qb__pread_all(fd, path, block, BLOCK, *at));
        for (int i = 0; i < BLOCK / CARD && !h->ended; i++) set_card(h, block + i * CARD);
    }
    return h->ended ? QB_OK : qb__fail(QB_BAD_INPUT, "%s: its FITS header has no END: it is incomplete", path);
}

/* Bytes of the data, and whether they are images; false for impossible numbers. */
static bool measure(const header *h, size_t size[3], uint64_t *bytes) {
    size_t all = h->axes > 0;
    *bytes = 0;
    if (h->axes < 0 || !h->bits || abs(h->bits) > 64) return false;
    for (int i = 0; i < h->axes; i++) {
        if (!(h->size[i] >= 0 && h->size[i] < 1e12)) return false;
        if (!qb__mul(all, (size_t)h->size[i], 1, &all)) return false;
        if (i < 3) size[2 - i] = (size_t)h->size[i];
    }
    for (int i = h->axes; i < 3; i++) size[2 - i] = 1;
    if (!(h->heap >= 0 && h->heap < 1e15)) return false;
    all += (size_t)h->heap;
    if (!qb__mul(all, (size_t)abs(h->bits) / 8, 1, &all) || all > (size_t)1 << 60) return false;
    *bytes = qb__round_up(all, BLOCK);
    return true;
}

static bool holds_images(const header *h) {
    bool flat = h->image && h->axes >= 2;
    for (int i = 3; i < h->axes; i++) flat = flat && h->size[i] == 1;
    return flat;
}

/* *packed: there are only compressed images. */
static qb_status find(int fd, const char *path, header *h, qb__plain *plain, bool *packed) {
    uint64_t at = 0, bytes, have;
    *packed = false;
    qb_status status = qb__file_size(path, &have);
    for (int n = 0; n < HEADERS_MOST && status == QB_OK && at < have; n++) {
        status = read_header(fd, path, &at, h);
        if (status != QB_OK) break;
        if (n == 0 && !h->image) return qb__fail(QB_BAD_INPUT, "%s does not begin like a FITS file", path);
        if (!measure(h, plain->shape, &bytes))
            return qb__fail(QB_BAD_INPUT, "%s: its FITS header states BITPIX %d and %d axes, which is not possible",
                            path, h->bits, h->axes);
        *packed = *packed || h->packed;
        plain->offset = at;
        if (holds_images(h)) return *packed = false, QB_OK;
        at += bytes;
    }
    if (status != QB_OK) return status;
    if (*packed) return QB_OK;
    return qb__fail(QB_UNSUPPORTED, "%s holds no images of two or three axes", path);
}

qb_status qb__fits_open(const char *path, const char *how, qb__source **source) {
    header h;
    qb__plain plain = {.format = "FITS", .swap = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__};
    size_t known = 0;
    bool packed;
    (void)how;
    *source = NULL;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return qb__fail_errno(errno, "opening", path);
    qb_status status = find(fd, path, &h, &plain, &packed);
    close(fd);
    if (status == QB_OK && packed) status = qb__fits_packed_open(path, source, &h.meaning);
    if (status != QB_OK) return status;
    if (packed) return qb__source_values(source, h.meaning.slope, h.meaning.zero, h.meaning.blank);
    while (known < sizeof types / sizeof *types && types[known].bits != h.bits) known++;
    if (known == sizeof types / sizeof *types)
        return qb__fail(QB_UNSUPPORTED, "%s: BITPIX %d is none of 8 16 32 -32 -64", path, h.bits);
    plain.dtype = types[known].dtype;
    status = qb__plain_open(path, &plain, source);
    return status == QB_OK
               ? qb__source_values(source, h.meaning.slope, h.meaning.zero, h.bits > 0 ? h.meaning.blank : NAN)
               : status;
}
