/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE 1 /* syncfs */
#include "io/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/inputs.h"
#include "base/memory.h"
#include "base/share.h"
#include "base/status.h"
#include "io/codec/codec.h"
#include "io/formats.h"

bool qb__stack_is_projections(const qb_stack *stack) {
    if (stack->angles || stack->flats || stack->darks) return true;
    return stack->quantity && qb__quantity_named(stack->quantity);
}

static void destroy(qb_writer *writer) {
    if (!writer) return;
    if (writer->fd >= 0) close(writer->fd);
    if (writer->kind->release) writer->kind->release(writer);
    qb__free((char *)writer->stack.units);
    qb__free((char *)writer->stack.quantity);
    qb__free((char *)writer->stack.description);
    qb__free((char *)writer->stack.compress);
    QB__FREE(writer->angles, writer->written, writer->joined, writer->path, writer);
}

static qb_status copy_text(const char **text) {
    *text = qb__strdup(*text ? *text : "");
    return *text ? QB_OK : qb__fail(QB_NO_MEMORY, "no memory for a few words");
}

/* Copy texts and arrays that the caller may free after creating the writer. */
static qb_status copy_stack(qb_writer *writer, const qb_stack *stack) {
    qb_stack *own = &writer->stack;
    *own = *stack;
    const char **const texts[] = {&own->units, &own->quantity, &own->description, &own->compress};
    qb_status status = QB_OK;
    own->angles = NULL;
    own->flats = own->darks = NULL;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (status == QB_OK)
            status = copy_text(texts[i]);
        else
            *texts[i] = NULL;
    }
    if (status != QB_OK || !stack->angles) return status;
    status = qb__alloc(stack->shape[0], sizeof(double), &writer->angles);
    if (status == QB_OK) memcpy(writer->angles, stack->angles, stack->shape[0] * sizeof(double));
    own->angles = writer->angles;
    return status;
}

static qb_status check_fields(const qb_stack *stack, const qb_array *fields, const char *what) {
    if (!fields) return QB_OK;
    const size_t *n = fields->shape, *of = stack->shape;
    qb_status status = qb__array_check(fields, what);
    if (status == QB_OK && (n[0] == 0 || n[1] != of[1] || n[2] != of[2] || fields->dtype != stack->dtype))
        status = qb__fail(QB_BAD_ARGUMENT, "%s of %zu x %zu x %zu %s do not go with images of %zu x %zu %s", what, n[0],
                          n[1], n[2], qb_dtype_name(fields->dtype), of[1], of[2], qb_dtype_name(stack->dtype));
    return status;
}

static qb_status check_stack(const char *path, const qb_stack *stack, size_t *image, size_t *bytes) {
    const size_t *n = stack->shape;
    if (!qb_dtype_size(stack->dtype))
        return qb__fail(QB_BAD_ARGUMENT, "%s: there is no dtype %d", path, (int)stack->dtype);
    if (stack->beam < QB_BEAM_UNKNOWN || stack->beam > QB_BEAM_CONE)
        return qb__fail(QB_BAD_ARGUMENT, "%s: there is no beam %d", path, (int)stack->beam);
    if (!n[0] || !n[1] || !n[2])
        return qb__fail(QB_BAD_ARGUMENT, "%s: nothing to write, its shape is %zu x %zu x %zu", path, n[0], n[1], n[2]);
    qb_status status = check_fields(stack, stack->flats, "flats");
    if (status == QB_OK) status = check_fields(stack, stack->darks, "darks");
    if (status != QB_OK) return qb__fail_in(status, "%s", path);
    if (qb__mul(n[1], n[2], qb_dtype_size(stack->dtype), image) && qb__mul(*image, n[0], 1, bytes)) return QB_OK;
    return qb__fail(QB_BAD_ARGUMENT, "%s: %zu x %zu x %zu values are too many for a file", path, n[0], n[1], n[2]);
}

