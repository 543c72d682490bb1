/* SPDX-License-Identifier: MIT */
#include "io/tiff/tiff_write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "io/formats.h"
#include "quickbeam/geometry.h"

typedef struct tiff_writer {
    bool series, ome;
    qb__series files;
    qb__tiff_layout layout;
    char note[640]; /* the description that every image gets when it is written */
} tiff_writer;

/* Write ImageJ's lines, by which Fiji and other programs know the stack and its voxels. */
static size_t write_imagej(const qb_stack *s, size_t images, char *text, size_t size) {
    size_t used = (size_t)snprintf(text, size, "ImageJ=1.54f\nimages=%zu\nslices=%zu\nloop=false\n", images, images);
    if (s->voxel[0] > 0.0) used += (size_t)qb__print(text + used, size - used, "unit=mm\nspacing=%.9g\n", s->voxel[2]);
    /* Fiji shows the whole range of the integers, from black to white. */
    if ((s->dtype == QB_U8 || s->dtype == QB_U16) && s->scale_high > s->scale_low)
        used += (size_t)snprintf(text + used, size - used, "min=0\nmax=%d\n", s->dtype == QB_U8 ? 255 : 65535);
    return used;
}

/* Write our lines after the first `used` bytes of the text. */
static void write_note(const qb_stack *s, size_t used, char *text, size_t size) {
    const int n = snprintf(text + used, size - used, "quickbeam\nquantity=%s\nunits=%s\n", s->quantity, s->units);
    used += n < 0 || (size_t)n >= size - used ? size - used - 1 : (size_t)n;
    if (s->voxel[0] > 0.0)
        used += (size_t)qb__print(text + used, size - used, "voxel_mm=%.9g,%.9g,%.9g\n", s->voxel[0], s->voxel[1],
                                  s->voxel[2]);
    if (used < size && s->voxel[0] > 0.0)
        used += (size_t)qb__print(text + used, size - used, "offset_mm=%.9g,%.9g,%.9g\n", s->offset[0], s->offset[1],
                                  s->offset[2]);
    if (used < size && s->beam) used += (size_t)snprintf(text + used, size - used, "beam=%s\n", qb_beam_name(s->beam));
    if (used < size && s->scale_high > s->scale_low)
        qb__print(text + used, size - used, "scale=%.9g,%.9g\n", s->scale_low, s->scale_high);
}

/* True if the output is a series of files. If the caller has opened the file already, it is not. */
static bool is_series(const qb_writer *writer) {
    return writer->set && (qb__is_folder(writer->path) || qb__has_number(writer->path));
}

static const char *word_of(const qb_stack *stack) { return qb__stack_is_projections(stack) ? "view_" : "slice_"; }

/* Prepare everything but the files. */
static qb_status prepare(qb_writer *writer, bool series) {
    const qb_stack *s = &writer->stack;
    tiff_writer *tiff;
    qb_status status = qb__alloc(1, sizeof *tiff, &tiff);
    if (status != QB_OK) return status;
    writer->own = tiff;
    if (s->shape[1] > UINT32_MAX || s->shape[2] > UINT32_MAX)
        return qb__fail(QB_BAD_ARGUMENT, "%s: a TIFF image cannot be %zu x %zu", writer->path, s->shape[1],
                        s->shape[2]);
    tiff->series = series;
    size_t images = tiff->series ? 1 : s->shape[0];
    double bytes = (double)images * (double)writer->image_bytes + 1024.0 * (double)images;
    tiff->layout = (qb__tiff_layout){bytes > 4.0e9, s->dtype, s->shape[1], s->shape[2], s->voxel[0]};
    tiff->ome = qb__tiff_is_ome(writer->path);
    if (tiff->ome) status = qb__tiff_ome_check(writer->path, s, series);
    if (status != QB_OK) return status;
    const size_t used = tiff->ome ? 0 : write_imagej(s, images, tiff->note, sizeof tiff->note);
    write_note(s, used, tiff->note, sizeof tiff->note);
    writer->data_offset = QB__TIFF_DATA;
    return QB_OK;
}

static qb_status begin_tiff(qb_writer *writer) {
    const qb_stack *s = &writer->stack;
    const bool series = is_series(writer);
    qb_status status = prepare(writer, series);
    if (status != QB_OK || !series) return status;
    tiff_writer *tiff = writer->own;
    return qb__series_begin(writer->path, word_of(s), s->first, s->shape[0], writer->set, &tiff->files);
}

static const char *place_tiff(const qb_writer *writer, qb__writer_location *place) {
    const tiff_writer *tiff = writer->own;
    place->files = tiff->series ? writer->stack.shape[0] : 0;
    return tiff->series ? tiff->files.part : NULL;
}

static qb_status join_tiff(qb_writer *writer, const qb__writer_location *place) {
    QB__OR_RETURN(prepare(writer, true));
    tiff_writer *tiff = writer->own;
    return qb__series_join(writer->path, word_of(&writer->stack), place->fresh, &tiff->files);
}

