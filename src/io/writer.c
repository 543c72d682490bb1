/* SPDX-License-Identifier: MIT */
#include "io/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/share.h"
#include "base/status.h"
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
    qb__free(writer->angles);
    qb__free(writer->written);
    qb__free(writer->path);
    qb__free(writer);
}

static qb_status copy_text(const char **text) {
    *text = qb__strdup(*text ? *text : "");
    return *text ? QB_OK : qb__fail(QB_NO_MEMORY, "no memory for a few words");
}

/* What the caller may free after create. */
static qb_status copy_stack(qb_writer *writer, const qb_stack *stack) {
    qb_stack *own = &writer->stack;
    *own = *stack;
    own->angles = NULL;
    own->flats = own->darks = NULL;
    qb_status status = copy_text(&own->units);
    if (status != QB_OK) own->quantity = own->description = NULL;
    if (status == QB_OK) status = copy_text(&own->quantity);
    if (status != QB_OK) own->description = NULL;
    if (status == QB_OK) status = copy_text(&own->description);
    if (status != QB_OK || !stack->angles) return status;
    status = qb__alloc(stack->shape[0], sizeof(double), &writer->angles);
    if (status == QB_OK) memcpy(writer->angles, stack->angles, stack->shape[0] * sizeof(double));
    own->angles = writer->angles;
    return status;
}

static qb_status check_stack(const char *path, const qb_stack *stack, size_t *image,
                             size_t *bytes) {
    const size_t *n = stack->shape;
    if (!qb_dtype_size(stack->dtype))
        return qb__fail(QB_BAD_ARGUMENT, "%s: there is no dtype %d", path, (int)stack->dtype);
    if (stack->beam < QB_BEAM_UNKNOWN || stack->beam > QB_BEAM_CONE)
        return qb__fail(QB_BAD_ARGUMENT, "%s: there is no beam %d", path, (int)stack->beam);
    if (!n[0] || !n[1] || !n[2])
        return qb__fail(QB_BAD_ARGUMENT, "%s: nothing to write, its shape is %zu x %zu x %zu", path,
                        n[0], n[1], n[2]);
    if (qb__mul(n[1], n[2], qb_dtype_size(stack->dtype), image) && qb__mul(*image, n[0], 1, bytes))
        return QB_OK;
    return qb__fail(QB_BAD_ARGUMENT, "%s: %zu x %zu x %zu values are too many for a file", path,
                    n[0], n[1], n[2]);
}

static qb_status check_parts(const char *path, const qb_stack *stack, const qb__writer_kind *kind) {
    if (stack->parts <= 1 || (kind->parts && stack->parts <= QB_PARTS_MOST)) return QB_OK;
    if (!kind->parts)
        return qb__fail(QB_BAD_ARGUMENT, "%s: only HDF5 files (.h5) can have their images in several parts", path);
    return qb__fail(QB_BAD_ARGUMENT, "%s: %zu parts are too many, %d are the most", path, stack->parts,
                    QB_PARTS_MOST);
}

static size_t field_bytes(const qb_array *fields) {
    return fields ? qb_array_count(fields) * qb_dtype_size(fields->dtype) : 0;
}

static qb_status check_space(const qb_writer *writer, const qb_stack *stack, size_t bytes) {
    char *folder = qb__folder_of(writer->path);
    if (!folder) return qb__fail(QB_NO_MEMORY, "%s: no memory for its name", writer->path);
    size_t more = writer->kind->overhead ? writer->kind->overhead(writer) : 4096;
    more += field_bytes(stack->flats) + field_bytes(stack->darks);
    qb_status status = qb__check_space(folder, writer->path, (uint64_t)bytes + more);
    qb__free(folder);
    return status;
}

