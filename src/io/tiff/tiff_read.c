/* SPDX-License-Identifier: MIT */
#include "io/tiff/tiff_read.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/share.h"
#include "base/status.h"
#include "base/warning.h"
#include "io/formats.h"
#include "io/text.h"

typedef struct tiff_source {
    qb__source base;
    qb__notes files;
    qb__tiff_image *images;
    size_t count, room;
    size_t empty; /* files of 0 bytes, each of which stands for an image that was not written */
    bool packed;  /* at least one image is not contiguous */
    qb__tiff_meaning meaning;
    uint32_t stated; /* file that states it */
} tiff_source;

/* Read rows of an image that is contiguous in its file. */
static qb_status read_direct(const tiff_source *tiff, const qb__tiff_image *image, int fd, size_t row0, size_t row1,
                             void *out) {
    size_t row = qb__source_row_bytes(&tiff->base), bytes = (row1 - row0) * row;
    const char *name = tiff->files.text[image->file];
    qb_status status = qb__pread_all(fd, name, out, bytes, image->data + row0 * row);
    size_t size = qb_dtype_size(tiff->base.dtype);
    if (status == QB_OK && image->swap) qb__swap_bytes(out, bytes / size, size);
    return status;
}

/* The file that is open now. It stays open for consecutive images. */
typedef struct open_file {
    uint32_t file;
    int fd;
    TIFF *tiff;
} open_file;

static void close_file(open_file *open) {
    if (open->fd >= 0) close(open->fd);
    if (open->tiff) TIFFClose(open->tiff);
    *open = (open_file){UINT32_MAX, -1, NULL};
}

static qb_status read_image(const tiff_source *tiff, const qb__tiff_image *image, open_file *file,
                            const qb__region *region, void *out) {
    const char *name = tiff->files.text[image->file];
    qb_status status;
    if (file->file != image->file) close_file(file);
    file->file = image->file;
    if (image->data) {
        if (file->fd < 0) file->fd = open(name, O_RDONLY | O_CLOEXEC);
        if (file->fd < 0) return qb__fail_errno(errno, "opening", name);
        return read_direct(tiff, image, file->fd, region->row0, region->row1, out);
    }
    if (!file->tiff) {
        file->tiff = qb__tiff_handle(name, &status);
        if (!file->tiff) return status;
    }
    if (TIFFCurrentDirOffset(file->tiff) != image->directory && !TIFFSetSubDirectory(file->tiff, image->directory))
        return qb__fail(QB_BAD_INPUT, "%s: no image at byte %llu", name, (unsigned long long)image->directory);
    uint32_t width = 0, height = 0;
    TIFFGetField(file->tiff, TIFFTAG_IMAGEWIDTH, &width);
    TIFFGetField(file->tiff, TIFFTAG_IMAGELENGTH, &height);
    if (width != tiff->base.shape[2] || height != tiff->base.shape[1])
        return qb__fail(QB_BAD_INPUT, "%s has become %u x %u since it was opened", name, height, width);
    return qb__tiff_decode(file->tiff, name, region->row0, region->row1, out);
}

/* One read(), divided into pieces of images. */
typedef struct sweep {
    const tiff_source *tiff;
    const qb__region *region;
    char *out;
    size_t part, images; /* bytes of one image's rows; images of a piece */
} sweep;

static qb_status read_piece(void *context, size_t piece, size_t worker) {
    (void)worker;
    const sweep *s = context;
    const qb__region *region = s->region;
    const size_t first = piece * s->images, end = qb__smaller(first + s->images, region->count);
    open_file file = {UINT32_MAX, -1, NULL};
    qb_status status = QB_OK;
    errno = 0;
    for (size_t i = first; i < end && status == QB_OK; i++)
        status = read_image(s->tiff, &s->tiff->images[region->first + i * region->step], &file, region,
                            s->out + i * s->part);
    close_file(&file);
    return qb__tiff_judge(status, s->tiff->base.path);
}

/* Pieces of packed images may be smaller, because unpacking takes longer. */
static qb_status read_tiff(qb__source *source, const qb__region *region, void *out) {
    const tiff_source *tiff = (tiff_source *)source;
    sweep s = {tiff, region, out, (region->row1 - region->row0) * qb__source_row_bytes(source), 0};
    size_t least = tiff->packed ? QB__PIECE_LEAST / 8 : QB__PIECE_LEAST;
    if (!region->count || !s.part) return QB_OK;
    s.images = qb__ceil_div(region->count, qb__pieces(source->threads, region->count * s.part, least));
    return qb__share(source->threads, qb__ceil_div(region->count, s.images), read_piece, &s);
}

