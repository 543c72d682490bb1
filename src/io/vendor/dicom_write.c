/* SPDX-License-Identifier: MIT */
/* A volume as CT Image Storage (DICOM PS3.3 A.3): one file for each slice, little-endian with types, 16-bit integers
 * with slope and intercept. Hounsfield units are stored as integers, rounded to 1 HU. Other values must be integers of
 * --dtype uint16, stored with the range that they stand for. What DICOM has no element for is stored as JSON in a
 * private element, after the numbers of the first slice. */
#include <fcntl.h>
#include <math.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/formats.h"
#include "io/tiff/tiff_write.h"
#include "io/vendor/dicom.h"

typedef struct dicom_writer {
    qb__series files;
    char root[QB__DICOM_ROOT]; /* text with which all identifiers begin */
} dicom_writer;

/* Rounds Hounsfield units to integers. NaN becomes QB__DICOM_PADDING, which is below all values. */
static void round_values(const qb_stack *s, const void *values, int16_t *out) {
    const size_t columns = s->shape[2];
    float line[64];
    for (size_t at = 0; at < s->shape[1] * columns; at += 64) {
        const size_t n = qb__smaller(64, s->shape[1] * columns - at);
        qb_convert_to_float((const char *)values + at * qb_dtype_size(s->dtype), s->dtype, n, line);
        for (size_t i = 0; i < n; i++)
            out[at + i] = (int16_t)(isnan(line[i]) ? QB__DICOM_PADDING
                                                   : fmax(fmin(rint((double)line[i]), 32767), QB__DICOM_PADDING + 1));
    }
}

static qb_status put_file(qb_writer *writer, size_t image, const void *data) {
    const qb_stack *s = &writer->stack;
    const dicom_writer *w = writer->own;
    const size_t pixels = s->shape[1] * s->shape[2];
    unsigned char head[QB__DICOM_HEAD];
    char name[QB__NAME_ROOM];
    int16_t *rounded = NULL;
    qb_status status;
    qb__series_name(&w->files, s->first + image, name);
    const size_t used = qb__dicom_head(s, w->root, image, head);
    const int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) return qb__fail_errno(errno, "creating", name);
    if (qb_dtype_is_float(s->dtype)) {
        QB__TRY(qb__alloc(pixels, sizeof *rounded, &rounded));
        round_values(s, data, rounded);
    }
    QB__TRY(qb__pwrite_all(fd, name, head, used, 0));
    QB__TRY(qb__pwrite_all(fd, name, rounded ? rounded : data, 2 * pixels, used));
    qb__start_writeback(fd, 0, 0);
out:
    qb__free(rounded);
    if (close(fd) != 0 && status == QB_OK) status = qb__fail_errno(errno, "writing", name);
    return status;
}

static qb_status write_dicom(qb_writer *writer, size_t first, size_t end, const void *data) {
    return qb__series_write(writer, first, end, data, put_file);
}

/* ---- the series ---- */

static qb_status check(const char *path, const qb_stack *s) {
    const bool whole = s->dtype == QB_U16 || s->dtype == QB_I16;
    if (!qb__has_number(path))
        return qb__fail(QB_BAD_ARGUMENT, "%s: DICOM is a file a slice: give a name like slice_%%05d.dcm", path);
    if (qb__stack_is_projections(s))
        return qb__fail(QB_BAD_ARGUMENT, "%s: DICOM is written of volumes, not of projections: give .h5", path);
    if (!whole && !(qb_dtype_is_float(s->dtype) && qb__dicom_hounsfield(s)))
        return qb__fail(QB_BAD_ARGUMENT,
                        "%s: DICOM holds integers of 16 bits, not %s in %s: give --dtype uint16, or reconstruct with "
                        "--hu",
                        path, qb_dtype_name(s->dtype), *s->units ? s->units : "no unit");
    if (s->shape[1] > UINT16_MAX || s->shape[2] > UINT16_MAX)
        return qb__fail(QB_BAD_ARGUMENT, "%s: slices of %zu x %zu; DICOM has 65535 x 65535 at most: give .h5", path,
                        s->shape[1], s->shape[2]);
    return QB_OK;
}