static qb_status check_parts(const char *path, const qb_stack *stack, const qb__writer_kind *kind) {
    if (stack->parts <= 1 || (kind->parts && stack->parts <= QB_PARTS_MOST)) return QB_OK;
    if (!kind->parts)
        return qb__fail(QB_BAD_ARGUMENT, "%s: only HDF5 files (.h5) can have their images in several parts", path);
    return qb__fail(QB_BAD_ARGUMENT, "%s: %zu parts are too many, %d are the most", path, stack->parts, QB_PARTS_MOST);
}

bool qb__compresses(const char *name) {
    qb__codec_kind codec;
    return qb__codec_named(name, &codec) == QB_OK && codec != QB__CODEC_NONE;
}

bool qb__packs(const qb_writer *writer) { return qb__compresses(writer->stack.compress); }

qb_status qb__packing_check(const char *path, const qb_stack *stack, const qb__writer_kind *kind) {
    qb__codec_kind codec;
    const qb_status status = qb__codec_named(stack->compress, &codec);
    if (status != QB_OK || codec == QB__CODEC_NONE) return status;
    char word[24];
    snprintf(word, sizeof word, " %.20s ", stack->compress);
    if (kind->packs && !strstr(kind->packs, word))
        return qb__fail(QB_BAD_ARGUMENT, "--compress %s: files like %s can have%sonly; give a .h5 or .zarr file",
                        stack->compress, path, kind->packs);
    if (!kind->packs)
        return qb__fail(QB_BAD_ARGUMENT,
                        "--compress %s: %s cannot be compressed; give a .h5, .zarr, .mha or .nrrd file",
                        stack->compress, path);
    if (stack->parts <= 1) return QB_OK;
    return qb__fail(QB_BAD_ARGUMENT, "--compress %s: %s is one file: --parts 1, not %zu", stack->compress, path,
                    stack->parts);
}

static size_t field_bytes(const qb_array *fields) {
    return fields ? qb_array_count(fields) * qb_dtype_size(fields->dtype) : 0;
}

static qb_status check_space(const qb_writer *writer, const qb_stack *stack, size_t bytes) {
    if (writer->kind == &qb__nothing_writer) return QB_OK;
    char *folder = qb__folder_of(writer->path);
    if (!folder) return qb__fail(QB_NO_MEMORY, "%s: no memory for its name", writer->path);
    if (qb__publication_takes_up(writer->set)) bytes = 0; /* some of it may be written already */
    size_t more = writer->kind->overhead ? writer->kind->overhead(writer) : 4096;
    more += field_bytes(stack->flats) + field_bytes(stack->darks);
    qb_status status =
        qb__recover_space(folder, writer->path, (uint64_t)bytes + more, qb__publication_env(writer->set));
    qb__free(folder);
    return status;
}

static qb_status open_part(qb_writer *writer) {
    qb_status status = QB_OK;
    if (!writer->part) status = qb__publication_file(writer->set, writer->path, &writer->part);
    if (status != QB_OK) return status;
    writer->taken_up = qb__publication_taken_up(writer->set);
    writer->fd = open(writer->part, O_RDWR | O_CREAT | (writer->taken_up ? 0 : O_TRUNC) | O_CLOEXEC, 0666);
    return writer->fd < 0 ? qb__fail_errno(errno, "creating", writer->path) : QB_OK;
}

/* Begin the file, once `writer` is filled in. Flats and darks are lent to begin() only. */
static qb_status begin(qb_writer *writer, const qb_stack *stack, size_t bytes) {
    const qb__writer_kind *kind = writer->kind;
    qb_status status;
    QB__TRY(copy_stack(writer, stack));
    QB__TRY(check_space(writer, stack, bytes));
    QB__TRY(qb__alloc(qb__writer_marks(writer), 1, &writer->written));
    if (!writer->set && !writer->part) {
        QB__TRY(qb__publication_create(NULL, &writer->set));
        writer->own_set = true;
    }
    writer->stack.flats = stack->flats;
    writer->stack.darks = stack->darks;
    if (!kind->spread || !kind->spread(writer)) QB__TRY(open_part(writer));
    if (kind->begin) QB__TRY(kind->begin(writer));
    writer->taken_up = qb__publication_taken_up(writer->set);
out:
    writer->stack.flats = writer->stack.darks = NULL;
    return status;
}

