/* SPDX-License-Identifier: MIT */
/* EDF of ESRF: frames with a header "{ Key = value ; ... }", padded with blanks to a multiple of 512 bytes, and an
 * image. Many files of one frame, one file of many, or both (as fabio and the beamlines write them). Files may be
 * compressed as a whole (.edf.gz): a single file is unpacked when it is opened, one of many each time its image is
 * read. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/share.h"
#include "base/status.h"
#include "io/formats.h"
#include "io/plain/edf_head.h"

enum { TEXT_ROOM = 2 * (QB__EDF_HEADER + 1) };

typedef struct edf {
    qb__source base;
    qb__notes files;
    qb__edf_frame *frame; /* [shape[0]] */
    size_t room;
    char *unpacked; /* the only file, unpacked; NULL: images are read from the files */
    char *general;  /* while files are opened: values of the general header; room for QB__EDF_HEADER + 1 */
    bool several;   /* several compressed files, with several images each */
} edf;

static bool is_packed(const char *path) {
    const size_t n = strlen(path);
    return n > 3 && strcasecmp(path + n - 3, ".gz") == 0;
}

/* No compression exceeds this factor. */
static size_t most_unpacked(uint64_t stored) {
    enum { RATIO = 1032, ENDS = 1 << 16 };
    return stored < SIZE_MAX / 2 / RATIO ? (size_t)stored * RATIO + ENDS : SIZE_MAX / 2;
}

/* ---- frames ---- */

static qb_status add_frame(edf *e, const qb__edf_frame *f) {
    const size_t n = e->base.shape[0];
    if (n == e->room) {
        qb__edf_frame *more;
        QB__OR_RETURN(qb__alloc(2 * n + 16, sizeof *more, &more));
        if (n) memcpy(more, e->frame, n * sizeof *more);
        qb__free(e->frame);
        e->frame = more;
        e->room = 2 * n + 16;
    }
    const qb__edf_frame *first = n ? e->frame : f;
    if (f->rows != first->rows || f->columns != first->columns || f->dtype != first->dtype)
        return qb__fail(QB_BAD_INPUT, "%s has an image of %zu x %zu %s, the first one is %zu x %zu %s",
                        e->files.text[f->file], f->columns, f->rows, qb_dtype_name(f->dtype), first->columns,
                        first->rows, qb_dtype_name(first->dtype));
    if (f->missing != first->missing && !(isnan(f->missing) && isnan(first->missing)))
        return qb__fail(
            QB_UNSUPPORTED,
            "%s states that pixels of %g have no value (Dummy), the first image %g: convert each and join the "
            "results",
            e->files.text[f->file], f->missing, first->missing);
    e->frame[e->base.shape[0]++] = *f;
    return QB_OK;
}

/* Whether further images follow the first one without a header of their own. */
static qb_status is_bare(const qb__edf_blob *from, uint64_t at, bool *bare) {
    char first = '{';
    const qb_status status = at < from->count ? qb__edf_bytes(from, at, 1, &first) : QB_OK;
    *bare = first != '{';
    return status;
}

/* The images behind a header that ends at *at, which becomes their end. */
static qb_status list_images(edf *e, const qb__edf_blob *from, const char *header, qb__edf_frame f, uint64_t most,
                             bool more, uint64_t *at) {
    size_t image, images;
    bool bare;
    QB__OR_RETURN(qb__edf_number(from->path, header, "Num_Images", 1, &images));
    QB__OR_RETURN(qb__edf_parse(from->path, header, &f));
    for (size_t i = 0; i < images; i++) {
        f.offset = *at;
        if (!qb__mul(f.rows, f.columns, qb_dtype_size(f.dtype), &image) || image > most - f.offset)
            return qb__fail(QB_BAD_INPUT, "%s is incomplete: it ends at byte %llu, within an image of %zu x %zu %s",
                            from->path, (unsigned long long)most, f.columns, f.rows, qb_dtype_name(f.dtype));
        QB__OR_RETURN(add_frame(e, &f));
        *at += image;
        if (i > 0 || images == 1) continue;
        QB__OR_RETURN(is_bare(from, *at, &bare));
        if (!more || !bare) break;
    }
    return QB_OK;
}