static void release_tiff(qb__source *source) {
    tiff_source *tiff = (tiff_source *)source;
    qb__notes_release(&tiff->files);
    qb__free(tiff->images);
}

static qb_status add_image(tiff_source *tiff, const qb__tiff_image *image) {
    if (tiff->count == tiff->room) {
        qb__tiff_image *wider;
        size_t room = tiff->room * 2 + tiff->files.count;
        QB__OR_RETURN(qb__alloc(room, sizeof *wider, &wider));
        if (tiff->count) memcpy(wider, tiff->images, tiff->count * sizeof *wider);
        qb__free(tiff->images);
        tiff->images = wider;
        tiff->room = room;
    }
    tiff->images[tiff->count++] = *image;
    return QB_OK;
}

static qb_status agree(tiff_source *tiff, const char *name, const qb__tiff_shape *shape) {
    qb__source *base = &tiff->base;
    if (base->shape[2] == 0) { /* this is the first image */
        base->dtype = shape->dtype;
        base->shape[1] = shape->rows;
        base->shape[2] = shape->columns;
        base->chunk[1] = shape->piece;
        return QB_OK;
    }
    if (shape->piece > base->chunk[1]) base->chunk[1] = shape->piece;
    if (shape->rows == base->shape[1] && shape->columns == base->shape[2] && shape->dtype == base->dtype) return QB_OK;
    return qb__fail(QB_BAD_INPUT, "%s is %zu x %zu %s, the images before it %zu x %zu %s", name, shape->rows,
                    shape->columns, qb_dtype_name(shape->dtype), base->shape[1], base->shape[2],
                    qb_dtype_name(base->dtype));
}

/* The number of pixels without a value, as GDAL states it, in text. */
static double missing_of(TIFF *handle) {
    enum { GDAL_NODATA = 42113, MOST = 63 };
    uint32_t count = 0;
    const char *text = NULL;
    char number[MOST + 1] = "", *end = number;
    if (TIFFGetField(handle, GDAL_NODATA, &count, &text) && text)
        snprintf(number, sizeof number, "%.*s", (int)qb__smaller(count, MOST), text);
    const double value = qb__strtod(number, &end);
    return end > number ? value : NAN;
}

/* Read the "key=value" lines after the word quickbeam in our own files; in files of other programs, only the sizes of
 * voxels. */
static void read_description(TIFF *handle, qb__source *source, qb__tiff_meaning *meaning) {
    char *whole = NULL;
    if (!TIFFGetField(handle, TIFFTAG_IMAGEDESCRIPTION, &whole) || !whole) return;
    const char *text = qb__tiff_ours(whole);
    if (!text) {
        float per_unit[2] = {0, 0};
        TIFFGetField(handle, TIFFTAG_XRESOLUTION, &per_unit[0]);
        TIFFGetField(handle, TIFFTAG_YRESOLUTION, &per_unit[1]);
        qb__tiff_voxel(whole, per_unit, source->voxel);
        if (source->voxel[2] > 0) qb__source_is_volume(source); /* slices have a distance, views have none */
        if (!qb_dtype_is_float(source->dtype)) qb__tiff_calibration(whole, &meaning->slope, &meaning->offset);
        const unsigned long channels = qb__tiff_channels(whole);
        if (channels > 1)
            snprintf(source->trouble, sizeof source->trouble,
                     "the stack has %lu channels, whose images alternate: all are taken; save one channel" QB__CODE(
                         "image-channels"),
                     channels);
        return;
    }
    const char *quantity = strstr(text, "\nquantity="), *voxel = strstr(text, "\nvoxel_mm=");
    const char *beam = strstr(text, "\nbeam="), *units = strstr(text, "\nunits=");
    char name[16];
    if (beam && sscanf(beam, "\nbeam=%15s", name) == 1) source->beam = qb__beam_named(name);
    if (quantity) sscanf(quantity, "\nquantity=%23[^\n]", source->quantity);
    if (units) sscanf(units, "\nunits=%23[^\n]", source->units);
    const char *offset = strstr(text, "\noffset_mm="), *scale = strstr(text, "\nscale=");
    if (voxel) qb__read_numbers(voxel + strlen("\nvoxel_mm="), ',', 3, source->voxel, NULL);
    if (offset) qb__read_numbers(offset + strlen("\noffset_mm="), ',', 3, source->offset, NULL);
    if (scale) qb__read_numbers(scale + strlen("\nscale="), ',', 2, source->scale, NULL);
}

