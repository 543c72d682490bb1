/* SPDX-License-Identifier: MIT */
/* Writes files as sv-mbirct does, in series like those of TIFF: images BASE_slice%04d.2Dimgdata with BASE.imgparams;
 * and line integrals of a parallel beam, BASE.sinoparams with BASE_slice%04d.2Dsinodata, each of which holds one
 * detector row of all views. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "io/formats.h"
#include "io/mbirct/mbirct.h"
#include "io/tiff/tiff_write.h"
#include "io/writer.h"

enum { DIGITS_MOST = 4, SLICES_MOST = 10000, TEXT_ROOM = 512, ANGLE_ROOM = 32 };
static const char slice_word[] = "_slice", of_rays[] = ".sinoparams", of_slices[] = "_slice%04d.2Dsinodata";

static bool is_rays(const qb_writer *writer) { return qb__mbirct_is_scan(writer->path); }
/* Files of slices, from the first number on. */
static size_t slices(const qb_writer *writer) { return writer->stack.shape[is_rays(writer) ? 1 : 0]; }
static size_t first(const qb_writer *writer) { return is_rays(writer) ? 0 : writer->stack.first; }

static bool is_series(const qb_writer *writer) { return writer->set != NULL; }

/* The texts that are written with the slices. */
static bool also(const char *path, size_t number, char *name, size_t room) {
    static const char *const with[2][2] = {{".imgparams", ".imgparams.json"}, {".angles", NULL}};
    const bool rays = qb__mbirct_is_scan(path);
    const char *end = rays ? path + strlen(path) - strlen(of_rays) : strchr(qb__last_part(path), '%');
    if (!end || number > 1 || !with[rays][number]) return false;
    if (!rays) end -= qb__smaller(strlen(slice_word), (size_t)(end - path));
    snprintf(name, room, "%.*s%s", (int)(end - path), path, with[rays][number]);
    return true;
}

/* The pattern of the slices' names in pattern[QB__NAME_ROOM]. */
static qb_status name_slices(const qb_writer *writer, char *pattern) {
    const size_t n = strlen(writer->path), base = is_rays(writer) ? n - strlen(of_rays) : n;
    if (base + sizeof of_slices > QB__NAME_ROOM)
        return qb__fail(QB_BAD_ARGUMENT, "%.60s... is too long a name", writer->path);
    snprintf(pattern, QB__NAME_ROOM, "%.*s%s", (int)base, writer->path, is_rays(writer) ? of_slices : "");
    return QB_OK;
}

/* Check the form of the name. */
static qb_status check_name(const qb_writer *writer) {
    if (is_rays(writer)) return QB_OK;
    const char *name = qb__last_part(writer->path);
    const char *number = strchr(name, '%');
    const size_t word = strlen(slice_word), before = number ? (size_t)(number - name) : 0;
    if (before > word && strncmp(number - word, slice_word, word) == 0) return QB_OK;
    return qb__fail(QB_BAD_ARGUMENT, "%s: sv-mbirct's images are called BASE_slice%%04d.2Dimgdata", writer->path);
}

/* Check that the format can hold the scan. */
static qb_status check_rays(const qb_writer *writer) {
    const qb_stack *s = &writer->stack;
    if (!s->quantity || strcmp(s->quantity, qb_quantity_name(QB_LINE_INTEGRAL)) != 0)
        return qb__fail(QB_BAD_ARGUMENT, "%s: a scan for sv-mbirct has line integrals, not %s", writer->path,
                        s->quantity ? s->quantity : "unknown numbers");
    if (s->beam != QB_BEAM_PARALLEL || !s->angles)
        return qb__fail(QB_BAD_ARGUMENT, "%s: scans of parallel beams are written for sv-mbirct; others are read only",
                        writer->path);
    if (!isfinite(s->axis))
        return qb__fail(QB_BAD_ARGUMENT,
                        "%s: sv-mbirct has one column of the axis for all views, and these views have several",
                        writer->path);
    return QB_OK;
}

