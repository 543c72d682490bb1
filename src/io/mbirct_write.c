/* SPDX-License-Identifier: MIT */
/* Images as sv-mbirct has them: BASE_slice%04d.2Dimgdata, a series like TIFF's, and BASE.imgparams beside them. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "io/formats.h"
#include "io/tiff_write.h"
#include "io/writer.h"

enum { DIGITS_MOST = 4, SLICES_MOST = 10000, TEXT_ROOM = 512 };
static const char slice_word[] = "_slice";

static bool is_series(const qb_writer *writer) { return writer->set != NULL; }

/* The name as it must be. */
static qb_status check_name(const qb_writer *writer) {
    const char *slash = strrchr(writer->path, '/'), *name = slash ? slash + 1 : writer->path;
    const char *number = strchr(name, '%');
    const size_t word = strlen(slice_word), before = number ? (size_t)(number - name) : 0;
    if (before > word && strncmp(number - word, slice_word, word) == 0) return QB_OK;
    return qb__fail(QB_BAD_ARGUMENT, "%s: sv-mbirct's images are called BASE_slice%%04d.2Dimgdata", writer->path);
}

static qb_status check_stack(const qb_writer *writer) {
    const qb_stack *s = &writer->stack;
    if (qb__stack_is_projections(s))
        return qb__fail(QB_BAD_ARGUMENT, "%s: of sv-mbirct's files images are written; projections are read only", writer->path);
    if (s->dtype != QB_F32)
        return qb__fail(QB_BAD_ARGUMENT, "%s: sv-mbirct's images are float32: leave --dtype out", writer->path);
    if (s->first + s->shape[0] <= SLICES_MOST) return QB_OK;
    return qb__fail(QB_BAD_ARGUMENT, "%s: slices %zu to %zu have more than the four digits of sv-mbirct", writer->path,
                    s->first, s->first + s->shape[0] - 1);
}

static qb_status prepare(qb_writer *writer) {
    qb__series *series;
    qb_status status = check_name(writer);
    if (status == QB_OK) status = check_stack(writer);
    if (status == QB_OK) status = qb__alloc(1, sizeof *series, &series);
    if (status == QB_OK) writer->own = series;
    return status;
}

static qb_status begin(qb_writer *writer) {
    const qb_stack *s = &writer->stack;
    qb_status status = prepare(writer);
    if (status != QB_OK) return status;
    status = qb__series_begin(writer->path, "", s->first, s->shape[0], writer->set, writer->own);
    if (status == QB_OK && ((qb__series *)writer->own)->digits > DIGITS_MOST)
        status = qb__fail(QB_BAD_ARGUMENT, "%s: sv-mbirct's numbers have four digits at most", writer->path);
    return status;
}

static const char *place(const qb_writer *writer, qb__place *place) {
    place->files = writer->stack.shape[0];
    return ((const qb__series *)writer->own)->part;
}

static qb_status join(qb_writer *writer, const qb__place *place) {
    qb_status status = prepare(writer);
    return status == QB_OK ? qb__series_join(writer->path, "", place->fresh, writer->own) : status;
}

static qb_status put(const char *name, const void *data, size_t bytes) {
    const int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) return qb__fail_errno(errno, "creating", name);
    qb_status status = qb__pwrite_all(fd, name, data, bytes, 0);
    if (status == QB_OK) qb__start_writeback(fd, 0, 0);
    if (close(fd) != 0 && status == QB_OK) status = qb__fail_errno(errno, "writing", name);
    return status;
}

static qb_status write_images(qb_writer *writer, size_t first, size_t end, const void *data) {
    char name[QB__NAME_ROOM];
    qb_status status = QB_OK;
    for (size_t i = first; i < end && status == QB_OK; i++) {
        qb__series_name(writer->own, writer->stack.first + i, name);
        status = put(name, (const char *)data + (i - first) * writer->image_bytes, writer->image_bytes);
    }
    return status;
}

/* A file that lies with the images until all have their names. */
static qb_status put_beside(const qb__series *series, const char *end, const char *text) {
    char name[QB__NAME_ROOM];
    const int base = (int)(strlen(series->prefix) - strlen(slice_word));
    if ((size_t)snprintf(name, sizeof name, "%s/%.*s%s", series->part, base, series->prefix, end) >= sizeof name)
        return qb__fail(QB_BAD_ARGUMENT, "%.60s... is too long a name", series->prefix);
    return put(name, text, strlen(text));
}

/* Where no pixel size is known values are per pixel: voxels of 1. */
static qb_status finish(qb_writer *writer, const char *provenance) {
    const qb_stack *s = &writer->stack;
    const double voxel = s->voxel[0] > 0 ? s->voxel[0] : 1, high = s->voxel[2] > 0 ? s->voxel[2] : 1;
    const double radius = voxel * (double)qb__larger(s->shape[1], s->shape[2]) / 2;
    char text[TEXT_ROOM], *json;
    qb__print(text, sizeof text,
              "Nx: %zu\nNy: %zu\nNz: %zu\nFirstSliceNumber: %zu\nDeltaxy: %.9g\nDeltaZ: %.9g\nROIRadius: %.9g\n", s->shape[2],
              s->shape[1], s->shape[0], s->first, voxel, high, radius);
    qb_status status = put_beside(writer->own, ".imgparams", text);
    if (status == QB_OK) status = qb__stack_json(writer, provenance, &json);
    if (status != QB_OK) return status;
    status = put_beside(writer->own, ".imgparams.json", json);
    qb__free(json);
    return status;
}

static void release(qb_writer *writer) {
    if (writer->own) qb__series_release(writer->own);
    qb__free(writer->own);
}

static size_t overhead(const qb_writer *writer) { return 65536 + 4096 * writer->stack.shape[0]; }

const qb__writer_kind qb__mbirct_writer = {.spread = is_series,
                                           .begin = begin,
                                           .write = write_images,
                                           .finish = finish,
                                           .release = release,
                                           .place = place,
                                           .join = join,
                                           .overhead = overhead};
