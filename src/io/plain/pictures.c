/* SPDX-License-Identifier: MIT */
/* The part that readers of PNG and JPEG 2000 share: a folder, pattern or file of pictures of one size. Each picture is
 * unpacked as a whole. Of a colour picture only the first channel is read. */
#include "io/plain/pictures.h"

#include <stdio.h>
#include <string.h>

#include "base/share.h"
#include "base/status.h"
#include "base/warning.h"

enum { SIDE_MOST = 1000000, BITS_MOST = 16, CHANNELS_MOST = 16384 };

typedef struct pictures {
    qb__source base;
    const qb__picture_kind *kind;
    qb__notes files;
    qb__picture first;
} pictures;

static bool same(const qb__picture *a, const qb__picture *b) {
    return a->columns == b->columns && a->rows == b->rows && a->channels == b->channels && a->bits == b->bits &&
           a->how == b->how && a->negative == b->negative;
}

qb_status qb__picture_check(const char *path, const qb__picture *p) {
    if (p->columns >= 1 && p->rows >= 1 && p->columns <= SIDE_MOST && p->rows <= SIDE_MOST && p->channels >= 1 &&
        p->channels <= CHANNELS_MOST && p->bits >= 1 && p->bits <= BITS_MOST)
        return QB_OK;
    return qb__fail(QB_BAD_INPUT,
                    "%s is a picture of %zu x %zu pixels with %zu channels of %d bits; 1 to %d bits are read", path,
                    p->columns, p->rows, p->channels, p->bits, BITS_MOST);
}

typedef struct sweep {
    const pictures *p;
    const qb__region *region;
    unsigned char *out;
} sweep;

static qb_status read_one(void *context, size_t number, size_t worker) {
    (void)worker;
    const sweep *s = context;
    const qb__region *r = s->region;
    const char *path = s->p->files.text[r->first + number * r->step];
    qb__picture now;
    QB__OR_RETURN(s->p->kind->head(path, &now));
    if (!same(&now, &s->p->first)) return qb__fail(QB_BAD_INPUT, "%s has changed since it was opened", path);
    const size_t bytes = (r->row1 - r->row0) * qb__source_row_bytes(&s->p->base);
    return s->p->kind->read(path, &now, r->row0, r->row1, s->out + number * bytes);
}

static qb_status read_pictures(qb__source *source, const qb__region *region, void *out) {
    sweep s = {(const pictures *)source, region, out};
    return qb__share(source->threads, region->count, read_one, &s);
}

static void release_pictures(qb__source *source) { qb__notes_release(&((pictures *)source)->files); }

/* Checks that every file has the size and type of the first one, and is long enough for it. */
static qb_status check_files(pictures *p) {
    for (size_t i = 0; i < p->files.count; i++) {
        const char *path = p->files.text[i];
        uint64_t bytes;
        qb__picture now;
        qb_status status = p->kind->head(path, &now);
        if (status == QB_OK) status = qb__file_size(path, &bytes);
        if (status != QB_OK) return status;
        if (!i) p->first = now;
        if (!same(&now, &p->first))
            return qb__fail(QB_BAD_INPUT, "%s is a picture of %zu x %zu and %d bits, the first one %zu x %zu and %d",
                            path, now.columns, now.rows, now.bits, p->first.columns, p->first.rows, p->first.bits);
        if ((double)now.columns * (double)now.rows * now.bits > (double)bytes * p->kind->densest)
            return qb__fail(QB_BAD_INPUT, "%s: a picture of %zu x %zu cannot be packed into %llu bytes", path,
                            now.columns, now.rows, (unsigned long long)bytes);
    }
    return QB_OK;
}

static qb_dtype dtype_of(const qb__picture *p) {
    if (p->negative) return p->bits > 8 ? QB_I16 : QB_I8;
    return p->bits > 8 ? QB_U16 : QB_U8;
}

qb_status qb__pictures_open(const qb__picture_kind *kind, const char *path, qb__source **source) {
    enum { HELD = 4 }; /* bytes of one number while a picture is unpacked */
    pictures *p;
    *source = NULL;
    qb_status status = qb__source_create(sizeof *p, kind->format, path, &p);
    if (status != QB_OK) return status;
    p->kind = kind;
    p->base.read = read_pictures;
    p->base.release = release_pictures;
    QB__TRY(qb__source_files(&p->base, kind->extensions, &p->files));
    QB__TRY(check_files(p));
    p->base.dtype = dtype_of(&p->first);
    p->base.shape[0] = p->files.count, p->base.shape[1] = p->first.rows, p->base.shape[2] = p->first.columns;
    p->base.chunk[1] = p->first.rows;
    p->base.cache_each = p->first.rows * p->first.columns * p->first.channels * HELD;
    if (p->first.channels > 1 && !*p->base.trouble)
        snprintf(p->base.trouble, sizeof p->base.trouble,
                 "its images have several samples a pixel (colours): the first is taken" QB__CODE("colour-images"));
    *source = &p->base;
out:
    if (status != QB_OK) qb__source_close(&p->base);
    return status;
}
