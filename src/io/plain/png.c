/* SPDX-License-Identifier: MIT */
/* PNG: grey levels of 1 to 16 bits, one image per file. Of a colour image only the first channel is read. The numbers
 * are those of the file: neither gamma nor transparency is applied. */
#include "base/status.h"
#include "io/plain/pictures.h"
#include <errno.h>
#include <fcntl.h>
#include <png.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"

enum { HEAD = 33 };

static uint32_t word(const unsigned char *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Reads the first chunk of a file. picture->how: the picture is interlaced, its rows come in seven passes. */
static qb_status read_head(const char *path, qb__picture *h) {
    static const size_t channels[] = {1, 0, 3, 0, 2, 0, 4};
    enum { PALETTE = 3 };
    unsigned char d[HEAD];
    QB__OR_RETURN(qb__pread_values(path, 0, HEAD, 1, false, d));
    if (memcmp(d, "\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16) != 0)
        return qb__fail(QB_BAD_INPUT, "%s does not begin like a PNG picture", path);
    *h = (qb__picture){word(d + 16), word(d + 20), d[25] < 7 ? channels[d[25]] : 0, d[24], d[28] == 1, false};
    if (d[25] == PALETTE) return qb__fail(QB_UNSUPPORTED, "%s has colours of a palette: save it as grey levels", path);
    if (!h->channels)
        return qb__fail(QB_BAD_INPUT, "%s has the colour type %d, which is not read: save it as grey levels", path,
                        d[25]);
    return qb__picture_check(path, h);
}

/* ---- reading ---- */

/* Receives the error messages of libpng in its callbacks. */
typedef struct trial {
    char why[80];
} trial;

static void failed(png_structp reader, png_const_charp why) {
    trial *t = png_get_error_ptr(reader);
    snprintf(t->why, sizeof t->why, "%s", why);
    png_longjmp(reader, 1);
}

static void warned(png_structp reader, png_const_charp why) { (void)reader, (void)why; }

/* Unpacks the rows up to row1, or all if interlaced, each `stride` bytes long. False: they cannot be read; `why` gives
 * the reason. */
static bool decode(FILE *file, const qb__picture *h, size_t row1, size_t stride, unsigned char *rows, trial *t) {
    png_infop info = NULL;
    png_structp reader = png_create_read_struct(PNG_LIBPNG_VER_STRING, t, failed, warned);
    if (!reader) return false;
    if (setjmp(png_jmpbuf(reader))) {
        png_destroy_read_struct(&reader, &info, NULL);
        return false;
    }
    info = png_create_info_struct(reader);
    if (!info) png_error(reader, "no memory");
    png_set_user_limits(reader, (png_uint_32)h->columns, (png_uint_32)h->rows);
    png_init_io(reader, file);
    png_read_info(reader, info);
    if (h->bits < 8) png_set_packing(reader);
    if (h->bits == 16 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) png_set_swap(reader);
    const int passes = png_set_interlace_handling(reader);
    png_read_update_info(reader, info);
    if (png_get_rowbytes(reader, info) != stride) png_error(reader, "it has changed");
    for (int pass = 0; pass < passes; pass++)
        for (size_t r = 0; r < (h->how ? h->rows : row1); r++) png_read_row(reader, rows + r * stride, NULL);
    png_destroy_read_struct(&reader, &info, NULL);
    return true;
}

static qb_status read_picture(const char *path, const qb__picture *h, size_t row0, size_t row1, void *out) {
    const size_t size = h->bits > 8 ? 2 : 1, pixel = size * h->channels, stride = h->columns * pixel;
    trial t = {"no memory"};
    unsigned char *rows = NULL;
    qb_status status = qb__alloc(h->how ? h->rows : row1, stride, &rows);
    if (status != QB_OK) return status;
    FILE *file = fopen(path, "rbe");
    if (!file)
        status = qb__fail_errno(errno, "opening", path);
    else if (!decode(file, h, row1, stride, rows, &t))
        status = qb__fail(QB_BAD_INPUT, "%s: its picture cannot be read: %s", path, t.why);
    if (file) fclose(file);
    const unsigned char *from = rows + row0 * stride;
    for (size_t i = 0; status == QB_OK && i < (row1 - row0) * h->columns; i++)
        memcpy((unsigned char *)out + i * size, from + i * pixel, size);
    qb__free(rows);
    return status;
}

qb_status qb__png_open(const char *path, const char *how, qb__source **source) {
    static const qb__picture_kind png = {"PNG", " .png ", 8 * 1032.0 /* largest compression ratio of deflate */,
                                         read_head, read_picture};
    (void)how;
    return qb__pictures_open(&png, path, source);
}