/* Numbers of the first image of a file mean the same as those of the first file. */
static qb_status agree_on_meaning(tiff_source *tiff, TIFF *handle, uint32_t file) {
    const bool first = tiff->count == tiff->empty;
    qb__source *scratch = &tiff->base, *own = NULL;
    qb__tiff_meaning meaning = {.slope = 1, .missing = missing_of(handle)};
    qb_status status = first ? QB_OK : qb__source_create(sizeof *own, "TIFF", tiff->files.text[file], &own);
    if (status != QB_OK) return status;
    if (own) own->dtype = tiff->base.dtype, scratch = own;
    read_description(handle, scratch, &meaning);
    memcpy(meaning.scale, scratch->scale, sizeof meaning.scale);
    if (first)
        tiff->meaning = meaning, tiff->stated = file;
    else
        status = qb__tiff_agree(&tiff->meaning, tiff->files.text[tiff->stated], &meaning, tiff->files.text[file]);
    qb__source_close(own);
    return status;
}

/* Add the images of an ImageJ stack beyond 4 GB: it has one directory and "images=N", and the other images follow the
 * first one. */
static qb_status add_imagej(tiff_source *tiff, TIFF *handle, uint64_t file_bytes, qb__tiff_image image,
                            size_t image_bytes) {
    char *text = NULL;
    if (!TIFFGetField(handle, TIFFTAG_IMAGEDESCRIPTION, &text) || !text || !image.data) return QB_OK;
    const char *images = strstr(text, "\nimages=");
    if (strncmp(text, "ImageJ=", 7) != 0 || !images) return QB_OK;
    size_t n = strtoull(images + 8, NULL, 10);
    if (n < 2 || (file_bytes - image.data) / image_bytes < n) return QB_OK;
    for (size_t i = 1; i < n; i++) {
        image.data += image_bytes;
        QB__OR_RETURN(add_image(tiff, &image));
    }
    return QB_OK;
}

/* Add a file of 0 bytes, which a writer left that was stopped. It is no image, but counts in the numbers of the
 * others. */
static qb_status add_empty(tiff_source *tiff, uint32_t file) {
    tiff->empty++;
    return add_image(tiff, &(qb__tiff_image){.file = file, .data = UINT64_MAX});
}

static qb_status mark_empty(tiff_source *tiff) {
    if (tiff->empty == tiff->files.count)
        return qb__fail(QB_BAD_INPUT, "%s: all %zu files have 0 bytes: they were never written", tiff->base.path,
                        tiff->empty);
    const qb_status status = tiff->empty ? qb__alloc(tiff->count, 1, &tiff->base.holes) : QB_OK;
    for (size_t i = 0; status == QB_OK && tiff->empty && i < tiff->count; i++)
        tiff->base.holes[i] = tiff->images[i].data == UINT64_MAX;
    return status;
}

static void tell_convention(qb__source *base, const qb__tiff_shape *shape, const char *name) {
    const char *file = qb__last_part(name);
    if (*base->trouble) return;
    if (shape->white)
        snprintf(base->trouble, sizeof base->trouble,
                 "%.60s states that 0 is white: taken as stored; invert it if more beam is less" QB__CODE(
                     "image-convention"),
                 file);
    else if (shape->turned)
        snprintf(
            base->trouble, sizeof base->trouble,
            "%.40s states orientation %u, not 1, which is not applied: --flip, --rotate" QB__CODE("image-convention"),
            file, shape->turned);
}