static qb_status open_part(qb_writer *writer) {
    qb_status status = QB_OK;
    if (!writer->part) status = qb__publication_file(writer->set, writer->path, &writer->part);
    if (status != QB_OK) return status;
    writer->fd = open(writer->part, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    return writer->fd < 0 ? qb__fail_errno(errno, "creating", writer->path) : QB_OK;
}

/* Anything that needs `writer` whole. Flats and darks are lent to begin() only. */
static qb_status begin(qb_writer *writer, const qb_stack *stack, size_t bytes) {
    const qb__writer_kind *kind = writer->kind;
    qb_status status;
    QB__TRY(copy_stack(writer, stack));
    QB__TRY(check_space(writer, stack, bytes));
    QB__TRY(qb__alloc(stack->shape[0] / 8 + 1, 1, &writer->written));
    if (!writer->set && !writer->part) {
        QB__TRY(qb__publication_create(NULL, &writer->set));
        writer->own_set = true;
    }
    writer->stack.flats = stack->flats;
    writer->stack.darks = stack->darks;
    if (!kind->spread || !kind->spread(writer)) QB__TRY(open_part(writer));
    if (kind->begin) QB__TRY(kind->begin(writer));
out:
    writer->stack.flats = writer->stack.darks = NULL;
    return status;
}

qb_status qb__writer_create(qb__publication *set, const char *part, const char *path,
                            const qb_stack *stack, qb_writer **out) {
    const qb__format *format;
    size_t image, bytes;
    *out = NULL;
    qb_status status = qb__format_to_write(path, &format);
    if (status == QB_OK) status = check_stack(path, stack, &image, &bytes);
    if (status == QB_OK) status = check_parts(path, stack, format->writer);
    if (status != QB_OK) return status;
    qb_writer *writer;
    status = qb__alloc(1, sizeof *writer, &writer);
    if (status != QB_OK) return status;
    writer->kind = format->writer;
    writer->fd = -1;
    writer->image_bytes = image;
    writer->set = set;
    writer->part = part;
    writer->threads = qb__share_threads();
    writer->path = qb__strdup(path);
    status = writer->path ? begin(writer, stack, bytes)
                          : qb__fail(QB_NO_MEMORY, "%s: no memory for its name", path);
    /* A folder that is missing is no bad input: it is the output that cannot be written. */
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
    if (env && env->threads > 0) writer->threads = qb__smaller(writer->threads, (size_t)env->threads);
}

qb_status qb__write_images(qb_writer *writer, size_t first, size_t end, const void *data) {
    uint64_t at = writer->data_offset + (uint64_t)first * writer->image_bytes;
    size_t bytes = (end - first) * writer->image_bytes;
    qb_status status = qb__pwrite_all(writer->fd, writer->path, data, bytes, at);
    if (status == QB_OK) qb__start_writeback(writer->fd, at, bytes);
    return status;
}

static bool is_written(const qb_writer *writer, size_t image) {
    return writer->written[image / 8] >> image % 8 & 1;
}

qb_status qb_writer_write(qb_writer *writer, size_t first, size_t end, const void *data) {
    QB__NEED(writer);
    QB__NEED(data);
    return qb__writer_write(writer, first, end, data);
}

qb_status qb__writer_write(qb_writer *writer, size_t first, size_t end, const void *data) {
    if (first >= end || end > writer->stack.shape[0])
        return qb__fail(QB_BAD_ARGUMENT, "%s: images %zu to %zu of %zu cannot be written",
                        writer->path, first, end, writer->stack.shape[0]);
    for (size_t i = first; i < end; i++)
        if (is_written(writer, i))
            return qb__fail(QB_BAD_ARGUMENT, "%s: image %zu is written already, each is written once",
                            writer->path, i);
    qb_status status = writer->kind->write ? writer->kind->write(writer, first, end, data)
                                           : qb__write_images(writer, first, end, data);
    for (size_t i = first; status == QB_OK && i < end; i++)
        writer->written[i / 8] |= (unsigned char)(1 << i % 8);
    return status;
}

/* The detail of what went wrong survives cleaning up. */
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
    return qb__fail(QB_BAD_ARGUMENT, "%s: %zu of %zu images were written, image %zu was not",
                    writer->path, n - missing, n, first);
}

/* All of it on the disk. */
static qb_status flush(qb_writer *writer) {
    if (writer->fd < 0) return QB_OK; /* a folder: the set does it */
    qb_status status =
        fsync(writer->fd) == 0 ? QB_OK : qb__fail_errno(errno, "writing", writer->path);
    if (close(writer->fd) != 0 && status == QB_OK)
        status = qb__fail_errno(errno, "writing", writer->path);
    writer->fd = -1;
    return status;
}

static qb_status finish(qb_writer *writer, const char *provenance) {
    qb_status status = check_whole(writer);
    if (status == QB_OK && writer->kind->finish)
        status = writer->kind->finish(writer, provenance ? provenance : "");
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
