/* SPDX-License-Identifier: MIT */
#include "io/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/aside.h"
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
    qb__free(writer->path);
    qb__part_release(writer->part);
    qb__part_release(writer->sidecar);
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
    if (!n[0] || !n[1] || !n[2])
        return qb__fail(QB_BAD_ARGUMENT, "%s: nothing to write, its shape is %zu x %zu x %zu", path,
                        n[0], n[1], n[2]);
    if (qb__mul(n[1], n[2], qb_dtype_size(stack->dtype), image) && qb__mul(*image, n[0], 1, bytes))
        return QB_OK;
    return qb__fail(QB_BAD_ARGUMENT, "%s: %zu x %zu x %zu values are too many for a file", path,
                    n[0], n[1], n[2]);
}

static size_t field_bytes(const qb_array *fields) {
    return fields ? qb_array_count(fields) * qb_dtype_size(fields->dtype) : 0;
}

/* Anything that needs `writer` whole. Flats and darks are lent to begin() only. */
static qb_status begin(qb_writer *writer, const qb_stack *stack, size_t bytes) {
    char *folder = NULL;
    qb_status status;
    QB__TRY(copy_stack(writer, stack));
    writer->part = qb__part_name(writer->path);
    folder = qb__folder_of(writer->path);
    if (!writer->part || !folder) {
        status = qb__fail(QB_NO_MEMORY, "%s: no memory for its name", writer->path);
        goto out;
    }
    size_t more = writer->kind->overhead ? writer->kind->overhead(writer) : 4096;
    more += field_bytes(stack->flats) + field_bytes(stack->darks);
    QB__TRY(qb__check_space(folder, writer->path, (uint64_t)bytes + more));
    writer->stack.flats = stack->flats;
    writer->stack.darks = stack->darks;
    if (writer->kind->begin) QB__TRY(writer->kind->begin(writer));
    if (writer->fd < 0 && !writer->kind->write)
        writer->fd = open(writer->part, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (writer->fd < 0 && !writer->kind->write)
        status = qb__fail_errno(errno, "creating", writer->path);
out:
    writer->stack.flats = writer->stack.darks = NULL;
    qb__free(folder);
    return status;
}

qb_status qb_writer_create(const char *path, const qb_stack *stack, qb_writer **out) {
    const qb__format *format;
    size_t image, bytes;
    *out = NULL;
    qb_status status = qb__format_to_write(path, &format);
    if (status == QB_OK) status = check_stack(path, stack, &image, &bytes);
    if (status != QB_OK) return status;
    qb_writer *writer;
    status = qb__alloc(1, sizeof *writer, &writer);
    if (status != QB_OK) return status;
    writer->kind = format->writer;
    writer->fd = -1;
    writer->image_bytes = image;
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

qb_status qb__write_images(qb_writer *writer, size_t first, size_t end, const void *data) {
    uint64_t at = writer->data_offset + (uint64_t)first * writer->image_bytes;
    size_t bytes = (end - first) * writer->image_bytes;
    qb_status status = qb__pwrite_all(writer->fd, writer->path, data, bytes, at);
    if (status == QB_OK) qb__start_writeback(writer->fd, at, bytes);
    return status;
}

qb_status qb_writer_write(qb_writer *writer, size_t first, size_t end, const void *data) {
    if (first >= end || end > writer->stack.shape[0])
        return qb__fail(QB_BAD_ARGUMENT, "%s: images %zu to %zu of %zu cannot be written",
                        writer->path, first, end, writer->stack.shape[0]);
    qb_status status = writer->kind->write ? writer->kind->write(writer, first, end, data)
                                           : qb__write_images(writer, first, end, data);
    if (status == QB_OK) writer->written += end - first;
    return status;
}

/* The detail of what went wrong survives cleaning up. */
void qb_writer_abort(qb_writer *writer) {
    if (!writer) return;
    if (writer->kind->discard) writer->kind->discard(writer);
    if (writer->part) unlink(writer->part);
    if (writer->sidecar) unlink(writer->sidecar);
    destroy(writer);
}

static qb_status publish(qb_writer *writer) {
    char sidecar[4096];
    if (writer->kind->publish) return writer->kind->publish(writer);
    if (fsync(writer->fd) != 0) return qb__fail_errno(errno, "writing", writer->path);
    qb_status status = qb__aside_publish();
    if (status != QB_OK) return status;
    snprintf(sidecar, sizeof sidecar, "%s.json", writer->path);
    if (rename(writer->part, writer->path) != 0)
        status = qb__fail_errno(errno, "giving its name to", writer->path);
    else if (writer->sidecar && rename(writer->sidecar, sidecar) != 0)
        status = qb__fail_errno(errno, "giving its name to", sidecar);
    qb__aside_published();
    return status;
}

qb_status qb_writer_commit(qb_writer *writer, const char *provenance) {
    qb_status status = QB_OK;
    if (writer->written != writer->stack.shape[0])
        status = qb__fail(QB_INTERNAL, "%s: %zu of %zu images were written", writer->path,
                          writer->written, writer->stack.shape[0]);
    if (status == QB_OK && writer->kind->finish)
        status = writer->kind->finish(writer, provenance ? provenance : "");
    if (status == QB_OK) status = publish(writer);
    if (status != QB_OK)
        qb_writer_abort(writer);
    else
        destroy(writer);
    return status;
}