/* Make the writer, without creating anything on the disk. */
static qb_status make(const char *path, const qb_stack *stack, size_t *bytes, qb_writer **out) {
    const qb__format *format;
    qb_writer *writer;
    size_t image;
    *out = NULL;
    qb_status status = qb__format_to_write(path, &format);
    if (status == QB_OK) status = check_stack(path, stack, &image, bytes);
    if (status == QB_OK) status = check_parts(path, stack, format->writer);
    if (status == QB_OK) status = qb__packing_check(path, stack, format->writer);
    if (status == QB_OK) status = qb__alloc(1, sizeof *writer, &writer);
    if (status != QB_OK) return status;
    writer->kind = format->writer;
    writer->fd = -1;
    writer->image_bytes = image;
    writer->threads = qb__share_threads();
    *out = writer;
    writer->path = qb__strdup(path);
    return writer->path ? QB_OK : qb__fail(QB_NO_MEMORY, "%s: no memory for its name", path);
}

qb_status qb__writer_create(qb__publication *set, const char *part, const char *path, const qb_stack *stack,
                            qb_writer **out) {
    qb_writer *writer;
    size_t bytes;
    *out = NULL;
    qb_status status = make(path, stack, &bytes, &writer);
    if (writer) writer->set = set, writer->part = part;
    if (status == QB_OK) status = begin(writer, stack, bytes);
    /* A missing folder is no bad input: the output cannot be written. */
    if (status == QB_NOT_FOUND) status = QB_IO;
    if (status == QB_OK)
        *out = writer;
    else
        qb_writer_abort(writer);
    return status;
}

qb_status qb_writer_create(const char *path, const qb_stack *stack, qb_writer **out) {
    QB__NEED(path);
    QB__NEED(stack);
    QB__NEED(out);
    return qb__writer_create(NULL, NULL, path, stack, out);
}

void qb__writer_limit(qb_writer *writer, const qb_env *env) {
    const size_t each = writer->kind->each ? writer->kind->each(writer) : 0;
    if (env && env->threads > 0) writer->threads = qb__smaller(writer->threads, (size_t)env->threads);
    if (env && env->max_ram && each)
        writer->threads = qb__larger(1, qb__smaller(writer->threads, env->max_ram / 16 / each));
}

qb_status qb__write_images(qb_writer *writer, size_t first, size_t end, const void *data) {
    uint64_t at = writer->data_offset + (uint64_t)first * writer->image_bytes;
    size_t bytes = (end - first) * writer->image_bytes;
    qb_status status = qb__pwrite_all(writer->fd, writer->path, data, bytes, at);
    if (status == QB_OK) qb__start_writeback(writer->fd, at, bytes);
    return status;
}

static bool is_written(const qb_writer *writer, size_t image) { return writer->written[image / 8] >> image % 8 & 1; }

qb_status qb_writer_write(qb_writer *writer, size_t first, size_t end, const void *data) {
    QB__NEED(writer);
    QB__NEED(data);
    return qb__writer_write(writer, first, end, data);
}

qb_status qb__writer_write(qb_writer *writer, size_t first, size_t end, const void *data) {
    if (first >= end || end > writer->stack.shape[0])
        return qb__fail(QB_BAD_ARGUMENT, "%s: images %zu to %zu of %zu cannot be written", writer->path, first, end,
                        writer->stack.shape[0]);
    for (size_t i = first; i < end; i++)
        if (is_written(writer, i))
            return qb__fail(QB_BAD_ARGUMENT, "%s: image %zu is written already, each is written once", writer->path, i);
    qb_status status = writer->kind->write ? writer->kind->write(writer, first, end, data)
                                           : qb__write_images(writer, first, end, data);
    if (status == QB_OK) qb__writer_count(writer, first, end);
    return status;
}