/* Add every full-size image of one file; thumbnails are skipped. */
static qb_status add_file(tiff_source *tiff, uint32_t file) {
    const char *name = tiff->files.text[file];
    uint64_t bytes = 0;
    qb_status status = qb__file_size(name, &bytes);
    if (status == QB_OK && bytes == 0) return add_empty(tiff, file);
    TIFF *handle = status == QB_OK ? qb__tiff_handle(name, &status) : NULL;
    if (!handle) return status;
    size_t before = tiff->count;
    qb__tiff_shape shape = {0};
    qb__tiff_image image = {.file = file};
    do {
        uint32_t kind = 0;
        QB__TRY(qb__tiff_chain(handle, name, bytes));
        TIFFGetField(handle, TIFFTAG_SUBFILETYPE, &kind);
        if (kind & FILETYPE_REDUCEDIMAGE) continue;
        QB__TRY(qb__tiff_look(handle, name, bytes, &shape, &image));
        QB__TRY(agree(tiff, name, &shape));
        if (qb__tiff_lost_description()) {
            status =
                qb__fail(QB_BAD_INPUT, "%s: its ImageDescription is cut off, which may say what the numbers are", name);
            goto out;
        }
        if (tiff->count == before) QB__TRY(agree_on_meaning(tiff, handle, file));
        if (shape.colour && !*tiff->base.trouble)
            snprintf(tiff->base.trouble, sizeof tiff->base.trouble,
                     "its images have several samples a pixel (colours): the first is taken" QB__CODE("colour-images"));
        tell_convention(&tiff->base, &shape, name);
        QB__TRY(add_image(tiff, &image));
        if (tiff->count - before > bytes / 8) { /* a directory takes more than 8 bytes */
            status = qb__fail(QB_BAD_INPUT, "%s is damaged: its directories form a loop", name);
            goto out;
        }
        qb__fail(QB_OK, "%s", "");
    } while (TIFFReadDirectory(handle));
    if (*qb_detail()) { /* the chain of directories is broken */
        status = qb__fail_in(QB_BAD_INPUT, "%s: after image %zu", name, tiff->count - before);
        goto out;
    }
    if (tiff->count == before + 1)
        status = add_imagej(tiff, handle, bytes, image, shape.rows * shape.columns * qb_dtype_size(shape.dtype));
    else if (tiff->count == before)
        status = qb__fail(QB_BAD_INPUT, "%s holds no full-size image", name);
out:
    TIFFClose(handle);
    return status;
}

qb_status qb__tiff_open(const char *path, const char *how, qb__source **source) {
    (void)how;
    *source = NULL;
    tiff_source *tiff;
    qb_status status = qb__source_create(sizeof *tiff, "TIFF stack", path, &tiff);
    if (status != QB_OK) return status;
    tiff->base.read = read_tiff;
    tiff->base.release = release_tiff;
    QB__TRY(qb__source_files(&tiff->base, " .tif .tiff .btf ", &tiff->files));
    errno = 0;
    for (size_t i = 0; i < tiff->files.count; i++) QB__TRY(add_file(tiff, (uint32_t)i));
    QB__TRY(mark_empty(tiff));
    tiff->base.shape[0] = tiff->count;
    for (size_t i = 0; i < tiff->count; i++) tiff->packed = tiff->packed || !tiff->images[i].data;
    if (tiff->packed) tiff->base.cache_each = tiff->base.chunk[1] * qb__source_row_bytes(&tiff->base);
    if (tiff->count == 1)
        tiff->base.format = "TIFF image";
    else if (tiff->files.count == 1)
        tiff->base.format = "multi-page TIFF";
    *source = &tiff->base;
    return qb__source_values(source, tiff->meaning.slope, tiff->meaning.offset, tiff->meaning.missing);
out:
    status = qb__tiff_judge(status, path);
    qb__source_close(&tiff->base);
    return status;
}

/* Parse the JSON at the start of a text. The XML of OME, which may follow, begins with the first `<`, which our JSON
 * does not contain. */
static qb_status parse_start(const char *text, cJSON **object) {
    const size_t n = strcspn(text, "<");
    char *json;
    if (!text[n]) return qb__provenance_parse(text, object);
    QB__OR_RETURN(qb__alloc(n + 1, 1, &json));
    memcpy(json, text, n);
    const qb_status status = qb__provenance_parse(json, object);
    qb__free(json);
    return status;
}

/* Read the JSON in the first image's description, after our lines: it holds the stack and the provenance. */
qb_status qb__tiff_provenance(const char *path, cJSON **found) {
    qb__notes files = {0};
    qb_status status = qb__list_images(path, " .tif .tiff .btf ", &files);
    TIFF *handle = status == QB_OK ? qb__tiff_handle(files.text[0], &status) : NULL;
    cJSON *object = NULL;
    char *whole = NULL;
    const char *text = NULL;
    *found = NULL;
    if (handle && TIFFGetField(handle, TIFFTAG_IMAGEDESCRIPTION, &whole) && whole && (text = qb__tiff_ours(whole)) &&
        (text = strchr(text, '{')))
        status = parse_start(text, &object);
    if (object) *found = cJSON_DetachItemFromObject(object, "provenance");
    cJSON_Delete(object);
    if (handle) TIFFClose(handle);
    qb__notes_release(&files);
    return status;
}
