/* SPDX-License-Identifier: MIT */
/* PNG: grey levels of 1 to 16 bits, one image a file. Of colours the first channel is read. The numbers are those of the file: neither
 * gamma nor transparency is applied. */
#include "base/status.h"
#include "io/formats.h"
#ifdef QB_HAVE_PNG
#include <errno.h>
#include <fcntl.h>
#include <png.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/share.h"
#include "base/warning.h"

enum { HEAD = 33, SIDE_MOST = 1000000 };

/* What the first chunk of a file says. */
typedef struct head {
    size_t columns, rows, channels;
    int bits, laced; /* laced: rows come in seven passes */
} head;

typedef struct png {
    qb__source base;
    qb__notes files;
    head first;
} png;

static uint32_t word(const unsigned char *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static qb_status read_head(const char *path, head *h) {
    static const size_t channels[] = {1, 0, 3, 0, 2, 0, 4};
    enum { PALETTE = 3 };
    unsigned char d[HEAD];
    const qb_status status = qb__pread_values(path, 0, HEAD, 1, false, d);
    if (status != QB_OK) return status;
    if (memcmp(d, "\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16) != 0)
        return qb__fail(QB_BAD_INPUT, "%s does not begin like a PNG picture", path);
    *h = (head){word(d + 16), word(d + 20), d[25] < 7 ? channels[d[25]] : 0, d[24], d[28] == 1};
    if (d[25] == PALETTE) return qb__fail(QB_UNSUPPORTED, "%s has colours of a palette: save it as grey levels", path);
    if (h->columns < 1 || h->rows < 1 || h->columns > SIDE_MOST || h->rows > SIDE_MOST || !h->channels || h->bits < 1 ||
        h->bits > 16)
        return qb__fail(QB_BAD_INPUT, "%s: a picture of %zu x %zu, %d bits and colour type %d", path, h->columns,
                        h->rows, h->bits, d[25]);
    return QB_OK;
}

/* ---- reading ---- */

/* Of libpng's callbacks: what went wrong, in its words. */
typedef struct trial {
    char why[80];
} trial;

static void failed(png_structp reader, png_const_charp why) {
    trial *t = png_get_error_ptr(reader);
    snprintf(t->why, sizeof t->why, "%s", why);
    png_longjmp(reader, 1);
}

static void warned(png_structp reader, png_const_charp why) { (void)reader, (void)why; }

/* Rows up to row1, or all of them, each `stride` bytes. False: they cannot be read, as `why` says. */
static bool decode(FILE *file, const head *h, size_t row1, size_t stride, unsigned char *rows, trial *t) {
    png_infop info = NULL;
    png_structp reader = png_create_read_struct(PNG_LIBPNG_VER_STRING, t, failed, warned);
    if (!reader) return false;
    if (setjmp(png_jmpbuf(reader))) {
        png_destroy_read_struct(&reader, &info, NULL);
        return false;
    }
    info = png_create_info_struct(reader);
    if (!info) png_error(reader, "no memory");
    png_set_user_limits(reader, SIDE_MOST, SIDE_MOST);
    png_init_io(reader, file);
    png_read_info(reader, info);
    if (h->bits < 8) png_set_packing(reader);
    if (h->bits == 16 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) png_set_swap(reader);
    const int passes = png_set_interlace_handling(reader);
    png_read_update_info(reader, info);
    if (png_get_rowbytes(reader, info) != stride) png_error(reader, "it has changed");
    for (int pass = 0; pass < passes; pass++)
        for (size_t r = 0; r < (passes > 1 ? h->rows : row1); r++) png_read_row(reader, rows + r * stride, NULL);
    png_destroy_read_struct(&reader, &info, NULL);
    return true;
}

static void take_first(const head *h, size_t size, size_t pixels, const unsigned char *from, unsigned char *to) {
    for (size_t i = 0; i < pixels; i++) memcpy(to + i * size, from + i * size * h->channels, size);
}

typedef struct sweep {
    const png *p;
    const qb__region *region;
    unsigned char *out;
} sweep;

static qb_status read_image(void *context, size_t number, size_t worker) {
    (void)worker;
    const sweep *s = context;
    const qb__region *r = s->region;
    const char *path = s->p->files.text[r->first + number * r->step];
    const size_t size = qb_dtype_size(s->p->base.dtype), columns = s->p->base.shape[2];
    trial t = {"no memory"};
    unsigned char *rows = NULL;
    head h;
    qb_status status = read_head(path, &h);
    if (status == QB_OK && memcmp(&h, &s->p->first, sizeof h) != 0)
        status = qb__fail(QB_BAD_INPUT, "%s has changed since it was opened", path);
    const size_t stride = columns * size * s->p->first.channels;
    if (status == QB_OK) status = qb__alloc(s->p->first.laced ? h.rows : r->row1, stride, &rows);
    if (status != QB_OK) return status;
    FILE *file = fopen(path, "rbe");
    if (!file)
        status = qb__fail_errno(errno, "opening", path);
    else if (!decode(file, &h, r->row1, stride, rows, &t))
        status = qb__fail(QB_BAD_INPUT, "%s: its picture cannot be read: %s", path, t.why);
    if (file) fclose(file);
    const size_t pixels = (r->row1 - r->row0) * columns;
    if (status == QB_OK) take_first(&h, size, pixels, rows + r->row0 * stride, s->out + number * pixels * size);
    qb__free(rows);
    return status;
}

static qb_status read_png(qb__source *source, const qb__region *region, void *out) {
    sweep s = {(const png *)source, region, out};
    return qb__share(source->threads, region->count, read_image, &s);
}

static void release_png(qb__source *source) { qb__notes_release(&((png *)source)->files); }

/* All files have the first one's size and type, and enough bytes for it. */
static qb_status check_files(png *p) {
    enum { RATIO = 1032 }; /* no compression does better */
    for (size_t i = 0; i < p->files.count; i++) {
        const char *path = p->files.text[i];
        uint64_t bytes;
        head h;
        qb_status status = read_head(path, &h);
        if (status == QB_OK) status = qb__file_size(path, &bytes);
        if (status != QB_OK) return status;
        if (!i) p->first = h;
        if (memcmp(&h, &p->first, sizeof h) != 0)
            return qb__fail(QB_BAD_INPUT, "%s is a picture of %zu x %zu and %d bits, the first one %zu x %zu and %d",
                            path, h.columns, h.rows, h.bits, p->first.columns, p->first.rows, p->first.bits);
        if ((double)h.columns * (double)h.rows * h.bits / 8 > (double)bytes * RATIO)
            return qb__fail(QB_BAD_INPUT, "%s: a picture of %zu x %zu cannot be packed into %llu bytes", path,
                            h.columns, h.rows, (unsigned long long)bytes);
    }
    return QB_OK;
}

qb_status qb__png_open(const char *path, const char *how, qb__source **source) {
    png *p;
    (void)how;
    *source = NULL;
    qb_status status = qb__source_create(sizeof *p, "PNG", path, &p);
    if (status != QB_OK) return status;
    p->base.read = read_png;
    p->base.release = release_png;
    QB__TRY(qb__source_files(&p->base, " .png ", &p->files));
    QB__TRY(check_files(p));
    p->base.dtype = p->first.bits == 16 ? QB_U16 : QB_U8;
    p->base.shape[0] = p->files.count, p->base.shape[1] = p->first.rows, p->base.shape[2] = p->first.columns;
    p->base.chunk[1] = p->first.rows;
    p->base.cache_each = p->first.rows * p->first.columns * p->first.channels * 2;
    if (p->first.channels > 1 && !*p->base.trouble)
        snprintf(p->base.trouble, sizeof p->base.trouble,
                 "its images have several samples a pixel (colours): the first is taken" QB__CODE("colour-images"));
    *source = &p->base;
out:
    if (status != QB_OK) qb__source_close(&p->base);
    return status;
}
#else
typedef int qb__no_png;
#endif