/* Write one file: header, image, directory, description. */
static qb_status write_file(qb_writer *writer, size_t image, const void *data) {
    const tiff_writer *tiff = writer->own;
    unsigned char head[QB__TIFF_DATA] = {0}, tail[QB__TIFF_IFD_MOST + sizeof tiff->note];
    char name[QB__NAME_ROOM];
    qb__series_name(&tiff->files, writer->stack.first + image, name);
    uint64_t at = (QB__TIFF_DATA + (uint64_t)writer->image_bytes + 7) / 8 * 8;
    size_t length = strlen(tiff->note) + 1, ifd = qb__tiff_directory_bytes(&tiff->layout, length);
    qb__tiff_header(&tiff->layout, at, head);
    qb__tiff_directory(&tiff->layout, at, QB__TIFF_DATA, at + ifd, length, 0, tail);
    memcpy(tail + ifd, tiff->note, length);
    qb_status status = QB_OK;
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) status = qb__fail_errno(errno, "creating", name);
    if (status == QB_OK) status = qb__pwrite_all(fd, name, head, sizeof head, 0);
    if (status == QB_OK) status = qb__pwrite_all(fd, name, data, writer->image_bytes, QB__TIFF_DATA);
    if (status == QB_OK) status = qb__pwrite_all(fd, name, tail, ifd + length, at);
    if (status == QB_OK) qb__start_writeback(fd, 0, 0);
    if (fd >= 0 && close(fd) != 0 && status == QB_OK) status = qb__fail_errno(errno, "writing", name);
    return status;
}

static qb_status write_tiff(qb_writer *writer, size_t first, size_t end, const void *data) {
    const tiff_writer *tiff = writer->own;
    if (!tiff || !tiff->series) return qb__write_images(writer, first, end, data); /* one file, also if it was joined */
    return qb__series_write(writer, first, end, data, write_file);
}

/* The complete description: the few lines that programs look for, followed by JSON with everything. */
static qb_status full_note(qb_writer *writer, const char *provenance, char **text) {
    const tiff_writer *tiff = writer->own;
    char *json;
    QB__OR_RETURN(qb__stack_json(writer, provenance, &json));
    const size_t room = strlen(json) + strlen(tiff->note) + 1;
    const qb_status status =
        tiff->ome ? qb__tiff_ome_text(&writer->stack, tiff->note, json, text) : qb__alloc(room, 1, text);
    if (status == QB_OK && !tiff->ome) snprintf(*text, room, "%s%s", tiff->note, json);
    qb__free(json);
    return status;
}

/* Write the directories of all pages after the last image, and then the header that points to them. */
static qb_status finish_pages(qb_writer *writer, const char *text) {
    const tiff_writer *tiff = writer->own;
    size_t pages = writer->stack.shape[0], length = strlen(text) + 1;
    uint64_t end = QB__TIFF_DATA + (uint64_t)pages * writer->image_bytes;
    uint64_t note = (end + 7) / 8 * 8, at = (note + length + 7) / 8 * 8;
    unsigned char head[16], ifd[QB__TIFF_IFD_MOST];
    uint64_t first = at;
    qb_status status = qb__pwrite_all(writer->fd, writer->path, text, length, note);
    for (size_t i = 0; i < pages && status == QB_OK; i++) {
        size_t words = i == 0 ? length : 0;
        uint64_t next = at + qb__tiff_directory_bytes(&tiff->layout, words);
        next = (next + 7) / 8 * 8;
        size_t n = qb__tiff_directory(&tiff->layout, at, QB__TIFF_DATA + (uint64_t)i * writer->image_bytes, note, words,
                                      i + 1 < pages ? next : 0, ifd);
        status = qb__pwrite_all(writer->fd, writer->path, ifd, n, at);
        at = next;
    }
    size_t n = qb__tiff_header(&tiff->layout, first, head);
    if (status == QB_OK) status = qb__pwrite_all(writer->fd, writer->path, head, n, 0);
    return status;
}

/* Write the complete description into the first file of a series; the others keep their few lines. */
static qb_status finish_series(qb_writer *writer, const char *text) {
    const tiff_writer *tiff = writer->own;
    uint64_t at = (QB__TIFF_DATA + (uint64_t)writer->image_bytes + 7) / 8 * 8;
    size_t length = strlen(text) + 1;
    unsigned char ifd[QB__TIFF_IFD_MOST];
    size_t n = qb__tiff_directory(&tiff->layout, at, QB__TIFF_DATA,
                                  at + qb__tiff_directory_bytes(&tiff->layout, length), length, 0, ifd);
    char name[QB__NAME_ROOM];
    qb__series_name(&tiff->files, writer->stack.first, name);
    int fd = open(name, O_WRONLY | O_CLOEXEC);
    qb_status status = fd < 0 ? qb__fail_errno(errno, "opening", name) : QB_OK;
    if (status == QB_OK) status = qb__pwrite_all(fd, name, text, length, at + n);
    if (status == QB_OK) status = qb__pwrite_all(fd, name, ifd, n, at);
    if (fd >= 0) close(fd);
    return status;
}

static qb_status finish_tiff(qb_writer *writer, const char *provenance) {
    const tiff_writer *tiff = writer->own;
    char *text = NULL;
    qb_status status = full_note(writer, provenance, &text);
    if (status == QB_OK) status = tiff->series ? finish_series(writer, text) : finish_pages(writer, text);
    qb__free(text);
    return status;
}

static void release_tiff(qb_writer *writer) {
    tiff_writer *tiff = writer->own;
    if (tiff) qb__series_release(&tiff->files);
    qb__free(tiff);
}

static size_t overhead_tiff(const qb_writer *writer) { return 65536 + 1024 * writer->stack.shape[0]; }

/* True if the files of a series exist. Each file was closed before it was recorded. */
static bool has_tiff(const qb_writer *writer, const unsigned char *images) {
    const tiff_writer *tiff = writer->own;
    return qb__series_has(writer, &tiff->files, images, QB__TIFF_DATA + writer->image_bytes);
}

const qb__writer_kind qb__tiff_writer = {
    .spread = is_series,
    .begin = begin_tiff,
    .write = write_tiff,
    .finish = finish_tiff,
    .release = release_tiff,
    .place = place_tiff,
    .join = join_tiff,
    .overhead = overhead_tiff,
    .has = has_tiff,
    .resumes = true,
};
