/* SPDX-License-Identifier: MIT */
/* JPEG 2000 (ISO/IEC 15444-1): files of boxes (.jp2) and bare code streams (.j2k), grey levels of 1 to 16 bits, one
 * picture per file. Of a colour picture only the first channel is read, as stored. */
#include "base/memory.h"
#include "base/status.h"
#include "io/plain/pictures.h"
#include <openjpeg.h>
#include <stdio.h>
#include <string.h>

/* A file that is being read; `why` is the first error message of the library. */
typedef struct reader {
    opj_stream_t *stream;
    opj_codec_t *codec;
    opj_image_t *image;
    char why[100];
} reader;

static void complained(const char *why, void *context) {
    reader *r = context;
    if (!*r->why) snprintf(r->why, sizeof r->why, "%.*s", (int)strcspn(why, "\n"), why);
}

static void said(const char *text, void *context) { (void)text, (void)context; }

static void finish(reader *r) {
    opj_image_destroy(r->image);
    if (r->codec) opj_destroy_codec(r->codec);
    if (r->stream) opj_stream_destroy(r->stream);
}

static qb_status broken(const char *path, const reader *r) {
    return qb__fail(QB_BAD_INPUT, "%s: its picture cannot be read: %s", path,
                    *r->why ? r->why : "it is incomplete or damaged");
}

static qb_status begin(const char *path, reader *r) {
    unsigned char head[12];
    opj_dparameters_t parameters;
    *r = (reader){.why = ""};
    QB__OR_RETURN(qb__pread_values(path, 0, sizeof head, 1, false, head));
    const bool boxes = memcmp(head, "\0\0\0\x0cjP  \r\n\x87\n", 12) == 0;
    if (!boxes && memcmp(head, "\xff\x4f\xff\x51", 4) != 0)
        return qb__fail(QB_BAD_INPUT, "%s does not begin like a picture of JPEG 2000", path);
    r->stream = opj_stream_create_default_file_stream(path, OPJ_TRUE);
    r->codec = opj_create_decompress(boxes ? OPJ_CODEC_JP2 : OPJ_CODEC_J2K);
    opj_set_default_decoder_parameters(&parameters);
    if (!r->stream || !r->codec) return qb__fail(QB_NO_MEMORY, "%s: no memory to read it", path);
    opj_set_error_handler(r->codec, complained, r);
    opj_set_warning_handler(r->codec, said, NULL);
    opj_set_info_handler(r->codec, said, NULL);
    if (!opj_setup_decoder(r->codec, &parameters) || !opj_read_header(r->stream, r->codec, &r->image) || !r->image)
        return broken(path, r);
    return QB_OK;
}

/* The numbers of the pixels of a channel that has every `step`-th pixel of first..end - 1. */
static OPJ_UINT32 channel_begin(OPJ_UINT32 first, OPJ_UINT32 step) { return (first + step - 1) / step; }

static qb_status describe(const char *path, const opj_image_t *image, qb__picture *p) {
    if (image->x1 <= image->x0 || image->y1 <= image->y0 || !image->numcomps)
        return qb__fail(QB_BAD_INPUT, "%s: a picture without pixels", path);
    const opj_image_comp_t *first = &image->comps[0];
    if (!first->dx || !first->dy || image->x1 > INT32_MAX || image->y1 > INT32_MAX)
        return qb__fail(QB_BAD_INPUT, "%s: a picture without pixels", path);
    *p = (qb__picture){channel_begin(image->x1, first->dx) - channel_begin(image->x0, first->dx),
                       channel_begin(image->y1, first->dy) - channel_begin(image->y0, first->dy),
                       image->numcomps,
                       (int)first->prec,
                       (int)image->color_space,
                       first->sgnd != 0};
    return qb__picture_check(path, p);
}

static qb_status read_head(const char *path, qb__picture *p) {
    reader r;
    qb_status status = begin(path, &r);
    if (status == QB_OK) status = describe(path, r.image, p);
    finish(&r);
    return status;
}

static void narrow(const OPJ_INT32 *from, size_t count, const qb__picture *p, void *out) {
    uint8_t *bytes = out;
    uint16_t *words = out;
    if (p->bits > 8)
        for (size_t i = 0; i < count; i++) words[i] = (uint16_t)from[i];
    else
        for (size_t i = 0; i < count; i++) bytes[i] = (uint8_t)from[i];
}

static qb_status read_picture(const char *path, const qb__picture *p, size_t row0, size_t row1, void *out) {
    reader r;
    qb__picture now = {.bits = 0};
    const size_t rows = row1 - row0;
    qb_status status = begin(path, &r);
    if (status == QB_OK) status = describe(path, r.image, &now);
    if (status == QB_OK && (now.columns != p->columns || now.rows != p->rows))
        status = qb__fail(QB_BAD_INPUT, "%s has changed since it was opened", path);
    if (status == QB_OK && rows < p->rows) {
        const size_t step = r.image->comps[0].dy, top = channel_begin(r.image->y0, (OPJ_UINT32)step);
        if (!opj_set_decode_area(r.codec, r.image, (OPJ_INT32)r.image->x0,
                                 (OPJ_INT32)qb__larger((top + row0) * step, r.image->y0), (OPJ_INT32)r.image->x1,
                                 (OPJ_INT32)qb__smaller((top + row1) * step, r.image->y1)))
            status = broken(path, &r);
    }
    if (status == QB_OK && (!opj_decode(r.codec, r.stream, r.image) || !opj_end_decompress(r.codec, r.stream)))
        status = broken(path, &r);
    if (status == QB_OK && r.image->numcomps != p->channels)
        status = qb__fail(QB_UNSUPPORTED, "%s has colours of a palette: save it as grey levels", path);
    const opj_image_comp_t *first = status == QB_OK ? &r.image->comps[0] : NULL;
    if (first && (!first->data || first->w != p->columns || first->h != rows)) status = broken(path, &r);
    if (status == QB_OK) narrow(first->data, rows * p->columns, p, out);
    finish(&r);
    return status;
}

qb_status qb__jp2_open(const char *path, const char *how, qb__source **source) {
    /* An empty block of 64 x 64 pixels needs almost no bits. So this limit rejects false headers, but not black
     * pictures. */
    static const qb__picture_kind kind = {"JPEG 2000", " .jp2 .j2k .j2c ", 1 << 22, read_head, read_picture};
    (void)how;
    return qb__pictures_open(&kind, path, source);
}