/* `more`: other images may follow the first one, and the end of the file is known. `text`: TEXT_ROOM bytes. */
static qb_status list_frames(edf *e, size_t file, const qb__edf_blob *from, uint64_t most, bool more, char *text) {
    const size_t before = e->base.shape[0];
    char *general = e->general;
    uint64_t at = 0;
    *general = 0;
    do {
        const bool first = at == 0;
        size_t length;
        QB__OR_RETURN(qb__edf_header(from, at, text, &length));
        if (!length) break;
        at += qb__edf_length(text, length, most - at);
        if (first && qb__edf_is_general(text)) {
            snprintf(general, QB__EDF_HEADER + 1, ";%s", text + strspn(text, " \r\n{"));
            continue;
        }
        strcat(text, general);
        QB__OR_RETURN(list_images(e, from, text, (qb__edf_frame){.file = file}, most, more, &at));
    } while ((more || e->base.shape[0] == before) && most - at >= QB__EDF_BLOCK); /* less is padding */
    return QB_OK;
}

static qb_status list_plain(edf *e, size_t file, char *text) {
    qb__edf_blob from = {.path = e->files.text[file]};
    QB__OR_RETURN(qb__file_size(from.path, &from.count));
    from.fd = open(from.path, O_RDONLY | O_CLOEXEC);
    if (from.fd < 0) return qb__fail_errno(errno, "opening", from.path);
    const qb_status status = list_frames(e, file, &from, from.count, true, text);
    close(from.fd);
    return status;
}

/* If the first of many files has one image, only the headers of the others are unpacked. */
static qb_status list_packed(edf *e, size_t file, char *text) {
    const bool alone = e->files.count == 1, whole = alone || file == 0 || e->several;
    qb__edf_blob from = {.path = e->files.text[file]};
    uint64_t stored;
    size_t count;
    char *data;
    QB__OR_RETURN(qb__file_size(from.path, &stored));
    const size_t most = most_unpacked(stored);
    QB__OR_RETURN(qb__unpack_file(from.path, 0, whole ? most : QB__EDF_HEADER, &data, &count));
    from.data = data, from.count = count;
    const qb_status status = list_frames(e, file, &from, whole ? count : most, whole, text);
    if (file == 0 && !alone) e->several = e->base.shape[0] > 1;
    if (e->several) e->base.cache_each = qb__larger(e->base.cache_each, count);
    if (alone)
        e->unpacked = data, e->base.cache = count;
    else
        qb__free(data);
    return status;
}

static qb_status list_file(edf *e, size_t file, char *text) {
    return (is_packed(e->files.text[file]) ? list_packed : list_plain)(e, file, text);
}

/* ---- reading ---- */

typedef struct sweep {
    const edf *e;
    const qb__region *region;
    char *out;
} sweep;

/* Read rows of the only image of a compressed file. */
static qb_status read_packed(const char *path, const qb__edf_frame *f, size_t image, size_t from, size_t count,
                             char *out) {
    char *data;
    size_t have;
    qb_status status = qb__unpack_file(path, 0, f->offset + image + QB__EDF_BLOCK, &data, &have);
    if (status != QB_OK) return status;
    if (have < f->offset + image)
        status = qb__fail(QB_BAD_INPUT, "%s is incomplete: unpacked it ends at byte %zu, within its image", path, have);
    else if (have == f->offset + image + QB__EDF_BLOCK)
        status = qb__fail(QB_UNSUPPORTED,
                          "%s has several images, and the first file has one: give files of equally many, or unpack it",
                          path);
    else
        memcpy(out, data + f->offset + from, count);
    qb__free(data);
    return status;
}