static qb_status prepare(qb_writer *writer) {
    dicom_writer *w;
    qb_status status = check(writer->path, &writer->stack);
    if (status == QB_OK) status = qb__alloc(1, sizeof *w, &w);
    if (status == QB_OK) writer->own = w;
    return status;
}

static qb_status name_root(dicom_writer *w) {
    char *whole = qb__absolute(w->files.part);
    if (!whole) return qb__fail(QB_NO_MEMORY, "%s: no memory for its name", w->files.part);
    qb__dicom_root(whole, w->root);
    qb__free(whole);
    return QB_OK;
}

static qb_status begin_dicom(qb_writer *writer) {
    const qb_stack *s = &writer->stack;
    qb_status status = prepare(writer);
    dicom_writer *w = writer->own;
    if (status == QB_OK && !writer->set)
        status = qb__fail(QB_BAD_ARGUMENT, "%s: a file of one slice cannot be DICOM here: give .tif", writer->path);
    if (status == QB_OK)
        status = qb__series_begin(writer->path, "slice_", s->first, s->shape[0], writer->set, &w->files);
    return status == QB_OK ? name_root(w) : status;
}

static const char *place_dicom(const qb_writer *writer, qb__writer_location *place) {
    const dicom_writer *w = writer->own;
    place->files = writer->stack.shape[0];
    return w->files.part;
}

static qb_status join_dicom(qb_writer *writer, const qb__writer_location *place) {
    qb_status status = prepare(writer);
    dicom_writer *w = writer->own;
    if (status == QB_OK) status = qb__series_join(writer->path, "slice_", place->fresh, &w->files);
    return status == QB_OK ? name_root(w) : status;
}

/* Writes all that we know about the volume as JSON after the first slice. */
static qb_status finish_dicom(qb_writer *writer, const char *provenance) {
    const dicom_writer *w = writer->own;
    const qb_stack *s = &writer->stack;
    unsigned char head[QB__DICOM_HEAD], tail[QB__DICOM_TAIL];
    char name[QB__NAME_ROOM], *json;
    qb_status status = qb__stack_json(writer, provenance, &json);
    if (status != QB_OK) return status;
    const size_t n = strlen(json), used = qb__dicom_tail(n, tail);
    const uint64_t at = qb__dicom_head(s, w->root, 0, head) + 2 * (uint64_t)s->shape[1] * s->shape[2];
    qb__series_name(&w->files, writer->stack.first, name);
    const int fd = open(name, O_WRONLY | O_CLOEXEC);
    if (fd < 0) status = qb__fail_errno(errno, "opening", name);
    if (status == QB_OK) status = qb__pwrite_all(fd, name, tail, used, at);
    if (n % 2 && status == QB_OK) status = qb__pwrite_all(fd, name, " ", 1, at + used + n);
    if (status == QB_OK) status = qb__pwrite_all(fd, name, json, n, at + used);
    if (fd >= 0) close(fd);
    qb__free(json);
    return status;
}

static void release_dicom(qb_writer *writer) {
    dicom_writer *w = writer->own;
    if (w) qb__series_release(&w->files);
    qb__free(w);
}

static size_t overhead_dicom(const qb_writer *writer) { return 65536 + QB__DICOM_HEAD * writer->stack.shape[0]; }

static bool has_dicom(const qb_writer *writer, const unsigned char *images) {
    const dicom_writer *w = writer->own;
    return qb__series_has(writer, &w->files, images, 2 * writer->stack.shape[1] * writer->stack.shape[2]);
}

static bool is_series(const qb_writer *writer) {
    (void)writer;
    return true;
}

const qb__writer_kind qb__dicom_writer = {
    .spread = is_series,
    .begin = begin_dicom,
    .write = write_dicom,
    .finish = finish_dicom,
    .release = release_dicom,
    .place = place_dicom,
    .join = join_dicom,
    .overhead = overhead_dicom,
    .has = has_dicom,
    .resumes = true,
};