static qb_status check_stack(const qb_writer *writer) {
    const qb_stack *s = &writer->stack;
    const bool rays = is_rays(writer);
    if (!rays && qb__stack_is_projections(s))
        return qb__fail(QB_BAD_ARGUMENT, "%s: projections for sv-mbirct are called BASE.sinoparams", writer->path);
    if (rays && !qb__stack_is_projections(s))
        return qb__fail(QB_BAD_ARGUMENT, "%s: a volume for sv-mbirct is called BASE_slice%%04d.2Dimgdata",
                        writer->path);
    QB__OR_RETURN(rays ? check_rays(writer) : QB_OK);
    if (s->dtype != QB_F32)
        return qb__fail(QB_BAD_ARGUMENT, "%s: sv-mbirct's numbers are float32: leave --dtype out", writer->path);
    if (first(writer) + slices(writer) <= SLICES_MOST) return QB_OK;
    return qb__fail(QB_BAD_ARGUMENT,
                    "%s: the numbers of slices %zu to %zu have more than four digits, the most of sv-mbirct",
                    writer->path, first(writer), first(writer) + slices(writer) - 1);
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
    char pattern[QB__NAME_ROOM];
    qb_status status = prepare(writer);
    if (status == QB_OK) status = name_slices(writer, pattern);
    if (status != QB_OK) return status;
    status = qb__series_begin(pattern, "", first(writer), slices(writer), writer->set, writer->own);
    if (status == QB_OK && ((qb__series *)writer->own)->digits > DIGITS_MOST)
        status = qb__fail(QB_BAD_ARGUMENT, "%s: the numbers in file names of sv-mbirct have at most four digits",
                          writer->path);
    return status;
}

static const char *place(const qb_writer *writer, qb__writer_location *place) {
    place->files = slices(writer);
    return ((const qb__series *)writer->own)->part;
}

static qb_status join(qb_writer *writer, const qb__writer_location *place) {
    char pattern[QB__NAME_ROOM];
    qb_status status = prepare(writer);
    if (status == QB_OK) status = name_slices(writer, pattern);
    return status == QB_OK ? qb__series_join(pattern, "", place->fresh, writer->own) : status;
}

/* Write a whole file, or from `at` on into a file that is shared. */
static qb_status put(const char *name, const void *data, size_t bytes, const uint64_t *at) {
    const int fd = open(name, O_WRONLY | O_CREAT | (at ? 0 : O_TRUNC) | O_CLOEXEC, 0666);
    if (fd < 0) return qb__fail_errno(errno, "creating", name);
    qb_status status = qb__pwrite_all(fd, name, data, bytes, at ? *at : 0);
    if (status == QB_OK) qb__start_writeback(fd, 0, 0);
    if (close(fd) != 0 && status == QB_OK) status = qb__fail_errno(errno, "writing", name);
    return status;
}

static qb_status write_images(qb_writer *writer, size_t begin, size_t end, const void *data) {
    char name[QB__NAME_ROOM];
    qb_status status = QB_OK;
    for (size_t i = begin; i < end && status == QB_OK; i++) {
        qb__series_name(writer->own, first(writer) + i, name);
        status = put(name, (const char *)data + (i - begin) * writer->image_bytes, writer->image_bytes, NULL);
    }
    return status;
}

/* Write views into the files of all their rows. */
static qb_status write_views(qb_writer *writer, size_t begin, size_t end, const void *data) {
    const size_t rows = writer->stack.shape[1], line = writer->stack.shape[2] * sizeof(float), views = end - begin;
    const uint64_t at = (uint64_t)begin * line;
    char name[QB__NAME_ROOM], *slice = NULL;
    qb_status status = qb__alloc(views, line, &slice);
    for (size_t r = 0; r < rows && status == QB_OK; r++) {
        for (size_t v = 0; v < views; v++) memcpy(slice + v * line, (const char *)data + (v * rows + r) * line, line);
        qb__series_name(writer->own, first(writer) + r, name);
        status = put(name, slice, views * line, &at);
    }
    qb__free(slice);
    return status;
}

static qb_status write_any(qb_writer *writer, size_t begin, size_t end, const void *data) {
    return (is_rays(writer) ? write_views : write_images)(writer, begin, end, data);
}