/* Keep the detail of the failure while cleaning up. */
void qb_writer_abort(qb_writer *writer) {
    if (!writer) return;
    if (writer->own_set) qb__publication_abort(writer->set);
    destroy(writer);
}

static qb_status check_whole(const qb_writer *writer) {
    size_t n = writer->stack.shape[0], missing = 0, first = n;
    for (size_t i = n; i-- > 0;) {
        if (is_written(writer, i)) continue;
        missing++;
        first = i;
    }
    if (!missing) return QB_OK;
    return qb__fail(QB_BAD_ARGUMENT, "%s: %zu of %zu images were written, image %zu was not", writer->path, n - missing,
                    n, first);
}

/* Flush everything to the disk. */
static qb_status flush(qb_writer *writer) {
    if (writer->fd < 0) return QB_OK; /* the file set flushes a folder */
    qb_status status = fsync(writer->fd) == 0 ? QB_OK : qb__fail_errno(errno, "writing", writer->path);
    if (close(writer->fd) != 0 && status == QB_OK) status = qb__fail_errno(errno, "writing", writer->path);
    writer->fd = -1;
    return status;
}

/* ---- going on with what a run that is over has begun ---- */

const char *qb__writer_for_good(const char *path, const qb_stack *stack) {
    const qb__format *format;
    if (qb__format_to_write(path, &format) != QB_OK || !format->writer->resumes)
        return "files of that kind cannot be resumed: give .h5, .zarr, .npy, .raw, .mha, .tif or a folder";
    return stack->parts > 1 && !qb__parts_near(path)
               ? "its folder of parts is on another disk than the file: give --parts 1, also to the run that begins it"
               : NULL;
}

bool qb__writer_keeps_axis(const char *path) {
    const qb__format *format;
    return qb__format_to_write(path, &format) == QB_OK && format->writer->keeps_axis;
}

bool qb__writer_keeps_mask(const char *path) {
    const qb__format *format;
    return qb__format_to_write(path, &format) == QB_OK && format->writer->keeps_mask;
}

/* True if the images are spread over the files of a folder. */
static bool is_spread(const qb_writer *writer) {
    return writer->fd < 0 || (writer->own && (writer->stack.parts > 1 || qb__packs(writer)));
}

static bool is_long_enough(const qb_writer *writer, const unsigned char *images) {
    struct stat about;
    size_t n = writer->stack.shape[0];
    while (n > 0 && !(images[(n - 1) / 8] >> (n - 1) % 8 & 1)) n--;
    return fstat(writer->fd, &about) == 0 &&
           (uint64_t)about.st_size >= writer->data_offset + (uint64_t)n * writer->image_bytes;
}

qb_status qb__writer_has(const qb_writer *writer, const unsigned char *images) {
    if (writer->kind->has && is_spread(writer) ? writer->kind->has(writer, images) : is_long_enough(writer, images))
        return QB_OK;
    return qb__fail(QB_BAD_INPUT, "%s, kept by an earlier run, is incomplete: remove it to start again",
                    writer->part ? writer->part : writer->path);
}

void qb__writer_count(qb_writer *writer, size_t first, size_t end) {
    for (size_t i = first; i < end; i++) writer->written[i / 8] |= (unsigned char)(1 << i % 8);
}

/* ---- ranks ---- */

size_t qb__writer_marks(const qb_writer *writer) { return writer->stack.shape[0] / 8 + 1; }

/* Names are absolute, because other ranks may work in another folder. */
qb_status qb__writer_locate(const qb_writer *writer, qb__writer_location *place) {
    *place = (qb__writer_location){.data_offset = writer->data_offset};
    const char *fresh = writer->kind->place ? writer->kind->place(writer, place) : NULL;
    char *name = qb__absolute(fresh ? fresh : writer->part);
    if (!name) return qb__fail(QB_NO_MEMORY, "%s: no memory for its name", writer->path);
    const int n = snprintf(place->fresh, sizeof place->fresh, "%s", name);
    qb__free(name);
    if ((size_t)n < sizeof place->fresh) return QB_OK;
    return qb__fail(QB_BAD_ARGUMENT, "%s is too long a name", writer->path);
}