/* Unpack a file of several images once for all of them. */
static qb_status read_several(void *context, size_t piece, size_t worker) {
    const sweep *s = context;
    const edf *e = s->e;
    const qb__region *region = s->region;
    const size_t file = e->frame[region->first].file + piece, row = qb__source_row_bytes(&e->base);
    const size_t from = region->row0 * row, bytes = (region->row1 - region->row0) * row, image = e->base.shape[1] * row;
    const char *path = e->files.text[file];
    uint64_t end = 0;
    char *data;
    size_t have;
    (void)worker;
    for (size_t i = 0; i < region->count; i++) {
        const qb__edf_frame *f = &e->frame[region->first + i * region->step];
        if (f->file == file) end = f->offset + image;
    }
    if (!end) return QB_OK; /* the region steps over this file */
    QB__OR_RETURN(qb__unpack_file(path, 0, end, &data, &have));
    for (size_t i = 0; i < region->count && have == end; i++) {
        const qb__edf_frame *f = &e->frame[region->first + i * region->step];
        if (f->file != file) continue;
        memcpy(s->out + i * bytes, data + f->offset + from, bytes);
        if (f->swap) qb__swap_bytes(s->out + i * bytes, bytes / qb_dtype_size(f->dtype), qb_dtype_size(f->dtype));
    }
    qb__free(data);
    return have == end ? QB_OK : qb__fail(QB_BAD_INPUT, "%s has changed since it was opened", path);
}

static qb_status read_image(void *context, size_t number, size_t worker) {
    (void)worker;
    const sweep *s = context;
    const qb__edf_frame *f = &s->e->frame[s->region->first + number * s->region->step];
    const size_t row = qb__source_row_bytes(&s->e->base), bytes = (s->region->row1 - s->region->row0) * row;
    const char *path = s->e->files.text[f->file];
    const size_t size = qb_dtype_size(f->dtype), from = s->region->row0 * row;
    char *to = s->out + number * bytes;
    if (!is_packed(path)) return qb__pread_values(path, f->offset + from, bytes, size, f->swap, to);
    qb_status status = QB_OK;
    if (s->e->unpacked)
        memcpy(to, s->e->unpacked + f->offset + from, bytes);
    else
        status = read_packed(path, f, f->rows * row, from, bytes, to);
    if (status == QB_OK && f->swap) qb__swap_bytes(to, bytes / size, size);
    return status;
}

static qb_status read_edf(qb__source *source, const qb__region *region, void *out) {
    sweep s = {(const edf *)source, region, out};
    if (!s.e->several) return qb__share(source->threads, region->count, read_image, &s);
    const qb__edf_frame *first = &s.e->frame[region->first], *last = first + (region->count - 1) * region->step;
    return qb__share(source->threads, last->file - first->file + 1, read_several, &s);
}

static void release_edf(qb__source *source) {
    edf *e = (edf *)source;
    qb__notes_release(&e->files);
    QB__FREE(e->frame, e->unpacked, e->general);
}

qb_status qb__edf_open(const char *path, const char *how, qb__source **out) {
    edf *e;
    char *text = NULL;
    (void)how;
    *out = NULL;
    qb_status status = qb__source_create(sizeof *e, "EDF", path, &e);
    if (status != QB_OK) return status;
    e->base.read = read_edf;
    e->base.release = release_edf;
    QB__TRY(qb__source_files(&e->base, " .edf .edf.gz ", &e->files));
    QB__TRY(qb__alloc(TEXT_ROOM, 1, &text));
    QB__TRY(qb__alloc(QB__EDF_HEADER + 1, 1, &e->general));
    for (size_t i = 0; i < e->files.count; i++) QB__TRY(list_file(e, i, text));
    if (!e->base.shape[0]) QB__TRY(qb__fail(QB_BAD_INPUT, "%s holds no EDF image", path));
    e->base.dtype = e->frame[0].dtype;
    e->base.shape[1] = e->frame[0].rows;
    e->base.shape[2] = e->frame[0].columns;
    if (!e->unpacked && is_packed(e->files.text[0])) {
        e->base.chunk[1] = e->base.shape[1];
        if (!e->several) e->base.cache_each = e->base.shape[1] * qb__source_row_bytes(&e->base) + 2 * QB__EDF_BLOCK;
    }
    if (e->frame[0].raster != 1)
        qb__print(e->base.trouble, sizeof e->base.trouble,
                  "the images state RasterConfiguration %zu, not 1, which is not applied: --flip, --rotate" QB__CODE(
                      "image-convention"),
                  e->frame[0].raster);
    *out = &e->base;
    qb__free(text);
    return qb__source_values(out, 1, 0, e->frame[0].missing);
out:
    qb__free(text);
    if (status != QB_OK) qb__source_close(&e->base);
    return status;
}