/* A file that is published together with the images. */
static qb_status put_sidecar(const qb__series *series, const char *end, const char *text) {
    char name[QB__NAME_ROOM];
    const int base = (int)(strlen(series->prefix) - strlen(slice_word));
    if ((size_t)snprintf(name, sizeof name, "%s/%.*s%s", series->part, base, series->prefix, end) >= sizeof name)
        return qb__fail(QB_BAD_ARGUMENT, "%.60s... is too long a name", series->prefix);
    return put(name, text, strlen(text), NULL);
}

/* Write the angles. Theirs are ours minus a quarter turn (mbirct_params.c). */
static qb_status put_angles(const qb_writer *writer) {
    const qb_stack *s = &writer->stack;
    char *text;
    size_t length = 0;
    QB__OR_RETURN(qb__alloc(s->shape[0], ANGLE_ROOM, &text));
    for (size_t v = 0; v < s->shape[0]; v++)
        length += (size_t)qb__print(text + length, ANGLE_ROOM, "%.17g\n", s->angles[v] - M_PI / 2);
    const qb_status status = put_sidecar(writer->own, ".angles", text);
    qb__free(text);
    return status;
}

static qb_status put_rays(const qb_writer *writer) {
    const qb_stack *s = &writer->stack;
    const qb__series *series = writer->own;
    const double pixel = s->voxel[0] > 0 ? s->voxel[0] : 1, high = s->voxel[1] > 0 ? s->voxel[1] : pixel;
    char text[TEXT_ROOM + QB__NAME_ROOM];
    qb__print(text, sizeof text,
              "Geometry: parallel\nNChannels: %zu\nNViews: %zu\nNSlices: %zu\nDeltaChannel: %.9g\nCenterOffset: %.9g\n"
              "DeltaSlice: %.9g\nFirstSliceNumber: %zu\nViewAngleList: %.*s.angles\n",
              s->shape[2], s->shape[0], s->shape[1], pixel, s->axis, high, first(writer),
              (int)(strlen(series->prefix) - strlen(slice_word)), series->prefix);
    const qb_status status = put_angles(writer);
    return status == QB_OK ? put_sidecar(series, of_rays, text) : status;
}

/* Write the grid. Without a pixel size, values are per pixel: voxels have the size 1. */
static qb_status put_grid(const qb_writer *writer) {
    const qb_stack *s = &writer->stack;
    const double voxel = s->voxel[0] > 0 ? s->voxel[0] : 1, high = s->voxel[2] > 0 ? s->voxel[2] : 1;
    const double radius = voxel * (double)qb__larger(s->shape[1], s->shape[2]) / 2;
    char text[TEXT_ROOM];
    qb__print(text, sizeof text,
              "Nx: %zu\nNy: %zu\nNz: %zu\nFirstSliceNumber: %zu\nDeltaxy: %.9g\nDeltaZ: %.9g\nROIRadius: %.9g\n",
              s->shape[2], s->shape[1], s->shape[0], s->first, voxel, high, radius);
    return put_sidecar(writer->own, ".imgparams", text);
}

static qb_status finish(qb_writer *writer, const char *provenance) {
    const bool rays = is_rays(writer);
    char *json;
    qb_status status = rays ? put_rays(writer) : put_grid(writer);
    if (status == QB_OK) status = qb__stack_json(writer, provenance, &json);
    if (status != QB_OK) return status;
    status = put_sidecar(writer->own, rays ? ".sinoparams.json" : ".imgparams.json", json);
    qb__free(json);
    return status;
}

static void release(qb_writer *writer) {
    if (writer->own) qb__series_release(writer->own);
    qb__free(writer->own);
}

static size_t overhead(const qb_writer *writer) {
    return 65536 + 4096 * slices(writer) + (is_rays(writer) ? ANGLE_ROOM * writer->stack.shape[0] : 0);
}

const qb__writer_kind qb__mbirct_writer = {.also = also,
                                           .spread = is_series,
                                           .begin = begin,
                                           .write = write_any,
                                           .finish = finish,
                                           .release = release,
                                           .place = place,
                                           .join = join,
                                           .overhead = overhead,
                                           .keeps_angles = true,
                                           .keeps_axis = true};