static qb_status join(qb_writer *writer, const qb__writer_location *place, const qb_stack *stack) {
    QB__OR_RETURN(copy_stack(writer, stack));
    QB__OR_RETURN(qb__alloc(qb__writer_marks(writer), 1, &writer->written));
    QB__OR_RETURN(qb__alloc(1, sizeof *place, &writer->joined));
    *writer->joined = *place;
    writer->data_offset = place->data_offset;
    if (place->files) return writer->kind->join(writer, writer->joined);
    writer->fd = open(place->fresh, O_RDWR | O_CLOEXEC);
    if (writer->fd < 0) return qb__fail_errno(errno, "opening", place->fresh);
    return QB_OK;
}

qb_status qb__writer_join(const qb__writer_location *place, const char *path, const qb_stack *stack, qb_writer **out) {
    size_t bytes;
    *out = NULL;
    qb_writer *writer;
    qb_status status = make(path, stack, &bytes, &writer);
    if (status == QB_OK) status = join(writer, place, stack);
    if (status == QB_NOT_FOUND)
        status =
            qb__fail_in(QB_IO, "all ranks write to %s, which must lie on a file system that all of them see", path);
    if (status == QB_OK)
        *out = writer;
    else
        qb_writer_abort(writer);
    return status;
}

/* Flush the files of a folder, by flushing all of its file system. */
static qb_status flush_folder(const qb_writer *writer, const char *fresh) {
    const int fd = open(fresh, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const int error = fd < 0 || syncfs(fd) != 0 ? errno : 0;
    if (fd >= 0) close(fd);
    return error ? qb__fail_errno(error, "writing into", writer->path) : QB_OK;
}

qb_status qb__writer_flush(qb_writer *writer) {
    if (!writer->joined || !writer->joined->files) return flush(writer);
    return flush_folder(writer, writer->joined->fresh);
}

/* The file, or the folder of files, that gets the final name. */
static const char *fresh_of(const qb_writer *writer) {
    qb__writer_location place;
    if (writer->joined) return writer->joined->fresh;
    const char *fresh = is_spread(writer) && writer->kind->place ? writer->kind->place(writer, &place) : NULL;
    return fresh ? fresh : writer->part;
}

qb_status qb__writer_sync(const qb_writer *writer) {
    if (is_spread(writer)) return flush_folder(writer, fresh_of(writer));
    return fdatasync(writer->fd) == 0 ? QB_OK : qb__fail_errno(errno, "writing", writer->path);
}

qb_status qb__writer_staging(const qb_writer *writer, char **folder) {
    char *name = qb__absolute(fresh_of(writer));
    *folder = name ? qb__folder_of(name) : NULL;
    qb__free(name);
    return *folder ? QB_OK : qb__fail(QB_NO_MEMORY, "%s: no memory for its name", writer->path);
}

static qb_status finish(qb_writer *writer, const char *provenance) {
    qb_status status = check_whole(writer);
    if (status == QB_OK && writer->kind->finish) status = writer->kind->finish(writer, provenance ? provenance : "");
    return status == QB_OK ? flush(writer) : status;
}

qb_status qb__writer_finish(qb_writer *writer, const char *provenance) {
    qb_status status = finish(writer, provenance);
    qb_writer_abort(writer);
    return status;
}

qb_status qb_writer_commit(qb_writer *writer, const char *provenance) {
    QB__NEED(writer);
    qb_status status = finish(writer, provenance);
    if (status == QB_OK) {
        status = qb__publication_commit(writer->set);
        writer->own_set = false;
    }
    qb_writer_abort(writer);
    return status;
}
